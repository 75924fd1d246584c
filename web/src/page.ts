// The page: what is shown, what is picked, and how the parts talk to each other.

import { Quaternion, Vector3 } from "three";
import type { Clip, Pose } from "./clip";
import { type Connection, Latest, STILL_MS } from "./connection";
import { cancelDrag } from "./drags";
import { Editing } from "./edit/editing";
import { Families } from "./edit/families";
import { button, find } from "./elements";
import { bindKeys } from "./keys";
import { LimitView } from "./limit";
import { type Mode, Modes, showOnlyIn } from "./modes";
import { showMessage, showNote } from "./notes";
import { Comparing } from "./panel/comparing";
import { DependencePanel } from "./panel/dependence";
import { Evidence } from "./panel/evidence";
import { Exchange } from "./panel/exchange";
import { Files } from "./panel/files";
import { FitPanel } from "./panel/fitting";
import { JointPanel } from "./panel/joint";
import { JointTree } from "./panel/tree";
import { type MadePose, PoseHistory } from "./pose/history";
import { measuredRotation } from "./pose/kinematics";
import { AXES } from "./pose/lookat";
import { TurnRing } from "./pose/ring";
import { Shelf } from "./pose/shelf";
import { Sliders } from "./pose/sliders";
import { TryOut } from "./pose/tryout";
import type { BodyShape, Check, Hinge } from "./protocol";
import { type PageActions, shortcuts } from "./shortcuts";
import { Appearance } from "./stage/appearance";
import { readHuman } from "./stage/flesh";
import { Ghost } from "./stage/ghost";
import { Stage } from "./stage/stage";
import { recordTurn } from "./stage/video";
import { Curve } from "./time/curve";
import { Timeline } from "./time/timeline";
import { Tour } from "./tour";

/** From where one sees the pose that a figure opens with, in radians: its sphere beside the face. */
const START_YAW = -0.25;

export class Page implements PageActions {
  readonly stage: Stage;
  private evidence: Evidence;
  private comparing: Comparing;
  private dependence: DependencePanel;
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
  /** The one owner of what is shown besides the clip: what is tried, turned, slid or applied. */
  private made = new PoseHistory(() => this.showPresent());
  private shelf: Shelf;
  private ring: TurnRing;
  /** By limited joint, as told last. */
  private poseOutsideDeg: number[] = [];
  private outsideDeg = new Map<number, number>();
  private checking = new Latest(() => this.checkClip());
  private reasons = new Latest((joint: number) => this.explain(joint));
  private wondering: number | undefined;
  /** Whether the view is to come around when the picked joint's region is there. */
  private comesAround = false;
  private frameButton = button("◎", "Look at the picked joint (.)", () => this.framePicked());
  readonly modes: Modes;
  readonly appearance: Appearance;
  private tour: Tour;

