// The connection to Python: requests are JSON, answers are a JSON header with arrays behind it.

import type { Answers, Edge, Header, Requests, State } from "./protocol";

/** Names of requests. */
export type Ask = keyof Requests;

export type Message = Header & Answers[Ask];

/** Why there is no answer to a request. */
export class Refusal extends Error {
  constructor(
    reason: string,
    /** The edge of a cone that is at fault. */
    readonly edge?: Edge | null,
  ) {
    super(reason);
  }
}

const KINDS = {
  f4: Float32Array,
  u4: Uint32Array,
  i2: Int16Array,
  u2: Uint16Array,
  u1: Uint8Array,
};

/** Decode a message; its arrays become fields. */
export function decode(buffer: ArrayBuffer): Message {
  const length = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  const message: Message = JSON.parse(text);
  const arrays: Record<string, InstanceType<(typeof KINDS)[keyof typeof KINDS]>> = {};
  let start = 4 + length;
  for (const { name, type, shape, step, whole } of message.arrays) {
    const count = shape.reduce((product, side) => product * side, 1);
    if (type === "d2" || type === "d4") {
      const width = type === "d2" ? 2 : 4;
      const numbers = addDifferences(new Uint8Array(buffer, start, count * width), width, shape);
      arrays[name] = convert(numbers, step ?? 0, whole ?? false);
      start += 4 * Math.ceil((count * width) / 4);
      continue;
    }
    const array = new KINDS[type](buffer, start, count);
    arrays[name] = array;
    start += 4 * Math.ceil(array.byteLength / 4);
  }
  return Object.assign(message, arrays);
}

/** Decode an array that was sent as differences; see `Differences` in Python. */
function addDifferences(
  bytes: Uint8Array,
  width: 2 | 4,
  [rows = 0]: number[],
): Uint32Array<ArrayBuffer> {
  const count = bytes.length / width;
  const numbers = new Uint32Array(count);
  const columns = count / Math.max(rows, 1);
  const mask = width === 2 ? 0xffff : 0xffffffff;
  for (let column = 0; column < columns; column++) {
    let number = 0;
    for (let row = 0; row < rows; row++) {
      const at = column * rows + row;
      let difference = (bytes[at] as number) + 256 * (bytes[count + at] as number);
      for (let k = 2; k < width; k++) difference |= (bytes[k * count + at] as number) << (8 * k);
      number = (number + difference) & mask;
      numbers[row * columns + column] = number;
    }
  }
  return numbers;
}

/** Sums of differences as integers, as multiples of a step, or as the bits of floats. */
function convert({ buffer }: Uint32Array<ArrayBuffer>, step: number, whole: boolean) {
  if (whole) return new Uint32Array(buffer);
  if (!step) return new Float32Array(buffer);
  const signed = new Int16Array(buffer); // every second one: the lower half of each number
  return Float32Array.from({ length: signed.length / 2 }, (_, k) => step * (signed[2 * k] ?? 0));
}

/** Encode a request with bytes of a file, as length of the header, header and bytes. */
export function encode(request: object, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const header = new TextEncoder().encode(JSON.stringify(request));
  const message = new Uint8Array(4 + header.length + content.length);
  new DataView(message.buffer).setUint32(0, header.length, true);
  message.set(header, 4);
  message.set(content, 4 + header.length);
  return message;
}

/** Milliseconds after which a notice reports that an answer is late. */
const LATE_MS = 2000;

interface Pending {
  resolve(answer: Answers[Ask]): void;
  reject(reason: Error): void;
}

export class Connection {
  /** Called when another page has changed the limits. */
  onNews: () => void = () => {};
  /** Called when the state of the limits has changed. */
  onState: (state: State) => void = () => {};
  /** Called when an answer is late, and when none is late any more. */
  onLate: (late: boolean) => void = () => {};
  private pending = new Map<number, Pending>();
  private late = new Set<number>();
  private nextId = 0;
  private closed: Error | undefined;

  protected constructor(private socket?: WebSocket) {
    if (!socket) return;
    socket.onmessage = ({ data }) => this.receive(decode(data));
    socket.addEventListener("close", () => this.close());
  }

