// The family of the picked joint's limit: chosen, refitted from evidence, and judged.

import type { Quaternion, Vector3 } from "three";
import type { Clip } from "../clip";
import type { Line } from "../connection";
import { button, degrees, element } from "../elements";
import { chooser, fill, type Option, sliderWithNumber } from "../panel/fields";
import { rotationVector } from "../pose/kinematics";
import type { Region } from "../stage/region";
import { Brush } from "./brush";
import type { Editing } from "./editing";
import { type Choice, Comparison, Judge, percent } from "./judging";
import { Numbers } from "./numbers";
import type { Strokes } from "./strokes";

interface Family {
  name: string;
  label: string;
  charts: string[];
}

interface Cost {
  gained: number;
  lost: number;
  errorDeg: number;
}

export class Families {
  readonly fit = element("section", { class: "families fit", "aria-label": "Family and fit" });
  readonly hand = element("section", { class: "families hand", "aria-label": "By hand" });
  readonly comparison: Comparison;
  readonly brush: Brush;
  private strokes: Strokes;
  private said = element("p", { id: "refit-said", role: "status" });
  private facts = element("dl", { id: "fit-facts" });
  private from: HTMLSelectElement;
  private family: HTMLSelectElement;
  private chart: HTMLSelectElement;
  private margin = sliderWithNumber("Margin", "Margin", [0, 30, 0.5], 3);
  private why = element("p", { class: "why" });
  private toField: HTMLButtonElement;
  private numbers: Numbers;
  private judge: Judge;
  private families: Family[] = [];
  private joint: number | undefined;
  private turn: Quaternion | undefined;
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
    private line: Line,
    editing: Editing,
  ) {
    this.strokes = editing.strokes;
    const rows: HTMLElement[] = [];
    const list = (label: string, changed: () => void): HTMLSelectElement => {
      const [row, made] = chooser(label, changed);
      rows.push(row);
      return made;
    };
    this.family = list("Family", () => this.refit(this.charts()));
    this.from = list("From", () => this.refit());
    this.chart = list("Chart", () => this.refit());
    this.margin.onInput = () => this.strokes.follow(this.edit());
    this.margin.onChange = () => void this.strokes.drop();
    this.judge = new Judge(line);
    this.comparison = new Comparison(this.judge, (family) => {
      this.from.value = this.evidence;
      this.family.value = family;
      this.refit(this.charts());
    });
    this.toField = button("Make it a field", "Make it a distance field, to sculpt it", () => {
      this.from.value = "limit";
      this.family.value = "distance-field";
      this.refit(this.charts());
    });
    const add = button("Add this pose", "Add the present pose as a sample", () => {
      if (this.turn)
        void this.strokes.once(
          { edit: "add-sample", rotation: wFirst(this.turn) },
          "Added: this pose is inside.",
        );
    });
    this.brush = new Brush(this.strokes, () => this.present());
    this.numbers = new Numbers(this.strokes);
    this.fit.append(...rows, this.margin.row, this.why, this.said, this.facts);
    const ways = element("div", { class: "ways" }, add, this.toField);
    this.hand.append(element("h3", {}, "By hand"), ways, this.brush.panel, this.numbers.panel);
    editing.heard = (header) => this.hear(header);
  }

  pick(joint: number | undefined): void {
    const limited = joint !== undefined && this.clip.limited.includes(joint);
    if (this.joint !== joint) {
      this.remarks = this.volume = this.heldOut = "";
      this.cost = null;
      for (const part of [this.brush.panel, this.numbers.panel, this.toField]) part.hidden = true;
      this.tell();
      this.comparison.stop();
    }
    this.joint = limited ? joint : undefined;
    for (const part of [this.fit, this.hand, this.comparison.panel]) part.hidden = !limited;
    if (limited) void this.ask(this.name);
  }

  /** The limit as it is drawn now. */
  show(region: Region): void {
    this.region = region;
    const field = region.family === "distance-field";
    this.brush.panel.hidden = !field;
    this.toField.hidden = field;
    this.numbers.show(region.numbers);
    this.volume = percent(region.share);
    this.tell();
  }

  /** Where the joint is now. */
  mark(turn: Quaternion): void {
    this.turn = turn;
  }

  private get name(): string {
    return this.joint === undefined ? "" : (this.clip.skeleton.names[this.joint] ?? "");
  }

  /** Whether a joint is still the picked one, and has a limit. */
  private limits(name: string): boolean {
    return this.name === name && this.clip.limited.includes(this.joint ?? -1);
  }

  private present(): Vector3 | undefined {
    if (!this.turn || !this.region) return undefined;
    return rotationVector(this.region.reference.clone().invert().multiply(this.turn));
  }

  private async ask(name: string): Promise<void> {
    const answer = await this.line.askWhile(() => this.limits(name), "family", { joint: name });
    if (!answer || this.name !== name) return;
    const { header } = answer;
    this.families = header.families as Family[];
    const choice = { ...(header.choice as Choice) };
    // Of what was made by hand no margin is known: that of the sliders stays.
    if (!header.known && this.described === name) {
      choice.marginDeg = this.margin.value;
      choice.from = this.from.value;
    }
    this.described = name;
    fill(this.from, header.sources as Option[], choice.from);
    fill(this.family, this.families, choice.family);
    const sources = header.sources as Option[];
    const missing = sources.filter(({ why }) => why);
    this.evidence = choice.from;
    if (choice.from === "limit") this.evidence = sources.find(({ why }) => !why)?.name ?? "limit";
    this.why.textContent = missing.map(({ why }) => why).join(" ");
    fill(
      this.chart,
      this.charts().map((each) => ({ name: each, label: each })),
      choice.chart ?? "",
    );
    this.margin.value = choice.marginDeg;
    this.margin.disabled = choice.from === "limit";
    this.margin.row.title = this.margin.disabled
      ? "A margin is for limits that are fitted: choose what from above"
      : "Degrees beyond what was observed";
    this.remember(header);
    if (this.heldOut) this.judgeIt(choice);
    this.tell();
    this.comparison.follow(name, { ...choice, from: this.evidence }, this.families);
  }

  /** An answer to an edit, in the middle of a drag perhaps: the controls are left as they are. */
  private hear(header: Record<string, unknown>): void {
    if (header.choice) this.remember(header);
    this.tell();
  }

  private remember(header: Record<string, unknown>): void {
    this.remarks = (header.remarks as string[]).join(" ");
    this.cost = header.cost as Cost | null;
    this.heldOut = header.fitted ? "…" : "";
    this.judge.stop();
  }

  private judgeIt(choice: Choice): void {
    const { name } = this;
    void this.judge.ask(name, choice, (judged) => {
      if (this.name !== name) return;
      this.heldOut = judged.told;
      this.tell();
    });
  }

  private tell(): void {
    this.said.textContent = this.remarks;
    const facts: [string, string][] = [
      ["Volume", this.volume ? `${this.volume} of all rotations` : "…"],
    ];
    if (this.heldOut) facts.push(["Held out", this.heldOut]);
    if (this.cost) {
      const { gained, lost, errorDeg } = this.cost;
      facts.push(["Gained", percent(gained)], ["Lost", percent(lost)]);
      facts.push(["Off by", `at most ${degrees(errorDeg)}`]);
    }
    this.facts.replaceChildren(
      ...facts.flatMap(([what, told]) => [element("dt", {}, what), element("dd", {}, told)]),
    );
  }

  private charts(): string[] {
    return this.families.find(({ name }) => name === this.family.value)?.charts ?? [];
  }

  /** What is chosen; a chart that the family does not work in is left to Python. */
  private edit() {
    const charts = this.charts();
    const chart = charts.includes(this.chart.value) ? this.chart.value : null;
    const [family, from, marginDeg] = [this.family.value, this.from.value, this.margin.value];
    return { ask: "refit", edit: "refit", family, chart, marginDeg, from };
  }

  private refit(charts?: string[]): void {
    if (charts && !charts.includes(this.chart.value)) fill(this.chart, [], "");
    void this.strokes.once(this.edit());
  }
}

function wFirst({ w, x, y, z }: Quaternion): number[] {
  return [w, x, y, z];
}
