// Edits of the points of reach cones, as Python takes them.

import type { Vector3 } from "three";
import type { Edit } from "../protocol";
import type { Outline, PointKey, Span } from "../stage/cone";
import { locate } from "../stage/cone";

/** The edit that puts a point into a direction. */
export function moveEdit(outline: Outline, key: PointKey, direction: Vector3): Edit {
  const { part, index } = locate(outline, key);
  const point = direction.toArray();
  return index === null
    ? { edit: "move-visible", part, point }
    : { edit: "move-point", part, index, point };
}

/** The edit that sets the twists at a point. */
export function twistEdit(outline: Outline, key: PointKey, [lowDeg, highDeg]: Span): Edit {
  return { edit: "twist", ...locate(outline, key), lowDeg, highDeg };
}

/** The edit that adds a point in the middle of the edge after a corner. */
export function addEdit(outline: Outline, corner: number): Edit {
  const { part, index } = locate(outline, corner);
  return { edit: "add-point", part, after: index };
}

/** Twists from `low` to `high` with an end moved; of a whole turn, the end that makes it less. */
export function moveTwistEnd(low: number, high: number, side: 0 | 1, twist: number): Span {
  const free = high - low >= 360;
  if (side === 0) return free && twist < low ? [low, twist + 360] : [twist, high];
  return free && twist > high ? [twist - 360, high] : [low, twist];
}
