// Notes at the top of the view, which stay until they are put away.

import { button, element, found } from "./elements";

export function note(text: string): void {
  const line = element("p", {}, text);
  line.append(button("✕", "Put this note away", () => line.remove()));
  found("#notes").append(line);
}
