// The joints as a tree that can be searched; a step in only where the skeleton branches. A human's
// are in groups, which are folded until one of their joints is picked.

import type { Clip } from "../clip";
import { button, element, find } from "../elements";
import { formatDegrees } from "../format";
import { formatVerdict, isWorse, verdictClass } from "../verdict";

const DEEPEST = 6;

export class JointTree {
  private items: HTMLElement[];
  /** By group, its heading. */
  private headings = new Map<string, HTMLElement>();
  private tree = find("#tree");
  private search = find<HTMLInputElement>("#search");
  private emptyNote = element("p", { role: "status" });
  /** Groups, and joints, below which nothing is seen. */
  private folded = new Set<number | string>();

  constructor(
    private clip: Clip,
    private pick: (joint: number) => void,
  ) {
    const { names, parents, children, groups } = clip.skeleton;
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
    const grouped = groups.some(Boolean);
    this.items = names.map((name, joint) => {
      const forks = !grouped && (children[joint]?.length ?? 0) > 1;
      const level = grouped ? (groups[joint] ? 2 : 1) : (levels[joint] ?? 1);
      const item = this.createItem(name, level, () => this.pick(joint));
      if (forks) {
        item.setAttribute("aria-expanded", "true");
        item.addEventListener("click", (event) => this.foldAtMark(event, joint), { capture: true });
      }
      return item;
    });
    for (const group of new Set(order.map((joint) => groups[joint] ?? ""))) {
      if (group) this.tree.append(this.createHeading(group));
      for (const joint of order)
        if ((groups[joint] ?? "") === group) this.tree.append(this.items[joint] as HTMLElement);
    }
    this.tree.before(this.emptyNote);
    this.filter();
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

  private createItem(name: string, level: number, act: () => void): HTMLElement {
    const item = button("", name, act, {
      role: "treeitem",
      "aria-level": String(level),
      "aria-selected": "false",
      tabindex: "-1",
    });
    item.style.paddingInlineStart = `${0.35 + 0.7 * Math.min(level, DEEPEST)}rem`;
    item.append(element("bdi", {}, name), element("span", { class: "worst" }));
    return item;
  }

  /** The heading of a group, which is folded at first. */
  private createHeading(group: string): HTMLElement {
    const item = this.createItem(group, 1, () => this.fold(group, !this.folded.has(group)));
    item.className = "group";
    item.setAttribute("aria-expanded", "false");
    this.headings.set(group, item);
    this.folded.add(group);
    return item;
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

  /** Fold a group, or what hangs on a joint, or unfold it. */
  private fold(key: number | string, on: boolean): void {
    if (on) this.folded.add(key);
    else this.folded.delete(key);
    const item = typeof key === "string" ? this.headings.get(key) : this.items[key];
    item?.setAttribute("aria-expanded", String(!on));
    this.filter();
  }

  /** Whether a joint is in a group that is folded, or hangs on a joint that is. */
  private isFoldedAway(joint: number): boolean {
    const { parents, groups } = this.clip.skeleton;
    if (this.folded.has(groups[joint] ?? "")) return true;
    for (let above = parents[joint] ?? -1; above >= 0; above = parents[above] ?? -1)
      if (this.folded.has(above)) return true;
    return false;
  }

  select(joint: number | undefined): void {
    const { parents, groups } = this.clip.skeleton;
    const group = groups[joint ?? -1] ?? "";
    if (this.folded.has(group)) this.fold(group, false);
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
        angle === 0
          ? "inside its limit"
          : `${formatVerdict(angle, this.clip.state.twoVerdicts)} at worst`;
      item.setAttribute("aria-description", place < 0 ? "no limit" : description);
      const worst = item.querySelector(".worst");
      if (worst) showAngle(worst, angle);
    });
    for (const [group, heading] of this.headings) {
      const angles = limited.map((joint, place) =>
        skeleton.groups[joint] === group ? (worstDeg[place] ?? 0) : 0,
      );
      const most = angles.reduce((a, b) => (isWorse(b, a) ? b : a), 0);
      const worst = heading.querySelector(".worst");
      if (worst) showAngle(worst, most);
    }
  }

  /** Let the tab key stop at this item of the tree, and at no other. */
  private setTabStop(item: HTMLElement | undefined): void {
    for (const each of [...this.items, ...this.headings.values()])
      each.setAttribute("tabindex", each === item ? "0" : "-1");
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
    // What is looked for is listed by itself.
    for (const heading of this.headings.values()) heading.hidden = this.search.value !== "";
    // What is hidden cannot have the focus.
    const shown = this.visibleItems();
    this.emptyNote.textContent = shown.length ? "" : "No joint has this in its name.";
    if (!shown.some((item) => item.tabIndex === 0)) this.setTabStop(shown[0]);
  }

  private moveFocus(event: KeyboardEvent): void {
    const item = document.activeElement as HTMLElement;
    const group = [...this.headings].find(([, heading]) => heading === item)?.[0];
    const folds = { ArrowLeft: true, ArrowRight: false }[event.key];
    if (folds !== undefined && item.hasAttribute("aria-expanded")) {
      this.fold(group ?? this.items.indexOf(item), folds);
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

/** Show an angle in the colour of its verdict; a tilde marks what is only unusual. */
function showAngle(place: Element, angle: number): void {
  const size = angle === 0 ? "" : formatDegrees(Math.abs(angle));
  place.textContent = angle < 0 ? `~${size}` : size;
  place.className = `worst ${verdictClass(angle)}`;
}
