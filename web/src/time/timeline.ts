// Time: play, scrub and step; and a strip that shows when each joint is outside.

import type { Clip } from "../clip";
import { button, element, find, letGo } from "../elements";
import { formatDegrees } from "../format";
import { outsideColour } from "../stage/colours";

const ROW_PX = 16;
const SPEEDS = ["0.1", "0.25", "0.5", "1", "2", "4"];
/** Pixels from just outside to farthest, as browsers have them in memory. */
const SHADES = Uint32Array.from({ length: 256 }, (_, shade) => {
  const { r, g, b } = outsideColour(shade / 255).convertLinearToSRGB();
  const [red, green, blue] = [r, g, b].map((part) => Math.round(255 * part)) as [
    number,
    number,
    number,
  ];
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
});

export class Timeline {
  frame = 0;
  isPlaying = false;
  private started = { at: 0, frame: 0 };
  private slider: HTMLInputElement;
  private loopButton: HTMLButtonElement;
  /** Frames that are played over and over: the first, then the last, once they are chosen. */
  private loop: number[] = [];
  /** The frame that the slider is dragged from. */
  private draggedFrom: number | undefined;
  private playButton: HTMLButtonElement;
  private readout = element("output", { id: "when", "aria-live": "off" });
  private strip = find("#strip");
  private playhead = element("div", { class: "head" });
  /** Frames in which a joint goes outside. */
  private violationStarts: boolean[] = [];
  private outsideDeg: Float32Array = new Float32Array();
  private speed = element("select", { "aria-label": "Speed", title: "Speed" });
  private threshold = element("input", {
    type: "number",
    min: "0",
    max: "180",
    step: "1",
    value: "0",
    "aria-label": "Ignore violations below, in degrees",
    title: "N and P go to violations of more degrees than this",
  });
  private worst: Worst[] = [];

  constructor(
    private clip: Clip,
    private onFrame: (frame: number) => void,
    private onPick: (joint: number) => void,
  ) {
    this.playButton = button("▶", "Play (Space)", () => this.toggle());
    this.slider = element("input", {
      type: "range",
      min: "0",
      max: String(clip.frames - 1),
      value: "0",
      "aria-label": "Frame",
    });
    this.slider.addEventListener("input", () => this.goTo(Number(this.slider.value)));
    this.slider.addEventListener("pointerdown", () => (this.draggedFrom = this.frame));
    for (const end of ["pointerup", "pointercancel"])
      this.slider.addEventListener(end, () => (this.draggedFrom = undefined));
    const one = clip.frames === 1;
    const buttons = [
      button("|◂", "First frame (Home)", () => this.goTo(0)),
      button("◂", "Back one frame (←)", () => this.step(-1)),
      this.playButton,
      button("▸", "On one frame (→)", () => this.step(1)),
      button("▸|", "Last frame (End)", () => this.goTo(clip.frames - 1)),
    ];
    for (const each of SPEEDS) this.speed.append(element("option", { value: each }, `${each} ×`));
    this.speed.value = "1";
    this.speed.addEventListener("change", () => {
      this.started = { at: performance.now(), frame: this.frame };
    });
    this.threshold.addEventListener("input", () => this.updateStarts());
    for (const each of buttons) each.disabled = one;
    this.slider.hidden = one;
    const ignore = element("label", { class: "ignore" }, "ignore below", this.threshold, "°");
    this.loopButton = button("", "", () => this.setLoop());
    this.updateLoop();
    const more = element("div", { class: "pace" }, this.speed, this.loopButton, ignore);
    more.hidden = one;
    const bar = element("div", { class: "buttons" }, ...buttons, this.readout, more);
    find("#transport").append(bar, this.slider);
    this.update();
  }

  goTo(frame: number): void {
    this.frame = Math.min(Math.max(Math.round(frame), 0), this.clip.frames - 1);
    this.started = { at: performance.now(), frame: this.frame };
    this.update();
    this.onFrame(this.frame);
  }

  /** Take back the drag of the slider; tell whether there is one. */
  cancelDrag(): boolean {
    const start = this.draggedFrom;
    if (start === undefined) return false;
    this.draggedFrom = undefined;
    letGo(this.slider);
    this.goTo(start);
    return true;
  }

  step(frames: number): void {
    this.pause();
    this.goTo(this.frame + frames);
  }

