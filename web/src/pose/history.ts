// Poses that were made, by whatever means: one is shown, and those before it can be brought back.

import type { Pose } from "../clip";

/** A pose that is none of the clip's frames, with what is known of it. */
export interface MadePose {
  pose: Pose;
  /** By limited joint; not known where it is left out. */
  outsideDeg: number[] | undefined;
  /** The controls that give it, where a figure's controls do. */
  values: Record<string, number> | undefined;
}

const MOST = 200;

export class PoseHistory {
  /** What is shown; where it is undefined, the clip's own pose is. */
  present: MadePose | undefined;
  private past: (MadePose | undefined)[] = [];
  private future: (MadePose | undefined)[] = [];
  private stroke: symbol | undefined;
  private wasFuture: (MadePose | undefined)[] = [];

  /** Told when what is shown, or can be undone, is another. */
  constructor(private onChange: () => void) {}

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  /** Show a pose; those of one stroke, such as a drag, are one step. */
  take(made: MadePose | undefined, stroke = Symbol("step")): void {
    if (stroke !== this.stroke) {
      this.past = [...this.past, this.present].slice(-MOST);
      this.wasFuture = this.future;
      this.future = [];
      this.stroke = stroke;
    }
    this.present = made;
    this.onChange();
  }

  /** Show a pose to begin with, before which there is none to go back to. */
  begin(made: MadePose): void {
    this.present = made;
    this.onChange();
  }

  /** What is shown is known better: the same pose, with its controls say. */
  refine(made: MadePose): void {
    this.present = made;
  }

  /** Show the clip's own pose again, if another is shown. */
  leave(): void {
    if (this.present) this.take(undefined);
  }

  /** Forget a stroke, as though it had never been made. */
  cancel(stroke: symbol): void {
    if (stroke !== this.stroke) return;
    this.present = this.past.pop();
    this.future = this.wasFuture;
    this.stroke = undefined;
    this.onChange();
  }

  /** Go back one step; tell whether there was one. */
  undo(): boolean {
    if (!this.canUndo) return false;
    this.future = [this.present, ...this.future];
    this.present = this.past.pop();
    this.stroke = undefined;
    this.onChange();
    return true;
  }

  redo(): boolean {
    if (!this.canRedo) return false;
    this.past.push(this.present);
    [this.present, ...this.future] = this.future;
    this.stroke = undefined;
    this.onChange();
    return true;
  }
}
