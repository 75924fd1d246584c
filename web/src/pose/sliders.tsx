// The controls of a figure, a slider each; Python poses the bones.

import { effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Latest } from "../connection";
import { formatDegrees, formatNumber, formatValue } from "../format";
import type { Control, Posed } from "../protocol";
import type { Store } from "../store";
import { Button, DragSlider, NumberField } from "../ui";
import type { MadePose } from "./history";

const ENDS =
  "Sliders have the ranges of the figure's controls, even after its limits are edited: joints " +
  "outside their limits turn red.";
const MAX_NAMES = 3; // joints that are named in one line
const MIN_DEG = 0.05; // smaller angles are rounding errors
const MAX_OFF_DEG = 1; // the controls do not give a pose that is farther from theirs

type Values = Record<string, number>;

export class Sliders {
  private values = signal<Values>({});
  private posed = signal<Pick<Posed, "clamped" | "gaps">>({ clamped: {}, gaps: {} });
  private offNote = signal("");
  /** The latest pose that was set by the sliders. */
  private made: MadePose | undefined;
  /** Counts changes that make pending answers outdated. */
  private starts = 0;
  private latest = new Latest<{ values: Values; stroke: symbol }>((request) => this.pose(request));
  /** Controls by joint set, such as "left_shoulder". */
  private sets = new Map<string, Control[]>();

  constructor(private store: Store) {
    for (const control of store.clip.controls) {
      const set = control.name.split(".")[0] ?? "";
      this.sets.set(set, [...(this.sets.get(set) ?? []), control]);
    }
    effect(() => {
      const made = store.history.present.value;
      void store.pose.value;
      if (store.mode.value !== "controls") return;
      if (!made || made.pose !== this.made?.pose) void this.show(store.currentPose());
    });
  }

  /** Set all controls to neutral. */
  reset(): void {
    this.set({}, Symbol("reset"));
  }

  /** Set the controls that move a joint to neutral. */
  async resetJoint(joint: number, made: MadePose): Promise<void> {
    await this.show(made);
    const values = { ...this.values.value };
    for (const { name, joints } of this.store.clip.controls)
      if (joints.includes(joint)) delete values[name];
    this.set(values, Symbol("reset"));
  }

  /** Show the controls of a pose. They are fitted if the pose does not have any. */
  private async show(made: MadePose): Promise<void> {
    const starts = ++this.starts;
    this.offNote.value = "";
    if (made.values) {
      this.values.value = made.values;
      return;
    }
    const { connection, history } = this.store;
    const matters = () => starts === this.starts;
    const request = this.store.poseRequest(made.pose);
    const fitted = await connection.askWhile(matters, "fitted", request);
    if (!fitted) return;
    if (fitted.offDeg > MAX_OFF_DEG)
      this.offNote.value =
        `No controls give this pose: the nearest are ${formatDegrees(fitted.offDeg)} off, ` +
        "and a slider starts from these.";
    else if (history.present.peek()?.pose === made.pose)
      history.present.value = { ...made, values: fitted.values };
    this.values.value = fitted.values;
  }

  private revert(stroke: symbol): void {
    this.starts++;
    this.latest.cancel();
    this.made = undefined;
    this.store.history.cancel(stroke);
    if (!this.store.history.present.peek()) void this.show(this.store.currentPose());
  }

  private set(values: Values, stroke: symbol): void {
    this.values.value = values;
    void this.latest.send({ values, stroke });
  }

  private async pose({ values, stroke }: { values: Values; stroke: symbol }): Promise<void> {
    const { starts, store } = this;
    const matters = () => starts === this.starts;
    const posed = await store.connection.askWhile(matters, "pose", { values });
    if (!posed) return;
    const { rotations, positions, outsideDeg, clamped, gaps } = posed;
    this.posed.value = { clamped, gaps };
    this.made = { pose: { rotations, positions }, outside: store.byJoint(outsideDeg), values };
    store.history.take(this.made, stroke);
  }

  private formatStatus(): string {
    const gaps = Object.keys(this.posed.value.gaps);
    const outside = [...this.store.outside.value]
      .filter(([, angle]) => angle > MIN_DEG)
      .sort((a, b) => b[1] - a[1])
      .map(([joint, angle]) => `${this.store.nameOf(joint)} ${formatDegrees(angle)}`);
    const more = outside.splice(MAX_NAMES).length;
    if (more) outside.push(`${more} more`);
    const lines = [
      gaps.length ? `Out of reach: ${gaps.join(", ")} cannot follow.` : "",
      outside.length ? `Outside: ${outside.join(", ")}.` : "",
    ];
    return lines.filter(Boolean).join(" ");
  }

  Panel = () => (
    <div class="controls">
      <h2>Controls</h2>
      <p class="why">{ENDS}</p>
      <Button class="wide" label="Reset the pose (R)" onClick={() => this.reset()}>
        Reset the pose
      </Button>
      <p class="clamped" role="status">
        {this.formatStatus()}
      </p>
      <p class="why" role="status">
        {this.offNote.value}
      </p>
      {[...this.sets].map(([set, controls]) => (
        <this.ControlSet key={set} set={set} controls={controls} />
      ))}
    </div>
  );

  private ControlSet = ({ set, controls }: { set: string; controls: Control[] }) => {
    const section = useRef<HTMLElement>(null);
    const joint = this.store.picked.value ?? -1;
    const isMoving = controls.some(({ joints }) => joints.includes(joint));
    useEffect(() => {
      const first = section.current?.parentElement?.querySelector(".moves");
      if (isMoving && first === section.current) first?.scrollIntoView({ block: "nearest" });
    }, [joint]);
    const hasGap = Object.keys(this.posed.value.gaps).some((gap) => gap.startsWith(`${set}.`));
    return (
      <section class={isMoving ? "moves" : ""} ref={section}>
        <h3>
          {`${set.replaceAll("_", " ")} `}
          <span class="clamped">{hasGap ? "cannot follow" : ""}</span>
        </h3>
        {controls.map((control) => (
          <this.Row key={control.name} control={control} />
        ))}
      </section>
    );
  };

  private Row = ({ control }: { control: Control }) => {
    const { name, low, high, neutral, unit } = control;
    const value = this.values.value[name] ?? neutral;
    const text = formatValue(value, unit);
    const isClamped = name in this.posed.value.clamped;
    const change = (to: number, stroke: symbol) =>
      this.set({ ...this.values.value, [name]: to }, stroke);
    return (
      <div class="control">
        <span class="name">{name.split(".").slice(1).join(".")}</span>
        <span class="range">
          <DragSlider
            label={name}
            text={text}
            ends={[low, high]}
            value={value}
            onInput={change}
            onRevert={(step) => this.revert(step)}
          />
          <small>{formatValue(low, unit)}</small>
          <small>{formatValue(high, unit)}</small>
        </span>
        <NumberField
          label={`${name}, typed`}
          step={unit === "degrees" ? "1" : "0.01"}
          value={formatNumber(value, unit)}
          class={isClamped ? "clamped" : ""}
          title={isClamped ? "At the end of its range: more was requested" : ""}
          onCommit={(typed) => change(typed, Symbol("typed"))}
        />
        <Button
          class="reset"
          label={`Reset ${name}`}
          style={{
            visibility: text === formatValue(neutral, unit) ? "hidden" : "visible",
          }}
          onClick={() => change(neutral, Symbol("reset"))}
        >
          ↺
        </Button>
      </div>
    );
  };
}
