// The keys of the page, and the sheet that lists them.

import { render } from "preact";
import type { Page } from "./page";
import type { ViewName } from "./stage/camera";
import { Button, find, focusStage, isUnfinished, revertTyping, trackTyping } from "./ui";

/**
 * `keys` are names of `event.code`, perhaps after "Ctrl+" or "Shift+", or characters. `act` returns
 * false if the key is not for it. Without a label, the key is covered by the row before it.
 */
type Key = readonly [keys: string, label: string, effect: string, act: () => unknown];

const MOUSE = [
  ["Drag, or middle drag", "turn the view"],
  ["Shift + drag, or right drag", "pan"],
  ["Wheel, or Ctrl + drag", "zoom"],
  ["Click", "pick a joint, or a point of the cone that is edited"],
  ["Double click", "add a point to the cone that is edited"],
  ["Drag on a field's surface", "push it out; with Shift, pull it in"],
] as const;

const STEP = 0.26; // radians of a rotation by a key, about 15 degrees
const ZOOM = 0.85; // factor of a zoom by a key

/** Keys that move a slider that has the focus. */
const SLIDER_KEYS = /^(Arrow|Home|End|Page)/;

function listKeys(page: Page): Record<string, Key[]> {
  const { stage, timeline, editing, store } = page;
  const { turntable } = stage;
  const redraw = (act: () => void) => () => {
    act();
    stage.draw();
  };
  const view = (key: string, label: string, effect: string, name: ViewName): Key => [
    key,
    label,
    effect,
    redraw(() => turntable.setView(name)),
  ];
  const rotate = (key: string, yaw: number, pitch: number): Key => [
    `Numpad${key}`,
    key === "4" ? "Numpad 4, 6, 8, 2" : "",
    "turn left, right, up, down",
    redraw(() => turntable.rotate(yaw, pitch)),
  ];
  const edit = (act: () => unknown) => () => store.mode.value === "edit" && act();
  const nudge = (key: string, right: number, up: number): Key => [
    key,
    key === "ArrowUp" ? "← → ↑ ↓" : "",
    "move the point by 1°, with Shift by 5°",
    () => editing.nudge(right, up),
  ];
  const step = (key: string, label: string, effect: string, by: number, degrees: number): Key => [
    key,
    label,
    effect,
    () => editing.nudge(degrees, 0) || timeline.step(by),
  ];
  return {
    Time: [
      ["Space", "Space", "play and pause", () => timeline.toggle()],
      step("ArrowRight", "→ ←", "one frame on, back", 1, 1),
      step("ArrowLeft", "", "", -1, -1),
      step("Shift+ArrowRight", "Shift → ←", "ten frames on, back", 10, 5),
      step("Shift+ArrowLeft", "", "", -10, -5),
      ["Home", "Home, End", "first, last frame", () => timeline.goTo(0)],
      ["End", "", "", () => timeline.goTo(store.clip.frames - 1)],
      ["n", "N, P", "next time a joint goes outside, the one before", () => page.goToViolation(1)],
      ["p", "", "", () => page.goToViolation(-1)],
      ["g", "G", "ghost of the clamped clip", () => page.ghost.toggle()],
    ],
    Pose: [
      ["r", "R", "reset the pose", () => page.resetPose()],
      ["k", "K", "Try: pin or unpin the picked joint", () => page.togglePin()],
    ],
    View: [
      view("Numpad1", "Numpad 1, 3, 7", "front, right, top", "Front"),
      view("Numpad3", "", "", "Right"),
      view("Numpad7", "", "", "Top"),
      view("Ctrl+Numpad1", "Ctrl Numpad 1, 3, 7", "back, left, bottom", "Back"),
      view("Ctrl+Numpad3", "", "", "Left"),
      view("Ctrl+Numpad7", "", "", "Bottom"),
      ["Numpad9", "Numpad 9", "the opposite side", redraw(() => turntable.turnAround())],
      rotate("4", -STEP, 0),
      rotate("6", STEP, 0),
      rotate("8", 0, STEP),
      rotate("2", 0, -STEP),
      [
        "Numpad5",
        "Numpad 5",
        "perspective or parallel",
        redraw(() => (turntable.isParallel = !turntable.isParallel)),
      ],
      ["+ NumpadAdd", "+ −", "zoom", redraw(() => turntable.zoom(ZOOM))],
      ["- NumpadSubtract", "", "", redraw(() => turntable.zoom(1 / ZOOM))],
      [". NumpadDecimal", ".", "look at the picked joint", () => page.framePicked()],
      ["a NumpadMultiply", "A", "all into view", () => stage.frameAll()],
      ["b", "B", "mesh, body, bones or both", () => page.toggleStyle()],
      ["l", "L", "light or dark", () => page.toggleTheme()],
    ],
    Page: [
      ["1", "1, 2, 3, 4", "Look, Try, Edit, Controls", () => page.chooseMode("look")],
      ["2", "", "", () => page.chooseMode("try")],
      ["3", "", "", () => page.chooseMode("edit")],
      ["4", "", "", () => page.chooseMode("controls")],
      ["/", "/", "find a joint", () => find("#search").focus()],
      [
        "Escape",
        "Esc",
        "take a drag back; pick nothing; shrink the picture of rotations",
        () => page.cancelDrag() || editing.deselect() || page.pick(undefined),
      ],
      [
        "Ctrl+KeyZ",
        "Ctrl Z",
        "undo: in Try and Controls the pose, else an edit",
        () => page.stepPose("undo") || editing.strokes.step("undo"),
      ],
      [
        "Ctrl+Shift+KeyZ Ctrl+KeyY",
        "Ctrl Shift Z, Ctrl Y",
        "redo",
        () => page.stepPose("redo") || editing.strokes.step("redo"),
      ],
      ["Ctrl+KeyS", "Ctrl S", "save", () => void page.files.save()],
      ["Ctrl+Shift+KeyS", "Ctrl Shift S", "save as", () => page.files.askName()],
      ["? Shift+Slash", "?", "this sheet", () => showHelp()],
    ],
    Edit: [
      ["[", "[ ]", "the point before, the next one", edit(() => editing.selectNext(-1))],
      ["]", "", "", edit(() => editing.selectNext(1))],
      nudge("ArrowUp", 0, 1),
      nudge("ArrowDown", 0, -1),
      nudge("Shift+ArrowUp", 0, 5),
      nudge("Shift+ArrowDown", 0, -5),
      ["i", "I", "add a point", edit(() => void editing.add())],
      ["Delete", "Del", "delete the point", edit(() => editing.points.remove())],
      ["s", "S", "smooth", edit(() => editing.points.smooth())],
      ["m", "M", "mirror to the other side", edit(() => editing.mirror())],
    ],
  };
}

