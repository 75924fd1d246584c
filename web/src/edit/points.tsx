// The points of reach cones as numbers and buttons, and the edits that they make.

import type { ReadonlySignal } from "@preact/signals";
import { createRef } from "preact";
import type { Vector3 } from "three";
import type { Edit } from "../protocol";
import {
  anglesDeg,
  directionAt,
  directionOf,
  labelOf,
  listPoints,
  locate,
  type Outline,
  type PointKey,
  type Span,
  twistSpanAt,
} from "../stage/cone";
import type { Region } from "../stage/region";
import type { Store } from "../store";
import { Button, NumberField, Select, shortNumber } from "../ui";

/** The edit that moves a point to a direction. */
export function moveEdit(outline: Outline, key: PointKey, direction: Vector3): Edit {
  const { part, index } = locate(outline, key);
  const point = direction.toArray();
  return index === null
    ? { edit: "move-visible", part, point }
    : { edit: "move-point", part, index, point };
}

/** The edit that sets the twists at a point. */
export function twistEdit(outline: Outline, key: PointKey, [lowDeg, highDeg]: Span): Edit {
  return { edit: "twist", ...locate(outline, key), lowDeg, highDeg };
}

/** The edit that adds a point in the middle of the edge after a corner. */
export function addEdit(outline: Outline, corner: number): Edit {
  const { part, index } = locate(outline, corner);
  return { edit: "add-point", part, after: index };
}

/** Twists from `low` to `high` with an end moved; of a full turn, the end that makes it less. */
export function moveTwistEnd(low: number, high: number, side: 0 | 1, twist: number): Span {
  const isFree = high - low >= 360;
  if (side === 0) return isFree && twist < low ? [low, twist + 360] : [twist, high];
  return isFree && twist > high ? [twist - 360, high] : [low, twist];
}

/** Name, label, tooltip and bounds of the numbers of a point. */
const FIELDS = [
  ["away", "Away from the bone", "Degrees from where the bone points at the reference", 0, 180],
  ["around", "Around it", "Degrees counter-clockwise from up, seen from outside", -360, 360],
  ["low", "Twist from", "The least twist here, in degrees", -360, 360],
  ["high", "to", "The greatest twist here, in degrees", -360, 360],
] as const;
type Field = (typeof FIELDS)[number][0];

const ADD = "Add a point (I), in the middle of the edge after this one, or where the bone is";

export interface PointActions {
  apply(edit: Edit): Promise<boolean>;
  select(key: PointKey | undefined): void;
  /** Add a point in the middle of an edge, or where the bone is. */
  add(): void;
}

export class PointsPanel {
  private rounds = createRef<HTMLInputElement>();
  private tolerance = createRef<HTMLInputElement>();

  constructor(
    private store: Store,
    private selected: ReadonlySignal<PointKey | undefined>,
    /** Counts answers to edits: fields show the limit's numbers again after each. */
    private answers: ReadonlySignal<number>,
    private actions: PointActions,
  ) {}

  private get outline(): Outline | undefined {
    return this.store.region.value?.outline;
  }

  /** The cone of the selected point and its index there; the visible point has none. */
  private get location(): { part: number; index: number | null } | undefined {
    const key = this.selected.value;
    return this.outline && key !== undefined ? locate(this.outline, key) : undefined;
  }

  /** The selected corner with its cone; undefined for a visible point. */
  private get corner() {
    const { location } = this;
    const cone = this.outline?.cones[location?.part ?? 0];
    if (!location || location.index === null || !cone) return undefined;
    return { part: location.part, index: location.index, cone };
  }

  selectBy(step: number): void {
    if (!this.outline) return;
    const order = listPoints(this.outline);
    const key = this.selected.value;
    const now = key === undefined ? (step > 0 ? -1 : 0) : order.indexOf(key);
    this.actions.select(order.at((now + step) % order.length));
  }

  async remove(): Promise<void> {
    const { corner, actions } = this;
    if (!corner) return;
    const { part, index, cone } = corner;
    const isLast = index === cone.count - 1; // the next point belongs to another cone
    if ((await actions.apply({ edit: "delete-point", part, index })) && isLast)
      actions.select(undefined);
  }

  /** Smooth the selected point's cone, or all of them. */
  smooth(edit: "smooth" | "relax" = "smooth"): void {
    if (!this.outline || !this.rounds.current?.reportValidity()) return;
    const rounds = this.rounds.current.valueAsNumber;
    void this.actions.apply({ edit, ...this.selectedPart, rounds });
  }

