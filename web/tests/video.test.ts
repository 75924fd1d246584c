import { afterEach, expect, test, vi } from "vitest";
import { recordTurn } from "../src/stage/video";

afterEach(() => vi.unstubAllGlobals());

/** An encoder that collects the time and angle of each frame. */
function stubEncoder(yaw: () => number, fail = false) {
  const seen = { open: 0, frames: [] as { timestamp: number; angle: number }[] };
  class Frame {
    timestamp: number;
    constructor(_: unknown, init: { timestamp: number }) {
      this.timestamp = init.timestamp;
      seen.open++;
    }
    close() {
      seen.open--;
    }
  }
  class Encoder {
    state = "configured";
    encodeQueueSize = 0;
    constructor(private init: { output: unknown; error: (e: Error) => void }) {}
    configure() {}
    encode({ timestamp }: Frame) {
      if (fail) this.init.error(new Error("no room"));
      else seen.frames.push({ timestamp, angle: yaw() });
    }
    async flush() {}
    close() {
      this.state = "closed";
    }
  }
  vi.stubGlobal("VideoFrame", Frame);
  vi.stubGlobal("VideoEncoder", Encoder);
  vi.stubGlobal("requestAnimationFrame", (done: () => void) => setTimeout(done));
  return seen;
}

const CANVAS = { width: 750, height: 519 } as HTMLCanvasElement;

test("a video goes once around in equal steps, and keeps no frame", async () => {
  let yaw = 0;
  const seen = stubEncoder(() => yaw);
  const draw = (angle: number) => {
    yaw += angle;
  };
  await recordTurn(CANVAS, draw, () => {});
  expect(seen.frames.length).toBe(120);
  seen.frames.forEach(({ timestamp, angle }, frame) => {
    expect(angle).toBeCloseTo((2 * Math.PI * (frame + 1)) / 120, 9);
    expect(timestamp).toBeCloseTo((1e6 * frame) / 24, -1);
  });
  expect(seen.open).toBe(0);
});

test("what the encoder lacks is said", async () => {
  stubEncoder(() => 0, true);
  const ignore = () => {};
  await expect(recordTurn(CANVAS, ignore, ignore)).rejects.toThrow("no room");
});
