import { expect, test } from "vitest";
import { formatDegrees, formatPercent, formatShare } from "../src/format";
import { findViolations } from "../src/time/window";

test.each([
  [0, "0.0°"],
  [0.04, "<0.1°"],
  [0.06, "0.1°"],
  [9.94, "9.9°"],
  [12.6, "13°"],
])("%d degrees read %s", (angle, text) => {
  expect(formatDegrees(angle)).toBe(text);
});

test.each([
  [0, "0%", "a thin region"],
  [1e-9, "<0.0001%", "<0.0001% of all rotations"],
  [0.00001, "0.0010%", "0.0010% of all rotations"],
  [0.01 - 1e-17, "1.0%", "1.0% of all rotations"],
  [0.01, "1.0%", "1.0% of all rotations"],
  [0.256, "25.6%", "25.6% of all rotations"],
  [1, "100.0%", "100.0% of all rotations"],
])("a share of %d reads %s, of rotations %s", (share, percent, text) => {
  expect(formatPercent(share)).toBe(percent);
  expect(formatShare(share)).toBe(text);
});

test("violations have a worst frame by joint, and frames in which they start", () => {
  // Two joints in four frames.
  const outsideDeg = Float32Array.of(0, 0, 5, 0, 8, 2, 0, 3);
  const { worst, starts } = findViolations(outsideDeg, 2, 4);
  expect(worst).toEqual([
    { frame: 2, angle: 8 },
    { frame: 3, angle: 3 },
  ]);
  expect(starts).toEqual([false, true, true, false]);
});

test("without limits there are no violations", () => {
  const { worst, starts } = findViolations(new Float32Array(), 0, 2);
  expect(worst).toEqual([]);
  expect(starts).toEqual([false, false]);
});
