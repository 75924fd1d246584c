// The family of the picked joint's limit: chosen, and refitted from evidence.

import { effect, signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Vector3 } from "three";
import { formatDegrees, formatPercent } from "../format";
import { rotationVector, wFirst } from "../pose/kinematics";
import type {
  Choice,
  EvidenceSource,
  Families as FamiliesAnswer,
  Making,
  Refit,
  ShapeNumber,
} from "../protocol";
import type { Store } from "../store";
import {
  Button,
  Details,
  Facts,
  NumberField,
  SelectRow,
  SliderWithNumber,
  shortNumber,
} from "../ui";
import { Brush } from "./brush";
import type { Editing } from "./editing";
import type { EditAnswer, Strokes } from "./strokes";

export class Families {
  readonly brush: Brush;
  private strokes: Strokes;
  private margin = signal(3);
  private answer = signal<FamiliesAnswer | undefined>(undefined);
  /** How the limit was made, as known from the last answer. */
  private making = signal<Making | undefined>(undefined);
  private choice = signal<Choice | undefined>(undefined);
  private described = "";

  constructor(
    private store: Store,
    editing: Editing,
  ) {
    this.strokes = editing.strokes;
    this.brush = new Brush(this.strokes, () => this.presentVector());
    editing.onAnswer = (answer) => this.receiveEdit(answer);
    let shown: string | undefined;
    effect(() => {
      const name = store.pickedName.value;
      void store.edition.value;
      if (name !== shown) this.answer.value = this.making.value = undefined;
      shown = name;
      if (name !== undefined) void this.describe(name);
    });
  }

  private presentVector(): Vector3 | undefined {
    const region = this.store.region.value;
    const inverse = region?.reference.clone().invert();
    return inverse && rotationVector(inverse.multiply(this.store.measuredRotation()));
  }

  private async describe(joint: string): Promise<void> {
    const { store } = this;
    const matters = () => store.pickedName.peek() === joint;
    const answer = await store.connection.askWhile(matters, "family", { joint });
    if (!answer) return;
    const choice = { ...answer.choice };
    // Of a limit that was made by hand no margin is known: the chosen one stays.
    if (!answer.known && this.described === joint) {
      choice.marginDeg = this.margin.value;
      choice.from = this.choice.value?.from ?? choice.from;
    }
    this.described = joint;
    this.margin.value = choice.marginDeg;
    this.choice.value = choice;
    this.making.value = answer;
    this.answer.value = answer;
  }

  /** Handle an answer in the middle of a drag perhaps: the form stays as it is. */
  private receiveEdit(answer: EditAnswer): void {
    if ("choice" in answer) this.making.value = answer;
  }

  private chartsOf(family: string): string[] {
    return this.answer.value?.families.find(({ name }) => name === family)?.charts ?? [];
  }

  /** The present choice with changes, as an edit; Python replaces a chart that does not fit. */
  private refitEdit(changes: Partial<Choice> = {}): Refit {
    const before = this.choice.value ?? { family: "", chart: null, from: "limit" as const };
    const choice = { ...before, marginDeg: this.margin.value, ...changes };
    const { chart } = choice;
    const isFitting = chart !== null && this.chartsOf(choice.family).includes(chart);
    return { edit: "refit", ...choice, chart: isFitting ? chart : null };
  }

  private refit(changes: Partial<Choice>): void {
    const { edit: _, ...choice } = this.refitEdit(changes);
    this.choice.value = choice;
    void this.strokes.apply({ edit: "refit", ...choice });
  }

  private makeField(): void {
    const field = this.answer.value?.families.find(({ sculptable }) => sculptable);
    this.refit({ from: "limit", family: field?.name ?? "" });
  }

  private addPose(): void {
    const rotation = wFirst(this.store.measuredRotation());
    void this.strokes.apply({ edit: "add-sample", rotation }, "Added: this pose is inside.");
  }