  private simplify(): void {
    if (!this.tolerance.current?.reportValidity()) return;
    const toleranceDeg = this.tolerance.current.valueAsNumber;
    void this.actions.apply({ edit: "simplify", ...this.selectedPart, toleranceDeg });
  }

  private get selectedPart(): { part?: number } {
    return this.location ? { part: this.location.part } : {};
  }

  private valuesOf({ compass }: Region, outline: Outline, key: PointKey): Record<Field, number> {
    const [away, around] = anglesDeg(compass, directionOf(outline, key));
    const [low, high] = twistSpanAt(outline, key);
    return { away, around, low, high };
  }

  /** Set one number; the others keep all their digits. */
  private setValue(name: Field, value: number): void {
    const region = this.store.region.value;
    const [outline, key] = [region?.outline, this.selected.value];
    if (!region || !outline || key === undefined) return;
    const values = { ...this.valuesOf(region, outline, key), [name]: value };
    const direction = directionAt(region.compass, values.away, values.around);
    const isMove = name === "away" || name === "around";
    const move = () => moveEdit(outline, key, direction);
    void this.actions.apply(isMove ? move() : twistEdit(outline, key, [values.low, values.high]));
  }

  private formatSlice(): string {
    const slice = this.store.slice.value;
    const cones = this.outline?.cones ?? [];
    const count = cones[slice?.part ?? 0]?.count;
    if (!slice || !count) return "";
    const between = `between points ${slice.edge} and ${(slice.edge + 1) % count}`;
    const cone = cones.length > 1 ? ` of cone ${slice.part}` : "";
    return `The bone is in the slice ${between}${cone}.`;
  }

  Panel = () => {
    const region = this.store.region.value;
    const { outline } = this;
    void this.answers.value;
    if (!region || !outline) return null;
    const key = this.selected.value;
    const { corner } = this;
    const points = listPoints(outline).map((each) => ({
      name: `${each}`,
      label: labelOf(outline, each),
    }));
    return (
      <section class="points editing" aria-label="Points of the cone">
        <h3>Points</h3>
        <div class="line">
          <Button label="Previous point ([)" onClick={() => this.selectBy(-1)}>
            ‹
          </Button>
          <Select
            label="Point"
            options={[{ name: "", label: "No point chosen" }, ...points]}
            value={key === undefined ? "" : `${key}`}
            onChoose={(value) => this.actions.select(parseKey(value))}
          />
          <Button label="Next point (])" onClick={() => this.selectBy(1)}>
            ›
          </Button>
        </div>
        {key !== undefined && this.renderFields(this.valuesOf(region, outline, key))}
        <div class="line">
          <Button label={ADD} onClick={() => this.actions.add()}>
            Add
          </Button>
          <Button
            label="Delete the point (Del)"
            disabled={!corner}
            onClick={() => void this.remove()}
          >
            Delete
          </Button>
        </div>
        <div class="line">
          <Button label="Smooth the outline (S), with more points" onClick={() => this.smooth()}>
            Smooth
          </Button>
          <Button label="Relax the points: spikes go" onClick={() => this.smooth("relax")}>
            Relax
          </Button>
          <input
            type="number"
            min="1"
            max="5"
            defaultValue="1"
            required
            aria-label="Rounds of smoothing"
            ref={this.rounds}
          />
          <span>rounds</span>
        </div>
        <div class="line">
          <Button label="Leave out points that matter little" onClick={() => this.simplify()}>
            Simplify
          </Button>
          <span>below</span>
          <input
            type="number"
            min="0.1"
            max="45"
            step="any"
            defaultValue="2"
            required
            aria-label="Degrees by which a point must matter"
            ref={this.tolerance}
          />
          <span>°</span>
        </div>
        <p id="slice">{this.formatSlice()}</p>
      </section>
    );
  };

  private renderFields(values: Record<Field, number>) {
    return (
      <div class="fields">
        {FIELDS.map(([name, text, title, min, max]) => (
          <label key={name} title={title}>
            {text}
            <span>
              <NumberField
                label={`${text}, degrees`}
                value={shortNumber(values[name])}
                {...{ min, max, title }}
                onCommit={(value) => this.setValue(name, value)}
              />
              °
            </span>
          </label>
        ))}
      </div>
    );
  }
}

function parseKey(value: string): PointKey | undefined {
  if (value === "") return undefined;
  return value.startsWith("visible") ? (value as PointKey) : Number(value);
}
