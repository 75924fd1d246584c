// What there is to know about the picked joint; without one, what to do first.

import type { Quaternion } from "three";
import type { Clip } from "../clip";
import type { Brush } from "../edit/brush";
import { button, element, find } from "../elements";
import { formatDegrees, formatShare } from "../format";
import { quaternionAt } from "../pose/kinematics";
import type { NearestSample, Why } from "../protocol";
import { type Theme, TWIST } from "../stage/colours";
import type { Region } from "../stage/region";
import { formatVerdict, verdictClass } from "../verdict";
import type { Evidence } from "./evidence";
import { Inset } from "./inset";

const FIRST = [
  ["Click a joint", "(a dot in the view, or its name in the list) to see what its limit allows."],
  ["Press Space", "to play; the strip below shows when a joint is outside, and its dot turns red."],
  ["Drag", "to turn the view, the wheel zooms, ? shows all keys."],
  ["Go on", "above: Try moves hands and feet within the limits, Edit changes them."],
] as const;

export class JointPanel {
  readonly intro = element("div", { class: "intro" });
  readonly details = element("div", { class: "joint", hidden: true });
  /** Where the picture of rotations is, unless it fills the stage. */
  readonly insetPlace = element("div");
  private title = element("h2");
  private status = element("p", { id: "now", role: "status" });
  private facts = element("dl");
  private scale = element("div", { class: "scale" });
  private inset: Inset;
  private picture: HTMLElement;
  private dotsText = element("span");
  private enlargeButton = button("⤢", "Enlarge this picture", () => this.toggleLarge());
  private editButton: HTMLButtonElement;
  /** Why the joint is outside. */
  private reason = element("div", { id: "why" });
  private picked: number | undefined;
  private shareHere = element("dd", { class: "known" });

  constructor(
    private clip: Clip,
    private evidence: Evidence,
    edit: () => void,
    private remedies: { label: string; title: string; act: () => void }[],
    /** Told of a rotation that was observed, to pose the body by. */
    private recall: (rotation: Quaternion, clip: string, frame: number) => void,
  ) {
    this.intro.append(
      element("h2", {}, "What to do first"),
      element(
        "ol",
        {},
        ...FIRST.map(([what, why]) => element("li", {}, element("b", {}, what), ` ${why}`)),
      ),
    );
    const canvas = element("canvas", {
      id: "inset",
      role: "img",
      "aria-label": "The limit among rotations",
    });
    const inset = new Inset(canvas);
    this.inset = inset;
    evidence.follow(
      canvas,
      () => inset.camera,
      inset.dots,
      () => !inset.brush,
    );
    evidence.onChange = () => inset.showSamples(evidence.shown);
    this.picture = element(
      "figure",
      { class: "inset" },
      element("div", {}, canvas, this.enlargeButton),
      element(
        "figcaption",
        {},
        "Rotations as vectors from the reference: the limit, ",
        this.dotsText,
        ", a ball for now. Axes about x, y, z with a mark every 30°.",
      ),
    );
    document.addEventListener("keydown", (event) => this.shrinkOnEscape(event), { capture: true });
    this.editButton = button("", "", edit, { class: "wide", "data-in": "look" });
    this.reason.hidden = true;
    this.details.append(
      this.title,
      this.status,
      this.reason,
      this.facts,
      this.scale,
      this.editButton,
    );
    this.insetPlace.append(this.picture, evidence.panel);
    this.picture.hidden = true;
    this.scale.style.setProperty("--twist", TWIST.join());
  }

  pick(joint: number | undefined): void {
    this.intro.hidden = joint !== undefined;
    this.details.hidden = joint === undefined;
    if (joint === undefined) {
      this.picked = undefined;
      this.picture.hidden = true;
      this.evidence.show(undefined);
      if (this.isLarge) this.toggleLarge();
      return;
    }
    this.title.textContent = this.clip.skeleton.names[joint] ?? "";
    const limited = this.clip.limited.includes(joint);
    this.editButton.textContent = limited ? "Edit this limit" : "Give it a limit";
    this.editButton.title = `${this.editButton.textContent} (3)`;
    this.editButton.setAttribute("aria-label", this.editButton.title);
    this.editButton.hidden = this.clip.skeleton.parents[joint] === -1;
    const same = this.picked === joint;
    this.picked = joint;
    if (limited && same) return; // what is shown stays until the new picture is there
    if (!limited && this.isLarge) this.toggleLarge();
    this.status.textContent = limited ? "" : "This joint has no limit.";
    this.status.className = "";
    this.facts.replaceChildren(...(limited ? fact("Limit", "is being drawn …") : []));
    this.scale.hidden = this.picture.hidden = true;
    this.evidence.show(undefined);
  }

