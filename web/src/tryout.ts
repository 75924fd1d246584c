// Try: drag a joint, and Python's inverse kinematics lets the others follow within their limits.

import type { Vector3 } from "three";
import type { Clip, Pose } from "./clip";
import { button, degrees, element } from "./elements";
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
  private result = element("div", { id: "tried", role: "status" });
  private grip: Grip | undefined;
  private latest: Latest<Vector3>;
  private pose: Pose;
  private frame = 0;

  constructor(
    private clip: Clip,
    private line: Line,
    private shown: (tried: Tried) => void,
    reset: () => void,
  ) {
    this.pose = clip.pose(0);
    this.latest = new Latest((target) => this.solve(target));
    this.panel.append(
      element("h2", {}, "Try the limits"),
      element("p", {}, "Drag any joint, a hand or a foot say: the others follow."),
      element("label", { class: "check" }, this.limits, "Keep within the limits"),
      element("label", { class: "check" }, this.alone, "Move this limb alone"),
      button("Reset the pose", "Reset the pose (R)", reset, { class: "wide" }),
      this.result,
    );
  }

  /** Begin again from the pose of a frame. */
  start(frame: number): void {
    this.frame = frame;
    this.pose = this.clip.pose(frame);
    this.result.replaceChildren();
  }

  take(grip: Grip): boolean {
    if ((this.clip.skeleton.parents[grip.joint] ?? -1) < 0) return false;
    this.grip = grip;
    return true;
  }

  drag(target: Vector3): void {
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
    const name = this.clip.skeleton.names[this.grip.joint];
    try {
      const { header, arrays } = await this.line.ask("reach", {
        frame: this.frame,
        rotations: [...this.pose.rotations],
        joint: name,
        point: this.grip.point.toArray(),
        target: target.toArray(),
        limits: this.limits.checked,
        joints: this.alone.checked ? this.limb(this.grip.joint) : null,
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
