// Try: drag a joint, and Python's inverse kinematics moves the others within their limits.

import { effect, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { type Quaternion, Vector3 } from "three";
import type { Pose } from "../clip";
import { Latest } from "../connection";
import { formatDegrees, formatValue } from "../format";
import type { Answers, PoseAnswer, Pulled, Solved, Step } from "../protocol";
import type { Grip } from "../stage/pointer";
import type { Stage } from "../stage/stage";
import type { Store } from "../store";
import { Button, Check, Facts } from "../ui";
import { LookAt, Pins } from "./goals";
import type { MadePose } from "./history";
import { limbJoints, vectorAt, wFirst } from "./kinematics";

/** A drag: the pose where it began, and the last pose that it led to. */
interface Stroke {
  name: symbol;
  start: MadePose;
  last: MadePose;
}

interface Pull {
  stroke: Stroke;
  grip: Grip;
  target: Vector3;
  /** True to try everything before the target is out of reach. */
  thorough: boolean;
}

interface Rotation {
  stroke: Stroke;
  joint: number;
  rotation: Quaternion;
}

const MAX_NAMES = 6; // joints that are named in one line

/** A control's name as it is read: left_shoulder.flexion is "left shoulder flexion". */
const readable = (name: string): string => name.replaceAll(/[._]/g, " ");

export class TryOut {
  readonly pins: Pins;
  private lookAt: LookAt;
  readonly keepsLimits = signal(true);
  private isLimbOnly = signal(false);
  private feetStay = signal(true);
  private result = signal<ComponentChildren>(undefined);
  /** The pose that the result is of. */
  private resultPose: Pose | undefined;
  private grip: Grip | undefined;
  private stroke: Stroke | undefined;
  /** The last pull since the start, and whether its target was reached. */
  private pull: Pull | undefined;
  private isMet = true;
  /** Counts starts, which make pending answers outdated. */
  private starts = 0;
  private pulls = new Latest((pull: Pull) => this.solvePull(pull));
  private rotations = new Latest((rotation: Rotation) => this.solveRotation(rotation));
  private root: number;
  private hasFigure: boolean;

  constructor(
    private store: Store,
    private stage: Stage,
    private onReset: () => void,
  ) {
    this.root = store.clip.skeleton.parents.indexOf(-1);
    this.hasFigure = store.clip.controls.length > 0;
    this.pins = new Pins(store, stage);
    this.lookAt = new LookAt(store, stage);
    effect(() => {
      void this.keepsLimits.value;
      if (this.pull) void this.pulls.send(this.pull);
    });
    effect(() => {
      const { present } = store.history;
      if (present.value?.pose !== this.resultPose) this.clearResult(); // it is of another pose
    });
  }

  /** Forget everything in progress. */
  restart(): void {
    this.forgetDrag();
    this.pins.clear();
    this.lookAt.reset();
    this.stage.showTarget(undefined);
  }

  private forgetDrag(): void {
    this.starts++;
    this.pulls.cancel();
    this.rotations.cancel();
    this.grip = this.pull = this.stroke = undefined;
    this.clearResult();
  }

  private clearResult(): void {
    this.resultPose = undefined;
    this.store.blocking.value = [];
    this.result.value = undefined;
    this.stage.showBalance(undefined);
  }

  /** Begin a drag of a joint; a root can be dragged only if feet or pins hold the rest. */
  grab(grip: Grip): boolean {
    const { parents } = this.store.clip.skeleton;
    const isRoot = grip.joint !== undefined && (parents[grip.joint] ?? -1) < 0;
    if (isRoot && !this.pins.count && !this.feetStay.value) return false;
    this.grip = grip;
    this.begin();
    return true;
  }

  /** Begin a stroke, which is one step. */
  begin(): void {
    const start = { ...this.store.currentPose() };
    this.stroke = { name: Symbol("drag"), start, last: start };
  }

  drag(target: Vector3): void {
    const { grip, stroke } = this;
    if (!grip || !stroke) return; // a reset ended the drag
    if (grip.joint === undefined) this.stage.showTarget(target);
    this.pull = { stroke, grip, target: target.clone(), thorough: false };
    void this.pulls.send(this.pull);
  }

  /** End the drag; if the target was not reached, the pull goes on, and may start elsewhere. */
  release(): void {
    const { pull, grip, starts } = this;
    this.grip = undefined;
    if (!pull || pull.grip !== grip || grip.joint === undefined) return;
    void this.pulls.whenIdle().then(() => {
      if (starts !== this.starts || this.pull !== pull || this.isMet) return;
      void this.pulls.send({ ...pull, thorough: true });
    });
  }

  /** Revert the drag. */
  cancel(): void {
    const { stroke } = this;
    this.forgetDrag();
    if (stroke) this.store.history.cancel(stroke.name);
  }

  /** Rotate a joint to a rotation of the world. */
  rotate(joint: number, rotation: Quaternion): void {
    if (this.stroke) void this.rotations.send({ stroke: this.stroke, joint, rotation });
  }

  /** True if the figure's controls are solved for, not its joints. */
  private get solvesControls(): boolean {
    return this.hasFigure && this.keepsLimits.value;
  }

  /** Run a request; ignore its answer if it is outdated, and show its error. */
  private async solve(request: () => Promise<() => void>): Promise<void> {
    const { starts } = this;
    try {
      const accept = await request();
      if (starts === this.starts) accept();
    } catch (error) {
      if (starts === this.starts)
        this.result.value = <p class="missed">{(error as Error).message}</p>;
    }
  }

  private solvePull(pull: Pull): Promise<void> {
    const { stroke, grip } = pull;
    return this.solve(async () => {
      if (this.solvesControls && grip.joint !== undefined) {
        const pulled = await this.askControls(pull);
        return () => {
          this.goOn(pull, pulled);
          const held = this.store.clip.controls.filter(({ name }) => name in pulled.held);
          const blocking = held.flatMap(({ joints }) => joints);
          this.accept(stroke, pulled, blocking, this.renderPulled(pulled));
        };
      }
      const solved = await this.askJoints(pull);
      return () => {
        this.goOn(pull, solved);
        const positions = stroke.last.pose.positions.slice();
        positions.set(solved.root, 3 * this.root);
        const { names } = this.store.clip.skeleton;
        const blocking = Object.keys(solved.blockingDeg).map((name) => names.indexOf(name));
        this.accept(stroke, { ...solved, positions }, blocking, this.renderSolved(solved));
      };
    });
  }

  /** Pull again while the joint is held and the pose is still on its way; mark the balance. */
  private goOn(pull: Pull, { met, settled, center, balanced }: Step): void {
    this.isMet = met;
    this.stage.showBalance(center ? new Vector3(...center) : undefined, balanced);
    if (!settled && this.pull === pull && this.grip === pull.grip) void this.pulls.send(pull);
  }

  private solveRotation({ stroke, joint, rotation }: Rotation): Promise<void> {
    const { connection } = this.store;
    return this.solve(async () => {
      const rotated: Answers["turn"] = await connection.ask("turn", {
        ...this.store.poseRequest(stroke.start.pose),
        values: this.solvesControls ? await this.findControls(stroke) : null,
        last: stroke.last.values ?? null,
        joint: this.store.nameOf(joint),
        rotation: wFirst(rotation),
        limits: this.keepsLimits.value,
      });
      return () => this.accept(stroke, rotated, [], undefined); // the joint shows where it stops
    });
  }

  /** Show a pose that was found, and the result of its search. */
  private accept(
    stroke: Stroke,
    found: PoseAnswer & Partial<Pulled>,
    blocking: number[],
    result: ComponentChildren,
  ): void {
    const { rotations, positions, outsideDeg, values } = found;
    const outside = this.store.byJoint(outsideDeg);
    const before = stroke.last;
    stroke.last = { pose: { rotations, positions }, outside, values };
    this.resultPose = stroke.last.pose;
    this.store.history.take(stroke.last, stroke.name);
    if (found.jumped) this.stage.showTransition(before.pose, stroke.last.pose);
    this.result.value = result;
    this.store.blocking.value = blocking;
  }

  /** The controls where a stroke began, which are fitted once if they are not known. */
  private async findControls({ start }: Stroke): Promise<Record<string, number>> {
    const { connection } = this.store;
    const request = this.store.poseRequest(start.pose);
    start.values ??= (await connection.ask("fitted", request)).values;
    return start.values;
  }

  private async askControls({ stroke, grip, target, thorough }: Pull): Promise<Pulled> {
    const joint = grip.joint ?? this.root;
    const isRoot = joint === this.root;
    return this.store.connection.ask("pull", {
      ...this.store.poseRequest(stroke.start.pose),
      values: await this.findControls(stroke),
      last: stroke.last.values ?? null,
      joint: this.store.nameOf(joint),
      point: grip.point.toArray(),
      target: target.toArray(),
      joints: this.isLimbOnly.value && !isRoot ? limbJoints(this.store.clip.skeleton, joint) : null,
      feet: this.feetStay.value,
      ...this.pins.request,
      thorough,
    });
  }

  private askJoints({ stroke, grip, target, thorough }: Pull): Promise<Solved> {
    const { joint, point } = grip;
    const { lookAt, store } = this;
    const common = {
      ...store.poseRequest(stroke.last.pose),
      start: [...stroke.start.pose.rotations],
      startRoot: vectorAt(stroke.start.pose.positions, this.root).toArray(),
      ...this.pins.request,
      feet: this.feetStay.value,
      thorough,
      target: target.toArray(),
      limits: this.keepsLimits.value,
    };
    const joints = limbJoints(store.clip.skeleton, joint ?? lookAt.joint.value);
    if (joint === undefined)
      return store.connection.ask("look", { ...common, joints, axis: lookAt.axis });
    const isLimbOnly = this.isLimbOnly.value && joint !== this.root;
    return store.connection.ask("reach", {
      ...common,
      joint: store.nameOf(joint),
      point: point.toArray(),
      joints: isLimbOnly ? joints : null,
    });
  }

  private formatEnd(name: string, value: number): string {
    const unit = this.store.clip.controls.find((control) => control.name === name)?.unit ?? "";
    return formatValue(value, unit);
  }

  private renderPulled({ met, ms, held, atEnd }: Pulled) {
    const ends = Object.entries(held).map(
      ([name, value]) => [readable(name), this.formatEnd(name, value)] as const,
    );
    const atLimit = Object.entries(atEnd)
      .filter(([name]) => !(name in held))
      .map(([name, value]) => `${readable(name)} ${this.formatEnd(name, value)}`);
    return renderOutcome(met, ms, "range", ends, atLimit);
  }

  private renderSolved({ met, ms, blockingDeg, atLimit }: Solved) {
    const blocking = Object.entries(blockingDeg).map(
      ([name, angle]) => [name, `${formatDegrees(angle)} more would help`] as const,
    );
    const others = atLimit.filter((name) => !(name in blockingDeg));
    return renderOutcome(met, ms, "limit", blocking, others);
  }

  Panel = () => (
    <div class="tried">
      <h2>Try the limits</h2>
      <p>
        Drag any joint, such as a hand or a foot: the others follow. The rings rotate the picked
        joint.
      </p>
      <Check box={this.keepsLimits}>Keep within the limits</Check>
      <Check box={this.feetStay}>Feet stay</Check>
      <Check box={this.isLimbOnly}>Move this limb alone</Check>
      <this.lookAt.Panel />
      <this.pins.Panel />
      <Button class="wide" label="Reset the pose (R)" onClick={this.onReset}>
        Reset the pose
      </Button>
      <div id="tried" role="status">
        {this.result.value}
      </div>
    </div>
  );
}

function renderOutcome(
  isMet: boolean,
  ms: number,
  /** What holds back: a limit, or the range of a control. */
  kind: string,
  holding: (readonly [string, string])[],
  atLimit: string[],
) {
  const more = atLimit.length > MAX_NAMES ? ` and ${atLimit.length - MAX_NAMES} more` : "";
  return (
    <>
      <p class={isMet ? "met" : "missed"}>
        {`${isMet ? "Reached" : "Out of reach"}, in ${ms.toFixed(1)} ms`}
      </p>
      {holding.length > 0 && (
        <>
          <p>{`Held back by the ${kind} of`}</p>
          <dl>
            <Facts rows={holding.slice(0, MAX_NAMES)} />
          </dl>
        </>
      )}
      {atLimit.length > 0 && (
        <p class="at">{`At the limit: ${atLimit.slice(0, MAX_NAMES).join(", ")}${more}`}</p>
      )}
    </>
  );
}
