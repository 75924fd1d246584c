// Controls of a figure: a slider each, which ends where the control does; Python poses the bones.

import type { Clip } from "../clip";
import { type Connection, Latest } from "../connection";
import { button, element, letGo } from "../elements";
import { formatDegrees, formatNumber, formatValue } from "../format";
import type { Control, Posed } from "../protocol";
import type { MadePose } from "./history";

const ENDS =
  "Sliders end where the figure's controls do, also after an edit of its limits: what is outside " +
  "these turns red.";
const MOST_NAMED = 3;
/** Less than this is rounding. */
const LEAST_DEG = 0.05;
/** A pose that is farther than this from what controls give is not theirs. */
const OFF_DEG = 1;

type Values = Record<string, number>;

/** What controls are told, and tell. */
export interface SliderListener {
  /** The pose that is shown. */
  current(): MadePose;
  onPose(made: MadePose, stroke: symbol): void;
  onCancel(stroke: symbol): void;
  /** The controls of the pose that is shown are known now. */
  onFitted(made: MadePose): void;
  frame(): number;
}

interface Row {
  control: Control;
  slider: HTMLInputElement;
  number: HTMLInputElement;
  resetButton: HTMLButtonElement;
}

export class Sliders {
  readonly panel = element("div", { class: "controls" });
  private values: Values = {};
  private rows: Row[] = [];
  /** By set: what became of it. */
  private marks = new Map<string, HTMLElement>();
  private sections: HTMLElement[] = [];
  private status = element("p", { class: "clamped", role: "status" });
  private offNote = element("p", { class: "why", role: "status" });
  private gaps: string[] = [];
  private stroke: symbol | undefined;
  /** Whether the pose that is told is of the sliders themselves. */
  private isOwn = false;
  /** Counts what makes answers that are on their way come too late. */
  private starts = 0;
  private latest = new Latest<{ values: Values; stroke: symbol }>((asked) => this.askPose(asked));

  constructor(
    private clip: Clip,
    private connection: Connection,
    private listener: SliderListener,
  ) {
    const sets = new Map<string, Control[]>();
    for (const control of clip.controls) {
      const set = control.name.split(".")[0] ?? "";
      sets.set(set, [...(sets.get(set) ?? []), control]);
    }
    this.sections = [...sets].map(([set, controls]) =>
      element(
        "section",
        { "data-joints": controls.flatMap(({ joints }) => joints).join(" ") },
        element("h3", {}, `${set.replaceAll("_", " ")} `, this.createMark(set)),
        ...controls.map((control) => this.createRow(control)),
      ),
    );
    this.panel.append(
      element("h2", {}, "Controls"),
      element("p", { class: "why" }, ENDS),
      button("Reset the pose", "Reset the pose (R)", () => this.reset(), { class: "wide" }),
      this.status,
      this.offNote,
      ...this.sections,
    );
  }

  /** Mark the controls that move a joint, and bring them into sight. */
  reveal(joint: number | undefined): void {
    const moving = this.sections.filter((section) =>
      section.dataset.joints?.split(" ").includes(String(joint)),
    );
    for (const section of this.sections)
      section.classList.toggle("moves", moving.includes(section));
    moving[0]?.scrollIntoView({ block: "nearest" });
  }

  /** Let all controls be neutral. */
  reset(): void {
    this.set({}, Symbol("reset"));
  }

  /** Let the controls that move a joint be neutral. */
  resetJoint(joint: number): void {
    const values = { ...this.values };
    for (const { name, joints } of this.clip.controls)
      if (joints.includes(joint)) delete values[name];
    this.set(values, Symbol("reset"));
  }

  /** Show the pose that the page shows; its controls are looked for where they are not known. */
  async show(made: MadePose): Promise<void> {
    if (this.isOwn) return; // the sliders are there, or farther on already
    this.starts++;
    this.offNote.textContent = "";
    if (!made.values) {
      const { starts } = this;
      const { rotations, positions } = made.pose;
      const found = await this.connection.ask("fitted", {
        frame: this.listener.frame(),
        rotations: [...rotations],
        positions: [...positions],
      });
      if (starts !== this.starts) return;
      if (found.offDeg > OFF_DEG)
        this.offNote.textContent =
          `No controls give this pose: the nearest are ${formatDegrees(found.offDeg)} off, ` +
          "and a slider goes on from there.";
      else this.listener.onFitted({ ...made, values: found.values });
      this.showValues(found.values);
    } else this.showValues(made.values);
  }

