// Poses that were made: a stroke is one step, and one that is taken back was never there.

import { expect, test } from "vitest";
import { type MadePose, PoseHistory } from "../src/pose/history";

function pose(mark: number): MadePose {
  const rotations = Float32Array.of(1, 0, 0, 0);
  const positions = Float32Array.of(mark, 0, 0);
  return { pose: { rotations, positions }, outside: undefined, values: { mark } };
}

function history() {
  const made = new PoseHistory();
  return { made, mark: () => made.present.value?.values?.mark };
}

test("a stroke is undone as a whole, down to the clip's own pose", () => {
  const { made, mark } = history();
  const stroke = Symbol("drag");
  for (const each of [1, 2, 3]) made.take(pose(each), stroke);
  made.take(pose(4));
  expect(made.undo()).toBe(true);
  expect(mark()).toBe(3);
  made.undo();
  expect(made.present.value).toBeUndefined();
  expect(made.undo()).toBe(false);
  made.redo();
  made.redo();
  expect(mark()).toBe(4);
  expect(made.redo()).toBe(false);
});

test("a stroke that is taken back leaves what could be done again", () => {
  const { made, mark } = history();
  made.take(pose(1));
  made.take(pose(2));
  made.undo();
  const stroke = Symbol("drag");
  made.take(pose(3), stroke);
  made.take(pose(4), stroke);
  expect(made.canRedo.value).toBe(false);
  made.cancel(stroke);
  expect(mark()).toBe(1);
  made.redo();
  expect(mark()).toBe(2);
});

test("a stroke that made nothing has nothing to take back", () => {
  const { made, mark } = history();
  made.take(pose(1));
  made.cancel(Symbol("drag"));
  expect(mark()).toBe(1);
  expect(made.canUndo.value).toBe(true);
});

test("the clip's own pose is a step only where another was shown", () => {
  const { made, mark } = history();
  made.leave();
  expect(made.canUndo.value).toBe(false);
  made.take(pose(1));
  made.leave();
  expect(made.present.value).toBeUndefined();
  made.undo();
  expect(mark()).toBe(1);
});
