// The arc of a hinge with its two ends, which are dragged or typed.

import { effect } from "@preact/signals";
import {
  CatmullRomCurve3,
  Group,
  Mesh,
  MeshBasicMaterial,
  Plane,
  type Ray,
  SphereGeometry,
  TubeGeometry,
  Vector3,
} from "three";
import { formatTenths } from "../format";
import type { Edit, Hinge } from "../protocol";
import { PICKED } from "../stage/colours";
import type { Handle } from "../stage/pointer";
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
  private axis = new Vector3();
  private zero = new Vector3();
  private center = new Vector3();
  private radius = 1;

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
      this.axis.fromArray(hinge.axis).applyQuaternion(base);
      this.zero.fromArray(hinge.zero).applyQuaternion(base);
      this.center.copy(center);
      this.radius = 1.08 * (store.sphere.value?.radius ?? 1);
      group.position.copy(center);
      this.draw(hinge, store.hingeHere.value ? store.region.value?.hinge : undefined);
    }
    this.stage.draw();
  }

  /** Draw the arc; `whole` is the range over all rotations of a driver, which is pale. */
  private draw(hinge: Hinge, whole: Hinge | null | undefined): void {
    const material = (opacity = 1) =>
      new MeshBasicMaterial({ color: PICKED, depthTest: false, transparent: true, opacity });
    if (whole) this.group.add(new Mesh(this.createTube(whole, 0.4), material(0.35)));
    this.group.add(new Mesh(this.createTube(hinge, 1), material()));
    for (const side of SIDES) {
      const end = new Mesh(new SphereGeometry(END * this.radius, 16, 12), material());
      end.position.copy(this.pointAt(endOf(hinge, side)));
      this.group.add(end);
    }
    for (const part of this.group.children) part.renderOrder = 5;
  }

  private createTube({ lowDeg, highDeg }: Hinge, share: number): TubeGeometry {
    const path = Array.from({ length: POINTS + 1 }, (_, k) =>
      this.pointAt(lowDeg + ((highDeg - lowDeg) * k) / POINTS),
    );
    const thickness = share * THICKNESS * this.radius;
    return new TubeGeometry(new CatmullRomCurve3(path), POINTS, thickness, 6);
  }

  /** A point of the arc, relative to its centre. */
  private pointAt(deg: number): Vector3 {
    return this.zero
      .clone()
      .applyAxisAngle(this.axis, deg * DEGREE)
      .multiplyScalar(this.radius);
  }

  /** The angle at which a ray meets the arc's plane; modulo 360°, the one near `last`. */
  private angleAt(ray: Ray, last: number): number {
    const plane = new Plane().setFromNormalAndCoplanarPoint(this.axis, this.center);
    // Seen from the side the plane is a line: the nearest point of the ray is better.
    const isSteep = Math.abs(ray.direction.dot(this.axis)) > 0.05;
    const hit = (isSteep && ray.intersectPlane(plane, new Vector3())) || undefined;
    const offset = (hit ?? ray.closestPointToPoint(this.center, new Vector3())).sub(this.center);
    const across = this.axis.clone().cross(this.zero);
    const deg = Math.atan2(offset.dot(across), offset.dot(this.zero)) / DEGREE;
    const near = deg + 360 * Math.round((last - deg) / 360);
    return Math.min(Math.max(near, -180), 180);
  }

  get handles(): Handle[] {
    const { hinge } = this;
    if (!hinge) return [];
    return SIDES.map((side) => {
      let last = endOf(hinge, side);
      const position = () => this.pointAt(endOf(this.hinge ?? hinge, side)).add(this.center);
      return {
        get position() {
          return position();
        },
        drag: (ray: Ray) => {
          last = this.angleAt(ray, last);
          this.strokes.drag(this.endEdit(side, last));
        },
        release: () => void this.strokes.endDrag(),
        cancel: () => void this.strokes.cancelDrag(),
        click: () => {},
      };
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
