// The family of the picked joint's limit: chosen, refitted from evidence, and judged.

import type { Quaternion, Vector3 } from "three";
import type { Clip } from "../clip";
import type { Connection } from "../connection";
import { button, element } from "../elements";
import { formatDegrees, formatPercent } from "../format";
import { fillSelect, selectRow, sliderWithNumber } from "../panel/fields";
import { rotationVector } from "../pose/kinematics";
import type { Choice, Cost, Family, Making, Refit } from "../protocol";
import type { Region } from "../stage/region";
import { Brush } from "./brush";
import type { Editing } from "./editing";
import { Comparison, Judge } from "./judging";
import { NumbersPanel } from "./numbers";
import type { EditAnswer, Strokes } from "./strokes";

export class Families {
  readonly fit = element("section", { class: "families fit", "aria-label": "Family and fit" });
  readonly byHand = element("section", { class: "families hand", "aria-label": "By hand" });
  readonly comparison: Comparison;
  readonly brush: Brush;
  private strokes: Strokes;
  private remarksText = element("p", { id: "refit-said", role: "status" });
  private facts = element("dl", { id: "fit-facts" });
  private sourceList: HTMLSelectElement;
  private familyList: HTMLSelectElement;
  private chartList: HTMLSelectElement;
  private margin = sliderWithNumber("Margin", "Margin", [0, 30, 0.5], 3);
  private sourceNote = element("p", { class: "why" });
  private fieldButton: HTMLButtonElement;
  private numbers: NumbersPanel;
  private judge: Judge;
  private families: Family[] = [];
  private joint: number | undefined;
  private rotation: Quaternion | undefined;
  private region: Region | undefined;
  /** What families are compared by: frames that were seen, where there are some. */
  private evidence = "limit";
  private volume = "";
  private heldOut = "";
  private cost: Cost | null = null;
  private described = "";
  private remarks = "";

  constructor(
    private clip: Clip,
    private connection: Connection,
    editing: Editing,
  ) {
    this.strokes = editing.strokes;
    const rows: HTMLElement[] = [];
    const list = (label: string, changed: () => void): HTMLSelectElement => {
      const [row, made] = selectRow(label, changed);
      rows.push(row);
      return made;
    };
    this.familyList = list("Family", () => this.refit(this.charts()));
    this.sourceList = list("From", () => this.refit());
    this.chartList = list("Chart", () => this.refit());
    this.margin.onInput = () => this.strokes.drag(this.refitEdit());
    this.margin.onChange = () => void this.strokes.endDrag();
    this.margin.onCancel = () => void this.strokes.cancelDrag();
    this.judge = new Judge(connection);
    this.comparison = new Comparison(this.judge, (family) => {
      this.sourceList.value = this.evidence;
      this.familyList.value = family;
      this.refit(this.charts());
    });
    this.fieldButton = button("Make it a field", "Make it a distance field, to sculpt it", () => {
      this.sourceList.value = "limit";
      this.familyList.value = this.families.find(({ sculptable }) => sculptable)?.name ?? "";
      this.refit(this.charts());
    });
    const add = button("Add this pose", "Add the present pose as a sample", () => {
      if (this.rotation)
        void this.strokes.apply(
          { edit: "add-sample", rotation: toWFirst(this.rotation) },
          "Added: this pose is inside.",
        );
    });
    this.brush = new Brush(this.strokes, () => this.presentVector());
    this.numbers = new NumbersPanel(this.strokes);
    this.fit.append(...rows, this.margin.row, this.sourceNote, this.remarksText, this.facts);
    const ways = element("div", { class: "ways" }, add, this.fieldButton);
    this.byHand.append(element("h3", {}, "By hand"), ways, this.brush.panel, this.numbers.panel);
    editing.onAnswer = (answer) => this.receiveEdit(answer);
  }

  pick(joint: number | undefined): void {
    const limited = this.clip.hasRegion(joint);
    if (this.joint !== joint) {
      this.remarks = this.volume = this.heldOut = "";
      this.cost = null;
      for (const part of [this.brush.panel, this.numbers.panel, this.fieldButton])
        part.hidden = true;
      this.showFacts();
      this.comparison.stop();
    }
    this.joint = limited ? joint : undefined;
    for (const part of [this.fit, this.byHand, this.comparison.panel]) part.hidden = !limited;
    if (limited) void this.describe(this.name);
  }

