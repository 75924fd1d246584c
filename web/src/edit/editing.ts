// Edit: what can be done to the picked joint's limit, and a history of what was done.

import { Quaternion, type Ray, Vector3 } from "three";
import type { Clip } from "../clip";
import type { Answer, Line } from "../connection";
import { element, found } from "../elements";
import { say } from "../notes";
import { hasSpot, type Spot } from "../stage/cone";
import type { Handle } from "../stage/pointer";
import { type Region, regionOf } from "../stage/region";
import type { Fan } from "../stage/sphere";
import { addAfter, moveTo } from "./edits";
import { ConeHandles, onSphere } from "./handles";
import { History } from "./history";
import { Points } from "./points";
import { type Edit, Strokes } from "./strokes";
import { Whole } from "./whole";

const NUDGE_DEG = 1;

/** What would work instead of an edit that was refused. */
const LESSONS: Record<string, string> = {
  "reorder-point":
    "The order is that in which points lie round the visible one: drag this point to its place, or " +
    "delete it and double click there.",
};

export class Editing {
  /** What is edited, undo and redo, and what became of the last edit. */
  readonly head = element("div", { class: "editing top" });
  readonly strokes: Strokes;
  /** Told of every answer to an edit. */
  heard: (header: Record<string, unknown>) => void = () => {};
  /** How the picked joint is turned, as the one sees it that its limit is measured from. */
  turned: () => Quaternion = () => new Quaternion();
  /** How the camera is turned in the world. */
  camera: () => Quaternion = () => new Quaternion();
  private title = element("h2");
  private said = element("p", { id: "said", role: "status" });
  private history = new History((which) => void this.strokes.step(which));
  readonly points = new Points(
    (edit) => this.strokes.once(edit),
    (spot) => this.select(spot),
    () => void this.add(),
  );
  readonly whole: Whole;
  private joint: number | undefined;
  private on = false;
  private region: Region | undefined;
  private fan: Fan | undefined;
  private marks: ConeHandles | undefined;
  private selected: Spot | undefined;
  /** Where keys have moved the chosen point to, and where it was when the last was let go. */
  private nudged: Vector3 | undefined;
  private rested: Vector3 | undefined;

  constructor(
    private clip: Clip,
    line: Line,
    /** Told of a new picture of the picked joint's limit, in the middle of a drag perhaps. */
    private drawn: (region: Region) => void,
    /** Told when limits have changed and the drag is over. */
    private changed: () => void,
    /** Told when something is to be drawn again. */
    private redraw: () => void,
  ) {
    this.strokes = new Strokes(line, () => this.name, {
      answered: (answer, joint, edit) => this.receive(answer, joint, edit),
      failed: (reason) => this.refuse(reason),
      done: (what) => (this.said.textContent = what),
      stepped: say,
      changed,
    });
    this.whole = new Whole(
      clip,
      (edit, done) => void this.strokes.once(edit, done),
      () => {
        const { w, x, y, z } = this.turned();
        const edit = { edit: "draw", rotation: [w, x, y, z] };
        void this.strokes.once(edit, "Drawn: now drag its points.");
      },
    );
    this.head.append(this.title, this.history.panel, this.said);
    for (const { panel } of [this.points, this.whole]) panel.classList.add("editing");
    this.points.panel.hidden = true;
    this.pick(undefined);
    for (const end of ["keyup", "blur"]) addEventListener(end, () => this.rest());
  }

  /** Begin or end editing: what can be dragged is shown or not. */
  enter(on: boolean): void {
    this.on = on;
    this.mark();
  }

  pick(joint: number | undefined): void {
    if (joint !== this.joint) {
      this.selected = undefined;
      this.accept("");
    }
    this.joint = joint;
    this.nudged = undefined;
    this.title.textContent = this.name === null ? "Pick a joint to edit" : `Edit ${this.name}`;
    this.region = this.fan = this.marks = undefined;
    this.points.panel.hidden = true;
    this.whole.pick(joint);
  }

  /** Show what can be done to a limit that is drawn. */
  show(region: Region, fan: Fan): void {
    const { outline } = region;
    this.region = region;
    if (this.selected !== undefined && !(outline && hasSpot(outline, this.selected)))
      this.selected = undefined;
    if (this.fan !== fan) {
      this.fan = fan;
      this.marks = undefined;
    }
    if (!outline && this.marks) fan.group.remove(this.marks.group);
    if (!outline) this.marks = undefined;
    else if (!this.marks) {
      this.marks = new ConeHandles(fan, outline, this.selected, this.on, {
        follow: (edit) => this.strokes.follow(edit),
        drop: () => void this.strokes.drop(),
        select: (spot) => this.select(spot),
      });
      fan.group.add(this.marks.group);
    } else this.marks.show(outline, this.selected, this.on);
    this.points.show(region, this.selected);
    this.whole.pick(this.joint);
  }

  /** The bone has moved. */
  follows(): void {
    this.points.tell(this.fan?.slice);
  }

  get handles(): Handle[] {
    return this.marks?.handles() ?? [];
  }

  select(spot: Spot | undefined): void {
    if (spot === this.selected) return;
    this.nudged = undefined;
    this.selected = spot;
    this.mark();
  }

