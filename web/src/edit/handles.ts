// Points and twists of reach cones on their sphere, as they are drawn and dragged.

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
import { OUTSIDE, PICKED } from "../stage/colours";
import {
  arc,
  chained,
  edgesOf,
  type Outline,
  placeOf,
  type Span,
  type Spot,
  spotsOf,
  twistAt,
  twistDegOf,
  twistedUp,
} from "../stage/cone";
import type { Handle } from "../stage/pointer";
import { draw, type Fan, type Lines, lines, translucent } from "../stage/sphere";
import { moveTo, twistTo } from "./edits";
import type { Edit } from "./strokes";

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
  private dots = instances(new SphereGeometry(DOT, 12, 8), 0);
  private visible = instances(new OctahedronGeometry(1.9 * DOT), 0);
  private edges: Lines;
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
    this.edges = lines(fan.theme.ink);
    this.group.add(this.edges, this.sectors, this.dots, this.visible, this.redEdge, this.ghost);
    this.group.add(this.sector, this.border, this.chosen, ...this.ends);
    for (const part of [this.sectors, this.dots, this.visible])
      part.material.color.set(fan.theme.ink);
    Object.assign(this.edges.material, { transparent: true, opacity: 0.5 });
    // What is worked on is never hidden by the body.
    const front = [
      this.visible,
      this.sector,
      this.border,
      this.chosen,
      ...this.ends,
      this.redEdge,
      this.ghost,
    ];
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
    const { corners, cones } = outline;
    this.dots = this.spread(this.dots, corners, editing ? 1.25 : 1);
    this.visible = this.spread(
      this.visible,
      cones.map(({ visible }) => visible),
      1,
    );
    this.visible.visible = this.sectors.visible = editing;
    // Of several cones only what no other covers is drawn as the limit's rim.
    this.edges.visible = editing && cones.length > 1;
    if (this.edges.visible) {
      const edges = cones.flatMap((cone) => edgesOf(outline, cone));
      draw(
        this.edges,
        edges.flatMap((ends) => chained(arc(...ends))),
      );
    }
    if (editing) {
      const fans = spotsOf(outline).flatMap((spot) =>
        this.fill(placeOf(outline, spot), twistAt(outline, spot), SMALL_SECTOR),
      );
      reshape(this.sectors, fans);
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
    const found = spotsOf(this.outline).map((spot) => this.point(spot));
    const { selected } = this;
    return selected === undefined
      ? found
      : [this.end(selected, 0), this.end(selected, 1), ...found];
  }

  where(spot: Spot): Vector3 {
    return placeOf(this.outline, spot);
  }

  /** The same thing at other places, of which there may be more or fewer. */
  private spread(things: Instances, places: Vector3[], size: number): Instances {
    let made = things;
    if (made.count !== places.length) {
      made = instances(things.geometry, places.length, things.material);
      made.renderOrder = things.renderOrder;
      this.group.remove(things);
      this.group.add(made);
      things.dispose();
    }
    for (const [i, { x, y, z }] of places.entries())
      made.setMatrixAt(i, new Matrix4().makeScale(size, size, size).setPosition(x, y, z));
    made.instanceMatrix.needsUpdate = true;
    return made;
  }

  private choose(): void {
    const shown = this.editing && this.selected !== undefined;
    for (const part of [this.chosen, this.sector, this.border, ...this.ends]) part.visible = shown;
    if (!shown || this.selected === undefined) return;
    const place = this.where(this.selected);
    const twist = twistAt(this.outline, this.selected);
    const rim = this.rim(place, twist, SECTOR);
    this.chosen.position.copy(place);
    reshape(this.sector, this.fill(place, twist, SECTOR));
    draw(this.border, chained([place, ...rim, place]));
    for (const [i, end] of this.ends.entries())
      end.position.copy((i === 0 ? rim[0] : rim.at(-1)) ?? place);
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
        this.dragged.follow(moveTo(this.outline, spot, last));
      },
      drop: () => this.dragged.drop(),
      click: () => this.dragged.select(spot),
    };
  }

  private end(spot: Spot, side: 0 | 1): Handle {
    const [low, high] = twistAt(this.outline, spot);
    let twist = side === 0 ? low : high;
    const place = () => {
      const point = this.beside(this.where(spot), twistAt(this.outline, spot)[side], SECTOR);
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
        this.dragged.follow(twistTo(this.outline, spot, ended(low, high, side, twist)));
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

type Instances = InstancedMesh<BufferGeometry, MeshBasicMaterial>;

function instances(
  shape: BufferGeometry,
  count: number,
  material = new MeshBasicMaterial(),
): Instances {
  const made = new InstancedMesh(shape, material, count);
  made.frustumCulled = false;
  return made;
}

function reshape(mesh: Mesh, points: Vector3[]): void {
  mesh.geometry.dispose();
  mesh.geometry = new BufferGeometry().setFromPoints(points);
}

const solid = (color: string) => new MeshBasicMaterial({ color });
