// Files: save where the command line or Python says, save beside it, download; and what is not saved yet.

import type { Line } from "../connection";
import { button, element } from "../elements";
import { say } from "../notes";

const SUFFIX = ".limits.json";

export class Files {
  readonly tools = element("div", { id: "files", role: "toolbar", "aria-label": "Limits file" });
  private save = button("Save", "Save (Ctrl S)", () => void this.write());
  private saveAs = button("Save as…", "Save as (Ctrl Shift S)", () => void this.ask());
  private name = element("input", {
    type: "text",
    "aria-label": "Name of the file",
    spellcheck: "false",
  });
  private where = element("p");
  private trouble = element("p", { class: "missed", role: "alert" });
  private naming: HTMLDialogElement;
  private nowhere: HTMLDialogElement;
  private asking = element("dialog", { id: "overwrite", "aria-label": "Overwrite" });
  private file: string | null = null;
  private unsaved = false;

  constructor(
    private title: string,
    private line: Line,
  ) {
    const fetch = button("Download", "Download the limits as a file", () => void this.download());
    this.tools.append(this.save, this.saveAs, fetch);
    const form = element("form", { method: "dialog" }, this.name, this.where, this.trouble);
    form.append(
      button("Cancel", "Cancel", () => this.naming.close()),
      element("button", { class: "first" }, "Save"),
    );
    this.naming = element(
      "dialog",
      { id: "naming", "aria-label": "Save as" },
      element("h2", {}, "Save as"),
      form,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.write(this.name.value);
    });
    this.nowhere = this.explained();
    document.body.append(this.naming, this.asking, this.nowhere);
    addEventListener("beforeunload", (event) => this.unsaved && event.preventDefault());
  }

  /** Show where limits are saved, and whether they are. */
  tell(state: Record<string, unknown>): void {
    if (!("unsaved" in state)) return;
    this.file = state.file as string | null;
    this.unsaved = state.unsaved === true;
    const none = this.file === null;
    this.save.textContent = none ? "Save…" : "Save";
    this.save.title = none ? "Save (Ctrl S): how to" : `Save to ${this.file} (Ctrl S)`;
    this.saveAs.hidden = none;
    this.save.toggleAttribute("data-unsaved", this.unsaved);
    document.title = `${this.unsaved ? "• " : ""}${this.title} – Synovia`;
  }

  /** Save to the file, or beside it under a name. */
  async write(name: string | null = null, overwrite = false): Promise<void> {
    if (this.file === null) {
      this.explain();
      return;
    }
    this.trouble.textContent = "";
    try {
      const { header } = await this.line.ask("save", { as: name, overwrite });
      this.tell(header);
      if (typeof header.exists === "string") {
        if (await this.mayReplace(header.exists)) await this.write(name, true);
      } else if (typeof header.refused === "string") this.fail(header.refused);
      else {
        this.naming.close();
        say(`Saved ${header.saved as string}`);
      }
    } catch (error) {
      this.fail((error as Error).message);
    }
  }

  private explain(): void {
    this.nowhere.showModal();
    // The attribute `autofocus` would be refused, and complained of, in the frame of a notebook.
    this.nowhere.querySelector<HTMLElement>(".first")?.focus();
  }

  /** Ask for a name, and save under it. */
  ask(): void {
    if (this.file === null) {
      this.explain();
      return;
    }
    const [, folder, name] = /^(.*[/\\])?([^/\\]*)$/.exec(this.file) ?? [];
    this.name.value = name ?? "";
    this.where.textContent = folder ? `In ${folder}` : "In the folder where synovia was started";
    this.trouble.textContent = "";
    this.naming.showModal();
    this.name.setSelectionRange(0, Math.max(this.name.value.length - SUFFIX.length, 0));
  }

  /** Without a file that was named at the start: what to do instead. */
  private explained(): HTMLDialogElement {
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

  private async download(): Promise<void> {
    try {
      const { header } = await this.line.ask("download");
      if (typeof header.refused === "string") return say(header.refused, false);
      const url = URL.createObjectURL(
        new Blob([header.text as string], { type: "application/json" }),
      );
      element("a", { href: url, download: header.name as string }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (error) {
      say((error as Error).message, false);
    }
  }

  /** Whether a file that was there before may be replaced: that is asked once. */
  private mayReplace(name: string): Promise<boolean> {
    return new Promise((resolve) => {
      const form = element("form", { method: "dialog" });
      form.append(
        element("button", { value: "no" }, "Keep it"),
        element("button", { value: "yes", class: "first" }, "Overwrite"),
      );
      this.asking.replaceChildren(
        element("h2", {}, "Overwrite?"),
        element(
          "p",
          {},
          element("b", {}, name),
          " is there already, and what is in it would be gone.",
        ),
        form,
      );
      this.asking.returnValue = "no";
      this.asking.addEventListener("close", () => resolve(this.asking.returnValue === "yes"), {
        once: true,
      });
      this.asking.showModal();
    });
  }

  private fail(reason: string): void {
    if (this.naming.open) this.trouble.textContent = reason;
    else say(`Not saved: ${reason}`, false);
  }
}
