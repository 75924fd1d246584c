// The points of a reach cone as numbers and buttons.

import { anglesDeg, directionAt } from "./cone";
import type { Edit } from "./strokes";
import { button, element } from "./elements";
import { moveTo, type Spot } from "./handles";
import type { Outline, Region } from "./region";

const FIELDS = [
  ["away", "Away from the bone", "Degrees from where the bone points at the reference"],
  ["around", "Around it", "Degrees counter-clockwise from up, seen from outside"],
  ["low", "Twist from", "The least twist here, in degrees"],
  ["high", "to", "The greatest twist here, in degrees"],
] as const;

const ADD = "Add a point (I), in the middle of the edge after this one, or where the bone is";

type Field = (typeof FIELDS)[number][0];

export class Points {
  readonly panel = element("section", { class: "points", "aria-label": "Points of the cone" });
  private which = element("select", { "aria-label": "Point" });
  private fields = new Map<Field, HTMLInputElement>();
  private slice = element("p", { id: "slice" });
  private rounds = element("input", {
    type: "number",
    min: "1",
    max: "5",
    value: "1",
    "aria-label": "Rounds of smoothing",
  });
  private earlier = button("Earlier", "One place earlier in the order", () => void this.reorder(-1));
  private later = button("Later", "One place later in the order", () => void this.reorder(1));
  private ofPoint: HTMLElement[] = [];
  private region: Region | undefined;
  private selected: Spot | undefined;

  constructor(
    private once: (edit: Edit) => Promise<boolean>,
    private select: (spot: Spot | undefined) => void,
    /** Put a point into the middle of an edge, or where the bone is. */
    private add: () => void,
  ) {
    this.which.addEventListener("change", () => this.select(spotOf(this.which.value)));
    const step = (by: number, text: string, label: string) =>
      button(text, label, () => this.step(by));
    const grid = element("div", { class: "fields" });
    for (const [name, text, title] of FIELDS) {
      const field = element("input", { type: "number", step: "1", title });
      field.setAttribute("aria-label", `${text}, degrees`);
      field.addEventListener("change", () => this.enter(name));
      this.fields.set(name, field);
      grid.append(element("label", { title }, text, element("span", {}, field, "°")));
    }
    const remove = button("Delete", "Delete the point (Del)", () => this.remove());
    const { earlier, later } = this;
    this.ofPoint = [grid, remove, earlier, later];
    this.panel.append(
      element("h3", {}, "Points"),
      element(
        "div",
        { class: "line" },
        step(-1, "‹", "Previous point ([)"),
        this.which,
        step(1, "›", "Next point (])"),
      ),
      grid,
      element(
        "div",
        { class: "line" },
        button("Add", ADD, () => this.add()),
        remove,
        earlier,
        later,
      ),
      element(
        "div",
        { class: "line" },
        button("Smooth", "Smooth the outline (S)", () => this.smooth()),
        this.rounds,
        element("span", {}, "rounds"),
      ),
      this.slice,
    );
  }

  show(region: Region, selected: Spot | undefined): void {
    const { outline } = region;
    this.panel.hidden = !outline;
    this.region = region;
    this.selected = selected;
    if (!outline) return;
    if (this.which.options.length !== outline.corners.length + 2)
      this.which.replaceChildren(
        element("option", { value: "" }, "No point chosen"),
        ...outline.corners.map((_, i) => element("option", { value: `${i}` }, `Point ${i}`)),
        element("option", { value: "visible" }, "Visible point"),
      );
    this.which.value = selected === undefined ? "" : `${selected}`;
    for (const part of this.ofPoint) {
      if (part instanceof HTMLButtonElement) part.disabled = typeof selected !== "number";
      else part.hidden = selected === undefined;
    }
    // Where the count begins is free; any other order breaks the star, as is said if one tries.
    this.earlier.classList.toggle("dim", selected !== 0);
    this.later.classList.toggle("dim", selected !== outline.corners.length - 1);
    if (selected === undefined) return;
    for (const [name, value] of Object.entries(this.values(outline, selected))) {
      const field = this.fields.get(name as Field);
      if (field) field.value = String(Number(value.toFixed(1)));
    }
  }

  /** Say which slice of the cone the bone is in. */
  tell(slice: number | undefined): void {
    const count = this.region?.outline?.corners.length ?? 0;
    const told = `The bone is in the slice between points ${slice} and ${((slice ?? 0) + 1) % count}.`;
    this.slice.textContent = slice === undefined || !count ? "" : told;
  }

  step(by: number): void {
    const count = this.region?.outline?.corners.length;
    if (!count) return;
    const order: Spot[] = [...Array(count).keys(), "visible"];
    const now = this.selected === undefined ? (by > 0 ? -1 : 0) : order.indexOf(this.selected);
    this.select(order.at((now + by) % order.length));
  }

  remove(): void {
    if (typeof this.selected === "number") void this.once({ edit: "delete-point", index: this.selected });
  }

  smooth(): void {
    void this.once({ edit: "smooth", rounds: Number(this.rounds.value) });
  }

  private async reorder(by: number): Promise<void> {
    const count = this.region?.outline?.corners.length;
    if (typeof this.selected !== "number" || !count) return;
    const index = this.selected;
    if (await this.once({ edit: "reorder-point", index, by }))
      this.select((index + by + count) % count);
  }

  private values(outline: Outline, spot: Spot): Record<Field, number> {
    const place = spot === "visible" ? outline.visible : outline.corners[spot];
    const twist = spot === "visible" ? outline.visibleTwistDeg : outline.twistDeg[spot];
    const [away, around] = this.region && place ? anglesDeg(this.region.compass, place) : [0, 0];
    const [low, high] = twist ?? [0, 0];
    return { away, around, low, high };
  }

  /** Take the number that was typed; the others stay as they are, to the last digit. */
  private enter(name: Field): void {
    const { region, selected } = this;
    const typed = this.fields.get(name)?.valueAsNumber ?? NaN;
    if (!region?.outline || selected === undefined) return;
    if (!Number.isFinite(typed)) return this.show(region, selected);
    const values: Record<Field, number> = this.values(region.outline, selected);
    values[name] = typed;
    const { away, around, low, high } = values;
    if (name === "away" || name === "around")
      void this.once(moveTo(selected, directionAt(region.compass, away, around)));
    else {
      const index = selected === "visible" ? null : selected;
      void this.once({ edit: "twist", index, lowDeg: low, highDeg: high });
    }
  }
}

function spotOf(value: string): Spot | undefined {
  if (value === "") return undefined;
  return value === "visible" ? value : Number(value);
}
