// The page: its parts, and the actions that concern several of them.

import { batch, effect } from "@preact/signals";
import { render } from "preact";
import { type Quaternion, Vector3 } from "three";
import { recall, remember } from "./browser";
import { Latest } from "./connection";
import { Editing } from "./edit/editing";
import { Families } from "./edit/families";
import { bindKeys, showHelp } from "./keys";
import { LimitView } from "./limit";
import { report, showMessage, showNote } from "./notes";
import { ClipList } from "./panel/clips";
import { Comparing } from "./panel/comparing";
import { DependencePanel } from "./panel/dependence";
import { Evidence } from "./panel/evidence";
import { Exchange } from "./panel/exchange";
import { Files } from "./panel/files";
import { FitPanel } from "./panel/fitting";
import { JointPanel } from "./panel/joint";
import { RangesDialog } from "./panel/ranges";
import { RepairPanel } from "./panel/repair";
import { JointTree } from "./panel/tree";
import { AnglePanel } from "./pose/angles";
import { AXES } from "./pose/goals";
import { wFirst } from "./pose/kinematics";
import { RotationRing } from "./pose/ring";
import { Shelf } from "./pose/shelf";
import { Sliders } from "./pose/sliders";
import { TryOut } from "./pose/tryout";
import type { BodyShape, Check, OwnMesh, PoseAnswer } from "./protocol";
import type { Style } from "./stage/body";
import { readHuman } from "./stage/flesh";
import { Ghost } from "./stage/ghost";
import { readMesh } from "./stage/mesh";
import { Stage } from "./stage/stage";
import type { Mode, Store } from "./store";
import { Curves } from "./time/curves";
import { Timeline } from "./time/timeline";
import { Tour } from "./tour";
import { Button, cancelDrag, find } from "./ui";

const START_YAW = -0.25; // radians; the sphere of the raised arm is beside the face
const STYLE_LABELS: Record<Style, string> = {
  bones: "Bones",
  body: "Body",
  both: "Both",
  mesh: "Mesh",
  sticks: "Sticks",
};
const MODE_LABELS = { look: "Look", try: "Try", edit: "Edit", controls: "Controls" };
const HINTS = {
  look: "Click a joint to see its limit · drag to turn · ? for all keys",
  try: "Drag a joint, or a ring to turn it · K pins one · Ctrl Z undoes · R starts again",
  controls: "Move a slider: coupled bones move together · Ctrl Z undoes · R resets the pose",
  nothing: "Pick a joint to edit its limit",
  coming: "The limit is being drawn …",
  none: "This joint has no limit yet: draw a cone to begin with",
  hinge: "Drag an end of the arc, or type its degrees beside · Ctrl Z undoes",
  cone: "Drag a point or the end of a twist · double click adds a point · Ctrl Z undoes",
  field: "Drag on the surface in the small picture to push it out, with Shift to pull it in",
  other: "Choose a family or type numbers beside; as a field it can be sculpted · Ctrl Z undoes",
};

export class Page {
  readonly stage: Stage;
  readonly timeline: Timeline;
  readonly editing: Editing;
  readonly ghost: Ghost;
  readonly files: Files;
  readonly tour: Tour;
  private exchange: Exchange;
  private clips: ClipList;
  private limit: LimitView;
  private tryOut: TryOut;
  private sliders: Sliders;
  private angles: AnglePanel;
  private repairs: RepairPanel;
  private families: Families;
  private dependence: DependencePanel;
  private evidence: Evidence;
  private panel: JointPanel;
  private checking = new Latest(() => this.checkClip());

