// Fits of new limits from clips: the dialog, and the progress of the fit.

import { signal } from "@preact/signals";
import { banners, report, showMessage, showNote } from "../notes";
import type { ClipRow, FamilyName, Fitting } from "../protocol";
import type { Store } from "../store";
import { Button, Dialog, Select } from "../ui";

const POLL_MS = 300; // between requests for the progress
const FAMILY = "kdop"; // the default of `synovia fit`
const MAX_REMARKS = 3; // more would cover the view
const SHOWN = -1; // the number of the clip that is shown, if there is no list
const WIDTHS = [
  { name: "", label: "as wide as fit makes them" },
  { name: "margin", label: "a margin of" },
  { name: "reject", label: "rejecting at most" },
];

export class FitPanel {
  private isOpen = signal(false);
  private rows = signal<ClipRow[]>([]);
  private families = signal<FamilyName[]>([]);
  private family = signal(FAMILY);
  private width = signal("");
  /** Degrees of margin, or percent of rejected frames. */
  private amount = signal(3);
  /** A pattern that finds the performer in a clip's name; empty for the default. */
  private pattern = signal("");
  /** Numbers of clips that are left out. */
  private omitted = signal(new Set<number>());
  private error = signal("");

  constructor(private store: Store) {
    if (store.isRecorded) return;
    void store.connection.ask("progress", {}).then((fitting) => {
      if (fitting.running) this.showProgress(fitting);
    });
  }

  async open(): Promise<void> {
    this.error.value = "";
    this.isOpen.value = true;
    if (!this.families.value.length)
      this.families.value = (await this.store.connection.ask("kinds", {})).families;
    await this.listClips();
  }

  private get performers(): string | null {
    return this.pattern.value || null;
  }

  private async listClips(): Promise<void> {
    const { connection, clip } = this.store;
    const { clips, why } = await connection.ask("clips", { performers: this.performers });
    this.error.value = why ?? "";
    const unknown = {
      performer: "",
      joint: "",
      strip: [],
      worstDeg: null,
      share: null,
      error: null,
    };
    const rows = clips.length ? clips : [{ ...unknown, number: SHOWN, name: clip.name }];
    this.rows.value = rows.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  private get chosen(): number[] {
    return this.rows.value
      .filter(({ number, error }) => !this.omitted.value.has(number) && !error)
      .map(({ number }) => number);
  }

  private async start(): Promise<void> {
    const [width, amount] = [this.width.value, this.amount.value];
    try {
      const answer = await this.store.connection.ask("fit", {
        clips: this.chosen,
        family: this.family.value,
        marginDeg: width === "margin" ? amount : null,
        rejectPercent: width === "reject" ? amount : null,
        performers: this.performers,
      });
      this.isOpen.value = false;
      this.showProgress(answer);
    } catch (error) {
      this.error.value = (error as Error).message;
    }
  }

  /** Show the progress of a fit until it ends, and then its result. */
  private showProgress({ running, stage, done, total, failed, remarks }: Fitting): void {
    const text = total ? `${stage} (${done + 1} of ${total})` : stage;
    const { connection } = this.store;
    const strip = running && (
      <div id="fitting" key="fitting" aria-live="off">
        <progress value={total ? done / total : undefined} />
        <span>{text}</span>
        <Button
          label="Stop the fit; the limits stay as they are"
          onClick={() => void connection.ask("stop", {})}
        >
          Stop
        </Button>
      </div>
    );
    banners.value = { ...banners.peek(), fitting: strip };
    if (running)
      setTimeout(
        () => void report(async () => this.showProgress(await connection.ask("progress", {}))),
        POLL_MS,
      );
    else {
      showMessage(stage, !failed);
      for (const remark of remarks.slice(0, MAX_REMARKS)) showNote(remark);
    }
  }

  /** A checkbox for several clips. */
  private renderBox(numbers: number[], label: string, isDisabled = false) {
    const omitted = numbers.filter((number) => this.omitted.value.has(number)).length;
    return (
      <input
        type="checkbox"
        aria-label={label}
        disabled={isDisabled}
        checked={omitted === 0}
        indeterminate={omitted > 0 && omitted < numbers.length}
        onChange={({ currentTarget }) => {
          const next = new Set(this.omitted.value);
          for (const number of numbers) next[currentTarget.checked ? "delete" : "add"](number);
          this.omitted.value = next;
        }}
      />
    );
  }

  private renderPerformers() {
    const names = [...new Set(this.rows.value.map(({ performer }) => performer))].sort();
    if (names.length < 2) return null;
    return names.map((name) => {
      const numbers = this.rows.value
        .filter(({ performer }) => performer === name)
        .map(({ number }) => number);
      return (
        <label key={name}>
          {this.renderBox(numbers, `All of ${name}`)}
          <bdi>{name}</bdi> {numbers.length}
        </label>
      );
    });
  }

  Dialogs = () => {
    const { length } = this.chosen;
    const isMargin = this.width.value === "margin";
    return (
      <Dialog id="fit" label="Fit limits from clips" open={this.isOpen}>
        <h2>Fit limits from clips</h2>
        <div class="rows">
          <table>
            {this.rows.value.map(({ number, name, performer, error }) => (
              <tr key={number}>
                <td>
                  <label title={error ?? ""}>
                    {this.renderBox([number], name, error !== null)}
                    <bdi>{name}</bdi>
                  </label>
                </td>
                <td>{performer}</td>
              </tr>
            ))}
          </table>
        </div>
        <div class="people">{this.renderPerformers()}</div>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void this.start();
          }}
        >
          <dl>
            <dt>Family</dt>
            <dd>
              <Select
                label="Family to fit"
                options={this.families.value}
                value={this.family.value}
                onChoose={(name) => (this.family.value = name)}
              />
            </dd>
            <dt>How wide</dt>
            <dd class="width">
              <Select
                label="How wide"
                options={WIDTHS}
                value={this.width.value}
                onChoose={(name) => {
                  this.width.value = name;
                  this.amount.value = name === "margin" ? 3 : 1;
                }}
              />
              {this.width.value && (
                <>
                  <input
                    type="number"
                    min="0"
                    max="90"
                    step="any"
                    required
                    aria-label="Degrees or per cent"
                    value={this.amount.value}
                    onChange={({ currentTarget }) =>
                      (this.amount.value = currentTarget.valueAsNumber)
                    }
                  />
                  <span>{isMargin ? "°" : "% of frames"}</span>
                </>
              )}
            </dd>
            <dt>Performers</dt>
            <dd>
              <input
                type="text"
                placeholder="before the first _ or -"
                spellcheck={false}
                aria-label="Pattern that finds the performer"
                value={this.pattern.value}
                onChange={({ currentTarget }) => {
                  this.pattern.value = currentTarget.value;
                  void this.listClips();
                }}
              />
            </dd>
          </dl>
          <p class="missed" role="alert">
            {this.error.value}
          </p>
          <Button label="Cancel" onClick={() => (this.isOpen.value = false)}>
            Cancel
          </Button>
          <button type="submit" class="first" disabled={!length}>
            {`Fit from ${length} ${length === 1 ? "clip" : "clips"}`}
          </button>
        </form>
      </Dialog>
    );
  };
}
