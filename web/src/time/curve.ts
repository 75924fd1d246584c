// The picked joint's distance to its limit over time, before and after clamping.

import uPlot from "uplot";
import { formatDegrees } from "../format";
import "uplot/dist/uPlot.min.css";
import { whenIdle } from "../browser";
import type { Clip } from "../clip";
import { type Connection, Latest } from "../connection";
import { beginDrag } from "../drags";
import { element } from "../elements";
import type { Window } from "./window";

const cssColour = (name: string) => () =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Curve {
  readonly panel = element("div", { id: "curve", role: "group", hidden: true });
  private heading = element("div", { class: "told" });
  private valueText = element("b");
  private rangeText = element("span");
  private plotArea = element("div", { class: "paper", "aria-hidden": "true" });
  private playhead = element("div", { class: "head" });
  private plot: uPlot | undefined;
  private before: Float32Array | undefined;
  private joint: number | undefined;
  private frame = 0;
  private isTried = false;
  private window: Window;
  private latest = new Latest((joint: number) => this.request(joint));

  constructor(
    private clip: Clip,
    private connection: Connection,
    /** How the clip is clamped, as Python takes it. */
    private soften: () => string | null,
    frame: () => number,
    go: (frame: number) => void,
  ) {
    this.window = { first: 0, last: clip.frames - 1 };
    this.heading.append(
      element("span", {}, "Distance to the limit"),
      this.valueText,
      this.rangeText,
    );
    this.plotArea.append(this.playhead);
    this.panel.append(this.heading, this.plotArea);
    const jump = (event: PointerEvent) => {
      const { left, width } = this.plotArea.getBoundingClientRect();
      const { first, last } = this.window;
      go(first + ((event.clientX - left) / width) * (last - first + 1) - 0.5);
    };
    this.plotArea.addEventListener("pointerdown", (event) => {
      const before = frame();
      this.plotArea.setPointerCapture(event.pointerId);
      beginDrag(() => {
        this.plotArea.releasePointerCapture(event.pointerId);
        go(before);
      });
      jump(event);
    });
    this.plotArea.addEventListener(
      "pointermove",
      (event) => this.plotArea.hasPointerCapture(event.pointerId) && jump(event),
    );
    new ResizeObserver(() => this.resize()).observe(this.plotArea);
  }

  /**
   * Show the curve of a joint, if it has a limit and there is time to speak of. Its place is kept for
   * it, or else the view would change its size with what is picked.
   */
  pick(joint: number | undefined): void {
    const { limited, frames } = this.clip;
    const shown = joint !== undefined && limited.includes(joint);
    if (joint !== this.joint || !shown) this.clear();
    this.joint = joint;
    this.panel.hidden = !limited.length || frames === 1;
    if (shown && frames > 1) void this.latest.send(joint);
    if (!shown)
      this.rangeText.textContent =
        joint === undefined ? "Pick a joint to see it" : "This joint has none";
  }

  /** Until the curve of another joint is there, none is shown. */
  private clear(): void {
    this.before = undefined;
    this.valueText.textContent = this.rangeText.textContent = "";
    this.plotArea.style.visibility = "hidden";
  }

  /** Let the mark follow the frame. */
  setFrame(frame: number): void {
    this.frame = frame;
    const { first, last } = this.window;
    this.playhead.style.setProperty("--share", String((frame - first + 0.5) / (last - first + 1)));
    const angle = this.before?.[frame];
    if (angle === undefined) return;
    const text = angle > 0 ? `${formatDegrees(angle)} outside` : `${formatDegrees(-angle)} inside`;
    this.valueText.textContent = this.isTried ? `${text} in the clip` : text;
    this.valueText.className = this.isTried ? "" : angle > 0 ? "missed" : "met";
  }

  /** Say whether a pose is shown that is not the clip's, which the curve does not know of. */
  setTried(isTried: boolean): void {
    if (isTried === this.isTried) return;
    this.isTried = isTried;
    this.setFrame(this.frame);
  }

  /** Show the frames that the strip shows. */
  setWindow(window: Window): void {
    this.window = window;
    this.plot?.setScale("x", { min: window.first - 0.5, max: window.last + 0.5 });
    this.setFrame(this.frame);
  }

  redraw(): void {
    this.plot?.redraw(false);
  }

  private async request(joint: number): Promise<void> {
    const name = this.clip.skeleton.names[joint] ?? "";
    const request = { joint: name, soften: this.soften() };
    const matters = () => this.joint === joint && this.clip.limited.includes(joint);
    const answer = await this.connection.askWhile(matters, "curve", request);
    if (!this.plot) await whenIdle();
    if (!answer || joint !== this.joint) return;
    this.before = answer.before;
    this.plotArea.style.visibility = "";
    this.panel.setAttribute("aria-label", `How far ${name} is from its limit`);
    this.draw(answer.before, answer.after);
    this.setFrame(this.frame);
  }

  private draw(before: Float32Array, after: Float32Array): void {
    const { frames } = this.clip;
    const most = before.reduce((a, b) => Math.max(a, b), 0);
    const least = Math.max(
      before.reduce((a, b) => Math.min(a, b), 0),
      -180,
    );
    this.rangeText.textContent = `${formatDegrees(-least)} inside at most${most > 0 ? `, ${formatDegrees(most)} outside` : ""}`;
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
          x: {
            time: false,
            range: () => [this.window.first - 0.5, this.window.last + 0.5],
          },
          y: { range: [least - 1, Math.max(most, 1) + 1] },
        },
        axes: [{ show: false }, { show: false }],
        series: [
          {},
          { stroke: cssColour("--red"), width: 1.5, points: { show: false } },
          { stroke: cssColour("--accent"), width: 1.5, points: { show: false } },
        ],
        hooks: { drawAxes: [drawZeroLine] },
      },
      data,
      this.plotArea,
    );
    this.plotArea.append(this.playhead);
  }

  private resize(): void {
    const { plot, size } = this;
    if (!plot || this.plotArea.clientWidth === 0) return;
    if (size.width !== plot.width || size.height !== plot.height) plot.setSize(size);
  }

  /** As large as its paper, which styles give a height. */
  private get size(): { width: number; height: number } {
    const { clientWidth, clientHeight } = this.plotArea;
    return { width: Math.max(clientWidth, 50), height: Math.max(clientHeight, 30) };
  }
}

/** The limit itself is a line at 0. */
function drawZeroLine(plot: uPlot): void {
  const { ctx, bbox } = plot;
  const y = Math.round(plot.valToPos(0, "y", true)) + 0.5;
  ctx.save();
  ctx.strokeStyle = cssColour("--muted")();
  ctx.setLineDash([4, 4]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}