  private listFacts(): [string, string][] {
    const region = this.store.region.value;
    const { cost = null } = this.making.value ?? {};
    const facts: [string, string][] = [
      ["Volume", region ? `${formatPercent(region.share)} of all rotations` : "…"],
    ];
    if (cost) {
      facts.push(["Gained", formatPercent(cost.gained)], ["Lost", formatPercent(cost.lost)]);
      facts.push(["Off by", `at most ${formatDegrees(cost.errorDeg)}`]);
    }
    return facts;
  }

  /** The form that chooses family, source, chart and margin. */
  Fit = () => {
    const { families = [], sources = [] } = this.answer.value ?? {};
    const { family = "", from = "", chart = "" } = this.choice.value ?? {};
    const isConverted = from === "limit";
    const charts = this.chartsOf(family).map((name) => ({ name, label: name }));
    if (this.store.pickedName.value === undefined) return null;
    return (
      <section class="families fit" aria-label="Family and fit">
        <SelectRow
          label="Family"
          options={families}
          value={family}
          onChoose={(name) => this.refit({ family: name })}
        />
        <SelectRow
          label="From"
          options={sources}
          value={from}
          onChoose={(name) => this.refit({ from: name as EvidenceSource })}
        />
        <SelectRow
          label="Chart"
          options={charts}
          value={chart ?? ""}
          onChoose={(name) => this.refit({ chart: name })}
        />
        <SliderWithNumber
          name="Margin"
          label="Margin"
          range={[0, 30, 0.5]}
          value={this.margin}
          disabled={isConverted}
          title={
            isConverted
              ? "A margin is for limits that are fitted: choose what from above"
              : "Degrees beyond what was observed"
          }
          onInput={() => this.strokes.drag(this.refitEdit())}
          onChange={() => void this.strokes.endDrag()}
          onCancel={() => void this.strokes.cancelDrag()}
        />
        <p class="why">
          {sources
            .map(({ why }) => why)
            .filter(Boolean)
            .join(" ")}
        </p>
        <p id="refit-said" role="status">
          {this.making.value?.remarks.join(" ")}
        </p>
        <dl id="fit-facts">
          <Facts rows={this.listFacts()} />
        </dl>
      </section>
    );
  };

  /** Edits by hand: a sample, the brush, and numbers. */
  ByHand = () => {
    const { region, pickedName } = this.store;
    const areNumbersOpen = useRef(signal(false)).current;
    const sculptable = region.value?.sculptable ?? false;
    if (pickedName.value === undefined) return null;
    return (
      <section class="families hand" aria-label="By hand">
        <h3>By hand</h3>
        <div class="ways">
          <Button label="Add the present pose as a sample" onClick={() => this.addPose()}>
            Add this pose
          </Button>
          <Button
            label="Make it a distance field, to sculpt it"
            hidden={!region.value || sculptable}
            onClick={() => this.makeField()}
          >
            Make it a field
          </Button>
        </div>
        <this.brush.Panel hidden={!sculptable} />
        {region.value && region.value.numbers.length > 0 && (
          <Details class="numbers" summary="Numbers" open={areNumbersOpen}>
            {this.renderNumbers(region.value.numbers)}
          </Details>
        )}
      </section>
    );
  };

  /** Numbers of the limit in degrees, such as sides, centres and radii. */
  private renderNumbers(numbers: ShapeNumber[]) {
    void this.store.edition.value; // an edit that was refused restores the number
    const rows = [...new Set(numbers.map(({ row }) => row))];
    return (
      <div>
        {rows.map((row) => (
          <div class="typed" key={row}>
            <span>{row}</span>
            {numbers
              .filter((number) => number.row === row)
              .map(({ column, field, index, deg }) => (
                <label key={column}>
                  {column}
                  <NumberField
                    label={`${row} ${column}, in degrees`}
                    title={column}
                    value={shortNumber(deg, 3)}
                    onCommit={(typed) =>
                      void this.strokes.apply({ edit: "number", field, index, deg: typed })
                    }
                  />
                </label>
              ))}
          </div>
        ))}
      </div>
    );
  }
}
