// The line to Python: requests are JSON, answers are a JSON header with arrays behind it.

export type Values = Float32Array | Uint32Array;

export interface Answer {
  header: Record<string, unknown>;
  arrays: Record<string, Values>;
}

interface Listed {
  name: string;
  type: "f4" | "u4";
  shape: number[];
}

export function decode(message: ArrayBuffer): Answer {
  const length = new DataView(message).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(message, 4, length)));
  const arrays: Record<string, Values> = {};
  let start = 4 + length;
  for (const { name, type, shape } of header.arrays as Listed[]) {
    const count = shape.reduce((product, side) => product * side, 1);
    arrays[name] =
      type === "u4"
        ? new Uint32Array(message, start, count)
        : new Float32Array(message, start, count);
    start += 4 * count;
  }
  return { header, arrays };
}

/** Milliseconds after which an answer is late. */
const LATE_MS = 2000;

interface Waiting {
  resolve: (answer: Answer) => void;
  reject: (reason: Error) => void;
}

export class Connection {
  /** Told when another page has changed the limits. */
  onNews: (news: Answer) => void = () => {};
  /** Told with every answer that says whether the limits are saved. */
  onState: (state: Record<string, unknown>) => void = () => {};
  /** Told when an answer is late, and when no answer is late any more. */
  onLate: (late: boolean) => void = () => {};
  private pending = new Map<number, Waiting>();
  private late = new Set<number>();
  private nextId = 0;
  private closed: Error | undefined;

  private constructor(private socket: WebSocket) {
    socket.onmessage = ({ data }) => this.receive(decode(data as ArrayBuffer));
    socket.addEventListener("close", () => this.close());
  }

  static open(lost: () => void): Promise<Connection> {
    const address = new URL("socket", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    return new Promise((resolve) => {
      socket.onopen = () => resolve(new Connection(socket));
      socket.onclose = lost;
    });
  }

  ask(what: string, given: Record<string, unknown> = {}): Promise<Answer> {
    // A socket that is closing sends nothing any more, but has not said so yet.
    if (this.socket.readyState !== WebSocket.OPEN) this.close();
    if (this.closed) return Promise.reject(this.closed);
    const id = this.nextId++;
    this.socket.send(JSON.stringify({ ...given, id, ask: what }));
    setTimeout(() => this.markLate(id), LATE_MS);
    return new Promise((resolve, reject) => this.pending.set(id, { resolve, reject }));
  }

  /** The answer; none where there was a fault, but what was asked for does not matter any more. */
  async askWhile(
    matters: () => boolean,
    what: string,
    given: Record<string, unknown>,
  ): Promise<Answer | undefined> {
    try {
      return await this.ask(what, given);
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
    const gone = new Error("the line to synovia is gone");
    this.closed = gone;
    // Those who opened the line are told; who asks without a care for the answer need not be.
    addEventListener("unhandledrejection", (event) => {
      if (event.reason === gone) event.preventDefault();
    });
    for (const [id, { reject }] of this.pending) {
      this.clearLate(id);
      reject(gone);
    }
    this.pending.clear();
  }

  private receive(answer: Answer): void {
    if ("unsaved" in answer.header) this.onState(answer.header);
    if (answer.header.news) this.onNews(answer);
    const id = answer.header.id as number;
    const waiting = this.pending.get(id);
    if (!waiting) return;
    this.pending.delete(id);
    this.clearLate(id);
    const error = answer.header.error;
    if (typeof error === "string") waiting.reject(new Error(error));
    else waiting.resolve(answer);
  }
}

/** One request in flight; of those that come meanwhile, only the latest is sent. */
export class Latest<Given> {
  private busy = false;
  private pending: { given: Given } | undefined;
  private idleListeners: (() => void)[] = [];

  constructor(private transmit: (given: Given) => Promise<void>) {}

  async send(given: Given): Promise<void> {
    if (this.busy) {
      this.pending = { given };
      return;
    }
    this.busy = true;
    try {
      await this.transmit(given);
    } finally {
      this.busy = false;
      const { pending } = this;
      this.pending = undefined;
      if (pending) void this.send(pending.given);
      else for (const tell of this.idleListeners.splice(0)) tell();
    }
  }

  /** Forget what waits to be sent. */
  cancel(): void {
    this.pending = undefined;
  }

  /** When all that was asked for has been answered. */
  whenIdle(): Promise<void> {
    return this.busy ? new Promise((done) => this.idleListeners.push(done)) : Promise.resolve();
  }
}