  /** Choose the next point or the one before, and let keys go to the view. */
  walk(by: number): void {
    this.points.step(by);
    found("#stage").focus();
  }

  /** Leave the chosen point, if there is one. */
  leave(): boolean {
    const had = this.on && this.selected !== undefined;
    if (had) this.select(undefined);
    return had;
  }

  remove(): void {
    void this.points.remove();
  }

  smooth(): void {
    if (this.marks) this.points.smooth();
  }

  mirror(): void {
    this.whole.mirror();
  }

  /** Put a point where a ray meets the sphere, or else into the middle of an edge or at the bone. */
  async add(ray?: Ray): Promise<void> {
    const { fan, region, selected } = this;
    if (!this.marks || !fan || !region) return;
    let point = ray && onSphere(ray, fan, undefined);
    if (ray && !point) return;
    if (!ray && typeof selected === "number") {
      if (await this.strokes.once(addAfter(this.marks.outline, selected)))
        this.select(selected + 1);
      return;
    }
    const local = region.reference.clone().invert().multiply(this.turned());
    point ??= region.axis.clone().applyQuaternion(local);
    if (await this.strokes.once({ edit: "add-point", point: point.toArray() }))
      this.selectNearest(point);
  }

  /** Whether a click belongs to the limit's sphere, and to nothing else. */
  takes(ray: Ray): boolean {
    return (
      this.marks !== undefined && this.fan !== undefined && !!onSphere(ray, this.fan, undefined)
    );
  }

  /** Move the chosen point by degrees to the right and up on the screen, if the view has the focus. */
  nudge(right: number, up: number): boolean {
    const { marks, fan, selected } = this;
    if (!this.on || !marks || !fan || selected === undefined) return false;
    if (document.activeElement !== found("#stage")) return false;
    const from = this.nudged ?? marks.where(selected);
    const way = new Vector3(right, up, 0)
      .applyQuaternion(this.camera())
      .applyQuaternion(fan.group.quaternion.clone().invert())
      .projectOnPlane(from);
    if (way.length() > 1e-3) {
      const angle = (NUDGE_DEG * Math.hypot(right, up) * Math.PI) / 180;
      const along = way.normalize().multiplyScalar(Math.sin(angle));
      this.nudged = along.addScaledVector(from, Math.cos(angle)).normalize();
      this.strokes.follow(moveTo(marks.outline, selected, this.nudged));
    }
    return true;
  }

  /** The key that nudged is up again: what it did is one step. */
  private rest(): void {
    const { nudged } = this;
    if (!nudged || nudged === this.rested) return;
    this.rested = nudged;
    // Until it is answered, the next key goes on from there.
    void this.strokes.drop().then(() => {
      if (this.nudged === nudged) this.nudged = undefined;
    });
  }

  /** Another page has changed the limits. */
  hear(news: Record<string, unknown>): void {
    this.tell(news);
    this.changed();
  }

  private get name(): string | null {
    return this.joint === undefined ? null : (this.clip.skeleton.names[this.joint] ?? null);
  }

  private selectNearest(point: Vector3): void {
    const corners = this.region?.outline?.corners ?? [];
    const away = corners.map((corner) => corner.distanceTo(point));
    this.select(away.indexOf(Math.min(...away)));
  }

  private mark(): void {
    const { marks, region } = this;
    if (!marks || !region) return;
    marks.show(marks.outline, this.selected, this.on);
    this.points.show(region, this.selected);
    this.redraw();
  }

  private receive(answer: Answer, joint: string | null, edit?: Edit): void {
    const { header } = answer;
    this.tell(header);
    if (joint !== this.name) return; // another joint has been picked meanwhile
    this.heard(header);
    const reason = header.refused;
    if (typeof reason === "string") this.refuse(reason, header.edge as Broken | undefined, edit);
    else this.accept("");
    if (header.family) this.drawn(regionOf(answer));
    else if (typeof reason === "string") this.mark();
  }

  /** Say why an edit is not allowed; the edge at fault turns red, a ghost is where a point was to go. */
  private refuse(reason: string, edge?: Broken, edit?: Edit): void {
    const lesson = edge && LESSONS[edit?.edit ?? ""];
    this.said.replaceChildren(reason, ...(lesson ? [element("span", {}, lesson)] : []));
    this.said.className = "missed";
    const place = (point: unknown) => new Vector3(...(point as [number, number, number]));
    if (edge) this.said.dataset.edge = `${edge.number}`;
    else delete this.said.dataset.edge;
    this.marks?.refuse({
      edge: edge && [place(edge.ends[0]), place(edge.ends[1])],
      point: edit?.point ? place(edit.point).normalize() : undefined,
    });
    this.redraw();
  }

  private accept(done: string): void {
    this.said.textContent = done;
    this.said.className = "met";
    delete this.said.dataset.edge;
    this.marks?.refuse(undefined);
  }

  /** Take over what can be undone, and which joints have limits. */
  tell(state: Record<string, unknown>): void {
    this.history.tell(state);
    if (state.limited) this.clip.limited.splice(0, Infinity, ...(state.limited as number[]));
    if (state.measuredFrom) this.clip.skeleton.measuredFrom = state.measuredFrom as number[];
  }
}

/** The edge for which a cone was refused. */
interface Broken {
  number: number;
  ends: [number[], number[]];
}
