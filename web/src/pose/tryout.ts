// Try: drag a joint, and Python's inverse kinematics lets the others follow within their limits.

import type { Quaternion, Vector3 } from "three";
import type { Clip, Pose } from "../clip";
import { type Connection, Latest } from "../connection";
import { button, element } from "../elements";
import { formatDegrees, formatValue } from "../format";
import type { Answers, Pulled, Solved } from "../protocol";
import type { Grip } from "../stage/pointer";
import type { Stage } from "../stage/stage";
import type { MadePose } from "./history";
import { forwardKinematics, limbJoints } from "./kinematics";
import { LookAt } from "./lookat";
import { Pins } from "./pins";

/** What trying is told, and tells. */
export interface TryListener {
  /** The pose that is shown. */
  current(): MadePose;
  /** A pose that was found, in a stroke. */
  onPose(made: MadePose, stroke: symbol): void;
  /** A stroke is taken back. */
  onCancel(stroke: symbol): void;
  /** The frame whose positions a pose has. */
  frame(): number;
}

/** A drag: where it began, and what it has led to. */
interface Stroke {
  name: symbol;
  start: MadePose;
  last: MadePose;
}

/** What was taken, and where it should go. */
interface Pull {
  stroke: Stroke;
  grip: Grip;
  target: Vector3;
  /** Whether to try everything before it is said to be out of reach. */
  thorough: boolean;
}

interface Turn {
  stroke: Stroke;
  joint: number;
  rotation: Quaternion;
}

const MOST_NAMED = 6;

export class TryOut {
  readonly panel = element("div", { class: "tried" });
  readonly pins: Pins;
  private keepLimits = element("input", { type: "checkbox", checked: true });
  private limbOnly: HTMLInputElement;
  private lookAt: LookAt;
  private result = element("div", { id: "tried", role: "status" });
  private grip: Grip | undefined;
  private stroke: Stroke | undefined;
  /** The last pull since the start, and whether it was met. */
  private pull: Pull | undefined;
  private isMet = true;
  /** The pose that the result is of, and the joints that hold its goal back. */
  private resultPose: Pose | undefined;
  blocking: number[] = [];
  /** Counts starts: an answer to what was asked before one comes too late. */
  private starts = 0;
  private latest: Latest<Pull>;
  private turns: Latest<Turn>;
  private names: string[];
  private root: number;
  private hasFigure: boolean;

  constructor(
    private clip: Clip,
    private connection: Connection,
    stage: Stage,
    private listener: TryListener,
    reset: () => void,
  ) {
    this.names = clip.skeleton.names;
    this.root = clip.skeleton.parents.indexOf(-1);
    this.hasFigure = clip.controls.length > 0;
    // A figure's spine helps as little as it can, so that it need not be forbidden to.
    this.limbOnly = element("input", { type: "checkbox", checked: !this.hasFigure });
    const where = () => forwardKinematics(clip.skeleton, listener.current().pose);
    this.showTarget = (target) => stage.showTarget(target);
    this.lookAt = new LookAt(clip, () =>
      this.showTarget(this.lookAt.isActive ? this.lookAt.pointAhead(where()) : undefined),
    );
    this.pins = new Pins(this.names, stage.body.size, where, () => stage.draw());
    stage.add(this.pins.marks);
    this.latest = new Latest((pull) => this.solve(pull));
    this.turns = new Latest((turn) => this.solveTurn(turn));
    this.keepLimits.addEventListener("change", () => {
      if (this.pull) void this.latest.send(this.pull);
    });
    this.panel.append(
      element("h2", {}, "Try the limits"),
      element(
        "p",
        {},
        "Drag any joint, a hand or a foot say: the others follow. Rings turn the picked one.",
      ),
      element("label", { class: "check" }, this.keepLimits, "Keep within the limits"),
      element("label", { class: "check" }, this.limbOnly, "Move this limb alone"),
      this.lookAt.panel,
      this.pins.panel,
      button("Reset the pose", "Reset the pose (R)", reset, { class: "wide" }),
      this.result,
    );
  }

  private showTarget: (target: Vector3 | undefined) => void;

  /** Begin again: whatever is under way is forgotten. */
  restart(): void {
    this.starts++;
    this.latest.cancel();
    this.turns.cancel();
    this.grip = this.pull = this.stroke = undefined;
    this.forget();
    this.pins.clear();
    this.lookAt.reset();
    this.showTarget(undefined);
  }

