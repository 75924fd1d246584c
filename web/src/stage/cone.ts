// The geometry of reach cones on the unit sphere: points, angles, twists, slices and arcs.

import { Quaternion, Vector3 } from "three";
import type { ConePoints } from "../protocol";

const DEGREE = Math.PI / 180;
const STEP = 4 * DEGREE;

/** The axes of angles in the limit's frame: the bone, and two directions perpendicular to it. */
export interface Compass {
  axis: Vector3;
  /** Up at rest, or forward if the bone is upright. */
  up: Vector3;
  side: Vector3;
}

/** The axes of a limit with the bone `axis`; `reference` maps its frame to the parent's. */
export function createCompass(axis: Vector3, reference: Quaternion): Compass {
  const inverse = reference.clone().invert();
  const across = (vector: Vector3) => vector.applyQuaternion(inverse).projectOnPlane(axis);
  let up = across(new Vector3(0, 1, 0));
  if (up.length() < 0.2) up = across(new Vector3(0, 0, 1));
  up.normalize();
  return { axis, up, side: axis.clone().cross(up) };
}

/** Degrees from the bone, and around it, counter-clockwise from up. */
export function anglesDeg({ axis, up, side }: Compass, direction: Vector3): [number, number] {
  const away = direction.angleTo(axis) / DEGREE;
  return [away, Math.atan2(direction.dot(side), direction.dot(up)) / DEGREE];
}

export function directionAt(
  { axis, up, side }: Compass,
  awayDeg: number,
  aroundDeg: number,
): Vector3 {
  const [away, around] = [awayDeg * DEGREE, aroundDeg * DEGREE];
  return axis
    .clone()
    .multiplyScalar(Math.cos(away))
    .addScaledVector(up, Math.sin(away) * Math.cos(around))
    .addScaledVector(side, Math.sin(away) * Math.sin(around));
}

/** The direction of the bone's upper side, for a direction and a twist of the bone. */
export function upAtTwist({ axis, up }: Compass, direction: Vector3, twistDeg: number): Vector3 {
  const swing = new Quaternion().setFromUnitVectors(axis, direction);
  const twist = new Quaternion().setFromAxisAngle(axis, twistDeg * DEGREE);
  return up.clone().applyQuaternion(swing.multiply(twist));
}

/** The twist whose upper side is towards `up`; modulo 360°, the one nearest to `near`. */
export function twistDegTowards(
  compass: Compass,
  direction: Vector3,
  up: Vector3,
  near: number,
): number {
  const zero = upAtTwist(compass, direction, 0);
  const angle = Math.atan2(up.dot(direction.clone().cross(zero)), up.dot(zero)) / DEGREE;
  return angle + 360 * Math.round((near - angle) / 360);
}

/** The index of the triangle of visible point and edge that contains a direction. */
export function sliceIndex(corners: Vector3[], visible: Vector3, direction: Vector3): number {
  const aside = corners.map((corner) => visible.clone().cross(corner).dot(direction));
  const number = aside.findIndex(
    (here, i) => here >= 0 && (aside[(i + 1) % aside.length] ?? 0) < 0,
  );
  return Math.max(number, 0);
}

/** The sine of a direction's angle above the great circle of an edge; negative outside. */
export function heightAboveEdge([start, end]: [Vector3, Vector3], direction: Vector3): number {
  return start.clone().cross(end).normalize().dot(direction);
}

/** Points along the great circle from one direction to another, both included. */
export function arc(from: Vector3, to: Vector3): Vector3[] {
  const whole = from.angleTo(to);
  const steps = Math.max(1, Math.ceil(whole / STEP));
  const sine = Math.sin(whole);
  return Array.from({ length: steps + 1 }, (_, i) => {
    const share = i / steps;
    if (sine < 1e-6) return from.clone().lerp(to, share);
    const [a, b] = [Math.sin((1 - share) * whole) / sine, Math.sin(share * whole) / sine];
    return from.clone().multiplyScalar(a).addScaledVector(to, b);
  });
}

/** The vectors in a flat array. */
export function unflatten(flat: Float32Array): Vector3[] {
  return Array.from({ length: flat.length / 3 }, (_, i) => new Vector3().fromArray(flat, 3 * i));
}

/** Pairs of points for lines through `points`. */
export const segments = (points: Vector3[]): Vector3[] =>
  points.slice(1).flatMap((point, i) => [points[i] as Vector3, point]);