  /** Take back the drag of a slider; tell whether there is one. */
  cancel(): boolean {
    const { stroke } = this;
    if (!stroke) return false;
    this.starts++;
    this.latest.cancel();
    this.stroke = undefined;
    for (const { slider } of this.rows) if (slider === document.activeElement) letGo(slider);
    this.listener.onCancel(stroke);
    return true;
  }

  private showValues(values: Values): void {
    this.values = values;
    for (const { control, slider, number, resetButton } of this.rows) {
      const value = values[control.name] ?? control.neutral;
      const text = formatValue(value, control.unit);
      slider.value = String(value);
      slider.setAttribute("aria-valuetext", text);
      if (number !== document.activeElement) number.value = formatNumber(value, control.unit);
      resetButton.style.visibility =
        text === formatValue(control.neutral, control.unit) ? "hidden" : "visible";
    }
  }

  private set(values: Values, stroke: symbol): void {
    this.showValues(values);
    void this.latest.send({ values, stroke });
  }

  private createMark(set: string): HTMLElement {
    const mark = element("span", { class: "clamped" });
    this.marks.set(set, mark);
    return mark;
  }

  private createRow(control: Control): HTMLElement {
    const { name, low, high, neutral, unit } = control;
    const short = name.split(".").slice(1).join(".");
    const slider = element("input", {
      type: "range",
      min: String(low),
      max: String(high),
      step: "any",
      value: String(neutral),
      "aria-label": name,
    });
    const number = element("input", {
      type: "number",
      step: unit === "degrees" ? "1" : "0.01",
      value: formatNumber(neutral, unit),
      "aria-label": `${name}, typed`,
    });
    const change = (value: number, stroke: symbol) =>
      this.set({ ...this.values, [name]: value }, stroke);
    slider.addEventListener("pointerdown", () => (this.stroke = Symbol("slide")));
    for (const end of ["pointerup", "pointercancel"])
      slider.addEventListener(end, () => (this.stroke = undefined));
    slider.addEventListener("input", () =>
      change(Number(slider.value), this.stroke ?? Symbol("slide")),
    );
    number.addEventListener("change", () => change(Number(number.value), Symbol("typed")));
    const resetButton = button("↺", `Reset ${name}`, () => change(neutral, Symbol("reset")), {
      class: "reset",
    });
    this.rows.push({ control, slider, number, resetButton });
    return element(
      "div",
      { class: "control" },
      element("span", { class: "name" }, short),
      element(
        "span",
        { class: "range" },
        slider,
        element("small", {}, formatValue(low, unit)),
        element("small", {}, formatValue(high, unit)),
      ),
      number,
      resetButton,
    );
  }

  private async askPose({ values, stroke }: { values: Values; stroke: symbol }): Promise<void> {
    const { starts } = this;
    const posed = await this.connection.ask("pose", { values });
    if (starts !== this.starts) return;
    const { rotations, positions, outsideDeg } = posed;
    this.showClamped(posed);
    this.isOwn = true;
    this.listener.onPose({ pose: { rotations, positions }, outsideDeg, values }, stroke);
    this.isOwn = false;
  }

  /** Say beside each slider whether it was clamped, and by set what cannot comply. */
  private showClamped({ clamped, gaps }: Posed): void {
    for (const { control, number } of this.rows) {
      number.classList.toggle("clamped", control.name in clamped);
      number.title = control.name in clamped ? "As far as it goes: more was asked for" : "";
    }
    const all = Object.keys(gaps);
    for (const [set, mark] of this.marks)
      mark.textContent = all.some((gap) => gap.startsWith(`${set}.`)) ? "cannot comply" : "";
    this.gaps = all;
  }

  /** Say what is outside, and what cannot comply. */
  showOutside(outsideDeg: number[]): void {
    const { limited, skeleton } = this.clip;
    const outside = outsideDeg
      .map((angle, place) => ({ angle, name: skeleton.names[limited[place] ?? -1] ?? "" }))
      .filter(({ angle }) => angle > LEAST_DEG)
      .sort((a, b) => b.angle - a.angle);
    const names = outside
      .slice(0, MOST_NAMED)
      .map(({ angle, name }) => `${name} ${formatDegrees(angle)}`);
    if (outside.length > MOST_NAMED) names.push(`${outside.length - MOST_NAMED} more`);
    this.status.textContent = [
      this.gaps.length ? `Out of reach: ${this.gaps.join(", ")} cannot comply.` : "",
      names.length ? `Outside: ${names.join(", ")}.` : "",
    ]
      .filter(Boolean)
      .join(" ");
  }
}
