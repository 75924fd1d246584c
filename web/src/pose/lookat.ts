// Looking: which joint looks at the ball, and along which of its axes.

import { Vector3 } from "three";
import type { Clip } from "../clip";
import { element } from "../elements";
import type { WorldPose } from "./kinematics";

export const AXES: Record<string, [number, number, number]> = {
  x: [1, 0, 0],
  "-x": [-1, 0, 0],
  y: [0, 1, 0],
  "-y": [0, -1, 0],
  z: [0, 0, 1],
  "-z": [0, 0, -1],
};

export class LookAt {
  readonly panel = element("div", { class: "looking" });
  private checkbox = element("input", { type: "checkbox" });
  private label = element("span");
  private jointList = element("select", { "aria-label": "The joint that looks" });
  private axisList = element("select", { "aria-label": "The axis that it looks along" });

  constructor(
    private clip: Clip,
    private onChange: () => void,
  ) {
    const { names, parents } = clip.skeleton;
    names.forEach((name, joint) => {
      if ((parents[joint] ?? -1) >= 0)
        this.jointList.append(element("option", { value: String(joint) }, name));
    });
    for (const axis of Object.keys(AXES)) this.axisList.append(element("option", {}, axis));
    this.jointList.value = String(names.indexOf(clip.looker ?? names.at(-1) ?? ""));
    this.axisList.value = clip.lookAxis;
    const choice = element(
      "div",
      { class: "choice" },
      this.jointList,
      element("span", {}, "along"),
      this.axisList,
    );
    this.panel.append(element("label", { class: "check" }, this.checkbox, this.label), choice);
    for (const each of [this.checkbox, this.jointList, this.axisList])
      each.addEventListener("change", () => {
        this.update();
        this.onChange();
      });
    this.update();
  }

  get isActive(): boolean {
    return this.checkbox.checked;
  }

  get joint(): number {
    return Number(this.jointList.value);
  }

  get axis(): [number, number, number] {
    return AXES[this.axisList.value] ?? [0, 0, 1];
  }

  reset(): void {
    this.checkbox.checked = false;
    this.update();
  }

  /** A place before the joint that looks, half a body away. */
  pointAhead({ positions, rotations }: WorldPose): Vector3 {
    const root = positions[0] ?? new Vector3();
    const far = positions.reduce((most, each) => Math.max(most, each.distanceTo(root)), 0);
    const way = new Vector3(...this.axis).multiplyScalar(0.5 * far);
    const turn = rotations[this.joint];
    if (turn) way.applyQuaternion(turn);
    return way.add(positions[this.joint] ?? root);
  }

  private update(): void {
    this.label.textContent = `${this.clip.skeleton.names[this.joint] ?? ""} looks at a ball`;
    (this.panel.lastElementChild as HTMLElement).hidden = !this.checkbox.checked;
  }
}
