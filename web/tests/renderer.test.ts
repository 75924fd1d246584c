// Drawing is called slow only after several slow frames one after the other.

import { expect, test } from "vitest";
import { FrameClock } from "../src/stage/renderer";

const slowAt = (times: number[]) => {
  const clock = new FrameClock();
  return times.findIndex((time) => clock.tick(time));
};
const every = (ms: number, count: number) => Array.from({ length: count }, (_, k) => 100 + k * ms);

test("frames at 60 a second are fast, at 5 a second slow", () => {
  expect(slowAt(every(16, 100))).toBe(-1);
  expect(slowAt(every(200, 100))).toBe(8);
});

test("one late frame and a pause are not slow drawing", () => {
  const late = every(16, 30).map((time, k) => time + (k > 14 ? 400 : 0));
  expect(slowAt(late)).toBe(-1);
  expect(slowAt([...every(200, 8), ...every(200, 8).map((time) => time + 60_000)])).toBe(-1);
});
