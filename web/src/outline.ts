// The points of a reach cone, or of the cones of a union, which can be edited.

import type { Vector3 } from "three";
import { directionsOf, heightOver, sliceOf } from "./cone";
import type { Edit } from "./strokes";

/** Least and greatest. */
export type Span = [number, number];

/** A corner by its number among those of all cones, or the visible point of a cone. */
export type Spot = number | `visible${number}`;

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

/** Of the arrays that Python sends. */
export function outlineOf(arrays: Record<string, Float32Array | Uint32Array>): Outline | undefined {
  const floats = (name: string) => arrays[name] as Float32Array;
  const spans = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => [...floats(name).subarray(2 * i, 2 * i + 2)] as Span);
  const counts = [...(arrays.cornerCounts ?? [])];
  if (!counts.length) return undefined;
  const corners = directionsOf(floats("corners"));
  const twists = spans("visibleTwistDeg", counts.length);
  let end = 0;
  const cones = directionsOf(floats("visible")).map((visible, part) => {
    const count = counts[part] as number;
    end += count;
    return { first: end - count, count, visible, visibleTwistDeg: twists[part] as Span };
  });
  return { corners, twistDeg: spans("cornersTwistDeg", corners.length), cones };
}

/** Which cone a spot is of, and the number of a corner there; a visible point has none. */
export function partOf({ cones }: Outline, spot: Spot): { part: number; index: number | null } {
  if (typeof spot === "string") return { part: Number(spot.slice("visible".length)), index: null };
  const part = cones.findIndex(({ first, count }) => spot < first + count);
  return { part, index: spot - (cones[part]?.first ?? 0) };
}

export function hasSpot(outline: Outline, spot: Spot): boolean {
  const { corners, cones } = outline;
  return typeof spot === "number"
    ? spot < corners.length
    : partOf(outline, spot).part < cones.length;
}

/** Corners and visible point of one cone after the other. */
export function spotsOf({ cones }: Outline): Spot[] {
  return cones.flatMap(({ first, count }, part): Spot[] => [
    ...Array.from({ length: count }, (_, i) => first + i),
    `visible${part}`,
  ]);
}

export function placeOf(outline: Outline, spot: Spot): Vector3 {
  const { corners, cones } = outline;
  const found =
    typeof spot === "number" ? corners[spot] : cones[partOf(outline, spot).part]?.visible;
  return found ?? (cones[0] as Cone).visible;
}

export function twistAt(outline: Outline, spot: Spot): Span {
  const { twistDeg, cones } = outline;
  const found =
    typeof spot === "number" ? twistDeg[spot] : cones[partOf(outline, spot).part]?.visibleTwistDeg;
  return found ?? (cones[0] as Cone).visibleTwistDeg;
}

/** The edges around a cone, as pairs of corners. */
export function edgesOf({ corners }: Outline, { first, count }: Cone): [Vector3, Vector3][] {
  return Array.from({ length: count }, (_, i) => [
    corners[first + i] as Vector3,
    corners[first + ((i + 1) % count)] as Vector3,
  ]);
}

/** What a spot is called, to be read. */
export function nameOf(outline: Outline, spot: Spot): string {
  const { part, index } = partOf(outline, spot);
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
    const edges = edgesOf(outline, cone);
    const edge = sliceOf(
      edges.map(([start]) => start),
      cone.visible,
      direction,
    );
    const ends = edges[edge] as [Vector3, Vector3];
    return { part, edge, ends, height: heightOver(ends, direction) };
  });
  return slices.reduce((best, each) => (each.height > best.height ? each : best));
}

/** The edit that puts a spot into a direction. */
export function moveTo(outline: Outline, spot: Spot, direction: Vector3): Edit {
  const { part, index } = partOf(outline, spot);
  const point = direction.toArray();
  return index === null
    ? { edit: "move-visible", part, point }
    : { edit: "move-point", part, index, point };
}

/** The edit that sets the twists at a spot. */
export function twistTo(outline: Outline, spot: Spot, [lowDeg, highDeg]: Span): Edit {
  return { edit: "twist", ...partOf(outline, spot), lowDeg, highDeg };
}

/** The edit that adds a point in the middle of the edge after a corner. */
export function addAfter(outline: Outline, corner: number): Edit {
  const { part, index } = partOf(outline, corner);
  return { edit: "add-point", part, after: index };
}
