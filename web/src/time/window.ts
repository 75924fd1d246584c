// The frames that the strip and the curve show: all of them, or some of which one looks closer at.

/** First and last frame that is seen, both included. */
export interface Window {
  first: number;
  last: number;
}

/** Fewer frames than this are not looked at. */
const LEAST = 8;

/** The window `factor` times as wide, with the frame at a share of it in its place. */
export function zoomWindow(
  { first, last }: Window,
  frames: number,
  factor: number,
  share: number,
): Window {
  const wide = last - first + 1;
  const count = Math.round(Math.min(Math.max(factor * wide, Math.min(LEAST, frames)), frames));
  return keepWithin(first + share * (wide - count), count, frames);
}

/** The window moved by a share of its width. */
export function panWindow({ first, last }: Window, frames: number, share: number): Window {
  const wide = last - first + 1;
  return keepWithin(first + share * wide, wide, frames);
}

/** The window that has a frame in it: the same, or one around it. */
export function followFrame(window: Window, frames: number, frame: number): Window {
  const { first, last } = window;
  if (frame >= first && frame <= last) return window;
  const wide = last - first + 1;
  return keepWithin(frame < first ? frame - 0.9 * wide : frame - 0.1 * wide, wide, frames);
}

function keepWithin(start: number, count: number, frames: number): Window {
  const first = Math.round(Math.min(Math.max(start, 0), frames - count));
  return { first, last: first + count - 1 };
}
