// A limit as Python draws it: the directions of the bone, and the boundary among rotations.

import { type Quaternion, Vector3 } from "three";
import type { Answer } from "../connection";
import type { Typed } from "../edit/numbers";
import { quaternionAt } from "../pose/kinematics";
import { type Compass, createCompass, type Outline, outlineFrom, type Span } from "./cone";

export interface Region {
  family: string;
  chart: string;
  /** Of all rotations. */
  share: number;
  /** What can be typed. */
  numbers: Typed[];
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

export function regionFrom({ header, arrays }: Answer): Region {
  const floats = (name: string) => arrays[name] as Float32Array;
  const whole = (name: string) => arrays[name] as Uint32Array;
  const twistDeg = floats("twistDeg");
  let [least, most] = [Infinity, 0];
  for (const width of twistDeg) {
    least = Math.min(least, width);
    most = Math.max(most, width);
  }
  const axis = new Vector3(...(header.axis as [number, number, number]));
  const reference = quaternionAt(header.reference as number[], 0);
  return {
    family: header.family as string,
    chart: header.chart as string,
    share: header.share as number,
    numbers: header.numbers as Typed[],
    reference,
    axis,
    compass: createCompass(axis, reference),
    directions: floats("directions"),
    faces: whole("faces"),
    rim: whole("rim"),
    twistDeg,
    twistSpan: [Math.min(least, most), most],
    outline: outlineFrom(arrays),
    vectors: floats("vectors"),
    triangles: whole("triangles"),
  };
}
