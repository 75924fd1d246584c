// Open the connection to Python, and the page.

import { clipFrom } from "./clip";
import { Connection, Recording } from "./connection";
import { isLate, mountNotes, showNote } from "./notes";
import { Page } from "./page";
import { Store } from "./store";

const GONE = "The connection to Synovia is lost. Start it again, or run the notebook’s cell again.";

async function start(): Promise<void> {
  const recording = Recording.find();
  const connection = recording ?? (await Connection.open(() => showNote(GONE)));
  connection.onLate = (late) => (isLate.value = late);
  const request = connection.ask("open", {});
  const check = connection.ask("check", {}); // computed while the page is built
  const shape = connection.ask("body", {});
  const mesh = connection.ask("mesh", {});
  const opening = await request;
  const store = new Store(clipFrom(opening), connection, opening.state, recording !== undefined);
  await new Page(store).begin(check, shape, mesh);
}

mountNotes();
start().catch((error: unknown) => showNote(error instanceof Error ? error.message : String(error)));
