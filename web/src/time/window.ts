// Frames that the strip and the curve show, and the worst frames of a clip.

import { isWorse } from "../format";
import type { TimeWindow } from "../store";

const MIN_FRAMES = 8; // a narrower window shows nothing more

/** The window `factor` times as wide, in which the frame at a share of it stays where it is. */
export function zoomWindow(
  { first, last }: TimeWindow,
  frames: number,
  factor: number,
  share: number,
): TimeWindow {
  const width = last - first + 1;
  const count = Math.round(
    Math.min(Math.max(factor * width, Math.min(MIN_FRAMES, frames)), frames),
  );
  return keepWithin(first + share * (width - count), count, frames);
}

/** The window moved by a share of its width. */
export function panWindow({ first, last }: TimeWindow, frames: number, share: number): TimeWindow {
  const width = last - first + 1;
  return keepWithin(first + share * width, width, frames);
}

/** The same window if it contains a frame, or else one around the frame. */
export function followFrame(window: TimeWindow, frames: number, frame: number): TimeWindow {
  const { first, last } = window;
  if (frame >= first && frame <= last) return window;
  const width = last - first + 1;
  return keepWithin(frame < first ? frame - 0.9 * width : frame - 0.1 * width, width, frames);
}

function keepWithin(start: number, count: number, frames: number): TimeWindow {
  const first = Math.round(Math.min(Math.max(start, 0), frames - count));
  return { first, last: first + count - 1 };
}

/** Where a frame is in the window, as a share of its width. */
export const shareOf = (frame: number, { first, last }: TimeWindow): number =>
  (frame - first + 0.5) / (last - first + 1);

/** The frame at a share of the window's width; it may be fractional. */
export const frameAt = (share: number, { first, last }: TimeWindow): number =>
  first + share * (last - first + 1) - 0.5;

/** The frame and angle at which a joint is farthest outside; negative if it is only unusual. */
export interface Worst {
  frame: number;
  angle: number;
}

/**
 * By limited joint, its worst frame; by frame, whether a joint goes outside by more than `minDeg`
 * there. Frames before `first` are ignored.
 */
export function findViolations(
  outsideDeg: Float32Array,
  count: number,
  frames: number,
  minDeg = 0,
  first = 0,
): { worst: Worst[]; starts: boolean[] } {
  const worst: Worst[] = Array.from({ length: count }, () => ({ frame: 0, angle: 0 }));
  const starts = new Array<boolean>(frames).fill(false);
  outsideDeg.forEach((angle, i) => {
    const frame = Math.floor(i / count);
    if (angle === 0 || frame < first) return;
    if (isWorse(angle, worst[i % count]?.angle ?? 0)) worst[i % count] = { frame, angle };
    const before = frame > first ? (outsideDeg[i - count] ?? 0) : 0;
    if (angle > minDeg && !(before > minDeg)) starts[frame] = true;
  });
  return { worst, starts };
}

/** The frame that is shown after `count` frames, of all frames or of a loop. */
export function loopFrame(count: number, frames: number, [first, last]: number[]): number {
  if (first === undefined || last === undefined) return count % frames;
  if (count < first) return count; // it plays up to the loop
  return first + ((count - first) % (last - first + 1));
}

/** By column, the worst angle of its frames; there are at most as many columns as frames. */
export function sampleRow(
  first: number,
  last: number,
  columns: number,
  angleAt: (frame: number) => number,
): Float32Array {
  const count = last - first + 1;
  const worst = new Float32Array(Math.min(count, Math.max(columns, 1)));
  for (let k = 0; k < count; k++) {
    const column = Math.floor((k * worst.length) / count);
    const angle = angleAt(first + k);
    if (isWorse(angle, worst[column] ?? 0)) worst[column] = angle;
  }
  return worst;
}
