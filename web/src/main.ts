// The page: what is shown, what is picked, and how the parts talk to each other.

import { Quaternion } from "three";
import type { Style } from "./body";
import { type Clip, clipOf, outsideOf, type Pose } from "./clip";
import { THEMES } from "./colours";
import { button, element, found, remember, remembered } from "./elements";
import { Curve } from "./curve";
import { Editing } from "./editing";
import { Families } from "./families";
import { Files } from "./files";
import { Ghost } from "./ghost";
import { listen } from "./keys";
import { Panel } from "./panel";
import { seen } from "./quaternions";
import { Fan, type Region, regionOf } from "./region";
import { type Keyed, type Mode, shortcuts } from "./shortcuts";
import { Sliders } from "./sliders";
import { type Answer, Latest, Line } from "./socket";
import { Stage } from "./stage";
import { Time } from "./time";
import { Tree } from "./tree";
import { TryOut } from "./tryout";

const HINTS: Record<Mode, string> = {
  look: "Click a joint to see its limit · drag to turn · ? for all keys",
  try: "Drag a joint: the others follow within their limits · K pins one · R starts again",
  edit: "Drag a point or the end of a twist · double click adds a point · Ctrl Z undoes",
  controls: "Each slider ends where the joint does",
};

class Page implements Keyed {
  readonly stage: Stage;
  private panel: Panel;
  private tree: Tree;
  readonly time: Time;
  private curve: Curve;
  readonly files: Files;
  private tryOut: TryOut;
  readonly editing: Editing;
  private families: Families;
  private sliders: Sliders;
  private outside: Float32Array | undefined;
  private picked: number | undefined;
  private fan: Fan | undefined;
  mode: Mode = "look";
  private ghost: Ghost;
  private style: Style = "body";
  private pose: Pose;
  /** Whether that is one that was tried, and not one of the clip. */
  private posed = false;
  /** By limited joint, as told last. */
  private assessed: number[] = [];
  private outsideDeg = new Map<number, number>();
  private held = new Set<number>();
  private judging = new Latest(() => this.rejudge());
  private tabs = new Map<Mode, HTMLButtonElement>();
  private bones = button("Bones", "Bones or body (B)", () => this.restyle());

