// Notes at the top of the view, which stay until they are put away, and a word while one waits.

import { button, element, found } from "./elements";

const LATE =
  "Still computing … What is used for the first time is compiled, which can take a minute.";

/** Say that an answer is late, or that none is any more. */
export function late(is: boolean): void {
  found("#late").textContent = is ? LATE : "";
}

export function note(text: string): void {
  const line = element("p", {}, text);
  line.append(button("✕", "Put this note away", () => line.remove()));
  found("#notes").append(line);
}
