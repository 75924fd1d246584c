// The range of motion of the clip: a table, and files of it.

import { signal } from "@preact/signals";
import { capitalize, formatAngle } from "../format";
import { report } from "../notes";
import type { ExportRequest, RangeRow, Ranges } from "../protocol";
import type { Store } from "../store";
import { Button, Dialog, DialogButtons } from "../ui";

const FILES: [string, string, ExportRequest["what"]][] = [
  ["Report", "Report with plots and norms, to print: download it as HTML", "report"],
  ["Table, CSV", "Table, CSV: download this table", "ranges"],
  ["Angles, CSV", "Angles, CSV: download the angles in each frame", "angles"],
];

export class RangesDialog {
  private isOpen = signal(false);
  private found = signal<Ranges | undefined>(undefined);

  constructor(
    private store: Store,
    /** Called to show a frame and a joint. */
    private onJump: (frame: number, joint: number) => void,
  ) {}

  open(): Promise<void> {
    return report(async () => {
      this.found.value = await this.store.connection.ask("ranges", {});
      this.isOpen.value = true;
    });
  }

  View = () => {
    const { ranges = [], notes = [] } = this.found.value ?? {};
    return (
      <Dialog id="ranges" label="Range of motion" open={this.isOpen}>
        <h2>Range of motion</h2>
        <div class="line">
          {FILES.map(([text, label, what]) => (
            <Button
              key={what}
              label={label}
              onClick={() => void report(() => this.store.download({ what }))}
            >
              {text}
            </Button>
          ))}
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it */}
        <div class="rows" role="region" aria-label="Ranges" tabIndex={0}>
          <table>
            <thead>
              <tr>
                {["Joint", "Motion", "From", "To", "Norm", "Limit"].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>{ranges.map((row, index) => this.renderRow(row, ranges[index - 1]))}</tbody>
          </table>
        </div>
        {notes.map((note) => (
          <p key={note} class="why">{`${capitalize(note)}.`}</p>
        ))}
        <p class="why">
          Degrees; zero is standing with hanging arms, the palms at the thighs. Norms are means of
          healthy adults.
        </p>
        <DialogButtons cancel="Close" />
      </Dialog>
    );
  };

  private renderRow(row: RangeRow, before: RangeRow | undefined) {
    const { joint, name, axis, opposite, minDeg, minFrame, maxDeg, maxFrame, norm } = row;
    const index = this.store.clip.skeleton.names.indexOf(joint);
    const end = (deg: number, frame: number) => (
      <td>
        <Button
          label={`Show ${name} ${axis} at ${formatAngle(deg)}, frame ${frame}`}
          onClick={() => {
            this.isOpen.value = false;
            this.onJump(frame, index);
          }}
        >
          {formatAngle(deg)}
        </Button>
      </td>
    );
    const { lowDeg, highDeg } = row;
    const limit =
      lowDeg === null || highDeg === null
        ? ""
        : `${formatAngle(lowDeg)} to ${formatAngle(highDeg)}`;
    return (
      <tr key={`${joint} ${axis}`}>
        {before?.joint === joint ? <td /> : <th scope="row">{capitalize(name)}</th>}
        <td title={`Negative: ${opposite}`}>{axis}</td>
        {end(minDeg, minFrame)}
        {end(maxDeg, maxFrame)}
        <td>{norm.replaceAll("-", "−")}</td>
        <td>{limit}</td>
      </tr>
    );
  }
}
