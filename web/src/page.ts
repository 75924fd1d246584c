// The page: what is shown, what is picked, and how the parts talk to each other.

import type { Quaternion } from "three";
import type { Clip, Pose } from "./clip";
import { type Connection, Latest } from "./connection";
import { Editing } from "./edit/editing";
import { Families } from "./edit/families";
import { button, find } from "./elements";
import { bindKeys } from "./keys";
import { LimitView } from "./limit";
import { type Mode, Modes, showOnlyIn } from "./modes";
import { showNote } from "./notes";
import { Exchange } from "./panel/exchange";
import { Files } from "./panel/files";
import { JointPanel } from "./panel/joint";
import { JointTree } from "./panel/tree";
import { measuredRotation } from "./pose/kinematics";
import { Sliders } from "./pose/sliders";
import { TryOut } from "./pose/tryout";
import type { BodyShape, Check } from "./protocol";
import { type PageActions, shortcuts } from "./shortcuts";
import { Appearance } from "./stage/appearance";
import { bonesFrom, skinFrom } from "./stage/flesh";
import { Ghost } from "./stage/ghost";
import { Stage } from "./stage/stage";
import { recordTurn } from "./stage/video";
import { Curve } from "./time/curve";
import { Timeline } from "./time/timeline";

export class Page implements PageActions {
  readonly stage: Stage;
  private panel: JointPanel;
  private tree: JointTree;
  readonly timeline: Timeline;
  private curve: Curve;
  readonly files: Files;
  private tryOut: TryOut;
  readonly editing: Editing;
  private families: Families;
  private sliders: Sliders;
  private outside: Float32Array | undefined;
  private picked: number | undefined;
  private limitView: LimitView;
  mode: Mode = "look";
  readonly ghost: Ghost;
  private pose: Pose;
  /** Whether that is one that was tried, and not one of the clip. */
  private isTried = false;
  /** By limited joint, as told last. */
  private poseOutsideDeg: number[] = [];
  private outsideDeg = new Map<number, number>();
  private blocking = new Set<number>();
  private checking = new Latest(() => this.checkClip());
  readonly modes: Modes;
  readonly appearance: Appearance;

  constructor(
    private clip: Clip,
    private connection: Connection,
  ) {
    this.pose = clip.pose(0);
    this.stage = new Stage(clip);
    this.panel = new JointPanel(clip, connection, () => this.enterMode("edit"));
    this.tree = new JointTree(clip, (joint) => this.pick(joint));
    this.timeline = new Timeline(
      clip,
      () => this.showClip(),
      (joint) => this.pick(joint),
    );
    this.ghost = new Ghost(
      clip,
      connection,
      this.stage,
      () => this.timeline.frame,
      () => void this.checkClip(),
    );
    this.curve = new Curve(
      clip,
      connection,
      () => this.ghost.softening.value,
      (frame) => {
        this.timeline.pause();
        this.timeline.goTo(frame);
      },
    );
    this.tryOut = new TryOut(
      clip,
      connection,
      this.stage,
      ({ pose, outsideDeg, blocking }) => {
        if (this.mode !== "try") return;
        this.blocking = new Set(blocking.map((name) => clip.skeleton.names.indexOf(name)));
        this.isTried = true;
        this.showPose(pose, outsideDeg);
      },
      () => this.resetPose(),
    );
    this.sliders = new Sliders(clip, connection, ({ pose, outsideDeg }) => {
      if (this.mode !== "controls") return;
      this.isTried = true;
      this.showPose(pose, outsideDeg);
    });
    this.editing = new Editing(
      clip,
      connection,
      (region) => this.limitView.show(region),
      () => {
        this.updateLimits();
        void this.checking.send(undefined);
      },
      () => this.stage.draw(),
    );
    this.files = new Files(clip.name, connection);
    connection.onState = (state) => this.files.update(state);
    this.editing.cameraRotation = () => this.stage.turntable.camera.quaternion;
    this.editing.jointRotation = () => this.pickedRotation();
    this.stage.pointer.onClick = (ray) => this.mode === "edit" && this.editing.claimsClick(ray);
    this.stage.pointer.onDoubleClick = (ray) => this.mode === "edit" && void this.editing.add(ray);
    this.families = new Families(clip, connection, this.editing);
    const { stage, panel, editing, families } = this;
    this.modes = new Modes(clip, (mode) => this.enterMode(mode));
    this.limitView = new LimitView(
      clip,
      connection,
      stage,
      panel,
      editing,
      families,
      this.modes,
      () => this.updateLimitPose(),
    );
    this.stage.pointer.onPick = (joint) => this.pick(joint);
    this.stage.pointer.onGrip = (grip) => this.mode === "try" && this.tryOut.grab(grip);
    this.stage.pointer.onDrag = (target) => this.tryOut.drag(target);
    this.stage.pointer.listHandles = () => (this.mode === "edit" ? this.editing.handles : []);
    connection.onNews = (news) => this.editing.receiveNews(news);
    this.appearance = new Appearance(
      stage,
      () => this.pose,
      () => this.ghost.show(),
      () => {
        this.curve.redraw();
        this.limitView.updateTheme();
      },
    );
    this.layOut();
    this.appearance.restore();
    this.showClip();
    this.stage.frameAll();
    bindKeys(shortcuts(this));
  }

