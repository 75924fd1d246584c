// Controls of a figure: a slider each, which ends where the control does; Python poses the bones.

import type { Clip, Pose } from "../clip";
import { type Connection, Latest } from "../connection";
import { button, element } from "../elements";
import { formatDegrees } from "../format";
import type { Control, Posed } from "../protocol";

const UNITS: Record<string, string> = { degrees: "°", radians: " rad", length: "", share: "" };

const ENDS =
  "Sliders end where the figure's controls do, also after an edit of its limits: what is outside " +
  "these turns red.";
const MOST_NAMED = 3;
/** Less than this is rounding. */
const LEAST_DEG = 0.05;

export interface ShownPose {
  pose: Pose;
  outsideDeg: number[];
}

export class Sliders {
  readonly panel = element("div", { class: "controls" });
  private values: Record<string, number> = {};
  private inputs = new Map<string, HTMLInputElement>();
  private outputs = new Map<string, HTMLOutputElement>();
  /** By set: what became of it. */
  private marks = new Map<string, HTMLElement>();
  private status = element("p", { class: "clamped", role: "status" });
  private latest = new Latest<Record<string, number>>((values) => this.askPose(values));

  constructor(
    private clip: Clip,
    private connection: Connection,
    private onPose: (shown: ShownPose) => void,
  ) {
    const sets = new Map<string, Control[]>();
    for (const control of clip.controls) {
      const set = control.name.split(".")[0] ?? "";
      sets.set(set, [...(sets.get(set) ?? []), control]);
    }
    this.panel.append(
      element("h2", {}, "Controls"),
      element("p", { class: "why" }, ENDS),
      button("Reset the pose", "Reset the pose (R)", () => this.reset(), { class: "wide" }),
      this.status,
      ...[...sets].map(([set, controls]) =>
        element(
          "section",
          {},
          element("h3", {}, `${set.replaceAll("_", " ")} `, this.createMark(set)),
          ...controls.map((control) => this.createSlider(control)),
        ),
      ),
    );
  }

  reset(): void {
    this.values = {};
    for (const input of this.inputs.values()) input.value = input.dataset.neutral ?? "0";
    for (const input of this.inputs.values()) input.dispatchEvent(new Event("refresh"));
    this.requestPose();
  }

  requestPose(): void {
    void this.latest.send({ ...this.values });
  }

  private createMark(set: string): HTMLElement {
    const mark = element("span", { class: "clamped" });
    this.marks.set(set, mark);
    return mark;
  }

  private createSlider({ name, low, high, neutral, unit }: Control): HTMLElement {
    const output = element("output", { "aria-live": "off" });
    const input = element("input", {
      type: "range",
      min: String(low),
      max: String(high),
      step: "any",
      value: String(neutral),
      "aria-label": name,
      "data-neutral": String(neutral),
    });
    const digits = unit === "degrees" ? 0 : 2;
    const refresh = () => {
      output.textContent = `${Number(input.value).toFixed(digits)}${UNITS[unit] ?? ""}`;
      input.setAttribute("aria-valuetext", output.textContent);
    };
    refresh();
    input.addEventListener("refresh", refresh);
    input.addEventListener("input", () => {
      refresh();
      this.values[name] = Number(input.value);
      this.requestPose();
    });
    this.inputs.set(name, input);
    this.outputs.set(name, output);
    return element("label", {}, name.split(".").slice(1).join("."), input, output);
  }

  private async askPose(values: Record<string, number>): Promise<void> {
    const posed = await this.connection.ask("pose", { values });
    const { rotations, positions, outsideDeg } = posed;
    this.showOutcome(posed);
    this.onPose({ pose: { rotations, positions }, outsideDeg });
  }

  /** Say beside each slider whether it was clamped, by set what cannot comply, and what is outside. */
  private showOutcome(posed: Posed): void {
    const { clamped } = posed;
    for (const [name, output] of this.outputs) {
      output.classList.toggle("clamped", name in clamped);
      output.title = name in clamped ? "As far as it goes: more was asked for" : "";
    }
    const gaps = Object.keys(posed.gaps);
    for (const [set, mark] of this.marks)
      mark.textContent = gaps.some((gap) => gap.startsWith(`${set}.`)) ? "cannot comply" : "";
    const { limited, skeleton } = this.clip;
    const outside = posed.outsideDeg
      .map((angle, place) => ({ angle, name: skeleton.names[limited[place] ?? -1] ?? "" }))
      .filter(({ angle }) => angle > LEAST_DEG)
      .sort((a, b) => b.angle - a.angle);
    const names = outside
      .slice(0, MOST_NAMED)
      .map(({ angle, name }) => `${name} ${formatDegrees(angle)}`);
    if (outside.length > MOST_NAMED) names.push(`${outside.length - MOST_NAMED} more`);
    this.status.textContent = [
      gaps.length ? `Out of reach: ${gaps.join(", ")} cannot comply.` : "",
      names.length ? `Outside: ${names.join(", ")}.` : "",
    ]
      .filter(Boolean)
      .join(" ");
  }
}