/** True if Ctrl is held, or Cmd on a Mac. */
const isControlHeld = ({ ctrlKey, metaKey }: KeyboardEvent): boolean => ctrlKey || metaKey;

/** True if a key is for the field that has the focus: letters and arrows also choose in lists. */
function isForField(event: KeyboardEvent): boolean {
  const { target, key, code } = event;
  if (target instanceof HTMLSelectElement)
    return !isControlHeld(event) && !["Delete", "[", "]"].includes(key);
  if (!(target instanceof HTMLInputElement)) return false;
  // A number that was committed is a step like any other, which the same keys undo.
  const isStep = isControlHeld(event) && ["KeyZ", "KeyY"].includes(code) && !isUnfinished(target);
  if (target.type === "number") return !isStep;
  return ["search", "text"].includes(target.type);
}

/** True if a key operates the button, slider or checkbox that has the focus. */
function isForControl({ target, key, code }: KeyboardEvent): boolean {
  if (!(target instanceof Element)) return false;
  const isButton =
    target.matches("button, summary, input[type=checkbox]") &&
    target.getAttribute("aria-selected") !== "true"; // a chosen joint or mode stays chosen
  if (isButton && key === " ") return true;
  return target.matches("input[type=range]") && SLIDER_KEYS.test(key) && !code.startsWith("Numpad");
}

