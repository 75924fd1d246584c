import { Quaternion, Vector3 } from "three";
import { describe, expect, test } from "vitest";
import { addEdit, moveEdit, moveTwistEnd, twistEdit } from "../src/edit/points";
import {
  anglesDeg,
  arc,
  createCompass,
  directionAt,
  directionOf,
  hasPoint,
  heightAboveEdge,
  labelOf,
  listEdges,
  listPoints,
  locate,
  type Outline,
  outlineFrom,
  segments,
  sliceAt,
  twistDegTowards,
  twistSpanAt,
  upAtTwist,
} from "../src/stage/cone";
import { regionFrom } from "../src/stage/region";
import { conePicture, turn, X, Y, Z } from "./samples";

const COMPASS = createCompass(Z, new Quaternion());
const outline = (cones = 1) => outlineFrom(conePicture(30, cones)) as Outline;

describe("compass", () => {
  test("up is the parent's y, or z where the bone is upright", () => {
    expect(COMPASS.up.distanceTo(Y)).toBeCloseTo(0);
    expect(createCompass(Y, new Quaternion()).up.distanceTo(Z)).toBeCloseTo(0);
    expect(createCompass(Z, turn(Z, 90)).up.distanceTo(X)).toBeCloseTo(0);
  });

  test.each([
    [10, 0],
    [90, 45],
    [170, -135],
  ])("%d degrees away at %d around come back", (away, around) => {
    const direction = directionAt(COMPASS, away, around);
    expect(direction.length()).toBeCloseTo(1);
    const [a, b] = anglesDeg(COMPASS, direction);
    expect([a, b].map((angle) => angle.toFixed(6))).toEqual(
      [away, around].map((x) => x.toFixed(6)),
    );
  });

  test.each([-170, 0, 100, 400])("a twist of %d degrees is read from where up looks", (twist) => {
    const direction = directionAt(COMPASS, 60, 20);
    const up = upAtTwist(COMPASS, direction, twist);
    expect(up.dot(direction)).toBeCloseTo(0);
    expect(twistDegTowards(COMPASS, direction, up, twist + 100)).toBeCloseTo(twist);
  });
});

describe("arcs", () => {
  test("go from one direction to the other on the sphere", () => {
    const points = arc(X, Y);
    expect(points[0]?.distanceTo(X)).toBeCloseTo(0);
    expect(points.at(-1)?.distanceTo(Y)).toBeCloseTo(0);
    for (const point of points) expect(point.length()).toBeCloseTo(1);
    expect(points.length).toBe(24); // steps of 4 degrees
  });

  test("between the same direction are that direction", () => {
    expect(arc(X, X).every((point) => point.equals(X))).toBe(true);
  });

  test("are drawn as pairs of points", () => {
    expect(segments([X, Y, Z])).toEqual([X, Y, Y, Z]);
  });
});

describe("outline", () => {
  test("is of cones alone", () => {
    const picture = conePicture();
    expect(outlineFrom({ ...picture, cornerCounts: new Uint32Array() })).toBeUndefined();
    expect(outline().corners).toHaveLength(4);
  });

  test("lists the points of one cone after the other", () => {
    expect(listPoints(outline(2))).toEqual([0, 1, 2, 3, "visible0", 4, 5, 6, 7, "visible1"]);
    expect(locate(outline(2), 5)).toEqual({ part: 1, index: 1 });
    expect(locate(outline(2), "visible1")).toEqual({ part: 1, index: null });
    expect(hasPoint(outline(), 3)).toBe(true);
    expect(hasPoint(outline(), 4)).toBe(false);
    expect(hasPoint(outline(), "visible1")).toBe(false);
  });

  test("names points by their cone where there are several", () => {
    expect(labelOf(outline(), 2)).toBe("Point 2");
    expect(labelOf(outline(2), "visible1")).toBe("Cone 1, visible point");
  });

  test("has directions and twists of points", () => {
    expect(directionOf(outline(), "visible0").distanceTo(Z)).toBeCloseTo(0);
    expect(twistSpanAt(outline(2), 7)).toEqual([-40, 40]);
    expect(twistSpanAt(outline(), "visible0")).toEqual([-45, 45]);
  });

  test("has edges that close", () => {
    const [cone] = outline().cones;
    const edges = listEdges(outline(), cone as Outline["cones"][number]);
    expect(edges).toHaveLength(4);
    expect(edges[3]?.[1].distanceTo(edges[0]?.[0] as Vector3)).toBeCloseTo(0);
  });

  test("has slices, in which directions are inside or outside", () => {
    const inside = directionAt(COMPASS, 10, -45);
    const slice = sliceAt(outline(), inside);
    expect(slice.edge).toBe(0);
    expect(heightAboveEdge(slice.ends, inside)).toBeGreaterThan(0);
    expect(heightAboveEdge(slice.ends, directionAt(COMPASS, 60, -45))).toBeLessThan(0);
  });
});

describe("edits", () => {
  test("move a corner or the visible point", () => {
    expect(moveEdit(outline(2), 5, X)).toEqual({
      edit: "move-point",
      part: 1,
      index: 1,
      point: [1, 0, 0],
    });
    expect(moveEdit(outline(), "visible0", X)).toEqual({
      edit: "move-visible",
      part: 0,
      point: [1, 0, 0],
    });
  });

  test("set twists, and add a point after a corner", () => {
    const twist = { edit: "twist", part: 0, index: null, lowDeg: -5, highDeg: 6 };
    expect(twistEdit(outline(), "visible0", [-5, 6])).toEqual(twist);
    expect(addEdit(outline(2), 6)).toEqual({ edit: "add-point", part: 1, after: 2 });
  });

  test("of a whole turn the end moves that makes it less", () => {
    expect(moveTwistEnd(-10, 10, 0, -20)).toEqual([-20, 10]);
    expect(moveTwistEnd(-10, 10, 1, 5)).toEqual([-10, 5]);
    expect(moveTwistEnd(-180, 180, 0, -190)).toEqual([-180, 170]);
    expect(moveTwistEnd(-180, 180, 1, 190)).toEqual([-170, 180]);
  });
});

test("a region has its range of twists, and a compass about its bone", () => {
  const region = regionFrom({ ...conePicture(), reference: [0, 1, 0, 0] });
  expect(region.twistSpan).toEqual([20, 80]);
  expect(region.reference.x).toBe(1);
  expect(region.compass.axis).toEqual(new Vector3(0, 0, 1));
  const empty = regionFrom({ ...conePicture(), twistDeg: new Float32Array() });
  expect(empty.twistSpan).toEqual([0, 0]);
});