  /** Hold what the mouse has taken; a root only where pins keep the rest in place. */
  grab(grip: Grip): boolean {
    const fixed = grip.joint !== undefined && (this.clip.skeleton.parents[grip.joint] ?? -1) < 0;
    if (fixed && !this.pins.size) return false;
    this.grip = grip;
    this.begin();
    return true;
  }

  /** Begin a stroke, which can be taken back as a whole. */
  begin(): void {
    const start = this.listener.current();
    this.stroke = { name: Symbol("drag"), start, last: start };
  }

  drag(target: Vector3): void {
    const { grip, stroke } = this;
    if (!grip || !stroke) return; // a start took it out of the hand
    if (grip.joint === undefined) this.showTarget(target);
    this.pull = { stroke, grip, target: target.clone(), thorough: false };
    void this.latest.send(this.pull);
  }

  /** The drag is over: where it did not get there, everything is tried once. */
  release(): void {
    const { pull, grip } = this;
    this.grip = undefined;
    if (!pull || pull.grip !== grip || !this.controlsFollow) return;
    const { starts } = this;
    void this.latest.whenIdle().then(() => {
      if (starts !== this.starts || this.pull !== pull || this.isMet) return;
      void this.latest.send({ ...pull, thorough: true });
    });
  }

  /** Take the drag back: the pose is what it was before. */
  cancel(): void {
    const { stroke } = this;
    this.starts++;
    this.latest.cancel();
    this.turns.cancel();
    this.grip = this.pull = this.stroke = undefined;
    this.forget();
    if (stroke) this.listener.onCancel(stroke.name);
  }

  /** Another pose may be shown, by an undo say: what was said of one before is not of it. */
  follow(pose: Pose | undefined): void {
    if (pose !== this.resultPose) this.forget();
  }

  private forget(): void {
    this.resultPose = undefined;
    this.blocking = [];
    this.result.replaceChildren();
  }

  /** Turn a joint by hand, so that the world sees it as a rotation says. */
  turn(joint: number, rotation: Quaternion): void {
    if (this.stroke) void this.turns.send({ stroke: this.stroke, joint, rotation });
  }

  /** Whether a figure's controls are what is solved for. */
  private get controlsFollow(): boolean {
    return this.hasFigure && this.keepLimits.checked;
  }

  private async solve(pull: Pull): Promise<void> {
    const { starts } = this;
    const { stroke, grip } = pull;
    try {
      const followed = this.controlsFollow && grip.joint !== undefined;
      const solved = await (followed ? this.askPull(pull) : this.askJoints(pull));
      if (starts !== this.starts) return;
      this.isMet = solved.met;
      if ("values" in solved) {
        this.showPulled(solved);
        this.accept(stroke, solved);
      } else {
        this.showSolved(solved);
        const positions = stroke.last.pose.positions.slice();
        positions.set(solved.root, 3 * this.root);
        const blocking = Object.keys(solved.blockingDeg).map((name) => this.names.indexOf(name));
        this.accept(stroke, { ...solved, positions }, blocking);
      }
    } catch (error) {
      if (starts !== this.starts) return;
      this.result.replaceChildren(element("p", { class: "missed" }, (error as Error).message));
    }
  }

  private accept(
    stroke: Stroke,
    found: Pick<Pulled, "rotations" | "positions" | "outsideDeg"> & Partial<Pulled>,
    blocking = this.heldJoints(found.held ?? {}),
  ): void {
    const { rotations, positions, outsideDeg, values } = found;
    stroke.last = { pose: { rotations, positions }, outsideDeg, values };
    this.resultPose = stroke.last.pose;
    this.blocking = blocking;
    this.listener.onPose(stroke.last, stroke.name);
  }

  /** The joints of controls that would have to go on. */
  private heldJoints(held: Record<string, number>): number[] {
    return this.clip.controls.flatMap(({ name, joints }) => (name in held ? joints : []));
  }

  private poseOf({ pose }: MadePose) {
    return {
      frame: this.listener.frame(),
      rotations: [...pose.rotations],
      positions: [...pose.positions],
    };
  }

  /** The controls of a stroke's start, which are looked for once where they are not known. */
  private async findControls({ start }: Stroke): Promise<Record<string, number>> {
    start.values ??= (await this.connection.ask("fitted", this.poseOf(start))).values;
    return start.values;
  }

  private async askPull({ stroke, grip, target, thorough }: Pull): Promise<Pulled> {
    const joint = grip.joint ?? this.root;
    const limb = joint === this.root ? [] : limbJoints(this.clip.skeleton, joint);
    return this.connection.ask("pull", {
      ...this.poseOf(stroke.start),
      values: await this.findControls(stroke),
      last: stroke.last.values ?? null,
      joint: this.names[joint] ?? "",
      point: grip.point.toArray(),
      target: target.toArray(),
      limb,
      alone: this.limbOnly.checked && joint !== this.root,
      pins: this.pins.positionsByName,
      turns: this.pins.turnsByName,
      thorough,
    });
  }

