// Files in and out: what is dropped or opened, the clips of a folder, limits of a human, and what one
// takes home.

import type { Connection } from "../connection";
import { button, element, find } from "../elements";
import { formatDegrees, formatPercent } from "../format";
import { showMessage } from "../notes";
import type { ClipRow, Discards, ExportRequest, Refusal, State } from "../protocol";
import { type Files, saveBlob } from "./files";
import { RolesDialog } from "./roles";
import { sendFile } from "./upload";

/** Milliseconds until a list that is still being made is asked for again. */
const SOON_MS = 1000;

/** What the page shows now. */
export interface Shown {
  pose(): { frame: number; rotations: number[]; positions: number[] };
  soften(): string | null;
  picture(): Promise<Blob>;
  /** A film of one turn around it; `tell` hears which share is done. */
  film(tell: (share: number) => void): Promise<Blob>;
  names: string[];
  /** Ask what to fit limits from. */
  fit(): void;
}

export class Exchange {
  private chooser = element("input", {
    type: "file",
    hidden: true,
    multiple: true,
    "aria-label": "File to open",
  });
  private menu = element("div", { class: "menu", popover: "auto", "aria-label": "Files" });
  private clipsDialog = createDialog("clips", "Clips of the folder");
  private rolesDialog: RolesDialog;
  private discardDialog = createDialog("discard", "Edits that are not saved");

