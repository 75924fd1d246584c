// The picked joint's distance to its limit over time, before and after clamping.

import { effect } from "@preact/signals";
import uPlot from "uplot";
import { formatDegrees } from "../format";
import "uplot/dist/uPlot.min.css";
import { whenIdle } from "../browser";
import { Latest } from "../connection";
import type { Store } from "../store";
import { beginDrag, find } from "../ui";
import { frameAt, shareOf } from "./window";

const MAX_DEPTH_DEG = 180; // deeper inside than half a turn is not meaningful

const cssColour = (name: string) => () =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Curve {
  private panel = find("#curve");
  private value = find("#curve b");
  private range = find("#curve .told span:last-child");
  private paper = find("#curve .paper");
  private playhead = find("#curve .head");
  private plot: uPlot | undefined;
  private before: Float32Array | undefined;
  private joint: number | undefined;
  private latest = new Latest((joint: number) => this.request(joint));

  constructor(
    private store: Store,
    onJump: (frame: number) => void,
  ) {
    const { clip } = store;
    const jump = ({ clientX }: PointerEvent) => {
      const { left, width } = this.paper.getBoundingClientRect();
      onJump(frameAt((clientX - left) / width, store.window.value));
    };
    this.paper.addEventListener("pointerdown", (event) => {
      const before = store.frame.value;
      this.paper.setPointerCapture(event.pointerId);
      beginDrag(() => {
        this.paper.releasePointerCapture(event.pointerId);
        onJump(before);
      });
      jump(event);
    });
    this.paper.addEventListener(
      "pointermove",
      (event) => this.paper.hasPointerCapture(event.pointerId) && jump(event),
    );
    new ResizeObserver(() => this.resize()).observe(this.paper);
    effect(() => {
      const joint = store.picked.value;
      void [store.check.value, store.soften.value];
      // It keeps its space, or else the view would change its size with the picked joint.
      this.panel.hidden = !store.limited.value.length || clip.frames === 1;
      this.pick(joint, store.limited.value.includes(joint ?? -1));
    });
    effect(() => {
      const { first, last } = store.window.value;
      this.plot?.setScale("x", { min: first - 0.5, max: last + 0.5 });
    });
    effect(() => this.showFrame());
    effect(() => {
      void store.theme.value;
      this.plot?.redraw(false);
    });
  }

  private pick(joint: number | undefined, isLimited: boolean): void {
    if (joint !== this.joint || !isLimited) {
      this.before = undefined;
      this.value.textContent = this.range.textContent = "";
      this.paper.style.visibility = "hidden";
    }
    this.joint = joint;
    if (!isLimited)
      this.range.textContent =
        joint === undefined ? "Pick a joint to see it" : "This joint has none";
    else if (joint !== undefined && this.store.clip.frames > 1) void this.latest.send(joint);
  }

  private showFrame(): void {
    const { frame, window, history } = this.store;
    this.playhead.style.setProperty("--share", String(shareOf(frame.value, window.value)));
    const isMade = history.present.value !== undefined;
    const angle = this.before?.[frame.value];
    if (angle === undefined) return;
    const text = angle > 0 ? `${formatDegrees(angle)} outside` : `${formatDegrees(-angle)} inside`;
    this.value.textContent = isMade ? `${text} in the clip` : text;
    this.value.className = isMade ? "" : angle > 0 ? "missed" : "met";
  }

  private async request(joint: number): Promise<void> {
    const { store } = this;
    const request = { joint: store.nameOf(joint), soften: store.soften.peek() };
    const matters = () => this.joint === joint && store.limited.peek().includes(joint);
    const answer = await store.connection.askWhile(matters, "curve", request);
    if (!this.plot) await whenIdle();
    if (!answer || joint !== this.joint) return;
    this.before = answer.before;
    this.paper.style.visibility = "";
    this.panel.setAttribute("aria-label", `How far ${request.joint} is from its limit`);
    this.draw(answer.before, answer.after);
    this.showFrame();
  }

  private draw(before: Float32Array, after: Float32Array): void {
    const most = before.reduce((a, b) => Math.max(a, b), 0);
    const least = Math.max(
      before.reduce((a, b) => Math.min(a, b), 0),
      -MAX_DEPTH_DEG,
    );
    const outside = most > 0 ? `, ${formatDegrees(most)} outside` : "";
    this.range.textContent = `${formatDegrees(-least)} inside at most${outside}`;
    const clipped = (angles: Float32Array) =>
      Float64Array.from(angles, (angle) => Math.max(angle, least));
    const frames = Float64Array.from({ length: before.length }, (_, frame) => frame);
    const line = (colour: string) => ({
      stroke: cssColour(colour),
      width: 1.5,
      points: { show: false },
    });
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
            range: () => {
              const { first, last } = this.store.window.peek();
              return [first - 0.5, last + 0.5];
            },
          },
          y: { range: [least - 1, Math.max(most, 1) + 1] },
        },
        axes: [{ show: false }, { show: false }],
        series: [{}, line("--red"), line("--accent")],
        hooks: { drawAxes: [drawZeroLine] },
      },
      [frames, clipped(before), clipped(after)],
      this.paper,
    );
    this.paper.append(this.playhead);
  }

  private resize(): void {
    const { plot, size } = this;
    if (!plot || this.paper.clientWidth === 0) return;
    if (size.width !== plot.width || size.height !== plot.height) plot.setSize(size);
  }

  private get size(): { width: number; height: number } {
    const { clientWidth, clientHeight } = this.paper;
    return { width: Math.max(clientWidth, 50), height: Math.max(clientHeight, 30) };
  }
}

/** Draw the limit itself, a dashed line at 0. */
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
