// How clamping treats the limit: hit, approached from inside, or left a little.

import { degrees, element } from "./elements";
import { chooser, fill, sliderWithNumber } from "./fields";

const KINDS = [
  { name: "hard", label: "stop at the limit" },
  { name: "inside", label: "slow down inside" },
  { name: "beyond", label: "give way beyond" },
];

export class Softening {
  readonly panel = element("details", { class: "softening" });
  private kind: HTMLSelectElement;
  private radius = sliderWithNumber("Softening radius", "Within", [0.5, 30, 0.5], 5);
  private said = element("p", { class: "why" });

  constructor(changed: () => void) {
    const [row, kind] = chooser("Clamping", changed);
    this.kind = kind;
    fill(kind, KINDS, "hard");
    kind.addEventListener("change", () => (this.radius.row.hidden = kind.value === "hard"));
    this.radius.onChange = changed;
    this.radius.row.hidden = true;
    this.panel.append(
      element("summary", {}, "How the ghost is clamped"),
      row,
      this.radius.row,
      this.said,
    );
  }

  /** As `synovia clamp --soften` takes it; null is hard. */
  get value(): string | null {
    return this.kind.value === "hard" ? null : `${this.kind.value}:${this.radius.value}`;
  }

  tell(leftDeg: number): void {
    this.said.textContent =
      this.value === null ? "" : `Clamped so, the clip is at most ${degrees(leftDeg)} outside.`;
  }
}