  constructor(
    private clip: Clip,
    private connection: Connection,
  ) {
    this.pose = clip.pose(0);
    this.stage = new Stage(clip);
    const recall = (turn: Quaternion, from: string, at: number) => void this.recall(turn, from, at);
    this.evidence = new Evidence(clip, connection, recall);
    this.evidence.onRedraw = () => this.stage.draw();
    this.evidence.followStage(find("#stage"), () => this.stage.turntable.camera);
    this.comparing = new Comparing(
      connection,
      () => this.poseRequest(),
      () => this.stage.draw(),
    );
    const remedies = [
      {
        label: "Show clamped",
        title: "Show the nearest legal pose as a ghost",
        act: () => this.ghost.toggle(),
      },
      {
        label: "Allow this",
        title: "Widen the limit just so much that this is legal",
        act: () => this.allowPose(),
      },
    ];
    this.panel = new JointPanel(
      clip,
      this.evidence,
      () => this.enterMode("edit"),
      remedies,
      recall,
    );
    this.tree = new JointTree(clip, (joint) => this.jumpTo(joint));
    this.timeline = new Timeline(
      clip,
      () => this.showClip(),
      (joint) => this.jumpTo(joint),
      (window) => this.curve.setWindow(window),
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
      () => this.timeline.frame,
      (frame) => {
        this.timeline.pause();
        this.timeline.goTo(frame);
      },
    );
    const posing = {
      current: () => this.currentPose(),
      onCancel: (stroke: symbol) => this.made.cancel(stroke),
      frame: () => this.timeline.frame,
    };
    this.tryOut = new TryOut(
      clip,
      connection,
      this.stage,
      {
        ...posing,
        onPose: (made, stroke) => this.made.take(made, stroke),
      },
      () => this.resetPose(),
    );
    this.sliders = new Sliders(clip, connection, {
      ...posing,
      onPose: (made, stroke) => this.made.take(made, stroke),
      onFitted: (made) => this.made.present && this.made.refine(made),
    });
    this.shelf = new Shelf(clip, this.made, {
      current: () => this.currentPose(),
      apply: (made) => this.made.take(made),
      mirror: () => void this.mirrorPose(),
      resetJoint: () => this.resetJoint(),
    });
    this.ring = new TurnRing(this.stage.body.size, {
      onBegin: () => this.tryOut.begin(),
      onTurn: (joint, rotation) => this.tryOut.turn(joint, rotation),
      onEnd: () => this.updateRing(),
      onCancel: () => this.tryOut.cancel(),
    });
    this.stage.add(this.ring.group);
    this.editing = new Editing(
      clip,
      connection,
      (region) => {
        this.limitView.show(region);
        this.dependence.markStale();
      },
      () => {
        this.updateLimits();
        void this.checking.send(undefined);
      },
      () => this.stage.draw(),
    );
    this.dependence = new DependencePanel(clip, connection, this.stage, {
      pose: () => this.poseRequest(),
      frame: () => (this.made.present ? undefined : this.timeline.frame),
      onChange: () => this.updateRing(),
      apply: (edit) => void this.editing.strokes.apply(edit),
      pickDriver: (joint) => this.jumpTo(joint),
      lookAt: (joint, facing) => {
        this.stage.frameJoint(joint);
        if (facing) this.stage.turntable.bringToFront(facing);
        this.stage.draw();
      },
    });
    const { endEdit } = this.editing;
    this.editing.endEdit = (side, deg) => this.dependence.endEdit(side, deg) ?? endEdit(side, deg);
    this.files = new Files(clip.name, connection);
    connection.onState = (state) => this.files.update(state);
    this.stage.add(this.editing.hinge.group);
    this.editing.cameraRotation = () => this.stage.turntable.camera.quaternion;
    this.editing.jointRotation = () => this.pickedRotation();
    this.stage.pointer.claimsClick = () => this.evidence.claimsClick();
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
      () => {
        this.updateLimitPose();
        if (this.comesAround) this.comeAround();
        this.dependence.setPose();
        this.updateRing();
        this.comparing.show(this.pickedName, this.limitView.sphere);
      },
      () => this.evidence.showOnSphere(this.limitView.sphere, this.stage.theme.ink),
      () => this.poseRequest(),
    );
    this.stage.pointer.onPick = (joint) => this.pick(joint);
    this.stage.pointer.onGrip = (grip) => {
      if (this.mode !== "try" || !this.tryOut.grab(grip)) return false;
      if (grip.joint !== undefined && grip.joint !== this.picked) this.pick(grip.joint);
      return true;
    };
    this.stage.pointer.onDrag = (target) => this.tryOut.drag(target);
    this.stage.pointer.onRelease = () => this.tryOut.release();
    this.stage.pointer.onCancel = () => this.tryOut.cancel();
    this.stage.pointer.listHandles = () => {
      if (this.mode === "try") return this.ring.handles;
      if (this.mode !== "edit") return [];
      return [...this.editing.hinge.handles, ...this.editing.handles];
    };
    connection.onNews = (news) => this.editing.receiveNews(news);
    this.appearance = new Appearance(
      stage,
      () => this.pose,
      () => this.ghost.show(),
      () => {
        this.curve.redraw();
        this.limitView.updateTheme();
        this.dependence.drawMap();
      },
    );
    this.tour = new Tour((mode) => this.enterMode(mode));
    this.layOut();
    this.appearance.restore();
    this.showClip();
    this.stage.frameAll();
    bindKeys(shortcuts(this), () => this.showTour());
  }

  get frames(): number {
    return this.clip.frames;
  }

  /** Ask for violations and the clamped clip, and begin with the worst joint. */
  async begin(check: Promise<Check>, shape: Promise<BodyShape>): Promise<void> {
    const shaped = shape.then((answer) => this.takeShape(answer));
    const started = this.takeStart();
    this.stage.hold(Promise.all([shaped, started]));
    await this.checkClip(check);
    await started;
    if (!this.made.present) this.showClip();
    const worst = this.timeline.worstDeg;
    const most = Math.max(...worst, 0);
    if (most === 0 && this.clip.invented && this.clip.frames > 1) {
      this.timeline.goTo(1);
      this.stage.frameAll();
    }
    if (!this.clip.start) this.seeFace();
    if (most > 0) {
      this.timeline.goToWorst(worst.indexOf(most));
      this.stage.frameAll();
      this.jumpTo(this.clip.limited[worst.indexOf(most)]);
    }
    await shaped;
    document.body.dataset.ready = "true";
    if (this.clip.start) this.tour.offer();
  }

  /** Open with the pose that Python says, and its joint picked, where there is no clip to open. */
  private async takeStart(): Promise<void> {
    const { start } = this.clip;
    if (!start) return;
    const { values, joint } = start;
    const { rotations, positions, outsideDeg } = await this.connection.ask("pose", { values });
    this.made.begin({ pose: { rotations, positions }, outsideDeg, values });
    this.pick(joint);
    const { turntable } = this.stage;
    turntable.turn(START_YAW - turntable.yaw, 0);
    this.stage.frameAll();
  }

  /** Come to a side from which the face is seen, of who has a head. */
  private seeFace(): void {
    const { looker, lookAxis, skeleton } = this.clip;
    const turn = this.stage.body.world.rotations[skeleton.names.indexOf(looker ?? "")];
    if (!turn) return;
    const way = new Vector3(...(AXES[lookAxis] ?? [0, 0, 1]));
    this.stage.turntable.bringToFront(way.applyQuaternion(turn));
    this.stage.draw();
  }

  /** Show a human with bones and skin. */
  private async takeShape(fit: BodyShape): Promise<void> {
    if (!fit.joints.length) return;
    const meshes = await readHuman(fit.human.slice().buffer);
    this.stage.setShapes({ meshes, fit });
    this.appearance.offerShapes(fit.skin);
  }

  /** Ask for violations and the clamped clip, of the limits as they are now. */
  private async checkClip(check = this.connection.ask("check", {})): Promise<void> {
    this.outside = (await check).outsideDeg;
    this.timeline.show(this.outside);
    this.tree.showWorst(this.timeline.worstDeg);
    this.curve.pick(this.picked);
    await this.ghost.refresh(this.timeline.worstDeg.some((angle) => angle > 0));
    if (this.made.present) await this.assessPose();
    else this.showFrame();
  }

  private layOut(): void {
    const { clip } = this;
    find("#clip").textContent = clip.name;
    find("#tools").before(this.files.tools);
    find("#strip").before(this.curve.panel);
    this.files.update(clip.state);
    const fitting = new FitPanel(this.connection, clip);
    new Exchange(this.files, this.connection, {
      pose: () => this.poseRequest(),
      soften: () => this.ghost.softening.value,
      picture: () => this.stage.picture(),
      film: (tell) => {
        const turn = (yaw: number) => {
          this.stage.turntable.turn(yaw, 0);
          this.stage.drawNow();
        };
        return recordTurn(find<HTMLCanvasElement>("#stage"), turn, tell).finally(() =>
          this.stage.draw(),
        );
      },
      names: clip.skeleton.names,
      fit: () => void fitting.open(),
    });
    this.editing.updateState(clip.state);
    this.frameButton.disabled = true;
    find("#tools").append(
      this.frameButton,
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
      ...showOnlyIn("pose", this.shelf.panel),
      ...showOnlyIn("controls", this.sliders.panel),
      ...showOnlyIn("edit", editing.head),
      panel.intro,
      panel.details,
      ...showOnlyIn("edit", families.fit, families.comparison.panel, editing.hinge.panel),
      this.dependence.panel,
      ...showOnlyIn("edit", editing.points.panel, families.byHand),
      panel.insetPlace,
      this.comparing.panel,
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
    this.tryOut.restart();
    this.showPresent();
    if (mode === "controls") this.sliders.reveal(this.picked);
  }

  togglePin(): void {
    if (this.mode === "try") this.tryOut.pins.toggle();
  }

  resetPose(): void {
    if (this.mode === "controls") this.sliders.reset();
    else {
      this.tryOut.restart();
      this.made.leave();
    }
  }

  /** Take back the drag that is under way, whatever is dragged; tell whether there is one. */
  cancelDrag(): boolean {
    const { pointer } = this.stage;
    return pointer.cancel() || this.sliders.cancel() || this.panel.cancelDrag() || cancelDrag();
  }

  /** Widen the limit of the picked joint, so that the pose it is in is legal. */
  private allowPose(): void {
    const { w, x, y, z } = this.pickedRotation();
    const edit = this.dependence.allowEdit() ?? { edit: "add-sample", rotation: [w, x, y, z] };
    void this.editing.strokes.apply(edit);
  }

  /** Undo or redo a pose where poses are made; tell whether there was one. */
  stepPose(which: "undo" | "redo"): boolean {
    return (this.mode === "try" || this.mode === "controls") && this.made[which]();
  }

  /** The pose that is shown, to be asked about. */
  private poseRequest() {
    const { rotations, positions } = this.pose;
    return {
      frame: this.timeline.frame,
      rotations: [...rotations],
      positions: [...positions],
    };
  }

  /** The pose that is shown, with what is known of it. */
  private currentPose(): MadePose {
    const { pose, poseOutsideDeg } = this;
    return this.made.present ?? { pose, outsideDeg: poseOutsideDeg, values: undefined };
  }

  private async mirrorPose(): Promise<void> {
    const { pose } = this.currentPose();
    const request = {
      frame: this.timeline.frame,
      rotations: [...pose.rotations],
      positions: [...pose.positions],
    };
    try {
      const { rotations, positions, outsideDeg } = await this.connection.ask("mirror", request);
      this.made.take({ pose: { rotations, positions }, outsideDeg, values: undefined });
    } catch (error) {
      showMessage((error as Error).message, false);
    }
  }

  /** Pose the body as it was observed in a frame of a clip, as far as that is known. */
  private async recall({ w, x, y, z }: Quaternion, from: string, at: number): Promise<void> {
    const { pose } = this.currentPose();
    const joint = this.pickedName;
    if (joint === undefined) return;
    const request = {
      frame: this.timeline.frame,
      rotations: [...pose.rotations],
      positions: [...pose.positions],
      joint,
      rotation: [w, x, y, z],
      clip: from,
      at,
    };
    try {
      const answer = await this.connection.ask("recall", request);
      const { rotations, positions, outsideDeg, shown, whole } = answer;
      if (shown !== null) {
        this.timeline.pause();
        this.made.leave();
        this.timeline.goTo(shown);
      } else this.made.take({ pose: { rotations, positions }, outsideDeg, values: undefined });
      showMessage(`${whole ? "" : `${joint} alone, `}as in ${from}, frame ${at}`);
    } catch (error) {
      showMessage((error as Error).message, false);
    }
  }

  /** Put the picked joint back: as it is in the clip, or the controls that move it to neutral. */
  private resetJoint(): void {
    const { picked } = this;
    if (picked === undefined) return;
    const current = this.currentPose();
    const moved = this.clip.controls.some(({ joints }) => joints.includes(picked));
    if (moved && current.values) {
      void this.sliders.show(current).then(() => this.sliders.resetJoint(picked));
      return;
    }
    const own = this.clip.pose(this.timeline.frame);
    const rotations = current.pose.rotations.slice();
    rotations.set(own.rotations.subarray(4 * picked, 4 * picked + 4), 4 * picked);
    const { positions } = current.pose;
    this.made.take({ pose: { rotations, positions }, outsideDeg: undefined, values: undefined });
  }

  /** Show the clip at the present frame; a pose that was tried is left. */
  private showClip(): void {
    if (this.mode === "controls") {
      this.enterMode("look", this.timeline.isPlaying);
      return;
    }
    if (this.mode === "try") this.tryOut.restart();
    if (this.made.present) this.made.leave();
    else this.showFrame();
  }

  /** Show the pose that was made, or else the clip's. */
  private showPresent(): void {
    const { present } = this.made;
    this.shelf.update();
    this.tryOut.follow(present?.pose);
    if (!present) {
      this.showFrame();
      if (this.mode === "controls") void this.sliders.show(this.currentPose());
      return;
    }
    if (!present.outsideDeg) void this.assessPose();
    this.showPose(present.pose, present.outsideDeg ?? []);
    if (this.mode === "controls") void this.sliders.show(present);
  }

  private showFrame(): void {
    const { frame } = this.timeline;
    const { length } = this.clip.limited;
    const outside = this.outside?.subarray(frame * length, (frame + 1) * length);
    this.curve.setFrame(frame);
    this.showPose(this.clip.pose(frame), [...(outside ?? [])]);
    this.stage.followRoot();
    this.ghost.show();
  }

  /** Ask how far the pose that was tried is outside the limits as they are now. */
  private async assessPose(): Promise<void> {
    const { present } = this.made;
    if (!present) return;
    const { rotations, positions } = present.pose;
    const request = {
      frame: this.timeline.frame,
      rotations: [...rotations],
      positions: [...positions],
    };
    const { outsideDeg } = await this.connection.ask("outside", request);
    if (this.made.present?.pose !== present.pose) return;
    this.made.refine({ ...this.made.present, outsideDeg });
    this.showPose(present.pose, outsideDeg);
  }

  private showPose(pose: Pose, outsideDeg: number[]): void {
    this.pose = pose;
    this.poseOutsideDeg = outsideDeg;
    this.outsideDeg = new Map();
    outsideDeg.forEach((angle, place) => {
      const joint = this.clip.limited[place];
      if (Math.abs(angle) > 1e-4 && joint !== undefined) this.outsideDeg.set(joint, angle);
    });
    this.stage.show(pose, this.outsideDeg, this.marks());
    this.curve.setTried(this.made.present !== undefined);
    this.sliders.showOutside(outsideDeg);
    this.updateLimitPose();
    this.dependence.setPose();
    this.comparing.setPose();
    this.updateRing();
  }

  /** Let the rings be at the picked joint, where it can be turned by hand. */
  private updateRing(): void {
    const { picked, stage } = this;
    const joint = this.mode === "try" ? picked : undefined;
    const parent = joint === undefined ? -1 : (this.clip.skeleton.parents[joint] ?? -1);
    this.ring.show(joint, stage.body.world, parent, this.limitView.hinge);
    // An arc that changes with another joint is looked at, too.
    const isHeld = this.dependence.isHinge;
    const whole = this.mode === "edit" || isHeld ? this.limitView.hinge : null;
    const hinge = this.dependence.hingeHere(whole) ?? undefined;
    this.editing.hinge.setDriver(isHeld ? this.dependence.driverName : undefined);
    if (this.limitView.sphere) this.limitView.sphere.group.visible = !this.dependence.hasMap;
    const above = this.clip.skeleton.measuredFrom[picked ?? -1] ?? -1;
    const radius = 1.08 * (this.limitView.radius ?? 1);
    const { world } = stage.body;
    this.editing.hinge.show(hinge, picked ?? -1, above, world, radius, isHeld ? whole : null);
    stage.draw();
  }

  private marks() {
    const [outside, unusual] = [1, -1].map(
      (sign) =>
        new Set(
          [...this.outsideDeg].filter(([, angle]) => sign * angle > 0).map(([joint]) => joint),
        ),
    ) as [Set<number>, Set<number>];
    return { picked: this.picked, outside, unusual, blocking: new Set(this.tryOut.blocking) };
  }

  /** The name of the picked joint, if it has a limit. */
  private get pickedName(): string | undefined {
    const { picked, clip } = this;
    return clip.hasRegion(picked) ? clip.skeleton.names[picked] : undefined;
  }

  pick(joint: number | undefined): void {
    this.picked = joint;
    this.frameButton.disabled = joint === undefined;
    this.tree.select(joint);
    this.panel.pick(joint);
    if (this.mode !== "look") this.panel.intro.hidden = true;
    this.editing.pick(joint);
    this.tryOut.pins.pick(joint);
    this.shelf.pick(joint);
    this.sliders.reveal(joint);
    this.curve.pick(joint);
    this.families.pick(joint);
    this.limitView.pick(joint);
    this.dependence.pick(joint);
    if (!this.limitView.isLimited) this.comparing.show(undefined, undefined);
    this.stage.setMarks(this.marks());
    this.updateLimitPose();
    this.updateRing();
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
      this.dependence.pick(this.picked);
      void this.limitView.refresh();
    } else this.pick(this.picked);
  }

  /** Let what belongs to the picked joint follow its pose. */
  private updateLimitPose(): void {
    if (this.picked === undefined) return;
    const outsideDeg = this.outsideDeg.get(this.picked) ?? 0;
    this.limitView.setPose(this.pickedRotation(), outsideDeg);
    this.limitView.showWhy(undefined);
    const { picked } = this;
    clearTimeout(this.wondering);
    if (outsideDeg > 0 && !this.timeline.isPlaying)
      this.wondering = window.setTimeout(() => void this.reasons.send(picked), STILL_MS);
  }

  /** Ask why a joint is outside in the pose that is shown, and say it if it still is. */
  private async explain(joint: number): Promise<void> {
    const { pose } = this;
    if (!((this.outsideDeg.get(joint) ?? 0) > 0)) return; // it was, when somebody wondered
    const name = this.clip.skeleton.names[joint] ?? "";
    const why = await this.connection.ask("why", { ...this.poseRequest(), joint: name });
    if (this.pose === pose && this.picked === joint)
      this.limitView.showWhy(why, this.pickedRotation());
  }

  /** How the picked joint is turned, as the one sees it that its limit is measured from. */
  private pickedRotation(): Quaternion {
    return measuredRotation(this.clip.skeleton, this.pose.rotations, this.picked ?? 0);
  }

  showHelp(): void {
    find<HTMLDialogElement>("#help").showModal();
    find("#help h2").focus(); // not its last button, which is below
  }

  showTour(): void {
    find<HTMLDialogElement>("#help").close();
    this.tour.begin();
  }

  framePicked(): void {
    if (this.picked === undefined) return;
    this.stage.frameJoint(this.picked);
    this.comeAround();
  }

  /** Go to the next frame in which a joint goes outside, or the one before, and to that joint. */
  goToViolation(way: 1 | -1): void {
    const joints = this.timeline.goToViolation(way);
    const { picked } = this;
    const stays = this.mode === "edit" || (picked !== undefined && joints.includes(picked));
    if (joints.length) this.jumpTo(stays ? picked : joints[0]);
  }

  /** Pick a joint from elsewhere than the view, and let the view show it and its region. */
  private jumpTo(joint: number | undefined): void {
    const isNew = joint !== this.picked;
    if (isNew) this.pick(joint);
    if (joint === undefined) return;
    // Who edits is close to the joint, and sees all of its sphere.
    const isClose = this.mode === "edit" && isNew;
    if (isClose || !this.stage.isInView(joint)) this.stage.frameJoint(joint);
    this.comeAround();
  }

  /** Come to a side from which the region of the picked joint is seen, once that is there. */
  private comeAround(): void {
    const { sphere, hinge } = this.limitView;
    const { turntable } = this.stage;
    this.comesAround = this.limitView.isLimited && !sphere;
    if (sphere && hinge) turntable.bringToSide(this.hingeAxis(hinge), this.outwards());
    else if (sphere?.facing) turntable.bringToFront(sphere.facing);
    this.stage.draw();
  }

  /** The axis of the picked joint's hinge in the world. */
  private hingeAxis({ axis }: Hinge): Vector3 {
    const above = this.clip.skeleton.measuredFrom[this.picked ?? -1] ?? -1;
    const turn = this.stage.body.world.rotations[above] ?? new Quaternion();
    return new Vector3(...(axis as [number, number, number])).applyQuaternion(turn);
  }

  /** The way from the root to the picked joint. */
  private outwards(): Vector3 {
    const { positions } = this.stage.body.world;
    const [root, joint] = [positions[0], positions[this.picked ?? 0]];
    return new Vector3().subVectors(joint ?? new Vector3(), root ?? new Vector3());
  }
}