  toggle(): void {
    if (this.isPlaying) this.pause();
    else if (this.clip.frames > 1) this.start();
  }

  private start(): void {
    this.isPlaying = true;
    this.playButton.textContent = "❚❚";
    this.playButton.setAttribute("aria-label", "Pause (Space)");
    this.setLive("off");
    this.started = { at: performance.now(), frame: this.frame };
    requestAnimationFrame((now) => this.tick(now));
  }

  pause(): void {
    this.isPlaying = false;
    this.playButton.textContent = "▶";
    this.playButton.setAttribute("aria-label", "Play (Space)");
    this.setLive("polite");
  }

  /** Begin a loop at this frame, end it there, or play all again. */
  private setLoop(): void {
    const { loop, frame } = this;
    if (loop.length === 2) this.loop = [];
    else this.loop = [...loop, frame].sort((a, b) => a - b);
    this.updateLoop();
  }

  private updateLoop(): void {
    const [first, last] = this.loop;
    const labels = ["Loop from this frame", "Loop to this frame", "Play all frames again"];
    this.loopButton.textContent =
      first === undefined ? "⟳" : last === undefined ? `⟳ ${first}–` : `⟳ ${first}–${last}`;
    const label = labels[this.loop.length] ?? "";
    this.loopButton.title = label;
    this.loopButton.setAttribute("aria-label", label);
  }

  /** While it plays, a screen reader is not told of every frame. */
  private setLive(live: "off" | "polite"): void {
    document.querySelector("#now")?.setAttribute("aria-live", live);
  }

  /** Go to the worst frame of a limited joint, by its place among them. */
  goToWorst(place: number): void {
    this.pause();
    this.goTo(this.worst[place]?.frame ?? 0);
  }

  /** Go to the next frame in which a joint goes outside, or the one before. */
  goToViolation(way: 1 | -1): void {
    let frame = this.frame;
    do frame += way;
    while (frame >= 0 && frame < this.clip.frames && !this.violationStarts[frame]);
    if (this.violationStarts[frame]) this.step(frame - this.frame);
  }

  /** Draw a row for each joint that is ever outside, the worst first. */
  show(outsideDeg: Float32Array): void {
    const { limited, frames } = this.clip;
    this.outsideDeg = outsideDeg;
    const { worst } = findViolations(outsideDeg, limited.length, frames);
    this.worst = worst;
    this.updateStarts();
    const rows = limited.map((_, place) => place).filter((place) => this.worstAngle(place) > 0);
    rows.sort((a, b) => this.worstAngle(b) - this.worstAngle(a));
    const most = Math.max(...rows.map((place) => this.worstAngle(place)), 1);
    this.strip.replaceChildren(
      ...rows.map((place) => this.createRow(place, outsideDeg, most)),
      ...(rows.length
        ? [this.playhead]
        : [element("p", { class: limited.length ? "met" : "" }, summary(this.clip))]),
    );
    this.strip.setAttribute("role", "group");
    this.strip.setAttribute("aria-label", "When each joint is outside");
    document.body.classList.toggle("quiet", rows.length === 0);
    this.update();
  }

  /** Find the frames in which a joint goes outside by more than is ignored. */
  private updateStarts(): void {
    const { limited, frames } = this.clip;
    const least = Number(this.threshold.value) || 0;
    this.violationStarts = findViolations(this.outsideDeg, limited.length, frames, least).starts;
  }

  get worstDeg(): number[] {
    return this.worst.map(({ angle }) => angle);
  }

  private worstAngle(place: number): number {
    return this.worst[place]?.angle ?? 0;
  }

  private createRow(place: number, outsideDeg: Float32Array, most: number): HTMLElement {
    const { limited, frames, skeleton } = this.clip;
    const joint = limited[place] ?? 0;
    const name = skeleton.names[joint] ?? "";
    const worst = this.worst[place] ?? { frame: 0, angle: 0 };
    const label = button("", `${name}: ${formatDegrees(worst.angle)} outside at worst`, () => {
      this.pause();
      this.goTo(worst.frame);
      this.onPick(joint);
    });
    label.append(element("bdi", {}, name), element("span", {}, formatDegrees(worst.angle)));
    const canvas = element("canvas", { height: "1", "aria-hidden": "true" });
    const angle = (frame: number) => outsideDeg[frame * limited.length + place] ?? 0;
    // The width comes with the news: to ask the canvas would lay out the page for every row.
    const sized = new ResizeObserver(([entry]) =>
      paintRow(canvas, entry?.contentRect.width ?? 0, frames, angle, most),
    );
    onceVisible(canvas, () => sized.observe(canvas));
    canvas.addEventListener("pointerdown", (event) => {
      const { left, width } = canvas.getBoundingClientRect();
      this.pause();
      this.goTo(((event.clientX - left) / width) * frames - 0.5);
      this.onPick(joint);
    });
    const row = element("div", { class: "row" }, label, canvas);
    row.style.height = `${ROW_PX}px`;
    return row;
  }

