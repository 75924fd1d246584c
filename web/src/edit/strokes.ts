// Edits on their way to Python: drags whose latest edit wins, single steps one after the other.

import { type Connection, Latest } from "../connection";
import type { Answers, Edit, Refit, Stroke } from "../protocol";

/** An edit of any kind. */
export type AnyEdit = Edit | Refit;

export type EditAnswer = Answers["edit" | "refit" | "undo" | "redo"];

type StrokeEdit = AnyEdit & Stroke;

/** Who is told what became of edits. */
export interface EditListener {
  /** An answer; where it says `refused`, the edit was not allowed. */
  onAnswer(answer: EditAnswer, joint: string | null, edit?: AnyEdit): void;
  /** There is no answer, for a reason. */
  onFailure(reason: string): void;
  /** A step was made. */
  onDone(what: string): void;
  /** A step was undone or done again, of another joint perhaps; or it was not, for a reason. */
  onStep(message: string, well: boolean): void;
  /** Limits have changed, and the drag is over. */
  onChange(): void;
}

export class Strokes {
  private count = 0;
  private latest = new Latest(async (edit: StrokeEdit) => {
    if (await this.send(edit)) this.changedBy = edit.stroke;
  });
  /** The last stroke of a drag that was allowed to change something. */
  private changedBy = "";
  private steps: Promise<unknown> = Promise.resolve();

  constructor(
    private connection: Connection,
    /** The joint that is picked. */
    private joint: () => string | null,
    private listener: EditListener,
  ) {}

  /** An edit in the middle of a drag: only the latest is sent, and all are one step. */
  drag(edit: AnyEdit): void {
    const joint = this.joint();
    if (joint !== null)
      void this.latest.send({ ...edit, joint, stroke: `${SESSION}-${this.count}` });
  }

  /** End the drag, once its last edit is answered. */
  async endDrag(): Promise<void> {
    this.count++;
    await this.latest.whenIdle();
    this.listener.onChange();
  }

  /** Take the drag back: what it changed is undone. */
  async cancelDrag(): Promise<void> {
    const stroke = `${SESSION}-${this.count++}`;
    this.latest.cancel();
    await this.latest.whenIdle();
    if (this.changedBy === stroke) await this.step("undo");
    else this.listener.onChange();
  }

  /** A stroke of its own, at the joint that is picked. */
  newStroke(): Stroke | undefined {
    const joint = this.joint();
    return joint === null ? undefined : { joint, stroke: `${SESSION}-${this.count++}` };
  }

  /** An edit of a stroke that must not be left out for a later one; tell whether it was allowed. */
  sendInStroke(edit: AnyEdit, stroke: Stroke): Promise<boolean> {
    return this.send({ ...edit, ...stroke });
  }

  /** Let undo, and single edits, wait for strokes that are being made; then tell of them. */
  waitFor(strokes: Promise<void>): void {
    this.steps = Promise.all([this.steps, strokes]).then(() => this.listener.onChange());
  }

  /** One edit that is a step of its own, after those before it; tell whether it was allowed. */
  apply(edit: AnyEdit, done = ""): Promise<boolean> {
    const stroke = this.newStroke();
    const made = this.steps.then(async () => {
      await this.latest.whenIdle();
      const allowed = !stroke || (await this.sendInStroke(edit, stroke));
      if (allowed) this.listener.onDone(done);
      this.listener.onChange();
      return allowed;
    });
    this.steps = made;
    return made;
  }

  /** Undo or redo, once all that was done before is answered, if that is still `wanted` then. */
  step(which: "undo" | "redo", wanted = () => true): Promise<unknown> {
    this.steps = this.steps.then(async () => {
      await this.latest.whenIdle();
      if (!wanted()) return;
      const joint = this.joint();
      try {
        const answer = await this.connection.ask(which, { joint });
        this.listener.onAnswer(answer, joint);
        this.listener.onStep(`${STEP_LABELS[which]}: ${answer.what}`, true);
        this.listener.onChange();
      } catch (error) {
        this.listener.onStep((error as Error).message, false);
      }
    });
    return this.steps;
  }

  private async send(edit: StrokeEdit): Promise<boolean> {
    try {
      const answer = await (edit.edit === "refit"
        ? this.connection.ask("refit", edit)
        : this.connection.ask("edit", edit));
      this.listener.onAnswer(answer, edit.joint, edit);
      return !("refused" in answer);
    } catch (error) {
      this.listener.onFailure((error as Error).message);
      return false;
    }
  }
}

const STEP_LABELS = { undo: "Undone", redo: "Done again" };

/** Of this page, so that strokes of two pages are not taken for one. */
const SESSION = crypto.getRandomValues(new Uint32Array(1))[0];
