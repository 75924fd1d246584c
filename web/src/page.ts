// The page: what is shown, what is picked, and how the parts talk to each other.

import type { Quaternion } from "three";
import { type Clip, outsideOf, type Pose } from "./clip";
import { type Answer, Latest, type Line } from "./connection";
import { Editing } from "./edit/editing";
import { Families } from "./edit/families";
import { button, found } from "./elements";
import { listen } from "./keys";
import { ShownLimit } from "./limit";
import { type Mode, Modes, only } from "./modes";
import { note } from "./notes";
import { Files } from "./panel/files";
import { Panel } from "./panel/joint";
import { Tree } from "./panel/tree";
import { seen } from "./pose/kinematics";
import { Sliders } from "./pose/sliders";
import { TryOut } from "./pose/tryout";
import { type Keyed, shortcuts } from "./shortcuts";
import { Looks } from "./stage/appearance";
import { Ghost } from "./stage/ghost";
import { Stage } from "./stage/stage";
import { Curve } from "./time/curve";
import { Time } from "./time/timeline";

export class Page implements Keyed {
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
  private limit: ShownLimit;
  mode: Mode = "look";
  readonly ghost: Ghost;
  private pose: Pose;
  /** Whether that is one that was tried, and not one of the clip. */
  private posed = false;
  /** By limited joint, as told last. */
  private assessed: number[] = [];
  private outsideDeg = new Map<number, number>();
  private held = new Set<number>();
  private judging = new Latest(() => this.rejudge());
  readonly modes: Modes;
  readonly looks: Looks;

  constructor(
    private clip: Clip,
    private line: Line,
  ) {
    this.pose = clip.pose(0);
    this.stage = new Stage(clip);
    this.panel = new Panel(clip, line, () => this.enter("edit"));
    this.tree = new Tree(clip, (joint) => this.pick(joint));
    this.time = new Time(
      clip,
      () => this.look(),
      (joint) => this.pick(joint),
    );
    this.ghost = new Ghost(
      clip,
      line,
      this.stage,
      () => this.time.frame,
      () => void this.rejudge(),
    );
    this.curve = new Curve(
      clip,
      line,
      () => this.ghost.softening.value,
      (frame) => {
        this.time.pause();
        this.time.go(frame);
      },
    );
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
      (region) => this.limit.draw(region),
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
    this.stage.pointer.onClick = (ray) => this.mode === "edit" && this.editing.takes(ray);
    this.stage.pointer.onDouble = (ray) => this.mode === "edit" && void this.editing.add(ray);
    this.families = new Families(clip, line, this.editing);
    const { stage, panel, editing, families } = this;
    this.modes = new Modes(clip, (mode) => this.enter(mode));
    this.limit = new ShownLimit(clip, line, stage, panel, editing, families, this.modes, () =>
      this.follow(),
    );
    this.stage.pointer.onPick = (joint) => this.pick(joint);
    this.stage.pointer.onGrip = (grip) => this.mode === "try" && this.tryOut.take(grip);
    this.stage.pointer.onDrag = (target) => this.tryOut.drag(target);
    this.stage.pointer.handles = () => (this.mode === "edit" ? this.editing.handles : []);
    line.onNews = ({ header }) => this.editing.hear(header);
    this.looks = new Looks(
      stage,
      () => this.pose,
      () => this.ghost.show(),
      () => {
        this.curve.dress();
        this.limit.dress();
      },
    );
    this.arrange();
    this.looks.begin();
    this.look();
    this.stage.frameAll();
    listen(shortcuts(this));
  }

  get frames(): number {
    return this.clip.frames;
  }

  /** Ask for violations and the clamped clip, and begin with the worst joint. */
  async judge(check: Promise<Answer>): Promise<void> {
    await this.rejudge(check);
    this.look();
    const worst = this.time.worstDeg;
    const most = Math.max(...worst, 0);
    if (most > 0) this.pick(this.clip.limited[worst.indexOf(most)]);
    document.body.dataset.ready = "true";
  }

