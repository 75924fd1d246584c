// Points and twists of reach cones on their sphere, drawn and dragged.

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
import type { Edit } from "../protocol";
import { OUTSIDE, PICKED } from "../stage/colours";
import {
  arc,
  directionOf,
  listEdges,
  listPoints,
  type Outline,
  type PointKey,
  type Span,
  segments,
  twistDegTowards,
  twistSpanAt,
  upAtTwist,
} from "../stage/cone";
import { createHandle, type Handle } from "../stage/pointer";
import {
  createLines,
  type JointSphere,
  type Lines,
  setLines,
  translucentMaterial,
} from "../stage/sphere";
import { moveEdit, moveTwistEnd, twistEdit } from "./points";

const SECTOR = 0.34; // radius of the fan of twists at the selected point, on the unit sphere
const SMALL_SECTOR = 0.09; // likewise at other points
const DOT = 0.022; // radius of a point
const STEP_DEG = 10; // angle between the triangles of a fan

/** Called for drags and clicks. */
interface DragListener {
  onDrag(edit: Edit): void;
  onDrop(): void;
  onCancel(): void;
  onSelect(key: PointKey): void;
}

/** Why an edit was refused: an edge of the cone, the direction of a point. */
interface Refusal {
  edge: [Vector3, Vector3] | undefined;
  point: Vector3 | undefined;
}

export class ConeHandles {
  readonly group = new Group();
  private dots = createInstances(new SphereGeometry(DOT, 12, 8), 0);
  private visiblePoints = createInstances(new OctahedronGeometry(1.9 * DOT), 0);
  private edges: Lines;
  private selectedDot = new Mesh(new SphereGeometry(1.8 * DOT, 16, 12), solidMaterial(PICKED));
  private sectors = new Mesh(new BufferGeometry(), translucentMaterial(0.45, {}));
  private sector = new Mesh(new BufferGeometry(), translucentMaterial(0.5, { color: PICKED }));
  private border = createLines(PICKED);
  private twistEnds = [0, 1].map(
    () => new Mesh(new SphereGeometry(1.3 * DOT, 12, 8), solidMaterial(PICKED)),
  );
  private redEdge: Lines = createLines(OUTSIDE);
  private ghost = new Mesh(this.selectedDot.geometry, translucentMaterial(0.6, { color: OUTSIDE }));

  constructor(
    readonly sphere: JointSphere,
    public outline: Outline,
    private selected: PointKey | undefined,
    private isEditing: boolean,
    private listener: DragListener,
  ) {
    this.edges = createLines(sphere.theme.ink);
    this.group.add(
      this.edges,
      this.sectors,
      this.dots,
      this.visiblePoints,
      this.redEdge,
      this.ghost,
    );
    this.group.add(this.sector, this.border, this.selectedDot, ...this.twistEnds);
    for (const part of [this.sectors, this.dots, this.visiblePoints])
      part.material.color.set(sphere.theme.ink);
    Object.assign(this.edges.material, { transparent: true, opacity: 0.5 });
    // The body never hides what is edited.
    const front = [
      this.visiblePoints,
      this.sector,
      this.border,
      this.selectedDot,
      ...this.twistEnds,
      this.redEdge,
      this.ghost,
    ];
    for (const part of front) {
      Object.assign(part.material, { depthTest: false, transparent: true });
      part.renderOrder = 1;
    }
    this.showRefusal(undefined);
    this.show(outline, selected, isEditing);
  }

  /** Draw the points of an outline. */
  show(outline: Outline, selected: PointKey | undefined, editing: boolean): void {
    this.outline = outline;
    this.selected = selected;
    this.isEditing = editing;
    const { corners, cones } = outline;
    this.dots = this.placeInstances(this.dots, corners, editing ? 1.25 : 1);
    this.visiblePoints = this.placeInstances(
      this.visiblePoints,
      cones.map(({ visible }) => visible),
      1,
    );
    this.visiblePoints.visible = this.sectors.visible = editing;
    // In a union of cones, the rim shows only edges that no other cone covers.
    this.edges.visible = editing && cones.length > 1;
    if (this.edges.visible) {
      const edges = cones.flatMap((cone) => listEdges(outline, cone));
      setLines(
        this.edges,
        edges.flatMap((ends) => segments(arc(...ends))),
      );
    }
    if (editing) {
      const triangles = listPoints(outline).flatMap((key) =>
        this.sectorTriangles(directionOf(outline, key), twistSpanAt(outline, key), SMALL_SECTOR),
      );
      setTriangles(this.sectors, triangles);
    }
    this.showSelection();
  }

  /** Show the edge that made an edit impossible, and where a point was to go. */
  showRefusal(wrong: Refusal | undefined): void {
    this.redEdge.visible = wrong?.edge !== undefined;
    if (wrong?.edge) setLines(this.redEdge, thickLines(arc(...wrong.edge)));
    this.ghost.visible = wrong?.point !== undefined;
    if (wrong?.point) this.ghost.position.copy(wrong.point);
  }

  /** Handles for the mouse: the ends of the selected twist first. */
  listHandles(): Handle[] {
    const found = listPoints(this.outline).map((key) => this.pointHandle(key));
    const { selected } = this;
    return selected === undefined
      ? found
      : [this.twistHandle(selected, 0), this.twistHandle(selected, 1), ...found];
  }

  directionAt(key: PointKey): Vector3 {
    return directionOf(this.outline, key);
  }