  constructor(
    private clip: Clip,
    private line: Line,
  ) {
    this.pose = clip.pose(0);
    this.stage = new Stage(clip);
    this.panel = new Panel(clip, line);
    this.tree = new Tree(clip, (joint) => this.pick(joint));
    this.time = new Time(clip, () => this.look(), (joint) => this.pick(joint));
    this.ghost = new Ghost(clip, line, this.stage, () => this.time.frame, () => void this.rejudge());
    this.curve = new Curve(clip, line, () => this.ghost.softening.value, (frame) => {
      this.time.pause();
      this.time.go(frame);
    });
    this.tryOut = new TryOut(
      clip,
      line,
      this.stage,
      ({ pose, outsideDeg, held }) => {
        if (this.mode !== "try") return;
        this.held = new Set(held.map((name) => clip.skeleton.names.indexOf(name)));
        this.posed = true;
        this.show(pose, outsideDeg);
      },
      () => this.reset(),
    );
    this.sliders = new Sliders(clip, line, ({ pose, outsideDeg }) => {
      if (this.mode !== "controls") return;
      this.posed = true;
      this.show(pose, outsideDeg);
    });
    this.editing = new Editing(
      clip,
      line,
      (region) => this.picked !== undefined && this.draw(region, this.picked),
      () => {
        this.relimit();
        void this.judging.ask(undefined);
      },
      () => this.stage.draw(),
    );
    this.files = new Files(clip.name, line);
    line.onState = (state) => this.files.tell(state);
    this.editing.camera = () => this.stage.table.camera.quaternion;
    this.editing.turned = () => this.turned();
    this.stage.onClick = (ray) => this.mode === "edit" && this.editing.takes(ray);
    this.stage.onDouble = (ray) => this.mode === "edit" && void this.editing.add(ray);
    this.families = new Families(clip, line, this.editing);
    this.families.panel.append(this.ghost.softening.panel);
    this.stage.onPick = (joint) => this.pick(joint);
    this.stage.onGrip = (grip) => this.mode === "try" && this.tryOut.take(grip);
    this.stage.onDrag = (target) => this.tryOut.drag(target);
    this.stage.handles = () => (this.mode === "edit" ? this.editing.handles : []);
    line.onNews = ({ header }) => this.editing.hear(header);
    this.arrange();
    this.dress(
      remembered("theme") ??
        (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"),
    );
    this.look();
    this.stage.frameAll();
    listen(shortcuts(this));
  }

  get frames(): number {
    return this.clip.frames;
  }

  step(which: "undo" | "redo"): void {
    void this.editing.step(which);
  }

  /** Ask for violations and the clamped clip, and begin with the worst joint. */
  async judge(check: Promise<Answer>): Promise<void> {
    await this.rejudge(check);
    this.look();
    const worst = this.time.worstDeg;
    const most = Math.max(...worst, 0);
    if (most > 0) this.pick(this.clip.limited[worst.indexOf(most)]);
    document.body.dataset["ready"] = "true";
  }

  /** Ask for violations and the clamped clip, of the limits as they are now. */
  private async rejudge(check = this.line.ask("check")): Promise<void> {
    this.outside = outsideOf(await check);
    this.time.show(this.outside);
    this.tree.tell(this.time.worstDeg);
    this.curve.pick(this.picked);
    await this.ghost.renew(this.time.worstDeg.some((angle) => angle > 0));
    if (this.mode === "edit" && this.posed) await this.assess();
    else if (this.mode === "look" || this.mode === "edit") this.look();
  }

  private arrange(): void {
    const { clip } = this;
    found("#clip").textContent = clip.name;
    found("#tools").before(this.files.tools);
    found("#strip").before(this.curve.panel);
    this.files.tell(clip.state);
    this.editing.tell(clip.state);
    const modes: [Mode, string][] = [["look", "Look"]];
    if (clip.skeleton.names.length > 1) modes.push(["try", "Try"]);
    modes.push(["edit", "Edit"]);
    if (clip.controls.length) modes.push(["controls", "Controls"]);
    for (const [mode, text] of modes) {
      const tab = button(text, text, () => this.enter(mode), { role: "tab" });
      this.tabs.set(mode, tab);
      found("#modes").append(tab);
    }
    found("#tools").append(
      this.bones,
      this.ghost.tool,
      button("◐", "Light or dark (L)", () => this.dress()),
      button("?", "Keys and mouse (?)", () => this.help()),
    );
    this.tryOut.panel.hidden = this.editing.panel.hidden = this.sliders.panel.hidden = true;
    const { intro, joint } = this.panel;
    found("aside").append(this.tryOut.panel, this.editing.panel, this.sliders.panel, intro, joint);
    found("aside").append(this.families.panel);
    for (const text of clip.notes) note(text);
    this.enter("look");
  }

  enter(mode: Mode): void {
    if (!this.tabs.has(mode)) return;
    this.mode = mode;
    this.time.pause();
    for (const [name, tab] of this.tabs) tab.setAttribute("aria-selected", String(name === mode));
    this.tryOut.panel.hidden = mode !== "try";
    this.editing.panel.hidden = mode !== "edit";
    this.editing.enter(mode === "edit");
    this.sliders.panel.hidden = mode !== "controls";
    this.families.panel.hidden = mode !== "edit";
    this.panel.sculpt(mode === "edit" ? this.families.brush : undefined);
    document.body.dataset["mode"] = mode;
    found("#hint").textContent = HINTS[mode];
    this.panel.intro.hidden = mode !== "look" || this.picked !== undefined;
    this.stage.aim(undefined);
    this.held = new Set();
    if (mode === "controls") this.sliders.show();
    else if (mode === "edit" && this.posed) this.show(this.pose, this.assessed);
    else this.look();
    this.tryOut.start(this.time.frame);
  }

  pin(): void {
    if (this.mode === "try") this.tryOut.pins.toggle();
  }

  reset(): void {
    if (this.mode === "controls") this.sliders.reset();
    else this.enter(this.mode);
  }

  /** Show the clip at the present frame; a pose that was tried is left. */
  private look(): void {
    if (this.mode === "controls") return this.enter("look");
    const { frame } = this.time;
    this.posed = false;
    this.curve.tell(frame);
    this.held = new Set();
    if (this.mode === "try") this.tryOut.start(frame);
    const start = frame * this.clip.limited.length;
    const outside = this.outside?.subarray(start, start + this.clip.limited.length);
    this.show(this.clip.pose(frame), [...(outside ?? [])]);
    this.ghost.show();
  }

  /** Ask how far the pose that was tried is outside the limits as they are now. */
  private async assess(): Promise<void> {
    const { pose } = this;
    const given = { frame: this.time.frame, rotations: [...pose.rotations] };
    const { header } = await this.line.ask("outside", given);
    if (this.posed && this.pose === pose) this.show(pose, header["outsideDeg"] as number[]);
  }

  private show(pose: Pose, outsideDeg: number[]): void {
    this.pose = pose;
    this.assessed = outsideDeg;
    this.outsideDeg = new Map();
    outsideDeg.forEach((angle, place) => {
      const joint = this.clip.limited[place];
      if (angle > 1e-4 && joint !== undefined) this.outsideDeg.set(joint, angle);
    });
    this.stage.show(pose, this.outsideDeg, this.marks());
    this.follow();
  }

  private marks() {
    const outside = new Set(this.outsideDeg.keys());
    return { picked: this.picked, outside, held: this.held };
  }

  pick(joint: number | undefined): void {
    this.picked = joint;
    this.tree.select(joint);
    this.panel.pick(joint);
    if (this.mode !== "look") this.panel.intro.hidden = true;
    this.editing.pick(joint);
    this.tryOut.pins.pick(joint);
    this.curve.pick(joint);
    this.families.pick(joint);
    this.leaveFan();
    this.stage.mark(this.marks());
    this.follow();
    if (joint !== undefined && this.clip.limited.includes(joint)) void this.ask(joint);
  }

  /** Show what the limits are now. */
  private relimit(): void {
    this.stage.limit();
    const { limited, frames } = this.clip;
    // Until the limits are judged anew, angles are known only if they are of the same joints.
    if (this.outside?.length !== frames * limited.length) this.outside = undefined;
    if (this.picked === undefined || !this.clip.limited.includes(this.picked))
      return this.pick(this.picked);
    this.families.pick(this.picked);
    void this.ask(this.picked);
  }

  private leaveFan(): void {
    if (this.fan) this.stage.atJoint.remove(this.fan.group);
    this.fan = undefined;
  }

  private async ask(joint: number): Promise<void> {
    const region = regionOf(await this.line.ask("region", { joint: this.name(joint) }));
    if (this.picked === joint) this.draw(region, joint);
  }

  private draw(region: Region, joint: number): void {
    const { body, theme } = this.stage;
    const bones = body.bones.filter(({ owner }) => owner === joint);
    const length = Math.max(...bones.map(({ tip }) => tip.length()), 0);
    const radius = Math.min(Math.max(0.8 * length, 0.1 * body.size), 0.25 * body.size);
    if (this.fan?.radius === radius && this.fan.theme === theme) this.fan.show(region);
    else {
      this.leaveFan();
      this.fan = new Fan(region, radius, theme);
      this.stage.atJoint.add(this.fan.group);
    }
    this.editing.show(region, this.fan);
    this.families.show(region);
    this.panel.show(region, joint, theme);
    this.follow();
  }

  /** Let what belongs to the picked joint follow its pose. */
  private follow(): void {
    if (this.picked === undefined || !this.clip.limited.includes(this.picked)) return;
    this.panel.tell(this.outsideDeg.get(this.picked) ?? 0);
    if (!this.fan) return;
    const { positions, rotations } = this.stage.body.where;
    const place = positions[this.picked];
    if (!place) return;
    const { measuredFrom } = this.clip.skeleton;
    const above = rotations[measuredFrom[this.picked] ?? -1] ?? new Quaternion();
    const turn = this.turned();
    const outside = this.outsideDeg.get(this.picked) ?? 0;
    this.fan.place(place, above, turn, outside > 0);
    this.editing.follows();
    this.panel.mark(turn, outside > 0);
    this.families.mark(turn);
    this.stage.draw();
  }

  /** How the picked joint is turned, as the one sees it that its limit is measured from. */
  private turned(): Quaternion {
    return seen(this.clip.skeleton, this.pose.rotations, this.picked ?? 0);
  }

  private name(joint: number): string {
    return this.clip.skeleton.names[joint] ?? "";
  }

  haunt(): void {
    this.ghost.toggle();
  }

  restyle(): void {
    this.style = this.style === "body" ? "bones" : "body";
    this.bones.setAttribute("aria-pressed", String(this.style === "bones"));
    this.stage.shape(this.style, this.pose);
    this.ghost.show();
  }

  dress(name?: string): void {
    const root = document.documentElement;
    const theme = name ?? (root.dataset["theme"] === "dark" ? "light" : "dark");
    root.dataset["theme"] = theme;
    remember("theme", theme);
    this.stage.dress(theme === "dark" ? THEMES.dark : THEMES.light);
    this.curve.dress();
    if (this.fan && this.picked !== undefined) void this.ask(this.picked);
  }

  help(): void {
    found<HTMLDialogElement>("#help").showModal();
    found("#help h2").focus(); // not its last button, which is below
  }

  lookAtPicked(): void {
    if (this.picked !== undefined) this.stage.frameJoint(this.picked);
  }
}

function note(text: string): void {
  const line = element("p", {}, text);
  line.append(button("✕", "Put this note away", () => line.remove()));
  found("#notes").append(line);
}

async function begin(): Promise<void> {
  const line = await Line.open(() => note("The line to synovia is gone: start it again."));
  const opened = line.ask("open");
  const check = line.ask("check"); // computed while the page is being built
  await new Page(clipOf(await opened), line).judge(check);
}

begin().catch((error: unknown) => note(error instanceof Error ? error.message : String(error)));
