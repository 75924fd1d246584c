// The picked joint's distance to its limit over time, before and after clamping.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { idle } from "../browser";
import type { Clip } from "../clip";
import { Latest, type Line } from "../connection";
import { degrees, element } from "../elements";

const ink = (name: string) => () =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Curve {
  readonly panel = element("div", { id: "curve", role: "group", hidden: true });
  private told = element("div", { class: "told" });
  private now = element("b");
  private ends = element("span");
  private paper = element("div", { class: "paper", "aria-hidden": "true" });
  private head = element("div", { class: "head" });
  private plot: uPlot | undefined;
  private before: Float32Array | undefined;
  private joint: number | undefined;
  private frame = 0;
  private latest = new Latest((joint: number) => this.ask(joint));

  constructor(
    private clip: Clip,
    private line: Line,
    /** How the clip is clamped, as Python takes it. */
    private soften: () => string | null,
    go: (frame: number) => void,
  ) {
    this.told.append(element("span", {}, "Distance to the limit"), this.now, this.ends);
    this.paper.append(this.head);
    this.panel.append(this.told, this.paper);
    const jump = (event: PointerEvent) => {
      const { left, width } = this.paper.getBoundingClientRect();
      go(((event.clientX - left) / width) * clip.frames - 0.5);
    };
    this.paper.addEventListener("pointerdown", (event) => {
      this.paper.setPointerCapture(event.pointerId);
      jump(event);
    });
    this.paper.addEventListener("pointermove", (event) => event.buttons === 1 && jump(event));
    new ResizeObserver(() => this.resize()).observe(this.paper);
  }

  /**
   * Show the curve of a joint, if it has a limit and there is time to speak of. Its place is kept for
   * it, or else the view would change its size with what is picked.
   */
  pick(joint: number | undefined): void {
    const { limited, frames } = this.clip;
    const shown = joint !== undefined && limited.includes(joint);
    if (joint !== this.joint || !shown) this.leave();
    this.joint = joint;
    this.panel.hidden = !limited.length || frames === 1;
    if (shown && frames > 1) void this.latest.ask(joint);
    if (!shown)
      this.ends.textContent =
        joint === undefined ? "Pick a joint to see it" : "This joint has none";
  }

  /** Until the curve of another joint is there, none is shown. */
  private leave(): void {
    this.before = undefined;
    this.now.textContent = this.ends.textContent = "";
    this.paper.style.visibility = "hidden";
  }

  /** Let the mark follow the frame. */
  tell(frame: number): void {
    this.frame = frame;
    this.head.style.setProperty("--share", String((frame + 0.5) / this.clip.frames));
    const angle = this.before?.[frame];
    if (angle === undefined) return;
    this.now.textContent = angle > 0 ? `${degrees(angle)} outside` : `${degrees(-angle)} inside`;
    this.now.className = angle > 0 ? "missed" : "met";
  }

  dress(): void {
    this.plot?.redraw(false);
  }

  private async ask(joint: number): Promise<void> {
    const name = this.clip.skeleton.names[joint] ?? "";
    const given = { joint: name, soften: this.soften() };
    const matters = () => this.joint === joint && this.clip.limited.includes(joint);
    const answer = await this.line.askWhile(matters, "curve", given);
    if (!this.plot) await idle();
    if (!answer || joint !== this.joint) return;
    const { arrays } = answer;
    this.before = arrays.before as Float32Array;
    this.paper.style.visibility = "";
    this.panel.setAttribute("aria-label", `How far ${name} is from its limit`);
    this.draw(this.before, arrays.after as Float32Array);
    this.tell(this.frame);
  }

  private draw(before: Float32Array, after: Float32Array): void {
    const { frames } = this.clip;
    const most = before.reduce((a, b) => Math.max(a, b), 0);
    const least = Math.max(
      before.reduce((a, b) => Math.min(a, b), 0),
      -180,
    );
    this.ends.textContent = `${degrees(-least)} inside at most${most > 0 ? `, ${degrees(most)} outside` : ""}`;
    const data: uPlot.AlignedData = [
      Float64Array.from({ length: frames }, (_, frame) => frame),
      Float64Array.from(before, (angle) => Math.max(angle, least)),
      Float64Array.from(after, (angle) => Math.max(angle, least)),
    ];
    this.plot?.destroy();
    this.plot = new uPlot(
      {
        ...this.size,
        padding: [3, 0, 3, 0],
        legend: { show: false },
        cursor: { show: false },
        select: { show: false, left: 0, top: 0, width: 0, height: 0 },
        scales: {
          x: { time: false, range: [-0.5, frames - 0.5] },
          y: { range: [least - 1, Math.max(most, 1) + 1] },
        },
        axes: [{ show: false }, { show: false }],
        series: [
          {},
          { stroke: ink("--red"), width: 1.5, points: { show: false } },
          { stroke: ink("--accent"), width: 1.5, points: { show: false } },
        ],
        hooks: { drawAxes: [zero] },
      },
      data,
      this.paper,
    );
    this.paper.append(this.head);
  }

  private resize(): void {
    const { plot, size } = this;
    if (!plot || this.paper.clientWidth === 0) return;
    if (size.width !== plot.width || size.height !== plot.height) plot.setSize(size);
  }

  /** As large as its paper, which styles give a height. */
  private get size(): { width: number; height: number } {
    const { clientWidth, clientHeight } = this.paper;
    return { width: Math.max(clientWidth, 50), height: Math.max(clientHeight, 30) };
  }
}

/** The limit itself is a line at 0. */
function zero(plot: uPlot): void {
  const { ctx, bbox } = plot;
  const y = Math.round(plot.valToPos(0, "y", true)) + 0.5;
  ctx.save();
  ctx.strokeStyle = ink("--muted")();
  ctx.setLineDash([4, 4]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}