  show(region: Region, joint: number, theme: Theme, onObserved: () => void): void {
    const [least, most] = region.twistSpan;
    this.facts.replaceChildren(
      ...fact("Family", region.label, "known"),
      ...fact("Chart", region.chart, "known"),
      ...this.measuredFromFact(joint),
      ...fact("Allows", formatShare(region.share), "known"),
      ...(this.hasDriver(joint) ? [element("dt", { class: "known" }, "Now"), this.shareHere] : []),
    );
    this.scale.hidden = this.picture.hidden = false;
    const ends = [least, most].map((angle) =>
      element("span", { class: "end" }, `${angle.toFixed(0)}°`),
    );
    const same = ends[0]?.textContent === ends[1]?.textContent; // then there is but one colour
    this.scale.replaceChildren(
      element("span", {}, "Range of twist"),
      ...ends.slice(0, 1),
      ...(same ? ["everywhere"] : [element("i"), ...ends.slice(1)]),
    );
    const { evidence } = this;
    evidence.observe(joint).then(
      (observations) => {
        if (this.picked !== joint) return;
        this.dotsText.textContent = observations.caption;
        evidence.show(observations);
        this.inset.show(region, evidence.shown, theme, joint);
        onObserved();
      },
      () => {},
    );
  }

  /** Show what is legal now of a limit that depends on another joint; or none such is picked. */
  showHere(region: Region | undefined): void {
    this.shareHere.textContent = region ? formatShare(region.share) : "";
    this.inset.showHere(region);
  }

  private hasDriver(joint: number): boolean {
    const isRecorded = document.body.hasAttribute("data-recorded");
    return !isRecorded && (this.clip.state.drivers[joint] ?? -1) >= 0;
  }

  /** Give the inset a brush, or take it away. */
  setBrush(brush: Brush | undefined): void {
    this.inset.brush = brush;
  }

  private get isLarge(): boolean {
    return this.picture.classList.contains("large");
  }

  /** Let the picture fill the stage, or put it back. */
  private toggleLarge(): void {
    const large = !this.isLarge;
    this.picture.classList.toggle("large", large);
    (large ? find("main") : this.insetPlace).append(this.picture);
    const label = large ? "Shrink this picture (Esc)" : "Enlarge this picture";
    this.enlargeButton.title = label;
    this.enlargeButton.setAttribute("aria-label", label);
    this.enlargeButton.textContent = large ? "⤡" : "⤢";
    this.enlargeButton.focus();
  }

  private shrinkOnEscape(event: KeyboardEvent): void {
    if (event.key !== "Escape" || !this.isLarge) return;
    event.stopPropagation();
    if (!this.cancelDrag()) this.toggleLarge();
  }

  /** Take back what is dragged in the picture; tell whether there is something. */
  cancelDrag(): boolean {
    return this.inset.cancel();
  }

  /** What a joint is measured from, where that is not its parent. */
  private measuredFromFact(joint: number): HTMLElement[] {
    const { names, parents, measuredFrom } = this.clip.skeleton;
    const above = measuredFrom[joint] ?? -1;
    return above === parents[joint] ? [] : fact("Seen from", names[above] ?? "");
  }

  /** Say how far outside the picked joint is, in degrees. */
  showViolation(outsideDeg: number): void {
    const verdict = formatVerdict(outsideDeg, this.clip.state.twoVerdicts);
    this.status.textContent = outsideDeg === 0 ? "Inside its limit" : verdict;
    this.status.className = verdictClass(outsideDeg);
  }

  /** Say why the joint is outside: by swing and twist, and in words where it has some. */
  showWhy(why: Why | undefined): void {
    this.reason.hidden = !why;
    if (!why) return;
    const { outsideDeg, swingDeg, twistDeg, name, move, heldBy, nearest } = why;
    const words = name && move ? `${name}: ${formatDegrees(outsideDeg)} beyond ${move}` : "";
    const apart = `Swing ${formatDegrees(swingDeg)}, twist ${formatDegrees(Math.abs(twistDeg))} too far`;
    this.reason.replaceChildren(
      ...(words ? [element("b", {}, words.charAt(0).toUpperCase() + words.slice(1))] : []),
      ...(heldBy ? [this.heldLine(heldBy)] : []),
      element("span", {}, apart),
      ...(nearest ? [this.nearestLine(nearest)] : []),
      element(
        "div",
        { class: "remedies" },
        ...this.remedies.map(({ label, title, act }) => button(label, title, act)),
      ),
    );
  }

  /** That another joint is why, which has to be elsewhere for this one to be as it is. */
  private heldLine(driver: string): HTMLElement {
    return element(
      "span",
      { class: "held" },
      "Held by ",
      element("bdi", {}, driver),
      ": it could be so if that were elsewhere",
    );
  }

  /** What was observed nearest to the pose, whose it was, and a button that shows it. */
  private nearestLine({ performer, clip, frame, deg, rotation }: NearestSample): HTMLElement {
    const show = button("Show", "Pose the body as it was observed there", () =>
      this.recall(quaternionAt(rotation, 0), clip, frame),
    );
    return element(
      "div",
      { class: "nearest" },
      element(
        "span",
        {},
        `Nearest observed ${formatDegrees(deg)} away: `,
        element("bdi", {}, performer),
        ` in ${clip}, frame ${frame}`,
      ),
      show,
    );
  }

  setRotation(rotation: Quaternion, outside: boolean): void {
    this.inset.setRotation(rotation, outside);
  }
}

function fact(name: string, value: string, kind = ""): HTMLElement[] {
  return [element("dt", { class: kind }, name), element("dd", { class: kind }, value)];
}
