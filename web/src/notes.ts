// What is said over the view: notes, which stay until they are put away; a word while one waits; and
// what was done, for as long as it takes to read.

import { button, element, find } from "./elements";

const LATE = "Still computing …";

/** Say that an answer is late, or that none is any more. */
export function showLate(is: boolean): void {
  find("#late").textContent = is ? LATE : "";
}

export function showNote(text: string): void {
  const line = element("p", {}, text);
  line.append(button("✕", "Put this note away", () => line.remove()));
  find("#notes").append(line);
}

let fading: number | undefined;

/** Say what was done, or why it was not, in every mode. */
export function showMessage(text: string, well = true): void {
  const line = find("#done");
  line.textContent = text;
  line.className = well ? "well" : "missed";
  clearTimeout(fading);
  fading = window.setTimeout(() => (line.textContent = ""), well ? 4_000 : 15_000);
}
