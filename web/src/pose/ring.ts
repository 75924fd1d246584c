// Rings at the picked joint that rotate it by hand; a hinge has an arc that ends at its limit.

import {
  CatmullRomCurve3,
  Group,
  Mesh,
  MeshBasicMaterial,
  Plane,
  Quaternion,
  type Ray,
  SphereGeometry,
  TubeGeometry,
  Vector3,
} from "three";
import type { Hinge } from "../protocol";
import { PICKED } from "../stage/colours";
import type { Handle } from "../stage/pointer";
import type { WorldPose } from "./kinematics";

const RADIUS = 0.11; // of the body's size
const THICKNESS = 0.028; // of the radius
const POINTS = 90; // of a ring, which are also its handles
const COLOURS = ["#2f6fde", "#7c5cd6", "#0b9488"];
const AXES = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)];

/** One ring or arc: an axis in the world, and points at angles around it. */
interface Arc {
  axis: Vector3;
  /** The direction of angle 0, perpendicular to the axis. */
  from: Vector3;
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
  private arcs: Arc[] = [];
  private center = new Vector3();
  private joint: number | undefined;
  private rotation = new Quaternion();
  private held: { arc: Arc; angle: number; rotation: Quaternion } | undefined;

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
    this.arcs = [];
    const rotation = joint === undefined ? undefined : world.rotations[joint];
    if (joint === undefined || !rotation || parent < 0) return;
    this.rotation.copy(rotation);
    this.place(world.positions[joint]);
    if (hinge) this.addHinge(hinge, world.rotations[parent] ?? new Quaternion());
    else
      AXES.forEach((axis, at) => {
        const rotated = axis.clone().applyQuaternion(rotation);
        const from = (AXES[(at + 1) % 3] as Vector3).clone().applyQuaternion(rotation);
        this.add(rotated, from, 0, 2 * Math.PI, COLOURS[at] ?? PICKED);
      });
  }

  private place(center: Vector3 | undefined): void {
    if (center) this.center.copy(center);
    this.group.position.copy(this.center);
  }

  /** The arc of a hinge's legal directions. */
  private addHinge({ axis, zero, lowDeg, highDeg }: Hinge, base: Quaternion): void {
    const rotated = new Vector3().fromArray(axis).applyQuaternion(base);
    const from = new Vector3().fromArray(zero).applyQuaternion(base);
    this.add(rotated, from, (lowDeg * Math.PI) / 180, (highDeg * Math.PI) / 180, PICKED);
    const ends = this.arcs[0]?.angles ?? [];
    for (const angle of [ends[0], ends.at(-1)]) {
      const end = new Mesh(
        new SphereGeometry(0.075 * RADIUS * this.size, 12, 8),
        new MeshBasicMaterial({ color: PICKED, depthTest: false, transparent: true }),
      );
      end.position.copy(this.pointAt(this.arcs[0] as Arc, angle ?? 0));
      end.renderOrder = 5;
      this.group.add(end);
    }
  }

  private add(axis: Vector3, from: Vector3, low: number, high: number, color: string): void {
    const angles = Array.from({ length: POINTS + 1 }, (_, k) => low + ((high - low) * k) / POINTS);
    const arc = { axis, from, angles };
    this.arcs.push(arc);
    const path = new CatmullRomCurve3(angles.map((angle) => this.pointAt(arc, angle)));
    const line = new Mesh(
      new TubeGeometry(path, POINTS, THICKNESS * RADIUS * this.size, 6),
      new MeshBasicMaterial({ color, depthTest: false, transparent: true, opacity: 0.95 }),
    );
    line.renderOrder = 4;
    this.group.add(line);
  }

  /** A point of an arc, relative to its centre. */
  private pointAt({ axis, from }: Arc, angle: number): Vector3 {
    return from
      .clone()
      .applyAxisAngle(axis, angle)
      .multiplyScalar(RADIUS * this.size);
  }

  get handles(): Handle[] {
    return this.arcs.flatMap((arc) =>
      arc.angles.map((angle) => ({
        position: this.pointAt(arc, angle).add(this.center),
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
      this.held = { arc, angle, rotation: this.rotation.clone() };
      this.listener.onBegin();
    }
    const plane = new Plane().setFromNormalAndCoplanarPoint(arc.axis, this.center);
    const hit = ray.intersectPlane(plane, new Vector3());
    if (!hit) return;
    const offset = hit.sub(this.center);
    const across = arc.axis.clone().cross(arc.from);
    const to = Math.atan2(offset.dot(across), offset.dot(arc.from));
    const rotation = new Quaternion().setFromAxisAngle(arc.axis, to - this.held.angle);
    this.listener.onRotate(this.joint, rotation.multiply(this.held.rotation));
  }
}
