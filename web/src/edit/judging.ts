// How good families are: their volume, and what each rejects of frames that it never saw.

import type { Connection } from "../connection";
import { button, element } from "../elements";
import { formatPercent, withArticle } from "../format";
import type { Choice, Family } from "../protocol";

export interface Judged {
  share: number;
  /** The share of held-out frames outside, and what was held out; a dash where nothing can be. */
  text: string;
  outside: number | undefined;
}

/** Asks Python part by part, so that another question need not wait, and can end this one. */
export class Judge {
  private known = new Map<string, Judged>();
  private requests = 0;

  constructor(private connection: Connection) {}

  /** Another that knows the same answers, and is stopped by itself. */
  fork(): Judge {
    const other = new Judge(this.connection);
    other.known = this.known;
    return other;
  }

  stop(): void {
    this.requests++;
  }

  async ask(joint: string, choice: Choice, done: (judged: Judged) => void): Promise<void> {
    const asking = ++this.requests;
    const key = JSON.stringify([joint, choice.family, choice.chart, choice.marginDeg, choice.from]);
    const before = this.known.get(key);
    if (before) return done(before);
    const request = { ...choice, joint };
    const whole = await this.connection.ask("judge", request);
    if (!("parts" in whole)) return; // then it is of one part
    const { share, parts, basis } = whole;
    let sum = 0;
    for (let part = 0; part < parts; part++) {
      if (asking !== this.requests) return;
      const judgement = await this.connection.ask("judge", { ...request, part });
      if ("outside" in judgement) sum += judgement.outside;
    }
    const outside = parts ? sum / parts : undefined;
    const text =
      outside === undefined ? `– (${basis})` : `${formatPercent(outside)} outside, by ${basis}`;
    const judged = { share, text, outside };
    this.known.set(key, judged);
    if (asking === this.requests) done(judged);
  }
}

/** All families beside each other, judged one by one while it is open. */
export class Comparison {
  readonly panel = element("details", { class: "comparison" });
  private rows = element("tbody");
  private basis = element("caption");
  private judgedKey = "";
  private running = 0;
  private judge: Judge;
  private subject: { joint: string; choice: Choice; families: Family[] } | undefined;

  constructor(
    judge: Judge,
    private choose: (family: string) => void,
  ) {
    this.judge = judge.fork();
    const head = ["Family", "Volume", "Held out"].map((what) => element("th", {}, what));
    this.panel.append(
      element("summary", {}, "Compare all families"),
      element("table", {}, this.basis, element("thead", {}, element("tr", {}, ...head)), this.rows),
    );
    this.panel.addEventListener("toggle", () => void this.judgeAll());
  }

  stop(): void {
    this.running++;
    this.judge.stop();
    this.judgedKey = "";
  }

  update(joint: string, choice: Choice, families: Family[]): void {
    this.subject = { joint, choice, families };
    for (const row of this.rows.querySelectorAll("button"))
      row.setAttribute("aria-pressed", String(row.dataset.family === choice.family));
    void this.judgeAll();
  }

  private async judgeAll(): Promise<void> {
    if (!this.panel.open || !this.subject) return;
    const { joint, choice, families } = this.subject;
    const key = JSON.stringify([joint, choice.marginDeg, choice.from, choice.chart]);
    if (key === this.judgedKey) return;
    this.stop();
    this.judgedKey = key;
    const running = this.running;
    this.basis.textContent =
      choice.from === "limit" ? "Families are compared by evidence: choose some under From." : "";
    this.rows.replaceChildren();
    if (choice.from === "limit") return;
    const cells = families.map((family) => this.addRow(family, choice.family));
    for (const [place, { name, charts }] of families.entries()) {
      if (running !== this.running) return;
      const chart = choice.chart && charts.includes(choice.chart) ? choice.chart : null;
      const [volume, held] = cells[place] ?? [];
      try {
        await this.judge.ask(joint, { ...choice, family: name, chart }, (judged) => {
          if (volume) volume.textContent = formatPercent(judged.share);
          if (held)
            held.textContent = judged.outside === undefined ? "–" : formatPercent(judged.outside);
          this.basis.textContent = judged.text.replace(/^.*outside, by /, "Held out: ");
        });
      } catch (error) {
        if (held) held.textContent = "fails";
        if (held) held.title = (error as Error).message;
      }
    }
  }

  private addRow({ name, label }: Family, chosen: string): [HTMLElement, HTMLElement] {
    const choose = button(label, `Make it ${withArticle(label)}`, () => this.choose(name));
    choose.dataset.family = name;
    choose.setAttribute("aria-pressed", String(name === chosen));
    const [volume, held] = [element("td", {}, "…"), element("td", {}, "…")];
    this.rows.append(element("tr", {}, element("td", {}, choose), volume, held));
    return [volume, held];
  }
}
