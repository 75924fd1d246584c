// Time: loops, and violations that are not ignored.

import { expect, test } from "vitest";
import { findViolations, loopFrame } from "../src/time/timeline";

test("all frames are played, or those of a loop", () => {
  expect([3, 9, 10, 25].map((count) => loopFrame(count, 10, []))).toEqual([3, 9, 0, 5]);
  expect([4, 5, 6, 7, 8].map((count) => loopFrame(count, 10, [4, 6]))).toEqual([4, 5, 6, 4, 5]);
  expect(loopFrame(0, 10, [4, 6])).toBe(0);
  expect(loopFrame(8, 10, [4])).toBe(8);
});

test("a violation begins where it is more than what is ignored", () => {
  const angles = Float32Array.of(0, 2, 6, 3, 7, 0);
  expect(findViolations(angles, 1, 6).starts).toEqual([false, true, false, false, false, false]);
  const { worst, starts } = findViolations(angles, 1, 6, 5);
  expect(starts).toEqual([false, false, true, false, true, false]);
  expect(worst).toEqual([{ frame: 4, angle: 7 }]);
});
