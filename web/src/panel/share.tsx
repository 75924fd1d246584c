// Sharing what is seen: frame, joint, camera, look and a caption, in a link or in a page of its own.

import { signal } from "@preact/signals";
import { Vector3 } from "three";
import { showMessage } from "../notes";
import type { Stage } from "../stage/stage";
import type { Store } from "../store";
import { Button, Dialog, find } from "../ui";

const DIGITS = 4; // of numbers of the camera

export class Share {
  private isOpen = signal(false);
  private caption = signal("");

  constructor(
    private store: Store,
    private stage: Stage,
    /** Write a page that opens with what is seen; `view` is as in the link. */
    private writePage: (view: string) => void,
  ) {}

  open(): void {
    this.isOpen.value = true;
  }

  /** What is seen, as the part of a link after "#". */
  private describe(): string {
    const { frame, picked, style, themeName } = this.store;
    const { yaw, pitch, distance, target } = this.stage.turntable;
    const numbers = [yaw, pitch, distance, ...target.toArray()];
    return String(
      new URLSearchParams({
        frame: String(frame.value),
        joint: this.store.nameOf(picked.value),
        camera: numbers.map((number) => Number(number.toPrecision(DIGITS))).join(),
        style: style.value,
        theme: themeName.value,
        caption: this.caption.value,
      }),
    );
  }

  /** Show what a link or an exported page asks for; return whether there was anything. */
  restore(): boolean {
    const text = location.hash.slice(1) || (document.querySelector("#shared")?.textContent ?? "");
    const view = new URLSearchParams(text);
    if (!view.has("camera")) return false;
    // Another clip must not open with this.
    if (location.hash) history.replaceState(null, "", location.pathname);
    const { store, stage } = this;
    const { names } = store.clip.skeleton;
    const frame = Number(view.get("frame"));
    store.frame.value = Math.min(Math.max(Math.round(frame) || 0, 0), store.clip.frames - 1);
    const joint = names.indexOf(view.get("joint") ?? "");
    store.picked.value = joint < 0 ? undefined : joint;
    const style = store.styles.value.find((each) => each === view.get("style"));
    if (style) store.style.value = style;
    store.themeName.value = view.get("theme") === "dark" ? "dark" : "light";
    const [yaw = 0, pitch = 0, distance = 1, ...target] = (view.get("camera") ?? "")
      .split(",")
      .map(Number);
    stage.turntable.restore(yaw, pitch, distance, new Vector3().fromArray(target));
    this.setCaption(view.get("caption") ?? "");
    return true;
  }

  private setCaption(text: string): void {
    this.caption.value = text;
    find("#caption").textContent = text;
  }

  View = () => {
    const link = this.isOpen.value ? `${location.href.split("#")[0]}#${this.describe()}` : "";
    const copy = () =>
      void navigator.clipboard.writeText(link).then(
        () => showMessage("The link is copied; it works while Synovia runs here"),
        () => showMessage("The browser does not let the page copy: copy the link by hand", false),
      );
    return (
      <Dialog id="share" label="Share this view" open={this.isOpen}>
        <h2>Share this view</h2>
        <p>Frame, joint, camera and caption are kept.</p>
        <label class="field wide">
          Caption
          <input
            type="text"
            value={this.caption.value}
            onInput={({ currentTarget }) => this.setCaption(currentTarget.value)}
          />
        </label>
        <label class="field wide">
          Link
          <input
            type="text"
            readOnly
            value={link}
            onFocus={(event) => event.currentTarget.select()}
          />
        </label>
        <form method="dialog">
          <button type="submit">Close</button>
          <Button label="Copy link" onClick={copy}>
            Copy link
          </Button>
          <Button
            label="Page (HTML): one file that needs no Python"
            class="first"
            onClick={() => this.writePage(this.describe())}
          >
            Page (HTML)
          </Button>
        </form>
      </Dialog>
    );
  };
}
