// Curves of clinical angles over time, with the limit as a band, of one or several joints.

import { computed, effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Latest } from "../connection";
import { capitalize, formatAngle, formatDegrees } from "../format";
import type { CurveTitle } from "../protocol";
import type { Store } from "../store";
import { Button, beginDrag, find } from "../ui";
import { frameAt, shareOf } from "./window";

const STEP = 1.5; // pixels between samples, which are the least and greatest angles in between
const STILL_DEG = 0.5; // axes along which a joint moves less are left out
const MARGIN_DEG = 3; // above and below a curve

/** A curve: an angle along an axis, or the angle outside the limit, in degrees by frame. */
interface Row {
  key: string;
  joint: number;
  label: string;
  values: Float32Array;
  /** Ends of the possible and the usual limit, in degrees by frame; empty if the limit is 0. */
  bands: [low: Float32Array, high: Float32Array][];
}

export class Curves {
  /** Rows of joints with clinical angles, by joint. */
  private known = signal(new Map<number, Row[]>());
  /** The curve of the picked joint's angle outside its limit. */
  private outside = computed(() => this.outsideRow());
  /** Joints whose curves stay when another joint is picked. */
  private kept = signal<number[]>([]);
  private latest = new Latest((joint: number) => this.request(joint));
  private rows = computed(() => this.listRows());

  constructor(
    private store: Store,
    private onJump: (frame: number) => void,
  ) {
    const panel = find("#curve");
    let edition = 0;
    effect(() => {
      const joint = store.picked.value;
      if (store.edition.value !== edition) this.known.value = new Map();
      edition = store.edition.value;
      // The panel stays without a picked joint, so that the view keeps its size.
      panel.hidden = !store.limited.value.length || store.clip.frames === 1;
      if (joint !== undefined && !panel.hidden) void this.latest.send(joint);
    });
    render(<this.Panel />, panel);
  }

  private listRows(): Row[] {
    const joint = this.store.picked.value;
    const joints = [...(joint === undefined ? [] : [joint]), ...this.kept.value];
    const rows = [...new Set(joints)].flatMap((each) => this.known.value.get(each) ?? []);
    const outside = this.outside.value;
    const hasAngles = rows.some((row) => row.joint === joint);
    const isWaiting = this.expectsAngles(joint) && !this.known.value.has(joint ?? -1);
    if (outside && !isWaiting && (!hasAngles || outside.values.some((angle) => angle > 0)))
      rows.push(outside);
    return rows;
  }

  /** True if Python may have clinical angles for a joint. */
  private expectsAngles(joint: number | undefined): boolean {
    const { isHuman, isRecorded, limited } = this.store;
    return isHuman && (limited.value.includes(joint ?? -1) || !isRecorded);
  }

  private async request(joint: number): Promise<void> {
    const { store } = this;
    if (this.known.peek().has(joint) || !this.expectsAngles(joint)) return;
    const matters = () => store.picked.peek() === joint;
    const request = { joint: store.nameOf(joint) };
    const answer = await store.connection.askWhile(matters, "curves", request);
    if (!answer) return;
    const { curves, anglesDeg, lowDeg, highDeg, usualLowDeg, usualHighDeg } = answer;
    const part = (all: Float32Array, k: number) =>
      all.subarray(k * store.clip.frames, (k + 1) * store.clip.frames);
    const rows = curves.map((title: CurveTitle, k: number) => ({
      ...{ key: `${joint} ${title.axis}`, joint, label: `${title.name} ${title.axis}` },
      values: part(anglesDeg, k),
      bands: [
        [lowDeg, highDeg],
        [usualLowDeg, usualHighDeg],
      ]
        .filter(([low]) => low?.length)
        .map((ends) => ends.map((all) => part(all, k)) as [Float32Array, Float32Array]),
    }));
    const moves = rows.filter(({ values }) => isMoving(values));
    this.known.value = new Map([...this.known.peek(), [joint, moves.length ? moves : rows]]);
  }

  private outsideRow(): Row | undefined {
    const { store } = this;
    const joint = store.picked.value;
    const { joints, outsideDeg } = store.checked.value;
    const index = joints.indexOf(joint ?? -1);
    if (!store.hasRegion(joint) || index < 0) return undefined;
    const values = Float32Array.from({ length: store.clip.frames }, (_, frame) =>
      Math.max(outsideDeg[frame * joints.length + index] ?? 0, 0),
    );
    const label = `${store.clip.skeleton.commonNames[joint] || store.nameOf(joint)} outside`;
    return { key: `${joint} outside`, joint, label, values, bands: [] };
  }

  private toggleKept(joint: number): void {
    const kept = this.kept.value;
    this.kept.value = kept.includes(joint) ? kept.filter((k) => k !== joint) : [...kept, joint];
  }

  private Panel = () => {
    const rows = this.rows.value;
    const joint = this.store.picked.value;
    if (!rows.length)
      return <p class="told">{joint === undefined ? "Pick a joint to see its angles" : ""}</p>;
    return (
      <>
        {rows.map((row, index) => (
          <this.Row key={row.key} row={row} isFirst={rows[index - 1]?.joint !== row.joint} />
        ))}
      </>
    );
  };

