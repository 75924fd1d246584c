// A joint's limit as a whole: draw one by hand, mirror it, copy it, remove it.

import type { Clip } from "../clip";
import { button, element } from "../elements";
import type { Edit } from "./strokes";

export class Whole {
  readonly panel = element("section", { class: "whole", "aria-label": "The limit as a whole" });
  private none = element("p", {}, "It has none yet. Draw a cone around where the bone points now.");
  private draw = button("Draw a cone", "Draw a cone around where the bone points now", () =>
    this.drawn(),
  );
  private over = button("Mirror", "Mirror to the other side (M)", () => this.mirror());
  private to = element("input", {
    type: "text",
    list: "joints",
    placeholder: "another joint",
    "aria-label": "Joint to copy to",
  });
  private names = element("datalist", { id: "joints" });
  private copied = element("div", { class: "line" });
  private gone = button("Remove", "Remove the limit", () =>
    this.once({ edit: "remove" }, "Removed."),
  );
  private joint: number | undefined;
  private limited = false;

  constructor(
    private clip: Clip,
    private once: (edit: Edit, done: string) => void,
    private drawn: () => void,
  ) {
    const copy = button("Copy to", "Copy to another joint", () => this.copy());
    this.to.addEventListener("keydown", (event) => event.key === "Enter" && this.copy());
    this.copied.append(copy, this.to, this.names);
    const whole = element("div", { class: "line" }, this.over, this.gone);
    this.panel.append(
      element("h3", {}, "The whole limit"),
      this.none,
      this.draw,
      whole,
      this.copied,
    );
    this.pick(undefined);
  }

  pick(joint: number | undefined): void {
    const { limited, skeleton } = this.clip;
    const { names, parents, partners } = skeleton;
    this.joint = joint;
    this.panel.hidden = joint === undefined || parents[joint] === -1;
    if (joint === undefined) return;
    this.limited = limited.includes(joint);
    this.none.hidden = this.draw.hidden = this.limited;
    for (const part of [this.over, this.gone, this.copied]) part.hidden = !this.limited;
    const other = names[partners[joint] ?? -1];
    this.over.textContent = other ? `Mirror to ${other}` : "Mirror";
    this.over.disabled = other === undefined;
    this.over.title = other ? "Mirror to the other side (M)" : "No joint is its partner by name";
    this.names.replaceChildren(
      ...names
        .filter((_, each) => each !== joint && parents[each] !== -1)
        .map((value) => element("option", { value })),
    );
  }

  mirror(): void {
    if (this.over.disabled || !this.limited || this.joint === undefined) return;
    const { names, partners } = this.clip.skeleton;
    this.once({ edit: "mirror" }, `Mirrored to ${names[partners[this.joint] ?? -1]}.`);
  }

  private copy(): void {
    const to = this.to.value.trim();
    if (to) this.once({ edit: "copy", to }, `Copied to ${to}.`);
    else this.to.focus();
  }
}
