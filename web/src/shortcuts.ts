// All keys of the page, and what each does.

import type { Editing } from "./edit/editing";
import { find } from "./elements";
import type { Key } from "./keys";
import type { Mode, Modes } from "./modes";
import type { Files } from "./panel/files";
import type { Appearance } from "./stage/appearance";
import type { Ghost } from "./stage/ghost";
import type { Stage } from "./stage/stage";
import type { Timeline } from "./time/timeline";

/** What keys can do to the page as a whole. */
export interface PageActions {
  stage: Stage;
  timeline: Timeline;
  editing: Editing;
  ghost: Ghost;
  appearance: Appearance;
  mode: Mode;
  frames: number;
  readonly modes: Modes;
  pick(joint: number | undefined): void;
  framePicked(): void;
  goToViolation(way: 1 | -1): void;
  resetPose(): void;
  showHelp(): void;
  togglePin(): void;
  cancelDrag(): boolean;
  stepPose(which: "undo" | "redo"): boolean;
  files: Files;
}

/** By what they are for; a key without words is told of by the one before it. */
export function shortcuts(page: PageActions): Record<string, Key[]> {
  const { stage, timeline } = page;
  const { turntable } = stage;
  const redraw = (act: () => void) => () => {
    act();
    stage.draw();
  };
  const { editing } = page;
  const edit = (act: () => unknown) => () => page.mode === "edit" && act();
  const key = (keys: string[], label: string, effect: string, act: () => unknown): Key => ({
    keys,
    label,
    effect,
    act,
  });
  return {
    Time: [
      key(["Space"], "Space", "play and pause", () => timeline.toggle()),
      key(
        ["ArrowRight"],
        "→ ←",
        "one frame on, back",
        () => editing.nudge(1, 0) || timeline.step(1),
      ),
      key(["ArrowLeft"], "", "", () => editing.nudge(-1, 0) || timeline.step(-1)),
      key(
        ["Shift+ArrowRight"],
        "Shift → ←",
        "ten frames on, back",
        () => editing.nudge(5, 0) || timeline.step(10),
      ),
      key(["Shift+ArrowLeft"], "", "", () => editing.nudge(-5, 0) || timeline.step(-10)),
      key(["Home"], "Home, End", "first, last frame", () => timeline.goTo(0)),
      key(["End"], "", "", () => timeline.goTo(page.frames - 1)),
      key(["n"], "N, P", "next time a joint goes outside, the one before", () =>
        page.goToViolation(1),
      ),
      key(["p"], "", "", () => page.goToViolation(-1)),
      key(["g"], "G", "ghost of the clamped clip", () => page.ghost.toggle()),
    ],
    Pose: [
      key(["r"], "R", "reset the pose", () => page.resetPose()),
      key(["k"], "K", "Try: pin or unpin the picked joint", () => page.togglePin()),
    ],
    View: [
      key(
        ["Numpad1"],
        "Numpad 1, 3, 7",
        "front, right, top",
        redraw(() => turntable.setView("Front")),
      ),
      key(
        ["Numpad3"],
        "",
        "",
        redraw(() => turntable.setView("Right")),
      ),
      key(
        ["Numpad7"],
        "",
        "",
        redraw(() => turntable.setView("Top")),
      ),
      key(
        ["Ctrl+Numpad1"],
        "Ctrl Numpad 1, 3, 7",
        "back, left, bottom",
        redraw(() => turntable.setView("Back")),
      ),
      key(
        ["Ctrl+Numpad3"],
        "",
        "",
        redraw(() => turntable.setView("Left")),
      ),
      key(
        ["Ctrl+Numpad7"],
        "",
        "",
        redraw(() => turntable.setView("Bottom")),
      ),
      key(
        ["Numpad9"],
        "Numpad 9",
        "the opposite side",
        redraw(() => turntable.turnAround()),
      ),
      key(
        ["Numpad4"],
        "Numpad 4, 6, 8, 2",
        "turn left, right, up, down",
        redraw(() => turntable.turn(-0.26, 0)),
      ),
      key(
        ["Numpad6"],
        "",
        "",
        redraw(() => turntable.turn(0.26, 0)),
      ),
      key(
        ["Numpad8"],
        "",
        "",
        redraw(() => turntable.turn(0, 0.26)),
      ),
      key(
        ["Numpad2"],
        "",
        "",
        redraw(() => turntable.turn(0, -0.26)),
      ),
      key(
        ["Numpad5"],
        "Numpad 5",
        "perspective or parallel",
        redraw(() => (turntable.isParallel = !turntable.isParallel)),
      ),
      key(
        ["+", "NumpadAdd"],
        "+ −",
        "zoom",
        redraw(() => turntable.zoom(0.85)),
      ),
      key(
        ["-", "NumpadSubtract"],
        "",
        "",
        redraw(() => turntable.zoom(1 / 0.85)),
      ),
      key(["NumpadDecimal", "."], ".", "look at the picked joint", () => page.framePicked()),
      key(["a", "NumpadMultiply"], "A", "all into view", () => stage.frameAll()),
      key(["b"], "B", "bones, body or both", () => page.appearance.toggleStyle()),
      key(["l"], "L", "light or dark", () => page.appearance.setTheme()),
    ],
    Page: [
      key(["1"], "1, 2, 3, 4", "Look, Try, Edit, Controls", () => page.modes.choose("look")),
      key(["2"], "", "", () => page.modes.choose("try")),
      key(["3"], "", "", () => page.modes.choose("edit")),
      key(["4"], "", "", () => page.modes.choose("controls")),
      key(["/"], "/", "find a joint", () => find("#search").focus()),
      key(
        ["Escape"],
        "Esc",
        "take a drag back; pick nothing; shrink the picture of rotations",
        () => page.cancelDrag() || editing.deselect() || page.pick(undefined),
      ),
      key(
        ["Ctrl+KeyZ"],
        "Ctrl Z",
        "undo: in Try and Controls the pose, else an edit",
        () => page.stepPose("undo") || editing.strokes.step("undo"),
      ),
      key(
        ["Ctrl+Shift+KeyZ", "Ctrl+KeyY"],
        "Ctrl Shift Z, Ctrl Y",
        "redo",
        () => page.stepPose("redo") || editing.strokes.step("redo"),
      ),
      key(["Ctrl+KeyS"], "Ctrl S", "save", () => void page.files.save()),
      key(["Ctrl+Shift+KeyS"], "Ctrl Shift S", "save as", () => page.files.askName()),
      key(["?", "Shift+Slash"], "?", "this sheet", () => page.showHelp()),
    ],
    Edit: [
      key(
        ["["],
        "[ ]",
        "the point before, the next one",
        edit(() => editing.selectNext(-1)),
      ),
      key(
        ["]"],
        "",
        "",
        edit(() => editing.selectNext(1)),
      ),
      key(["ArrowUp"], "← → ↑ ↓", "move the point by 1°, with Shift by 5°", () =>
        editing.nudge(0, 1),
      ),
      key(["ArrowDown"], "", "", () => editing.nudge(0, -1)),
      key(["Shift+ArrowUp"], "", "", () => editing.nudge(0, 5)),
      key(["Shift+ArrowDown"], "", "", () => editing.nudge(0, -5)),
      key(
        ["i"],
        "I",
        "add a point",
        edit(() => void editing.add()),
      ),
      key(
        ["Delete"],
        "Del",
        "delete the point",
        edit(() => editing.remove()),
      ),
      key(
        ["s"],
        "S",
        "smooth",
        edit(() => editing.smooth()),
      ),
      key(
        ["m"],
        "M",
        "mirror to the other side",
        edit(() => editing.mirror()),
      ),
    ],
  };
}
