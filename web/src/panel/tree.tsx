// The joints as a tree that can be searched. Only forks indent. A human's joints are in groups,
// which are folded until one of their joints is picked.

import { computed, effect, signal } from "@preact/signals";
import { render } from "preact";
import { formatDegrees, formatVerdict, isWorse, verdictClass } from "../format";
import type { Store } from "../store";
import { Button, find, focusStage, LongName } from "../ui";

const MAX_INDENT = 6; // levels; names need the rest of the width

/** A row of the tree: a joint by its index, or the heading of a group. */
type Key = number | string;

export class JointTree {
  private searched = signal("");
  private folded = signal(new Set<Key>());
  /** The row that the Tab key stops at. */
  private tabStop = signal<Key>(0);
  private levels: number[] = [];
  private rows: Key[] = [];
  private visible = computed(() => this.rows.filter((key) => this.isVisible(key)));

  constructor(
    private store: Store,
    private onPick: (joint: number) => void,
  ) {
    const { names, parents, children, groups } = store.clip.skeleton;
    const order: number[] = [];
    const visit = (joint: number): void => {
      const parent = parents[joint] ?? -1;
      const forks = parent >= 0 && (children[parent]?.length ?? 0) > 1;
      this.levels[joint] = parent < 0 ? 1 : (this.levels[parent] ?? 1) + (forks ? 1 : 0);
      order.push(joint);
      children[joint]?.forEach(visit);
    };
    for (const [joint, parent] of parents.entries()) if (parent < 0) visit(joint);
    if (groups.some(Boolean)) this.levels = names.map((_, joint) => (groups[joint] ? 2 : 1));
    for (const group of new Set(order.map((joint) => groups[joint] ?? ""))) {
      if (group) this.rows.push(group);
      this.rows.push(...order.filter((joint) => (groups[joint] ?? "") === group));
    }
    this.folded.value = new Set(groups.filter(Boolean));
    this.tabStop.value = order[0] ?? 0;
    this.followSearch();
    effect(() => this.reveal(store.picked.value));
    render(<this.Rows />, find("#tree"));
    const note = find("#tree").parentElement?.querySelector("p");
    effect(() => {
      const isEmpty = this.visible.value.length === 0;
      if (note) note.textContent = isEmpty ? "No joint has this in its name." : "";
    });
  }

  private followSearch(): void {
    const search = find<HTMLInputElement>("#search");
    search.addEventListener("input", () => (this.searched.value = search.value));
    search.addEventListener("keydown", ({ key }) => {
      const first = this.visible.value[0];
      if (key === "ArrowDown") this.focus(first);
      if (key === "Enter" && typeof first === "number") {
        this.onPick(first);
        search.value = this.searched.value = "";
        this.focus(first);
      }
      if (key === "Escape" && !search.value) focusStage();
    });
  }

  private parentsOf(joint: number): number[] {
    const { parents } = this.store.clip.skeleton;
    const found: number[] = [];
    for (let at = parents[joint] ?? -1; at >= 0; at = parents[at] ?? -1) found.push(at);
    return found;
  }

  private groupOf = (joint: number): string => this.store.clip.skeleton.groups[joint] ?? "";

  private isVisible(key: Key): boolean {
    const searched = this.searched.value.toLocaleLowerCase();
    if (typeof key === "string") return !searched; // matches are listed without headings
    const common = this.store.clip.skeleton.commonNames[key] ?? "";
    const name = `${this.store.nameOf(key)} ${common}`.toLocaleLowerCase();
    // All words must match, because most names have no spaces.
    if (searched) return searched.split(/\s+/).every((word) => name.includes(word));
    const folded = this.folded.value;
    return ![this.groupOf(key), ...this.parentsOf(key)].some((above) => folded.has(above));
  }

  private fold(keys: Key[], isFolded: boolean): void {
    const folded = new Set(this.folded.peek());
    for (const key of keys) folded[isFolded ? "add" : "delete"](key);
    this.folded.value = folded;
  }

  /** Unfold what hides a joint, and scroll to it. */
  private reveal(joint: number | undefined): void {
    if (joint === undefined) return;
    this.fold([this.groupOf(joint), ...this.parentsOf(joint)], false);
    this.tabStop.value = joint;
    requestAnimationFrame(() => this.elementOf(joint)?.scrollIntoView({ block: "nearest" }));
  }

