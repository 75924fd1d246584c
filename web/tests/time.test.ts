// Time: loops, and violations that are not ignored.

import { expect, test } from "vitest";
import { formatVerdict } from "../src/format";
import {
  findViolations,
  followFrame,
  loopFrame,
  panWindow,
  sampleRow,
  zoomWindow,
} from "../src/time/window";

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

test("what nobody performed is neither worst nor a violation", () => {
  const angles = Float32Array.of(9, 2, 0, 3);
  const { worst, starts } = findViolations(angles, 1, 4, 0, 1);
  expect(worst).toEqual([{ frame: 3, angle: 3 }]);
  expect(starts).toEqual([false, true, false, true]);
});

test("what is outside is worse than what is unusual", () => {
  const angles = Float32Array.of(-9, 2, -4, -7);
  expect(findViolations(angles, 2, 2).worst).toEqual([
    { frame: 0, angle: -9 },
    { frame: 0, angle: 2 },
  ]);
  expect(findViolations(angles, 1, 4).starts).toEqual([false, true, false, false]);
  expect([...sampleRow(0, 3, 2, (frame) => angles[frame] ?? 0)]).toEqual([2, -7]);
  expect(formatVerdict(-7, true)).toBe("7.0° unusual");
  expect(formatVerdict(2, true)).toBe("2.0° impossible");
  expect(formatVerdict(2, false)).toBe("2.0° outside");
});

test("one zooms around a place, moves along, and stays within the clip", () => {
  const all = { first: 0, last: 99 };
  expect(zoomWindow(all, 100, 0.5, 0.5)).toEqual({ first: 25, last: 74 });
  expect(zoomWindow(all, 100, 0.5, 0)).toEqual({ first: 0, last: 49 });
  expect(zoomWindow({ first: 90, last: 99 }, 100, 100, 0.9)).toEqual(all);
  expect(zoomWindow(all, 100, 0.001, 1)).toEqual({ first: 92, last: 99 });
  expect(zoomWindow({ first: 0, last: 2 }, 3, 0.5, 0.5)).toEqual({ first: 0, last: 2 });
  expect(panWindow({ first: 10, last: 19 }, 100, 0.5)).toEqual({ first: 15, last: 24 });
  expect(panWindow({ first: 10, last: 19 }, 100, -5)).toEqual({ first: 0, last: 9 });
});

test("the window goes along with the frame", () => {
  const window = { first: 10, last: 29 };
  expect(followFrame(window, 100, 15)).toBe(window);
  expect(followFrame(window, 100, 30)).toEqual({ first: 28, last: 47 });
  expect(followFrame(window, 100, 5)).toEqual({ first: 0, last: 19 });
});

test("a column has the worst of its frames", () => {
  const angles = [1, 5, 2, 0, 0, 9];
  expect([...sampleRow(0, 5, 3, (frame) => angles[frame] ?? 0)]).toEqual([5, 2, 9]);
  expect([...sampleRow(1, 2, 30, (frame) => angles[frame] ?? 0)]).toEqual([5, 2]);
});
