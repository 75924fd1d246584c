// An arc about an axis in the world: its points, the angle of a point, and a tube along it.

import { CatmullRomCurve3, Mesh, SphereGeometry, TubeGeometry, type Vector3 } from "three";
import { coverMaterial } from "./sphere";

export class Arc {
  constructor(
    readonly axis: Vector3,
    /** The direction of angle 0, perpendicular to the axis. */
    private zero: Vector3,
    readonly radius: number,
  ) {}

  /** A point at an angle in radians, relative to the centre. */
  pointAt(angle: number): Vector3 {
    return this.zero.clone().applyAxisAngle(this.axis, angle).multiplyScalar(this.radius);
  }

  /** The angle in radians of a point relative to the centre. */
  angleOf(point: Vector3): number {
    const across = this.axis.clone().cross(this.zero);
    return Math.atan2(point.dot(across), point.dot(this.zero));
  }

  /** A tube through the points at `angles`; `thickness` is its radius as a share of the arc's. */
  createTube(angles: number[], thickness: number, color: string, opacity = 1): Mesh {
    const path = new CatmullRomCurve3(angles.map((angle) => this.pointAt(angle)));
    const shape = new TubeGeometry(path, angles.length - 1, thickness * this.radius, 6);
    return new Mesh(shape, coverMaterial(color, opacity));
  }

  /** A ball at an angle; `radius` is a share of the arc's. */
  createBall(angle: number, radius: number, color: string): Mesh {
    const ball = new Mesh(new SphereGeometry(radius * this.radius, 16, 12), coverMaterial(color));
    ball.position.copy(this.pointAt(angle));
    return ball;
  }
}

/** A number of equal steps from one angle to another, both included. */
export const angleSteps = (low: number, high: number, count: number): number[] =>
  Array.from({ length: count + 1 }, (_, k) => low + ((high - low) * k) / count);