  get frames(): number {
    return this.clip.frames;
  }

  /** Ask for violations and the clamped clip, and begin with the worst joint. */
  async begin(check: Promise<Check>, shape: Promise<BodyShape>): Promise<void> {
    const shaped = shape.then((answer) => this.takeShape(answer));
    await this.checkClip(check);
    this.showClip();
    const worst = this.timeline.worstDeg;
    const most = Math.max(...worst, 0);
    if (most > 0) this.pick(this.clip.limited[worst.indexOf(most)]);
    await shaped;
    document.body.dataset.ready = "true";
  }

  /** Show a human with bones and skin. */
  private takeShape(shape: BodyShape): void {
    const bones = bonesFrom(shape, this.clip.skeleton);
    if (!bones) return;
    const skin = skinFrom(shape, this.clip.skeleton);
    this.stage.setShapes({ bones, skin });
    this.appearance.offerShapes(skin !== undefined);
  }

  /** Ask for violations and the clamped clip, of the limits as they are now. */
  private async checkClip(check = this.connection.ask("check", {})): Promise<void> {
    this.outside = (await check).outsideDeg;
    this.timeline.show(this.outside);
    this.tree.showWorst(this.timeline.worstDeg);
    this.curve.pick(this.picked);
    await this.ghost.refresh(this.timeline.worstDeg.some((angle) => angle > 0));
    if (this.mode === "controls") this.sliders.requestPose();
    else if (this.isTried) await this.assessPose();
    else this.showFrame();
  }

  private layOut(): void {
    const { clip } = this;
    find("#clip").textContent = clip.name;
    find("#tools").before(this.files.tools);
    find("#strip").before(this.curve.panel);
    this.files.update(clip.state);
    new Exchange(this.files, this.connection, {
      pose: () => ({ frame: this.timeline.frame, rotations: [...this.pose.rotations] }),
      soften: () => this.ghost.softening.value,
      picture: () => this.stage.picture(),
      film: () =>
        recordTurn(find<HTMLCanvasElement>("#stage"), (yaw) => {
          this.stage.turntable.turn(yaw, 0);
          this.stage.draw();
        }),
      names: clip.skeleton.names,
    });
    this.editing.updateState(clip.state);
    find("#tools").append(
      this.appearance.styleButton,
      this.ghost.button,
      this.appearance.themeButton,
      button("?", "Keys and mouse (?)", () => this.showHelp()),
    );
    find("aside").append(...this.sidePanels());
    for (const text of clip.notes) showNote(text);
    this.enterMode("look");
  }

  /** What is beside the view, what is needed first on top; some of it is for one mode. */
  private sidePanels(): HTMLElement[] {
    const { panel, editing, families, ghost } = this;
    return [
      ...showOnlyIn("try", this.tryOut.panel),
      ...showOnlyIn("controls", this.sliders.panel),
      ...showOnlyIn("edit", editing.head),
      panel.intro,
      panel.details,
      ...showOnlyIn(
        "edit",
        families.fit,
        families.comparison.panel,
        editing.points.panel,
        families.byHand,
      ),
      panel.insetPlace,
      ...showOnlyIn("edit", editing.whole.panel, ghost.softening.panel),
    ];
  }

