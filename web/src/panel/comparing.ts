// Compare: the picked joint's limit beside another one, in colour and in per cent of all rotations.
// Limits that depend on another joint are compared as that is in the pose, and as pairs with it.

import type { Group } from "three";
import { type Connection, Latest, STILL_MS } from "../connection";
import { button, element } from "../elements";
import { formatPercent } from "../format";
import { showMessage } from "../notes";
import type { Comparison, PairShares, PoseRequest } from "../protocol";
import { createDifference, GAINED, LOST } from "../stage/difference";
import type { JointSphere } from "../stage/sphere";
import { sendFile } from "./upload";

export class Comparing {
  readonly panel = element("section", { class: "comparing", hidden: true });
  private list = element("select", { "aria-label": "Compare with" });
  private result = element("p", { id: "compared", role: "status" });
  private chooser = element("input", {
    type: "file",
    accept: ".json",
    hidden: true,
    "aria-label": "Limits to compare with",
  });
  private joint: string | undefined;
  private sphere: JointSphere | undefined;
  private picture: Group | undefined;
  /** What was chosen to compare with; undefined until somebody chooses. */
  private chosen: string | null | undefined;
  /** Whether what is compared is another thing in another pose. */
  private isOfPose = false;
  private still: number | undefined;
  private latest = new Latest((joint: string) => this.ask(joint));

  constructor(
    private connection: Connection,
    private pose: () => PoseRequest,
    private onRedraw: () => void,
  ) {
    const open = button(
      "Open …",
      "Open limits to compare with; they can also be dropped here",
      () => this.chooser.click(),
    );
    const choice = element("label", { class: "choose" }, "Compare with", this.list);
    this.panel.append(element("div", {}, choice, open), this.result, this.chooser);
    this.list.addEventListener("change", () => {
      this.chosen = this.list.value || null;
      this.refresh();
    });
    this.chooser.addEventListener("change", () => {
      const file = this.chooser.files?.[0];
      this.chooser.value = "";
      if (file) void this.open(file);
    });
    this.panel.addEventListener("drop", (event) => {
      event.preventDefault();
      event.stopPropagation();
      const file = event.dataTransfer?.files[0];
      if (file) void this.open(file);
    });
  }

  /** Another limit is shown, on this sphere; or none is. */
  show(joint: string | undefined, sphere: JointSphere | undefined): void {
    if (joint !== this.joint) this.clear();
    this.joint = joint;
    this.sphere = sphere;
    this.panel.hidden = joint === undefined || document.body.hasAttribute("data-recorded");
    if (this.picture) sphere?.setDifference(this.picture);
    this.refresh();
  }

  /** The pose has changed. */
  setPose(): void {
    if (!this.isOfPose) return;
    this.clear();
    clearTimeout(this.still);
    this.still = window.setTimeout(() => this.refresh(), STILL_MS);
  }

  private refresh(): void {
    if (this.joint !== undefined && !document.body.hasAttribute("data-recorded"))
      void this.latest.send(this.joint);
  }

  private async ask(joint: string): Promise<void> {
    let answer: Comparison;
    const pose = this.pose();
    try {
      answer = await this.connection.ask("compare", { joint, to: this.chosen ?? null, pose });
    } catch (error) {
      if (joint === this.joint) showMessage((error as Error).message, false);
      return;
    }
    if (joint !== this.joint) return;
    const { others, drivers, pairs } = answer;
    this.isOfPose = drivers.length > 0;
    if (this.chosen === undefined && others.some(({ name, why }) => name === "file" && !why)) {
      this.chosen = "file"; // the command line named it
      this.refresh();
    }
    this.list.replaceChildren(
      element("option", { value: "" }, "nothing"),
      ...others.map(({ name, label, why }) =>
        element("option", { value: name, disabled: why !== null, title: why ?? "" }, label),
      ),
    );
    this.list.value = this.chosen ?? "";
    const why = others.find(({ name }) => name === this.chosen)?.why;
    this.result.textContent = why ?? "";
    this.clear();
    if (answer.to === null) return;
    this.picture = createDifference(answer);
    document.body.toggleAttribute("data-compared", true);
    this.sphere?.setDifference(this.picture);
    const now = drivers.length ? `, as ${drivers.join(" and ")} is now` : "";
    this.result.replaceChildren(
      element("span", {}, swatch(GAINED), `gained ${formatPercent(answer.gained)}`),
      element("span", {}, swatch(LOST), `lost ${formatPercent(answer.lost)}`),
      element("span", {}, `of all rotations${now}`),
      ...(pairs ? [pairsLine(pairs, drivers[0] ?? "")] : []),
    );
    this.onRedraw();
  }

  private clear(): void {
    this.picture = undefined;
    document.body.toggleAttribute("data-compared", false);
    this.sphere?.setDifference(undefined);
    this.onRedraw();
  }

  private async open(file: File): Promise<void> {
    try {
      const upload = await sendFile(this.connection, file);
      const answer = await this.connection.ask("other", { upload });
      if ("refused" in answer) return showMessage(answer.refused, false);
      this.chosen = "file";
      this.refresh();
    } catch (error) {
      showMessage((error as Error).message, false);
    }
  }
}

/** What is gained and lost as pairs with the driver; thin limits are no share of all. */
function pairsLine({ gained, lost, added, removed }: PairShares, driver: string): HTMLElement {
  const all = `gained ${formatPercent(gained)}, lost ${formatPercent(lost)} of all; `;
  const own = `${formatPercent(added)} of them are new, ${formatPercent(removed)} of those before gone`;
  const text = `Pairs with ${driver}: ${gained + lost > 0 ? all : ""}${own}`;
  return element("span", { class: "pairs" }, text);
}

function swatch(colour: string): HTMLElement {
  const made = element("i");
  made.style.background = colour;
  return made;
}