  constructor(readonly store: Store) {
    this.stage = new Stage(store);
    const { stage } = this;
    this.limit = new LimitView(store, stage);
    this.editing = new Editing(store, stage, (picture) => {
      this.limit.show(picture);
      this.dependence.markStale();
    });
    this.families = new Families(store, this.editing);
    this.dependence = new DependencePanel(store, stage, {
      apply: (edit) => void this.editing.strokes.apply(edit),
      pick: (joint) => this.jumpTo(joint),
    });
    this.editing.dependentEndEdit = (side, deg) => this.dependence.endEdit(side, deg);
    const recallSample = (rotation: Quaternion, clip: string, frame: number) =>
      void this.recall(rotation, clip, frame);
    this.evidence = new Evidence(store, stage, recallSample);
    this.panel = new JointPanel(store, this.evidence, this.families.brush, {
      edit: () => this.enterMode("edit"),
      showClamped: () => this.ghost.toggle(),
      allow: () => this.allowPose(),
      recall: recallSample,
    });
    new JointTree(store, (joint) => this.jumpTo(joint));
    this.clips = new ClipList(store);
    this.timeline = new Timeline(
      store,
      () => this.showClip(),
      (joint) => this.jumpTo(joint),
    );
    new Curves(store, (frame) => {
      this.timeline.pause();
      this.timeline.goTo(frame);
    });
    this.ghost = new Ghost(store, stage);
    this.tryOut = new TryOut(store, stage, () => this.resetPose());
    this.sliders = new Sliders(store);
    this.angles = new AnglePanel(store, () => this.tryOut.keepsLimits.value);
    this.repairs = new RepairPanel(store);
    this.files = new Files(store);
    const ranges = new RangesDialog(store, (frame, joint) => {
      this.timeline.pause();
      this.timeline.goTo(frame);
      this.jumpTo(joint);
    });
    this.exchange = new Exchange(store, stage, this.files, new FitPanel(store), ranges);
    this.tour = new Tour((mode) => this.enterMode(mode));
    this.followPointer();
    this.followStore();
    this.mount();
    this.restoreTheme();
    stage.frameAll();
    bindKeys(this);
    for (const text of store.clip.notes) showNote(text);
  }

  private followPointer(): void {
    const { store, stage, tryOut, editing } = this;
    const { pointer } = stage;
    const ring = new RotationRing(stage.body.size, {
      onBegin: () => tryOut.begin(),
      onRotate: (joint, rotation) => tryOut.rotate(joint, rotation),
      onEnd: () => showRing(),
      onCancel: () => tryOut.cancel(),
    });
    stage.scene.add(ring.group);
    const showRing = () => {
      const joint = store.mode.value === "try" ? store.picked.value : undefined;
      const parent = store.clip.skeleton.parents[joint ?? -1] ?? -1;
      ring.show(joint, store.world.value, parent, store.region.value?.hinge);
      stage.draw();
    };
    effect(showRing);
    const isEditing = () => store.mode.value === "edit";
    pointer.claimsClick = () => this.evidence.claimsClick();
    pointer.onClick = (ray) => isEditing() && editing.claimsClick(ray);
    pointer.onDoubleClick = (ray) => isEditing() && void editing.add(ray);
    pointer.onPick = (joint) => this.pick(joint);
    pointer.onGrip = (grip) => {
      if (store.mode.value !== "try" || !tryOut.grab(grip)) return false;
      if (grip.joint !== undefined) this.pick(grip.joint);
      return true;
    };
    pointer.onDrag = (target) => tryOut.drag(target);
    pointer.onRelease = () => tryOut.release();
    pointer.onCancel = () => tryOut.cancel();
    pointer.listHandles = () => {
      if (store.mode.value === "try") return ring.handles;
      return isEditing() ? editing.allHandles : [];
    };
  }

  private followStore(): void {
    const { store } = this;
    const { connection } = store;
    connection.onState = (state) => (store.state.value = state);
    connection.onNews = () => store.edition.value++;
    effect(() => {
      if (store.edition.value > 0) void this.checking.send(undefined);
    });
    effect(() => {
      const present = store.history.present.value;
      if (present && !present.outside) void store.assessPose();
    });
    effect(() => {
      document.documentElement.dataset.theme = store.themeName.value;
    });
    effect(() => {
      find("#hint").textContent = HINTS[this.hintKind()];
    });
    effect(() => {
      void store.mode.value;
      find("#details").scrollTop = 0;
    });
  }

  private hintKind(): keyof typeof HINTS {
    const { mode, picked, region } = this.store;
    if (mode.value !== "edit") return mode.value;
    if (picked.value === undefined) return "nothing";
    if (this.store.pickedName.value === undefined) return "none";
    if (!region.value) return "coming";
    if (region.value.outline) return "cone";
    return region.value.hinge ? "hinge" : region.value.sculptable ? "field" : "other";
  }