/** The least and the greatest value. */
export type Span = [number, number];

/** A corner by its index among those of all cones, or the visible point of a cone. */
export type PointKey = number | `visible${number}`;

/** One cone: its `count` corners from index `first`, and its visible point. */
export interface Cone {
  first: number;
  count: number;
  visible: Vector3;
  visibleTwistDeg: Span;
}

export interface Outline {
  corners: Vector3[];
  twistDeg: Span[];
  cones: Cone[];
}

/** The outline of a limit; undefined if it is not a cone. */
export function outlineFrom(points: ConePoints): Outline | undefined {
  const counts = points.cornerCounts;
  if (!counts.length) return undefined;
  const twists = spansFrom(points.visibleTwistDeg);
  let end = 0;
  const cones = unflatten(points.visible).map((visible, part) => {
    const count = counts[part] as number;
    end += count;
    return { first: end - count, count, visible, visibleTwistDeg: twists[part] as Span };
  });
  return { corners: unflatten(points.corners), twistDeg: spansFrom(points.cornersTwistDeg), cones };
}

function spansFrom(flat: Float32Array): Span[] {
  return Array.from({ length: flat.length / 2 }, (_, i) => [
    flat[2 * i] as number,
    flat[2 * i + 1] as number,
  ]);
}

/** The cone of a point, and the index of a corner in it; null for a visible point. */
export function locate(outline: Outline, key: number): { part: number; index: number };
export function locate(outline: Outline, key: PointKey): { part: number; index: number | null };
export function locate({ cones }: Outline, key: PointKey): { part: number; index: number | null } {
  if (typeof key === "string") return { part: Number(key.slice("visible".length)), index: null };
  const part = cones.findIndex(({ first, count }) => key < first + count);
  return { part, index: key - (cones[part]?.first ?? 0) };
}

export function hasPoint(outline: Outline, key: PointKey): boolean {
  const { corners, cones } = outline;
  return typeof key === "number" ? key < corners.length : locate(outline, key).part < cones.length;
}

/** The corners and the visible point of each cone. */
export function listPoints({ cones }: Outline): PointKey[] {
  return cones.flatMap(({ first, count }, part): PointKey[] => [
    ...Array.from({ length: count }, (_, i) => first + i),
    `visible${part}`,
  ]);
}

export function directionOf(outline: Outline, key: PointKey): Vector3 {
  const { corners, cones } = outline;
  const found = typeof key === "number" ? corners[key] : cones[locate(outline, key).part]?.visible;
  return found ?? (cones[0] as Cone).visible;
}

export function twistSpanAt(outline: Outline, key: PointKey): Span {
  const { twistDeg, cones } = outline;
  const found =
    typeof key === "number" ? twistDeg[key] : cones[locate(outline, key).part]?.visibleTwistDeg;
  return found ?? (cones[0] as Cone).visibleTwistDeg;
}

/** The edges around a cone, as pairs of corners. */
export function listEdges({ corners }: Outline, { first, count }: Cone): [Vector3, Vector3][] {
  return Array.from({ length: count }, (_, i) => [
    corners[first + i] as Vector3,
    corners[first + ((i + 1) % count)] as Vector3,
  ]);
}

/** The label of a point. */
export function labelOf(outline: Outline, key: PointKey): string {
  const { part, index } = locate(outline, key);
  const name = index === null ? "visible point" : `point ${index}`;
  return outline.cones.length > 1
    ? `Cone ${part}, ${name}`
    : name[0]?.toUpperCase() + name.slice(1);
}

/** The slice of a direction, in the cone that contains it or is nearest to it. */
export interface Slice {
  part: number;
  /** The index of the edge in the cone, and its two ends. */
  edge: number;
  ends: [Vector3, Vector3];
}

export function sliceAt(outline: Outline, direction: Vector3): Slice {
  const slices = outline.cones.map((cone, part) => {
    const edges = listEdges(outline, cone);
    const edge = sliceIndex(
      edges.map(([start]) => start),
      cone.visible,
      direction,
    );
    const ends = edges[edge] as [Vector3, Vector3];
    return { part, edge, ends, height: heightAboveEdge(ends, direction) };
  });
  return slices.reduce((best, each) => (each.height > best.height ? each : best));
}
