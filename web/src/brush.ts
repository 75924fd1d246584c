// The brush that sculpts distance fields: how large and how strong, and what it has touched.

import type { Vector3 } from "three";
import type { Editing } from "./editing";
import { button, element } from "./elements";
import { sliderWithNumber } from "./fields";

/** Places that go over at once: the more, the later the surface follows. */
const AT_ONCE = 8;

export class Brush {
  readonly panel = element("section", { class: "brush" });
  private radiusDeg = 15;
  private strengthDeg = 1;
  private pulls = false;
  private pulling = false;
  private touched: Vector3[] = [];
  private sending: Promise<void> | undefined;
  private ways: Record<"push" | "pull", HTMLButtonElement>;

  constructor(
    private editing: Editing,
    /** Where the joint is now, as a rotation vector from the limit's reference. */
    present: () => Vector3 | undefined,
  ) {
    this.ways = {
      push: button("Push", "Push the boundary out", () => this.turn(false)),
      pull: button("Pull", "Pull the boundary in", () => this.turn(true)),
    };
    const size = sliderWithNumber("Radius of the brush", "Radius", [1, 90, 1], this.radiusDeg);
    const strength = sliderWithNumber("Strength of the brush", "Strength", [0.1, 10, 0.1], 1);
    size.onInput = (value) => (this.radiusDeg = value);
    strength.onInput = (value) => (this.strengthDeg = value);
    const here = button("Brush at this pose", "Brush where the joint is now", () => {
      const at = present();
      if (!at) return;
      this.begin(at, false);
      void this.lift();
    });
    this.panel.append(
      element("h3", {}, "Brush"),
      element("p", {}, "Drag on the surface in the picture; Shift turns push and pull around."),
      element("div", { class: "ways", role: "group", "aria-label": "What the brush does" },
        this.ways.push, this.ways.pull, here),
      size.row,
      strength.row,
    );
    this.turn(false);
  }

  /** In radians. */
  get radius(): number {
    return (this.radiusDeg * Math.PI) / 180;
  }

  /** Put the brush to the surface; `other` does the opposite of what is chosen. */
  begin(point: Vector3, other: boolean): void {
    this.pulling = this.pulls !== other;
    this.touch(point);
  }

  touch(point: Vector3): void {
    this.touched.push(point.clone());
    this.sending ??= this.send().finally(() => (this.sending = undefined));
  }

  /** End the stroke, once all of it has been answered. */
  async lift(): Promise<void> {
    await this.sending;
    await this.editing.now({ edit: "settle" });
    await this.editing.drop();
  }

  private async send(): Promise<void> {
    while (this.touched.length)
      await this.editing.now({
        edit: "brush",
        draft: true,
        centers: this.touched.splice(0, AT_ONCE).map((point) => point.toArray()),
        radiusDeg: this.radiusDeg,
        amountDeg: this.pulling ? -this.strengthDeg : this.strengthDeg,
      });
  }

  private turn(pulls: boolean): void {
    this.pulls = pulls;
    this.ways.push.setAttribute("aria-pressed", String(!pulls));
    this.ways.pull.setAttribute("aria-pressed", String(pulls));
  }
}
