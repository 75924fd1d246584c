// Files that go to Python piece by piece, over the page's own connection.

import type { Connection } from "../connection";

/** Bytes of a piece: below what a request may have. */
const PIECE = 512 << 10;

/** Send a file; return the word that it goes by. */
export async function sendFile(connection: Connection, file: File): Promise<string> {
  const upload = crypto.randomUUID();
  for (let at = 0; at === 0 || at < file.size; at += PIECE) {
    const piece = new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer());
    const { name, size } = file;
    await connection.ask("send", { upload, name, size }, piece);
  }
  return upload;
}
