// Evidence: what was observed of the picked joint, whose it was, and who of them is shown.

import type { Camera, Quaternion } from "three";
import type { Clip } from "../clip";
import type { Connection } from "../connection";
import { button, element, find } from "../elements";
import { measuredRotation, quaternionAt } from "../pose/kinematics";
import { performerColour, type Sample, SampleDots } from "../stage/dots";
import type { JointSphere } from "../stage/sphere";

const MOST_SAMPLES = 3000;
const CLICK_PX = 4;

/** What is known of a joint's rotations. */
export interface Observations {
  samples: Sample[];
  performers: string[];
  /** By performer. */
  counts: number[];
  /** In words, what the dots are. */
  caption: string;
}

export class Evidence {
  /** Who performed, to be shown or not. */
  readonly panel = element("section", { id: "evidence", "aria-label": "Performers", hidden: true });
  /** Told when others are shown. */
  onChange: () => void = () => {};
  private known = new Map<string, Promise<Observations>>();
  private observations: Observations | undefined;
  /** Names of performers that are not shown, of any joint. */
  private hidden = new Set<string>();
  private tip = element("output", { id: "tip", hidden: true });
  private onSphere = element("input", { type: "checkbox" });
  private dots = new SampleDots(5);
  private sphere: JointSphere | undefined;

  constructor(
    private clip: Clip,
    private connection: Connection,
    /** Told of a sample to pose the body by. */
    private recall: (rotation: Quaternion, clip: string, frame: number) => void,
  ) {
    document.body.append(this.tip);
    this.onSphere.addEventListener("change", () => this.showOnSphere(this.sphere, ""));
  }

  /** What the limits kept of a joint; where they kept nothing, what it does in the clip. */
  observe(joint: number): Promise<Observations> {
    const { state, skeleton } = this.clip;
    const key = `${joint} from ${skeleton.measuredFrom[joint]} of ${state.evidence}`;
    const known = this.known.get(key) ?? this.ask(joint);
    this.known.set(key, known);
    known.catch(() => this.known.delete(key)); // the next one asks again
    return known;
  }

  private async ask(joint: number): Promise<Observations> {
    const { skeleton, rotations, frames, name } = this.clip;
    const request = { joint: skeleton.names[joint] ?? "", most: MOST_SAMPLES };
    const answer = await this.connection.ask("observed", request);
    const { count, performers, counts, clips, whose, clip } = answer;
    const samples = [...whose].map((performer, i) => ({
      rotation: quaternionAt(answer.rotations, i),
      performer,
      clip: clips[clip[i] ?? 0] ?? "",
      frame: answer.frames[i] ?? 0,
    }));
    if (count)
      return { samples, performers, counts, caption: `dots for ${count} samples that it kept` };
    const step = Math.ceil(frames / MOST_SAMPLES);
    for (let frame = 0; frame < frames; frame += step) {
      const rotation = measuredRotation(skeleton, rotations, joint, frame);
      samples.push({ rotation, performer: -1, clip: name, frame });
    }
    return { samples, performers: [], counts: [], caption: "dots for the clip" };
  }

  /** Those of the samples whose performers are shown. */
  get shown(): Sample[] {
    const { samples, performers } = this.observations ?? { samples: [], performers: [] };
    return samples.filter(({ performer }) => !this.hidden.has(performers[performer] ?? ""));
  }

  /** List who performed; or nobody. */
  show(observations: Observations | undefined): void {
    if (observations === this.observations) return;
    this.observations = observations;
    const { performers, counts } = observations ?? { performers: [], counts: [] };
    this.panel.hidden = !performers.length;
    const boxes = performers.map((name, number) => {
      const box = element("input", { type: "checkbox" });
      box.checked = !this.hidden.has(name);
      box.addEventListener("change", () => {
        this.hidden[box.checked ? "delete" : "add"](name);
        this.update();
      });
      const swatch = element("i");
      swatch.style.background = performerColour(number);
      const count = element("span", {}, `${counts[number]}`);
      return element("label", {}, box, swatch, element("bdi", {}, name), count);
    });
    const setAll = (on: boolean) => {
      for (const name of performers) this.hidden[on ? "delete" : "add"](name);
      for (const box of this.panel.querySelectorAll<HTMLInputElement>(".rows input"))
        box.checked = on;
      this.update();
    };
    this.panel.replaceChildren(
      element(
        "div",
        {},
        element("h3", {}, "Observed"),
        element("label", { class: "check" }, this.onSphere, "on sphere"),
        button("All", "Show all performers", () => setAll(true)),
        button("None", "Show no performer", () => setAll(false)),
      ),
      element("div", { class: "rows" }, ...boxes),
    );
  }

  private update(): void {
    this.showOnSphere(this.sphere, "");
    this.onChange();
  }

  /** Put the dots on the sphere at the joint, where that is asked for. */
  showOnSphere(sphere: JointSphere | undefined, ink: string): void {
    this.sphere = sphere;
    const { points } = this.dots;
    points.removeFromParent();
    const shows = this.onSphere.checked && !!this.observations?.performers.length;
    sphere?.setPale(shows);
    if (sphere && shows) {
      const { reference, axis } = sphere.region;
      const back = reference.clone().invert();
      this.dots.show(
        this.shown,
        (turn) => axis.clone().applyQuaternion(back.clone().multiply(turn)).multiplyScalar(1.008),
        ink,
      );
      sphere.group.add(points);
    }
    this.onRedraw();
  }

  /** Told when the view is to be drawn again. */
  onRedraw: () => void = () => {};

  /** Name the sample that the mouse is at in the view; one that is clicked poses the body. */
  followStage(canvas: HTMLElement, camera: () => Camera): void {
    this.follow(canvas, camera, this.dots);
  }

  /** Let the mouse find dots on a canvas. */
  follow(
    canvas: HTMLElement,
    camera: () => Camera,
    dots: SampleDots,
    may: () => boolean = () => true,
  ): void {
    let pressed: PointerEvent | undefined;
    let named: Sample | undefined;
    const sampleAt = (event: MouseEvent) =>
      dots.points.parent && may() ? dots.sampleAt(event, camera(), canvas) : undefined;
    canvas.addEventListener("pointerdown", (event) => {
      pressed = event;
      this.tip.hidden = true;
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
      const sample = named ?? sampleAt(event); // what was named is what is meant
      if (sample) this.recall(sample.rotation, sample.clip, sample.frame);
    });
  }

  /** Whether a dot on the sphere is where the view was clicked. */
  claimsClick(): boolean {
    return find("#stage").classList.contains("at-sample");
  }

  private showTip(sample: Sample | undefined, event?: PointerEvent): void {
    this.tip.hidden = !sample;
    if (!sample || !event) return;
    const who = this.observations?.performers[sample.performer];
    this.tip.textContent = `${who ? `${who} · ` : ""}${sample.clip}, frame ${sample.frame}`;
    const { offsetWidth } = this.tip;
    this.tip.style.left = `${Math.min(event.clientX + 12, innerWidth - offsetWidth - 6)}px`;
    this.tip.style.top = `${event.clientY + 14}px`;
  }
}
