// Rings at the picked joint that rotate it by hand; a hinge has an arc that ends at its limit.

import { Group, type Mesh, Plane, Quaternion, type Ray, Vector3 } from "three";
import type { Hinge } from "../protocol";
import { Arc, angleSteps } from "../stage/arc";
import { PICKED } from "../stage/colours";
import type { Handle } from "../stage/pointer";
import type { WorldPose } from "./kinematics";

const RADIUS = 0.11; // of the body's size
const THICKNESS = 0.028; // of the radius
const END = 0.075; // radius of the balls at the ends, likewise
const POINTS = 90; // of a ring, which are also its handles
const DEGREE = Math.PI / 180;
const COLOURS = ["#2f6fde", "#7c5cd6", "#0b9488"];
const AXES = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)];

/** One ring, or the arc of a hinge, with the angles of its points. */
interface Ring {
  arc: Arc;
  angles: number[];
}

export interface RingListener {
  /** Called when a drag begins. */
  onBegin(): void;
  /** Called with the rotation in the world that the joint should have. */
  onRotate(joint: number, rotation: Quaternion): void;
  onEnd(): void;
  onCancel(): void;
}

export class RotationRing {
  readonly group = new Group();
  private rings: Ring[] = [];
  private center = new Vector3();
  private joint: number | undefined;
  private rotation = new Quaternion();
  private held: { angle: number; rotation: Quaternion } | undefined;

  constructor(
    private size: number,
    private listener: RingListener,
  ) {
    this.group.renderOrder = 4;
  }

  /** Show the rings of a joint at its present rotation, or none. */
  show(
    joint: number | undefined,
    world: WorldPose,
    parent: number,
    hinge: Hinge | null | undefined,
  ): void {
    if (this.held) {
      this.place(world.positions[this.joint ?? 0]);
      return; // while it is dragged, the ring stays as it was
    }
    this.joint = joint;
    for (const part of this.group.children) (part as Mesh).geometry.dispose();
    this.group.clear();
    this.rings = [];
    const rotation = joint === undefined ? undefined : world.rotations[joint];
    if (joint === undefined || !rotation || parent < 0) return;
    this.rotation.copy(rotation);
    this.place(world.positions[joint]);
    if (hinge) this.addHinge(hinge, world.rotations[parent] ?? new Quaternion());
    else
      AXES.forEach((axis, index) => {
        const zero = AXES[(index + 1) % 3] as Vector3;
        this.add(axis.clone(), zero.clone(), rotation, 0, 360, COLOURS[index] ?? PICKED);
      });
  }

  private place(center: Vector3 | undefined): void {
    if (center) this.center.copy(center);
    this.group.position.copy(this.center);
  }

  /** The arc of a hinge's legal directions. */
  private addHinge({ axis, zero, lowDeg, highDeg }: Hinge, base: Quaternion): void {
    const [about, from] = [new Vector3().fromArray(axis), new Vector3().fromArray(zero)];
    const { arc, angles } = this.add(about, from, base, lowDeg, highDeg, PICKED);
    for (const angle of [angles[0], angles.at(-1)]) {
      const end = arc.createBall(angle ?? 0, END, PICKED);
      end.renderOrder = 5;
      this.group.add(end);
    }
  }

  /** Add the arc between two angles about an axis of a frame that `base` maps to the world. */
  private add(
    axis: Vector3,
    zero: Vector3,
    base: Quaternion,
    lowDeg: number,
    highDeg: number,
    color: string,
  ): Ring {
    const radius = RADIUS * this.size;
    const arc = new Arc(axis.applyQuaternion(base), zero.applyQuaternion(base), radius);
    const angles = angleSteps(lowDeg * DEGREE, highDeg * DEGREE, POINTS);
    const tube = arc.createTube(angles, THICKNESS, color, 0.95);
    tube.renderOrder = 4;
    this.group.add(tube);
    const ring = { arc, angles };
    this.rings.push(ring);
    return ring;
  }

  get handles(): Handle[] {
    return this.rings.flatMap(({ arc, angles }) =>
      angles.map((angle) => ({
        position: arc.pointAt(angle).add(this.center),
        yields: true,
        drag: (ray: Ray) => this.drag(arc, angle, ray),
        release: () => this.end(() => this.listener.onEnd()),
        cancel: () => this.end(() => this.listener.onCancel()),
        click: () => {},
      })),
    );
  }

  private end(notify: () => void): void {
    if (!this.held) return;
    this.held = undefined;
    notify();
  }

  private drag(arc: Arc, angle: number, ray: Ray): void {
    if (this.joint === undefined) return;
    if (!this.held) {
      this.held = { angle, rotation: this.rotation.clone() };
      this.listener.onBegin();
    }
    const plane = new Plane().setFromNormalAndCoplanarPoint(arc.axis, this.center);
    const hit = ray.intersectPlane(plane, new Vector3());
    if (!hit) return;
    const change = arc.angleOf(hit.sub(this.center)) - this.held.angle;
    const rotation = new Quaternion().setFromAxisAngle(arc.axis, change);
    this.listener.onRotate(this.joint, rotation.multiply(this.held.rotation));
  }
}