  /** Ask for violations and the clamped clip, of the limits as they are now. */
  private async rejudge(check = this.line.ask("check")): Promise<void> {
    this.outside = outsideOf(await check);
    this.time.show(this.outside);
    this.tree.tell(this.time.worstDeg);
    this.curve.pick(this.picked);
    await this.ghost.renew(this.time.worstDeg.some((angle) => angle > 0));
    if (this.mode === "controls") this.sliders.show();
    else if (this.posed) await this.assess();
    else this.showFrame();
  }

  private arrange(): void {
    const { clip } = this;
    found("#clip").textContent = clip.name;
    found("#tools").before(this.files.tools);
    found("#strip").before(this.curve.panel);
    this.files.tell(clip.state);
    this.editing.tell(clip.state);
    found("#tools").append(
      this.looks.bones,
      this.ghost.tool,
      this.looks.light,
      button("?", "Keys and mouse (?)", () => this.help()),
    );
    found("aside").append(...this.parts());
    for (const text of clip.notes) note(text);
    this.enter("look");
  }

  /** What is beside the view, what is needed first on top; some of it is for one mode. */
  private parts(): HTMLElement[] {
    const { panel, editing, families, ghost } = this;
    return [
      ...only("try", this.tryOut.panel),
      ...only("controls", this.sliders.panel),
      ...only("edit", editing.head),
      panel.intro,
      panel.joint,
      ...only("edit", families.fit, families.comparison.panel, editing.points.panel, families.hand),
      panel.place,
      ...only("edit", editing.whole.panel, ghost.softening.panel),
    ];
  }

  enter(mode: Mode, playing = false): void {
    if (!this.modes.has(mode)) return;
    this.mode = mode;
    if (!playing) this.time.pause();
    this.modes.show(mode);
    this.editing.enter(mode === "edit");
    this.panel.sculpt(mode === "edit" ? this.families.brush : undefined);
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
    if (this.mode === "controls") {
      this.enter("look", this.time.playing);
      return;
    }
    this.posed = false;
    this.held = new Set();
    if (this.mode === "try") this.tryOut.start(this.time.frame);
    this.showFrame();
  }

  private showFrame(): void {
    const { frame } = this.time;
    const { length } = this.clip.limited;
    const outside = this.outside?.subarray(frame * length, (frame + 1) * length);
    this.curve.tell(frame);
    this.show(this.clip.pose(frame), [...(outside ?? [])]);
    this.ghost.show();
  }

  /** Ask how far the pose that was tried is outside the limits as they are now. */
  private async assess(): Promise<void> {
    const { pose, time } = this;
    const rotations = [...pose.rotations];
    const { header } = await this.line.ask("outside", { frame: time.frame, rotations });
    if (this.posed && this.pose === pose) this.show(pose, header.outsideDeg as number[]);
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
    this.limit.pick(joint);
    this.stage.mark(this.marks());
    this.follow();
  }

  /** Show what the limits are now. */
  private relimit(): void {
    this.stage.limit();
    const { limited, frames } = this.clip;
    // Until the limits are judged anew, angles are known only if they are of the same joints.
    if (this.outside?.length !== frames * limited.length) this.outside = undefined;
    if (this.assessed.length !== limited.length) this.assessed = [];
    if (this.limit.limited) {
      this.families.pick(this.picked);
      void this.limit.renew();
    } else this.pick(this.picked);
  }

  /** Let what belongs to the picked joint follow its pose. */
  private follow(): void {
    if (this.picked !== undefined)
      this.limit.follow(this.turned(), this.outsideDeg.get(this.picked) ?? 0);
  }

  /** How the picked joint is turned, as the one sees it that its limit is measured from. */
  private turned(): Quaternion {
    return seen(this.clip.skeleton, this.pose.rotations, this.picked ?? 0);
  }

  help(): void {
    found<HTMLDialogElement>("#help").showModal();
    found("#help h2").focus(); // not its last button, which is below
  }

  lookAtPicked(): void {
    if (this.picked !== undefined) this.stage.frameJoint(this.picked);
  }
}
