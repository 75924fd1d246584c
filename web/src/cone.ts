// Geometry of a reach cone on its sphere, for display: angles of points, twists, slices, arcs.

import { Quaternion, Vector3 } from "three";

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
export function compassOf(axis: Vector3, reference: Quaternion): Compass {
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
export function twistedUp({ axis, up }: Compass, direction: Vector3, twistDeg: number): Vector3 {
  const swing = new Quaternion().setFromUnitVectors(axis, direction);
  const twist = new Quaternion().setFromAxisAngle(axis, twistDeg * DEGREE);
  return up.clone().applyQuaternion(swing.multiply(twist));
}

/** The twist, of those that differ by whole turns the one nearest to `near`, that looks `way`. */
export function twistDegOf(
  compass: Compass,
  direction: Vector3,
  way: Vector3,
  near: number,
): number {
  const zero = twistedUp(compass, direction, 0);
  const angle = Math.atan2(way.dot(direction.clone().cross(zero)), way.dot(zero)) / DEGREE;
  return angle + 360 * Math.round((near - angle) / 360);
}

/** Which of the triangles between the visible point and an edge a direction is in, by its number. */
export function sliceOf(corners: Vector3[], visible: Vector3, direction: Vector3): number {
  const aside = corners.map((corner) => visible.clone().cross(corner).dot(direction));
  const number = aside.findIndex(
    (here, i) => here >= 0 && (aside[(i + 1) % aside.length] ?? 0) < 0,
  );
  return Math.max(number, 0);
}

/** How high a direction is over the great circle of an edge, as a sine: negative outside. */
export function heightOver([start, end]: [Vector3, Vector3], direction: Vector3): number {
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
export function directionsOf(flat: Float32Array): Vector3[] {
  return Array.from({ length: flat.length / 3 }, (_, i) => new Vector3().fromArray(flat, 3 * i));
}

/** Pairs of points for lines that run through `points`. */
export const chained = (points: Vector3[]): Vector3[] =>
  points.slice(1).flatMap((point, i) => [points[i] as Vector3, point]);
