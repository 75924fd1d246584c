// The list of clips beside the joints: how far each is outside, in which joint, and when.

import { signal } from "@preact/signals";
import { render } from "preact";
import { formatDegrees, formatPercent, formatVerdict, isWorse, verdictClass } from "../format";
import { report } from "../notes";
import type { ClipRow } from "../protocol";
import { outsideColour, unusualColour } from "../stage/colours";
import type { Store } from "../store";
import { Button, find, LongName } from "../ui";

const SOON_MS = 700; // until a list that is still being computed is requested again
const DARKEST_DEG = 60; // angles from here on have the darkest colour

export class ClipList {
  private clips = signal<ClipRow[]>([]);
  private shown = signal<number | null>(null);
  private isChecking = signal(false);

  constructor(private store: Store) {
    render(<this.View />, find("#clips"));
    if (!store.isRecorded) void this.request();
  }

  /** Request the list, again and again while clips are being checked. */
  private async request(): Promise<void> {
    const { clips, checking, shown } = await this.store.connection.ask("clips", {});
    this.clips.value = clips.length > 1 ? clips : [];
    this.shown.value = shown;
    this.isChecking.value = checking;
    find("#clips").hidden = !this.clips.value.length;
    if (checking) setTimeout(() => void this.request(), SOON_MS);
  }

  private choose(number: number): Promise<void> {
    return report(() => this.store.connection.ask("choose", { number }));
  }

  /** Show the clip that comes next in the list; return false if there is none with findings. */
  showNext(): boolean {
    const rows = this.clips.value;
    const next = rows[rows.findIndex(({ number }) => number === this.shown.value) + 1];
    if (!next?.worstDeg) return false;
    void this.choose(next.number);
    return true;
  }

  private View = () => {
    const clips = this.clips.value;
    const checked = clips.filter(({ worstDeg, error }) => worstDeg !== null || error).length;
    return (
      <>
        <h2>
          Clips{" "}
          <small role="status">
            {this.isChecking.value ? `${checked} of ${clips.length} checked` : clips.length}
          </small>
        </h2>
        <ul>{clips.map((row) => this.renderRow(row))}</ul>
      </>
    );
  };

  private renderRow({ number, name, worstDeg, joint, share, strip, error }: ClipRow) {
    const isShown = number === this.shown.value;
    const worst = worstDeg ?? 0;
    const { twoVerdicts } = this.store.state.value;
    const verdict = worst === 0 ? "inside" : `${formatVerdict(worst, twoVerdicts)} at ${joint}`;
    const known = share ? `${verdict}, outside in ${formatPercent(share)} of frames` : verdict;
    const title = `${name}: ${error ?? (worstDeg === null ? "not checked yet" : known)}`;
    return (
      <li key={number}>
        <Button
          label={title}
          aria-current={isShown ? "true" : undefined}
          onClick={() => isShown || void this.choose(number)}
        >
          <LongName text={name} />
          <span class={verdictClass(worst)}>
            {error ? "✕" : worstDeg === null ? "…" : worst === 0 ? "✓" : angleOf(worst)}
          </span>
          {joint && <small>{joint}</small>}
          {strip.length > 0 && <i style={{ background: pictureOf(strip) }} />}
        </Button>
      </li>
    );
  }
}

const angleOf = (angle: number): string =>
  `${angle < 0 ? "~" : ""}${formatDegrees(Math.abs(angle))}`;

/** A strip as backgrounds: frames outside have its whole height, unusual ones its lower half. */
function pictureOf(strip: number[]): string {
  const gradient = (isIn: (angle: number) => boolean, colour: typeof outsideColour) => {
    const stops = strip.map((angle, k) => {
      const shade = isIn(angle) ? colour(Math.abs(angle) / DARKEST_DEG).getStyle() : "transparent";
      const [from, to] = [k, k + 1].map((part) => `${((100 * part) / strip.length).toFixed(2)}%`);
      return `${shade} ${from} ${to}`;
    });
    return `linear-gradient(90deg, ${stops.join(", ")})`;
  };
  const outside = gradient((angle) => angle > 0, outsideColour);
  const unusual = gradient((angle) => isWorse(angle, 0) && angle < 0, unusualColour);
  return `${outside} 0 0 / 100% 100%, ${unusual} 0 100% / 100% 50% no-repeat, var(--soft)`;
}
