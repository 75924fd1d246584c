// A limit as Python draws it: the directions of the bone, and the boundary among rotations.

import { type Quaternion, Vector3 } from "three";
import { quaternionAt } from "../pose/kinematics";
import type { Hinge, Picture, ShapeNumber } from "../protocol";
import { type Compass, createCompass, type Outline, outlineFrom, type Span } from "./cone";

export interface Region {
  family: string;
  /** What the family is called. */
  label: string;
  chart: string;
  /** Whether it can be pushed and pulled. */
  sculptable: boolean;
  /** Of all rotations. */
  share: number;
  /** What can be typed. */
  numbers: ShapeNumber[];
  /** Of a joint that turns about one axis. */
  hinge: Hinge | null;
  reference: Quaternion;
  axis: Vector3;
  compass: Compass;
  directions: Float32Array;
  faces: Uint32Array;
  rim: Uint32Array;
  twistDeg: Float32Array;
  twistSpan: Span;
  /** Of a reach cone, or a union of them. */
  outline: Outline | undefined;
  vectors: Float32Array;
  triangles: Uint32Array;
}

export function regionFrom(picture: Picture): Region {
  const { family, label, chart, sculptable, share, numbers, hinge, twistDeg } = picture;
  const { directions, faces, rim, vectors, triangles } = picture;
  let [least, most] = [Infinity, 0];
  for (const width of twistDeg) {
    least = Math.min(least, width);
    most = Math.max(most, width);
  }
  const axis = new Vector3().fromArray(picture.axis);
  const reference = quaternionAt(picture.reference, 0);
  return {
    family,
    label,
    chart,
    sculptable,
    share,
    numbers,
    hinge,
    reference,
    axis,
    compass: createCompass(axis, reference),
    directions,
    faces,
    rim,
    twistDeg,
    twistSpan: [Math.min(least, most), most],
    outline: outlineFrom(picture),
    vectors,
    triangles,
  };
}
