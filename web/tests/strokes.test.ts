import { beforeEach, expect, test } from "vitest";
import type { Connection } from "../src/connection";
import { Strokes } from "../src/edit/strokes";

interface Asked {
  name: string;
  request: { edit?: string; joint: string | null; stroke?: string; deg?: number };
  answer: (answer: object) => void;
  fail: (message: string) => void;
}

const NUMBER = { edit: "number", field: "low", index: 0 } as const;
let asked: Asked[];
let events: string[];
let joint: string | null;

/** Let all that can go on now do so. */
const settle = () => new Promise<void>((done) => setTimeout(done));

function strokes(): Strokes {
  const ask = (name: string, request: Asked["request"]) =>
    new Promise((resolve, reject) => {
      const fail = (message: string) => reject(new Error(message));
      asked.push({ name, request, answer: resolve, fail });
    });
  return new Strokes({ ask } as unknown as Connection, () => joint, {
    onAnswer: (_, of) => events.push(`answer ${of}`),
    onRefusal: ({ message }, { edit }) => events.push(`refusal of ${edit}: ${message}`),
    onDone: (what) => events.push(`done ${what}`),
    onStep: (message, well) => events.push(`step ${message} ${well}`),
    onChange: () => events.push("change"),
  });
}

beforeEach(() => {
  asked = [];
  events = [];
  joint = "arm";
});

test("a drag sends its latest edit, all in one stroke", async () => {
  const made = strokes();
  for (const deg of [1, 2, 3]) made.drag({ ...NUMBER, deg });
  expect(asked.map(({ request }) => request.deg)).toEqual([1]);
  const ended = made.endDrag();
  asked[0]?.answer({});
  await settle();
  expect(asked.map(({ request }) => request.deg)).toEqual([1, 3]);
  expect(events).not.toContain("change");
  asked[1]?.answer({});
  await ended;
  expect(events).toEqual(["answer arm", "answer arm", "change"]);
  expect(asked[0]?.request.stroke).toBe(asked[1]?.request.stroke);
  made.drag({ ...NUMBER, deg: 4 });
  expect(asked[2]?.request.stroke).not.toBe(asked[0]?.request.stroke);
});

test("single edits go one after the other, each a stroke of its own", async () => {
  const made = strokes();
  const first = made.apply({ edit: "mirror" }, "Mirrored.");
  const second = made.apply({ edit: "remove" }, "Removed.");
  await settle();
  expect(asked.map(({ request }) => request.edit)).toEqual(["mirror"]);
  asked[0]?.answer({});
  expect(await first).toBe(true);
  await settle();
  asked[1]?.answer({});
  expect(await second).toBe(true);
  expect(events.filter((event) => event.startsWith("done"))).toEqual([
    "done Mirrored.",
    "done Removed.",
  ]);
  expect(asked[0]?.request.stroke).not.toBe(asked[1]?.request.stroke);
});

test("an edit that is refused is not done, and says why", async () => {
  const made = strokes();
  const edit = made.apply({ edit: "remove" }, "Removed.");
  await settle();
  asked[0]?.fail("it has no limit");
  expect(await edit).toBe(false);
  expect(events).toEqual(["refusal of remove: it has no limit", "change"]);
});

test("undo waits for what was done before", async () => {
  const made = strokes();
  void made.apply({ edit: "mirror" });
  void made.step("undo");
  await settle();
  expect(asked.map(({ name }) => name)).toEqual(["edit"]);
  asked[0]?.answer({});
  await settle();
  expect(asked.map(({ name }) => name)).toEqual(["edit", "undo"]);
  asked[1]?.answer({ what: "mirror, arm" });
  await settle();
  expect(events.slice(-3)).toEqual(["answer arm", "step Undone: mirror, arm true", "change"]);
});

test("nothing to undo is said", async () => {
  void strokes().step("redo");
  await settle();
  asked[0]?.fail("there is nothing to redo");
  await settle();
  expect(events).toEqual(["step there is nothing to redo false"]);
});

test("without a joint nothing is edited", async () => {
  joint = null;
  const made = strokes();
  made.drag({ ...NUMBER, deg: 1 });
  await made.apply({ edit: "remove" });
  expect(asked).toEqual([]);
});
