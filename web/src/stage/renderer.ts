// The renderer of a canvas, where the browser has WebGL, and how fast it draws.

import { PCFShadowMap, WebGLRenderer } from "three";

const CHEAP_PIXELS = 0.6; // pixels of the picture by pixel of the screen, where drawing is slow
const SLOW_MS = 90; // a mean time between frames that is slow
const FRAMES = 8; // that the mean is taken over
const PAUSE_MS = 1500; // after a longer time, nothing was moving

/** Return a renderer for a canvas; undefined if the browser has no WebGL. */
export function createRenderer(canvas: HTMLCanvasElement): WebGLRenderer | undefined {
  const attributes = { alpha: true, antialias: true };
  // Asked for here, because three.js reports an error if there is none.
  const context = canvas.getContext(
    "webgl2",
    attributes,
  ) as unknown as WebGLRenderingContext | null;
  if (!context) return undefined;
  const renderer = new WebGLRenderer({ canvas, context, ...attributes });
  renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
  return renderer;
}

/** Enable shadows, to be redrawn only after `needsUpdate` is set. */
export function enableShadows(renderer: WebGLRenderer): void {
  renderer.shadowMap.enabled = true;
  renderer.shadowMap.type = PCFShadowMap;
  renderer.shadowMap.autoUpdate = false;
}

/** Draw fewer pixels, or all of them again. */
export function setCheap(renderer: WebGLRenderer, isCheap: boolean): void {
  renderer.setPixelRatio(isCheap ? CHEAP_PIXELS : Math.min(devicePixelRatio, 2));
}

/** Measures the time between frames that are drawn one after the other. */
export class FrameClock {
  private last: number | undefined;
  private times: number[] = [];

  /** Note that a frame is drawn at `now`, in milliseconds; return true if frames are slow. */
  tick(now: number): boolean {
    const time = now - (this.last ?? now);
    this.last = now;
    if (time <= 0 || time > PAUSE_MS) {
      this.times = [];
      return false;
    }
    this.times = [...this.times, time].slice(-FRAMES);
    const mean = this.times.reduce((sum, each) => sum + each, 0) / FRAMES;
    return this.times.length === FRAMES && mean > SLOW_MS;
  }
}
