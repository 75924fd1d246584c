// Controls of a figure: a slider each, whose ends are the limits; Python poses the bones.

import type { Clip, Control, Pose } from "./clip";
import { button, element } from "./elements";
import { type Line, Latest } from "./socket";

const UNITS: Record<string, string> = { degrees: "°", radians: " rad", length: "", share: "" };

export interface Posed {
  pose: Pose;
  outsideDeg: number[];
}

export class Sliders {
  readonly panel = element("div", { class: "controls" });
  private values: Record<string, number> = {};
  private inputs = new Map<string, HTMLInputElement>();
  private said = element("p", { class: "clamped", role: "status" });
  private latest = new Latest<Record<string, number>>((values) => this.pose(values));

  constructor(
    clip: Clip,
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
      button("Reset the pose", "Reset the pose (R)", () => this.reset(), { class: "wide" }),
      this.said,
      ...[...sets].map(([set, controls]) =>
        element(
          "section",
          {},
          element("h3", {}, set.replaceAll("_", " ")),
          ...controls.map((control) => this.slider(control)),
        ),
      ),
    );
  }

  reset(): void {
    this.values = {};
    for (const input of this.inputs.values()) input.value = input.dataset["neutral"] ?? "0";
    for (const input of this.inputs.values()) input.dispatchEvent(new Event("tell"));
    this.show();
  }

  show(): void {
    void this.latest.ask({ ...this.values });
  }

  private slider({ name, low, high, neutral, unit }: Control): HTMLElement {
    const said = element("output");
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
    };
    tell();
    input.addEventListener("tell", tell);
    input.addEventListener("input", () => {
      tell();
      this.values[name] = Number(input.value);
      this.show();
    });
    this.inputs.set(name, input);
    return element("label", {}, name.split(".").slice(1).join("."), input, said);
  }

  private async pose(values: Record<string, number>): Promise<void> {
    const { header, arrays } = await this.line.ask("pose", { values });
    const gaps = Object.keys(header["gaps"] as Record<string, number>);
    this.said.textContent = gaps.length ? `Out of reach: ${gaps.join(", ")} cannot comply.` : "";
    this.shown({
      pose: {
        rotations: arrays["rotations"] as Float32Array,
        positions: arrays["positions"] as Float32Array,
      },
      outsideDeg: header["outsideDeg"] as number[],
    });
  }
}
