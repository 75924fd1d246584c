// Pins: joints that stay where they are while others are dragged, marked in the view.

import {
  Group,
  Mesh,
  MeshBasicMaterial,
  OctahedronGeometry,
  type Quaternion,
  type Vector3,
} from "three";
import { button, element } from "../elements";
import type { WorldPose } from "./kinematics";

const PIN = "#2f6fde";

export class Pins {
  readonly panel = element("div", { class: "pins" });
  readonly marks = new Group();
  private places = new Map<number, { position: Vector3; rotation: Quaternion }>();
  private keepTurned = element("input", { type: "checkbox" });
  private picked: number | undefined;
  private toggleButton = button("", "", () => this.toggle(), { class: "wide" });
  private list = element("ul", { "aria-label": "Pinned joints" });
  private shape: OctahedronGeometry;
  private material = new MeshBasicMaterial({ color: PIN, depthTest: false, transparent: true });

  constructor(
    private names: string[],
    size: number,
    /** Where the joints are now. */
    private world: () => WorldPose,
    private onChange: () => void,
  ) {
    this.shape = new OctahedronGeometry(0.022 * size).scale(0.9, 1.6, 0.9) as OctahedronGeometry;
    const turned = "Pins keep joints turned as they are, too";
    this.panel.append(
      this.toggleButton,
      this.list,
      element("label", { class: "check turned" }, this.keepTurned, turned),
    );
    this.update();
  }

  get size(): number {
    return this.places.size;
  }

  /** Places by the names of joints, as Python takes them. */
  get positionsByName(): Record<string, number[]> {
    return Object.fromEntries(
      [...this.places].map(([joint, { position }]) => [this.names[joint], position.toArray()]),
    );
  }

  /** Rotations in the world, w first, if pins keep those. */
  get turnsByName(): Record<string, number[]> {
    if (!this.keepTurned.checked) return {};
    return Object.fromEntries(
      [...this.places].map(
        ([
          joint,
          {
            rotation: { w, x, y, z },
          },
        ]) => [this.names[joint], [w, x, y, z]],
      ),
    );
  }

  pick(joint: number | undefined): void {
    this.picked = joint;
    this.update();
  }

  /** Pin the picked joint where it is, or let it go. */
  toggle(joint = this.picked): void {
    if (joint === undefined) return;
    if (!this.places.delete(joint)) {
      const { positions, rotations } = this.world();
      const [position, rotation] = [positions[joint], rotations[joint]];
      if (position && rotation) this.places.set(joint, { position, rotation });
    }
    this.update();
  }

  clear(): void {
    if (!this.places.size) return;
    this.places.clear();
    this.update();
  }

  private update(): void {
    const { picked } = this;
    const name = picked === undefined ? undefined : this.names[picked];
    const held = picked !== undefined && this.places.has(picked);
    const label =
      name === undefined ? "Pick a joint to pin it" : `${held ? "Unpin" : "Pin"} ${name}`;
    this.toggleButton.textContent = label;
    this.toggleButton.title = `${label} (K)`;
    this.toggleButton.setAttribute("aria-label", this.toggleButton.title);
    this.toggleButton.disabled = name === undefined;
    this.list.replaceChildren(
      ...[...this.places.keys()].map((joint) => {
        const one = this.names[joint] ?? "";
        return element(
          "li",
          {},
          one,
          button("✕", `Let go of ${one}`, () => this.toggle(joint)),
        );
      }),
    );
    this.list.hidden = this.places.size === 0;
    (this.panel.lastElementChild as HTMLElement).hidden = this.places.size === 0;
    this.marks.clear();
    for (const { position } of this.places.values()) {
      const mark = new Mesh(this.shape, this.material);
      mark.position.copy(position);
      mark.renderOrder = 5;
      this.marks.add(mark);
    }
    this.onChange();
  }
}
