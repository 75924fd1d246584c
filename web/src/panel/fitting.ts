// Fit from these: new limits from clips of the list, in a process that tells how far it is.

import type { Clip } from "../clip";
import type { Connection } from "../connection";
import { button, element, find } from "../elements";
import { showMessage, showNote } from "../notes";
import type { ClipRow, FitRequest, Fitting } from "../protocol";

/** Milliseconds between questions how far a fit is. */
const OFTEN_MS = 300;
const FAMILY = "kdop";
const MOST_REMARKS = 3;
/** The number of the clip that is shown, where there is no list. */
const SHOWN = -1;

export class FitPanel {
  private dialog = element("dialog", { id: "fit", "aria-label": "Fit limits from clips" });
  private table = element("table");
  private people = element("div", { class: "people" });
  private families = element("select", { "aria-label": "Family to fit" });
  private width = element("select", { "aria-label": "How wide" });
  private amount = element("input", {
    type: "number",
    min: "0",
    max: "90",
    step: "any",
    "aria-label": "Degrees or per cent",
  });
  private unit = element("span");
  private pattern = element("input", {
    type: "text",
    placeholder: "before the first _ or -",
    spellcheck: "false",
    "aria-label": "Pattern that finds the performer",
  });
  private why = element("p", { class: "missed", role: "alert" });
  private begin = element("button", { class: "first" }, "Fit");
  private strip = element("div", { id: "fitting", "aria-live": "off" });
  private bar = element("progress");
  private text = element("span");
  private rows: ClipRow[] = [];
  /** Clips that are not to be fitted from, by number. */
  private off = new Set<number>();

  constructor(
    private connection: Connection,
    private clip: Clip,
  ) {
    if (document.body.hasAttribute("data-recorded")) return;
    const stop = button(
      "Stop",
      "Stop the fit; the limits stay as they are",
      () => void this.connection.ask("stop", {}), // whoever watches it tells what became of it
    );
    this.strip.append(this.bar, this.text, stop);
    this.fillDialog();
    document.body.append(this.dialog);
    void this.connection.ask("progress", {}).then((fitting) => {
      if (fitting.running) this.watch(Promise.resolve(fitting));
    });
  }