  private tick(now: number): void {
    if (!this.isPlaying) return;
    const speed = Number(this.speed.value);
    const gone = (speed * (now - this.started.at)) / 1000 / this.clip.frameTime;
    const frame = loopFrame(
      Math.floor(this.started.frame + Math.max(gone, 0)),
      this.clip.frames,
      this.loop,
    );
    if (frame !== this.frame) {
      this.frame = frame;
      this.update();
      this.onFrame(frame);
    }
    requestAnimationFrame((next) => this.tick(next));
  }

  private update(): void {
    const { frames, frameTime } = this.clip;
    this.slider.value = String(this.frame);
    this.readout.textContent =
      frames === 1
        ? "One frame, nothing to play"
        : `${this.frame} / ${frames - 1}  ${(this.frame * frameTime).toFixed(2)} s`;
    this.playhead.style.setProperty("--share", String((this.frame + 0.5) / frames));
  }
}

/** The frame that is shown when so many have gone by, where all are played or those of a loop. */
export function loopFrame(count: number, frames: number, [first, last]: number[]): number {
  if (first === undefined || last === undefined) return count % frames;
  if (count < first) return count; // it plays on to where the loop begins
  return first + ((count - first) % (last - first + 1));
}

/** When a joint is farthest outside, and by how many degrees. */
interface Worst {
  frame: number;
  angle: number;
}

/** By limited joint, its worst frame; by frame, whether a joint goes outside, by more than least. */
export function findViolations(
  outsideDeg: Float32Array,
  count: number,
  frames: number,
  leastDeg = 0,
): { worst: Worst[]; starts: boolean[] } {
  const worst: Worst[] = Array.from({ length: count }, () => ({ frame: 0, angle: 0 }));
  const starts = new Array<boolean>(frames).fill(false);
  outsideDeg.forEach((angle, at) => {
    if (!(angle > 0)) return;
    const frame = Math.floor(at / count);
    if (angle > (worst[at % count]?.angle ?? 0)) worst[at % count] = { frame, angle };
    if (angle > leastDeg && !((outsideDeg[at - count] ?? 0) > leastDeg)) starts[frame] = true;
  });
  return { worst, starts };
}

/** Do something once an element is in sight, or nearly so: of many rows most are not, at first. */
function onceVisible(thing: HTMLElement, act: () => void): void {
  const watch = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      watch.disconnect();
      act();
    },
    { rootMargin: "100px" },
  );
  watch.observe(thing);
}

/** Draw a row with a column for each frame; where pixels are fewer, each has its worst frame. */
function paintRow(
  canvas: HTMLCanvasElement,
  width: number,
  frames: number,
  angleAt: (frame: number) => number,
  most: number,
): void {
  const columns = Math.min(frames, Math.max(Math.round(width * devicePixelRatio), 1));
  const farthest = new Float32Array(columns);
  for (let frame = 0; frame < frames; frame++) {
    const column = Math.floor((frame * columns) / frames);
    farthest[column] = Math.max(farthest[column] ?? 0, angleAt(frame));
  }
  const image = new ImageData(columns, 1);
  const colours = new Uint32Array(image.data.buffer);
  farthest.forEach((angle, column) => {
    if (angle > 0) colours[column] = SHADES[Math.round((angle / most) * (SHADES.length - 1))] ?? 0;
  });
  canvas.width = columns;
  canvas.getContext("2d")?.putImageData(image, 0, 0);
}

function summary(clip: Clip): string {
  if (clip.limited.length === 0) return "No joint has a limit: there is nothing to check.";
  return clip.frames === 1
    ? "Every joint that has a limit is inside it."
    : "Every joint that has a limit is inside it, in every frame.";
}
