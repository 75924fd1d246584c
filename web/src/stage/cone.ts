// Reach cones on their sphere: their points, and the geometry of angles, twists, slices and arcs.

import { Quaternion, Vector3 } from "three";
import type { ConePoints } from "../protocol";

const DEGREE = Math.PI / 180;
const STEP = 4 * DEGREE;

/** What angles are counted from, in the limit's own frame: the bone, and two ways across it. */
export interface Compass {
  axis: Vector3;
  /** Up at rest, or to the front where the bone is upright. */
  up: Vector3;
  side: Vector3;
}

/** Of a limit whose bone is `axis` and whose reference turns its frame into the parent's. */
export function createCompass(axis: Vector3, reference: Quaternion): Compass {
  const back = reference.clone().invert();
  const across = (way: Vector3) => way.applyQuaternion(back).projectOnPlane(axis);
  let up = across(new Vector3(0, 1, 0));
  if (up.length() < 0.2) up = across(new Vector3(0, 0, 1));
  up.normalize();
  return { axis, up, side: axis.clone().cross(up) };
}

/** How far a direction is from the bone, and where around it: counter-clockwise from up. */
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

/** Where the bone's upper side looks when it points in a direction and is twisted by an angle. */
export function upAtTwist({ axis, up }: Compass, direction: Vector3, twistDeg: number): Vector3 {
  const swing = new Quaternion().setFromUnitVectors(axis, direction);
  const twist = new Quaternion().setFromAxisAngle(axis, twistDeg * DEGREE);
  return up.clone().applyQuaternion(swing.multiply(twist));
}

/** The twist, of those that differ by whole turns the one nearest to `near`, that looks `way`. */
export function twistDegTowards(
  compass: Compass,
  direction: Vector3,
  way: Vector3,
  near: number,
): number {
  const zero = upAtTwist(compass, direction, 0);
  const angle = Math.atan2(way.dot(direction.clone().cross(zero)), way.dot(zero)) / DEGREE;
  return angle + 360 * Math.round((near - angle) / 360);
}

/** Which of the triangles between the visible point and an edge a direction is in, by its number. */
export function sliceIndex(corners: Vector3[], visible: Vector3, direction: Vector3): number {
  const aside = corners.map((corner) => visible.clone().cross(corner).dot(direction));
  const number = aside.findIndex(
    (here, i) => here >= 0 && (aside[(i + 1) % aside.length] ?? 0) < 0,
  );
  return Math.max(number, 0);
}

/** How high a direction is over the great circle of an edge, as a sine: negative outside. */
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

/** Directions kept in a flat array. */
export function unflatten(flat: Float32Array): Vector3[] {
  return Array.from({ length: flat.length / 3 }, (_, i) => new Vector3().fromArray(flat, 3 * i));
}

/** Pairs of points for lines that run through `points`. */
export const segments = (points: Vector3[]): Vector3[] =>
  points.slice(1).flatMap((point, i) => [points[i] as Vector3, point]);

/** Least and greatest. */
export type Span = [number, number];

/** A corner by its number among those of all cones, or the visible point of a cone. */
export type PointKey = number | `visible${number}`;

/** One cone: which corners are its own, from `first` on, and its visible point. */
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

/** None where the limit is no cone. */
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

/** Which cone a point is of, and the number of a corner there; a visible point has none. */
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

/** Corners and visible point of one cone after the other. */
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

/** What a point is called, to be read. */
export function labelOf(outline: Outline, key: PointKey): string {
  const { part, index } = locate(outline, key);
  const name = index === null ? "visible point" : `point ${index}`;
  return outline.cones.length > 1
    ? `Cone ${part}, ${name}`
    : name[0]?.toUpperCase() + name.slice(1);
}

/** The slice that a direction is in, of the cone that holds it or comes nearest to it. */
export interface Slice {
  part: number;
  /** The edge's own number in the cone, and its two ends. */
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
