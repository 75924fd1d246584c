// The connection to Python: requests are JSON, answers are a JSON header with arrays behind it.

import type { Answers, Failure, Header, News, Requests, State } from "./protocol";

/** What can be asked for. */
export type Ask = keyof Requests;

export type Message = Header & (Answers[Ask] | News | Failure);

/** Read a message, whose arrays become fields like the others. */
export function decode(buffer: ArrayBuffer): Message {
  const length = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  const message: Message = JSON.parse(text);
  const arrays: Record<string, Float32Array | Uint32Array> = {};
  let start = 4 + length;
  for (const { name, type, shape } of message.arrays) {
    const count = shape.reduce((product, side) => product * side, 1);
    const Kind = type === "u4" ? Uint32Array : Float32Array;
    arrays[name] = new Kind(buffer, start, count);
    start += 4 * count;
  }
  return Object.assign(message, arrays);
}

/** Milliseconds after which an answer is late. */
const LATE_MS = 2000;

interface Pending {
  resolve(answer: Answers[Ask]): void;
  reject(reason: Error): void;
}

export class Connection {
  /** Told when another page has changed the limits. */
  onNews: (news: News) => void = () => {};
  /** Told with every answer that says whether the limits are saved. */
  onState: (state: State) => void = () => {};
  /** Told when an answer is late, and when no answer is late any more. */
  onLate: (late: boolean) => void = () => {};
  private pending = new Map<number, Pending>();
  private late = new Set<number>();
  private nextId = 0;
  private closed: Error | undefined;

  private constructor(private socket: WebSocket) {
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

  ask<Name extends Ask>(name: Name, request: Requests[Name]): Promise<Answers[Name]> {
    // A socket that is closing sends nothing any more, but has not said so yet.
    if (this.socket.readyState !== WebSocket.OPEN) this.close();
    if (this.closed) return Promise.reject(this.closed);
    const id = this.nextId++;
    this.socket.send(JSON.stringify({ ...request, id, ask: name }));
    setTimeout(() => this.markLate(id), LATE_MS);
    return new Promise((resolve, reject) => {
      // Python answers a request as the protocol says: mypy sees to it.
      this.pending.set(id, { resolve: (answer) => resolve(answer as Answers[Name]), reject });
    });
  }

  /** The answer; none where there was a fault, but what was asked for does not matter any more. */
  async askWhile<Name extends Ask>(
    matters: () => boolean,
    name: Name,
    request: Requests[Name],
  ): Promise<Answers[Name] | undefined> {
    try {
      return await this.ask(name, request);
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

  /** Tell all who wait that no answer will come. */
  private close(): void {
    if (this.closed) return;
    const closed = new Error("the line to synovia is gone");
    this.closed = closed;
    // Those who opened the connection are told; who asks without a care for the answer need not be.
    addEventListener("unhandledrejection", (event) => {
      if (event.reason === closed) event.preventDefault();
    });
    for (const [id, { reject }] of this.pending) {
      this.clearLate(id);
      reject(closed);
    }
    this.pending.clear();
  }

  private receive(message: Message): void {
    if ("unsaved" in message) this.onState(message);
    if ("news" in message) {
      this.onNews(message);
      return;
    }
    const { id } = message;
    const pending = id === null ? undefined : this.pending.get(id);
    if (id === null || !pending) return;
    this.pending.delete(id);
    this.clearLate(id);
    if ("error" in message) pending.reject(new Error(message.error));
    else pending.resolve(message);
  }
}

/** One request in flight; of those that come meanwhile, only the latest is sent. */
export class Latest<Request> {
  private busy = false;
  private next: { request: Request } | undefined;
  private idleListeners: (() => void)[] = [];

  constructor(private transmit: (request: Request) => Promise<void>) {}

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
      else for (const tell of this.idleListeners.splice(0)) tell();
    }
  }

  /** Forget what waits to be sent. */
  cancel(): void {
    this.next = undefined;
  }

  /** When all that was asked for has been answered. */
  whenIdle(): Promise<void> {
    return this.busy ? new Promise((done) => this.idleListeners.push(done)) : Promise.resolve();
  }
}
