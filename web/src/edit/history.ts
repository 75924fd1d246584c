// Undo and redo: two buttons that say what they would undo and redo.

import { button, element } from "../elements";
import type { State } from "../protocol";

export class History {
  readonly panel = element("div", { class: "line", role: "toolbar", "aria-label": "History" });
  private undo: HTMLButtonElement;
  private redo: HTMLButtonElement;

  constructor(step: (which: "undo" | "redo") => void) {
    this.undo = button("↶", "Undo (Ctrl Z)", () => step("undo"));
    this.redo = button("↷", "Redo (Ctrl Shift Z)", () => step("redo"));
    this.panel.append(this.undo, this.redo);
    this.update({ undo: null, redo: null });
  }

  /** Take over what can be undone and done again. */
  update(state: Pick<State, "undo" | "redo">): void {
    for (const [which, tool] of [
      ["undo", this.undo],
      ["redo", this.redo],
    ] as const) {
      const what = state[which];
      tool.disabled = what === null;
      tool.title = what === null ? `nothing to ${which}` : `${which}: ${what}`;
    }
  }
}
