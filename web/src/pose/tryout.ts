// Try: drag a joint, and Python's inverse kinematics lets the others follow within their limits.

import type { Vector3 } from "three";
import type { Clip, Pose } from "../clip";
import { type Connection, Latest } from "../connection";
import { button, element } from "../elements";
import { formatDegrees } from "../format";
import type { Solved } from "../protocol";
import type { Grip } from "../stage/pointer";
import type { Stage } from "../stage/stage";
import { forwardKinematics, limbJoints } from "./kinematics";
import { LookAt } from "./lookat";
import { Pins } from "./pins";

export interface TriedPose {
  pose: Pose;
  outsideDeg: number[];
  blocking: string[];
}

/** What was taken, and where it should go. */
interface Pull {
  grip: Grip;
  target: Vector3;
}

const MOST_NAMED = 6;

export class TryOut {
  readonly panel = element("div", { class: "tried" });
  readonly pins: Pins;
  private keepLimits = element("input", { type: "checkbox", checked: true });
  private limbOnly = element("input", { type: "checkbox", checked: true });
  private lookAt: LookAt;
  private result = element("div", { id: "tried", role: "status" });
  private grip: Grip | undefined;
  /** The last pull since the start. */
  private pull: Pull | undefined;
  /** Counts starts: an answer to what was asked before one comes too late. */
  private starts = 0;
  private latest: Latest<Pull>;
  private pose: Pose;
  private frame = 0;
  private names: string[];
  private root: number;

  constructor(
    private clip: Clip,
    private connection: Connection,
    stage: Stage,
    private onPose: (tried: TriedPose) => void,
    reset: () => void,
  ) {
    this.pose = clip.pose(0);
    this.names = clip.skeleton.names;
    this.root = clip.skeleton.parents.indexOf(-1);
    const where = () => forwardKinematics(clip.skeleton, this.pose);
    this.showTarget = (target) => stage.showTarget(target);
    this.lookAt = new LookAt(clip, () =>
      this.showTarget(this.lookAt.isActive ? this.lookAt.pointAhead(where()) : undefined),
    );
    const place = (joint: number) => where().positions[joint] as Vector3;
    this.pins = new Pins(this.names, stage.body.size, place, () => stage.draw());
    stage.add(this.pins.marks);
    this.latest = new Latest((pull) => this.solve(pull));
    this.keepLimits.addEventListener("change", () => {
      if (this.pull) void this.latest.send(this.pull);
    });
    this.panel.append(
      element("h2", {}, "Try the limits"),
      element("p", {}, "Drag any joint, a hand or a foot say: the others follow."),
      element("label", { class: "check" }, this.keepLimits, "Keep within the limits"),
      element("label", { class: "check" }, this.limbOnly, "Move this limb alone"),
      this.lookAt.panel,
      this.pins.panel,
      button("Reset the pose", "Reset the pose (R)", reset, { class: "wide" }),
      this.result,
    );
  }

  private showTarget: (target: Vector3 | undefined) => void;

  /** Begin again from the pose of a frame. */
  restart(frame: number): void {
    this.starts++;
    this.latest.cancel();
    this.grip = this.pull = undefined;
    this.frame = frame;
    this.pose = this.clip.pose(frame);
    this.result.replaceChildren();
    this.pins.clear();
    this.lookAt.reset();
    this.showTarget(undefined);
  }

  /** Hold what the mouse has taken; a root only where pins keep the rest in place. */
  grab(grip: Grip): boolean {
    const fixed = grip.joint !== undefined && (this.clip.skeleton.parents[grip.joint] ?? -1) < 0;
    if (fixed && !this.pins.size) return false;
    this.grip = grip;
    return true;
  }

  drag(target: Vector3): void {
    if (!this.grip) return; // a start took it out of the hand
    if (this.grip.joint === undefined) this.showTarget(target);
    this.pull = { grip: this.grip, target: target.clone() };
    void this.latest.send(this.pull);
  }

  private async solve({ grip, target }: Pull): Promise<void> {
    const { joint, point } = grip;
    const { root, lookAt, starts } = this;
    const common = {
      frame: this.frame,
      rotations: [...this.pose.rotations],
      root: [...this.pose.positions.subarray(3 * root, 3 * root + 3)],
      pins: this.pins.positionsByName,
      target: target.toArray(),
      limits: this.keepLimits.checked,
    };
    const joints = limbJoints(this.clip.skeleton, joint ?? lookAt.joint);
    const few = this.limbOnly.checked && joint !== root;
    try {
      const solved =
        joint === undefined
          ? await this.connection.ask("look", { ...common, joints, axis: lookAt.axis })
          : await this.connection.ask("reach", {
              ...common,
              joint: this.names[joint] ?? "",
              point: point.toArray(),
              joints: few ? joints : null,
            });
      if (starts !== this.starts) return;
      const positions = this.pose.positions.slice();
      positions.set(solved.root, 3 * root);
      this.pose = { rotations: solved.rotations, positions };
      this.showResult(solved);
      const blocking = Object.keys(solved.blockingDeg);
      this.onPose({ pose: this.pose, outsideDeg: solved.outsideDeg, blocking });
    } catch (error) {
      if (starts !== this.starts) return;
      this.result.replaceChildren(element("p", { class: "missed" }, (error as Error).message));
    }
  }

  private showResult({ met, ms, blockingDeg, atLimit }: Solved): void {
    const blocking = Object.entries(blockingDeg).slice(0, MOST_NAMED);
    const at = atLimit.filter((name) => !(name in blockingDeg));
    const more = at.length > MOST_NAMED ? ` and ${at.length - MOST_NAMED} more` : "";
    this.result.replaceChildren(
      element(
        "p",
        { class: met ? "met" : "missed" },
        `${met ? "Reached" : "Out of reach"}, in ${ms.toFixed(1)} ms`,
      ),
      ...(blocking.length
        ? [element("p", {}, "Held back by the limit of"), createList(blocking)]
        : []),
      ...(at.length
        ? [
            element(
              "p",
              { class: "at" },
              `At the limit: ${at.slice(0, MOST_NAMED).join(", ")}${more}`,
            ),
          ]
        : []),
    );
  }
}

/** Joints whose limits hold back, with the degrees that would help. */
function createList(blocking: [string, number][]): HTMLElement {
  const rows = blocking.flatMap(([name, angle]) => [
    element("dt", {}, name),
    element("dd", {}, `${formatDegrees(angle)} more would help`),
  ]);
  return element("dl", {}, ...rows);
}