  /** The limit as it is drawn now. */
  show(region: Region): void {
    this.region = region;
    this.brush.panel.hidden = !region.sculptable;
    this.fieldButton.hidden = region.sculptable;
    this.numbers.show(region.numbers);
    this.volume = formatPercent(region.share);
    this.showFacts();
  }

  /** Where the joint is now. */
  setRotation(turn: Quaternion): void {
    this.rotation = turn;
  }

  private get name(): string {
    return this.joint === undefined ? "" : (this.clip.skeleton.names[this.joint] ?? "");
  }

  /** Whether a joint is still the picked one, and has a limit. */
  private isLimited(name: string): boolean {
    return this.name === name && this.clip.hasRegion(this.joint);
  }

  private presentVector(): Vector3 | undefined {
    if (!this.rotation || !this.region) return undefined;
    return rotationVector(this.region.reference.clone().invert().multiply(this.rotation));
  }

  private async describe(name: string): Promise<void> {
    const answer = await this.connection.askWhile(() => this.isLimited(name), "family", {
      joint: name,
    });
    if (!answer || this.name !== name) return;
    const { families, sources } = answer;
    this.families = families;
    const choice = { ...answer.choice };
    // Of what was made by hand no margin is known: that of the sliders stays.
    if (!answer.known && this.described === name) {
      choice.marginDeg = this.margin.value;
      choice.from = this.sourceList.value;
    }
    this.described = name;
    fillSelect(this.sourceList, sources, choice.from);
    fillSelect(this.familyList, this.families, choice.family);
    const missing = sources.filter(({ why }) => why);
    this.evidence = choice.from;
    if (choice.from === "limit") this.evidence = sources.find(({ why }) => !why)?.name ?? "limit";
    this.sourceNote.textContent = missing.map(({ why }) => why).join(" ");
    fillSelect(
      this.chartList,
      this.charts().map((each) => ({ name: each, label: each })),
      choice.chart ?? "",
    );
    this.margin.value = choice.marginDeg;
    this.margin.disabled = choice.from === "limit";
    this.margin.row.title = this.margin.disabled
      ? "A margin is for limits that are fitted: choose what from above"
      : "Degrees beyond what was observed";
    this.keepChoice(answer);
    if (this.heldOut) this.judgeChoice(choice);
    this.showFacts();
    this.comparison.update(name, { ...choice, from: this.evidence }, this.families);
  }

  /** An answer to an edit, in the middle of a drag perhaps: the controls are left as they are. */
  private receiveEdit(answer: EditAnswer): void {
    if ("choice" in answer) this.keepChoice(answer);
    this.showFacts();
  }

  private keepChoice({ remarks, cost, fitted }: Making): void {
    this.remarks = remarks.join(" ");
    this.cost = cost;
    this.heldOut = fitted ? "…" : "";
    this.judge.stop();
  }

  private judgeChoice(choice: Choice): void {
    const { name } = this;
    void this.judge.ask(name, choice, (judged) => {
      if (this.name !== name) return;
      this.heldOut = judged.text;
      this.showFacts();
    });
  }

  private showFacts(): void {
    this.remarksText.textContent = this.remarks;
    const facts: [string, string][] = [
      ["Volume", this.volume ? `${this.volume} of all rotations` : "…"],
    ];
    if (this.heldOut) facts.push(["Held out", this.heldOut]);
    if (this.cost) {
      const { gained, lost, errorDeg } = this.cost;
      facts.push(["Gained", formatPercent(gained)], ["Lost", formatPercent(lost)]);
      facts.push(["Off by", `at most ${formatDegrees(errorDeg)}`]);
    }
    this.facts.replaceChildren(
      ...facts.flatMap(([what, value]) => [element("dt", {}, what), element("dd", {}, value)]),
    );
  }

  private charts(): string[] {
    return this.families.find(({ name }) => name === this.familyList.value)?.charts ?? [];
  }

  /** What is chosen; a chart that the family does not work in is left to Python. */
  private refitEdit(): Refit {
    const charts = this.charts();
    const chart = charts.includes(this.chartList.value) ? this.chartList.value : null;
    const [family, from, marginDeg] = [
      this.familyList.value,
      this.sourceList.value,
      this.margin.value,
    ];
    return { edit: "refit", family, chart, marginDeg, from };
  }

  private refit(charts?: string[]): void {
    if (charts && !charts.includes(this.chartList.value)) fillSelect(this.chartList, [], "");
    void this.strokes.apply(this.refitEdit());
  }
}

function toWFirst({ w, x, y, z }: Quaternion): number[] {
  return [w, x, y, z];
}
