// Open the connection to Python, and the page.

import { clipFrom } from "./clip";
import { Connection, Recording } from "./connection";
import { showLate, showNote } from "./notes";
import { Page } from "./page";

const GONE = "The line to synovia is gone: start it again, or run the notebook’s cell again.";

async function start(): Promise<void> {
  const recording = Recording.find();
  document.body.toggleAttribute("data-recorded", recording !== undefined);
  const connection = recording ?? (await Connection.open(() => showNote(GONE)));
  connection.onLate = showLate;
  const opened = connection.ask("open", {});
  const check = connection.ask("check", {}); // computed while the page is being built
  const shape = connection.ask("body", {});
  await new Page(clipFrom(await opened), connection).begin(check, shape);
}

start().catch((error: unknown) => showNote(error instanceof Error ? error.message : String(error)));
