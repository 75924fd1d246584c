// Files: save where the command line or Python says, save beside it, download; and what is not saved yet.

import type { Connection } from "../connection";
import { button, element, find } from "../elements";
import { showMessage } from "../notes";
import type { State } from "../protocol";

const SUFFIX = ".limits.json";

/** Let the browser download a file. */
export function saveBlob(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export class Files {
  readonly tools = element("div", { id: "files", role: "toolbar", "aria-label": "Limits file" });
  private saveButton = button("Save", "Save (Ctrl S)", () => void this.save());
  private saveAsButton = button("Save as…", "Save as (Ctrl Shift S)", () => void this.askName());
  private nameInput = element("input", {
    type: "text",
    "aria-label": "Name of the file",
    spellcheck: "false",
  });
  private folderText = element("p");
  private errorText = element("p", { class: "missed", role: "alert" });
  private nameDialog: HTMLDialogElement;
  private explanation: HTMLDialogElement;
  private overwriteDialog = element("dialog", { id: "overwrite", "aria-label": "Overwrite" });
  private file: string | null = null;
  private isUnsaved = false;
  private scene: number | undefined;
  private offered: HTMLElement | undefined;

  constructor(
    private title: string,
    private connection: Connection,
  ) {
    const fetch = button("Download", "Download the limits as a file", () => void this.download());
    this.tools.append(this.saveButton, this.saveAsButton, fetch);
    const form = element(
      "form",
      { method: "dialog" },
      this.nameInput,
      this.folderText,
      this.errorText,
    );
    form.append(
      button("Cancel", "Cancel", () => this.nameDialog.close()),
      element("button", { class: "first" }, "Save"),
    );
    this.nameDialog = element(
      "dialog",
      { id: "naming", "aria-label": "Save as" },
      element("h2", {}, "Save as"),
      form,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.save(this.nameInput.value);
    });
    this.explanation = this.createExplanation();
    document.body.append(this.nameDialog, this.overwriteDialog, this.explanation);
    addEventListener("beforeunload", (event) => this.isUnsaved && event.preventDefault());
  }

  /** Show where limits are saved, and whether they are. */
  update(state: State): void {
    this.scene ??= state.scene;
    if (state.scene !== this.scene) {
      this.reload();
      return;
    }
    this.file = state.file;
    this.isUnsaved = state.unsaved;
    this.offerLeftover(state);
    const none = this.file === null;
    this.saveButton.textContent = none ? "Save…" : "Save";
    this.saveButton.title = none ? "Save (Ctrl S): how to" : `Save to ${this.file} (Ctrl S)`;
    this.saveAsButton.hidden = none;
    this.saveButton.toggleAttribute("data-unsaved", this.isUnsaved);
    document.title = `${this.isUnsaved ? "• " : ""}${this.title} – Synovia`;
  }

  /** Show the page anew: there is another clip, or there are other limits. */
  private reload(): void {
    this.isUnsaved = false; // what is not saved is in Python, and stays
    location.reload();
  }

  /** Offer edits that were not saved when the limits were last shown. */
  private offerLeftover({ leftover }: State): void {
    if (!leftover || this.offered) {
      if (!leftover) this.offered?.remove();
      return;
    }
    const when = new Date(1000 * leftover.written).toLocaleString();
    const decide = (restore: boolean) => async () => {
      const answer = await this.connection.ask("recover", { restore });
      if ("refused" in answer) showMessage(answer.refused, false);
    };
    this.offered = element(
      "p",
      { id: "leftover" },
      `Edits of ${when} were not saved (${leftover.name}).`,
      button("Bring them back", "Bring back the edits that were not saved", decide(true)),
      button("Remove them", "Remove the edits that were not saved", decide(false)),
    );
    find("#notes").prepend(this.offered);
  }

  /** Save to the file, or beside it under a name. */
  async save(name: string | null = null, overwrite = false): Promise<void> {
    if (this.file === null) {
      this.showExplanation();
      return;
    }
    this.errorText.textContent = "";
    try {
      const answer = await this.connection.ask("save", { as: name, overwrite });
      this.update(answer);
      if ("exists" in answer) {
        const { exists, changed } = answer;
        if (await this.confirmOverwrite(exists, changed)) await this.save(name, true);
      } else if ("refused" in answer) this.showFailure(answer.refused);
      else {
        this.nameDialog.close();
        showMessage(`Saved ${answer.saved}`);
      }
    } catch (error) {
      this.showFailure((error as Error).message);
    }
  }

  private showExplanation(): void {
    this.explanation.showModal();
    // The attribute `autofocus` would be refused, and complained of, in the frame of a notebook.
    this.explanation.querySelector<HTMLElement>(".first")?.focus();
  }

  /** Ask for a name, and save under it. */
  askName(): void {
    if (this.file === null) {
      this.showExplanation();
      return;
    }
    const [, folder, name] = /^(.*[/\\])?([^/\\]*)$/.exec(this.file) ?? [];
    this.nameInput.value = name ?? "";
    this.folderText.textContent = folder
      ? `In ${folder}`
      : "In the folder where synovia was started";
    this.errorText.textContent = "";
    this.nameDialog.showModal();
    this.nameInput.setSelectionRange(0, Math.max(this.nameInput.value.length - SUFFIX.length, 0));
  }

  /** Without a file that was named at the start: what to do instead. */
  private createExplanation(): HTMLDialogElement {
    const form = element("form", { method: "dialog" }, element("button", {}, "Close"));
    const fetch = element("button", { class: "first" }, "Download");
    fetch.addEventListener("click", () => void this.download());
    form.append(fetch);
    return element(
      "dialog",
      { id: "nowhere", "aria-label": "No file to save to" },
      element("h2", {}, "No file to save to"),
      element(
        "p",
        {},
        "Files are written only where whoever started this said, and no file was named.",
      ),
      element("p", {}, element("b", {}, "Now: "), "download the limits, with all your edits."),
      element(
        "p",
        {},
        element("b", {}, "Next time: "),
        "start with ",
        element("code", {}, `synovia view -o mine${SUFFIX}`),
        ", or in Python ",
        element("code", {}, `view(…, save_to="mine${SUFFIX}")`),
        ", and Save writes there.",
      ),
      form,
    );
  }

  async download(): Promise<void> {
    try {
      const answer = await this.connection.ask("download", {});
      if ("refused" in answer) return showMessage(answer.refused, false);
      saveBlob(answer.name, new Blob([answer.text], { type: "application/json" }));
    } catch (error) {
      showMessage((error as Error).message, false);
    }
  }

  /** Whether a file that was there before may be replaced: that is asked once. */
  private confirmOverwrite(name: string, changed: boolean): Promise<boolean> {
    return new Promise((resolve) => {
      const form = element("form", { method: "dialog" });
      form.append(
        element("button", { value: "no" }, "Cancel"),
        element("button", { value: "yes", class: "first" }, "Overwrite"),
      );
      this.overwriteDialog.replaceChildren(
        element("h2", {}, "Overwrite?"),
        element(
          "p",
          {},
          element("b", {}, name),
          changed
            ? " was changed by somebody else since it was read here, and that would be gone."
            : " is there already, and what is in it would be gone.",
        ),
        form,
      );
      this.overwriteDialog.returnValue = "no";
      this.overwriteDialog.addEventListener(
        "close",
        () => resolve(this.overwriteDialog.returnValue === "yes"),
        {
          once: true,
        },
      );
      this.overwriteDialog.showModal();
    });
  }

  private showFailure(reason: string): void {
    if (this.nameDialog.open) this.errorText.textContent = reason;
    else showMessage(`Not saved: ${reason}`, false);
  }
}
