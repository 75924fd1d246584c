// The picked joint's clinical angles: their limits along each axis, and sliders to set them.

import { computed, effect, signal } from "@preact/signals";
import { Latest } from "../connection";
import { capitalize, formatAngle } from "../format";
import type { ClinicalAngle, JointAngles } from "../protocol";
import type { Store } from "../store";
import { DragSlider, NumberField } from "../ui";

const ROOM_DEG = 15; // extension of a slider beyond the ends of the limit
const ROUNDING_DEG = 0.1; // an angle beyond its limit by less is at the limit

interface Setting {
  joint: number;
  axis: number;
  deg: number;
  stroke: symbol;
}

export class AnglePanel {
  private angles = signal<JointAngles | undefined>(undefined);
  /** Ends of the slider that is dragged, which stay until it is released. */
  private held = signal<{ axis: string; ends: [number, number] } | undefined>(undefined);
  /** Counts reverted drags, which make pending answers outdated. */
  private starts = 0;
  private asking = new Latest((joint: number) => this.request(joint));
  private setting = new Latest((change: Setting) => this.set(change));
  private canSet = computed(() => this.store.mode.value === "try");

  constructor(
    private store: Store,
    /** True if angles that are set are clamped to the limits. */
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
    if (angles) this.angles.value = angles;
  }

  private async set({ joint, axis, deg, stroke }: Setting): Promise<void> {
    const { starts, store } = this;
    const made = store.currentPose();
    const request = {
      ...store.poseRequest(made.pose),
      ...{ joint: store.nameOf(joint), axis, deg, limits: this.keepsLimits() },
      values: made.values ?? null,
    };
    const matters = () => starts === this.starts;
    const answer = await store.connection.askWhile(matters, "angle", request);
    if (!answer) return;
    const { rotations, positions, outsideDeg } = answer;
    const values = "values" in answer ? answer.values : undefined;
    const outside = store.byJoint(outsideDeg);
    store.history.take({ pose: { rotations, positions }, outside, values }, stroke);
  }

  private revert(stroke: symbol): void {
    this.starts++;
    this.setting.cancel();
    this.store.history.cancel(stroke);
  }

  private change(axis: number, deg: number, stroke: symbol): void {
    const joint = this.store.picked.value;
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
          <DragSlider
            label={label}
            text={`${formatAngle(axis.deg)}: ${text}`}
            ends={ends}
            value={axis.deg}
            disabled={!this.canSet.value}
            onBegin={() => (this.held.value = { axis: axis.name, ends })}
            onInput={(deg, step) => this.change(index, deg, step)}
            onEnd={() => (this.held.value = undefined)}
            onRevert={(step) => this.revert(step)}
          />
        </span>
        {this.canSet.value && (
          <NumberField
            label={`${label}, typed`}
            step="1"
            value={String(Math.round(axis.deg) + 0)}
            onCommit={(deg) => this.change(index, deg, Symbol("typed"))}
          />
        )}
        <small>{text}</small>
      </div>
    );
  };
}

const isBeyond = ({ isPossible, deg, lowDeg, highDeg }: ClinicalAngle): boolean =>
  !isPossible || deg > (highDeg ?? deg) + ROUNDING_DEG || deg < (lowDeg ?? deg) - ROUNDING_DEG;

/** Ends of a slider in degrees: `ROOM_DEG` beyond the limit and the angle. */
function sliderEnds({ deg, lowDeg, highDeg, leastDeg, mostDeg }: ClinicalAngle): [number, number] {
  const low = Math.min(lowDeg ?? leastDeg, deg) - ROOM_DEG;
  const high = Math.max(highDeg ?? mostDeg, deg) + ROOM_DEG;
  return [Math.max(Math.round(low), leastDeg), Math.min(Math.round(high), mostDeg)];
}

/** Text with the distances of an angle from both ends of its limit. */
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
