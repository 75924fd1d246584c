import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Connection } from "../src/connection";
import { RegionHere } from "../src/limit";
import type { Picture } from "../src/protocol";
import { regionFrom } from "../src/stage/region";
import { Store } from "../src/store";
import { clip, conePicture, OPENING, turn, wFirst, X } from "./samples";

const ARM = 2;
const SPINE = 1;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("window", { setTimeout });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** An arm that depends on the spine; requests wait until they are answered. */
function setup() {
  const requests: { draft: boolean; answer: (label: string) => Promise<unknown> }[] = [];
  const ask = (_: string, { draft }: { draft: boolean }) =>
    new Promise<Picture>((done) => {
      const answer = (label: string) => {
        done({ ...conePicture(), label });
        return vi.advanceTimersByTimeAsync(0);
      };
      requests.push({ draft, answer });
    });
  const drivers = [-1, -1, SPINE, -1, -1, -1];
  const body = clip();
  const connection: Connection = Object.assign(Object.create(Connection.prototype), { ask });
  const store = new Store(body, connection, { ...OPENING.state, drivers }, false);
  store.picked.value = ARM;
  store.region.value = regionFrom(conePicture());
  new RegionHere(store);
  const shown: string[] = [];
  store.regionHere.subscribe((region) => region && shown.push(region.label));
  const bend = (degrees: number) => {
    const { rotations, positions } = body.pose(0);
    rotations.set(wFirst(turn(X, degrees)), 4 * SPINE);
    store.history.take({ pose: { rotations, positions }, outside: undefined, values: undefined });
  };
  return { bend, requests, shown };
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
