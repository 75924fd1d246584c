// What one does at the page, of which there is one at a time: look, try, edit, controls.

import type { Clip } from "./clip";
import { button, found } from "./elements";

export type Mode = "look" | "try" | "edit" | "controls";

const HINTS: Record<Mode, string> = {
  look: "Click a joint to see its limit · drag to turn · ? for all keys",
  try: "Drag a joint: the others follow within their limits · K pins one · R starts again",
  edit: "Pick a joint to edit its limit",
  controls: "Move a slider: coupled bones move together · R resets the pose",
};
/** What to do in edit, by what the picked joint has. */
const EDITS = {
  nothing: HINTS.edit,
  coming: "The limit is being drawn …",
  none: "This joint has no limit yet: draw a cone to begin with",
  cone: "Drag a point or the end of a twist · double click adds a point · Ctrl Z undoes",
  field: "Drag on the surface in the small picture to push it out, with Shift to pull it in",
  other: "Choose a family or type numbers beside; as a field it can be sculpted · Ctrl Z undoes",
};
const NAMES: Record<Mode, string> = {
  look: "Look",
  try: "Try",
  edit: "Edit",
  controls: "Controls",
};

/** Have parts of the page be seen in one mode only. */
export function only(mode: Mode, ...parts: HTMLElement[]): HTMLElement[] {
  for (const part of parts) part.dataset.in = mode;
  return parts;
}

export class Modes {
  private tabs = new Map<Mode, HTMLButtonElement>();
  private mode: Mode = "look";
  private kind: keyof typeof EDITS = "nothing";

  constructor(
    clip: Clip,
    private enter: (mode: Mode) => void,
  ) {
    const can: Record<Mode, boolean> = {
      look: true,
      try: clip.skeleton.names.length > 1,
      edit: true,
      controls: clip.controls.length > 0,
    };
    for (const mode of (Object.keys(can) as Mode[]).filter((each) => can[each])) {
      const known = { role: "tab", "aria-controls": "details" };
      const tab = button(NAMES[mode], NAMES[mode], () => this.choose(mode), known);
      this.tabs.set(mode, tab);
      found("#modes").append(tab);
    }
  }

  /** Enter a mode; in the one that it is already, what was tried stays. */
  choose(mode: Mode): void {
    if (mode !== this.mode) this.enter(mode);
  }

  has(mode: Mode): boolean {
    return this.tabs.has(mode);
  }

  /** Say which one it is, and what to do in it. */
  show(mode: Mode): void {
    for (const [name, tab] of this.tabs) tab.setAttribute("aria-selected", String(name === mode));
    if (mode !== this.mode) found("#details").scrollTop = 0; // what the mode is about is on top
    this.mode = mode;
    document.body.dataset.mode = mode;
    this.hint();
  }

  /** Take over what the picked joint has, for what can be done to it. */
  tell(kind: keyof typeof EDITS): void {
    this.kind = kind;
    this.hint();
  }

  private hint(): void {
    found("#hint").textContent = this.mode === "edit" ? EDITS[this.kind] : HINTS[this.mode];
  }
}