  static open(onClose: () => void): Promise<Connection> {
    const address = new URL("socket", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    return new Promise((resolve) => {
      socket.onopen = () => resolve(new Connection(socket));
      socket.onclose = onClose;
    });
  }

  /** Send a request, with bytes of a file if they are given. */
  ask<Name extends Ask>(
    name: Name,
    request: Requests[Name],
    content?: Uint8Array,
  ): Promise<Answers[Name]> {
    // A closing socket sends nothing, but has not fired its event yet.
    if (this.socket?.readyState !== WebSocket.OPEN) this.close();
    if (this.closed) return Promise.reject(this.closed);
    const id = this.nextId++;
    const whole = { ...request, id, ask: name };
    this.socket?.send(content ? encode(whole, content) : JSON.stringify(whole));
    setTimeout(() => this.markLate(id), LATE_MS);
    return new Promise((resolve, reject) => {
      // mypy checks that Python answers as the protocol says.
      this.pending.set(id, { resolve: (answer) => resolve(answer as Answers[Name]), reject });
    });
  }

  /** Send a request while it matters; answers and errors that do not matter any more are dropped. */
  async askWhile<Name extends Ask>(
    matters: () => boolean,
    name: Name,
    request: Requests[Name],
  ): Promise<Answers[Name] | undefined> {
    if (!matters()) return undefined;
    try {
      const answer = await this.ask(name, request);
      return matters() ? answer : undefined;
    } catch (error) {
      if (matters()) throw error;
      return undefined;
    }
  }

  private markLate(id: number): void {
    if (!this.pending.has(id)) return;
    this.late.add(id);
    this.onLate(true);
  }

  private clearLate(id: number): void {
    if (this.late.delete(id) && !this.late.size) this.onLate(false);
  }

  /** Reject all pending requests. */
  private close(): void {
    if (this.closed) return;
    const closed = new Error("the connection to Synovia is lost");
    this.closed = closed;
    ignoreUnhandled(closed);
    for (const [id, { reject }] of this.pending) {
      this.clearLate(id);
      reject(closed);
    }
    this.pending.clear();
  }

  private receive(message: Message): void {
    const { id, error, edge, state } = message;
    if (state) this.onState(state);
    if (id === undefined || id === null) this.onNews();
    const pending = this.pending.get(id ?? -1);
    if (!pending) return;
    this.pending.delete(id ?? -1);
    this.clearLate(id ?? -1);
    if (error) pending.reject(new Refusal(error, edge));
    else pending.resolve(message);
  }
}

/** Do not report a rejection as unhandled: one notice reports that the connection is closed. */
function ignoreUnhandled(reason: Error): void {
  addEventListener("unhandledrejection", (event) => {
    if (event.reason === reason) event.preventDefault();
  });
}

/** Answers that are recorded in an exported page. */
export class Recording extends Connection {
  private readOnly = new Error("this page is a recording: it is only looked at");

  constructor(private recorded: Record<string, string>) {
    super();
    ignoreUnhandled(this.readOnly);
  }

  /** The recording in the page, if there is one. */
  static find(): Recording | undefined {
    const text = document.querySelector("#recorded")?.textContent;
    return text ? new Recording(JSON.parse(text)) : undefined;
  }

  override async ask<Name extends Ask>(
    name: Name,
    request: Requests[Name],
  ): Promise<Answers[Name]> {
    const entries = Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1));
    const text = this.recorded[JSON.stringify([name, Object.fromEntries(entries)])];
    if (text === undefined) throw this.readOnly;
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const whole = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return decode(await new Response(whole).arrayBuffer()) as unknown as Answers[Name];
  }
}

/** Milliseconds after which a pose is still, and slow requests are sent. */
const STILL_MS = 150;

/** Sends one request at a time, then only the latest of those that arrived meanwhile. */
export class Latest<Request> {
  private busy = false;
  private next: { request: Request } | undefined;
  private idleListeners: (() => void)[] = [];
  private timer: number | undefined;

  constructor(private transmit: (request: Request) => Promise<void>) {}

  /** Send a request after `STILL_MS`, unless another one is sent so or all are cancelled. */
  sendWhenStill(request: Request): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.send(request), STILL_MS);
  }

  async send(request: Request): Promise<void> {
    if (this.busy) {
      this.next = { request };
      return;
    }
    this.busy = true;
    try {
      await this.transmit(request);
    } finally {
      this.busy = false;
      const { next } = this;
      this.next = undefined;
      if (next) void this.send(next.request);
      else for (const notify of this.idleListeners.splice(0)) notify();
    }
  }

  /** Drop the requests that wait to be sent. */
  cancel(): void {
    clearTimeout(this.timer);
    this.next = undefined;
  }

  /** Resolves when all requests have been answered. */
  whenIdle(): Promise<void> {
    return this.busy ? new Promise((done) => this.idleListeners.push(done)) : Promise.resolve();
  }
}

/** Bytes of a part of a file: less than a request may have. */
const PART = 512 << 10;

/** Send a file in parts; return the id of the upload. */
export async function sendFile(connection: Connection, file: File): Promise<string> {
  const upload = crypto.randomUUID();
  const { name, size } = file;
  for (let at = 0; at === 0 || at < size; at += PART) {
    const part = new Uint8Array(await file.slice(at, at + PART).arrayBuffer());
    await connection.ask("send", { upload, name, size }, part);
  }
  return upload;
}
