// Numbers of the limit, to be typed: sides, centres and radii, in degrees.

import { element } from "../elements";
import type { ShapeNumber } from "../protocol";
import type { Strokes } from "./strokes";

export class NumbersPanel {
  readonly panel = element("details", { class: "numbers" });
  private table = element("div");
  private inputs = new Map<string, HTMLInputElement>();

  constructor(private strokes: Strokes) {
    this.panel.append(element("summary", {}, "Numbers"), this.table);
  }

  show(numbers: ShapeNumber[]): void {
    this.panel.hidden = numbers.length === 0;
    const keys = numbers.map((each) => `${each.row}/${each.column}`);
    // The same fields stay, so that typing and Tab go on where they were.
    if (keys.join() !== [...this.inputs.keys()].join()) this.layOut(numbers);
    for (const [place, number] of numbers.entries()) {
      const input = this.inputs.get(keys[place] ?? "");
      if (input) input.value = input.defaultValue = String(Number(number.deg.toFixed(3)));
    }
  }

  private layOut(numbers: ShapeNumber[]): void {
    this.inputs.clear();
    const rows = new Map<string, HTMLElement>();
    for (const number of numbers) {
      const { row, column } = number;
      const line = rows.get(row) ?? element("div", { class: "typed" }, element("span", {}, row));
      rows.set(row, line);
      const input = element("input", { type: "number", step: "any" });
      input.setAttribute("aria-label", `${row} ${column}, in degrees`);
      input.title = column;
      input.addEventListener("change", () => void this.apply(input, number));
      this.inputs.set(`${row}/${column}`, input);
      line.append(element("label", {}, column, input));
    }
    this.table.replaceChildren(...rows.values());
  }

  private async apply(input: HTMLInputElement, { field, index }: ShapeNumber): Promise<void> {
    // What is no number leaves the one that was there.
    if (input.value === "") input.value = input.defaultValue;
    else await this.strokes.apply({ edit: "number", field, index, deg: Number(input.value) });
  }
}
