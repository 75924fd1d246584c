// Keys, and the sheet that shows them.

import { element, found } from "./elements";

export interface Key {
  /** As `event.code` or `event.key` has it; "Ctrl+" may stand before. */
  keys: string[];
  shown: string;
  does: string;
  act: () => void;
}

const MOUSE = [
  ["Drag, or middle drag", "turn the view"],
  ["Shift + drag, or right drag", "pan"],
  ["Wheel, or Ctrl + drag", "zoom"],
  ["Click", "pick a joint"],
] as const;

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement && target.type !== "range";
}

export function listen(keys: Key[]): void {
  const help = found<HTMLDialogElement>("#help");
  const rows = (pairs: readonly (readonly [string, string])[]) =>
    pairs.flatMap(([key, does]) => [element("dt", {}, key), element("dd", {}, does)]);
  help.append(
    element("h2", {}, "Keys and mouse"),
    element("dl", {}, ...rows(MOUSE), ...rows(keys.filter(({ shown }) => shown).map(({ shown, does }) => [shown, does]))),
    element("form", { method: "dialog" }, element("button", {}, "Close")),
  );
  document.addEventListener("keydown", (event) => {
    if (typing(event.target) || event.altKey || event.metaKey || help.open) return;
    const onButton = event.target instanceof HTMLButtonElement && event.key === " ";
    const onSlider = event.target instanceof HTMLInputElement && event.key.startsWith("Arrow");
    if (onButton || onSlider) return;
    const ctrl = event.ctrlKey ? "Ctrl+" : "";
    const names = [`${ctrl}${event.code}`, `${ctrl}${event.key}`];
    if (event.shiftKey) names[0] = `Shift+${event.code}`;
    const key = keys.find((each) => each.keys.some((name) => names.includes(name)));
    if (!key) return;
    event.preventDefault();
    key.act();
  });
}
