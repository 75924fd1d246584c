// Files in and out: opened or dropped files, clips of a folder, human limits, and downloads.

import { useRef } from "preact/hooks";
import { sendFile } from "../connection";
import { report, showMessage } from "../notes";
import type { ExportRequest, Loaded } from "../protocol";
import type { Stage } from "../stage/stage";
import { recordTurn } from "../stage/video";
import type { Store } from "../store";
import { Button, FileChooser, saveBlob } from "../ui";
import type { Files } from "./files";
import type { FitPanel } from "./fitting";
import type { RangesDialog } from "./ranges";
import { RolesDialog } from "./roles";
import { Share } from "./share";

const EXPORTS: [string, string, ExportRequest["what"], ".glb"?][] = [
  ["Clamped clip", "Download the clip within its limits", "clamped"],
  ["This pose", "Download the pose that is shown, as BVH", "pose"],
  ["Clip, glTF", "Download the clip as it is, as glTF", "clip", ".glb"],
  ["Clamped, glTF", "Download the clip within its limits, as glTF", "clamped", ".glb"],
  ["Pose, glTF", "Download the pose that is shown, as glTF", "pose", ".glb"],
];

export class Exchange {
  readonly share: Share;
  private roles: RolesDialog;

  constructor(
    private store: Store,
    private stage: Stage,
    private files: Files,
    readonly fitting: FitPanel,
    readonly ranges: RangesDialog,
  ) {
    this.share = new Share(store, stage, (view) => void this.takeExport("page", { view }));
    this.roles = new RolesDialog(store, (roles) => void this.useHuman(roles));
    if (store.isRecorded) return;
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      void report(async () => this.openAll(await this.dropped(event.dataTransfer)));
    });
  }

  /** The files that were dropped, and those below folders that can be opened. */
  private async dropped(transfer: DataTransfer | null): Promise<File[]> {
    const entries = [...(transfer?.items ?? [])].map((item) => item.webkitGetAsEntry());
    const files = [...(transfer?.files ?? [])]; // before the first pause: later they are gone
    if (!entries.some((entry) => entry?.isDirectory)) return files;
    const below = await Promise.all(entries.map((entry) => entry && filesBelow(entry)));
    const { suffixes } = this.store.clip;
    const all = below.flatMap((found) => found ?? []);
    return all.filter(({ name }) => suffixes.some((suffix) => name.toLowerCase().endsWith(suffix)));
  }

  /** Send files: the last is shown, clips before it go into the list. */
  private async openAll(files: File[]): Promise<void> {
    const { connection } = this.store;
    // A skeleton comes before the motion that needs it.
    const order = [...files].sort((a, b) => Number(isSkeleton(b)) - Number(isSkeleton(a)));
    const refused: string[] = [];
    for (const [index, file] of order.entries())
      try {
        showMessage(`Opening ${file.name} (${index + 1} of ${order.length}) …`);
        const upload = await sendFile(connection, file);
        if (index === order.length - 1)
          await this.change((discard) => connection.ask("load", { upload, discard }));
        else await connection.ask("keep", { upload });
      } catch (error) {
        refused.push((error as Error).message);
      }
    if (!refused.length) return;
    const more = refused.length > 1 ? `${refused.length} files were not read. ` : "";
    showMessage(`${more}${refused.at(-1)}`, false);
  }

  /** Do something that may lose unsaved edits, after asking. */
  private async change(act: (discard: boolean) => Promise<Loaded>): Promise<void> {
    const { discards } = await act(false);
    if (!discards) return;
    const text = <p>They would be lost: other limits replace them.</p>;
    const question = { title: "Edits that are not saved", text, yes: "Discard them" };
    if (await this.files.confirm(question)) await act(true);
  }

  private async useHuman(roles: Record<string, string>): Promise<void> {
    const { connection } = this.store;
    try {
      await this.change((discard) => connection.ask("human", { source: "human", roles, discard }));
    } catch (error) {
      await report(() => this.roles.show((error as Error).message));
    }
  }

  private takeExport(what: ExportRequest["what"], more: Partial<ExportRequest>): Promise<void> {
    const soften = this.store.soften.value;
    return report(async () => {
      showMessage("Writing the file …");
      const request = { what, soften, ...more, ...this.store.poseRequest() };
      showMessage(`Wrote ${await this.store.download(request)}`);
    });
  }

  private takeVideo(): Promise<void> {
    const { stage } = this;
    const draw = (yaw: number) => {
      stage.turntable.rotate(yaw, 0);
      stage.drawNow();
    };
    let shown = "";
    const showProgress = (share: number) => {
      const text = `Recording one turn … ${10 * Math.floor(10 * share)}%`;
      if (text !== shown) showMessage(text);
      shown = text;
    };
    return report(async () => {
      saveBlob("synovia.webm", await recordTurn(stage.canvas, draw, showProgress));
      stage.draw();
    });
  }

  Menu = () => {
    const chooser = useRef<HTMLInputElement>(null);
    const menu = useRef<HTMLDivElement>(null);
    const entry = (text: string, label: string, act: () => void) => (
      <Button
        key={text}
        label={label}
        onClick={() => {
          menu.current?.hidePopover();
          act();
        }}
      >
        {text}
      </Button>
    );
    const take = ([text, label, what, suffix]: (typeof EXPORTS)[number]) =>
      entry(text, label, () => void this.takeExport(what, suffix ? { suffix } : {}));
    return (
      <>
        <Button label="Open files, or export some" popovertarget="menu">
          Files
        </Button>
        <FileChooser
          label="File to open"
          multiple
          chooser={chooser}
          onChoose={(files) => void this.openAll(files)}
        />
        <div
          id="menu"
          class="menu"
          popover="auto"
          role="group"
          aria-label="Files"
          ref={menu}
          onBeforeToggle={({ currentTarget }) => {
            const button = currentTarget.parentElement?.querySelector("button");
            const { left = 0, bottom = 0 } = button?.getBoundingClientRect() ?? {};
            currentTarget.style.setProperty("--left", `${left}px`);
            currentTarget.style.setProperty("--top", `${bottom + 4}px`);
          }}
        >
          {entry("Open …", "Open a clip or limits; they can also be dropped", () =>
            chooser.current?.click(),
          )}
          {entry(
            "Fit from these …",
            "Fit limits from the clips of the list, or from this one",
            () => void this.fitting.open(),
          )}
          {entry("Human limits", "Limits of a human for this rig", () => void this.useHuman({}))}
          {entry(
            "Map joints …",
            "Say which joint is which bone, where names do not tell",
            () => void this.roles.show(""),
          )}
          <hr />
          <small>Download</small>
          {EXPORTS.map(take)}
          {entry(
            "Angles, report …",
            "Angles, report …: what the clip uses, joint by joint, with norms; also CSV",
            () => void this.ranges.open(),
          )}
          {entry("Limits", "Download the limits", () => void this.files.download())}
          {take(["Violations", "Download the violations as a table, CSV", "violations"])}
          {entry(
            "Picture",
            "Download what is seen, PNG",
            () => void report(async () => saveBlob("synovia.png", await this.stage.picture())),
          )}
          {entry(
            "Turntable",
            "Download a video of one turn around it",
            () => void this.takeVideo(),
          )}
          {entry("Share …", "Share this view as a link, or as one file of HTML", () =>
            this.share.open(),
          )}
        </div>
      </>
    );
  };

  Dialogs = () => (
    <>
      <this.roles.View />
      <this.share.View />
    </>
  );
}

const isSkeleton = ({ name }: File): boolean => name.toLowerCase().endsWith(".asf");

/** All files below an entry of a drop. */
async function filesBelow(entry: FileSystemEntry): Promise<File[]> {
  if (entry instanceof FileSystemFileEntry)
    return [await new Promise<File>((resolve, reject) => entry.file(resolve, reject))];
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const files: File[] = [];
  for (;;) {
    // A reader returns some entries at a time, and none at the end.
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (!entries.length) return files;
    for (const each of entries) files.push(...(await filesBelow(each)));
  }
}
