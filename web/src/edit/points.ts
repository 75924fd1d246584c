// The points of reach cones as numbers and buttons.

import { button, element } from "../elements";
import type { Edit } from "../protocol";
import {
  anglesDeg,
  type Cone,
  directionAt,
  directionOf,
  labelOf,
  listPoints,
  locate,
  type Outline,
  type PointKey,
  type Slice,
  twistSpanAt,
} from "../stage/cone";
import type { Region } from "../stage/region";
import { moveEdit, twistEdit } from "./edits";

/** Each with its label, what it is, and from where to where it goes. */
const FIELDS = [
  ["away", "Away from the bone", "Degrees from where the bone points at the reference", 0, 180],
  ["around", "Around it", "Degrees counter-clockwise from up, seen from outside", -360, 360],
  ["low", "Twist from", "The least twist here, in degrees", -360, 360],
  ["high", "to", "The greatest twist here, in degrees", -360, 360],
] as const;

const ADD = "Add a point (I), in the middle of the edge after this one, or where the bone is";

type Field = (typeof FIELDS)[number][0];

export class PointsPanel {
  readonly panel = element("section", { class: "points", "aria-label": "Points of the cone" });
  private pointList = element("select", { "aria-label": "Point" });
  private fields = new Map<Field, HTMLInputElement>();
  private sliceText = element("p", { id: "slice" });
  private rounds = element("input", {
    type: "number",
    min: "1",
    max: "5",
    value: "1",
    required: true,
    "aria-label": "Rounds of smoothing",
  });
  private tolerance = element("input", {
    type: "number",
    min: "0.1",
    max: "45",
    step: "any",
    value: "2",
    required: true,
    "aria-label": "Degrees by which a point must matter",
  });
  private earlier = button(
    "Earlier",
    "One place earlier in the order",
    () => void this.reorder(-1),
  );
  private later = button("Later", "One place later in the order", () => void this.reorder(1));
  private pointControls: HTMLElement[] = [];
  private region: Region | undefined;
  private selected: PointKey | undefined;

  constructor(
    private apply: (edit: Edit) => Promise<boolean>,
    private select: (key: PointKey | undefined) => void,
    /** Put a point into the middle of an edge, or where the bone is. */
    private add: () => void,
  ) {
    this.pointList.addEventListener("change", () =>
      this.select(parsePointKey(this.pointList.value)),
    );
    const step = (by: number, text: string, label: string) =>
      button(text, label, () => this.selectBy(by));
    const grid = element("div", { class: "fields" });
    for (const [name, text, title, min, max] of FIELDS) {
      const ends = { min: String(min), max: String(max) };
      const field = element("input", { type: "number", step: "any", title, ...ends });
      field.setAttribute("aria-label", `${text}, degrees`);
      field.addEventListener("change", () => this.applyField(name));
      this.fields.set(name, field);
      grid.append(element("label", { title }, text, element("span", {}, field, "°")));
    }
    const remove = button("Delete", "Delete the point (Del)", () => void this.remove());
    const { earlier, later } = this;
    this.pointControls = [grid, remove, earlier, later];
    this.panel.append(
      element("h3", {}, "Points"),
      element(
        "div",
        { class: "line" },
        step(-1, "‹", "Previous point ([)"),
        this.pointList,
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
        button("Smooth", "Smooth the outline (S), with more points", () => this.smooth()),
        button("Relax", "Relax the points: spikes go", () => this.smooth("relax")),
        this.rounds,
        element("span", {}, "rounds"),
      ),
      element(
        "div",
        { class: "line" },
        button("Simplify", "Leave out points that matter little", () => this.simplify()),
        element("span", {}, "below"),
        this.tolerance,
        element("span", {}, "°"),
      ),
      this.sliceText,
    );
  }

  show(region: Region, selected: PointKey | undefined): void {
    const { outline } = region;
    this.panel.hidden = !outline;
    this.region = region;
    this.selected = selected;
    if (!outline) return;
    const keys = listPoints(outline);
    if ([...this.pointList.options].map(({ value }) => value).join() !== ["", ...keys].join())
      this.pointList.replaceChildren(
        element("option", { value: "" }, "No point chosen"),
        ...keys.map((key) => element("option", { value: `${key}` }, labelOf(outline, key))),
      );
    this.pointList.value = selected === undefined ? "" : `${selected}`;
    for (const part of this.pointControls) {
      if (part instanceof HTMLButtonElement) part.disabled = typeof selected !== "number";
      else part.hidden = selected === undefined;
    }
    // Where the count begins is free; any other order breaks the star, as is said if one tries.
    const index = this.selectedPart()?.index;
    this.earlier.classList.toggle("dim", index !== 0);
    this.later.classList.toggle("dim", index !== (this.selectedCone()?.count ?? 0) - 1);
    if (selected === undefined) return;
    for (const [name, value] of Object.entries(this.values(outline, selected))) {
      const field = this.fields.get(name as Field);
      if (field) field.value = String(Number(value.toFixed(1)));
    }
  }

