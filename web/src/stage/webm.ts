// A file of one track of video, WebM: elements within elements, each with its name and its size.

type Content = number | string | Uint8Array<ArrayBuffer> | Element[];
type Element = [id: number, content: Content];

/** What is encoded, as the browser's VideoEncoder gives it. */
type Chunk = Pick<EncodedVideoChunk, "type" | "timestamp" | "byteLength" | "copyTo">;

/** Write frames of VP9, which last so many seconds in all; at most 32, as they are one cluster. */
export function webmFrom(chunks: Chunk[], width: number, height: number, seconds: number): Blob {
  const video: Element[] = [
    [0xb0, width],
    [0xba, height],
  ];
  const track: Element[] = [
    [0xd7, 1], // number
    [0x73c5, 1], // identity
    [0x83, 1], // it is video
    [0x86, "V_VP9"],
    [0xe0, video],
  ];
  const info: Element[] = [
    [0x2ad7b1, 1_000_000], // nanoseconds that times count in
    [0x4489, floatBytes(1000 * seconds)],
    [0x4d80, "Synovia"],
    [0x5741, "Synovia"],
  ];
  const file: Element[] = [
    [
      0x1a45dfa3,
      [
        [0x4286, 1], // versions, and the most bytes of names and sizes
        [0x42f7, 1],
        [0x42f2, 4],
        [0x42f3, 8],
        [0x4282, "webm"],
        [0x4287, 2],
        [0x4285, 2],
      ],
    ],
    [
      0x18538067,
      [
        [0x1549a966, info],
        [0x1654ae6b, [[0xae, track]]],
        [0x1f43b675, [[0xe7, 0], ...chunks.map((chunk): Element => [0xa3, block(chunk)])]],
      ],
    ],
  ];
  return new Blob([bytesOfAll(file)], { type: "video/webm" });
}

/** One frame: its track, its time in milliseconds, and whether it needs no other frame. */
function block(chunk: Chunk): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(4 + chunk.byteLength);
  bytes[0] = 0x81;
  new DataView(bytes.buffer).setInt16(1, Math.round(chunk.timestamp / 1000));
  bytes[3] = chunk.type === "key" ? 0x80 : 0;
  chunk.copyTo(bytes.subarray(4));
  return bytes;
}

function bytesOfAll(elements: Element[]): Uint8Array<ArrayBuffer> {
  const parts = elements.flatMap(([id, content]) => {
    const bytes = bytesOf(content);
    return [wholeBytes(id), sizeBytes(bytes.length), bytes];
  });
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    all.set(part, place);
    place += part.length;
  }
  return all;
}

function bytesOf(content: Content): Uint8Array<ArrayBuffer> {
  if (content instanceof Uint8Array) return content;
  if (typeof content === "number") return wholeBytes(content);
  if (typeof content === "string") return new TextEncoder().encode(content);
  return bytesOfAll(content);
}

/** A whole number below 2^32, the large end first, in as few bytes as it takes. */
function wholeBytes(value: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  const first = bytes.findIndex((byte) => byte > 0);
  return bytes.slice(first < 0 ? 3 : first);
}

/** A size below 2^32 in eight bytes, of which the first says that they are eight. */
function sizeBytes(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(8);
  bytes[0] = 1;
  new DataView(bytes.buffer).setUint32(4, size);
  return bytes;
}

function floatBytes(value: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value);
  return bytes;
}
