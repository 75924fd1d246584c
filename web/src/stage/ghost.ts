// The ghost: what clamping makes of the clip, hard or softly, asked for when it is wanted.

import { type Clamped, type Clip, clampedFrom } from "../clip";
import type { Connection } from "../connection";
import { button, element } from "../elements";
import { formatDegrees } from "../format";
import { fillSelect, selectRow, sliderWithNumber } from "../panel/fields";
import type { Stage } from "./stage";

export class Ghost {
  readonly button = button("Ghost", "Ghost of the clamped clip (G)", () => this.toggle());
  readonly softening: Softening;
  private isShown = false;
  private clamped: Clamped | undefined;
  private requests = 0;

  constructor(
    private clip: Clip,
    private connection: Connection,
    private stage: Stage,
    private frame: () => number,
    /** Told when clamping is to be done otherwise. */
    softened: () => void,
  ) {
    this.softening = new Softening(softened);
    this.button.disabled = true;
  }

  /** Limits have changed; `possible` tells whether clamping changes anything. */
  async refresh(possible: boolean): Promise<void> {
    this.requests++;
    this.clamped = undefined;
    this.button.disabled = !possible;
    if (this.isShown || this.softening.value !== null) await this.clamp();
    else this.softening.showRemainder(0);
  }

  toggle(): void {
    if (this.button.disabled) return;
    this.isShown = !this.isShown;
    this.button.setAttribute("aria-pressed", String(this.isShown));
    this.show();
    if (this.isShown && !this.clamped) void this.clamp();
  }

  /** Show it at the present frame, or not at all. */
  show(): void {
    this.stage.showGhost(this.isShown ? this.clamped?.pose(this.frame()) : undefined);
  }

  private async clamp(): Promise<void> {
    const asking = ++this.requests;
    const answer = await this.connection.ask("clamp", { soften: this.softening.value });
    if (asking !== this.requests) return; // of limits that were
    this.clamped = clampedFrom(answer, this.clip);
    this.softening.showRemainder(this.clamped.leftDeg);
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
  private status = element("p", { class: "why" });

  constructor(changed: () => void) {
    const [row, kind] = selectRow("Clamping", changed);
    this.kind = kind;
    fillSelect(kind, KINDS, "hard");
    kind.addEventListener("change", () => (this.radius.row.hidden = kind.value === "hard"));
    this.radius.onChange = changed;
    this.radius.row.hidden = true;
    this.panel.append(
      element("summary", {}, "How the ghost is clamped"),
      row,
      this.radius.row,
      this.status,
    );
  }

  /** As `synovia clamp --soften` takes it; null is hard. */
  get value(): string | null {
    return this.kind.value === "hard" ? null : `${this.kind.value}:${this.radius.value}`;
  }

  showRemainder(leftDeg: number): void {
    this.status.textContent =
      this.value === null
        ? ""
        : `Clamped so, the clip is at most ${formatDegrees(leftDeg)} outside.`;
  }
}