  /** Say which slice of which cone the bone is in. */
  showSlice(slice: Slice | undefined): void {
    const cones = this.region?.outline?.cones ?? [];
    const count = cones[slice?.part ?? 0]?.count;
    this.sliceText.textContent = "";
    if (!slice || !count) return;
    const between = `between points ${slice.edge} and ${(slice.edge + 1) % count}`;
    const of = cones.length > 1 ? ` of cone ${slice.part}` : "";
    this.sliceText.textContent = `The bone is in the slice ${between}${of}.`;
  }

  selectBy(by: number): void {
    const outline = this.region?.outline;
    if (!outline) return;
    const order = listPoints(outline);
    const now = this.selected === undefined ? (by > 0 ? -1 : 0) : order.indexOf(this.selected);
    this.select(order.at((now + by) % order.length));
  }

  async remove(): Promise<void> {
    const [chosen, cone] = [this.selectedPart(), this.selectedCone()];
    if (!chosen || chosen.index === null || !cone) return;
    const { part, index } = chosen;
    const last = index === cone.count - 1; // after it come the points of another cone
    if ((await this.apply({ edit: "delete-point", part, index })) && last) this.select(undefined);
  }

  /** The chosen point's cone, or all of them. */
  smooth(edit: "smooth" | "relax" = "smooth"): void {
    if (!this.rounds.reportValidity()) return; // the browser says what is allowed
    void this.apply({ edit, ...this.chosenPart(), rounds: Number(this.rounds.value) });
  }

  private simplify(): void {
    if (!this.tolerance.reportValidity()) return;
    const toleranceDeg = Number(this.tolerance.value);
    void this.apply({ edit: "simplify", ...this.chosenPart(), toleranceDeg });
  }

  private chosenPart(): { part?: number } {
    const selected = this.selectedPart();
    return selected ? { part: selected.part } : {};
  }

  private selectedPart(): { part: number; index: number | null } | undefined {
    const outline = this.region?.outline;
    return outline && this.selected !== undefined ? locate(outline, this.selected) : undefined;
  }

  private selectedCone(): Cone | undefined {
    return this.region?.outline?.cones[this.selectedPart()?.part ?? 0];
  }

  private async reorder(by: number): Promise<void> {
    const [chosen, cone] = [this.selectedPart(), this.selectedCone()];
    if (!chosen || chosen.index === null || !cone) return;
    const { part, index } = chosen;
    if (await this.apply({ edit: "reorder-point", part, index, by }))
      this.select(cone.first + ((index + by + cone.count) % cone.count));
  }

  private values(outline: Outline, key: PointKey): Record<Field, number> {
    const place = directionOf(outline, key);
    const [away, around] = this.region ? anglesDeg(this.region.compass, place) : [0, 0];
    const [low, high] = twistSpanAt(outline, key);
    return { away, around, low, high };
  }

  /** Take the number that was typed; the others stay as they are, to the last digit. */
  private applyField(name: Field): void {
    const { region, selected } = this;
    const field = this.fields.get(name);
    const typed = field?.valueAsNumber ?? NaN;
    if (!region?.outline || selected === undefined) return;
    if (!Number.isFinite(typed)) {
      this.show(region, selected);
      return;
    }
    if (!field?.reportValidity()) return; // the browser says what is allowed
    const { outline } = region;
    const values: Record<Field, number> = this.values(outline, selected);
    values[name] = typed;
    const { away, around, low, high } = values;
    if (name === "away" || name === "around")
      void this.apply(moveEdit(outline, selected, directionAt(region.compass, away, around)));
    else void this.apply(twistEdit(outline, selected, [low, high]));
  }
}

function parsePointKey(value: string): PointKey | undefined {
  if (value === "") return undefined;
  return value.startsWith("visible") ? (value as PointKey) : Number(value);
}
