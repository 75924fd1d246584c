// Evidence: rotations that were observed of the picked joint, as dots, and who performed them.

import { computed, effect, signal } from "@preact/signals";
import type { Camera, Quaternion } from "three";
import { measuredRotation, quaternionAt } from "../pose/kinematics";
import { performerColour, type Sample, SampleDots } from "../stage/dots";
import type { Stage } from "../stage/stage";
import type { Store } from "../store";
import { Button, Check, find } from "../ui";

const MAX_SAMPLES = 3000; // dots that are told apart
const CLICK_PX = 4; // longer moves are drags
const DOT_PX = 5; // size of a dot on the sphere
const OVER = 1.008; // radius of dots on the unit sphere, above everything else

/** Called with an observed rotation, its clip and its frame. */
export type Recall = (rotation: Quaternion, clip: string, frame: number) => void;

interface Observations {
  joint: number;
  samples: Sample[];
  performers: string[];
  /** By performer, the number of samples. */
  counts: number[];
  /** A description of the dots. */
  caption: string;
}

export class Evidence {
  readonly observations = signal<Observations | undefined>(undefined);
  /** Names of performers that are hidden, of any joint. */
  private hidden = signal(new Set<string>());
  private onSphere = signal(false);
  private known = new Map<string, Promise<Observations>>();
  private dots = new SampleDots(DOT_PX);
  /** The samples of performers that are not hidden. */
  readonly shown = computed(() => {
    const { samples, performers } = this.observations.value ?? { samples: [], performers: [] };
    return samples.filter(({ performer }) => !this.hidden.value.has(performers[performer] ?? ""));
  });

  constructor(
    private store: Store,
    stage: Stage,
    private recall: Recall,
  ) {
    this.followPointer(stage.canvas, () => stage.turntable.camera, this.dots);
    effect(() => void this.load());
    effect(() => {
      this.showOnSphere();
      stage.draw();
    });
  }

  private async load(): Promise<void> {
    const { store, observations } = this;
    const { region, picked } = store;
    const joint = picked.value;
    if (joint === undefined || !region.value) {
      observations.value = undefined;
      return;
    }
    const key = `${joint} from ${store.measuredFrom(joint)} of ${store.state.value.evidence}`;
    const request = this.known.get(key) ?? this.request(joint);
    this.known.set(key, request);
    try {
      const answer = await request;
      if (picked.peek() === joint && region.peek()) observations.value = answer;
    } catch {
      this.known.delete(key); // the next one asks again
    }
  }

  /** The samples that the limits kept; if they kept none, the rotations of the clip. */
  private async request(joint: number): Promise<Observations> {
    const { store } = this;
    const { skeleton, rotations, frames, name } = store.clip;
    const request = { joint: store.nameOf(joint), most: MAX_SAMPLES };
    const answer = await store.connection.ask("observed", request);
    const { count, performers, counts, clips, whose, clip } = answer;
    const samples = [...whose].map((performer, i) => ({
      rotation: quaternionAt(answer.rotations, i),
      performer,
      clip: clips[clip[i] ?? 0] ?? "",
      frame: answer.frames[i] ?? 0,
    }));
    const caption = `dots for ${count} samples that it kept`;
    if (count) return { joint, samples, performers, counts, caption };
    const from = store.measuredFrom(joint);
    for (let frame = 0; frame < frames; frame += Math.ceil(frames / MAX_SAMPLES)) {
      const rotation = measuredRotation(skeleton, from, rotations, joint, frame);
      samples.push({ rotation, performer: -1, clip: name, frame });
    }
    return { joint, samples, performers: [], counts: [], caption: "dots for the clip" };
  }

  private showOnSphere(): void {
    const { dots, store } = this;
    const sphere = store.sphere.value;
    const region = store.region.value;
    const isShown = this.onSphere.value && !!this.observations.value?.performers.length;
    dots.points.removeFromParent();
    sphere?.setPale(isShown);
    if (!sphere || !region || !isShown) return;
    const inverse = region.reference.clone().invert();
    const positionOf = (rotation: Quaternion) =>
      region.axis.clone().applyQuaternion(inverse.clone().multiply(rotation)).multiplyScalar(OVER);
    dots.show(this.shown.value, positionOf, store.theme.value.ink);
    sphere.group.add(dots.points);
  }

  /** Name the sample under the mouse on a canvas, and recall it when it is clicked. */
  followPointer(
    canvas: HTMLElement,
    camera: () => Camera,
    dots: SampleDots,
    isAllowed: () => boolean = () => true,
  ): void {
    let pressed: PointerEvent | undefined;
    let named: Sample | undefined;
    const sampleAt = (event: MouseEvent) =>
      dots.points.parent && isAllowed() ? dots.sampleAt(event, camera(), canvas) : undefined;
    canvas.addEventListener("pointerdown", (event) => {
      pressed = event;
      this.showTip(undefined);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons) return;
      named = sampleAt(event);
      this.showTip(named, event);
      canvas.classList.toggle("at-sample", named !== undefined);
    });
    canvas.addEventListener("pointerleave", () => this.showTip(undefined));
    canvas.addEventListener("click", (event) => {
      if (!pressed || event.button) return;
      const { clientX, clientY } = pressed;
      if (Math.hypot(event.clientX - clientX, event.clientY - clientY) >= CLICK_PX) return;
      const sample = named ?? sampleAt(event); // the user means the one that was named
      if (sample) this.recall(sample.rotation, sample.clip, sample.frame);
    });
  }

  /** True if the mouse is at a dot on the sphere. */
  claimsClick(): boolean {
    return find("#stage").classList.contains("at-sample");
  }

  private showTip(sample: Sample | undefined, event?: PointerEvent): void {
    const tip = find("#tip");
    tip.hidden = !sample;
    if (!sample || !event) return;
    const performer = this.observations.value?.performers[sample.performer];
    tip.textContent = `${performer ? `${performer} · ` : ""}${sample.clip}, frame ${sample.frame}`;
    tip.style.left = `${Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 6)}px`;
    tip.style.top = `${event.clientY + 14}px`;
  }

  private setHidden(names: string[], isHidden: boolean): void {
    const hidden = new Set(this.hidden.value);
    for (const name of names) hidden[isHidden ? "add" : "delete"](name);
    this.hidden.value = hidden;
  }

  /** The list of performers. */
  Panel = () => {
    const { performers, counts } = this.observations.value ?? { performers: [], counts: [] };
    return (
      <section id="evidence" aria-label="Performers" hidden={!performers.length}>
        <div>
          <h3>Observed</h3>
          <Check box={this.onSphere}>on sphere</Check>
          <Button label="Show all performers" onClick={() => this.setHidden(performers, false)}>
            All
          </Button>
          <Button label="Show no performer" onClick={() => this.setHidden(performers, true)}>
            None
          </Button>
        </div>
        <div class="rows">
          {performers.map((name, number) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={!this.hidden.value.has(name)}
                onChange={({ currentTarget }) => this.setHidden([name], !currentTarget.checked)}
              />
              <i style={{ background: performerColour(number) }} />
              <bdi>{name}</bdi>
              <span>{counts[number]}</span>
            </label>
          ))}
        </div>
      </section>
    );
  };
}