  private mount(): void {
    const { store, stage, files, panel, editing, families, exchange } = this;
    const comparing = new Comparing(store, stage);
    const shelf = new Shelf(store, {
      mirror: () => void this.mirrorPose(),
      resetJoint: () => this.resetJoint(),
    });
    find("#clip").textContent = store.clip.name;
    render(<this.Modes />, find("#modes"));
    render(<this.Tools />, find("#tools"));
    const Header = () => (
      <>
        <exchange.Menu />
        <files.Tools />
      </>
    );
    if (store.isRecorded) find("#files").remove();
    else render(<Header />, find("#files"));
    const Dialogs = () => (
      <>
        <files.Dialogs />
        <exchange.Dialogs />
        <exchange.fitting.Dialogs />
        <exchange.ranges.View />
      </>
    );
    render(<Dialogs />, find("#dialogs"));
    const Details = () => {
      const mode = store.mode.value;
      const isEditing = mode === "edit";
      return (
        <>
          <this.repairs.Panel />
          {mode === "try" && <this.tryOut.Panel />}
          {mode === "try" && <this.angles.Panel />}
          {(mode === "try" || mode === "controls") && <shelf.Panel />}
          {mode === "controls" && <this.sliders.Panel />}
          {isEditing && <editing.Head />}
          <panel.Intro />
          <panel.Details />
          {(mode === "look" || mode === "controls") && <this.angles.Panel />}
          {isEditing && (
            <>
              <families.Fit />
              <editing.hinge.Panel />
            </>
          )}
          <this.dependence.Panel />
          {isEditing && (
            <>
              <editing.points.Panel />
              <families.ByHand />
            </>
          )}
          <panel.Picture />
          <comparing.Panel />
          {isEditing && (
            <>
              <editing.Whole />
              <this.ghost.Softening />
            </>
          )}
        </>
      );
    };
    render(<Details />, find("#details"));
  }

  private Modes = () =>
    (Object.keys(MODE_LABELS) as Mode[])
      .filter((mode) => this.hasMode(mode))
      .map((mode) => (
        <Button
          key={mode}
          label={MODE_LABELS[mode]}
          role="tab"
          aria-controls="details"
          aria-selected={mode === this.store.mode.value}
          onClick={() => this.chooseMode(mode)}
        >
          {MODE_LABELS[mode]}
        </Button>
      ));

  private Tools = () => (
    <>
      <Button
        label="Look at the picked joint (.)"
        disabled={this.store.picked.value === undefined}
        onClick={() => this.framePicked()}
      >
        ◎
      </Button>
      <Button
        class="style"
        label="Mesh, body, bones or both (B)"
        onClick={() => this.toggleStyle()}
      >
        {STYLE_LABELS[this.store.isCheap.value ? "sticks" : this.store.style.value]}
      </Button>
      <this.ghost.Tool />
      {!this.store.isRecorded && <this.repairs.Tool />}
      <Button label="Light or dark (L)" onClick={() => this.toggleTheme()}>
        ◐
      </Button>
      <Button label="Keys and mouse (?)" onClick={showHelp}>
        ?
      </Button>
    </>
  );

  /** Request violations, and begin with the worst joint. */
  async begin(
    check: Promise<Check>,
    shape: Promise<BodyShape>,
    mesh: Promise<OwnMesh>,
  ): Promise<void> {
    const { store, stage, timeline } = this;
    const { clip } = store;
    const shaped = this.takeShape(shape, mesh);
    const started = this.takeStart();
    stage.hold(Promise.all([shaped, started]));
    await this.checkClip(check);
    await started;
    const angles = timeline.worst.value.map(({ angle }) => angle);
    const worst = Math.max(...angles, 0);
    if (worst === 0 && clip.invented && clip.frames > 1) {
      timeline.goTo(1);
      stage.frameAll();
    }
    if (!clip.start) this.showFace();
    if (worst > 0) {
      const index = angles.indexOf(worst);
      timeline.goTo(timeline.worst.value[index]?.frame ?? 0);
      stage.frameAll();
      this.jumpTo(store.check.value?.joints[index]);
    }
    await shaped;
    const isShared = this.exchange.share.restore();
    find("main").setAttribute("aria-busy", "false");
    if (clip.start && !isShared) this.tour.offer();
  }

