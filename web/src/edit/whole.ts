// A joint's limit as a whole: draw one by hand, mirror it, copy it, remove it.

import type { Clip } from "../clip";
import { button, element } from "../elements";
import type { Edit } from "../protocol";

export class WholeLimit {
  readonly panel = element("section", { class: "whole", "aria-label": "The limit as a whole" });
  private emptyNote = element(
    "p",
    {},
    "It has none yet. Draw a cone around where the bone points now.",
  );
  private drawButton = button("Draw a cone", "Draw a cone around where the bone points now", () =>
    this.onDraw(),
  );
  private mirrorButton = button("Mirror", "Mirror to the other side (M)", () => this.mirror());
  private copyTarget = element("input", {
    type: "text",
    list: "joints",
    placeholder: "another joint",
    "aria-label": "Joint to copy to",
  });
  private jointList = element("datalist", { id: "joints" });
  private copyRow = element("div", { class: "line" });
  private removeButton = button("Remove", "Remove the limit", () =>
    this.apply({ edit: "remove" }, "Removed."),
  );
  private joint: number | undefined;
  private limited = false;

  constructor(
    private clip: Clip,
    private apply: (edit: Edit, done: string) => void,
    private onDraw: () => void,
  ) {
    const copy = button("Copy to", "Copy to another joint", () => this.copy());
    this.copyTarget.addEventListener("keydown", (event) => event.key === "Enter" && this.copy());
    this.copyRow.append(copy, this.copyTarget, this.jointList);
    const whole = element("div", { class: "line" }, this.mirrorButton, this.removeButton);
    this.panel.append(
      element("h3", {}, "The whole limit"),
      this.emptyNote,
      this.drawButton,
      whole,
      this.copyRow,
    );
    this.pick(undefined);
  }

  pick(joint: number | undefined): void {
    const { skeleton } = this.clip;
    const { names, parents, partners } = skeleton;
    this.joint = joint;
    this.panel.hidden = joint === undefined || parents[joint] === -1;
    if (joint === undefined) return;
    this.limited = this.clip.hasRegion(joint);
    this.emptyNote.hidden = this.drawButton.hidden = this.limited;
    for (const part of [this.mirrorButton, this.removeButton, this.copyRow])
      part.hidden = !this.limited;
    const other = names[partners[joint] ?? -1];
    this.mirrorButton.textContent = other ? `Mirror to ${other}` : "Mirror";
    this.mirrorButton.disabled = other === undefined;
    this.mirrorButton.title = other
      ? "Mirror to the other side (M)"
      : "No joint is its partner by name";
    this.jointList.replaceChildren(
      ...names
        .filter((_, each) => each !== joint && parents[each] !== -1)
        .map((value) => element("option", { value })),
    );
  }

  mirror(): void {
    if (this.mirrorButton.disabled || !this.limited || this.joint === undefined) return;
    const { names, partners } = this.clip.skeleton;
    this.apply({ edit: "mirror" }, `Mirrored to ${names[partners[this.joint] ?? -1]}.`);
  }

  private copy(): void {
    const to = this.copyTarget.value.trim();
    if (to) this.apply({ edit: "copy", to }, `Copied to ${to}.`);
    else this.copyTarget.focus();
  }
}
