// The strip: a row for each joint that is ever outside, with the frames in which it is.

import { computed, type ReadonlySignal, signal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { formatDegrees, formatVerdict, isWorse, verdictClass } from "../format";
import { outsideColour, unusualColour } from "../stage/colours";
import type { Store, TimeWindow } from "../store";
import { Button, find, LongName, Select } from "../ui";
import { frameAt, panWindow, sampleRow, shareOf, type Worst, zoomWindow } from "./window";

const ROW_PX = 16; // height of a row
const TALL_PX = 56; // height of an enlarged row
const IMAGE_PX = 2; // height of a row's image; unusual frames fill the lower half
const INVENTED = 0x66888888; // the colour of a frame that was not performed, as ABGR
const VISIBLE_MARGIN = "100px"; // rows that are nearly in sight are painted, too

/** 256 colours as pixels (ABGR), from just outside to farthest. */
const createShades = (colour: typeof outsideColour) =>
  Uint32Array.from({ length: 256 }, (_, shade) => {
    const { r, g, b } = colour(shade / 255).convertLinearToSRGB();
    const [red = 0, green = 0, blue = 0] = [r, g, b].map((part) => Math.round(255 * part));
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  });
const OUTSIDE_SHADES = createShades(outsideColour);
const UNUSUAL_SHADES = createShades(unusualColour);
const ORDERS = [
  { name: "worst", label: "worst first" },
  { name: "tree", label: "as in the tree" },
];

export class Strip {
  private order = signal("worst");
  /** Indices of limited joints whose rows are enlarged. */
  private tall = signal(new Set<number>());
  /** Indices of the joints that are ever outside, in the order of rows. */
  private indices = computed(() => {
    const joints = this.joints;
    const angle = (index: number) => this.worst.value[index]?.angle ?? 0;
    const indices = [...joints.keys()].filter((index) => angle(index) !== 0);
    return this.order.value === "worst"
      ? indices.sort((a, b) => (isWorse(angle(a), angle(b)) ? -1 : 1))
      : indices.sort((a, b) => (joints[a] ?? 0) - (joints[b] ?? 0));
  });
  private maxAngle = computed(() =>
    Math.max(...this.worst.value.map(({ angle }) => Math.abs(angle)), 1),
  );

  constructor(
    private store: Store,
    private worst: ReadonlySignal<Worst[]>,
    /** Called when a frame of a joint's row is pressed. */
    private onPress: (frame: number, joint: number) => void,
  ) {
    const panel = find("#strip");
    panel.addEventListener("wheel", (event) => this.onWheel(event, panel), { passive: false });
  }

  private get joints(): number[] {
    return this.store.checked.value.joints;
  }

  private zoom(factor: number, share?: number): void {
    const { window, frame, clip } = this.store;
    const around = share ?? shareOf(frame.value, window.value);
    window.value = zoomWindow(window.value, clip.frames, factor, around);
  }

  private onWheel(event: WheelEvent, panel: HTMLElement): void {
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (!event.ctrlKey && !sideways) return; // the rows scroll
    event.preventDefault();
    const box = panel.querySelector("canvas")?.getBoundingClientRect();
    if (!box) return;
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    const { window, clip } = this.store;
    if (event.ctrlKey) this.zoom(Math.exp(0.003 * event.deltaY), share);
    else window.value = panWindow(window.value, clip.frames, sideways / box.width);
  }

  /** The order of rows, and the zoom. */
  Tools = () => {
    const { clip, window } = this.store;
    const count = window.value.last - window.value.first + 1;
    return (
      <div class="strip-tools" hidden={clip.frames === 1}>
        <Select
          label="Order of rows"
          options={ORDERS}
          value={this.order.value}
          onChoose={(order) => (this.order.value = order)}
          hidden={!this.indices.value.length}
        />
        <Button label="Zoom out of the time" onClick={() => this.zoom(2)}>
          −
        </Button>
        <Button label="Zoom into the time" onClick={() => this.zoom(0.5)}>
          +
        </Button>
        <output aria-live="polite">
          {count === clip.frames ? "" : `${(count * clip.frameTime).toFixed(2)} s`}
        </output>
      </div>
    );
  };

  Rows = () => {
    const { clip, check, limited, window, frame } = this.store;
    if (!check.value) return null;
    if (!this.indices.value.length)
      return <p class={limited.value.length ? "met" : ""}>{this.summary()}</p>;
    const share = shareOf(frame.value, window.value);
    return (
      <div class="rows">
        {this.indices.value.map((index) => (
          <this.Row key={`${clip.name} ${index}`} index={index} />
        ))}
        <div class="head" style={{ "--share": String(share) }} />
      </div>
    );
  };

  private summary(): string {
    if (!this.store.limited.value.length) return "No joint has a limit: there is nothing to check.";
    const text = "Every joint that has a limit is inside it";
    return this.store.clip.frames === 1 ? `${text}.` : `${text}, in every frame.`;
  }

  private Row = ({ index }: { index: number }) => {
    const { store } = this;
    const canvas = useRef<HTMLCanvasElement>(null);
    const width = useRef(signal(0)).current;
    useEffect(() => {
      const onWidth = (px: number) => (width.value = px);
      return canvas.current ? observeWidth(canvas.current, onWidth) : undefined;
    }, []);
    useSignalEffect(() => {
      if (canvas.current && width.value) this.paint(canvas.current, index, width.value);
    });
    const joint = this.joints[index] ?? 0;
    const name = store.nameOf(joint);
    const { frame, angle } = this.worst.value[index] ?? { frame: 0, angle: 0 };
    const verdict = formatVerdict(angle, store.state.value.twoVerdicts);
    const isTall = this.tall.value.has(index);
    const toggle = () => {
      const tall = new Set(this.tall.value);
      tall[isTall ? "delete" : "add"](index);
      this.tall.value = tall;
    };
    return (
      <div class="row" style={{ height: `${isTall ? TALL_PX : ROW_PX}px` }}>
        <Button
          class="enlarge"
          label={`Enlarge the row of ${name}`}
          aria-expanded={isTall}
          onClick={toggle}
        >
          ▸
        </Button>
        <Button
          class="name"
          label={`${name}: ${verdict} at worst`}
          onClick={() => this.onPress(frame, joint)}
        >
          <LongName text={name} />
          <span class={verdictClass(angle)}>{formatDegrees(Math.abs(angle))}</span>
        </Button>
        <canvas
          aria-hidden="true"
          ref={canvas}
          onPointerDown={({ clientX, currentTarget }) => {
            const { left, width } = currentTarget.getBoundingClientRect();
            this.onPress(frameAt((clientX - left) / width, store.window.value), joint);
          }}
        />
      </div>
    );
  };

  private paint(canvas: HTMLCanvasElement, index: number, width: number): void {
    const { clip, checked, window } = this.store;
    const { joints, outsideDeg } = checked.value;
    const { first, last }: TimeWindow = window.value;
    const columns = Math.round(width * devicePixelRatio);
    const angleAt = (frame: number) => outsideDeg[frame * joints.length + index] ?? 0;
    const angles = sampleRow(first, Math.min(last, clip.frames - 1), columns, angleAt);
    const height = this.tall.value.has(index) ? TALL_PX : IMAGE_PX;
    const image = new ImageData(angles.length, height);
    const pixels = new Uint32Array(image.data.buffer);
    angles.forEach((angle, column) => {
      if (angle === 0) return;
      const share = Math.min(Math.abs(angle) / this.maxAngle.value, 1);
      const shades = angle > 0 ? OUTSIDE_SHADES : UNUSUAL_SHADES;
      const colour = shades[Math.round(share * (shades.length - 1))] ?? 0;
      const top = height > IMAGE_PX ? Math.floor((1 - share) * height) : angle > 0 ? 0 : 1;
      for (let y = Math.min(top, height - 1); y < height; y++)
        pixels[y * angles.length + column] = colour;
    });
    if (clip.invented && first === 0) {
      const end = Math.max(Math.round(angles.length / (last - first + 1)), 3);
      for (let y = 0; y < height; y++)
        pixels.fill(INVENTED, y * angles.length, y * angles.length + end);
    }
    Object.assign(canvas, { width: angles.length, height });
    canvas.getContext("2d")?.putImageData(image, 0, 0);
  }
}

/** Report an element's width once it is nearly in sight, and when it changes. */
function observeWidth(element: HTMLElement, onWidth: (px: number) => void): () => void {
  const sized = new ResizeObserver(([entry]) => onWidth(entry?.contentRect.width ?? 0));
  const seen = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      seen.disconnect();
      sized.observe(element);
    },
    { rootMargin: VISIBLE_MARGIN },
  );
  seen.observe(element);
  return () => {
    seen.disconnect();
    sized.disconnect();
  };
}
