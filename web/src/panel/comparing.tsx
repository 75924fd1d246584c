// Comparison of the picked joint's limit with another, on the sphere and in percent. Limits that
// depend on another joint are compared in the present pose.

import { effect, signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Latest, sendFile } from "../connection";
import { formatPercent } from "../format";
import { report } from "../notes";
import type { ComparedLimits, Comparison } from "../protocol";
import { createDifference, GAINED, LOST } from "../stage/difference";
import type { Stage } from "../stage/stage";
import type { Store } from "../store";
import { Button, FileChooser, Select } from "../ui";

export class Comparing {
  /** The comparison for the picked joint. */
  private comparison = signal<Comparison | undefined>(undefined);
  /** The other limits: null for none, undefined until the user or the command line chooses. */
  private chosen = signal<ComparedLimits | null | undefined>(undefined);
  private latest = new Latest((joint: string) => this.request(joint));

  constructor(
    private store: Store,
    private stage: Stage,
  ) {
    if (store.isRecorded) return;
    let shown: string | undefined;
    effect(() => {
      const joint = store.pickedName.value;
      void [store.region.value, this.chosen.value];
      if (joint !== shown) this.comparison.value = undefined;
      shown = joint;
      if (joint !== undefined && store.region.value) void this.latest.send(joint);
    });
    effect(() => {
      void store.pose.value;
      const joint = store.pickedName.peek();
      if (!this.comparison.peek()?.drivers.length || joint === undefined) return;
      this.showDifference(undefined);
      this.latest.sendWhenStill(joint);
    });
    effect(() => {
      void store.sphere.value;
      this.showDifference(this.comparison.value);
    });
  }

  private showDifference(comparison: Comparison | undefined): void {
    const isCompared = !!comparison?.to;
    const picture = isCompared ? createDifference(comparison) : undefined;
    this.store.sphere.peek()?.setDifference(picture);
    this.store.isCompared.value = isCompared;
    this.stage.draw();
  }

  private async request(joint: string): Promise<void> {
    const { store, chosen } = this;
    const matters = () => store.pickedName.peek() === joint;
    const request = { joint, to: chosen.peek() ?? null, pose: store.poseRequest() };
    await report(async () => {
      const answer = await store.connection.askWhile(matters, "compare", request);
      if (!answer) return;
      const hasFile = answer.others.some(({ name, why }) => name === "file" && !why);
      if (chosen.peek() === undefined && hasFile) chosen.value = "file"; // the command line named it
      this.comparison.value = answer;
    });
  }

  private async open(file: File | undefined): Promise<void> {
    if (!file) return;
    await report(async () => {
      const { connection } = this.store;
      const upload = await sendFile(connection, file);
      await connection.ask("other", { upload });
      const joint = this.store.pickedName.peek();
      if (this.chosen.value === "file" && joint !== undefined) void this.latest.send(joint);
      this.chosen.value = "file";
    });
  }

  Panel = () => {
    const chooser = useRef<HTMLInputElement>(null);
    const others = this.comparison.value?.others ?? [];
    return (
      <section
        class="comparing"
        hidden={this.store.isRecorded || this.store.pickedName.value === undefined}
        onDrop={(event) => {
          event.preventDefault();
          event.stopPropagation();
          void this.open(event.dataTransfer?.files[0]);
        }}
      >
        <div>
          <label class="choose">
            Compare with
            <Select
              label="Compare with"
              options={[{ name: "", label: "nothing" }, ...others]}
              value={this.chosen.value ?? ""}
              onChoose={(name) => (this.chosen.value = (name || null) as ComparedLimits | null)}
            />
          </label>
          <Button
            label="Open limits to compare with; they can also be dropped here"
            onClick={() => chooser.current?.click()}
          >
            Open …
          </Button>
        </div>
        <p id="compared" role="status">
          {this.renderResult()}
        </p>
        <FileChooser
          label="Limits to compare with"
          accept=".json"
          chooser={chooser}
          onChoose={([file]) => void this.open(file)}
        />
      </section>
    );
  };

  private renderResult() {
    const comparison = this.comparison.value;
    if (!comparison) return null;
    const { others, to, gained, lost, drivers } = comparison;
    if (!to) return others.find(({ name }) => name === this.chosen.value)?.why;
    return (
      <>
        <span>
          <i style={{ background: GAINED }} />
          {`gained ${formatPercent(gained)}`}
        </span>
        <span>
          <i style={{ background: LOST }} />
          {`lost ${formatPercent(lost)}`}
        </span>
        <span>
          {`of all rotations${drivers.length ? `, as ${drivers.join(" and ")} is now` : ""}`}
        </span>
      </>
    );
  }
}
