// Edits that are sent to Python: of a drag only the latest, single steps one after the other.

import { type Connection, Latest, type Refusal } from "../connection";
import type { Answers, Edit, EditRequest, Stroke } from "../protocol";

export type EditAnswer = Answers["edit" | "undo" | "redo"];

/** Called with the results of edits. */
export interface EditListener {
  onAnswer(answer: EditAnswer, joint: string | null): void;
  /** The edit was refused. */
  onRefusal(refusal: Refusal, edit: EditRequest): void;
  /** A step was made, with its description. */
  onDone(what: string): void;
  /** A step was undone or redone, perhaps of another joint; or it failed. */
  onStep(message: string, good: boolean): void;
  /** Limits have changed, and no drag is in progress. */
  onChange(): void;
}

export class Strokes {
  private count = 0;
  private latest = new Latest(async (edit: EditRequest) => {
    if (await this.send(edit)) this.changedBy = edit.stroke ?? "";
  });
  /** The last stroke of a drag that changed something. */
  private changedBy = "";
  private steps: Promise<unknown> = Promise.resolve();

  constructor(
    private connection: Connection,
    /** The picked joint. */
    private joint: () => string | null,
    private listener: EditListener,
  ) {}

  /** Send an edit of a drag. Only the latest is sent, and all are one step. */
  drag(edit: Edit): void {
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

  /** Revert the drag. */
  async cancelDrag(): Promise<void> {
    const stroke = `${SESSION}-${this.count++}`;
    this.latest.cancel();
    await this.latest.whenIdle();
    if (this.changedBy === stroke) await this.step("undo");
    else this.listener.onChange();
  }

  /** A new stroke of the picked joint. */
  newStroke(): Stroke | undefined {
    const joint = this.joint();
    return joint === null ? undefined : { joint, stroke: `${SESSION}-${this.count++}` };
  }

  /** Send an edit that no later one replaces; return whether it was allowed. */
  sendInStroke(edit: Edit, stroke: Stroke): Promise<boolean> {
    return this.send({ ...edit, ...stroke });
  }

  /** Let undo and single edits wait for strokes in progress. */
  waitFor(strokes: Promise<void>): void {
    this.steps = Promise.all([this.steps, strokes]).then(() => this.listener.onChange());
  }

  /** Make an edit that is a step, after all before it; return whether it was allowed. */
  apply(edit: Edit, done = ""): Promise<boolean> {
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

  /** Undo or redo after all edits before, if `isWanted` is true then. */
  step(which: "undo" | "redo", isWanted = () => true): Promise<unknown> {
    this.steps = this.steps.then(async () => {
      await this.latest.whenIdle();
      if (!isWanted()) return;
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

  private async send(edit: EditRequest): Promise<boolean> {
    try {
      this.listener.onAnswer(await this.connection.ask("edit", edit), edit.joint);
      return true;
    } catch (error) {
      this.listener.onRefusal(error as Refusal, edit);
      return false;
    }
  }
}

const STEP_LABELS = { undo: "Undone", redo: "Redone" };

/** A number of this page, so that strokes of two pages differ. */
const SESSION = crypto.getRandomValues(new Uint32Array(1))[0];
