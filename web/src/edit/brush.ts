// The brush that sculpts distance fields: how large and how strong, and what it has touched.

import type { Vector3 } from "three";
import { button, element } from "../elements";
import { sliderWithNumber } from "../panel/fields";
import type { Stroke } from "../protocol";
import type { Strokes } from "./strokes";

/** Places that go over at once: the more, the later the surface follows. */
const AT_ONCE = 8;

/** A stroke of the brush as it was chosen when the stroke began. */
interface BrushStroke {
  stroke: Stroke;
  radiusDeg: number;
  amountDeg: number;
  /** Whether it has changed anything. */
  hasChanged: boolean;
}

/** A place that was touched in a stroke; without one, the stroke's end. */
interface Touch {
  by: BrushStroke;
  point: Vector3 | undefined;
}

export class Brush {
  readonly panel = element("section", { class: "brush" });
  private radiusDeg = 15;
  private strengthDeg = 1;
  private isPulling = false;
  private current: BrushStroke | undefined;
  private touches: Touch[] = [];
  private isSending = false;
  private directionButtons: Record<"push" | "pull", HTMLButtonElement>;

  constructor(
    private strokes: Strokes,
    /** Where the joint is now, as a rotation vector from the limit's reference. */
    present: () => Vector3 | undefined,
  ) {
    this.directionButtons = {
      push: button("Push", "Push the boundary out", () => this.setPulling(false)),
      pull: button("Pull", "Pull the boundary in", () => this.setPulling(true)),
    };
    const size = sliderWithNumber("Radius of the brush", "Radius", [1, 90, 1], this.radiusDeg);
    const strength = sliderWithNumber("Strength of the brush", "Strength", [0.1, 10, 0.1], 1);
    size.onInput = (value) => (this.radiusDeg = value);
    strength.onInput = (value) => (this.strengthDeg = value);
    const here = button("Brush at this pose", "Brush where the joint is now", () => {
      const at = present();
      if (!at) return;
      this.press(at, false);
      this.lift();
    });
    this.panel.append(
      element("h3", {}, "Brush"),
      element("p", {}, "Drag on the surface in the picture; Shift turns push and pull around."),
      element(
        "div",
        { class: "ways", role: "group", "aria-label": "What the brush does" },
        this.directionButtons.push,
        this.directionButtons.pull,
        here,
      ),
      size.row,
      strength.row,
    );
    this.setPulling(false);
  }

  /** In radians. */
  get radius(): number {
    return (this.radiusDeg * Math.PI) / 180;
  }

  /** Put the brush to the surface; `other` does the opposite of what is chosen. */
  press(point: Vector3, other: boolean): void {
    const stroke = this.strokes.newStroke();
    const { radiusDeg, strengthDeg } = this;
    const amountDeg = this.isPulling !== other ? -strengthDeg : strengthDeg;
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

  /** Take the stroke back: what it changed is undone. */
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

  /** Send what was touched, in order; a stroke's end makes distances of the field's values again. */
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
      while (centers.length < AT_ONCE && this.touches[0]?.by === by && this.touches[0].point)
        centers.push((this.touches.shift() as Touch & { point: Vector3 }).point.toArray());
      const edit = { edit: "brush", draft: true, centers, radiusDeg, amountDeg } as const;
      if (await this.strokes.sendInStroke(edit, stroke)) by.hasChanged = true;
    }
  }

  private setPulling(pulls: boolean): void {
    this.isPulling = pulls;
    this.directionButtons.push.setAttribute("aria-pressed", String(!pulls));
    this.directionButtons.pull.setAttribute("aria-pressed", String(pulls));
  }
}
