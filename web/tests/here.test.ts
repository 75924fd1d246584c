import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Connection } from "../src/connection";
import { RegionHere } from "../src/panel/here";
import type { Picture } from "../src/protocol";
import { clip, conePicture, turn, wFirst, X } from "./samples";

const ARM = 2;
const SPINE = 1;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("window", { setTimeout });
  vi.stubGlobal("document", { body: { hasAttribute: () => false } });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** An arm that depends on the spine; requests wait until they are answered. */
function setup() {
  const body = clip();
  body.state.drivers[ARM] = SPINE;
  const requests: { draft: boolean; answer: (label: string) => Promise<unknown> }[] = [];
  const ask = (_: string, { draft }: { draft: boolean }) =>
    new Promise<Picture>((done) => {
      const answer = (label: string) => {
        done({ ...conePicture(), label });
        return vi.advanceTimersByTimeAsync(0);
      };
      requests.push({ draft, answer });
    });
  const pose = { frame: 0, rotations: [...body.rotations.slice(0, 24)], positions: [] };
  const shown: string[] = [];
  const here = new RegionHere(
    body,
    { ask } as unknown as Connection,
    () => pose as never,
    ({ label }) => shown.push(label),
  );
  here.pick(ARM);
  const bend = (degrees: number) => {
    pose.rotations.splice(4 * SPINE, 4, ...wFirst(turn(X, degrees)));
    here.setPose();
  };
  return { here, bend, requests, shown };
}

test("no draft comes after the fine picture of the same pose", async () => {
  const { bend, requests, shown } = setup();
  bend(10);
  bend(20); // its draft waits for the first one
  await vi.advanceTimersByTimeAsync(200);
  expect(requests.map(({ draft }) => draft)).toEqual([true, false]);
  await requests[1]?.answer("fine");
  await requests[0]?.answer("late draft");
  expect(shown).toEqual(["fine"]);
  expect(requests.length).toBe(2); // the draft that waited is not asked for any more
  bend(30);
  await requests[2]?.answer("draft");
  expect(shown).toEqual(["fine", "draft"]);
});

test("a draft of a pose that is over is shown until there is a better one", async () => {
  const { bend, requests, shown } = setup();
  bend(10);
  bend(20);
  await requests[0]?.answer("first");
  await requests[1]?.answer("second");
  await vi.advanceTimersByTimeAsync(200);
  await requests[2]?.answer("fine");
  expect(shown).toEqual(["first", "second", "fine"]);
});
