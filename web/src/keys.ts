// Keys, and the sheet that shows them.

import { button, element, find } from "./elements";

export interface Key {
  /** As `event.code` has it, "Ctrl+" or "Shift+" perhaps before; or a letter or sign. */
  keys: string[];
  label: string;
  effect: string;
  /** Answers false where the key is not for it. */
  act: () => unknown;
}

const MOUSE = [
  ["Drag, or middle drag", "turn the view"],
  ["Shift + drag, or right drag", "pan"],
  ["Wheel, or Ctrl + drag", "zoom"],
  ["Click", "pick a joint, or a point of the cone that is edited"],
  ["Double click", "add a point to the cone that is edited"],
  ["Drag on a field's surface", "push it out; with Shift, pull it in"],
] as const;

/** Keys that move a slider where it has the focus. */
const SLIDER = /^(Arrow|Home|End|Page)/;

/** Whether Ctrl is held, or Cmd, which a Mac has in its place. */
const isControlHeld = ({ ctrlKey, metaKey }: KeyboardEvent): boolean => ctrlKey || metaKey;

/** The field that is being typed in, until what was typed is taken over, and what it was before. */
let unfinished: EventTarget | null = null;
let before = "";

/** Whether a key is for what has the focus: letters and arrows choose from a list, too. */
function isTyping(event: KeyboardEvent): boolean {
  const { target, key, code } = event;
  if (target instanceof HTMLSelectElement)
    return !isControlHeld(event) && !["Delete", "[", "]"].includes(key);
  if (!(target instanceof HTMLInputElement)) return false;
  // A number that was taken over is a step like any other, which the same keys undo.
  const steps = isControlHeld(event) && ["KeyZ", "KeyY"].includes(code) && target !== unfinished;
  if (target.type === "number") return !steps;
  return ["search", "text"].includes(target.type);
}

/** Whether Space is for a button; what is chosen already, a joint or a mode, is not chosen again. */
function isClick(target: Element): boolean {
  return target.matches("button, summary") && target.getAttribute("aria-selected") !== "true";
}

/** Let keys act, and list them in the help, from which the tour begins again. */
export function bindKeys(groups: Record<string, Key[]>, showTour: () => void): void {
  const keys = Object.values(groups).flat();
  const help = find<HTMLDialogElement>("#help");
  const section = (name: string, rows: readonly (readonly [string, string])[]) =>
    element(
      "section",
      {},
      element("h3", {}, name),
      element(
        "dl",
        {},
        ...rows.flatMap(([key, does]) => [element("dt", {}, key), element("dd", {}, does)]),
      ),
    );
  const listed = (group: Key[]) =>
    group.filter(({ label }) => label).map(({ label, effect }) => [label, effect] as const);
  help.append(
    // With the focus, so that the sheet opens at its top, not at the button below.
    element("h2", { tabindex: "-1" }, "Keys and mouse"),
    element(
      "div",
      { class: "sheet" },
      section("Mouse", MOUSE),
      ...Object.entries(groups).map(([name, group]) => section(name, listed(group))),
    ),
    element(
      "details",
      {},
      element("summary", {}, "Licenses of bundled software"),
      element("pre", {}, document.querySelector("#licenses")?.textContent ?? ""),
    ),
    element(
      "form",
      { method: "dialog" },
      button("Show the tour", "Show the tour", showTour),
      element("button", {}, "Close"),
    ),
  );
  document.addEventListener("focusin", ({ target }) => {
    if (target instanceof HTMLInputElement) before = target.value;
  });
  document.addEventListener("input", ({ target }) => (unfinished = target));
  document.addEventListener("change", ({ target }) => {
    unfinished = null;
    if (target instanceof HTMLInputElement) before = target.value;
  });
  // After a click with the mouse keys are for the view: Space plays, and does not click once more.
  document.addEventListener("click", returnFocus, { capture: true });
  // The view is framed for who came to it by Tab: around a picture that the mouse is in it disturbs.
  const tabbed = (by: boolean) => document.body.toggleAttribute("data-tabbed", by);
  document.addEventListener("pointerdown", () => tabbed(false), { capture: true });
  document.addEventListener("keydown", ({ key }) => key === "Tab" && tabbed(true));
  document.addEventListener("keydown", (event) => {
    const controls = isControlHeld(event);
    const saves = controls && event.code === "KeyS"; // never the browser's own
    if (saves) event.preventDefault();
    if (event.key === "Escape" && isTyping(event)) leaveField(event.target as HTMLElement);
    if ((isTyping(event) && !saves) || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    const { target, key: pressed } = event;
    if (pressed === "Escape" && document.querySelector(":popover-open")) return; // closes a menu
    if (isClick(target as Element) && pressed === " ") return;
    if (target instanceof HTMLInputElement) {
      if (target.type === "range" && SLIDER.test(pressed) && !event.code.startsWith("Numpad"))
        return;
      if (target.type === "checkbox" && pressed === " ") return;
    }
    const held = `${controls ? "Ctrl+" : ""}${event.shiftKey ? "Shift+" : ""}`;
    const names = [`${held}${event.code}`];
    // A letter or sign is what it says, whichever keys make it.
    if (event.key.length === 1 && !controls && !event.code.startsWith("Numpad"))
      names.push(event.key);
    const key = keys.find((each) => each.keys.some((name) => names.includes(name)));
    if (!key) return;
    if (key.act() !== false) event.preventDefault();
  });
}

/** Take back what was typed and not taken over; keys are for the view again. */
function leaveField(field: HTMLElement): void {
  if (field.closest("dialog, #search")) return; // which Esc closes, or clears
  if (field === unfinished && field instanceof HTMLInputElement) {
    field.value = before;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    unfinished = null;
  }
  find("#stage").focus();
}

/** Let the view have the focus instead of a button that was clicked with the mouse. */
function returnFocus({ detail, target }: MouseEvent): void {
  const clicked = (target as Element).closest("button, summary");
  if (detail === 0 || !clicked || clicked !== document.activeElement) return;
  if (!clicked.closest("dialog") && !clicked.matches("[role=treeitem]")) find("#stage").focus();
}