  private askJoints({ stroke, grip, target }: Pull): Promise<Solved> {
    const { joint, point } = grip;
    const { root, lookAt } = this;
    const common = {
      ...this.poseOf(stroke.last),
      start: [...stroke.start.pose.rotations],
      pins: this.pins.positionsByName,
      turns: this.pins.turnsByName,
      target: target.toArray(),
      limits: this.keepLimits.checked,
    };
    const joints = limbJoints(this.clip.skeleton, joint ?? lookAt.joint);
    if (joint === undefined)
      return this.connection.ask("look", { ...common, joints, axis: lookAt.axis });
    const few = this.limbOnly.checked && joint !== root;
    return this.connection.ask("reach", {
      ...common,
      joint: this.names[joint] ?? "",
      point: point.toArray(),
      joints: few ? joints : null,
    });
  }

  private async solveTurn({ stroke, joint, rotation: { w, x, y, z } }: Turn): Promise<void> {
    const { starts } = this;
    try {
      const turned: Answers["turn"] = await this.connection.ask("turn", {
        ...this.poseOf(stroke.start),
        values: this.controlsFollow ? await this.findControls(stroke) : null,
        last: stroke.last.values ?? null,
        joint: this.names[joint] ?? "",
        rotation: [w, x, y, z],
        limits: this.keepLimits.checked,
      });
      if (starts !== this.starts) return;
      this.result.replaceChildren(); // where it stops, the limit is seen at the joint
      this.accept(stroke, turned, []);
    } catch (error) {
      if (starts !== this.starts) return;
      this.result.replaceChildren(element("p", { class: "missed" }, (error as Error).message));
    }
  }

  private showPulled({ met, ms, beyond, held, atEnd }: Pulled): void {
    const at = Object.entries(atEnd).filter(([name]) => !(name in held));
    const ends = Object.entries(held).map(([name, value]) => [name, this.formatEnd(name, value)]);
    const why = beyond
      ? "It is farther off than the bones are long."
      : "Nothing is at the end of its range.";
    this.showOutcome(
      met,
      ms,
      !met && (beyond || !(ends.length || at.length)) ? element("p", {}, why) : undefined,
      ends.length && !beyond ? "Held back by the range of" : "",
      beyond ? [] : ends.map(([name, end]) => [readable(name ?? ""), end ?? ""]),
      at.map(([name, value]) => `${readable(name)} ${this.formatEnd(name, value)}`),
    );
  }

  private formatEnd(name: string, value: number): string {
    const unit = this.clip.controls.find((control) => control.name === name)?.unit ?? "";
    return formatValue(value, unit);
  }

  private showSolved({ met, ms, blockingDeg, atLimit }: Solved): void {
    const blocking = Object.entries(blockingDeg).map(
      ([name, angle]) => [name, `${formatDegrees(angle)} more would help`] as [string, string],
    );
    const at = atLimit.filter((name) => !(name in blockingDeg));
    const heading = blocking.length ? "Held back by the limit of" : "";
    this.showOutcome(met, ms, undefined, heading, blocking, at);
  }

  private showOutcome(
    met: boolean,
    ms: number,
    why: HTMLElement | undefined,
    heading: string,
    rows: [string, string][],
    at: string[],
  ): void {
    const more = at.length > MOST_NAMED ? ` and ${at.length - MOST_NAMED} more` : "";
    const text = `At the limit: ${at.slice(0, MOST_NAMED).join(", ")}${more}`;
    this.result.replaceChildren(
      element(
        "p",
        { class: met ? "met" : "missed" },
        `${met ? "Reached" : "Out of reach"}, in ${ms.toFixed(1)} ms`,
      ),
      ...(why ? [why] : []),
      ...(heading ? [element("p", {}, heading), createList(rows.slice(0, MOST_NAMED))] : []),
      ...(at.length ? [element("p", { class: "at" }, text)] : []),
    );
  }
}

/** A control's name as one reads it: left_shoulder.flexion is "left shoulder flexion". */
function readable(name: string): string {
  return name.replaceAll(/[._]/g, " ");
}

/** What holds back, and what would help. */
function createList(rows: [string, string][]): HTMLElement {
  return element(
    "dl",
    {},
    ...rows.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]),
  );
}
