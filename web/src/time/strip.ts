// The strip: when each joint is outside, a row for each, the worst first or as in the tree.

import type { Clip } from "../clip";
import { button, element, find } from "../elements";
import { formatDegrees } from "../format";
import { outsideColour, unusualColour } from "../stage/colours";
import { formatVerdict, isWorse, verdictClass } from "../verdict";
import { followFrame, panWindow, type Window, zoomWindow } from "./window";

const ROW_PX = 16;
const TALL_PX = 56;
/** Height in pixels of a row's image; what is unusual fills the lower half. */
const IMAGE_PX = 2;
/** Pixels from just outside to farthest, as browsers have them in memory. */
const createShades = (colour: typeof outsideColour) =>
  Uint32Array.from({ length: 256 }, (_, shade) => {
    const { r, g, b } = colour(shade / 255).convertLinearToSRGB();
    const [red, green, blue] = [r, g, b].map((part) => Math.round(255 * part)) as [
      number,
      number,
      number,
    ];
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  });
const OUTSIDE_SHADES = createShades(outsideColour);
const UNUSUAL_SHADES = createShades(unusualColour);
/** Of a frame that nobody performed. */
const INVENTED = 0x66888888;

/** When a joint is farthest outside, and by how many degrees; negative if it is only unusual. */
export interface Worst {
  frame: number;
  angle: number;
}

interface Row {
  canvas: HTMLCanvasElement;
  place: number;
  width: number;
}

export class Strip {
  /** What chooses the order of rows, and how much of the time is seen. */
  readonly tools = element("div", { class: "strip-tools" });
  window: Window;
  private panel = find("#strip");
  private playhead = element("div", { class: "head" });
  private order = element("select", { "aria-label": "Order of rows", title: "Order of rows" });
  private zoomText = element("output", { "aria-live": "polite" });
  private outsideDeg: Float32Array = new Float32Array();
  private worst: Worst[] = [];
  private rows: Row[] = [];
  /** Joints whose rows are enlarged, by their place among the limited ones. */
  private tall = new Set<number>();
  private most = 1;

  constructor(
    private clip: Clip,
    /** Told where in the strip of which joint one pressed. */
    private onPress: (frame: number, joint: number) => void,
    /** Told when other frames are seen. */
    private onWindow: (window: Window) => void,
  ) {
    this.window = { first: 0, last: clip.frames - 1 };
    for (const [value, label] of [
      ["worst", "worst first"],
      ["tree", "as in the tree"],
    ] as const)
      this.order.append(element("option", { value }, label));
    this.order.addEventListener("change", () => this.layOut());
    this.tools.append(
      this.order,
      button("−", "Zoom out of the time", () => this.zoom(2)),
      button("+", "Zoom into the time", () => this.zoom(0.5)),
      this.zoomText,
    );
    this.tools.hidden = clip.frames === 1;
    this.panel.setAttribute("role", "group");
    this.panel.setAttribute("aria-label", "When each joint is outside");
    this.panel.addEventListener("wheel", (event) => this.turnWheel(event), { passive: false });
  }

  /** Draw a row for each joint that is ever outside. */
  show(outsideDeg: Float32Array, worst: Worst[]): void {
    this.outsideDeg = outsideDeg;
    this.worst = worst;
    this.layOut();
  }

  /** Let the mark be at a frame, and that frame be seen. */
  setFrame(frame: number): void {
    const { first, last } = followFrame(this.window, this.clip.frames, frame);
    if (first !== this.window.first || last !== this.window.last) this.setWindow({ first, last });
    const share = (frame - first + 0.5) / (last - first + 1);
    this.playhead.style.setProperty("--share", String(share));
  }

  /** See fewer frames, or more, around a place at a share of what is seen. */
  zoom(factor: number, share?: number): void {
    const head = Number(this.playhead.style.getPropertyValue("--share")) || 0.5;
    this.setWindow(zoomWindow(this.window, this.clip.frames, factor, share ?? head));
  }

  private setWindow(window: Window): void {
    this.window = window;
    const { frames, frameTime } = this.clip;
    const count = window.last - window.first + 1;
    this.zoomText.textContent = count === frames ? "" : `${(count * frameTime).toFixed(2)} s`;
    for (const row of this.rows) this.paint(row);
    this.onWindow(window);
  }

  private turnWheel(event: WheelEvent): void {
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (!event.ctrlKey && !sideways) return; // the rows scroll
    event.preventDefault();
    const canvas = this.rows[0]?.canvas.getBoundingClientRect();
    if (!canvas) return;
    const share = Math.min(Math.max((event.clientX - canvas.left) / canvas.width, 0), 1);
    if (event.ctrlKey) this.zoom(Math.exp(0.003 * event.deltaY), share);
    else this.setWindow(panWindow(this.window, this.clip.frames, sideways / canvas.width));
  }

