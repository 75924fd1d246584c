// What one does at the page, of which there is one at a time: look, try, edit, controls.

import type { Clip } from "./clip";
import { button, find } from "./elements";

export type Mode = "look" | "try" | "edit" | "controls";

const HINTS: Record<Mode, string> = {
  look: "Click a joint to see its limit · drag to turn · ? for all keys",
  try: "Drag a joint, or a ring to turn it · K pins one · Ctrl Z undoes · R starts again",
  edit: "Pick a joint to edit its limit",
  controls: "Move a slider: coupled bones move together · Ctrl Z undoes · R resets the pose",
};
/** What to do in edit, by what the picked joint has. */
const EDIT_HINTS = {
  nothing: HINTS.edit,
  coming: "The limit is being drawn …",
  none: "This joint has no limit yet: draw a cone to begin with",
  hinge: "Drag an end of the arc, or type its degrees beside · Ctrl Z undoes",
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

/** Have parts of the page be seen in one mode only, or where poses are made. */
export function showOnlyIn(mode: Mode | "pose", ...parts: HTMLElement[]): HTMLElement[] {
  for (const part of parts) part.dataset.in = mode;
  return parts;
}

export class Modes {
  private tabs = new Map<Mode, HTMLButtonElement>();
  private mode: Mode = "look";
  private editState: keyof typeof EDIT_HINTS = "nothing";

  constructor(
    clip: Clip,
    private onEnter: (mode: Mode) => void,
  ) {
    const live = !document.body.hasAttribute("data-recorded");
    const can: Record<Mode, boolean> = {
      look: true,
      try: live && clip.skeleton.names.length > 1,
      edit: live,
      controls: live && clip.controls.length > 0,
    };
    for (const mode of (Object.keys(can) as Mode[]).filter((each) => can[each])) {
      const known = { role: "tab", "aria-controls": "details" };
      const tab = button(NAMES[mode], NAMES[mode], () => this.choose(mode), known);
      this.tabs.set(mode, tab);
      find("#modes").append(tab);
    }
  }

  /** Enter a mode; in the one that it is already, what was tried stays. */
  choose(mode: Mode): void {
    if (mode !== this.mode) this.onEnter(mode);
  }

  has(mode: Mode): boolean {
    return this.tabs.has(mode);
  }

  /** Say which one it is, and what to do in it. */
  show(mode: Mode): void {
    for (const [name, tab] of this.tabs) tab.setAttribute("aria-selected", String(name === mode));
    if (mode !== this.mode) find("#details").scrollTop = 0; // what the mode is about is on top
    this.mode = mode;
    document.body.dataset.mode = mode;
    this.updateHint();
  }

  /** Take over what the picked joint has, for what can be done to it. */
  setEditState(kind: keyof typeof EDIT_HINTS): void {
    this.editState = kind;
    this.updateHint();
  }

  private updateHint(): void {
    find("#hint").textContent =
      this.mode === "edit" ? EDIT_HINTS[this.editState] : HINTS[this.mode];
  }
}
