// Edits of the points of reach cones, as Python takes them.

import type { Vector3 } from "three";
import type { Outline, Span, Spot } from "../stage/cone";
import { partOf } from "../stage/cone";
import type { Edit } from "./strokes";

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