  enterMode(mode: Mode, playing = false): void {
    if (!this.modes.has(mode)) return;
    if (mode === "edit" && this.mode !== "edit") this.framePicked();
    this.mode = mode;
    if (!playing) this.timeline.pause();
    this.modes.show(mode);
    this.editing.setActive(mode === "edit");
    this.panel.setBrush(mode === "edit" ? this.families.brush : undefined);
    this.panel.intro.hidden = mode !== "look" || this.picked !== undefined;
    this.stage.showTarget(undefined);
    this.blocking = new Set();
    if (mode === "controls") this.sliders.requestPose();
    else if (mode === "edit" && this.isTried) this.showPose(this.pose, this.poseOutsideDeg);
    else this.showClip();
    this.tryOut.restart(this.timeline.frame);
  }

  togglePin(): void {
    if (this.mode === "try") this.tryOut.pins.toggle();
  }

  resetPose(): void {
    if (this.mode === "controls") this.sliders.reset();
    else this.enterMode(this.mode);
  }

  /** Show the clip at the present frame; a pose that was tried is left. */
  private showClip(): void {
    if (this.mode === "controls") {
      this.enterMode("look", this.timeline.isPlaying);
      return;
    }
    this.isTried = false;
    this.blocking = new Set();
    if (this.mode === "try") this.tryOut.restart(this.timeline.frame);
    this.showFrame();
  }

  private showFrame(): void {
    const { frame } = this.timeline;
    const { length } = this.clip.limited;
    const outside = this.outside?.subarray(frame * length, (frame + 1) * length);
    this.curve.setFrame(frame);
    this.showPose(this.clip.pose(frame), [...(outside ?? [])]);
    this.ghost.show();
  }

  /** Ask how far the pose that was tried is outside the limits as they are now. */
  private async assessPose(): Promise<void> {
    const { pose } = this;
    const request = { frame: this.timeline.frame, rotations: [...pose.rotations] };
    const { outsideDeg } = await this.connection.ask("outside", request);
    if (this.isTried && this.pose === pose) this.showPose(pose, outsideDeg);
  }

  private showPose(pose: Pose, outsideDeg: number[]): void {
    this.pose = pose;
    this.poseOutsideDeg = outsideDeg;
    this.outsideDeg = new Map();
    outsideDeg.forEach((angle, place) => {
      const joint = this.clip.limited[place];
      if (angle > 1e-4 && joint !== undefined) this.outsideDeg.set(joint, angle);
    });
    this.stage.show(pose, this.outsideDeg, this.marks());
    this.updateLimitPose();
  }

  private marks() {
    const outside = new Set(this.outsideDeg.keys());
    return { picked: this.picked, outside, blocking: this.blocking };
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
    this.limitView.pick(joint);
    this.stage.setMarks(this.marks());
    this.updateLimitPose();
  }

  /** Show what the limits are now. */
  private updateLimits(): void {
    this.stage.updateLimited();
    const { limited, frames } = this.clip;
    // Until the limits are judged anew, angles are known only if they are of the same joints.
    if (this.outside?.length !== frames * limited.length) this.outside = undefined;
    if (this.poseOutsideDeg.length !== limited.length) this.poseOutsideDeg = [];
    if (this.limitView.isLimited) {
      this.families.pick(this.picked);
      void this.limitView.refresh();
    } else this.pick(this.picked);
  }

  /** Let what belongs to the picked joint follow its pose. */
  private updateLimitPose(): void {
    if (this.picked !== undefined)
      this.limitView.setPose(this.pickedRotation(), this.outsideDeg.get(this.picked) ?? 0);
  }

  /** How the picked joint is turned, as the one sees it that its limit is measured from. */
  private pickedRotation(): Quaternion {
    return measuredRotation(this.clip.skeleton, this.pose.rotations, this.picked ?? 0);
  }

  showHelp(): void {
    find<HTMLDialogElement>("#help").showModal();
    find("#help h2").focus(); // not its last button, which is below
  }

  framePicked(): void {
    if (this.picked !== undefined) this.stage.frameJoint(this.picked);
  }
}
