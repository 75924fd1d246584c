// The sphere at a joint: directions that its bone may have, coloured by the range of twist.

import {
  BufferAttribute,
  BufferGeometry,
  CatmullRomCurve3,
  type Color,
  DoubleSide,
  Group,
  InstancedMesh,
  LineBasicMaterial,
  LineSegments,
  type Material,
  Mesh,
  MeshBasicMaterial,
  type Object3D,
  type Quaternion,
  SphereGeometry,
  TubeGeometry,
  Vector3,
} from "three";
import { LEGAL, OUTSIDE, SLICE, type Theme, twistColour } from "./colours";
import { arc, type Slice, segments, sliceAt } from "./cone";
import type { Region } from "./region";

const PAINT = 0.68; // opacity of the painted sphere
const PALE = 0.35; // opacity of the outline of the whole limit of a dependent joint
const OVER = 1.004; // radius of parts that are drawn over the region
const RINGS = 10; // subdivisions of a slice, so that its triangles follow the sphere
const PATH_RADIUS = 0.012; // of the tube to the nearest legal direction
/** A region whose centroid is nearer to the joint than this is seen from every side. */
const ALL_AROUND = 0.2;

export class JointSphere {
  readonly group = new Group();
  /** The slice of a reach cone that the bone is in. */
  slice: Slice | undefined;
  private shape = new BufferGeometry();
  private painted = new Mesh(this.shape, translucentMaterial(PAINT, { vertexColors: true }));
  private difference: Object3D | undefined;
  private isDependent = false;
  /** True once the region that is legal now is known. */
  private isHereKnown = false;
  private outline = new BufferGeometry();
  private rim: Lines;
  /** The outline of the whole limit, if another joint makes the painted region smaller. */
  private wholeRim: Lines;
  private needle = createLines(LEGAL);
  private tip = new Mesh(
    new SphereGeometry(0.045, 16, 12),
    new MeshBasicMaterial({ color: LEGAL }),
  );
  /** The path from the bone's direction to the nearest legal one. */
  private pathBack = new Group();
  private pathLine = new Mesh(new BufferGeometry(), coverMaterial(OUTSIDE));
  private pathEnd = new Mesh(new SphereGeometry(0.03, 16, 12), coverMaterial(LEGAL));
  private sides = createLines(SLICE);
  private edge = createLines(SLICE);
  private interior = new Mesh(new BufferGeometry(), translucentMaterial(0.45, { color: SLICE }));

  constructor(
    public region: Region,
    readonly radius: number,
    readonly theme: Theme,
  ) {
    const ball = createBall(theme);
    this.rim = new LineSegments(this.outline, new LineBasicMaterial({ color: theme.ink }));
    const pale = new LineBasicMaterial({ color: theme.ink, transparent: true, opacity: PALE });
    this.wholeRim = new LineSegments(new BufferGeometry(), pale);
    const { painted, rim, wholeRim, interior, sides, edge, needle, tip, pathBack } = this;
    this.group.add(ball, painted, rim, wholeRim, interior, sides, edge, needle, tip, pathBack);
    this.group.scale.setScalar(radius);
    for (const part of [interior, sides, edge, pathBack]) part.scale.setScalar(OVER);
    pathBack.visible = false;
    pathBack.add(this.pathLine, this.pathEnd);
    for (const part of pathBack.children) part.renderOrder = 3;
    this.show(region);
  }

  /** Show another region of the same joint. */
  show(region: Region): void {
    this.region = region;
    this.slice = undefined;
    if (this.isDependent) setRim(this.wholeRim.geometry, region);
    else this.paint(region);
    for (const part of [this.sides, this.edge, this.interior]) part.visible = false;
  }

  /** Set whether the joint depends on another: then the region of `showHere` is painted. */
  setDependent(isDependent: boolean): void {
    if (isDependent === this.isDependent) return;
    this.isDependent = isDependent;
    this.isHereKnown = false;
    this.wholeRim.visible = isDependent;
    if (isDependent) setRim(this.wholeRim.geometry, this.region);
    else this.paint(this.region);
    this.updatePaint();
  }

  /** Show the region that is legal now, of a joint that depends on another. */
  showHere(region: Region): void {
    if (!this.isDependent) return;
    this.isHereKnown = true;
    this.paint(region);
    this.updatePaint();
  }

  private paint(region: Region): void {
    const { shape } = this;
    shape.dispose();
    setPaint(shape, region, twistColours(region));
    shape.boundingSphere = null;
    setRim(this.outline, region);
  }

  private updatePaint(): void {
    const isKnown = !this.isDependent || this.isHereKnown;
    this.rim.visible = isKnown;
    this.painted.visible = isKnown && !this.difference;
  }

  /** Show the difference from another limit instead of twists; undefined shows twists. */
  setDifference(difference: Object3D | undefined): void {
    if (this.difference) this.group.remove(this.difference);
    this.difference = difference;
    if (difference) this.group.add(difference);
    this.updatePaint();
  }

  /** Make twists pale, so that dots on them are seen. */
  setPale(pale: boolean): void {
    this.painted.material.opacity = pale ? 0.2 : PAINT;
  }

  /** Place it at a joint whose rotation relative to `base` is `rotation`. */
  setPose(position: Vector3, base: Quaternion, rotation: Quaternion, outside: boolean): void {
    const { reference, axis, compass, outline } = this.region;
    this.group.position.copy(position);
    this.group.quaternion.copy(base).multiply(reference);
    const local = reference.clone().invert().multiply(rotation);
    const direction = axis.clone().applyQuaternion(local);
    const mark = compass.up.clone().applyQuaternion(local).multiplyScalar(0.16).add(direction);
    setLines(this.needle, [new Vector3(), direction, direction, mark]);
    this.tip.position.copy(direction);
    const colour = outside ? OUTSIDE : LEGAL;
    this.needle.material.color.set(colour);
    this.tip.material.color.set(colour);
    if (!outline) return;
    const slice = sliceAt(outline, direction);
    this.edge.material.color.set(outside ? OUTSIDE : SLICE);
    const visible = outline.cones[slice.part]?.visible;
    const same = slice.part === this.slice?.part && slice.edge === this.slice.edge;
    if (visible && !same) this.highlight(visible, ...slice.ends);
    this.slice = slice;
  }

