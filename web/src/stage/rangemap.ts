// A map at the driver of a joint: the driver's directions, coloured by the joint's range.

import {
  BufferAttribute,
  BufferGeometry,
  Group,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  type Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
import { quaternionAt } from "../pose/kinematics";
import type { RangeMap } from "../protocol";
import { type Theme, twistColour } from "./colours";
import {
  coverMaterial,
  createBall,
  createLines,
  disposeParts,
  facingOf,
  setLines,
  setPaint,
  translucentMaterial,
} from "./sphere";

const PAINT = 0.8; // opacity

export class MapSphere {
  readonly group = new Group();
  /** The mean of the directions; the shorter, the more they are all around. */
  private middle = new Vector3();
  private reference: Quaternion;
  private axis: Vector3;
  private needle;
  private tip;

  constructor(
    map: RangeMap,
    /** By direction, the value that is coloured. */
    values: ArrayLike<number>,
    [least, most]: [number, number],
    radius: number,
    theme: Theme,
  ) {
    this.reference = quaternionAt(map.reference, 0);
    this.axis = new Vector3().fromArray(map.axis);
    for (let i = 0; i < map.directions.length; i += 3)
      this.middle.add(new Vector3().fromArray(map.directions, i));
    this.middle.multiplyScalar(3 / map.directions.length);
    const shape = new BufferGeometry();
    const share = (value: number) => (value - least) / Math.max(most - least, 1e-6);
    setPaint(
      shape,
      map,
      Array.from(values, (value) => twistColour(share(value))),
    );
    const edge = new BufferGeometry();
    edge.setAttribute("position", new BufferAttribute(map.rim, 3));
    this.needle = createLines(theme.ink);
    this.tip = new Mesh(new SphereGeometry(0.035, 16, 12), coverMaterial(theme.ink));
    this.needle.material.depthTest = false; // the bone's direction is seen from every side
    this.tip.renderOrder = 5;
    this.group.add(
      createBall(theme),
      new Mesh(shape, translucentMaterial(PAINT, { vertexColors: true })),
      new LineSegments(edge, new LineBasicMaterial({ color: theme.ink })),
      this.needle,
      this.tip,
    );
    this.group.scale.setScalar(radius);
  }

  /** The direction that the map faces in the world; undefined if it is all around. */
  get facing(): Vector3 | undefined {
    return facingOf(this.middle, this.group);
  }

  /** Place it at a driver whose rotation relative to `base` is `rotation`. */
  setPose(position: Vector3, base: Quaternion, rotation: Quaternion): void {
    this.group.position.copy(position);
    this.group.quaternion.copy(base).multiply(this.reference);
    const local = this.reference.clone().invert().multiply(rotation);
    const direction = this.axis.clone().applyQuaternion(local);
    setLines(this.needle, [new Vector3(), direction]);
    this.tip.position.copy(direction);
  }

  /** Free the memory of the graphics card. */
  dispose(): void {
    disposeParts(this.group);
  }
}
