// The joints as a tree that can be searched; a step in only where the skeleton branches.

import type { Clip } from "../clip";
import { button, element, find } from "../elements";
import { formatDegrees } from "../format";

const DEEPEST = 6;

export class JointTree {
  private items: HTMLElement[];
  private tree = find("#tree");
  private search = find<HTMLInputElement>("#search");
  private emptyNote = element("p", { role: "status" });
  private folded = new Set<number>();

  constructor(
    private clip: Clip,
    private pick: (joint: number) => void,
  ) {
    const { names, parents, children } = clip.skeleton;
    const levels: number[] = [];
    const order: number[] = [];
    const visit = (joint: number): void => {
      const parent = parents[joint] ?? -1;
      const branches = parent >= 0 && (children[parent]?.length ?? 0) > 1;
      levels[joint] = parent < 0 ? 1 : (levels[parent] ?? 1) + (branches ? 1 : 0);
      order.push(joint);
      children[joint]?.forEach(visit);
    };
    for (const [joint, parent] of parents.entries()) if (parent < 0) visit(joint);
    this.items = names.map((name, joint) => {
      const forks = (children[joint]?.length ?? 0) > 1;
      const item = button("", name, () => this.pick(joint), {
        ...(forks ? { "aria-expanded": "true" } : {}),
        role: "treeitem",
        "aria-level": String(levels[joint]),
        "aria-selected": "false",
        tabindex: "-1",
      });
      item.style.paddingInlineStart = `${0.35 + 0.7 * Math.min(levels[joint] ?? 1, DEEPEST)}rem`;
      item.append(element("bdi", {}, name), element("span", { class: "worst" }));
      if (forks)
        item.addEventListener("click", (event) => this.foldAtMark(event, joint), { capture: true });
      return item;
    });
    this.tree.before(this.emptyNote);
    this.tree.append(...order.map((joint) => this.items[joint] as HTMLElement));
    this.setTabStop(this.items[order[0] ?? 0]);
    this.tree.addEventListener("focusin", ({ target }) => {
      if (target !== this.tree) this.setTabStop(target as HTMLElement);
    });
    this.tree.addEventListener("keydown", (event) => this.moveFocus(event));
    this.search.addEventListener("input", () => this.filter());
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.choose(this.visibleItems()[0]);
      if (event.key === "ArrowDown") this.visibleItems()[0]?.focus();
      // Once there is nothing to clear, keys are for the view again.
      if (event.key === "Escape" && !this.search.value) find("#stage").focus();
    });
  }

  /** Fold what hangs on a joint, or unfold it, where the mark before its name is clicked. */
  private foldAtMark(event: MouseEvent, joint: number): void {
    const item = this.items[joint];
    if (!item || event.detail === 0) return; // by keyboard it is picked
    const start = item.querySelector("bdi")?.getBoundingClientRect().left ?? 0;
    if (event.clientX >= start - 1) return;
    event.stopImmediatePropagation();
    this.fold(joint, !this.folded.has(joint));
  }

  /** Fold what hangs on a joint, or unfold it. */
  private fold(joint: number, on: boolean): void {
    if (on) this.folded.add(joint);
    else this.folded.delete(joint);
    this.items[joint]?.setAttribute("aria-expanded", String(!on));
    this.filter();
  }

  /** Whether a joint hangs on one that is folded. */
  private isFoldedAway(joint: number): boolean {
    const { parents } = this.clip.skeleton;
    for (let above = parents[joint] ?? -1; above >= 0; above = parents[above] ?? -1)
      if (this.folded.has(above)) return true;
    return false;
  }

  select(joint: number | undefined): void {
    const { parents } = this.clip.skeleton;
    for (let above = parents[joint ?? -1] ?? -1; above >= 0; above = parents[above] ?? -1)
      if (this.folded.has(above)) this.fold(above, false);
    this.items.forEach((item, number) => {
      item.setAttribute("aria-selected", String(number === joint));
      if (number === joint) {
        this.setTabStop(item);
        item.scrollIntoView({ block: "nearest" });
      }
    });
  }

  /** Say how far each limited joint is outside at worst, in degrees. */
  showWorst(worstDeg: number[]): void {
    const { limited, skeleton } = this.clip;
    this.items.forEach((item, joint) => {
      const place = limited.indexOf(joint);
      const name = skeleton.names[joint] ?? "";
      item.className = place < 0 ? "bare" : "limited";
      item.title = place < 0 ? `${name} has no limit` : name;
      const angle = worstDeg[place] ?? 0;
      const description =
        angle > 0 ? `${formatDegrees(angle)} outside at worst` : "inside its limit";
      item.setAttribute("aria-description", place < 0 ? "no limit" : description);
      const worst = item.querySelector(".worst");
      if (worst) worst.textContent = angle > 0 ? formatDegrees(angle) : "";
    });
  }

  /** Let the tab key stop at this item of the tree, and at no other. */
  private setTabStop(item: HTMLElement | undefined): void {
    for (const each of this.items) each.setAttribute("tabindex", each === item ? "0" : "-1");
  }

  private choose(item: HTMLElement | undefined): void {
    item?.click();
    this.search.value = "";
    this.filter();
    item?.focus();
  }

  private visibleItems(): HTMLElement[] {
    return [...this.tree.children].filter((item) => !(item as HTMLElement).hidden) as HTMLElement[];
  }

  private filter(): void {
    // Of "left arm" both words must be there, since most names have no spaces.
    const wanted = this.search.value.toLocaleLowerCase().split(/\s+/);
    this.items.forEach((item, joint) => {
      const name = this.clip.skeleton.names[joint]?.toLocaleLowerCase() ?? "";
      const found = wanted.every((word) => name.includes(word));
      item.hidden = !found || (!this.search.value && this.isFoldedAway(joint));
    });
    // What is hidden cannot have the focus.
    const shown = this.visibleItems();
    this.emptyNote.textContent = shown.length ? "" : "No joint has this in its name.";
    if (!shown.some((item) => item.tabIndex === 0)) this.setTabStop(shown[0]);
  }

  private moveFocus(event: KeyboardEvent): void {
    const joint = this.items.indexOf(document.activeElement as HTMLElement);
    const folds = { ArrowLeft: true, ArrowRight: false }[event.key];
    if (folds !== undefined && this.items[joint]?.hasAttribute("aria-expanded")) {
      this.fold(joint, folds);
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const shown = this.visibleItems();
    const next = shown[shown.indexOf(document.activeElement as HTMLElement) + step];
    next?.focus();
    event.preventDefault();
    event.stopPropagation();
  }
}