  /** The direction that the region faces in the world; undefined if it is all around. */
  get facing(): Vector3 | undefined {
    return facingOf(this.region.middle, this.group);
  }

  /** Draw the path of `bone` from a rotation to the nearest legal one; or remove it. */
  showPathBack(rotation?: Quaternion, legal?: Quaternion, bone?: Vector3): void {
    this.pathBack.visible = rotation !== undefined;
    if (!rotation || !legal || !bone) return;
    const back = this.region.reference.clone().invert();
    const [start, end] = [rotation, legal].map((each) =>
      bone.clone().applyQuaternion(back.clone().multiply(each)),
    ) as [Vector3, Vector3];
    this.pathLine.geometry.dispose();
    this.pathLine.visible = start.distanceTo(end) > 1e-3;
    this.pathLine.geometry = new TubeGeometry(
      new CatmullRomCurve3(arc(start, end)),
      48,
      PATH_RADIUS,
      6,
    );
    this.pathEnd.position.copy(end);
  }

  /** Free the memory of the graphics card, of parts that were added too. */
  dispose(): void {
    disposeParts(this.group);
  }

  /** Draw the triangle between the visible point and an edge. */
  private highlight(visible: Vector3, start: Vector3, end: Vector3): void {
    setLines(this.sides, [...segments(arc(start, visible)), ...segments(arc(visible, end))]);
    setLines(this.edge, segments(arc(start, end)));
    this.interior.geometry.dispose();
    this.interior.geometry = new BufferGeometry().setFromPoints(
      sectorTriangles(visible, arc(start, end)),
    );
    for (const part of [this.sides, this.edge, this.interior]) part.visible = true;
  }
}

/** The pale ball behind the directions of a sphere. */
export const createBall = ({ ink }: Theme) =>
  new Mesh(new SphereGeometry(0.99, 48, 24), translucentMaterial(0.07, { color: ink }));

/** The direction in the world of the mean of directions; undefined if they are all around. */
export function facingOf(middle: Vector3, group: Group): Vector3 | undefined {
  if (middle.length() < ALL_AROUND) return undefined;
  return middle.clone().normalize().applyQuaternion(group.quaternion);
}

/** Free the memory of the graphics card, of all parts of a group. */
export function disposeParts(group: Group): void {
  group.traverse((part) => {
    const { geometry, material } = part as Partial<Mesh>;
    geometry?.dispose();
    (material as Material | undefined)?.dispose();
    if (part instanceof InstancedMesh) part.dispose();
  });
}

export type Lines = LineSegments<BufferGeometry, LineBasicMaterial>;

/** Triangles between a direction and an arc. */
function sectorTriangles(middle: Vector3, rim: Vector3[]): Vector3[] {
  const at = (i: number, ring: number) =>
    middle
      .clone()
      .lerp(rim[i] as Vector3, ring / RINGS)
      .normalize();
  const corners: Vector3[] = [];
  for (let i = 0; i + 1 < rim.length; i++)
    for (let ring = 0; ring < RINGS; ring++) {
      const [a, b, c, d] = [at(i, ring), at(i, ring + 1), at(i + 1, ring + 1), at(i + 1, ring)];
      corners.push(a, b, c, a, c, d);
    }
  return corners;
}

/** Lines between pairs of points, without any points. */
export function createLines(color: string): Lines {
  return new LineSegments(new BufferGeometry(), new LineBasicMaterial({ color }));
}

/** Set the pairs of points of lines. */
export function setLines(segments: Lines, points: Vector3[]): void {
  segments.geometry.dispose();
  segments.geometry = new BufferGeometry().setFromPoints(points);
}

/** A material that is seen through everything in front of it. */
export function coverMaterial(color: string, opacity = 1) {
  return new MeshBasicMaterial({ color, depthTest: false, transparent: true, opacity });
}

/** Set lines to the boundary of a region's directions. */
function setRim(lines: BufferGeometry, region: Region): void {
  lines.dispose();
  lines.setAttribute("position", new BufferAttribute(region.directions, 3));
  lines.setIndex(new BufferAttribute(region.rim, 1));
  lines.boundingSphere = null;
}

export function translucentMaterial(
  opacity: number,
  look: { color?: string; vertexColors?: boolean },
) {
  return new MeshBasicMaterial({
    ...look,
    side: DoubleSide,
    transparent: true,
    opacity,
    depthWrite: false,
  });
}

/** Set triangles between directions, with a colour at each direction. */
export function setPaint(
  shape: BufferGeometry,
  { directions, faces }: { directions: Float32Array; faces: Uint32Array },
  colours: Color[],
): void {
  shape.setAttribute("position", new BufferAttribute(directions, 3));
  shape.setIndex(new BufferAttribute(faces, 1));
  const flat = new Float32Array(3 * colours.length);
  for (const [i, colour] of colours.entries()) colour.toArray(flat, 3 * i);
  shape.setAttribute("color", new BufferAttribute(flat, 3));
}

const twistColours = ({ twistDeg, twistSpan: [least, most] }: Region): Color[] =>
  [...twistDeg].map((width) => twistColour(most > least ? (width - least) / (most - least) : 0));
