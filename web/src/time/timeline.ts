// Time: play, scrub and step, from violation to violation.

import type { Clip } from "../clip";
import { beginDrag } from "../drags";
import { button, element, find, letGo } from "../elements";
import { isWorse } from "../verdict";
import { Strip, type Worst } from "./strip";
import type { Window } from "./window";

const NOBODY = "Nobody performed this frame: the clip begins after it.";
const SPEEDS = ["0.1", "0.25", "0.5", "1", "2", "4"];
export class Timeline {
  frame = 0;
  isPlaying = false;
  private started = { at: 0, frame: 0 };
  private slider: HTMLInputElement;
  private loopButton: HTMLButtonElement;
  /** Frames that are played over and over: the first, then the last, once they are chosen. */
  private loop: number[] = [];
  private playButton: HTMLButtonElement;
  private readout = element("output", { id: "when", "aria-live": "off" });
  readonly strip: Strip;
  /** Frames in which a joint goes outside. */
  private violationStarts: boolean[] = [];
  private outsideDeg: Float32Array = new Float32Array();
  private speed = element("select", { "aria-label": "Speed", title: "Speed" });
  private threshold = element("input", {
    type: "number",
    min: "0",
    max: "180",
    step: "any",
    value: "0",
    "aria-label": "Ignore violations below, in degrees",
    title: "N and P go to violations of more degrees than this",
  });
  private worst: Worst[] = [];

  constructor(
    private clip: Clip,
    private onFrame: (frame: number) => void,
    onPick: (joint: number) => void,
    /** Told when other frames are seen in the strip. */
    onWindow: (window: Window) => void,
  ) {
    const press = (frame: number, joint: number) => {
      this.pause();
      this.goTo(frame);
      onPick(joint);
    };
    this.strip = new Strip(clip, press, onWindow);
    this.playButton = button("▶", "Play (Space)", () => this.toggle());
    this.slider = element("input", {
      type: "range",
      min: "0",
      max: String(clip.frames - 1),
      value: "0",
      "aria-label": "Frame",
    });
    this.slider.addEventListener("input", () => this.goTo(Number(this.slider.value)));
    this.slider.addEventListener("pointerdown", () => {
      const { frame } = this;
      beginDrag(() => {
        letGo(this.slider);
        this.goTo(frame);
      });
    });
    const one = clip.frames === 1;
    // Room for the last frame, so that nothing moves while it plays; what is no digit is narrow.
    const last = this.formatFrame(clip.frames - 1);
    const narrow = last.replaceAll(/\d/g, "").length;
    if (!one) this.readout.style.minWidth = `${last.length - 0.5 * narrow}ch`;
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
    find("#transport").append(
      bar,
      element("div", { class: "slide" }, this.slider, this.strip.tools),
    );
    this.update();
  }

  goTo(frame: number): void {
    this.frame = Math.min(Math.max(Math.round(frame), 0), this.clip.frames - 1);
    this.started = { at: performance.now(), frame: this.frame };
    this.update();
    this.onFrame(this.frame);
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

  /** Go to the next frame in which joints go outside, or the one before; tell which, the worst first. */
  goToViolation(way: 1 | -1): number[] {
    let frame = this.frame;
    do frame += way;
    while (frame >= 0 && frame < this.clip.frames && !this.violationStarts[frame]);
    if (!this.violationStarts[frame]) return [];
    this.step(frame - this.frame);
    const { limited, invented } = this.clip;
    const least = Number(this.threshold.value) || 0;
    const deg = (place: number, at: number) =>
      at < (invented ? 1 : 0) ? 0 : (this.outsideDeg[at * limited.length + place] ?? 0);
    return [...limited.keys()]
      .filter((place) => deg(place, frame) > least && !(deg(place, frame - 1) > least))
      .sort((a, b) => deg(b, frame) - deg(a, frame))
      .map((place) => limited[place] as number);
  }

  /** Show when each joint is outside. */
  show(outsideDeg: Float32Array): void {
    const { limited, frames, invented } = this.clip;
    this.outsideDeg = outsideDeg;
    // What nobody performed is not what a joint did worst.
    this.worst = findViolations(outsideDeg, limited.length, frames, 0, invented ? 1 : 0).worst;
    this.updateStarts();
    this.strip.show(outsideDeg, this.worst);
    this.update();
  }

  /** Find the frames in which a joint goes outside by more than is ignored. */
  private updateStarts(): void {
    const { limited, frames, invented } = this.clip;
    const least = Number(this.threshold.value) || 0;
    const { starts } = findViolations(
      this.outsideDeg,
      limited.length,
      frames,
      least,
      invented ? 1 : 0,
    );
    this.violationStarts = starts;
  }

  get worstDeg(): number[] {
    return this.worst.map(({ angle }) => angle);
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

  private formatFrame(frame: number): string {
    const { frames, frameTime } = this.clip;
    return `${frame} / ${frames - 1}  ${(frame * frameTime).toFixed(2)} s`;
  }

  private update(): void {
    const { frames } = this.clip;
    this.slider.value = String(this.frame);
    this.readout.textContent =
      frames === 1 ? "One frame, nothing to play" : this.formatFrame(this.frame);
    const invented = this.clip.invented && this.frame === 0;
    document.body.toggleAttribute("data-invented", invented);
    this.readout.title = invented ? NOBODY : "";
    find("#unperformed").textContent = invented ? NOBODY : "";
    this.strip.setFrame(this.frame);
  }
}

/** The frame that is shown when so many have gone by, where all are played or those of a loop. */
export function loopFrame(count: number, frames: number, [first, last]: number[]): number {
  if (first === undefined || last === undefined) return count % frames;
  if (count < first) return count; // it plays on to where the loop begins
  return first + ((count - first) % (last - first + 1));
}

/** By limited joint, its worst frame; by frame, whether a joint goes outside, by more than least, from the first. */
export function findViolations(
  outsideDeg: Float32Array,
  count: number,
  frames: number,
  leastDeg = 0,
  first = 0,
): { worst: Worst[]; starts: boolean[] } {
  const worst: Worst[] = Array.from({ length: count }, () => ({ frame: 0, angle: 0 }));
  const starts = new Array<boolean>(frames).fill(false);
  outsideDeg.forEach((angle, at) => {
    const frame = Math.floor(at / count);
    if (angle === 0 || frame < first) return;
    if (isWorse(angle, worst[at % count]?.angle ?? 0)) worst[at % count] = { frame, angle };
    const before = frame > first ? (outsideDeg[at - count] ?? 0) : 0;
    if (angle > leastDeg && !(before > leastDeg)) starts[frame] = true;
  });
  return { worst, starts };
}