  private fillDialog(): void {
    for (const [value, label] of [
      ["", "as wide as fit makes them"],
      ["margin", "a margin of"],
      ["reject", "rejecting at most"],
    ])
      this.width.append(element("option", { value: value ?? "" }, label ?? ""));
    this.width.addEventListener("change", () => {
      const { value } = this.width;
      this.amount.hidden = this.unit.hidden = !value;
      this.amount.value = value === "margin" ? "3" : "1";
      this.unit.textContent = value === "margin" ? "°" : "% of frames";
    });
    this.amount.hidden = this.unit.hidden = true;
    this.pattern.addEventListener("change", () => void this.list());
    const form = element(
      "form",
      {},
      button("Cancel", "Cancel", () => this.dialog.close()),
      this.begin,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.start();
    });
    this.dialog.append(
      element("h2", {}, "Fit limits from clips"),
      element("div", { class: "rows" }, this.table),
      this.people,
      element(
        "dl",
        {},
        element("dt", {}, "Family"),
        element("dd", {}, this.families),
        element("dt", {}, "How wide"),
        element("dd", { class: "width" }, this.width, this.amount, this.unit),
        element("dt", {}, "Performers"),
        element("dd", {}, this.pattern),
      ),
      this.why,
      form,
    );
  }

  /** Ask what to fit from, and how. */
  async open(): Promise<void> {
    this.why.textContent = "";
    this.dialog.showModal();
    if (!this.families.length) {
      const { families } = await this.connection.ask("kinds", {});
      const options = families.map(({ name, label }) => element("option", { value: name }, label));
      this.families.append(...options);
      this.families.value = FAMILY;
    }
    await this.list();
  }

  /** List the clips, and who performs in them. */
  private async list(): Promise<void> {
    const performers = this.pattern.value || null;
    const { clips, why } = await this.connection.ask("clips", { performers });
    this.why.textContent = why ?? "";
    const own = { number: SHOWN, name: this.clip.name, performer: "" };
    this.rows = clips.length ? clips : [{ ...own, worstDeg: null, share: null, error: null }];
    this.rows.sort((one, other) => (one.name < other.name ? -1 : 1));
    this.table.replaceChildren(
      ...this.rows.map(({ number, name, performer, error }) => {
        const box = this.box([number], name);
        box.disabled = error !== null;
        const label = element("label", {}, box, element("bdi", {}, name));
        if (error) label.title = error;
        return element("tr", {}, element("td", {}, label), element("td", {}, performer));
      }),
    );
    const people = [...new Set(this.rows.map(({ performer }) => performer))].sort();
    this.people.replaceChildren(
      ...(people.length > 1 ? people : []).map((name) => {
        const theirs = this.rows.filter(({ performer }) => performer === name);
        const box = this.box(
          theirs.map(({ number }) => number),
          `All of ${name}`,
        );
        return element("label", {}, box, element("bdi", {}, name), ` ${theirs.length}`);
      }),
    );
    this.update();
  }

  /** What puts clips on and off. */
  private box(numbers: number[], label: string): HTMLInputElement {
    const box = element("input", { type: "checkbox", "aria-label": label });
    box.dataset.numbers = JSON.stringify(numbers);
    box.addEventListener("change", () => {
      for (const number of numbers) this.off[box.checked ? "delete" : "add"](number);
      this.update();
    });
    return box;
  }

  private get chosen(): number[] {
    return this.rows
      .filter(({ number, error }) => !this.off.has(number) && !error)
      .map(({ number }) => number);
  }

  private update(): void {
    for (const box of this.dialog.querySelectorAll<HTMLInputElement>("[data-numbers]")) {
      const numbers: number[] = JSON.parse(box.dataset.numbers ?? "[]");
      const off = numbers.filter((number) => this.off.has(number)).length;
      box.checked = !off;
      box.indeterminate = off > 0 && off < numbers.length;
    }
    const { length } = this.chosen;
    this.begin.textContent = `Fit from ${length} ${length === 1 ? "clip" : "clips"}`;
    this.begin.disabled = !length;
  }

  private async start(): Promise<void> {
    const amount = this.amount.valueAsNumber;
    const wide = this.width.value;
    const request: FitRequest = {
      clips: this.chosen,
      family: this.families.value,
      marginDeg: wide === "margin" ? amount : null,
      rejectPercent: wide === "reject" ? amount : null,
      performers: this.pattern.value || null,
    };
    try {
      const answer = await this.connection.ask("fit", request);
      if ("refused" in answer) {
        this.why.textContent = answer.refused;
        return;
      }
      this.dialog.close();
      this.watch(Promise.resolve(answer));
    } catch (error) {
      this.why.textContent = (error as Error).message;
    }
  }

  /** Say how far a fit is, until it is over, and then what became of it. */
  private watch(coming: Promise<Fitting>): void {
    void coming.then((fitting) => {
      const { running, stage, done, total, failed, remarks } = fitting;
      if (running) {
        // Once: a button that is put in anew while it is pressed is not clicked.
        if (!this.strip.isConnected) find("#notes").prepend(this.strip);
      } else {
        this.strip.remove();
        showMessage(stage, !failed);
        for (const text of remarks.slice(0, MOST_REMARKS)) showNote(text);
        return;
      }
      this.text.textContent = total ? `${stage} (${done + 1} of ${total})` : (stage ?? "");
      if (total) this.bar.value = done / total;
      else this.bar.removeAttribute("value");
      setTimeout(() => this.watch(this.connection.ask("progress", {})), OFTEN_MS);
    });
  }
}
