// A reach cone's points and twists on its sphere, as they are drawn and dragged.

import {
  BufferGeometry,
  Group,
  InstancedMesh,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  OctahedronGeometry,
  Plane,
  type Ray,
  Sphere,
  SphereGeometry,
  Vector3,
} from "three";
import { OUTSIDE, PICKED } from "./colours";
import { arc, chained, twistDegOf, twistedUp } from "./cone";
import { draw, type Fan, type Lines, lines, type Outline, type Span, translucent } from "./region";
import type { Edit } from "./strokes";
import type { Handle } from "./pointer";

/** A point by its number, or the visible point. */
export type Spot = number | "visible";

const SECTOR = 0.34;
const SMALL_SECTOR = 0.09;
const DOT = 0.022;
const STEP_DEG = 10;

/** What a drag or click does. */
interface Dragged {
  follow(edit: Edit): void;
  drop(): void;
  select(spot: Spot): void;
}

/** What is wrong with an edit: an edge of the cone, a point's place. */
interface Wrong {
  edge: [Vector3, Vector3] | undefined;
  point: Vector3 | undefined;
}

export class ConeHandles {
  readonly group = new Group();
  private dots = new InstancedMesh(new SphereGeometry(DOT, 12, 8), new MeshBasicMaterial(), 0);
  private visible = new Mesh(new OctahedronGeometry(1.9 * DOT), new MeshBasicMaterial());
  private chosen = new Mesh(new SphereGeometry(1.8 * DOT, 16, 12), solid(PICKED));
  private sectors = new Mesh(new BufferGeometry(), translucent(0.45, {}));
  private sector = new Mesh(new BufferGeometry(), translucent(0.5, { color: PICKED }));
  private border = lines(PICKED);
  private ends = [0, 1].map(() => new Mesh(new SphereGeometry(1.3 * DOT, 12, 8), solid(PICKED)));
  private redEdge: Lines = lines(OUTSIDE);
  private ghost = new Mesh(this.chosen.geometry, translucent(0.6, { color: OUTSIDE }));

  constructor(
    private fan: Fan,
    public outline: Outline,
    private selected: Spot | undefined,
    private editing: boolean,
    private dragged: Dragged,
  ) {
    this.group.add(this.sectors, this.dots, this.visible, this.redEdge, this.ghost);
    this.group.add(this.sector, this.border, this.chosen, ...this.ends);
    this.sectors.material.color.set(fan.theme.ink);
    this.visible.material.color.set(fan.theme.ink);
    // What is worked on is never hidden by the body.
    const front = [this.visible, this.sector, this.border, this.chosen, ...this.ends, this.redEdge, this.ghost];
    for (const part of front) {
      Object.assign(part.material, { depthTest: false, transparent: true });
      part.renderOrder = 1;
    }
    this.refuse(undefined);
    this.show(outline, selected, editing);
  }

  /** Draw a cone's points; those of the one before are gone. */
  show(outline: Outline, selected: Spot | undefined, editing: boolean): void {
    this.outline = outline;
    this.selected = selected;
    this.editing = editing;
    const { corners, visible, visibleTwistDeg, twistDeg } = outline;
    if (this.dots.count !== corners.length) {
      this.group.remove(this.dots);
      this.dots.dispose();
      this.dots = new InstancedMesh(this.dots.geometry, this.dots.material, corners.length);
      this.dots.frustumCulled = false;
      this.group.add(this.dots);
    }
    (this.dots.material as MeshBasicMaterial).color.set(this.fan.theme.ink);
    const size = editing ? 1.25 : 1;
    corners.forEach(({ x, y, z }, i) =>
      this.dots.setMatrixAt(i, new Matrix4().makeScale(size, size, size).setPosition(x, y, z)),
    );
    this.dots.instanceMatrix.needsUpdate = true;
    this.visible.position.copy(visible);
    this.visible.visible = this.sectors.visible = editing;
    if (editing) {
      const all = corners.map((corner, i) => this.fill(corner, twistDeg[i] as Span, SMALL_SECTOR));
      reshape(this.sectors, [...all.flat(), ...this.fill(visible, visibleTwistDeg, SMALL_SECTOR)]);
    }
    this.choose();
  }

  /** Show which edge an edit would have broken, and where a point was to go. */
  refuse(wrong: Wrong | undefined): void {
    this.redEdge.visible = wrong?.edge !== undefined;
    if (wrong?.edge) draw(this.redEdge, thick(arc(...wrong.edge)));
    this.ghost.visible = wrong?.point !== undefined;
    if (wrong?.point) this.ghost.position.copy(wrong.point);
  }

  /** What can be taken with the mouse: the ends of the chosen twist first. */
  handles(): Handle[] {
    const { corners } = this.outline;
    const points = corners.map((_, i) => this.point(i));
    const found = [...points, this.point("visible")];
    return this.selected === undefined ? found : [this.end(0), this.end(1), ...found];
  }

  where(spot: Spot): Vector3 {
    const { corners, visible } = this.outline;
    return (spot === "visible" ? visible : corners[spot]) ?? visible;
  }

  twist(spot: Spot): Span {
    const { twistDeg, visibleTwistDeg } = this.outline;
    return (spot === "visible" ? visibleTwistDeg : twistDeg[spot]) ?? visibleTwistDeg;
  }