  /** A figure without a clip opens with a pose and a picked joint. */
  private async takeStart(): Promise<void> {
    const { store, stage } = this;
    const { start } = store.clip;
    if (!start) return;
    const { values, joint } = start;
    const posed = await store.connection.ask("pose", { values });
    store.history.present.value = { ...this.madeFrom(posed), values }; // with nothing to undo
    this.pick(store.clip.skeleton.names.indexOf(joint));
    stage.turntable.rotate(START_YAW - stage.turntable.yaw, 0);
    stage.frameAll();
  }

  private madeFrom({ rotations, positions, outsideDeg }: PoseAnswer) {
    const outside = this.store.byJoint(outsideDeg);
    return { pose: { rotations, positions }, outside, values: undefined };
  }

  /** Turn the camera to a side from which the face is seen, if there is a head. */
  private showFace(): void {
    const { looker, lookAxis, skeleton } = this.store.clip;
    const head = this.store.world.value.rotations[skeleton.names.indexOf(looker ?? "")];
    if (!head) return;
    const direction = new Vector3(...(AXES[lookAxis] ?? [0, 0, 1]));
    this.stage.turntable.bringToFront(direction.applyQuaternion(head));
  }

  /** Show the mesh of the clip's file, or a human with bones and skin. */
  private async takeShape(shape: Promise<BodyShape>, mesh: Promise<OwnMesh>): Promise<void> {
    const { store, stage } = this;
    const found = await Promise.all([shape, mesh]).catch((error: Error) => {
      showNote(`The body is not shown: ${error.message}`);
    });
    if (!found) return;
    const [fit, file] = found;
    const styles: Style[] = await this.takeMesh(file);
    if (fit.joints.length) {
      const meshes = readHuman(fit);
      stage.setShapes({ meshes, fit });
      styles.push(...(fit.skin ? (["both", "bones", "body"] as const) : (["bones"] as const)));
    } else if (styles.length) styles.push("body", "bones");
    if (!styles.length) return;
    const before = recall("style") as Style;
    batch(() => {
      store.styles.value = styles;
      store.style.value = styles.includes(before) ? before : (styles[0] as Style);
    });
  }

  /** Show the mesh of the clip's file; return the styles that this adds. */
  private async takeMesh(file: OwnMesh): Promise<Style[]> {
    if (!file.nodes.length) return [];
    try {
      const mesh = await readMesh(file);
      if (!mesh) return [];
      this.stage.setMesh(mesh);
      return ["mesh"];
    } catch (error) {
      showNote(`The mesh of this file is not shown: ${(error as Error).message}`);
      return [];
    }
  }

  /** Request violations of the present limits. */
  private async checkClip(check = this.store.connection.ask("check", {})): Promise<void> {
    const { outsideDeg } = await check;
    const joints = this.store.limited.value;
    this.store.check.value = { joints, outsideDeg };
    if (this.store.history.present.value) await this.store.assessPose();
  }

  private hasMode(mode: Mode): boolean {
    const { clip, isRecorded } = this.store;
    if (mode === "look") return true;
    if (mode === "try" && clip.skeleton.names.length < 2) return false;
    return !isRecorded && (mode !== "controls" || clip.controls.length > 0);
  }

  /** Enter a mode; if it is the present one, nothing changes. */
  chooseMode(mode: Mode): void {
    if (mode !== this.store.mode.value) this.enterMode(mode);
  }

  private enterMode(mode: Mode): void {
    if (!this.hasMode(mode)) return;
    if (mode === "edit" && this.store.mode.value !== "edit") this.framePicked();
    this.timeline.pause();
    this.tryOut.restart();
    this.store.mode.value = mode;
  }

  togglePin(): void {
    if (this.store.mode.value === "try") this.tryOut.pins.toggle();
  }

  resetPose(): void {
    if (this.store.mode.value === "controls") this.sliders.reset();
    else {
      this.tryOut.restart();
      this.store.history.leave();
    }
  }

  /** Show the clip's own pose: Controls have none. */
  private showClip(): void {
    const { mode, history } = this.store;
    if (mode.value === "controls") mode.value = "look";
    if (mode.value === "try") this.tryOut.restart();
    history.leave();
  }

  /** Revert the drag in progress, whatever is dragged; return whether there was one. */
  cancelDrag(): boolean {
    return this.stage.pointer.cancel() || this.panel.cancelDrag() || cancelDrag();
  }

