// Edit: what can be done to the picked joint's limit, and a history of what was done.

import { Quaternion, type Ray, Vector3 } from "three";
import type { Clip } from "../clip";
import type { Connection } from "../connection";
import { element, find } from "../elements";
import { showMessage } from "../notes";
import type { Edge, Edit, News, State } from "../protocol";
import { hasPoint, type PointKey } from "../stage/cone";
import type { Handle } from "../stage/pointer";
import { type Region, regionFrom } from "../stage/region";
import type { JointSphere } from "../stage/sphere";
import { addEdit, moveEdit } from "./edits";
import { ConeHandles, intersectSphere } from "./handles";
import { HingeEditor, type Side } from "./hinge";
import { History } from "./history";
import { PointsPanel } from "./points";
import { type AnyEdit, type EditAnswer, Strokes } from "./strokes";
import { WholeLimit } from "./whole";

const NUDGE_DEG = 1;

/** What would work instead of an edit that was refused. */
const ADVICE: Record<string, string> = {
  "reorder-point":
    "The order is that in which points lie round the visible one: drag this point to its place, or " +
    "delete it and double click there.",
};

export class Editing {
  /** What is edited, undo and redo, and what became of the last edit. */
  readonly head = element("div", { class: "editing top" });
  readonly strokes: Strokes;
  /** Told of every answer to an edit. */
  onAnswer: (answer: EditAnswer) => void = () => {};
  /** How the picked joint is turned, as the one sees it that its limit is measured from. */
  jointRotation: () => Quaternion = () => new Quaternion();
  /** How the camera is turned in the world. */
  cameraRotation: () => Quaternion = () => new Quaternion();
  private title = element("h2");
  private status = element("p", { id: "said", role: "status" });
  private history = new History((which) => void this.strokes.step(which));
  readonly points = new PointsPanel(
    (edit) => this.strokes.apply(edit),
    (key) => this.select(key),
    () => void this.add(),
  );
  readonly whole: WholeLimit;
  /** The ends of a hinge. */
  readonly hinge = new HingeEditor({
    onDrag: (side, deg) => this.strokes.drag(this.endEdit(side, deg)),
    onDrop: () => void this.strokes.endDrag(),
    onCancel: () => void this.strokes.cancelDrag(),
    onType: (side, deg) => void this.strokes.apply(this.endEdit(side, deg)),
  });
  /** The edit that moves an end of a hinge. */
  endEdit = (side: Side, deg: number): Edit => ({ edit: "hinge", side, deg });
  private joint: number | undefined;
  private isActive = false;
  private region: Region | undefined;
  private sphere: JointSphere | undefined;
  private coneHandles: ConeHandles | undefined;
  private selected: PointKey | undefined;
  /** Where keys have moved the chosen point to, and where it was when the last was let go. */
  private nudged: Vector3 | undefined;
  private releasedAt: Vector3 | undefined;

  constructor(
    private clip: Clip,
    connection: Connection,
    /** Told of a new picture of the picked joint's limit, in the middle of a drag perhaps. */
    private onRegion: (region: Region) => void,
    /** Told when limits have changed and the drag is over. */
    private onChange: () => void,
    /** Told when something is to be drawn again. */
    private onRedraw: () => void,
  ) {
    this.strokes = new Strokes(connection, () => this.name, {
      onAnswer: (answer, joint, edit) => this.receive(answer, joint, edit),
      onFailure: (reason) => this.showRefusal(reason),
      onDone: (what) => (this.status.textContent = what),
      onStep: showMessage,
      onChange,
    });
    this.whole = new WholeLimit(
      clip,
      (edit, done) => void this.strokes.apply(edit, done),
      () => {
        const { w, x, y, z } = this.jointRotation();
        const done = "Drawn: now drag its points.";
        void this.strokes.apply({ edit: "draw", rotation: [w, x, y, z] }, done);
      },
    );
    this.head.append(this.title, this.history.panel, this.status);
    for (const { panel } of [this.points, this.whole]) panel.classList.add("editing");
    this.points.panel.hidden = true;
    this.pick(undefined);
    for (const end of ["keyup", "blur"]) addEventListener(end, () => this.endNudge());
  }

