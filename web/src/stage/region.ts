// A limit as Python draws it: directions of the bone, and the boundary among rotations.

import { type Quaternion, Triangle, Vector3 } from "three";
import { quaternionAt } from "../pose/kinematics";
import type { Picture } from "../protocol";
import { type Compass, createCompass, type Outline, outlineFrom, type Span } from "./cone";

export interface Region extends Omit<Picture, "reference" | "axis"> {
  reference: Quaternion;
  axis: Vector3;
  compass: Compass;
  twistSpan: Span;
  /** The centroid of the directions; it is short if they are all around. */
  middle: Vector3;
  /** The outline of reach cones. */
  outline: Outline | undefined;
}

export function regionFrom(picture: Picture): Region {
  let [least, most] = [Infinity, 0];
  for (const width of picture.twistDeg) {
    least = Math.min(least, width);
    most = Math.max(most, width);
  }
  const axis = new Vector3().fromArray(picture.axis);
  const reference = quaternionAt(picture.reference, 0);
  return {
    ...picture,
    reference,
    axis,
    compass: createCompass(axis, reference),
    twistSpan: [Math.min(least, most), most],
    middle: middleOf(picture.directions, picture.faces),
    outline: outlineFrom(picture),
  };
}

/** The centroid of triangles. */
function middleOf(points: Float32Array, faces: Uint32Array): Vector3 {
  const sum = new Vector3();
  let whole = 0;
  const [a, b, c] = [new Vector3(), new Vector3(), new Vector3()];
  const triangle = new Triangle(a, b, c);
  for (let i = 0; i < faces.length; i += 3) {
    [a, b, c].forEach((corner, k) => {
      corner.fromArray(points, 3 * (faces[i + k] ?? 0));
    });
    const area = triangle.getArea();
    whole += area;
    sum.addScaledVector(a.add(b).add(c), area / 3);
  }
  return whole > 0 ? sum.divideScalar(whole) : sum;
}
