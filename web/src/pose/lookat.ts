// Looking: which joint looks at the ball, and along which of its axes.

import { Vector3 } from "three";
import type { Clip } from "../clip";
import { element } from "../elements";
import type { Placed } from "./kinematics";

const AXES: Record<string, [number, number, number]> = {
  x: [1, 0, 0],
  "-x": [-1, 0, 0],
  y: [0, 1, 0],
  "-y": [0, -1, 0],
  z: [0, 0, 1],
  "-z": [0, 0, -1],
};

export class Looking {
  readonly panel = element("div", { class: "looking" });
  private on = element("input", { type: "checkbox" });
  private told = element("span");
  private who = element("select", { "aria-label": "The joint that looks" });
  private along = element("select", { "aria-label": "The axis that it looks along" });

  constructor(
    private clip: Clip,
    private changed: () => void,
  ) {
    const { names, parents } = clip.skeleton;
    names.forEach((name, joint) => {
      if ((parents[joint] ?? -1) >= 0)
        this.who.append(element("option", { value: String(joint) }, name));
    });
    for (const axis of Object.keys(AXES)) this.along.append(element("option", {}, axis));
    this.who.value = String(names.indexOf(clip.looker ?? names.at(-1) ?? ""));
    this.along.value = clip.lookAxis;
    const choice = element(
      "div",
      { class: "choice" },
      this.who,
      element("span", {}, "along"),
      this.along,
    );
    this.panel.append(element("label", { class: "check" }, this.on, this.told), choice);
    for (const each of [this.on, this.who, this.along])
      each.addEventListener("change", () => {
        this.tell();
        this.changed();
      });
    this.tell();
  }

  get wanted(): boolean {
    return this.on.checked;
  }

  get joint(): number {
    return Number(this.who.value);
  }

  get axis(): [number, number, number] {
    return AXES[this.along.value] ?? [0, 0, 1];
  }

  stop(): void {
    this.on.checked = false;
    this.tell();
  }

  /** A place before the joint that looks, half a body away. */
  ahead({ positions, rotations }: Placed): Vector3 {
    const root = positions[0] ?? new Vector3();
    const far = positions.reduce((most, each) => Math.max(most, each.distanceTo(root)), 0);
    const way = new Vector3(...this.axis).multiplyScalar(0.5 * far);
    const turn = rotations[this.joint];
    if (turn) way.applyQuaternion(turn);
    return way.add(positions[this.joint] ?? root);
  }

  private tell(): void {
    this.told.textContent = `${this.clip.skeleton.names[this.joint] ?? ""} looks at a ball`;
    (this.panel.lastElementChild as HTMLElement).hidden = !this.on.checked;
  }
}