  /** Begin or end editing: what can be dragged is shown or not. */
  setActive(on: boolean): void {
    this.isActive = on;
    this.updateHandles();
  }

  pick(joint: number | undefined): void {
    if (joint !== this.joint) {
      this.selected = undefined;
      this.clearRefusal();
    }
    this.joint = joint;
    this.nudged = undefined;
    this.title.textContent = this.name === null ? "Pick a joint to edit" : `Edit ${this.name}`;
    this.region = this.sphere = this.coneHandles = undefined;
    this.points.panel.hidden = true;
    this.whole.pick(joint);
  }

  /** Show what can be done to a limit that is drawn. */
  show(region: Region, sphere: JointSphere): void {
    const { outline } = region;
    this.region = region;
    if (this.selected !== undefined && !(outline && hasPoint(outline, this.selected)))
      this.selected = undefined;
    if (this.sphere !== sphere) {
      this.sphere = sphere;
      this.coneHandles = undefined;
    }
    if (!outline && this.coneHandles) sphere.group.remove(this.coneHandles.group);
    if (!outline) this.coneHandles = undefined;
    else if (!this.coneHandles) {
      this.coneHandles = new ConeHandles(sphere, outline, this.selected, this.isActive, {
        onDrag: (edit) => this.strokes.drag(edit),
        onDrop: () => void this.strokes.endDrag(),
        onCancel: () => void this.strokes.cancelDrag(),
        onSelect: (key) => this.select(key),
      });
      sphere.group.add(this.coneHandles.group);
    } else this.coneHandles.show(outline, this.selected, this.isActive);
    this.points.show(region, this.selected);
    this.whole.pick(this.joint);
  }

  /** The bone has moved. */
  updateSlice(): void {
    this.points.showSlice(this.sphere?.slice);
  }

  get handles(): Handle[] {
    return this.coneHandles?.listHandles() ?? [];
  }

  select(key: PointKey | undefined): void {
    if (key === this.selected) return;
    this.nudged = undefined;
    this.selected = key;
    this.updateHandles();
  }

  /** Choose the next point or the one before, and let keys go to the view. */
  selectNext(by: number): void {
    this.points.selectBy(by);
    find("#stage").focus();
  }

  /** Leave the chosen point, if there is one. */
  deselect(): boolean {
    const had = this.isActive && this.selected !== undefined;
    if (had) this.select(undefined);
    return had;
  }

  remove(): void {
    void this.points.remove();
  }

  smooth(): void {
    if (this.coneHandles) this.points.smooth();
  }

  mirror(): void {
    this.whole.mirror();
  }

  /** Put a point where a ray meets the sphere, or else into the middle of an edge or at the bone. */
  async add(ray?: Ray): Promise<void> {
    const { sphere, region, selected } = this;
    if (!this.coneHandles || !sphere || !region) return;
    let point = ray && intersectSphere(ray, sphere, undefined);
    if (ray && !point) return;
    if (!ray && typeof selected === "number") {
      if (await this.strokes.apply(addEdit(this.coneHandles.outline, selected)))
        this.select(selected + 1);
      return;
    }
    const local = region.reference.clone().invert().multiply(this.jointRotation());
    point ??= region.axis.clone().applyQuaternion(local);
    if (await this.strokes.apply({ edit: "add-point", point: point.toArray() }))
      this.selectNearest(point);
  }

  /** Whether a click belongs to the limit's sphere, and to nothing else. */
  claimsClick(ray: Ray): boolean {
    return (
      this.coneHandles !== undefined &&
      this.sphere !== undefined &&
      !!intersectSphere(ray, this.sphere, undefined)
    );
  }

