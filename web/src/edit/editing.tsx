// Editing of the picked joint's limit: points of cones, the limit as a whole, and undo.

import { effect, signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { type Ray, Vector3 } from "three";
import type { Refusal } from "../connection";
import { showMessage } from "../notes";
import { wFirst } from "../pose/kinematics";
import type { Edit, EditRequest, Picture } from "../protocol";
import { hasPoint, type PointKey } from "../stage/cone";
import type { Handle } from "../stage/pointer";
import type { Stage } from "../stage/stage";
import type { Store } from "../store";
import { Button, find, focusStage } from "../ui";
import { ConeHandles, intersectSphere } from "./handles";
import { HingeEditor, type Side } from "./hinge";
import { addEdit, moveEdit, PointsPanel } from "./points";
import { type EditAnswer, Strokes } from "./strokes";

const NUDGE_DEG = 1; // move of a point by an arrow key

/** The message about the last edit. */
interface Status {
  text: string;
  /** The number of the edge of a cone that made the edit impossible. */
  edge?: number | undefined;
  isRefused?: boolean;
}

export class Editing {
  readonly strokes: Strokes;
  readonly points: PointsPanel;
  readonly hinge: HingeEditor;
  /** Called with every answer of an edit of the picked joint. */
  onAnswer: (answer: EditAnswer) => void = () => {};
  /** The edit that moves an end of a hinge that depends on another joint. */
  dependentEndEdit: (side: Side, deg: number) => Edit | undefined = () => undefined;
  private status = signal<Status>({ text: "" });
  private selected = signal<PointKey | undefined>(undefined);
  private answers = signal(0);
  private handles: ConeHandles | undefined;
  /** Where keys have moved the selected point, and where it was when the last key was released. */
  private nudged: Vector3 | undefined;
  private releasedAt: Vector3 | undefined;

  constructor(
    private store: Store,
    private stage: Stage,
    /** Called with a new picture of the picked joint's limit, in the middle of a drag perhaps. */
    private onPicture: (picture: Picture) => void,
  ) {
    this.strokes = new Strokes(store.connection, () => this.name, {
      onAnswer: (answer, joint) => this.receive(answer, joint),
      onRefusal: (refusal, edit) => this.showRefusal(refusal, edit),
      onDone: (text) => (this.status.value = { text }),
      onStep: showMessage,
      onChange: () => store.edition.value++,
    });
    this.points = new PointsPanel(store, this.selected, this.answers, {
      apply: (edit) => this.strokes.apply(edit),
      select: (key) => this.select(key),
      add: () => void this.add(),
    });
    const endEdit = (side: Side, deg: number): Edit =>
      this.dependentEndEdit(side, deg) ?? { edit: "hinge", side, deg };
    this.hinge = new HingeEditor(store, stage, this.strokes, endEdit);
    effect(() => {
      void store.picked.value;
      this.selected.value = this.nudged = undefined;
      this.clearRefusal();
    });
    effect(() => this.updateHandles());
    for (const end of ["keyup", "blur"]) addEventListener(end, () => this.endNudge());
  }

  private get name(): string | null {
    return this.store.nameOf(this.store.picked.value) || null;
  }

  private get isActive(): boolean {
    return this.store.mode.value === "edit";
  }

  private updateHandles(): void {
    const { store, isActive } = this;
    const [sphere, outline, key] = [
      store.sphere.value,
      store.region.value?.outline,
      this.selected.value,
    ];
    if (key !== undefined && outline && !hasPoint(outline, key)) this.selected.value = undefined;
    if (this.handles && (this.handles.sphere !== sphere || !outline)) {
      this.handles.group.removeFromParent();
      this.handles = undefined;
    }
    if (sphere && outline && !this.handles) {
      this.handles = new ConeHandles(sphere, outline, key, isActive, {
        onDrag: (edit) => this.strokes.drag(edit),
        onDrop: () => void this.strokes.endDrag(),
        onCancel: () => void this.strokes.cancelDrag(),
        onSelect: (selected) => this.select(selected),
      });
      sphere.group.add(this.handles.group);
    } else if (outline) this.handles?.show(outline, key, isActive);
    this.stage.draw();
  }

  get allHandles(): Handle[] {
    return [...this.hinge.handles, ...(this.handles?.listHandles() ?? [])];
  }

  private select(key: PointKey | undefined): void {
    if (key === this.selected.value) return;
    this.nudged = undefined;
    this.selected.value = key;
  }

  /** Select the next point or the previous, and focus the view. */
  selectNext(step: number): void {
    this.points.selectBy(step);
    focusStage();
  }

  /** Deselect the point; return whether there was one. */
  deselect(): boolean {
    const hadPoint = this.isActive && this.selected.value !== undefined;
    if (hadPoint) this.select(undefined);
    return hadPoint;
  }

  /** Add a point where a ray meets the sphere, or else in the middle of an edge or at the bone. */
  async add(ray?: Ray): Promise<void> {
    const { handles, store } = this;
    const [sphere, region, key] = [store.sphere.value, store.region.value, this.selected.value];
    if (!handles || !sphere || !region) return;
    let point = ray && intersectSphere(ray, sphere, undefined);
    if (ray && !point) return;
    if (!ray && typeof key === "number") {
      if (await this.strokes.apply(addEdit(handles.outline, key))) this.select(key + 1);
      return;
    }
    const local = region.reference.clone().invert().multiply(store.measuredRotation());
    point ??= region.axis.clone().applyQuaternion(local);
    if (!(await this.strokes.apply({ edit: "add-point", point: point.toArray() }))) return;
    const distances = (store.region.value?.outline?.corners ?? []).map((corner) =>
      corner.distanceTo(point as Vector3),
    );
    this.select(distances.indexOf(Math.min(...distances)));
  }

  /** True if a click belongs to the limit's sphere. */
  claimsClick(ray: Ray): boolean {
    const { handles } = this;
    return handles !== undefined && !!intersectSphere(ray, handles.sphere, undefined);
  }

  /** Move the selected point by degrees to the right and up on the screen, if the view is focused. */
  nudge(right: number, up: number): boolean {
    const { handles } = this;
    const key = this.selected.value;
    if (!this.isActive || !handles || key === undefined) return false;
    if (document.activeElement !== find("#stage")) return false;
    const from = this.nudged ?? handles.directionAt(key);
    const move = new Vector3(right, up, 0)
      .applyQuaternion(this.stage.turntable.camera.quaternion)
      .applyQuaternion(handles.sphere.group.quaternion.clone().invert())
      .projectOnPlane(from);
    if (move.length() > 1e-3) {
      const angle = (NUDGE_DEG * Math.hypot(right, up) * Math.PI) / 180;
      move.normalize().multiplyScalar(Math.sin(angle));
      this.nudged = move.addScaledVector(from, Math.cos(angle)).normalize();
      this.strokes.drag(moveEdit(handles.outline, key, this.nudged));
    }
    return true;
  }

  /** End a nudge when its key is released: it is one step. */
  private endNudge(): void {
    const { nudged } = this;
    if (!nudged || nudged === this.releasedAt) return;
    this.releasedAt = nudged;
    // Until the answer is there, the next key continues from this direction.
    void this.strokes.endDrag().then(() => {
      if (this.nudged === nudged) this.nudged = undefined;
    });
  }

  private receive(answer: EditAnswer, joint: string | null): void {
    if (joint !== this.name) return; // another joint has been picked meanwhile
    this.onAnswer(answer);
    this.clearRefusal();
    if ("family" in answer) this.onPicture(answer);
    this.answers.value++;
  }

  /** Show why an edit was refused: the edge at fault is red, a ghost is where a point was to go. */
  private showRefusal({ message, edge }: Refusal, edit: EditRequest): void {
    if (edit.joint !== this.name) return; // another joint has been picked meanwhile
    this.status.value = { text: message, edge: edge?.number, isRefused: true };
    const vector = (point: number[] = []) => new Vector3().fromArray(point);
    this.handles?.showRefusal({
      edge: edge ? [vector(edge.ends[0]), vector(edge.ends[1])] : undefined,
      point: "point" in edit ? vector(edit.point ?? []).normalize() : undefined,
    });
    this.answers.value++;
    this.stage.draw();
  }

  private clearRefusal(): void {
    this.status.value = { text: "" };
    this.handles?.showRefusal(undefined);
  }

  /** Give the joint's partner the mirrored limit. */
  mirror(): void {
    const { store } = this;
    const joint = store.picked.value;
    const partner = store.nameOf(store.clip.skeleton.partners[joint ?? -1]);
    if (partner && store.hasRegion(joint))
      void this.strokes.apply({ edit: "mirror" }, `Mirrored to ${partner}.`);
  }

  /** The edited joint, undo and redo, and the result of the last edit. */
  Head = () => {
    const { text, edge, isRefused } = this.status.value;
    const { state } = this.store;
    const step = (which: "undo" | "redo", sign: string, label: string) => {
      const what = state.value[which];
      return (
        <Button
          label={label}
          title={what === null ? `nothing to ${which}` : `${which}: ${what}`}
          disabled={what === null}
          onClick={() => void this.strokes.step(which)}
        >
          {sign}
        </Button>
      );
    };
    return (
      <div class="editing top">
        <h2>{this.name === null ? "Pick a joint to edit" : `Edit ${this.name}`}</h2>
        <div class="line" role="toolbar" aria-label="History">
          {step("undo", "↶", "Undo (Ctrl Z)")}
          {step("redo", "↷", "Redo (Ctrl Shift Z)")}
        </div>
        <p id="said" role="status" class={isRefused ? "missed" : "met"} data-edge={edge}>
          {text}
        </p>
      </div>
    );
  };

  /** The limit as a whole: draw one, mirror, copy or remove it. */
  Whole = () => {
    const { store, strokes } = this;
    const { names, parents, partners } = store.clip.skeleton;
    const target = useRef<HTMLInputElement>(null);
    const joint = store.picked.value;
    if (joint === undefined || parents[joint] === -1) return null;
    const isLimited = store.hasRegion(joint);
    const partner = names[partners[joint] ?? -1];
    const draw = () => {
      const rotation = wFirst(store.measuredRotation());
      void strokes.apply({ edit: "draw", rotation }, "Drawn: now drag its points.");
    };
    const copy = () => {
      const to = target.current?.value.trim();
      if (to) void strokes.apply({ edit: "copy", to }, `Copied to ${to}.`);
      else target.current?.focus();
    };
    return (
      <section class="whole editing" aria-label="The limit as a whole">
        <h3>The whole limit</h3>
        {!isLimited && (
          <>
            <p>It has none yet. Draw a cone around where the bone points now.</p>
            <Button label="Draw a cone around where the bone points now" onClick={draw}>
              Draw a cone
            </Button>
          </>
        )}
        <div class="line" hidden={!isLimited}>
          <Button
            label="Mirror to the other side (M)"
            title={partner ? "Mirror to the other side (M)" : "No joint is its partner by name"}
            disabled={partner === undefined}
            onClick={() => this.mirror()}
          >
            {partner ? `Mirror to ${partner}` : "Mirror"}
          </Button>
          <Button
            label="Remove the limit"
            onClick={() => void strokes.apply({ edit: "remove" }, "Removed.")}
          >
            Remove
          </Button>
        </div>
        <div class="line" hidden={!isLimited}>
          <Button label="Copy to another joint" onClick={copy}>
            Copy to
          </Button>
          <input
            type="text"
            list="joints"
            placeholder="another joint"
            aria-label="Joint to copy to"
            ref={target}
            onKeyDown={({ key }) => key === "Enter" && copy()}
          />
          <datalist id="joints">
            {names
              .filter((_, other) => other !== joint && parents[other] !== -1)
              .map((name) => (
                <option key={name} value={name} />
              ))}
          </datalist>
        </div>
      </section>
    );
  };
}
