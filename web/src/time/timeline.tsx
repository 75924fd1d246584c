// The time line: play, scrub and step, from violation to violation.

import { computed, effect, signal } from "@preact/signals";
import { render } from "preact";
import type { Store } from "../store";
import { Button, beginDrag, find, releaseSlider, Select } from "../ui";
import { Strip } from "./strip";
import { findViolations, followFrame, loopFrame } from "./window";

const NOT_PERFORMED = "This frame was not performed: the clip begins after it.";
const SPEEDS = ["0.1", "0.25", "0.5", "1", "2", "4"];
const LOOP_LABELS = ["Loop from this frame", "Loop to this frame", "Play all frames again"];

export class Timeline {
  private started = { at: 0, frame: 0 };
  /** The first and the last frame of the loop, once they are chosen. */
  private loop = signal<number[]>([]);
  private speed = signal("1");
  /** Violations of fewer degrees are skipped. */
  private minDeg = signal(0);
  /** By limited joint, its worst frame; a frame that was not performed does not count. */
  readonly worst = computed(() => this.violations(0).worst);
  private starts = computed(() => this.violations(this.minDeg.value).starts);

  constructor(
    private store: Store,
    /** Called when the user has chosen a frame. */
    private onFrame: () => void,
    onPick: (joint: number) => void,
  ) {
    const strip = new Strip(store, this.worst, (frame, joint) => {
      this.pause();
      this.goTo(frame);
      onPick(joint);
    });
    render(<this.Transport strip={strip} />, find("#transport"));
    render(<strip.Rows />, find("#strip"));
    effect(() => {
      const { window, frame } = store;
      window.value = followFrame(window.peek(), store.clip.frames, frame.value);
    });
    effect(() => {
      const isInvented = store.clip.invented && store.frame.value === 0;
      find("#stage").classList.toggle("invented", isInvented);
      find("#unperformed").textContent = isInvented ? NOT_PERFORMED : "";
    });
  }

  private violations(minDeg: number) {
    const { joints, outsideDeg } = this.store.checked.value;
    const { frames, invented } = this.store.clip;
    return findViolations(outsideDeg, joints.length, frames, minDeg, invented ? 1 : 0);
  }

  /** Show a frame of the clip; a pose that was made is left. */
  goTo(frame: number): void {
    const { clip, frame: shown } = this.store;
    shown.value = Math.min(Math.max(Math.round(frame), 0), clip.frames - 1);
    this.started = { at: performance.now(), frame: shown.value };
    this.onFrame();
  }

  step(frames: number): void {
    this.pause();
    this.goTo(this.store.frame.value + frames);
  }

  toggle(): void {
    const { isPlaying, clip } = this.store;
    if (isPlaying.value) this.pause();
    else if (clip.frames > 1) {
      isPlaying.value = true;
      this.started = { at: performance.now(), frame: this.store.frame.value };
      requestAnimationFrame((now) => this.tick(now));
    }
  }

  pause(): void {
    this.store.isPlaying.value = false;
  }

  private tick(now: number): void {
    const { isPlaying, clip, frame } = this.store;
    if (!isPlaying.value) return;
    const seconds = (Number(this.speed.value) * (now - this.started.at)) / 1000;
    const count = Math.floor(this.started.frame + Math.max(seconds / clip.frameTime, 0));
    const next = loopFrame(count, clip.frames, this.loop.value);
    if (next !== frame.value) {
      frame.value = next;
      this.onFrame();
    }
    requestAnimationFrame((later) => this.tick(later));
  }

  /** Begin a loop at this frame, end it here, or remove it. */
  private setLoop(): void {
    const loop = this.loop.value;
    const next = [...loop, this.store.frame.value].sort((a, b) => a - b);
    this.loop.value = loop.length === 2 ? [] : next;
  }

