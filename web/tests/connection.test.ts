import { afterEach, expect, test, vi } from "vitest";
import { Connection, decode, encode, Latest } from "../src/connection";
import type { State } from "../src/protocol";

const STATE: State = {
  limited: [1],
  grouped: [],
  measuredFrom: [-1, 0],
  drivers: [],
  undo: "twist, arm",
  redo: null,
  file: null,
  unsaved: true,
  twoVerdicts: false,
  scene: 0,
  leftover: null,
  evidence: 1,
};

/** A message as Python packs it: length, header padded to 4 bytes, arrays. */
function message(header: object, arrays: Record<string, Float32Array | Uint32Array> = {}) {
  const entries = Object.entries(arrays).map(([name, array]) => ({
    name,
    type: array instanceof Uint32Array ? "u4" : "f4",
    shape: [array.length],
  }));
  let text = new TextEncoder().encode(JSON.stringify({ ...header, arrays: entries }));
  const padding = new Uint8Array((4 - (text.length % 4)) % 4).fill(32);
  text = Uint8Array.of(...text, ...padding);
  const length = new Uint8Array(Uint32Array.of(text.length).buffer);
  const flat = Object.values(arrays).flatMap((array) => [...new Uint8Array(array.buffer)]);
  return Uint8Array.of(...length, ...text, ...flat).buffer;
}

test("arrays of a message become fields of their types", () => {
  const sent = { before: Float32Array.of(1.5, -2), faces: Uint32Array.of(7, 8, 9) };
  const decoded = decode(message({ id: 3, joint: "Épaule" }, sent));
  expect(decoded).toMatchObject({ id: 3, joint: "Épaule", ...sent });
});

test("an array of several dimensions is flat, and an empty one is empty", () => {
  const header = { id: 1, arrays: [{ name: "rotations", type: "f4", shape: [2, 0, 4] }] };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const length = new Uint8Array(Uint32Array.of(text.length).buffer);
  expect(decode(Uint8Array.of(...length, ...text).buffer)).toMatchObject({
    rotations: new Float32Array(),
  });
});

class FakeSocket {
  static OPEN = 1;
  static last: FakeSocket;
  readyState = 1;
  binaryType = "";
  sent: Record<string, unknown>[] = [];
  onopen = () => {};
  onclose = () => {};
  onmessage: (event: { data: ArrayBuffer }) => void = () => {};
  private listeners: (() => void)[] = [];

  constructor(readonly address: URL) {
    FakeSocket.last = this;
    queueMicrotask(() => this.onopen());
  }

  addEventListener(_: "close", listener: () => void): void {
    this.listeners.push(listener);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(): void {
    this.readyState = 3;
    for (const listener of this.listeners) listener();
  }
}

async function open(): Promise<[Connection, FakeSocket]> {
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("location", { href: "http://127.0.0.1:80/token/" });
  vi.stubGlobal("addEventListener", () => {});
  const connection = await Connection.open(() => {});
  return [connection, FakeSocket.last];
}

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("the socket is beside the page", async () => {
  const [, socket] = await open();
  expect(socket.address.href).toBe("ws://127.0.0.1/token/socket");
});

test("answers find their requests, in any order", async () => {
  const [connection, socket] = await open();
  const asked = [
    connection.ask("outside", { frame: 0, rotations: [] }),
    connection.ask("outside", { frame: 1, rotations: [] }),
  ];
  expect(socket.sent.map(({ id, ask, frame }) => [id, ask, frame])).toEqual([
    [0, "outside", 0],
    [1, "outside", 1],
  ]);
  socket.onmessage({ data: message({ id: 1, outsideDeg: [20] }) });
  socket.onmessage({ data: message({ id: 0, outsideDeg: [10] }) });
  expect((await Promise.all(asked)).map(({ outsideDeg }) => outsideDeg[0])).toEqual([10, 20]);
});

test("a failure is told, unless what was asked for does not matter any more", async () => {
  const [connection, socket] = await open();
  const failure = (id: number) => message({ id, error: "arm has no limit" });
  const asked = connection.ask("region", { joint: "arm" });
  socket.onmessage({ data: failure(0) });
  await expect(asked).rejects.toThrow("arm has no limit");
  const dropped = connection.askWhile(() => false, "region", { joint: "arm" });
  socket.onmessage({ data: failure(1) });
  expect(await dropped).toBeUndefined();
});

test("news and states are told", async () => {
  const [connection, socket] = await open();
  const told: string[] = [];
  connection.onState = ({ undo }) => void told.push(`state ${undo}`);
  connection.onNews = () => void told.push("news");
  socket.onmessage({ data: message({ state: STATE }) });
  socket.onmessage({ data: message({ id: 9, state: STATE }) });
  expect(told).toEqual(["state twist, arm", "news", "state twist, arm"]);
});

test("an answer is late until it comes", async () => {
  vi.useFakeTimers();
  const [connection, socket] = await open();
  const told: boolean[] = [];
  connection.onLate = (late) => told.push(late);
  const asked = connection.ask("check", {});
  vi.advanceTimersByTime(2500);
  expect(told).toEqual([true]);
  socket.onmessage({ data: message({ id: 0 }, { outsideDeg: new Float32Array() }) });
  await asked;
  expect(told).toEqual([true, false]);
});

test("when the socket closes, all who wait are told, and so is who asks later", async () => {
  const [connection, socket] = await open();
  const asked = connection.ask("check", {});
  socket.close();
  await expect(asked).rejects.toThrow("the connection to Synovia is lost");
  await expect(connection.ask("check", {})).rejects.toThrow("the connection to Synovia is lost");
});

test("of requests that come while one is in flight, only the latest is sent", async () => {
  const sent: number[] = [];
  const release: (() => void)[] = [];
  const latest = new Latest((request: number) => {
    sent.push(request);
    return new Promise<void>((done) => release.push(done));
  });
  void latest.send(1);
  void latest.send(2);
  void latest.send(3);
  const idle = latest.whenIdle();
  release.shift()?.();
  await vi.waitFor(() => expect(sent).toEqual([1, 3]));
  release.shift()?.();
  await idle;
  expect(sent).toEqual([1, 3]);
});

test("what was cancelled is not sent", async () => {
  const sent: number[] = [];
  let release = () => {};
  const latest = new Latest((request: number) => {
    sent.push(request);
    return new Promise<void>((done) => {
      release = done;
    });
  });
  const first = latest.send(1);
  void latest.send(2);
  latest.cancel();
  release();
  await first;
  expect(sent).toEqual([1]);
});

test("a request with a file is its header's length, the header, and the bytes", () => {
  const message = encode({ id: 3, ask: "send", name: "é" }, Uint8Array.of(1, 2, 255));
  const length = new DataView(message.buffer).getUint32(0, true);
  const header = new TextDecoder().decode(message.subarray(4, 4 + length));
  expect(JSON.parse(header)).toEqual({ id: 3, ask: "send", name: "é" });
  expect([...message.subarray(4 + length)]).toEqual([1, 2, 255]);
});
