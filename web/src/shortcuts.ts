// All keys of the page, and what each does.

import type { Editing } from "./edit/editing";
import { found } from "./elements";
import type { Key } from "./keys";
import type { Mode, Modes } from "./modes";
import type { Files } from "./panel/files";
import type { Looks } from "./stage/appearance";
import type { Ghost } from "./stage/ghost";
import type { Stage } from "./stage/stage";
import type { Time } from "./time/timeline";

/** What keys can do to the page as a whole. */
export interface Keyed {
  stage: Stage;
  time: Time;
  editing: Editing;
  ghost: Ghost;
  looks: Looks;
  mode: Mode;
  frames: number;
  readonly modes: Modes;
  pick(joint: number | undefined): void;
  lookAtPicked(): void;
  reset(): void;
  help(): void;
  pin(): void;
  files: Files;
}

/** By what they are for; a key without words is told of by the one before it. */
export function shortcuts(page: Keyed): Record<string, Key[]> {
  const { stage, time } = page;
  const { table } = stage;
  const seen = (act: () => void) => () => {
    act();
    stage.draw();
  };
  const { editing } = page;
  const edit = (act: () => unknown) => () => page.mode === "edit" && act();
  const key = (keys: string[], shown: string, does: string, act: () => unknown): Key => ({
    keys,
    shown,
    does,
    act,
  });
  return {
    Time: [
      key(["Space"], "Space", "play and pause", () => time.toggle()),
      key(["ArrowRight"], "→ ←", "one frame on, back", () => editing.nudge(1, 0) || time.step(1)),
      key(["ArrowLeft"], "", "", () => editing.nudge(-1, 0) || time.step(-1)),
      key(
        ["Shift+ArrowRight"],
        "Shift → ←",
        "ten frames on, back",
        () => editing.nudge(5, 0) || time.step(10),
      ),
      key(["Shift+ArrowLeft"], "", "", () => editing.nudge(-5, 0) || time.step(-10)),
      key(["Home"], "Home, End", "first, last frame", () => time.go(0)),
      key(["End"], "", "", () => time.go(page.frames - 1)),
      key(["n"], "N, P", "next time a joint goes outside, the one before", () => time.violation(1)),
      key(["p"], "", "", () => time.violation(-1)),
      key(["g"], "G", "ghost of the clamped clip", () => page.ghost.toggle()),
    ],
    Pose: [
      key(["r"], "R", "reset the pose", () => page.reset()),
      key(["k"], "K", "Try: pin or unpin the picked joint", () => page.pin()),
    ],
    View: [
      key(
        ["Numpad1"],
        "Numpad 1, 3, 7",
        "front, right, top",
        seen(() => table.see("Front")),
      ),
      key(
        ["Numpad3"],
        "",
        "",
        seen(() => table.see("Right")),
      ),
      key(
        ["Numpad7"],
        "",
        "",
        seen(() => table.see("Top")),
      ),
      key(
        ["Ctrl+Numpad1"],
        "Ctrl Numpad 1, 3, 7",
        "back, left, bottom",
        seen(() => table.see("Back")),
      ),
      key(
        ["Ctrl+Numpad3"],
        "",
        "",
        seen(() => table.see("Left")),
      ),
      key(
        ["Ctrl+Numpad7"],
        "",
        "",
        seen(() => table.see("Bottom")),
      ),
      key(
        ["Numpad9"],
        "Numpad 9",
        "the opposite side",
        seen(() => table.opposite()),
      ),
      key(
        ["Numpad4"],
        "Numpad 4, 6, 8, 2",
        "turn left, right, up, down",
        seen(() => table.turn(-0.26, 0)),
      ),
      key(
        ["Numpad6"],
        "",
        "",
        seen(() => table.turn(0.26, 0)),
      ),
      key(
        ["Numpad8"],
        "",
        "",
        seen(() => table.turn(0, 0.26)),
      ),
      key(
        ["Numpad2"],
        "",
        "",
        seen(() => table.turn(0, -0.26)),
      ),
      key(
        ["Numpad5"],
        "Numpad 5",
        "perspective or parallel",
        seen(() => (table.flat = !table.flat)),
      ),
      key(
        ["+", "NumpadAdd"],
        "+ −",
        "zoom",
        seen(() => table.zoom(0.85)),
      ),
      key(
        ["-", "NumpadSubtract"],
        "",
        "",
        seen(() => table.zoom(1 / 0.85)),
      ),
      key(["NumpadDecimal", "."], ".", "look at the picked joint", () => page.lookAtPicked()),
      key(["a", "NumpadMultiply"], "A", "all into view", () => stage.frameAll()),
      key(["b"], "B", "bones or body", () => page.looks.restyle()),
      key(["l"], "L", "light or dark", () => page.looks.dress()),
    ],
    Page: [
      key(["1"], "1, 2, 3, 4", "Look, Try, Edit, Controls", () => page.modes.choose("look")),
      key(["2"], "", "", () => page.modes.choose("try")),
      key(["3"], "", "", () => page.modes.choose("edit")),
      key(["4"], "", "", () => page.modes.choose("controls")),
      key(["/"], "/", "find a joint", () => found("#search").focus()),
      key(
        ["Escape"],
        "Esc",
        "pick nothing; shrink the picture of rotations",
        () => editing.leave() || page.pick(undefined),
      ),
      key(["Ctrl+KeyZ"], "Ctrl Z", "undo", () => editing.strokes.step("undo")),
      key(["Ctrl+Shift+KeyZ", "Ctrl+KeyY"], "Ctrl Shift Z, Ctrl Y", "redo", () =>
        editing.strokes.step("redo"),
      ),
      key(["Ctrl+KeyS"], "Ctrl S", "save", () => void page.files.write()),
      key(["Ctrl+Shift+KeyS"], "Ctrl Shift S", "save as", () => page.files.ask()),
      key(["?", "Shift+Slash"], "?", "this sheet", () => page.help()),
    ],
    Edit: [
      key(
        ["["],
        "[ ]",
        "the point before, the next one",
        edit(() => editing.walk(-1)),
      ),
      key(
        ["]"],
        "",
        "",
        edit(() => editing.walk(1)),
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