  private choose(): void {
    const shown = this.editing && this.selected !== undefined;
    for (const part of [this.chosen, this.sector, this.border, ...this.ends]) part.visible = shown;
    if (!shown || this.selected === undefined) return;
    const place = this.where(this.selected);
    const rim = this.rim(place, this.twist(this.selected), SECTOR);
    this.chosen.position.copy(place);
    reshape(this.sector, this.fill(place, this.twist(this.selected), SECTOR));
    draw(this.border, chained([place, ...rim, place]));
    this.ends.forEach((end, i) => end.position.copy((i === 0 ? rim[0] : rim.at(-1)) ?? place));
  }

  /** Where the bone's upper side looks from a point, from one end of its twist to the other. */
  private rim(place: Vector3, [low, high]: Span, radius: number): Vector3[] {
    const steps = Math.max(1, Math.ceil((high - low) / STEP_DEG));
    return Array.from({ length: steps + 1 }, (_, i) =>
      this.beside(place, low + (i / steps) * (high - low), radius),
    );
  }

  private beside(place: Vector3, twistDeg: number, radius: number): Vector3 {
    const way = twistedUp(this.fan.region.compass, place, twistDeg);
    return place.clone().multiplyScalar(1.003).addScaledVector(way, radius);
  }

  private fill(place: Vector3, twist: Span, radius: number): Vector3[] {
    const rim = this.rim(place, twist, radius);
    return rim.slice(1).flatMap((point, i) => [place, rim[i] as Vector3, point]);
  }

  private point(spot: Spot): Handle {
    let last = this.where(spot);
    const place = () => this.fan.group.localToWorld(this.where(spot).clone());
    return {
      get place() {
        return place();
      },
      drag: (ray) => {
        this.dragged.select(spot);
        last = onSphere(ray, this.fan, last) ?? last;
        this.dragged.follow(moveTo(spot, last));
      },
      drop: () => this.dragged.drop(),
      click: () => this.dragged.select(spot),
    };
  }

  private end(side: 0 | 1): Handle {
    const spot = this.selected ?? "visible";
    const [low, high] = this.twist(spot);
    let twist = side === 0 ? low : high;
    const place = () => {
      const point = this.beside(this.where(spot), this.twist(spot)[side], SECTOR);
      return this.fan.group.localToWorld(point);
    };
    return {
      get place() {
        return place();
      },
      drag: (ray) => {
        const direction = this.where(spot);
        const way = across(ray, this.fan, direction);
        twist = twistDegOf(this.fan.region.compass, direction, way, twist);
        const index = spot === "visible" ? null : spot;
        const [lowDeg, highDeg] = ended(low, high, side, twist);
        this.dragged.follow({ edit: "twist", index, lowDeg, highDeg });
      },
      drop: () => this.dragged.drop(),
      click: () => {},
    };
  }
}

/** Twists from `low` to `high` with an end moved; of a whole turn, the end that makes it less. */
function ended(low: number, high: number, side: 0 | 1, twist: number): Span {
  const free = high - low >= 360;
  if (side === 0) return free && twist < low ? [low, twist + 360] : [twist, high];
  return free && twist > high ? [twist - 360, high] : [low, twist];
}

/** The edit that puts a point into a direction. */
export function moveTo(spot: Spot, direction: Vector3): Edit {
  const point = direction.toArray();
  return spot === "visible"
    ? { edit: "move-visible", point }
    : { edit: "move-point", index: spot, point };
}

/**
 * Where a ray meets a fan's sphere, as the fan's frame has it: in front or behind, whichever is
 * nearer to `last`. Beside the sphere it is the nearest point of it, if there was a `last`.
 */
export function onSphere(ray: Ray, fan: Fan, last: Vector3 | undefined): Vector3 | undefined {
  const middle = fan.group.position;
  const inward = (point: Vector3) =>
    point.sub(middle).applyQuaternion(fan.group.quaternion.clone().invert()).normalize();
  const front = ray.intersectSphere(new Sphere(middle, fan.group.scale.x), new Vector3());
  if (!front) return last && inward(ray.closestPointToPoint(middle, new Vector3()));
  const half = ray.closestPointToPoint(middle, new Vector3());
  const behind = half.multiplyScalar(2).sub(front);
  const [near, far] = [inward(front), inward(behind)];
  return last && far.angleTo(last) < near.angleTo(last) ? far : near;
}

/** Which way a ray passes a direction's place on the sphere, across the direction. */
function across(ray: Ray, fan: Fan, direction: Vector3): Vector3 {
  const place = fan.group.localToWorld(direction.clone());
  const outward = direction.clone().applyQuaternion(fan.group.quaternion);
  const plane = new Plane().setFromNormalAndCoplanarPoint(outward, place);
  // Seen from the side the plane is a line: there the nearest point of the ray is better.
  const steep = Math.abs(ray.direction.dot(outward)) > 0.1;
  const met = (steep && ray.intersectPlane(plane, new Vector3())) || undefined;
  const point = met ?? ray.closestPointToPoint(place, new Vector3());
  return point.sub(place).applyQuaternion(fan.group.quaternion.clone().invert());
}

/** An arc as lines side by side, since lines are one pixel wide. */
function thick(points: Vector3[]): Vector3[] {
  return [0.997, 1, 1.003, 1.006, 1.009].flatMap((scale) =>
    chained(points.map((point) => point.clone().multiplyScalar(scale))),
  );
}

function reshape(mesh: Mesh, points: Vector3[]): void {
  mesh.geometry.dispose();
  mesh.geometry = new BufferGeometry().setFromPoints(points);
}

const solid = (color: string) => new MeshBasicMaterial({ color });
