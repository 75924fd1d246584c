// Edits on their way to Python: drags whose latest edit wins, single steps one after the other.

import { type Answer, Latest, type Line } from "../connection";

/** An edit as Python knows it: its name, and what it needs. */
export interface Edit {
  edit: string;
  /** The request it is made by, where it has one of its own. */
  ask?: string;
  [given: string]: unknown;
}

/** What one drag does to a joint: it is undone at once. */
export interface Stroke {
  joint: string;
  stroke: string;
}

type Stroked = Edit & Stroke;

/** Who is told what became of edits. */
export interface Told {
  /** An answer; where it says `refused`, the edit was not allowed. */
  answered(answer: Answer, joint: string | null, edit?: Edit): void;
  /** There is no answer, for a reason. */
  failed(reason: string): void;
  /** A step was made. */
  done(what: string): void;
  /** A step was undone or done again, of another joint perhaps; or it was not, for a reason. */
  stepped(said: string, well: boolean): void;
  /** Limits have changed, and the drag is over. */
  changed(): void;
}

export class Strokes {
  private count = 0;
  private latest = new Latest(async (edit: Stroked) => void (await this.send(edit)));
  private steps: Promise<unknown> = Promise.resolve();

  constructor(
    private line: Line,
    /** The joint that is picked. */
    private joint: () => string | null,
    private told: Told,
  ) {}

  /** An edit in the middle of a drag: only the latest is sent, and all are one step. */
  follow(edit: Edit): void {
    const joint = this.joint();
    if (joint !== null)
      void this.latest.ask({ ...edit, joint, stroke: `${SESSION}-${this.count}` });
  }

  /** End the drag, once its last edit is answered. */
  async drop(): Promise<void> {
    this.count++;
    await this.latest.idle();
    this.told.changed();
  }

  /** A stroke of its own, at the joint that is picked. */
  begin(): Stroke | undefined {
    const joint = this.joint();
    return joint === null ? undefined : { joint, stroke: `${SESSION}-${this.count++}` };
  }

  /** An edit of a stroke that must not be left out for a later one; tell whether it was allowed. */
  now(edit: Edit, stroke: Stroke): Promise<boolean> {
    return this.send({ ...edit, ...stroke });
  }

  /** Let undo, and single edits, wait for strokes that are being made; then tell of them. */
  after(strokes: Promise<void>): void {
    this.steps = Promise.all([this.steps, strokes]).then(() => this.told.changed());
  }

  /** One edit that is a step of its own, after those before it; tell whether it was allowed. */
  once(edit: Edit, done = ""): Promise<boolean> {
    const stroke = this.begin();
    const made = this.steps.then(async () => {
      await this.latest.idle();
      const allowed = !stroke || (await this.now(edit, stroke));
      if (allowed) this.told.done(done);
      this.told.changed();
      return allowed;
    });
    this.steps = made;
    return made;
  }

  /** Undo or redo, once all that was done before is answered. */
  step(which: "undo" | "redo"): Promise<unknown> {
    this.steps = this.steps.then(async () => {
      await this.latest.idle();
      const joint = this.joint();
      try {
        const answer = await this.line.ask(which, { joint });
        this.told.answered(answer, joint);
        this.told.stepped(`${STEPPED[which]}: ${answer.header.what as string}`, true);
        this.told.changed();
      } catch (error) {
        this.told.stepped((error as Error).message, false);
      }
    });
    return this.steps;
  }

  private async send(edit: Stroked): Promise<boolean> {
    try {
      const answer = await this.line.ask(edit.ask ?? "edit", edit);
      this.told.answered(answer, edit.joint, edit);
      return typeof answer.header.refused !== "string";
    } catch (error) {
      this.told.failed((error as Error).message);
      return false;
    }
  }
}

const STEPPED = { undo: "Undone", redo: "Done again" };

/** Of this page, so that strokes of two pages are not taken for one. */
const SESSION = crypto.getRandomValues(new Uint32Array(1))[0];
