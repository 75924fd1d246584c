// Try: drag a joint, and Python's inverse kinematics lets the others follow within their limits.

import { type Quaternion, Vector3 } from "three";
import type { Clip, Pose } from "./clip";
import { button, degrees, element } from "./elements";
import { placed } from "./quaternions";
import { type Line, Latest } from "./socket";
import type { Grip } from "./stage";

export interface Tried {
  pose: Pose;
  outsideDeg: number[];
  held: string[];
}

export class TryOut {
  readonly panel = element("div", { class: "tried" });
  private limits = element("input", { type: "checkbox", checked: true });
  private alone = element("input", { type: "checkbox", checked: true });
  private look = element("input", { type: "checkbox" });
  private result = element("div", { id: "tried", role: "status" });
  private grip: Grip | undefined;
  private latest: Latest<Vector3>;
  private pose: Pose;
  private frame = 0;
  private names: string[];
  /** The joint that looks, if one is called so. */
  private head: number | undefined;

  constructor(
    private clip: Clip,
    private line: Line,
    private shown: (tried: Tried) => void,
    private aim: (target: Vector3 | undefined) => void,
    reset: () => void,
  ) {
    this.pose = clip.pose(0);
    this.names = clip.skeleton.names;
    const head = this.names.findIndex((name) => /head$/i.test(name));
    this.head = clip.skeleton.parents[head] === undefined || head === 0 ? undefined : head;
    this.look.addEventListener("change", () => this.aim(this.look.checked ? this.ahead() : undefined));
    this.latest = new Latest((target) => this.solve(target));
    this.panel.append(
      element("h2", {}, "Try the limits"),
      element("p", {}, "Drag any joint, a hand or a foot say: the others follow."),
      element("label", { class: "check" }, this.limits, "Keep within the limits"),
      element("label", { class: "check" }, this.alone, "Move this limb alone"),
      ...(this.head === undefined
        ? []
        : [element("label", { class: "check" }, this.look, `${this.names[this.head]} looks at a ball`)]),
      button("Reset the pose", "Reset the pose (R)", reset, { class: "wide" }),
      this.result,
    );
  }

  /** Begin again from the pose of a frame. */
  start(frame: number): void {
    this.frame = frame;
    this.pose = this.clip.pose(frame);
    this.result.replaceChildren();
    this.look.checked = false;
    this.aim(undefined);
  }

  /** A place before the head, half a body away. */
  private ahead(): Vector3 | undefined {
    if (this.head === undefined) return undefined;
    const { positions, rotations } = placed(this.clip.skeleton, this.pose);
    const far = positions.reduce((most, each) => Math.max(most, each.distanceTo(positions[0] as Vector3)), 0);
    const way = new Vector3(0, 0, 0.5 * far).applyQuaternion(rotations[this.head] as Quaternion);
    return way.add(positions[this.head] as Vector3);
  }

  take(grip: Grip): boolean {
    if (grip.joint === undefined) {
      this.grip = grip;
      return true;
    }
    if ((this.clip.skeleton.parents[grip.joint] ?? -1) < 0) return false;
    this.grip = grip;
    return true;
  }

  drag(target: Vector3): void {
    if (this.grip?.joint === undefined) this.aim(target);
    void this.latest.ask(target);
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

  private async solve(target: Vector3): Promise<void> {
    if (!this.grip) return;
    const { joint, point } = this.grip;
    const common = {
      frame: this.frame,
      rotations: [...this.pose.rotations],
      target: target.toArray(),
      limits: this.limits.checked,
    };
    const joints = this.limb(joint ?? this.head ?? 0);
    try {
      const { header, arrays } =
        joint === undefined
          ? await this.line.ask("look", { ...common, joints })
          : await this.line.ask("reach", {
              ...common,
              joint: this.names[joint],
              point: point.toArray(),
              joints: this.alone.checked ? joints : null,
            });
      this.pose = { rotations: arrays["rotations"] as Float32Array, positions: this.pose.positions };
      const blocking = header["blockingDeg"] as Record<string, number>;
      this.tell(header["met"] === true, header["ms"] as number, blocking);
      const outsideDeg = header["outsideDeg"] as number[];
      this.shown({ pose: this.pose, outsideDeg, held: Object.keys(blocking) });
    } catch (error) {
      this.result.replaceChildren(element("p", { class: "missed" }, (error as Error).message));
    }
  }

  private tell(met: boolean, ms: number, blocking: Record<string, number>): void {
    const held = Object.entries(blocking).slice(0, 6);
    this.result.replaceChildren(
      element(
        "p",
        { class: met ? "met" : "missed" },
        `${met ? "Reached" : "Out of reach"}, in ${ms.toFixed(1)} ms`,
      ),
      ...(held.length ? [element("p", {}, "Held back by the limit of")] : []),
      element(
        "dl",
        {},
        ...held.flatMap(([name, angle]) => [
          element("dt", {}, name),
          element("dd", {}, `${degrees(angle)} more would help`),
        ]),
      ),
    );
  }
}