  constructor(
    private files: Files,
    private connection: Connection,
    private shown: Shown,
  ) {
    this.rolesDialog = new RolesDialog(
      connection,
      shown.names,
      (roles) => void this.useHuman(roles),
    );
    if (document.body.hasAttribute("data-recorded")) return;
    const open = button("Files", "Open files, and take some home", () => {});
    open.popoverTargetElement = this.menu; // so that a second click closes it
    this.menu.addEventListener("beforetoggle", () => {
      const { left, bottom } = open.getBoundingClientRect();
      this.menu.style.setProperty("--left", `${left}px`);
      this.menu.style.setProperty("--top", `${bottom + 4}px`);
    });
    this.files.tools.prepend(open);
    document.body.append(this.chooser, this.menu);
    this.fillMenu([]);
    this.chooser.addEventListener("change", () => {
      const files = [...(this.chooser.files ?? [])];
      this.chooser.value = "";
      void this.loadAll(files);
    });
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      void this.loadAll([...(event.dataTransfer?.files ?? [])]);
    });
    void this.offerClips();
  }

  private fillMenu(more: HTMLElement[]): void {
    const entry = (text: string, label: string, act: () => void) =>
      button(text, label, () => {
        this.menu.hidePopover();
        act();
      });
    const take = (text: string, label: string, what: ExportRequest["what"], suffix?: ".glb") =>
      entry(text, label, () => void this.take(what, suffix));
    this.menu.replaceChildren(
      entry("Open …", "Open a clip or limits; they can also be dropped", () =>
        this.chooser.click(),
      ),
      ...more,
      entry("Fit from these …", "Fit limits from the clips of the list, or from this one", () =>
        this.shown.fit(),
      ),
      entry("Human limits", "Limits of a human for this rig", () => void this.useHuman({})),
      entry(
        "Map joints …",
        "Say which joint is which, where names do not",
        () => void this.rolesDialog.open(""),
      ),
      element("hr"),
      element("small", {}, "Take home"),
      take("Clamped clip", "Take home the clip within its limits", "clamped"),
      take("This pose", "Take home the pose that is shown, as BVH", "pose"),
      take("Clip, glTF", "Take home the clip as it is, as glTF", "clip", ".glb"),
      take("Clamped, glTF", "Take home the clip within its limits, as glTF", "clamped", ".glb"),
      take("Pose, glTF", "Take home the pose that is shown, as glTF", "pose", ".glb"),
      entry("Limits", "Take home the limits", () => void this.files.download()),
      take("Violations", "Take home the violations as a table, CSV", "violations"),
      entry("Picture", "Take home what is seen, PNG", () => void this.takePicture()),
      entry("Turntable", "Take home a video of one turn around it", () => void this.takeFilm()),
      take("Page", "Take home all of this as one file of HTML that needs no Python", "page"),
    );
  }

  /** Send files: the last is shown, clips before it are in the list. */
  private async loadAll(files: File[]): Promise<void> {
    const last = files.pop();
    for (const file of files)
      await report(async () => {
        showMessage(`Opening ${file.name} …`);
        const upload = await sendFile(this.connection, file);
        const answer = await this.connection.ask("keep", { upload });
        if ("refused" in answer) throw new Error(answer.refused);
      });
    if (last) await this.load(last);
  }

  /** Send a file, and show it. */
  private async load(file: File): Promise<void> {
    showMessage(`Opening ${file.name} …`);
    await report(async () => {
      await this.change(async (discard) =>
        this.connection.ask("load", { upload: await sendFile(this.connection, file), discard }),
      );
    });
  }

  /** Do what may cost edits that are not saved: that is asked first. Tell whether it was done. */
  private async change(
    act: (discard: boolean) => Promise<State | Refusal | Discards>,
    failed: (reason: string) => void = (reason) => showMessage(reason, false),
  ): Promise<void> {
    let answer = await act(false);
    if ("discards" in answer) {
      if (!(await this.confirmDiscard())) return;
      answer = await act(true);
    }
    if ("refused" in answer) failed(answer.refused);
  }

  private confirmDiscard(): Promise<boolean> {
    const dialog = this.discardDialog;
    const form = element(
      "form",
      { method: "dialog" },
      element("button", { value: "no" }, "Cancel"),
      element("button", { value: "yes", class: "first" }, "Go on without them"),
    );
    dialog.replaceChildren(
      element("h2", {}, "Edits that are not saved"),
      element("p", {}, "They would be gone: other limits take their place."),
      form,
    );
    dialog.returnValue = "no";
    dialog.showModal();
    return new Promise((resolve) =>
      dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), {
        once: true,
      }),
    );
  }

  private async useHuman(roles: Record<string, string>): Promise<void> {
    await report(() =>
      this.change(
        (discard) => this.connection.ask("human", { source: "human", roles, discard }),
        (reason) => void this.rolesDialog.open(reason),
      ),
    );
  }

  /** Where the command line named a folder, let one choose between its clips. */
  private async offerClips(): Promise<void> {
    const { clips } = await this.connection.ask("clips", {});
    if (!clips.length) return;
    const label = "The clips of the folder, the worst first";
    this.fillMenu([
      button("Clips …", label, () => {
        this.menu.hidePopover();
        this.clipsDialog.showModal();
        void this.listClips();
      }),
    ]);
  }

  private async listClips(): Promise<void> {
    const { clips, checking } = await this.connection.ask("clips", {});
    const close = element("form", { method: "dialog" }, element("button", {}, "Close"));
    this.clipsDialog.replaceChildren(
      element("h2", {}, "Clips of the folder"),
      element("p", { role: "status" }, checking ? "Still checking …" : ""),
      element(
        "div",
        { class: "rows" },
        element("table", {}, ...clips.map((row) => this.clipRow(row))),
      ),
      close,
    );
    if (checking && this.clipsDialog.open) setTimeout(() => void this.listClips(), SOON_MS);
  }

  private clipRow({ number, name, worstDeg, share, error }: ClipRow): HTMLElement {
    const choose = button(name, `Show ${name}`, () => {
      this.clipsDialog.close();
      void report(() => this.change(() => this.connection.ask("choose", { number })));
    });
    const known = worstDeg !== null && share !== null;
    const outside = worstDeg ? `${formatDegrees(worstDeg)} outside` : "inside";
    const worst = error ? "cannot be read" : known ? outside : "…";
    const cell = element("td", {}, worst);
    if (error) cell.title = error;
    const often = known && worstDeg > 0 ? `in ${formatPercent(share)} of frames` : "";
    return element("tr", {}, element("td", {}, choose), cell, element("td", {}, often));
  }

  private async take(what: ExportRequest["what"], suffix?: ".glb"): Promise<void> {
    await report(async () => {
      const soften = this.shown.soften();
      const request = { what, soften, ...(suffix ? { suffix } : {}), ...this.shown.pose() };
      const answer = await this.connection.ask("export", request);
      if ("refused" in answer) showMessage(answer.refused, false);
      else saveBlob(answer.name, new Blob([answer.content]));
    });
  }

  private async takePicture(): Promise<void> {
    await report(async () => saveBlob("synovia.png", await this.shown.picture()));
  }

  private async takeFilm(): Promise<void> {
    await report(async () => {
      let told = "";
      const film = await this.shown.film((share) => {
        const text = `Recording one turn … ${10 * Math.floor(10 * share)}%`;
        if (text !== told) showMessage(text);
        told = text;
      });
      saveBlob("synovia.webm", film);
    });
  }
}

function createDialog(id: string, label: string): HTMLDialogElement {
  const dialog = element("dialog", { id, "aria-label": label });
  find("body").append(dialog);
  return dialog;
}

/** Do something, and say where it fails. */
async function report(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    showMessage((error as Error).message, false);
  }
}