  private elementOf = (key: Key | undefined): HTMLElement | null =>
    find("#tree").querySelector(`[data-key="${CSS.escape(String(key))}"]`);

  private focus(key: Key | undefined): void {
    requestAnimationFrame(() => this.elementOf(key)?.focus());
  }

  private onKeyDown(event: KeyboardEvent, key: Key): void {
    const isFolding = { ArrowLeft: true, ArrowRight: false }[event.key];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (isFolding !== undefined && this.canFold(key)) this.fold([key], isFolding);
    else if (step !== undefined) {
      const rows = this.visible.value;
      this.elementOf(rows[rows.indexOf(key) + step])?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private canFold(key: Key): boolean {
    if (typeof key === "string") return true;
    const { children, groups } = this.store.clip.skeleton;
    return !groups.some(Boolean) && (children[key]?.length ?? 0) > 1;
  }

  private onClick(event: MouseEvent, key: Key): void {
    const isFolded = this.folded.value.has(key);
    const name = (event.currentTarget as HTMLElement).querySelector("bdi");
    const nameLeft = name?.getBoundingClientRect().left ?? 0;
    const isAtMark = event.detail > 0 && event.clientX < nameLeft - 1;
    if (typeof key === "string" || (this.canFold(key) && isAtMark)) this.fold([key], !isFolded);
    else this.onPick(key);
  }

  /** The largest angle outside of each limited joint in the clip. */
  private worst = computed(() => {
    const { joints, outsideDeg } = this.store.checked.value;
    const worst = new Map(joints.map((joint) => [joint, 0]));
    const first = this.store.clip.invented ? joints.length : 0;
    for (let i = first; i < outsideDeg.length; i++) {
      const joint = joints[i % joints.length] as number;
      if (isWorse(outsideDeg[i] as number, worst.get(joint) ?? 0))
        worst.set(joint, outsideDeg[i] as number);
    }
    return worst;
  });

  private Rows = () => {
    const visible = new Set(this.visible.value);
    const stops = visible.has(this.tabStop.value) ? this.tabStop.value : this.visible.value[0];
    return this.rows
      .filter((key) => visible.has(key))
      .map((key) => this.renderRow(key, key === stops));
  };

  private renderRow(key: Key, isTabStop: boolean) {
    const { store } = this;
    const isGroup = typeof key === "string";
    const name = isGroup ? key : store.nameOf(key);
    const common = isGroup ? "" : (store.clip.skeleton.commonNames[key] ?? "");
    const title = common ? `${name}, ${common}` : name;
    const isLimited = !isGroup && store.limited.value.includes(key);
    const level = isGroup ? 1 : (this.levels[key] ?? 1);
    const angles = isGroup
      ? [...this.worst.value].filter(([joint]) => this.groupOf(joint) === key).map(([, deg]) => deg)
      : [this.worst.value.get(key) ?? 0];
    const worst = angles.reduce((a, b) => (isWorse(b, a) ? b : a), 0);
    const angle = worst === 0 ? "" : formatDegrees(Math.abs(worst));
    const verdict =
      worst === 0
        ? "inside its limit"
        : `${formatVerdict(worst, store.state.value.twoVerdicts)} at worst`;
    return (
      <Button
        key={key}
        data-key={key}
        label={name}
        title={isGroup || isLimited ? title : `${title} has no limit`}
        class={isGroup ? "group" : isLimited ? "limited" : "bare"}
        role="treeitem"
        aria-level={level}
        aria-selected={key === store.picked.value}
        aria-description={isGroup ? undefined : isLimited ? verdict : "no limit"}
        aria-expanded={this.canFold(key) ? !this.folded.value.has(key) : undefined}
        tabIndex={isTabStop ? 0 : -1}
        style={{ paddingInlineStart: `${0.35 + 0.7 * Math.min(level, MAX_INDENT)}rem` }}
        onClick={(event) => this.onClick(event, key)}
        onFocusIn={() => (this.tabStop.value = key)}
        onKeyDown={(event) => this.onKeyDown(event, key)}
      >
        <LongName text={name} />
        <span class={`worst ${verdictClass(worst)}`}>{worst < 0 ? `~${angle}` : angle}</span>
      </Button>
    );
  }
}
