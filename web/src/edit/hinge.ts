// The limit of a hinge while it is edited: an arc with two ends, to be dragged or typed.

import {
  CatmullRomCurve3,
  Group,
  Mesh,
  MeshBasicMaterial,
  Plane,
  Quaternion,
  type Ray,
  SphereGeometry,
  TubeGeometry,
  Vector3,
} from "three";
import { element } from "../elements";
import { formatTenths } from "../format";
import type { WorldPose } from "../pose/kinematics";
import type { Hinge } from "../protocol";
import { PICKED } from "../stage/colours";
import type { Handle } from "../stage/pointer";

const POINTS = 60;
const THICKNESS = 0.012;
const END = 0.05;
const DEGREE = Math.PI / 180;

export type Side = "low" | "high";

/** Who makes the edits. */
export interface HingeListener {
  onDrag(side: Side, deg: number): void;
  onDrop(): void;
  onCancel(): void;
  /** A number was typed. */
  onType(side: Side, deg: number): void;
}

export class HingeEditor {
  readonly group = new Group();
  readonly panel = element("section", { class: "editing hinge", "aria-label": "Hinge" });
  private fields: Record<Side, HTMLInputElement>;
  private hinge: Hinge | undefined;
  private where = element("span");
  private axis = new Vector3();
  private zero = new Vector3();
  private center = new Vector3();
  private radius = 1;

  constructor(private listener: HingeListener) {
    this.fields = { low: this.createField("low"), high: this.createField("high") };
    this.panel.append(
      element("h3", {}, "Hinge"),
      element(
        "div",
        { class: "fields" },
        element("label", {}, "From", this.fields.low),
        element("label", {}, "To", this.fields.high),
      ),
      element(
        "p",
        { class: "why" },
        "Degrees from the reference",
        this.where,
        ". Drag the ends, too.",
      ),
    );
    this.panel.hidden = true;
  }

  /** Say that the ends are those at the present rotation of another joint; or of none. */
  setDriver(name: string | undefined): void {
    this.where.textContent = name ? `, where ${name} is now` : "";
  }

  /**
   * Show the arc of a hinge whose limit is measured from `parent`, at a joint; or none. Where the
   * ends depend on another joint, `whole` is what they can be at all, which is pale.
   */
  show(
    hinge: Hinge | undefined,
    joint: number,
    parent: number,
    world: WorldPose,
    radius: number,
    whole?: Hinge | null,
  ): void {
    this.hinge = hinge;
    this.panel.hidden = !hinge;
    for (const part of this.group.children) (part as Mesh).geometry.dispose();
    this.group.clear();
    const center = world.positions[joint];
    if (!hinge || !center) return;
    const above = world.rotations[parent] ?? new Quaternion();
    this.axis.fromArray(hinge.axis).applyQuaternion(above);
    this.zero.fromArray(hinge.zero).applyQuaternion(above);
    this.center.copy(center);
    this.radius = radius;
    this.group.position.copy(center);
    this.draw(hinge, whole ?? undefined);
    for (const side of ["low", "high"] as const) {
      const field = this.fields[side];
      if (field !== document.activeElement)
        field.value = field.defaultValue = formatTenths(endOf(hinge, side));
    }
  }

  /** The two ends, which can be taken with the mouse. */
  get handles(): Handle[] {
    const { hinge } = this;
    if (!hinge) return [];
    return (["low", "high"] as const).map((side) => {
      let last = endOf(hinge, side);
      const place = () => this.pointAt(endOf(this.hinge ?? hinge, side)).add(this.center);
      return {
        get position() {
          return place();
        },
        drag: (ray: Ray) => {
          last = this.angleAt(ray, last);
          this.listener.onDrag(side, last);
        },
        release: () => this.listener.onDrop(),
        cancel: () => this.listener.onCancel(),
        click: () => {},
      };
    });
  }

  private createField(side: Side): HTMLInputElement {
    const label = `${side === "low" ? "From" : "To"}, in degrees`;
    const field = element("input", { type: "number", step: "1", "aria-label": label });
    field.addEventListener("change", () => {
      if (field.value === "") field.value = field.defaultValue;
      else this.listener.onType(side, Number(field.value));
    });
    return field;
  }

  private draw(hinge: Hinge, whole: Hinge | undefined): void {
    const { lowDeg, highDeg } = hinge;
    const material = (opacity = 1) =>
      new MeshBasicMaterial({ color: PICKED, depthTest: false, transparent: true, opacity });
    if (whole) this.group.add(new Mesh(this.createTube(whole, 0.4), material(0.35)));
    this.group.add(new Mesh(this.createTube(hinge, 1), material()));
    for (const angle of [lowDeg, highDeg]) {
      const end = new Mesh(new SphereGeometry(END * this.radius, 16, 12), material());
      end.position.copy(this.pointAt(angle));
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

  /** A point of the arc, from its centre. */
  private pointAt(deg: number): Vector3 {
    return this.zero
      .clone()
      .applyAxisAngle(this.axis, deg * DEGREE)
      .multiplyScalar(this.radius);
  }

  /** The angle at which a ray passes the arc's plane, of those a turn apart the one near `last`. */
  private angleAt(ray: Ray, last: number): number {
    const plane = new Plane().setFromNormalAndCoplanarPoint(this.axis, this.center);
    // Seen from the side the plane is a line: there the nearest point of the ray is better.
    const steep = Math.abs(ray.direction.dot(this.axis)) > 0.05;
    const met = (steep && ray.intersectPlane(plane, new Vector3())) || undefined;
    const way = (met ?? ray.closestPointToPoint(this.center, new Vector3())).sub(this.center);
    const across = this.axis.clone().cross(this.zero);
    const deg = Math.atan2(way.dot(across), way.dot(this.zero)) / DEGREE;
    const near = deg + 360 * Math.round((last - deg) / 360);
    return Math.min(Math.max(near, -180), 180);
  }
}

const endOf = ({ lowDeg, highDeg }: Hinge, side: Side) => (side === "low" ? lowDeg : highDeg);
