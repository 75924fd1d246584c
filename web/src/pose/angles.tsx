// The picked joint's clinical angles: how far it can go along each axis, and sliders to set them.

import { computed, effect, signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Latest } from "../connection";
import { capitalize, formatAngle } from "../format";
import type { ClinicalAngle, JointAngles } from "../protocol";
import type { Store } from "../store";
import { NumberField, releaseSlider } from "../ui";

const ROOM_DEG = 15; // of a slider beyond the limit's ends
const ROUNDING_DEG = 0.1; // an angle that is less beyond its limit is at the limit

interface Setting {
  joint: number;
  axis: number;
  deg: number;
  stroke: symbol;
}

export class AnglePanel {
  private angles = signal<JointAngles | undefined>(undefined);
  private stroke: symbol | undefined;
  private dragged: HTMLInputElement | undefined;
  /** Ends of the slider that is dragged, which stay until it is released. */
  private held = signal<{ axis: string; ends: [number, number] } | undefined>(undefined);
  /** Counts changes that make pending answers outdated. */
  private starts = 0;
  private asking = new Latest((joint: number) => this.request(joint));
  private setting = new Latest((change: Setting) => this.set(change));
  private canSet = computed(() => this.store.mode.value === "try");

  constructor(
    private store: Store,
    /** True if limits are kept. */
    private keepsLimits: () => boolean,
  ) {
    if (store.isRecorded || !store.isHuman) return;
    effect(() => {
      const joint = store.picked.value;
      void [store.pose.value, store.edition.value, store.check.value];
      if (joint === undefined) this.angles.value = undefined;
      else void this.asking.send(joint);
    });
  }

  private async request(joint: number): Promise<void> {
    const { store } = this;
    const matters = () => store.picked.peek() === joint;
    const request = { ...store.poseRequest(), joint: store.nameOf(joint) };
    const angles = await store.connection.askWhile(matters, "angles", request);
    if (angles && matters()) this.angles.value = angles;
  }

  private async set({ joint, axis, deg, stroke }: Setting): Promise<void> {
    const { starts, store } = this;
    const made = store.currentPose();
    const request = {
      ...store.poseRequest(made.pose),
      ...{ joint: store.nameOf(joint), axis, deg, limits: this.keepsLimits() },
      values: made.values ?? null,
    };
    const answer = await store.connection.ask("angle", request);
    if (starts !== this.starts) return;
    const { rotations, positions, outsideDeg } = answer;
    const values = "values" in answer ? answer.values : undefined;
    const outside = store.byJoint(outsideDeg);
    store.history.take({ pose: { rotations, positions }, outside, values }, stroke);
  }

  /** Revert the drag of a slider; return whether there was one. */
  cancel(): boolean {
    const { stroke } = this;
    if (!stroke) return false;
    this.starts++;
    this.setting.cancel();
    this.release();
    if (this.dragged) releaseSlider(this.dragged);
    this.store.history.cancel(stroke);
    return true;
  }

  private release(): void {
    this.stroke = undefined;
    this.held.value = undefined;
  }

  private change(axis: number, deg: number): void {
    const joint = this.store.picked.value;
    const stroke = this.stroke ?? Symbol("angle");
    if (joint !== undefined) void this.setting.send({ joint, axis, deg, stroke });
  }

  Panel = () => {
    const { joint, name = "", axes = [] } = this.angles.value ?? {};
    if (!axes.length || joint !== this.store.nameOf(this.store.picked.value)) return null;
    return (
      <section class="angles" aria-label={`Angles of the ${name}`}>
        <h3>Angles</h3>
        {axes.map((axis, index) => (
          <this.Row key={axis.name} axis={axis} index={index} joint={name} />
        ))}
      </section>
    );
  };

  private Row = ({ axis, index, joint }: { axis: ClinicalAngle; index: number; joint: string }) => {
    const slider = useRef<HTMLInputElement>(null);
    useLayoutEffect(() => {
      if (slider.current && this.dragged !== slider.current)
        slider.current.value = String(axis.deg);
      else if (slider.current && !this.stroke) slider.current.value = String(axis.deg);
    });
    const held = this.held.value;
    const ends = held?.axis === axis.name ? held.ends : sliderEnds(axis);
    const share = (deg: number) => `${(100 * (deg - ends[0])) / (ends[1] - ends[0])}%`;
    const label = `${capitalize(joint)} ${axis.name}`;
    const text = describeRoom(axis);
    return (
      <div class={isBeyond(axis) ? "angle beyond" : "angle"} title={text}>
        <span class="name">
          {capitalize(axis.name)}
          {!this.canSet.value && <b>{formatAngle(axis.deg)}</b>}
        </span>
        <span
          class="range"
          style={{
            "--low": share(axis.lowDeg ?? ends[0]),
            "--high": share(axis.highDeg ?? ends[1]),
          }}
        >
          <input
            type="range"
            min={ends[0]}
            max={ends[1]}
            step="any"
            ref={slider}
            disabled={!this.canSet.value}
            aria-label={label}
            aria-valuetext={`${formatAngle(axis.deg)}: ${text}`}
            onPointerDown={({ currentTarget }) => {
              this.stroke = Symbol("angle");
              this.dragged = currentTarget;
              this.held.value = { axis: axis.name, ends };
            }}
            onPointerUp={() => this.release()}
            onPointerCancel={() => this.release()}
            onInput={({ currentTarget }) => this.change(index, currentTarget.valueAsNumber)}
          />
        </span>
        {this.canSet.value && (
          <NumberField
            label={`${label}, typed`}
            step="1"
            value={String(Math.round(axis.deg) + 0)}
            onCommit={(deg) => this.change(index, deg)}
          />
        )}
        <small>{text}</small>
      </div>
    );
  };
}

const isBeyond = ({ isPossible, deg, lowDeg, highDeg }: ClinicalAngle): boolean =>
  !isPossible || deg > (highDeg ?? deg) + ROUNDING_DEG || deg < (lowDeg ?? deg) - ROUNDING_DEG;

/** Ends of a slider: a little beyond the limit, and beyond the angle itself. */
function sliderEnds({ deg, lowDeg, highDeg, leastDeg, mostDeg }: ClinicalAngle): [number, number] {
  const low = Math.min(lowDeg ?? leastDeg, deg) - ROOM_DEG;
  const high = Math.max(highDeg ?? mostDeg, deg) + ROOM_DEG;
  return [Math.max(Math.round(low), leastDeg), Math.min(Math.round(high), mostDeg)];
}

/** How far an angle is from both ends of its limit. */
function describeRoom({ name, opposite, deg, lowDeg, highDeg, isPossible }: ClinicalAngle): string {
  if (!isPossible) return "no angle is possible here";
  const room = (end: number | null, word: string, sign: number) => {
    if (end === null) return `${word} has no limit`;
    const left = sign * (end - deg);
    if (left < -ROUNDING_DEG) return `${formatAngle(Math.max(-left, 1))} beyond full ${word}`;
    return `${formatAngle(Math.max(left, 0))} to full ${word}`;
  };
  return `${room(highDeg, name, 1)} · ${room(lowDeg, opposite, -1)}`;
}
