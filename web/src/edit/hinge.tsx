// The arc of a hinge with its two ends, which are dragged or typed.

import { effect } from "@preact/signals";
import { Group, type Mesh, Plane, type Ray, Vector3 } from "three";
import { formatTenths } from "../format";
import type { Edit, Hinge } from "../protocol";
import { Arc, angleSteps } from "../stage/arc";
import { PICKED } from "../stage/colours";
import { createHandle, type Handle } from "../stage/pointer";
import type { Stage } from "../stage/stage";
import type { Store } from "../store";
import { NumberField } from "../ui";
import type { Strokes } from "./strokes";

const POINTS = 60; // of an arc
const THICKNESS = 0.012; // of the tube, as a share of the radius
const END = 0.05; // radius of the balls at the ends, likewise
const DEGREE = Math.PI / 180;
const SIDES = ["low", "high"] as const;

export type Side = (typeof SIDES)[number];

export class HingeEditor {
  private group = new Group();
  private arc = new Arc(new Vector3(), new Vector3(), 1);
  private center = new Vector3();

  constructor(
    private store: Store,
    private stage: Stage,
    private strokes: Strokes,
    private endEdit: (side: Side, deg: number) => Edit,
  ) {
    stage.scene.add(this.group);
    effect(() => this.show());
  }

  /** The hinge as it is edited: its ends may depend on another joint. */
  private get hinge(): Hinge | undefined {
    const { mode, region, hingeHere } = this.store;
    return (
      hingeHere.value ?? (mode.value === "edit" ? (region.value?.hinge ?? undefined) : undefined)
    );
  }

  private show(): void {
    const { store, hinge, group } = this;
    for (const part of group.children) (part as Mesh).geometry.dispose();
    group.clear();
    const center = store.world.value.positions[store.picked.value ?? -1];
    if (hinge && center) {
      const base = store.baseRotation();
      const axis = new Vector3().fromArray(hinge.axis).applyQuaternion(base);
      const zero = new Vector3().fromArray(hinge.zero).applyQuaternion(base);
      this.arc = new Arc(axis, zero, 1.08 * (store.sphere.value?.radius ?? 1));
      this.center.copy(center);
      group.position.copy(center);
      this.draw(hinge, store.hingeHere.value ? store.region.value?.hinge : undefined);
    }
    this.stage.draw();
  }

  /** Draw the arc; `whole` is the range over all rotations of a driver, which is pale. */
  private draw(hinge: Hinge, whole: Hinge | null | undefined): void {
    const { arc, group } = this;
    const angles = ({ lowDeg, highDeg }: Hinge) =>
      angleSteps(lowDeg * DEGREE, highDeg * DEGREE, POINTS);
    if (whole) group.add(arc.createTube(angles(whole), 0.4 * THICKNESS, PICKED, 0.35));
    group.add(arc.createTube(angles(hinge), THICKNESS, PICKED));
    for (const side of SIDES) group.add(arc.createBall(endOf(hinge, side) * DEGREE, END, PICKED));
    for (const part of group.children) part.renderOrder = 5;
  }

  /** The angle at which a ray meets the arc's plane; modulo 360°, the one near `last`. */
  private angleAt(ray: Ray, last: number): number {
    const { axis } = this.arc;
    const plane = new Plane().setFromNormalAndCoplanarPoint(axis, this.center);
    // Seen from the side the plane is a line: the nearest point of the ray is better.
    const isSteep = Math.abs(ray.direction.dot(axis)) > 0.05;
    const hit = (isSteep && ray.intersectPlane(plane, new Vector3())) || undefined;
    const offset = (hit ?? ray.closestPointToPoint(this.center, new Vector3())).sub(this.center);
    const deg = this.arc.angleOf(offset) / DEGREE;
    const near = deg + 360 * Math.round((last - deg) / 360);
    return Math.min(Math.max(near, -180), 180);
  }

  get handles(): Handle[] {
    const { hinge } = this;
    if (!hinge) return [];
    return SIDES.map((side) => {
      let last = endOf(hinge, side);
      const position = () =>
        this.arc.pointAt(endOf(this.hinge ?? hinge, side) * DEGREE).add(this.center);
      const drag = (ray: Ray) => {
        last = this.angleAt(ray, last);
        this.strokes.drag(this.endEdit(side, last));
      };
      return createHandle(position, drag, {
        onDrop: () => void this.strokes.endDrag(),
        onCancel: () => void this.strokes.cancelDrag(),
      });
    });
  }

  Panel = () => {
    const { hinge, store } = this;
    if (!hinge) return null;
    const driver = store.hingeHere.value && store.nameOf(store.driver.value);
    return (
      <section class="editing hinge" aria-label="Hinge">
        <h3>Hinge</h3>
        <div class="fields">
          {SIDES.map((side) => (
            <label key={side}>
              {side === "low" ? "From" : "To"}
              <NumberField
                label={`${side === "low" ? "From" : "To"}, in degrees`}
                value={formatTenths(shownEnd(hinge, side).deg)}
                onCommit={(deg) => {
                  const end = shownEnd(hinge, side);
                  const { sign, offsetDeg } = hinge.clinical ?? PLAIN;
                  void this.strokes.apply(this.endEdit(end.side, sign * (deg - offsetDeg)));
                }}
              />
            </label>
          ))}
        </div>
        <p class="why">
          {`Degrees ${hinge.clinical ? `of ${hinge.clinical.name}` : "from the reference"}${driver ? `, where ${driver} is now` : ""}. Drag the ends, too.`}
        </p>
      </section>
    );
  };
}

const PLAIN = { sign: 1, offsetDeg: 0 };

/** The end that is shown as the least or the greatest angle, and that angle. */
function shownEnd(hinge: Hinge, side: Side): { side: Side; deg: number } {
  const { sign, offsetDeg } = hinge.clinical ?? PLAIN;
  const end = sign < 0 ? (side === "low" ? "high" : "low") : side;
  return { side: end, deg: sign * endOf(hinge, end) + offsetDeg };
}

const endOf = ({ lowDeg, highDeg }: Hinge, side: Side) => (side === "low" ? lowDeg : highDeg);
