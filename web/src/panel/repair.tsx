// Repair of the clip: what to keep, what it took, the clip before and after, and undo.

import { batch, signal } from "@preact/signals";
import { formatDegrees, formatPercent } from "../format";
import { report } from "../notes";
import type { Repaired, RepairStage } from "../protocol";
import type { Store } from "../store";
import { Button, Check, Facts } from "../ui";

const STAGES: Record<string, string> = {
  glitches: "Glitches interpolated",
  twist: "Twist redistributed",
  keep: "Inverse kinematics",
  clamp: "Clamped",
};

/** Words and tooltip of a view, and whether the repaired clip is shown, and both clips. */
const VIEWS = [
  ["Before", "Show the clip before repair", false, false],
  ["After", "Show the clip after repair", true, false],
  ["Side by side", "Side by side: the clip before repair, and after it", true, true],
] as const;

export class RepairPanel {
  private isOpen = signal(false);
  private isRunning = signal(false);
  private keep = { hands: signal(true), feet: signal(true), head: signal(true) };

  constructor(private store: Store) {}

  /** Undo or redo a repair, which shows the clip before or after it; return whether there is one. */
  step(which: "undo" | "redo"): boolean {
    const { repaired, showsRepaired } = this.store;
    if (!repaired.value || showsRepaired.value !== (which === "undo")) return false;
    this.store.showsBoth.value = false;
    showsRepaired.value = which === "redo";
    return true;
  }

  private repair(): Promise<void> {
    const { store } = this;
    const keep = (["hands", "feet", "head"] as const).filter((part) => this.keep[part].value);
    this.isRunning.value = true;
    return report(async () => {
      const answer = await store.connection.ask("repair", { keep }).finally(() => {
        this.isRunning.value = false;
      });
      store.history.leave();
      store.showRepaired(answer);
    });
  }

  Tool = () => (
    <Button
      label="Repair the clip: every joint possible, hands and feet where they are"
      aria-expanded={this.isOpen.value}
      disabled={this.store.clip.frames < 2 || !this.store.limited.value.length}
      onClick={() => (this.isOpen.value = !this.isOpen.value)}
    >
      Repair
    </Button>
  );

  Panel = () => {
    const { repaired, showsRepaired, showsBoth } = this.store;
    if (!this.isOpen.value) return null;
    const result = repaired.value;
    return (
      <section class="repair" aria-label="Repair">
        <h2>Repair the clip</h2>
        <p>Every joint becomes possible, and the motion looks the same. What stays where it is:</p>
        <div class="line">
          <Check box={this.keep.hands}>Hands</Check>
          <Check box={this.keep.feet}>Feet on the ground</Check>
          <Check box={this.keep.head}>Head</Check>
        </div>
        <Button
          class="wide"
          label={result ? "Repair again" : "Repair"}
          disabled={this.isRunning.value}
          onClick={() => void this.repair()}
        >
          {this.isRunning.value ? "Repairing …" : result ? "Repair again" : "Repair"}
        </Button>
        <div role="status">{result && this.renderResult(result)}</div>
        {result && (
          <div class="line">
            {VIEWS.map(([text, label, isAfter, isBoth]) => (
              <Button
                key={text}
                label={label}
                aria-pressed={showsRepaired.value === isAfter && showsBoth.value === isBoth}
                onClick={() =>
                  batch(() => {
                    showsRepaired.value = isAfter;
                    showsBoth.value = isBoth;
                  })
                }
              >
                {text}
              </Button>
            ))}
            <Button
              label="Save clip: the repaired one, as a file"
              onClick={() => void report(() => this.store.download({ what: "repaired" }))}
            >
              Save clip
            </Button>
          </div>
        )}
      </section>
    );
  };

  private renderResult({ frames, stages, shareKept, note, notKept, over, glitches }: Repaired) {
    if (!frames) return <p class="met">Nothing to repair.</p>;
    const list = (counts: Record<string, number>) =>
      Object.entries(counts)
        .map(([name, count]) => `${name} (${count})`)
        .join(", ");
    const facts = [
      ["Could not keep, frames", list(notKept)],
      ["Glitches, frames", list(glitches)],
      ["Fast steps left", list(over)],
    ] as const;
    return (
      <>
        <p class="met">{`Changed ${frames} of ${this.store.clip.frames} frames.`}</p>
        <ul>
          {stages
            .filter((stage) => stage.frames > 0)
            .map((stage) => (
              <li key={stage.name}>{describeStage(stage)}</li>
            ))}
        </ul>
        <p>{note || `All is kept in ${formatPercent(shareKept)} of these frames.`}</p>
        <dl>
          <Facts rows={facts.filter(([, text]) => text)} />
        </dl>
      </>
    );
  }
}

const describeStage = ({ name, joints, frames, deg, joint, moved, unit }: RepairStage) =>
  `${STAGES[name] ?? name}: ${joints} joint${joints === 1 ? "" : "s"} in ${frames} frames, ` +
  `by at most ${formatDegrees(deg)}${joint ? ` (${joint})` : ""}; hands and feet moved ` +
  `${moved.toFixed(unit === "mm" ? 1 : 2)} ${unit} at most`;
