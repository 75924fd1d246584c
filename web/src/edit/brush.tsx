// The brush that sculpts distance fields.

import { signal } from "@preact/signals";
import type { Vector3 } from "three";
import type { Stroke } from "../protocol";
import { Button, SliderWithNumber } from "../ui";
import type { Strokes } from "./strokes";

const MAX_CENTERS = 8; // points of one request: with more, the surface follows later

/** A stroke with the settings of the brush when it began. */
interface BrushStroke {
  stroke: Stroke;
  radiusDeg: number;
  amountDeg: number;
  hasChanged: boolean;
}

/** A point of a stroke; without a point, the end of the stroke. */
interface Touch {
  by: BrushStroke;
  point: Vector3 | undefined;
}

export class Brush {
  private radiusDeg = signal(15);
  private strengthDeg = signal(1);
  private isPulling = signal(false);
  private current: BrushStroke | undefined;
  private touches: Touch[] = [];
  private isSending = false;

  constructor(
    private strokes: Strokes,
    /** The joint's present rotation, as a rotation vector from the limit's reference. */
    private present: () => Vector3 | undefined,
  ) {}

  /** In radians. */
  get radius(): number {
    return (this.radiusDeg.value * Math.PI) / 180;
  }

  /** Begin a stroke; `isInverted` exchanges push and pull. */
  press(point: Vector3, isInverted: boolean): void {
    const stroke = this.strokes.newStroke();
    const [radiusDeg, strengthDeg] = [this.radiusDeg.value, this.strengthDeg.value];
    const amountDeg = this.isPulling.value !== isInverted ? -strengthDeg : strengthDeg;
    this.current = stroke && { stroke, radiusDeg, amountDeg, hasChanged: false };
    this.touch(point);
  }

  touch(point: Vector3): void {
    if (this.current) this.enqueue({ by: this.current, point: point.clone() });
  }

  /** End the stroke. */
  lift(): void {
    if (this.current) this.enqueue({ by: this.current, point: undefined });
    this.current = undefined;
  }

  /** Revert the stroke. */
  cancel(): void {
    const { current } = this;
    this.touches = this.touches.filter(({ by }) => by !== current);
    this.lift();
    if (current) void this.strokes.step("undo", () => current.hasChanged);
  }

  private enqueue(touch: Touch): void {
    this.touches.push(touch);
    if (this.isSending) return;
    this.isSending = true;
    this.strokes.waitFor(this.send().finally(() => (this.isSending = false)));
  }

  /** Send touches in order. The end of a stroke makes the field's values distances again. */
  private async send(): Promise<void> {
    for (let first = this.touches[0]; first; first = this.touches[0]) {
      const { by, point } = first;
      const { stroke, radiusDeg, amountDeg } = by;
      if (!point) {
        this.touches.shift();
        await this.strokes.sendInStroke({ edit: "settle" }, stroke);
        continue;
      }
      const centers: number[][] = [];
      for (let touch = this.touches[0]; touch?.point && touch.by === by; touch = this.touches[0]) {
        if (centers.length === MAX_CENTERS) break;
        centers.push(touch.point.toArray());
        this.touches.shift();
      }
      const edit = { edit: "brush", draft: true, centers, radiusDeg, amountDeg } as const;
      if (await this.strokes.sendInStroke(edit, stroke)) by.hasChanged = true;
    }
  }

  private brushHere(): void {
    const point = this.present();
    if (!point) return;
    this.press(point, false);
    this.lift();
  }

  Panel = ({ hidden }: { hidden: boolean }) => {
    const choice = (text: string, label: string, isPull: boolean) => (
      <Button
        label={label}
        aria-pressed={this.isPulling.value === isPull}
        onClick={() => (this.isPulling.value = isPull)}
      >
        {text}
      </Button>
    );
    return (
      <section class="brush" hidden={hidden}>
        <h3>Brush</h3>
        <p>Drag on the surface in the picture; Shift turns push and pull around.</p>
        <div class="ways" role="group" aria-label="What the brush does">
          {choice("Push", "Push the boundary out", false)}
          {choice("Pull", "Pull the boundary in", true)}
          <Button label="Brush where the joint is now" onClick={() => this.brushHere()}>
            Brush at this pose
          </Button>
        </div>
        <SliderWithNumber
          name="Radius of the brush"
          label="Radius"
          range={[1, 90, 1]}
          value={this.radiusDeg}
        />
        <SliderWithNumber
          name="Strength of the brush"
          label="Strength"
          range={[0.1, 10, 0.1]}
          value={this.strengthDeg}
        />
      </section>
    );
  };
}
