// Surfaces as they are sent: steps from vertex to vertex, and from corner to corner.

import { expect, test } from "vitest";
import { unpackCorners, unpackPoints } from "../src/stage/flesh";

test("points are sums of steps, axis by axis", () => {
  const steps = new Int16Array([1, 1, 0, /**/ 0, 2, -2, /**/ 5, 0, 0]);
  expect([...unpackPoints(steps, 0.5)]).toEqual([0.5, 0, 2.5, 1, 1, 2.5, 1, 0, 2.5]);
  expect([...unpackPoints(steps, 1, 1, 2)]).toEqual([1, 2, 0, 1, 0, 0]);
});

test("corners count from the least one, and wrap around", () => {
  const steps = new Int16Array([0, 3, /**/ 1, 2, /**/ 2, -32768]);
  expect([...unpackCorners(steps)]).toEqual([0, 1, 2, 3, 5, 32771]);
});