  /** Move the chosen point by degrees to the right and up on the screen, if the view has the focus. */
  nudge(right: number, up: number): boolean {
    const { coneHandles, sphere, selected } = this;
    if (!this.isActive || !coneHandles || !sphere || selected === undefined) return false;
    if (document.activeElement !== find("#stage")) return false;
    const from = this.nudged ?? coneHandles.directionAt(selected);
    const way = new Vector3(right, up, 0)
      .applyQuaternion(this.cameraRotation())
      .applyQuaternion(sphere.group.quaternion.clone().invert())
      .projectOnPlane(from);
    if (way.length() > 1e-3) {
      const angle = (NUDGE_DEG * Math.hypot(right, up) * Math.PI) / 180;
      const along = way.normalize().multiplyScalar(Math.sin(angle));
      this.nudged = along.addScaledVector(from, Math.cos(angle)).normalize();
      this.strokes.drag(moveEdit(coneHandles.outline, selected, this.nudged));
    }
    return true;
  }

  /** The key that nudged is up again: what it did is one step. */
  private endNudge(): void {
    const { nudged } = this;
    if (!nudged || nudged === this.releasedAt) return;
    this.releasedAt = nudged;
    // Until it is answered, the next key goes on from there.
    void this.strokes.endDrag().then(() => {
      if (this.nudged === nudged) this.nudged = undefined;
    });
  }

  /** Another page has changed the limits. */
  receiveNews(news: News): void {
    this.updateState(news);
    this.onChange();
  }

  private get name(): string | null {
    return this.joint === undefined ? null : (this.clip.skeleton.names[this.joint] ?? null);
  }

  private selectNearest(point: Vector3): void {
    const corners = this.region?.outline?.corners ?? [];
    const away = corners.map((corner) => corner.distanceTo(point));
    this.select(away.indexOf(Math.min(...away)));
  }

  private updateHandles(): void {
    const { coneHandles, region } = this;
    if (!coneHandles || !region) return;
    coneHandles.show(coneHandles.outline, this.selected, this.isActive);
    this.points.show(region, this.selected);
    this.onRedraw();
  }

  private receive(answer: EditAnswer, joint: string | null, edit?: AnyEdit): void {
    this.updateState(answer);
    if (joint !== this.name) return; // another joint has been picked meanwhile
    this.onAnswer(answer);
    if ("refused" in answer) {
      this.showRefusal(answer.refused, "edge" in answer ? answer.edge : undefined, edit);
      this.updateHandles();
      return;
    }
    this.clearRefusal();
    if ("family" in answer) this.onRegion(regionFrom(answer));
  }

  /** Say why an edit is not allowed; the edge at fault turns red, a ghost is where a point was to go. */
  private showRefusal(reason: string, edge?: Edge, edit?: AnyEdit): void {
    const advice = edge && ADVICE[edit?.edit ?? ""];
    this.status.replaceChildren(reason, ...(advice ? [element("span", {}, advice)] : []));
    this.status.className = "missed";
    const place = (point: number[] = []) => new Vector3().fromArray(point);
    if (edge) this.status.dataset.edge = `${edge.number}`;
    else delete this.status.dataset.edge;
    this.coneHandles?.showRefusal({
      edge: edge && [place(edge.ends[0]), place(edge.ends[1])],
      point: edit && "point" in edit ? place(edit.point).normalize() : undefined,
    });
    this.onRedraw();
  }

  private clearRefusal(): void {
    this.status.textContent = "";
    this.status.className = "met";
    delete this.status.dataset.edge;
    this.coneHandles?.showRefusal(undefined);
  }

  /** Take over what can be undone, and which joints have limits. */
  updateState(state: State): void {
    this.history.update(state);
    this.clip.limited.splice(0, Infinity, ...state.limited);
    this.clip.skeleton.measuredFrom = state.measuredFrom;
    this.clip.state = state;
  }
}
