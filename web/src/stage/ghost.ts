// The ghost: what clamping makes of the clip, hard or softly, asked for when it is wanted.

import { type Clamped, type Clip, clampedOf } from "../clip";
import type { Line } from "../connection";
import { button, degrees, element } from "../elements";
import { chooser, fill, sliderWithNumber } from "../panel/fields";
import type { Stage } from "./stage";

export class Ghost {
  readonly tool = button("Ghost", "Ghost of the clamped clip (G)", () => this.toggle());
  readonly softening: Softening;
  private on = false;
  private clamped: Clamped | undefined;
  private asking = 0;

  constructor(
    private clip: Clip,
    private line: Line,
    private stage: Stage,
    private frame: () => number,
    /** Told when clamping is to be done otherwise. */
    softened: () => void,
  ) {
    this.softening = new Softening(softened);
    this.tool.disabled = true;
  }

  /** Limits have changed; `possible` tells whether clamping changes anything. */
  async renew(possible: boolean): Promise<void> {
    this.asking++;
    this.clamped = undefined;
    this.tool.disabled = !possible;
    if (this.on || this.softening.value !== null) await this.clamp();
    else this.softening.tell(0);
  }

  toggle(): void {
    if (this.tool.disabled) return;
    this.on = !this.on;
    this.tool.setAttribute("aria-pressed", String(this.on));
    this.show();
    if (this.on && !this.clamped) void this.clamp();
  }

  /** Show it at the present frame, or not at all. */
  show(): void {
    this.stage.haunt(this.on ? this.clamped?.pose(this.frame()) : undefined);
  }

  private async clamp(): Promise<void> {
    const asking = ++this.asking;
    const answer = await this.line.ask("clamp", { soften: this.softening.value });
    if (asking !== this.asking) return; // of limits that were
    this.clamped = clampedOf(answer, this.clip);
    this.softening.tell(this.clamped.leftDeg);
    this.show();
  }
}

/** How clamping treats the limit: hit, approached from inside, or left a little. */
const KINDS = [
  { name: "hard", label: "stop at the limit" },
  { name: "inside", label: "slow down inside" },
  { name: "beyond", label: "give way beyond" },
];

class Softening {
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