  /** Widen the picked joint's limit so that its pose is legal. */
  private allowPose(): void {
    const rotation = wFirst(this.store.measuredRotation());
    const edit = this.dependence.allowEdit() ?? { edit: "add-sample", rotation };
    void this.editing.strokes.apply(edit);
  }

  /** Undo or redo a pose in the modes that make poses; return whether there was one. */
  stepPose(which: "undo" | "redo"): boolean {
    const { mode, history } = this.store;
    if (mode.value === "edit") return false;
    if (mode.value === "look") return this.repairs.step(which);
    return history[which]() || this.repairs.step(which);
  }

  private mirrorPose(): Promise<void> {
    const { connection, history } = this.store;
    return report(async () => {
      const mirrored = await connection.ask("mirror", this.store.poseRequest());
      history.take(this.madeFrom(mirrored));
    });
  }

  /** Pose the body as it was observed in a frame of a clip, as far as that is known. */
  private recall(rotation: Quaternion, clip: string, at: number): Promise<void> {
    const { store, timeline } = this;
    const joint = store.pickedName.value;
    return report(async () => {
      if (joint === undefined) return;
      const request = { ...store.poseRequest(), joint, rotation: wFirst(rotation), clip, at };
      const answer = await store.connection.ask("recall", request);
      if (answer.shown !== null) {
        timeline.pause();
        timeline.goTo(answer.shown);
      } else store.history.take(this.madeFrom(answer));
      showMessage(`${answer.whole ? "" : `${joint} alone, `}as in ${clip}, frame ${at}`);
    });
  }

  /** Reset the picked joint to the clip, or the controls that move it to neutral. */
  private resetJoint(): void {
    const { store } = this;
    const joint = store.picked.value;
    if (joint === undefined) return;
    const current = store.currentPose();
    const isMoved = store.clip.controls.some(({ joints }) => joints.includes(joint));
    if (isMoved && current.values) {
      void this.sliders.resetJoint(joint, current);
      return;
    }
    const own = store.clip.pose(store.frame.value);
    const rotations = current.pose.rotations.slice();
    rotations.set(own.rotations.subarray(4 * joint, 4 * joint + 4), 4 * joint);
    const { positions } = current.pose;
    const pose = { rotations, positions };
    store.history.take({ pose, outside: undefined, values: undefined });
  }

  pick(joint: number | undefined): void {
    this.store.picked.value = joint;
  }

  framePicked(): void {
    const joint = this.store.picked.value;
    if (joint === undefined) return;
    this.stage.frameJoint(joint);
    this.limit.turnToRegion();
  }

  /**
   * Go to the next frame in which a joint goes outside, or the previous, and pick the joint. After
   * the last one, go to the next clip of the list.
   */
  goToViolation(step: 1 | -1): void {
    const joints = this.timeline.goToViolation(step);
    if (!joints.length && !(step === 1 && this.clips.showNext()))
      showMessage(step === 1 ? "Nothing is outside after this frame" : "Nothing is outside before");
    const { mode, picked } = this.store;
    const stays = mode.value === "edit" || joints.includes(picked.value ?? -1);
    if (joints.length) this.jumpTo(stays ? picked.value : joints[0]);
  }

  /** Pick a joint from outside the view, and show it and its region. */
  private jumpTo(joint: number | undefined): void {
    const isNew = joint !== this.store.picked.value;
    this.pick(joint);
    if (joint === undefined) return;
    // In Edit the camera is close to the joint, so that all of its sphere is seen.
    const isClose = this.store.mode.value === "edit" && isNew;
    if (isClose || !this.stage.isInView(joint)) this.stage.frameJoint(joint);
    this.limit.turnToRegion();
  }

  toggleStyle(): void {
    const { style, styles, isCheap } = this.store;
    if (isCheap.value) {
      isCheap.value = this.store.mayBeCheap = false;
      remember("simple", "never");
      return;
    }
    const next = (styles.value.indexOf(style.value) + 1) % styles.value.length;
    style.value = styles.value[next] as Style;
    remember("style", style.value);
  }

  private restoreTheme(): void {
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const theme = recall("theme") ?? (isDark ? "dark" : "light");
    this.store.themeName.value = theme === "dark" ? "dark" : "light";
  }

  toggleTheme(): void {
    const { themeName } = this.store;
    themeName.value = themeName.value === "dark" ? "light" : "dark";
    remember("theme", themeName.value);
  }
}
