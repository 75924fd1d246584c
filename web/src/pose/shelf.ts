// What can be done to a pose as a whole: undo, reset, mirror, and a shelf to keep some on.

import type { Clip } from "../clip";
import { button, element, find } from "../elements";
import { showMessage } from "../notes";
import type { MadePose, PoseHistory } from "./history";

/** What the page can do to a pose. */
export interface PoseActions {
  /** The pose that is shown, with its controls as far as they are known. */
  current(): MadePose;
  apply(made: MadePose): void;
  mirror(): void;
  resetJoint(): void;
}

interface Kept {
  name: string;
  made: MadePose;
}

export class Shelf {
  readonly panel = element("div", { class: "poses" });
  private kept: Kept[] = [];
  private undoButton = button("Undo", "Undo the pose (Ctrl Z)", () => this.history.undo());
  private redoButton = button("Redo", "Do it again (Ctrl Shift Z)", () => this.history.redo());
  private jointButton: HTMLButtonElement;
  private name = element("input", {
    type: "text",
    placeholder: "Name this pose",
    "aria-label": "Name of the pose",
    maxlength: "60",
  });
  private list = element("ul", { "aria-label": "Poses that are kept" });

  constructor(
    private clip: Clip,
    private history: PoseHistory,
    private actions: PoseActions,
  ) {
    this.jointButton = button("Reset joint", "Reset the joint", () => actions.resetJoint());
    const form = element("form", { class: "keep" }, this.name, element("button", {}, "Keep"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.keep(this.name.value.trim() || `Pose ${this.kept.length + 1}`);
    });
    this.panel.append(
      element("h2", {}, "Pose"),
      element(
        "div",
        { class: "row" },
        this.undoButton,
        this.redoButton,
        button("Mirror", "Mirror the pose: left and right change places", () => actions.mirror()),
        this.jointButton,
      ),
      form,
      this.list,
    );
    this.pick(undefined);
    this.update();
  }

  pick(joint: number | undefined): void {
    const name = joint === undefined ? "" : (this.clip.skeleton.names[joint] ?? "");
    this.jointButton.disabled = !name;
    this.jointButton.title = name ? `Reset ${name}` : "Pick a joint to reset it";
    this.jointButton.setAttribute("aria-label", this.jointButton.title);
  }

  /** Say what can be undone. */
  update(): void {
    this.undoButton.disabled = !this.history.canUndo;
    this.redoButton.disabled = !this.history.canRedo;
  }

  private keep(name: string): void {
    this.kept.push({ name, made: this.actions.current() });
    this.name.value = "";
    this.updateList();
    find("#stage").focus(); // what is typed next is not a name
  }

  private updateList(): void {
    this.list.replaceChildren(
      ...this.kept.map((kept) =>
        element(
          "li",
          {},
          button(kept.name, `Apply ${kept.name}`, () => this.actions.apply(kept.made), {
            class: "apply",
          }),
          button("Copy", `Copy ${kept.name} as JSON`, () => void this.copy(kept)),
          button("✕", `Delete ${kept.name}`, () => {
            this.kept = this.kept.filter((each) => each !== kept);
            this.updateList();
          }),
        ),
      ),
    );
  }

  private async copy({ name, made }: Kept): Promise<void> {
    const { names } = this.clip.skeleton;
    const rounded = (values: Float32Array, joint: number, count: number) =>
      [...values.subarray(count * joint, count * (joint + 1))].map((each) => +each.toFixed(6));
    const joints = Object.fromEntries(
      names.map((joint, at) => [
        joint,
        {
          rotation: rounded(made.pose.rotations, at, 4),
          position: rounded(made.pose.positions, at, 3),
        },
      ]),
    );
    const text = JSON.stringify({ name, controls: made.values ?? null, joints }, null, 1);
    try {
      await navigator.clipboard.writeText(text);
      showMessage(`${name} is copied, as JSON.`, true);
    } catch {
      showMessage("The browser does not let the page copy.", false);
    }
  }
}
