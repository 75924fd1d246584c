// Try: drag a joint, and Python's inverse kinematics lets the others follow within their limits.

import type { Vector3 } from "three";
import type { Clip, Pose } from "../clip";
import { Latest, type Line } from "../connection";
import { button, degrees, element } from "../elements";
import type { Grip } from "../stage/pointer";
import type { Stage } from "../stage/stage";
import { placed } from "./kinematics";
import { Looking } from "./lookat";
import { Pins } from "./pins";

export interface Tried {
  pose: Pose;
  outsideDeg: number[];
  held: string[];
}

/** What was taken, and where it should go. */
interface Pull {
  grip: Grip;
  target: Vector3;
}

const MOST_TOLD = 6;

export class TryOut {
  readonly panel = element("div", { class: "tried" });
  readonly pins: Pins;
  private limits = element("input", { type: "checkbox", checked: true });
  private alone = element("input", { type: "checkbox", checked: true });
  private looking: Looking;
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
    private line: Line,
    stage: Stage,
    private shown: (tried: Tried) => void,
    reset: () => void,
  ) {
    this.pose = clip.pose(0);
    this.names = clip.skeleton.names;
    this.root = clip.skeleton.parents.indexOf(-1);
    const where = () => placed(clip.skeleton, this.pose);
    this.aim = (target) => stage.aim(target);
    this.looking = new Looking(clip, () =>
      this.aim(this.looking.wanted ? this.looking.ahead(where()) : undefined),
    );
    const place = (joint: number) => where().positions[joint] as Vector3;
    this.pins = new Pins(this.names, stage.body.size, place, () => stage.draw());
    stage.add(this.pins.marks);
    this.latest = new Latest((pull) => this.solve(pull));
    this.limits.addEventListener("change", () => {
      if (this.pull) void this.latest.ask(this.pull);
    });
    this.panel.append(
      element("h2", {}, "Try the limits"),
      element("p", {}, "Drag any joint, a hand or a foot say: the others follow."),
      element("label", { class: "check" }, this.limits, "Keep within the limits"),
      element("label", { class: "check" }, this.alone, "Move this limb alone"),
      this.looking.panel,
      this.pins.panel,
      button("Reset the pose", "Reset the pose (R)", reset, { class: "wide" }),
      this.result,
    );
  }

  private aim: (target: Vector3 | undefined) => void;

  /** Begin again from the pose of a frame. */
  start(frame: number): void {
    this.starts++;
    this.latest.drop();
    this.grip = this.pull = undefined;
    this.frame = frame;
    this.pose = this.clip.pose(frame);
    this.result.replaceChildren();
    this.pins.clear();
    this.looking.stop();
    this.aim(undefined);
  }

  /** Hold what the mouse has taken; a root only where pins keep the rest in place. */
  take(grip: Grip): boolean {
    const fixed = grip.joint !== undefined && (this.clip.skeleton.parents[grip.joint] ?? -1) < 0;
    if (fixed && !this.pins.size) return false;
    this.grip = grip;
    return true;
  }

  drag(target: Vector3): void {
    if (!this.grip) return; // a start took it out of the hand
    if (this.grip.joint === undefined) this.aim(target);
    this.pull = { grip: this.grip, target: target.clone() };
    void this.latest.ask(this.pull);
  }

  /** The joints from a limb's root to one of its joints: as far up as nothing else of size hangs. */
  private limb(joint: number): string[] {
    const { names, parents, children } = this.clip.skeleton;
    const count = (root: number): number =>
      1 + (children[root] ?? []).reduce((sum, child) => sum + count(child), 0);
    const chain: string[] = [];
    for (let at = joint; (parents[at] ?? -1) >= 0; at = parents[at] as number) {
      chain.unshift(names[at] as string);
      const beside = (children[parents[at] as number] ?? []).filter((child) => child !== at);
      if (beside.some((child) => count(child) > 1)) break;
    }
    return chain;
  }

  private async solve({ grip, target }: Pull): Promise<void> {
    const { joint, point } = grip;
    const { root, looking, starts } = this;
    const common = {
      frame: this.frame,
      rotations: [...this.pose.rotations],
      root: [...this.pose.positions.subarray(3 * root, 3 * root + 3)],
      pins: this.pins.given,
      target: target.toArray(),
      limits: this.limits.checked,
    };
    const joints = this.limb(joint ?? looking.joint);
    const few = this.alone.checked && joint !== root;
    try {
      const { header, arrays } =
        joint === undefined
          ? await this.line.ask("look", { ...common, joints, axis: looking.axis })
          : await this.line.ask("reach", {
              ...common,
              joint: this.names[joint],
              point: point.toArray(),
              joints: few ? joints : null,
            });
      if (starts !== this.starts) return;
      const positions = this.pose.positions.slice();
      positions.set(arrays.root as Float32Array, 3 * root);
      this.pose = { rotations: arrays.rotations as Float32Array, positions };
      this.tell(header);
      const outsideDeg = header.outsideDeg as number[];
      const held = Object.keys(header.blockingDeg as Record<string, number>);
      this.shown({ pose: this.pose, outsideDeg, held });
    } catch (error) {
      if (starts !== this.starts) return;
      this.result.replaceChildren(element("p", { class: "missed" }, (error as Error).message));
    }
  }

  private tell(header: Record<string, unknown>): void {
    const met = header.met === true;
    const blocking = header.blockingDeg as Record<string, number>;
    const held = Object.entries(blocking).slice(0, MOST_TOLD);
    const at = (header.atLimit as string[]).filter((name) => !(name in blocking));
    const more = at.length > MOST_TOLD ? ` and ${at.length - MOST_TOLD} more` : "";
    this.result.replaceChildren(
      element(
        "p",
        { class: met ? "met" : "missed" },
        `${met ? "Reached" : "Out of reach"}, in ${(header.ms as number).toFixed(1)} ms`,
      ),
      ...(held.length ? [element("p", {}, "Held back by the limit of"), listed(held)] : []),
      ...(at.length
        ? [
            element(
              "p",
              { class: "at" },
              `At the limit: ${at.slice(0, MOST_TOLD).join(", ")}${more}`,
            ),
          ]
        : []),
    );
  }
}

/** Joints whose limits hold back, with the degrees that would help. */
function listed(held: [string, number][]): HTMLElement {
  const rows = held.flatMap(([name, angle]) => [
    element("dt", {}, name),
    element("dd", {}, `${degrees(angle)} more would help`),
  ]);
  return element("dl", {}, ...rows);
}