  private Row = ({ row, isFirst }: { row: Row; isFirst: boolean }) => {
    const { store } = this;
    const canvas = useRef<HTMLCanvasElement>(null);
    const paper = useRef<HTMLDivElement>(null);
    useEffect(() => {
      const element = canvas.current;
      if (!element) return;
      const draw = () => this.draw(element, row);
      const observer = new ResizeObserver(draw);
      observer.observe(element);
      const stop = effect(() => {
        void [store.window.value, store.theme.value];
        draw();
      });
      return () => {
        observer.disconnect();
        stop();
      };
    }, [row]);
    const frame = store.frame.value;
    const isKept = this.kept.value.includes(row.joint);
    const isMade = store.history.present.value !== undefined;
    const value = row.values[frame] ?? 0;
    const range = extent([row.values.subarray(store.clip.invented ? 1 : 0)]);
    const [possible] = row.bands;
    const now = possible ? formatAngle(value) : `${formatDegrees(value)} outside`;
    const isOut = possible
      ? value < (possible[0][frame] ?? value) - 0.1 || value > (possible[1][frame] ?? value) + 0.1
      : value > 0;
    const jump = ({ clientX }: PointerEvent) => {
      const { left, width } = paper.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
      this.onJump(frameAt((clientX - left) / width, store.window.value));
    };
    return (
      <div class="curve">
        <div class="told">
          <span>
            <bdi>{capitalize(row.label)}</bdi> <b class={isOut ? "missed" : ""}>{now}</b>
            {(isMade || store.showsRepaired.value) && ` in the ${isMade ? "clip" : "original"}`}
          </span>
          <small>
            {possible ? `${formatAngle(range[0])} to ${formatAngle(range[1])} in the clip` : ""}
          </small>
          {isFirst && possible && (
            <Button
              label="Keep these curves when another joint is picked"
              aria-pressed={isKept}
              onClick={() => this.toggleKept(row.joint)}
            >
              {isKept ? "★" : "☆"}
            </Button>
          )}
          <Button class="further" label="Show further curves" onClick={showFurther}>
            ▾
          </Button>
        </div>
        <div
          class="paper"
          ref={paper}
          onPointerDown={(event) => {
            const before = store.frame.value;
            const { currentTarget, pointerId } = event;
            currentTarget.setPointerCapture(pointerId);
            beginDrag(() => {
              currentTarget.releasePointerCapture(pointerId);
              this.onJump(before);
            });
            jump(event);
          }}
          onPointerMove={(event) =>
            event.currentTarget.hasPointerCapture(event.pointerId) && jump(event)
          }
        >
          <canvas ref={canvas} role="img" aria-label={`${row.label} over time`} />
          <div class="head" style={{ "--share": String(shareOf(frame, store.window.value)) }} />
        </div>
      </div>
    );
  };

  private draw(canvas: HTMLCanvasElement, row: Row): void {
    const { clientWidth: width, clientHeight: height } = canvas;
    const context = canvas.getContext("2d");
    if (!width || !context) return;
    const scale = devicePixelRatio;
    Object.assign(canvas, { width: width * scale, height: height * scale });
    context.scale(scale, scale);
    const { first, last } = this.store.window.peek();
    const [least, most] = extent([row.values]);
    const [possible] = row.bands;
    const [low, high] = possible ? [extent([possible[0]])[0], extent([possible[1]])[1]] : [0, 1];
    // Distant ends of the limit would flatten the curve.
    const room = Math.max(most - least, 20);
    const bottom = Math.max(Math.min(low, least), least - room) - MARGIN_DEG;
    const top = Math.min(Math.max(high, most), most + room) + MARGIN_DEG;
    const y = (deg: number) => height * (1 - (deg - bottom) / (top - bottom));
    const x = (frame: number) => (width * (frame - first + 0.5)) / (last - first + 1);
    const stride = Math.max(Math.floor((STEP * (last - first + 1)) / width), 1);
    const frames = Array.from(
      { length: Math.floor((last - first) / stride) + 1 },
      (_, k) => first + k * stride,
    );
    const trace = (values: Float32Array) => {
      for (const frame of frames) {
        const part = values.subarray(frame, Math.min(frame + stride, last + 1));
        for (const end of stride > 1 ? extent([part]) : part) context.lineTo(x(frame), y(end));
      }
    };
    const styles = getComputedStyle(document.documentElement);
    const colour = (name: string) => styles.getPropertyValue(name).trim();
    row.bands.forEach(([least, most], index) => {
      context.fillStyle = colour(index === 0 ? "--band" : "--usual");
      context.beginPath();
      for (const frame of frames) context.lineTo(x(frame), y(most[frame] ?? 0));
      for (const frame of [...frames].reverse()) context.lineTo(x(frame), y(least[frame] ?? 0));
      context.fill();
    });
    context.strokeStyle = colour("--muted");
    context.setLineDash([4, 4]);
    context.beginPath();
    context.moveTo(0, y(0));
    context.lineTo(width, y(0));
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 1.5;
    context.strokeStyle = colour(possible ? "--ink" : "--red");
    context.beginPath();
    trace(row.values);
    context.stroke();
  }
}

/** Scroll to the first curve below the visible part; after the last one, to the top. */
function showFurther(): void {
  const panel = find("#curve");
  const rows = [...panel.querySelectorAll<HTMLElement>(".curve")];
  const { bottom } = panel.getBoundingClientRect();
  const isBelow = (row: HTMLElement) => row.getBoundingClientRect().bottom > bottom + 1;
  const next = rows.find(isBelow) ?? rows[0];
  panel.scrollTo({ top: (next?.offsetTop ?? 0) - (rows[0]?.offsetTop ?? 0) });
  next?.querySelector<HTMLElement>(".further")?.focus({ preventScroll: true });
}

const isMoving = (values: Float32Array): boolean => {
  const [least, most] = extent([values]);
  return most - least > STILL_DEG;
};

/** The least and the greatest of all values except NaN; [0, 0] if there are none. */
function extent(parts: Float32Array[]): [number, number] {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const part of parts)
    for (const value of part) {
      if (value < least) least = value;
      if (value > most) most = value;
    }
  return least <= most ? [least, most] : [0, 0];
}
