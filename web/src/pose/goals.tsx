// Goals of Try besides the drag: joints that are pinned, and a joint that looks at a ball.

import { computed, effect, type Signal, signal } from "@preact/signals";
import {
  Group,
  Mesh,
  MeshBasicMaterial,
  OctahedronGeometry,
  type Quaternion,
  Vector3,
} from "three";
import type { Stage } from "../stage/stage";
import type { Store } from "../store";
import { Button, Check, Select } from "../ui";
import { wFirst } from "./kinematics";

const PIN_COLOUR = "#2f6fde";
const PIN_SIZE = 0.022; // of the body's size

export const AXES: Record<string, [number, number, number]> = {
  x: [1, 0, 0],
  "-x": [-1, 0, 0],
  y: [0, 1, 0],
  "-y": [0, -1, 0],
  z: [0, 0, 1],
  "-z": [0, 0, -1],
};

/** Joints that stay where they are while others are dragged. */
export class Pins {
  private pins = signal(new Map<number, { position: Vector3; rotation: Quaternion }>());
  private keepsRotations = signal(false);

  constructor(
    private store: Store,
    stage: Stage,
  ) {
    const marks = new Group();
    const shape = new OctahedronGeometry(PIN_SIZE * stage.body.size).scale(0.9, 1.6, 0.9);
    const look = { color: PIN_COLOUR, depthTest: false, transparent: true };
    const material = new MeshBasicMaterial(look);
    stage.scene.add(marks);
    effect(() => {
      marks.clear();
      for (const { position } of this.pins.value.values()) {
        const mark = new Mesh(shape, material);
        mark.position.copy(position);
        mark.renderOrder = 5;
        marks.add(mark);
      }
      stage.draw();
    });
  }

  get count(): number {
    return this.pins.value.size;
  }

  /** Positions, and rotations (w first) if they are kept, by name, as requests have them. */
  get request(): { pins: Record<string, number[]>; turns: Record<string, number[]> } {
    const named = [...this.pins.value].map(([joint, pin]) => ({
      ...pin,
      name: this.store.nameOf(joint),
    }));
    const kept = this.keepsRotations.value ? named : [];
    return {
      pins: Object.fromEntries(named.map(({ name, position }) => [name, position.toArray()])),
      turns: Object.fromEntries(kept.map(({ name, rotation }) => [name, wFirst(rotation)])),
    };
  }

  /** Pin a joint where it is, or release it. */
  toggle(joint = this.store.picked.value): void {
    if (joint === undefined) return;
    const pins = new Map(this.pins.value);
    const { positions, rotations } = this.store.world.value;
    const [position, rotation] = [positions[joint], rotations[joint]];
    if (!pins.delete(joint) && position && rotation) pins.set(joint, { position, rotation });
    this.pins.value = pins;
  }

  clear(): void {
    if (this.pins.value.size) this.pins.value = new Map();
  }

  Panel = () => {
    const { store } = this;
    const picked = store.picked.value;
    const pinned = [...this.pins.value.keys()];
    const verb = pinned.includes(picked ?? -1) ? "Unpin" : "Pin";
    const label =
      picked === undefined ? "Pick a joint to pin it" : `${verb} ${store.nameOf(picked)}`;
    return (
      <div class="pins">
        <Button
          class="wide"
          label={`${label} (K)`}
          disabled={picked === undefined}
          onClick={() => this.toggle()}
        >
          {label}
        </Button>
        {pinned.length > 0 && (
          <>
            <ul aria-label="Pinned joints">
              {pinned.map((joint) => (
                <li key={joint}>
                  {store.nameOf(joint)}
                  <Button label={`Unpin ${store.nameOf(joint)}`} onClick={() => this.toggle(joint)}>
                    ✕
                  </Button>
                </li>
              ))}
            </ul>
            <Check box={this.keepsRotations}>Pins also keep rotations</Check>
          </>
        )}
      </div>
    );
  };
}

/** The joint that looks at the ball, and along which of its axes. */
export class LookAt {
  private isActive = signal(false);
  private name: Signal<string>;
  private axisName: Signal<string>;
  readonly joint = computed(() => this.store.clip.skeleton.names.indexOf(this.name.value));

  constructor(
    private store: Store,
    stage: Stage,
  ) {
    const { skeleton, looker, lookAxis } = store.clip;
    this.name = signal(looker ?? skeleton.names.at(-1) ?? "");
    this.axisName = signal(lookAxis);
    effect(() => {
      const isShown = this.isActive.value;
      void [this.joint.value, this.axisName.value];
      stage.showTarget(isShown ? this.pointAhead() : undefined);
    });
  }

  get axis(): [number, number, number] {
    return AXES[this.axisName.value] ?? [0, 0, 1];
  }

  reset(): void {
    this.isActive.value = false;
  }

  /** A point ahead of the joint, half a body away. */
  private pointAhead(): Vector3 {
    const { positions, rotations } = this.store.world.peek();
    const root = positions[0] ?? new Vector3();
    const size = positions.reduce((most, point) => Math.max(most, point.distanceTo(root)), 0);
    const offset = new Vector3(...this.axis).multiplyScalar(0.5 * size);
    const rotation = rotations[this.joint.value];
    if (rotation) offset.applyQuaternion(rotation);
    return offset.add(positions[this.joint.value] ?? root);
  }

  Panel = () => {
    const { names, parents } = this.store.clip.skeleton;
    const asOptions = (texts: string[]) => texts.map((name) => ({ name, label: name }));
    const name = this.name.value;
    return (
      <div class="looking">
        <Check box={this.isActive}>{`${name} looks at a ball`}</Check>
        <div class="choice" hidden={!this.isActive.value}>
          <Select
            label="The joint that looks"
            options={asOptions(names.filter((_, joint) => (parents[joint] ?? -1) >= 0))}
            value={name}
            onChoose={(chosen) => (this.name.value = chosen)}
          />
          <span>along</span>
          <Select
            label="The axis that it looks along"
            options={asOptions(Object.keys(AXES))}
            value={this.axisName.value}
            onChoose={(chosen) => (this.axisName.value = chosen)}
          />
        </div>
      </div>
    );
  };
}
