// Open the line to Python, and the page.

import { clipOf } from "./clip";
import { Line } from "./connection";
import { late, note } from "./notes";
import { Page } from "./page";

const GONE = "The line to synovia is gone: start it again, or run the notebook’s cell again.";

async function begin(): Promise<void> {
  const line = await Line.open(() => note(GONE));
  line.onLate = late;
  const opened = line.ask("open");
  const check = line.ask("check"); // computed while the page is being built
  await new Page(clipOf(await opened), line).judge(check);
}

begin().catch((error: unknown) => note(error instanceof Error ? error.message : String(error)));
