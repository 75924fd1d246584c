import { afterEach, expect, test, vi } from "vitest";
import { recordTurn } from "../src/stage/video";

afterEach(() => vi.unstubAllGlobals());

/** An encoder that writes the angle at which each frame was taken. */
function stubEncoder(yaw: () => number, fail = false) {
  const open = { frames: 0 };
  class Frame {
    timestamp: number;
    angle = yaw();
    constructor(_: unknown, init: { timestamp: number }) {
      this.timestamp = init.timestamp;
      open.frames++;
    }
    close() {
      open.frames--;
    }
  }
  class Encoder {
    state = "configured";
    encodeQueueSize = 0;
    constructor(private init: { output: (chunk: object) => void; error: (e: Error) => void }) {}
    configure() {}
    encode({ timestamp, angle }: Frame, { keyFrame }: { keyFrame: boolean }) {
      if (fail) return this.init.error(new Error("no room"));
      const copyTo = (bytes: Uint8Array) =>
        new DataView(bytes.buffer, bytes.byteOffset).setFloat64(0, angle);
      this.init.output({ type: keyFrame ? "key" : "delta", timestamp, byteLength: 8, copyTo });
    }
    async flush() {}
    close() {
      this.state = "closed";
    }
  }
  vi.stubGlobal("VideoFrame", Frame);
  vi.stubGlobal("VideoEncoder", Encoder);
  vi.stubGlobal("requestAnimationFrame", (done: () => void) => setTimeout(done));
  return open;
}

const CANVAS = { width: 750, height: 519 } as HTMLCanvasElement;

test("a film goes once around in equal steps, and keeps no frame", async () => {
  let yaw = 0;
  const open = stubEncoder(() => yaw);
  const draw = (more: number) => {
    yaw += more;
  };
  const film = await recordTurn(CANVAS, draw, () => {});
  const bytes = new DataView(await film.arrayBuffer());
  const last = 120 * 21; // name, size, head and content of a block
  const angles = Array.from({ length: 120 }, (_, frame) =>
    bytes.getFloat64(bytes.byteLength - last + 21 * frame + 13),
  );
  angles.forEach((angle, frame) => {
    expect(angle).toBeCloseTo((2 * Math.PI * (frame + 1)) / 120, 9);
  });
  expect(open.frames).toBe(0);
});

test("what the encoder lacks is said", async () => {
  stubEncoder(() => 0, true);
  const ignore = () => {};
  await expect(recordTurn(CANVAS, ignore, ignore)).rejects.toThrow("no room");
});