  private layOut(): void {
    const { limited } = this.clip;
    const angle = (place: number) => this.worst[place]?.angle ?? 0;
    const places = limited.map((_, place) => place).filter((place) => angle(place) !== 0);
    if (this.order.value === "worst") places.sort((a, b) => (isWorse(angle(a), angle(b)) ? -1 : 1));
    else places.sort((a, b) => (limited[a] ?? 0) - (limited[b] ?? 0));
    this.most = Math.max(...places.map((place) => Math.abs(angle(place))), 1);
    this.rows = [];
    const rows = places.map((place) => this.createRow(place));
    this.panel.replaceChildren(
      rows.length
        ? element("div", { class: "rows" }, ...rows, this.playhead)
        : element("p", { class: limited.length ? "met" : "" }, summary(this.clip)),
    );
    document.body.classList.toggle("quiet", places.length === 0);
  }

  private createRow(place: number): HTMLElement {
    const { limited, skeleton } = this.clip;
    const joint = limited[place] ?? 0;
    const name = skeleton.names[joint] ?? "";
    const worst = this.worst[place] ?? { frame: 0, angle: 0 };
    const verdict = formatVerdict(worst.angle, this.clip.state.twoVerdicts);
    const label = button("", `${name}: ${verdict} at worst`, () =>
      this.onPress(worst.frame, joint),
    );
    label.className = "name";
    const angle = formatDegrees(Math.abs(worst.angle));
    label.append(
      element("bdi", {}, name),
      element("span", { class: verdictClass(worst.angle) }, angle),
    );
    const canvas = element("canvas", { "aria-hidden": "true" });
    const row = { canvas, place, width: 0 };
    this.rows.push(row);
    // The width comes with the news: to ask the canvas would lay out the page for every row.
    const sized = new ResizeObserver(([entry]) => {
      row.width = entry?.contentRect.width ?? 0;
      this.paint(row);
    });
    onceVisible(canvas, () => sized.observe(canvas));
    canvas.addEventListener("pointerdown", (event) => {
      const { left, width } = canvas.getBoundingClientRect();
      const { first, last } = this.window;
      const frame = first + ((event.clientX - left) / width) * (last - first + 1) - 0.5;
      this.onPress(frame, joint);
    });
    const line = element("div", { class: "row" }, label, canvas);
    const enlarge = button("▸", `Enlarge the row of ${name}`, () => {
      const tall = !this.tall.has(place);
      if (tall) this.tall.add(place);
      else this.tall.delete(place);
      this.resizeRow(line, enlarge, row);
    });
    enlarge.className = "enlarge";
    line.prepend(enlarge);
    this.resizeRow(line, enlarge, row);
    return line;
  }

  private resizeRow(line: HTMLElement, enlarge: HTMLElement, row: Row): void {
    const tall = this.tall.has(row.place);
    line.style.height = `${tall ? TALL_PX : ROW_PX}px`;
    enlarge.setAttribute("aria-expanded", String(tall));
    this.paint(row);
  }

  private paint({ canvas, place, width }: Row): void {
    if (width === 0) return;
    const { limited, frames, invented } = this.clip;
    const { first, last } = this.window;
    const angle = (frame: number) => this.outsideDeg[frame * limited.length + place] ?? 0;
    const columns = Math.round(width * devicePixelRatio);
    const farthest = sampleRow(first, Math.min(last, frames - 1), columns, angle);
    const height = this.tall.has(place) ? TALL_PX : IMAGE_PX;
    const image = new ImageData(farthest.length, height);
    const colours = new Uint32Array(image.data.buffer);
    farthest.forEach((most, column) => {
      if (most === 0) return;
      const share = Math.min(Math.abs(most) / this.most, 1);
      const shades = most > 0 ? OUTSIDE_SHADES : UNUSUAL_SHADES;
      const colour = shades[Math.round(share * (shades.length - 1))] ?? 0;
      const top = height > IMAGE_PX ? Math.floor((1 - share) * height) : most > 0 ? 0 : 1;
      for (let y = Math.min(top, height - 1); y < height; y++)
        colours[y * farthest.length + column] = colour;
    });
    if (invented && first === 0) {
      const end = Math.max(Math.round(farthest.length / (last - first + 1)), 3);
      for (let y = 0; y < height; y++)
        colours.fill(INVENTED, y * farthest.length, y * farthest.length + end);
    }
    canvas.width = farthest.length;
    canvas.height = height;
    canvas.getContext("2d")?.putImageData(image, 0, 0);
  }
}

/** By column, the worst of its frames; where frames are fewer, they are the columns. */
export function sampleRow(
  first: number,
  last: number,
  columns: number,
  angleAt: (frame: number) => number,
): Float32Array {
  const count = last - first + 1;
  const farthest = new Float32Array(Math.min(count, Math.max(columns, 1)));
  for (let k = 0; k < count; k++) {
    const column = Math.floor((k * farthest.length) / count);
    const angle = angleAt(first + k);
    if (isWorse(angle, farthest[column] ?? 0)) farthest[column] = angle;
  }
  return farthest;
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

function summary(clip: Clip): string {
  if (clip.limited.length === 0) return "No joint has a limit: there is nothing to check.";
  return clip.frames === 1
    ? "Every joint that has a limit is inside it."
    : "Every joint that has a limit is inside it, in every frame.";
}
