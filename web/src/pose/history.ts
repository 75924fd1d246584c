// Poses that were made by any means: one is shown, and earlier ones can be restored.

import { computed, signal } from "@preact/signals";
import type { Pose } from "../clip";

/** A pose that is not a frame of the clip. */
export interface MadePose {
  pose: Pose;
  /** Degrees outside by joint; undefined if not known yet. */
  outside: Map<number, number> | undefined;
  /** The figure's controls that give the pose, if known. */
  values: Record<string, number> | undefined;
}

const MAX_STEPS = 200; // a pose of 60 joints has 2 kB
type Step = MadePose | undefined;

export class PoseHistory {
  /** The pose that is shown; undefined for the clip's own. */
  readonly present = signal<Step>(undefined);
  private past = signal<Step[]>([]);
  private future = signal<Step[]>([]);
  readonly canUndo = computed(() => this.past.value.length > 0);
  readonly canRedo = computed(() => this.future.value.length > 0);
  private stroke: symbol | undefined;
  private futureBefore: Step[] = [];

  /** Show a pose. Poses of one stroke, such as a drag, are one step. */
  take(made: Step, stroke = Symbol("step")): void {
    if (stroke !== this.stroke) {
      this.past.value = [...this.past.value, this.present.value].slice(-MAX_STEPS);
      this.futureBefore = this.future.value;
      this.future.value = [];
      this.stroke = stroke;
    }
    this.present.value = made;
  }

  /** Show the clip's own pose, if another is shown. */
  leave(): void {
    if (this.present.value) this.take(undefined);
  }

  /** Remove a stroke, as if it had not been made. */
  cancel(stroke: symbol): void {
    if (stroke !== this.stroke) return;
    this.present.value = this.past.value.at(-1);
    this.past.value = this.past.value.slice(0, -1);
    this.future.value = this.futureBefore;
    this.stroke = undefined;
  }

  /** Undo a step; return whether there was one. */
  undo(): boolean {
    if (!this.canUndo.value) return false;
    this.future.value = [this.present.value, ...this.future.value];
    const previous = this.past.value.at(-1);
    this.past.value = this.past.value.slice(0, -1);
    this.present.value = previous;
    this.stroke = undefined;
    return true;
  }

  redo(): boolean {
    if (!this.canRedo.value) return false;
    const [next, ...rest] = this.future.value;
    this.past.value = [...this.past.value, this.present.value];
    this.future.value = rest;
    this.present.value = next;
    this.stroke = undefined;
    return true;
  }
}