  /** Move instances to positions, and change their number if it differs. */
  private placeInstances(things: Instances, places: Vector3[], size: number): Instances {
    let made = things;
    if (made.count !== places.length) {
      made = createInstances(things.geometry, places.length, things.material);
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

  private showSelection(): void {
    const shown = this.isEditing && this.selected !== undefined;
    for (const part of [this.selectedDot, this.sector, this.border, ...this.twistEnds])
      part.visible = shown;
    if (!shown || this.selected === undefined) return;
    const place = this.directionAt(this.selected);
    const twist = twistSpanAt(this.outline, this.selected);
    const rim = this.twistRim(place, twist, SECTOR);
    this.selectedDot.position.copy(place);
    setTriangles(this.sector, this.sectorTriangles(place, twist, SECTOR));
    setLines(this.border, segments([place, ...rim, place]));
    for (const [i, end] of this.twistEnds.entries())
      end.position.copy((i === 0 ? rim[0] : rim.at(-1)) ?? place);
  }

  /** Positions beside a point, from one end of its twist to the other. */
  private twistRim(place: Vector3, [low, high]: Span, radius: number): Vector3[] {
    const steps = Math.max(1, Math.ceil((high - low) / STEP_DEG));
    return Array.from({ length: steps + 1 }, (_, i) =>
      this.besidePoint(place, low + (i / steps) * (high - low), radius),
    );
  }

  private besidePoint(place: Vector3, twistDeg: number, radius: number): Vector3 {
    const way = upAtTwist(this.sphere.region.compass, place, twistDeg);
    return place.clone().multiplyScalar(1.003).addScaledVector(way, radius);
  }

  private sectorTriangles(place: Vector3, twist: Span, radius: number): Vector3[] {
    const rim = this.twistRim(place, twist, radius);
    return rim.slice(1).flatMap((point, i) => [place, rim[i] as Vector3, point]);
  }

  private pointHandle(key: PointKey): Handle {
    let last = this.directionAt(key);
    const place = () => this.sphere.group.localToWorld(this.directionAt(key).clone());
    const drag = (ray: Ray) => {
      this.listener.onSelect(key);
      last = intersectSphere(ray, this.sphere, last) ?? last;
      this.listener.onDrag(moveEdit(this.outline, key, last));
    };
    return createHandle(place, drag, this.listener, () => this.listener.onSelect(key));
  }

  private twistHandle(key: PointKey, side: 0 | 1): Handle {
    const [low, high] = twistSpanAt(this.outline, key);
    let twist = side === 0 ? low : high;
    const place = () => {
      const point = this.besidePoint(
        this.directionAt(key),
        twistSpanAt(this.outline, key)[side],
        SECTOR,
      );
      return this.sphere.group.localToWorld(point);
    };
    const drag = (ray: Ray) => {
      const direction = this.directionAt(key);
      const way = offsetAcross(ray, this.sphere, direction);
      twist = twistDegTowards(this.sphere.region.compass, direction, way, twist);
      this.listener.onDrag(twistEdit(this.outline, key, moveTwistEnd(low, high, side, twist)));
    };
    return createHandle(place, drag, this.listener);
  }
}

/**
 * The direction, in the sphere's frame, in which a ray meets it: in front or behind, whichever is
 * nearer to `last`. If the ray misses, the nearest direction, or undefined without `last`.
 */
export function intersectSphere(
  ray: Ray,
  sphere: JointSphere,
  last: Vector3 | undefined,
): Vector3 | undefined {
  const middle = sphere.group.position;
  const inward = (point: Vector3) =>
    point.sub(middle).applyQuaternion(sphere.group.quaternion.clone().invert()).normalize();
  const front = ray.intersectSphere(new Sphere(middle, sphere.group.scale.x), new Vector3());
  if (!front) return last && inward(ray.closestPointToPoint(middle, new Vector3()));
  const half = ray.closestPointToPoint(middle, new Vector3());
  const behind = half.multiplyScalar(2).sub(front);
  const [near, far] = [inward(front), inward(behind)];
  return last && far.angleTo(last) < near.angleTo(last) ? far : near;
}

/** The offset of a ray from a direction on the sphere, perpendicular to the direction. */
function offsetAcross(ray: Ray, sphere: JointSphere, direction: Vector3): Vector3 {
  const place = sphere.group.localToWorld(direction.clone());
  const outward = direction.clone().applyQuaternion(sphere.group.quaternion);
  const plane = new Plane().setFromNormalAndCoplanarPoint(outward, place);
  // Seen from the side the plane is a line: the nearest point of the ray is better.
  const steep = Math.abs(ray.direction.dot(outward)) > 0.1;
  const met = (steep && ray.intersectPlane(plane, new Vector3())) || undefined;
  const point = met ?? ray.closestPointToPoint(place, new Vector3());
  return point.sub(place).applyQuaternion(sphere.group.quaternion.clone().invert());
}

/** An arc as several lines, since lines are one pixel wide. */
function thickLines(points: Vector3[]): Vector3[] {
  return [0.997, 1, 1.003, 1.006, 1.009].flatMap((scale) =>
    segments(points.map((point) => point.clone().multiplyScalar(scale))),
  );
}

type Instances = InstancedMesh<BufferGeometry, MeshBasicMaterial>;

function createInstances(
  shape: BufferGeometry,
  count: number,
  material = new MeshBasicMaterial(),
): Instances {
  const made = new InstancedMesh(shape, material, count);
  made.frustumCulled = false;
  return made;
}

function setTriangles(mesh: Mesh, points: Vector3[]): void {
  mesh.geometry.dispose();
  mesh.geometry = new BufferGeometry().setFromPoints(points);
}

const solidMaterial = (color: string) => new MeshBasicMaterial({ color });