  /** Go to the next frame in which joints go outside, or the previous; return them, worst first. */
  goToViolation(step: 1 | -1): number[] {
    const { clip, check } = this.store;
    let frame = this.store.frame.value;
    do frame += step;
    while (frame >= 0 && frame < clip.frames && !this.starts.value[frame]);
    if (!this.starts.value[frame] || !check.value) return [];
    this.step(frame - this.store.frame.value);
    const { joints, outsideDeg } = check.value;
    const min = this.minDeg.value;
    const angle = (index: number, at: number) =>
      at < (clip.invented ? 1 : 0) ? 0 : (outsideDeg[at * joints.length + index] ?? 0);
    return [...joints.keys()]
      .filter((index) => angle(index, frame) > min && !(angle(index, frame - 1) > min))
      .sort((a, b) => angle(b, frame) - angle(a, frame))
      .map((index) => joints[index] as number);
  }

  private formatFrame(frame: number): string {
    const { frames, frameTime } = this.store.clip;
    return `${frame} / ${frames - 1}  ${(frame * frameTime).toFixed(2)} s`;
  }

  private Transport = ({ strip }: { strip: Strip }) => {
    const { clip, frame, isPlaying } = this.store;
    const last = clip.frames - 1;
    const isSingle = clip.frames === 1;
    const [start, end] = this.loop.value;
    // Room for the last frame, so that nothing moves; signs are half as wide as digits.
    const longest = this.formatFrame(last);
    const width = longest.length - 0.5 * longest.replaceAll(/\d/g, "").length;
    const tool = (text: string, label: string, act: () => void) => (
      <Button label={label} disabled={isSingle} onClick={act}>
        {text}
      </Button>
    );
    return (
      <>
        <div class="buttons">
          {tool("|◂", "First frame (Home)", () => this.goTo(0))}
          {tool("◂", "Previous frame (←)", () => this.step(-1))}
          {isPlaying.value
            ? tool("❚❚", "Pause (Space)", () => this.toggle())
            : tool("▶", "Play (Space)", () => this.toggle())}
          {tool("▸", "Next frame (→)", () => this.step(1))}
          {tool("▸|", "Last frame (End)", () => this.goTo(last))}
          <output
            id="when"
            aria-live="off"
            title={clip.invented && frame.value === 0 ? NOT_PERFORMED : ""}
            style={isSingle ? {} : { minWidth: `${width}ch` }}
          >
            {isSingle ? "One frame, nothing to play" : this.formatFrame(frame.value)}
          </output>
          <div class="pace" hidden={isSingle}>
            <Select
              label="Speed"
              options={SPEEDS.map((name) => ({ name, label: `${name} ×` }))}
              value={this.speed.value}
              onChoose={(speed) => {
                this.speed.value = speed;
                this.started = { at: performance.now(), frame: frame.value };
              }}
            />
            <Button
              label={LOOP_LABELS[this.loop.value.length] ?? ""}
              onClick={() => this.setLoop()}
            >
              {start === undefined ? "⟳" : `⟳ ${start}–${end ?? ""}`}
            </Button>
            <label class="ignore">
              ignore below
              <input
                type="number"
                min="0"
                max="180"
                step="any"
                value={this.minDeg.value}
                aria-label="Ignore violations below, in degrees"
                title="N and P go to violations of more degrees than this"
                onInput={({ currentTarget }) =>
                  (this.minDeg.value = currentTarget.valueAsNumber || 0)
                }
              />
              °
            </label>
          </div>
        </div>
        <div class="slide">
          <input
            type="range"
            min="0"
            max={last}
            value={frame.value}
            aria-label="Frame"
            hidden={isSingle}
            onInput={({ currentTarget }) => this.goTo(currentTarget.valueAsNumber)}
            onPointerDown={({ currentTarget }) => {
              const before = frame.value;
              beginDrag(() => {
                releaseSlider(currentTarget);
                this.goTo(before);
              });
            }}
          />
          <strip.Tools />
        </div>
      </>
    );
  };
}
