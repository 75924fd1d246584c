// Controls of a figure: a slider each, which ends where the control does; Python poses the bones.

import type { Clip, Control, Pose } from "../clip";
import { Latest, type Line } from "../connection";
import { button, degrees, element } from "../elements";

const UNITS: Record<string, string> = { degrees: "°", radians: " rad", length: "", share: "" };

const ENDS =
  "Sliders end where the figure's controls do, also after an edit of its limits: what is outside " +
  "these turns red.";
const MOST_TOLD = 3;
/** Less than this is rounding. */
const LEAST_DEG = 0.05;

export interface Posed {
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
  private said = element("p", { class: "clamped", role: "status" });
  private latest = new Latest<Record<string, number>>((values) => this.pose(values));

  constructor(
    private clip: Clip,
    private line: Line,
    private shown: (posed: Posed) => void,
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
      this.said,
      ...[...sets].map(([set, controls]) =>
        element(
          "section",
          {},
          element("h3", {}, `${set.replaceAll("_", " ")} `, this.mark(set)),
          ...controls.map((control) => this.slider(control)),
        ),
      ),
    );
  }

  reset(): void {
    this.values = {};
    for (const input of this.inputs.values()) input.value = input.dataset.neutral ?? "0";
    for (const input of this.inputs.values()) input.dispatchEvent(new Event("tell"));
    this.show();
  }

  show(): void {
    void this.latest.ask({ ...this.values });
  }

  private mark(set: string): HTMLElement {
    const mark = element("span", { class: "clamped" });
    this.marks.set(set, mark);
    return mark;
  }

  private slider({ name, low, high, neutral, unit }: Control): HTMLElement {
    const said = element("output", { "aria-live": "off" });
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
    const tell = () => {
      said.textContent = `${Number(input.value).toFixed(digits)}${UNITS[unit] ?? ""}`;
      input.setAttribute("aria-valuetext", said.textContent);
    };
    tell();
    input.addEventListener("tell", tell);
    input.addEventListener("input", () => {
      tell();
      this.values[name] = Number(input.value);
      this.show();
    });
    this.inputs.set(name, input);
    this.outputs.set(name, said);
    return element("label", {}, name.split(".").slice(1).join("."), input, said);
  }

  private async pose(values: Record<string, number>): Promise<void> {
    const { header, arrays } = await this.line.ask("pose", { values });
    this.tell(header);
    this.shown({
      pose: {
        rotations: arrays.rotations as Float32Array,
        positions: arrays.positions as Float32Array,
      },
      outsideDeg: header.outsideDeg as number[],
    });
  }

  /** Say beside each slider whether it was clamped, by set what cannot comply, and what is outside. */
  private tell(header: Record<string, unknown>): void {
    const clamped = header.clamped as Record<string, number>;
    for (const [name, output] of this.outputs) {
      output.classList.toggle("clamped", name in clamped);
      output.title = name in clamped ? "As far as it goes: more was asked for" : "";
    }
    const gaps = Object.keys(header.gaps as Record<string, number>);
    for (const [set, mark] of this.marks)
      mark.textContent = gaps.some((gap) => gap.startsWith(`${set}.`)) ? "cannot comply" : "";
    const { limited, skeleton } = this.clip;
    const outside = (header.outsideDeg as number[])
      .map((angle, place) => ({ angle, name: skeleton.names[limited[place] ?? -1] ?? "" }))
      .filter(({ angle }) => angle > LEAST_DEG)
      .sort((a, b) => b.angle - a.angle);
    const told = outside.slice(0, MOST_TOLD).map(({ angle, name }) => `${name} ${degrees(angle)}`);
    if (outside.length > MOST_TOLD) told.push(`${outside.length - MOST_TOLD} more`);
    this.said.textContent = [
      gaps.length ? `Out of reach: ${gaps.join(", ")} cannot comply.` : "",
      told.length ? `Outside: ${told.join(", ")}.` : "",
    ]
      .filter(Boolean)
      .join(" ");
  }
}
