// What there is to know about the picked joint; without one, what to do first.

import { Quaternion } from "three";
import type { Clip } from "./clip";
import type { Theme } from "./colours";
import { degrees, element } from "./elements";
import { Inset } from "./inset";
import { seen } from "./quaternions";
import type { Region } from "./region";

const MOST_SAMPLES = 3000;
const FIRST = [
  ["Click a joint", "in the view or in the list, to see what its limit allows."],
  ["Press Space", "to play; the strip below shows when a joint is outside."],
  ["Drag", "to turn the view, the wheel zooms, ? shows all keys."],
] as const;

export class Panel {
  readonly intro = element("div", { class: "intro" });
  readonly joint = element("div", { class: "joint", hidden: true });
  private title = element("h2");
  private now = element("p", { id: "now", role: "status" });
  private facts = element("dl");
  private scale = element("div", { class: "scale" });
  private inset: Inset;
  private picture: HTMLElement;
  private kept: { joint: number; from: number; samples: Quaternion[] } | undefined;

  constructor(private clip: Clip) {
    this.intro.append(
      element("h2", {}, "What to do first"),
      element(
        "ol",
        {},
        ...FIRST.map(([what, why]) => element("li", {}, element("b", {}, what), ` ${why}`)),
      ),
    );
    const canvas = element("canvas", { id: "inset", "aria-label": "The limit among rotations" });
    this.inset = new Inset(canvas);
    this.picture = element(
      "figure",
      {},
      canvas,
      element(
        "figcaption",
        {},
        "Rotations as vectors from the reference: the limit, dots for the clip, a ball for now. ",
        "Axes about x, y, z with a mark every 30°.",
      ),
    );
    this.joint.append(this.title, this.now, this.facts, this.scale, this.picture);
  }

  pick(joint: number | undefined): void {
    this.intro.hidden = joint !== undefined;
    this.joint.hidden = joint === undefined;
    if (joint === undefined) return;
    this.title.textContent = this.clip.skeleton.names[joint] ?? "";
    const limited = this.clip.limited.includes(joint);
    this.now.textContent = limited ? "" : "This joint has no limit.";
    this.now.className = "";
    this.facts.replaceChildren();
    this.scale.hidden = this.picture.hidden = true;
  }

  show(region: Region, joint: number, theme: Theme): void {
    const [least, most] = region.span;
    this.facts.replaceChildren(
      ...fact("Family", region.family),
      ...fact("Chart", region.chart),
      ...this.measured(joint),
      ...fact("Allows", told(region.share)),
    );
    this.scale.hidden = this.picture.hidden = false;
    this.scale.replaceChildren(
      element("span", {}, "Range of twist"),
      element("span", { class: "end" }, `${least.toFixed(0)}°`),
      element("i"),
      element("span", { class: "end" }, `${most.toFixed(0)}°`),
    );
    this.inset.show(region, this.observed(joint), theme);
  }

  /** The rotations of a joint in frames of the clip; those of the last one asked for are kept. */
  private observed(joint: number): Quaternion[] {
    const { skeleton, rotations, frames } = this.clip;
    const from = skeleton.measuredFrom[joint] ?? -1;
    if (this.kept?.joint === joint && this.kept.from === from) return this.kept.samples;
    const step = Math.ceil(frames / MOST_SAMPLES);
    const samples: Quaternion[] = [];
    for (let frame = 0; frame < frames; frame += step)
      samples.push(seen(skeleton, rotations, joint, frame));
    this.kept = { joint, from, samples };
    return samples;
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

function fact(name: string, value: string): HTMLElement[] {
  return [element("dt", {}, name), element("dd", {}, value)];
}

function told(share: number): string {
  if (share === 0) return "a thin region";
  const percent = 100 * share;
  const digits = percent >= 10 ? percent.toFixed(0) : Number(percent.toPrecision(2)).toString();
  return `${digits}% of all rotations`;
}
