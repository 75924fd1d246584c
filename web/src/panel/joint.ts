// What there is to know about the picked joint; without one, what to do first.

import type { Quaternion } from "three";
import type { Clip } from "../clip";
import type { Line } from "../connection";
import type { Brush } from "../edit/brush";
import { button, degrees, element, found } from "../elements";
import { quaternionAt, seen } from "../pose/kinematics";
import type { Theme } from "../stage/colours";
import type { Region } from "../stage/region";
import { Inset } from "./inset";

const MOST_SAMPLES = 3000;
const FIRST = [
  ["Click a joint", "(a dot in the view, or its name in the list) to see what its limit allows."],
  ["Press Space", "to play; the strip below shows when a joint is outside, and its dot turns red."],
  ["Drag", "to turn the view, the wheel zooms, ? shows all keys."],
  ["Go on", "above: Try moves hands and feet within the limits, Edit changes them."],
] as const;

/** Rotations of a joint, and in words what they are. */
interface Observed {
  samples: Quaternion[];
  told: string;
}

export class Panel {
  readonly intro = element("div", { class: "intro" });
  readonly joint = element("div", { class: "joint", hidden: true });
  /** Where the picture of rotations is, unless it fills the stage. */
  readonly place = element("div");
  private title = element("h2");
  private now = element("p", { id: "now", role: "status" });
  private facts = element("dl");
  private scale = element("div", { class: "scale" });
  private inset: Inset;
  private picture: HTMLElement;
  private dots = element("span");
  private enlarge = button("⤢", "Enlarge this picture", () => this.resize());
  private begin: HTMLButtonElement;
  private picked: number | undefined;
  private observed = new Map<string, Promise<Observed>>();

  constructor(
    private clip: Clip,
    private line: Line,
    edit: () => void,
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
    this.inset = new Inset(canvas);
    this.picture = element(
      "figure",
      { class: "inset" },
      element("div", {}, canvas, this.enlarge),
      element(
        "figcaption",
        {},
        "Rotations as vectors from the reference: the limit, ",
        this.dots,
        ", a ball for now. Axes about x, y, z with a mark every 30°.",
      ),
    );
    document.addEventListener("keydown", (event) => this.escape(event), { capture: true });
    this.begin = button("", "", edit, { class: "wide", "data-in": "look" });
    this.joint.append(this.title, this.now, this.facts, this.scale, this.begin);
    this.place.append(this.picture);
    this.picture.hidden = true;
  }

  pick(joint: number | undefined): void {
    this.intro.hidden = joint !== undefined;
    this.joint.hidden = joint === undefined;
    if (joint === undefined) {
      this.picked = undefined;
      this.picture.hidden = true;
      if (this.large) this.resize();
      return;
    }
    this.title.textContent = this.clip.skeleton.names[joint] ?? "";
    const limited = this.clip.limited.includes(joint);
    this.begin.textContent = limited ? "Edit this limit" : "Give it a limit";
    this.begin.title = `${this.begin.textContent} (3)`;
    this.begin.setAttribute("aria-label", this.begin.title);
    this.begin.hidden = this.clip.skeleton.parents[joint] === -1;
    const same = this.picked === joint;
    this.picked = joint;
    if (limited && same) return; // what is shown stays until the new picture is there
    if (!limited && this.large) this.resize();
    this.now.textContent = limited ? "" : "This joint has no limit.";
    this.now.className = "";
    this.facts.replaceChildren(...(limited ? fact("Limit", "is being drawn …") : []));
    this.scale.hidden = this.picture.hidden = true;
  }

  show(region: Region, joint: number, theme: Theme): void {
    const [least, most] = region.span;
    this.facts.replaceChildren(
      ...fact("Family", region.family, "known"),
      ...fact("Chart", region.chart, "known"),
      ...this.measured(joint),
      ...fact("Allows", told(region.share), "known"),
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
    const key = `${joint} from ${this.clip.skeleton.measuredFrom[joint]}`;
    const known = this.observed.get(key) ?? this.observe(joint);
    this.observed.set(key, known);
    known.then(
      ({ samples, told }) => {
        if (this.picked !== joint) return;
        this.dots.textContent = told;
        this.inset.show(region, samples, theme, joint);
      },
      () => this.observed.delete(key), // the next one asks again
    );
  }

  /** Give the inset a brush, or take it away. */
  sculpt(brush: Brush | undefined): void {
    this.inset.brush = brush;
  }

  /** What the limits kept of a joint; where they kept nothing, what it does in the clip. */
  private async observe(joint: number): Promise<Observed> {
    const { skeleton, rotations, frames } = this.clip;
    const given = { joint: skeleton.names[joint], most: MOST_SAMPLES };
    const { header, arrays } = await this.line.ask("observed", given);
    const kept = arrays.rotations ?? new Float32Array();
    const told = kept.length
      ? `dots for ${String(header.count)} samples that it kept`
      : "dots for the clip";
    const samples: Quaternion[] = [];
    for (let i = 0; i < kept.length / 4; i++) samples.push(quaternionAt(kept, i));
    const step = Math.ceil(frames / MOST_SAMPLES);
    for (let frame = 0; !kept.length && frame < frames; frame += step)
      samples.push(seen(skeleton, rotations, joint, frame));
    return { samples, told };
  }

  private get large(): boolean {
    return this.picture.classList.contains("large");
  }

  /** Let the picture fill the stage, or put it back. */
  private resize(): void {
    const large = !this.large;
    this.picture.classList.toggle("large", large);
    (large ? found("main") : this.place).append(this.picture);
    const label = large ? "Shrink this picture (Esc)" : "Enlarge this picture";
    this.enlarge.title = label;
    this.enlarge.setAttribute("aria-label", label);
    this.enlarge.textContent = large ? "⤡" : "⤢";
    this.enlarge.focus();
  }

  private escape(event: KeyboardEvent): void {
    if (event.key !== "Escape" || !this.large) return;
    event.stopPropagation();
    this.resize();
  }

  /** What a joint is measured from, where that is not its parent. */
  private measured(joint: number): HTMLElement[] {
    const { names, parents, measuredFrom } = this.clip.skeleton;
    const above = measuredFrom[joint] ?? -1;
    return above === parents[joint] ? [] : fact("Seen from", names[above] ?? "");
  }

  /** Say how far outside the picked joint is, in degrees. */
  tell(outsideDeg: number): void {
    const outside = outsideDeg > 0;
    this.now.textContent = outside ? `${degrees(outsideDeg)} outside` : "Inside its limit";
    this.now.className = outside ? "missed" : "met";
  }

  mark(rotation: Quaternion, outside: boolean): void {
    this.inset.mark(rotation, outside);
  }
}

function fact(name: string, value: string, kind = ""): HTMLElement[] {
  return [element("dt", { class: kind }, name), element("dd", { class: kind }, value)];
}

function told(share: number): string {
  if (share === 0) return "a thin region";
  const percent = 100 * share;
  const digits = percent >= 10 ? percent.toFixed(0) : Number(percent.toPrecision(2)).toString();
  return `${digits}% of all rotations`;
}
