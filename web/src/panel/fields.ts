// Rows of a form: a choice from a list; a slider with its number beside it.

import { beginDrag } from "../drags";
import { element, letGo } from "../elements";

export interface Option {
  name: string;
  label: string;
  /** Why it cannot be chosen, if it cannot. */
  why?: string | null;
}

/** Fill a list, and choose one of it. */
export function fillSelect(list: HTMLSelectElement, options: Option[], chosen: string): void {
  list.replaceChildren(
    ...options.map(({ name, label, why }) => {
      const option = element("option", { value: name, disabled: !!why }, label);
      if (why) option.title = why;
      return option;
    }),
  );
  list.value = chosen;
}

export function selectRow(label: string, changed: () => void): [HTMLElement, HTMLSelectElement] {
  const list = element("select", { "aria-label": label });
  list.addEventListener("change", changed);
  return [element("label", { class: "field" }, label, list), list];
}

export interface SliderWithNumber {
  row: HTMLElement;
  value: number;
  disabled: boolean;
  /** Told of every value on the way. */
  onInput: (value: number) => void;
  /** Told when a drag, or typing, is over. */
  onChange: () => void;
  /** A drag is taken back, the value as it was before. */
  onCancel: () => void;
}

/** A slider in degrees with a number that may also go beyond its ends. */
export function sliderWithNumber(
  name: string,
  label: string,
  [low, high, step]: [number, number, number],
  value: number,
): SliderWithNumber {
  const [min, max] = [String(low), String(high)];
  const slider = element("input", { type: "range", min, max, step: String(step) });
  const number = element("input", { type: "number", min, max: "90", step: "any" });
  slider.setAttribute("aria-label", name);
  number.setAttribute("aria-label", `${name}, in degrees`);
  slider.value = number.value = String(value);
  let exact = value;
  const row = element("div", { class: "field ranged" }, element("span", {}, label), slider, number);
  const ranged: SliderWithNumber = {
    row,
    get value() {
      return exact;
    },
    set value(to) {
      exact = to;
      slider.value = String(to);
      number.value = String(Number(to.toFixed(2)));
    },
    get disabled() {
      return slider.disabled;
    },
    set disabled(to) {
      slider.disabled = number.disabled = to;
    },
    onInput: () => {},
    onChange: () => {},
    onCancel: () => ranged.onInput(exact),
  };
  slider.addEventListener("pointerdown", () => {
    const before = exact;
    beginDrag(() => {
      letGo(slider);
      ranged.value = before;
      ranged.onCancel();
    });
  });
  slider.addEventListener("input", () => {
    number.value = slider.value;
    exact = Number(slider.value);
    ranged.onInput(exact);
  });
  // One that is let go of tells of a change, too.
  slider.addEventListener("change", () => slider.disabled || ranged.onChange());
  number.addEventListener("change", () => {
    if (number.value === "") number.value = String(Number(exact.toFixed(2)));
    if (!number.reportValidity()) return; // the browser says what is allowed; nothing is lost
    slider.value = number.value;
    exact = Number(number.value);
    ranged.onInput(exact);
    ranged.onChange();
  });
  return ranged;
}