function onKeyDown(event: KeyboardEvent, keys: Key[]): void {
  const isControl = isControlHeld(event);
  const isSave = isControl && event.code === "KeyS"; // never the browser's own
  if (isSave) event.preventDefault();
  if (event.key === "Escape" && isForField(event)) leaveField(event.target as HTMLElement);
  if ((isForField(event) && !isSave) || event.altKey || isForControl(event)) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && document.querySelector(":popover-open")) return; // closes a menu
  const held = `${isControl ? "Ctrl+" : ""}${event.shiftKey ? "Shift+" : ""}`;
  const names = [`${held}${event.code}`];
  // A character counts, whatever keys produce it.
  if (event.key.length === 1 && !isControl && !event.code.startsWith("Numpad"))
    names.push(event.key);
  const key = keys.find(([each]) => each.split(" ").some((name) => names.includes(name)));
  if (key && key[3]() !== false) event.preventDefault();
}

/** Revert unfinished typing and focus the view. */
function leaveField(field: HTMLElement): void {
  if (field.closest("dialog, #search")) return; // Esc closes or clears these
  revertTyping(field);
  focusStage();
}

/** Move the focus from a button that was clicked with the mouse to the view: Space plays then. */
function returnFocus({ detail, target }: MouseEvent): void {
  const clicked = (target as Element).closest("button, summary");
  if (detail === 0 || !clicked || clicked !== document.activeElement) return;
  if (!clicked.closest("dialog") && !clicked.matches("[role=treeitem]")) focusStage();
}

export function showHelp(): void {
  find<HTMLDialogElement>("#help").showModal();
  find("#help h2").focus(); // or the sheet would open at its last button
}

function Help({ groups, onTour }: { groups: Record<string, Key[]>; onTour: () => void }) {
  const section = (name: string, rows: readonly (readonly [string, string])[]) => (
    <section key={name}>
      <h3>{name}</h3>
      <dl>
        {rows.map(([key, effect]) => [<dt key={key}>{key}</dt>, <dd key={effect}>{effect}</dd>])}
      </dl>
    </section>
  );
  return (
    <>
      <h2 tabIndex={-1}>Keys and mouse</h2>
      <div class="sheet">
        {section("Mouse", MOUSE)}
        {Object.entries(groups).map(([name, keys]) =>
          section(
            name,
            keys.filter(([, label]) => label).map(([, label, effect]) => [label, effect]),
          ),
        )}
      </div>
      <details>
        <summary>Licenses of bundled software</summary>
        <pre>{document.querySelector("#licenses")?.textContent}</pre>
      </details>
      <form method="dialog">
        <Button label="Show the tour" onClick={onTour}>
          Show the tour
        </Button>
        <button type="submit">Close</button>
      </form>
    </>
  );
}

/** Let keys act, and fill the help, from which the tour can begin. */
export function bindKeys(page: Page): void {
  const groups = listKeys(page);
  const keys = Object.values(groups).flat();
  const help = find<HTMLDialogElement>("#help");
  const startTour = () => {
    help.close();
    page.tour.begin();
  };
  render(<Help groups={groups} onTour={startTour} />, help);
  trackTyping();
  document.addEventListener("click", returnFocus, { capture: true });
  // The view has an outline only after Tab: around a picture that the mouse is in, it disturbs.
  const setTabbed = (on: boolean) => find("#stage").classList.toggle("tabbed", on);
  document.addEventListener("pointerdown", () => setTabbed(false), { capture: true });
  document.addEventListener("keydown", ({ key }) => key === "Tab" && setTabbed(true));
  document.addEventListener("keydown", (event) => onKeyDown(event, keys));
}
