// The family of the picked joint's limit: chosen, refitted from evidence, judged and compared.

import { effect, signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Vector3 } from "three";
import type { Connection } from "../connection";
import { formatDegrees, formatPercent, withArticle } from "../format";
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

interface Judged {
  /** Of all rotations. */
  share: number;
  /** The share of held-out frames outside; undefined if nothing can be held out. */
  outside: number | undefined;
  /** What was held out. */
  basis: string;
}

/** Judges choices of a family, part by part, so that another request need not wait. */
class Judge {
  private requests = 0;

  constructor(
    private connection: Connection,
    private known: Map<string, Judged>,
  ) {}

  stop(): void {
    this.requests++;
  }

  /** The judgement of a choice; undefined if it was stopped. */
  async judge(joint: string, choice: Choice): Promise<Judged | undefined> {
    const request = ++this.requests;
    const { family, chart, marginDeg, from } = choice;
    const key = JSON.stringify([joint, family, chart, marginDeg, from]);
    const before = this.known.get(key);
    if (before) return before;
    const whole = await this.connection.ask("judge", { ...choice, joint });
    if (!("parts" in whole)) return undefined;
    const { share, parts, basis } = whole;
    let sum = 0;
    for (let part = 0; part < parts; part++) {
      if (request !== this.requests) return undefined;
      const answer = await this.connection.ask("judge", { ...choice, joint, part });
      if ("outside" in answer) sum += answer.outside;
    }
    const judged = { share, outside: parts ? sum / parts : undefined, basis };
    this.known.set(key, judged);
    return request === this.requests ? judged : undefined;
  }
}

export class Families {
  readonly brush: Brush;
  private strokes: Strokes;
  private margin = signal(3);
  private answer = signal<FamiliesAnswer | undefined>(undefined);
  /** How the limit was made, as known from the last answer. */
  private making = signal<Making | undefined>(undefined);
  private choice = signal<Choice | undefined>(undefined);
  private judged = signal<Judged | undefined>(undefined);
  private judge: Judge;
  /** The table of all families. */
  private isCompared = signal(false);
  private comparison = signal<Map<string, Judged | string>>(new Map());
  private comparisonJudge: Judge;
  private comparedKey = "";
  private described = "";

  constructor(
    private store: Store,
    editing: Editing,
  ) {
    this.strokes = editing.strokes;
    const known = new Map<string, Judged>();
    this.judge = new Judge(store.connection, known);
    this.comparisonJudge = new Judge(store.connection, known);
    this.brush = new Brush(this.strokes, () => this.presentVector());
    editing.onAnswer = (answer) => this.receiveEdit(answer);
    let shown: string | undefined;
    effect(() => {
      const name = store.pickedName.value;
      void store.edition.value;
      if (name !== shown) {
        this.answer.value = this.making.value = this.judged.value = undefined;
        this.stopComparison();
      }
      shown = name;
      if (name !== undefined) void this.describe(name);
    });
    effect(() => {
      if (this.isCompared.value && this.answer.value) void this.compareAll();
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
    this.keepMaking(answer);
    this.answer.value = answer;
    if (!answer.fitted) return;
    const judged = await this.judge.judge(joint, choice);
    if (judged && matters()) this.judged.value = judged;
  }

  /** Handle an answer in the middle of a drag perhaps: the form stays as it is. */
  private receiveEdit(answer: EditAnswer): void {
    if ("choice" in answer) this.keepMaking(answer);
  }

  private keepMaking(making: Making): void {
    this.making.value = making;
    this.judged.value = undefined;
    this.judge.stop();
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

  /** The source that families are compared by: observed frames, if there are some. */
  private get evidence(): EvidenceSource {
    const from = this.choice.value?.from ?? "limit";
    if (from !== "limit") return from;
    const source = this.answer.value?.sources.find(({ why }) => !why)?.name;
    return (source as EvidenceSource) ?? "limit";
  }

  private stopComparison(): void {
    this.comparisonJudge.stop();
    this.comparedKey = "";
    this.comparison.value = new Map();
  }

  private async compareAll(): Promise<void> {
    const joint = this.store.pickedName.peek();
    const choice = this.choice.peek();
    if (!choice || joint === undefined) return;
    const from = this.evidence;
    const key = JSON.stringify([joint, choice.marginDeg, from, choice.chart]);
    if (key === this.comparedKey) return;
    this.stopComparison();
    this.comparedKey = key;
    if (from === "limit") return;
    for (const { name, charts } of this.answer.peek()?.families ?? []) {
      const chart = choice.chart && charts.includes(choice.chart) ? choice.chart : null;
      let result: Judged | string | undefined;
      try {
        const changes = { family: name, chart, from };
        result = await this.comparisonJudge.judge(joint, { ...choice, ...changes });
      } catch (error) {
        result = (error as Error).message;
      }
      if (key !== this.comparedKey) return;
      if (result) this.comparison.value = new Map(this.comparison.value).set(name, result);
    }
  }

  private listFacts(): [string, string][] {
    const region = this.store.region.value;
    const { cost = null, fitted = false } = this.making.value ?? {};
    const facts: [string, string][] = [
      ["Volume", region ? `${formatPercent(region.share)} of all rotations` : "…"],
    ];
    if (fitted) {
      const { outside, basis } = this.judged.value ?? {};
      const isKnown = outside !== undefined;
      const text = isKnown ? `${formatPercent(outside)} outside, by ${basis}` : `– (${basis})`;
      facts.push(["Held out", this.judged.value ? text : "…"]);
    }
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

  /** All families with their volume and held-out error. */
  Comparison = () => {
    const { families = [] } = this.answer.value ?? {};
    if (this.store.pickedName.value === undefined) return null;
    const hasEvidence = this.evidence !== "limit";
    const results = [...this.comparison.value.values()];
    const last = results.filter((result) => typeof result !== "string").at(-1);
    const caption = !hasEvidence
      ? "Families are compared by evidence: choose some under From."
      : last && `Held out: ${last.basis}`;
    return (
      <Details class="comparison" summary="Compare all families" open={this.isCompared}>
        <table>
          <caption>{caption}</caption>
          <thead>
            <tr>
              <th>Family</th>
              <th>Volume</th>
              <th>Held out</th>
            </tr>
          </thead>
          <tbody>
            {(hasEvidence && this.isCompared.value ? families : []).map(({ name, label }) => {
              const result = this.comparison.value.get(name);
              const isError = typeof result === "string";
              const volume = isError || !result ? "…" : formatPercent(result.share);
              const outside = isError ? undefined : result?.outside;
              const held = outside === undefined ? "–" : formatPercent(outside);
              return (
                <tr key={name}>
                  <td>
                    <Button
                      label={`Make it ${withArticle(label)}`}
                      aria-pressed={name === this.choice.value?.family}
                      onClick={() => this.refit({ from: this.evidence, family: name })}
                    >
                      {label}
                    </Button>
                  </td>
                  <td>{volume}</td>
                  <td title={isError ? result : ""}>{isError ? "fails" : result ? held : "…"}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Details>
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
