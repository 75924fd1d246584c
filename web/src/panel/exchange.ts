// Files in and out: what is dropped or opened, the clips of a folder, limits of a human, and what one
// takes home.

import type { Connection } from "../connection";
import { button, element, find } from "../elements";
import { formatDegrees, formatPercent } from "../format";
import { showMessage } from "../notes";
import type { ClipRow, Discards, ExportRequest, Refusal, State } from "../protocol";
import { type Files, saveBlob } from "./files";

/** Bytes of a piece: below what a request may have. */
const PIECE = 512 << 10;
/** Milliseconds until a list that is still being made is asked for again. */
const SOON_MS = 1000;

/** What the page shows now. */
export interface Shown {
  pose(): { frame: number; rotations: number[]; positions: number[] };
  soften(): string | null;
  picture(): Promise<Blob>;
  /** A film of one turn around it. */
  film(): Promise<Blob>;
  names: string[];
}

export class Exchange {
  private chooser = element("input", { type: "file", hidden: true, "aria-label": "File to open" });
  private menu = element("div", { class: "menu", popover: "auto", "aria-label": "Files" });
  private clipsDialog = createDialog("clips", "Clips of the folder");
  private rolesDialog = createDialog("roles", "Which joint is which");
  private discardDialog = createDialog("discard", "Edits that are not saved");

  constructor(
    private files: Files,
    private connection: Connection,
    private shown: Shown,
  ) {
    if (document.body.hasAttribute("data-recorded")) return;
    const open = button("Files", "Open files, and take some home", () => {
      const { left, bottom } = open.getBoundingClientRect();
      this.menu.style.left = `${left}px`;
      this.menu.style.top = `${bottom + 4}px`;
      this.menu.togglePopover();
    });
    this.files.tools.prepend(open);
    document.body.append(this.chooser, this.menu);
    this.fillMenu([]);
    this.chooser.addEventListener("change", () => {
      const file = this.chooser.files?.[0];
      this.chooser.value = "";
      if (file) void this.load(file);
    });
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void this.load(file);
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
      entry("Human limits", "Limits of a human for this rig", () => void this.useHuman({})),
      entry(
        "Map joints …",
        "Say which joint is which, where names do not",
        () => void this.mapJoints(""),
      ),
      element("hr"),
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

  /** Send a file, and show it. */
  private async load(file: File): Promise<void> {
    showMessage(`Opening ${file.name} …`);
    await report(async () => {
      const send = async () => {
        const upload = crypto.randomUUID();
        for (let at = 0; at === 0 || at < file.size; at += PIECE) {
          const piece = new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer());
          const { name, size } = file;
          await this.connection.ask("send", { upload, name, size }, piece);
        }
        return upload;
      };
      await this.change(async (discard) =>
        this.connection.ask("load", { upload: await send(), discard }),
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
        (reason) => void this.mapJoints(reason),
      ),
    );
  }

  /** Show which joint has which role, to be changed by hand. */
  private async mapJoints(reason: string): Promise<void> {
    const { roles, found, why } = await this.connection.ask("roles", {});
    const lists = this.shown.names.map((joint) => {
      const list = element("select", { "aria-label": `Role of ${joint}`, "data-joint": joint });
      list.append(
        element("option", { value: "" }, "–"),
        ...roles.map((role) => element("option", { value: role }, role)),
      );
      list.value = found[joint] ?? "";
      return list;
    });
    const rows = lists.map((list) =>
      element(
        "tr",
        {},
        element("td", {}, element("bdi", {}, list.dataset.joint ?? "")),
        element("td", {}, list),
      ),
    );
    const form = element(
      "form",
      { method: "dialog" },
      element("button", {}, "Cancel"),
      element("button", { class: "first", value: "yes" }, "Human limits"),
    );
    this.rolesDialog.replaceChildren(
      element("h2", {}, "Which joint is which"),
      element("p", { class: "missed" }, reason || why || ""),
      element("div", { class: "rows" }, element("table", {}, ...rows)),
      form,
    );
    this.rolesDialog.returnValue = "";
    this.rolesDialog.addEventListener(
      "close",
      () => {
        if (this.rolesDialog.returnValue !== "yes") return;
        const said = lists.map((list) => [list.dataset.joint ?? "", list.value] as const);
        void this.useHuman(
          Object.fromEntries(said.filter(([joint, role]) => role !== (found[joint] ?? ""))),
        );
      },
      { once: true },
    );
    this.rolesDialog.showModal();
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
    const worst = error ? "cannot be read" : known ? formatDegrees(worstDeg) : "…";
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
      showMessage("Recording one turn …");
      const film = await this.shown.film();
      saveBlob(`synovia.${film.type.includes("mp4") ? "mp4" : "webm"}`, film);
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
