// The sphere at a joint: where its bone may point, coloured by how far it may twist there.

import {
  BufferAttribute,
  BufferGeometry,
  CatmullRomCurve3,
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

/** What is drawn over the region is so much farther out. */
const PAINT = 0.68; // opacity of the painted sphere
const PALE = 0.35; // opacity of the outline of what may be legal elsewhere
const OVER = 1.004;
const RINGS = 10;
/** How thick the way back to what is legal is. */
const WAY = 0.012;
/** A region whose middle is nearer to the joint than this is seen from everywhere. */
export const ALL_AROUND = 0.2;

/** The sphere at the joint: where the bone may point, coloured by how far it may twist. */
export class JointSphere {
  readonly group = new Group();
  /** Of reach cones: the slice that the bone is in. */
  slice: Slice | undefined;
  private shape = new BufferGeometry();
  private painted = new Mesh(this.shape, translucentMaterial(PAINT, { vertexColors: true }));
  private difference: Object3D | undefined;
  private isDependent = false;
  /** Whether what is legal now has been told. */
  private isHereKnown = false;
  private outline = new BufferGeometry();
  private rim: Lines;
  /** Where the whole limit ends, if what is painted is less because of another joint. */
  private wholeRim: Lines;
  private needle = createLines(LEGAL);
  private tip = new Mesh(
    new SphereGeometry(0.045, 16, 12),
    new MeshBasicMaterial({ color: LEGAL }),
  );
  /** From where the bone points to where it would be legal. */
  private wayBack = new Group();
  private wayLine = new Mesh(new BufferGeometry(), coverMaterial(OUTSIDE));
  private wayEnd = new Mesh(new SphereGeometry(0.03, 16, 12), coverMaterial(LEGAL));
  private sides = createLines(SLICE);
  private edge = createLines(SLICE);
  private interior = new Mesh(new BufferGeometry(), translucentMaterial(0.45, { color: SLICE }));

  constructor(
    public region: Region,
    readonly radius: number,
    readonly theme: Theme,
  ) {
    const ball = new Mesh(
      new SphereGeometry(0.995, 48, 24),
      translucentMaterial(0.07, { color: theme.ink }),
    );
    this.rim = new LineSegments(this.outline, new LineBasicMaterial({ color: theme.ink }));
    const pale = new LineBasicMaterial({ color: theme.ink, transparent: true, opacity: PALE });
    this.wholeRim = new LineSegments(new BufferGeometry(), pale);
    const { painted, rim, wholeRim, interior, sides, edge, needle, tip, wayBack } = this;
    this.group.add(ball, painted, rim, wholeRim, interior, sides, edge, needle, tip, wayBack);
    this.group.scale.setScalar(radius);
    for (const part of [interior, sides, edge, wayBack]) part.scale.setScalar(OVER);
    wayBack.visible = false;
    wayBack.add(this.wayLine, this.wayEnd);
    for (const part of wayBack.children) part.renderOrder = 3;
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

  /**
   * Let the region be that of a joint that depends on another: it is an outline, and what is
   * painted is what `showHere` says.
   */
  setDependent(isDependent: boolean): void {
    if (isDependent === this.isDependent) return;
    this.isDependent = isDependent;
    this.isHereKnown = false;
    this.wholeRim.visible = isDependent;
    if (isDependent) setRim(this.wholeRim.geometry, this.region);
    else this.paint(this.region);
    this.updatePaint();
  }

  /** Show what is legal now of a joint that depends on another. */
  showHere(region: Region): void {
    if (!this.isDependent) return;
    this.isHereKnown = true;
    this.paint(region);
    this.updatePaint();
  }

  private paint(region: Region): void {
    const { shape } = this;
    shape.dispose();
    shape.setAttribute("position", new BufferAttribute(region.directions, 3));
    shape.setIndex(new BufferAttribute(region.faces, 1));
    shape.setAttribute("color", new BufferAttribute(twistColours(region), 3));
    shape.boundingSphere = null;
    setRim(this.outline, region);
  }

  private updatePaint(): void {
    const isKnown = !this.isDependent || this.isHereKnown;
    this.rim.visible = isKnown;
    this.painted.visible = isKnown && !this.difference;
  }

  /** Show what differs from another limit instead of twists; or twists again. */
  setDifference(difference: Object3D | undefined): void {
    if (this.difference) this.group.remove(this.difference);
    this.difference = difference;
    if (difference) this.group.add(difference);
    this.updatePaint();
  }

  /** Let twists be pale, so that other colours are seen on them. */
  setPale(pale: boolean): void {
    this.painted.material.opacity = pale ? 0.2 : PAINT;
  }

  /** Put it at a joint that is turned by `turn` as seen from where it is measured, `above`. */
  setPose(position: Vector3, above: Quaternion, turn: Quaternion, outside: boolean): void {
    const { reference, axis, compass, outline } = this.region;
    this.group.position.copy(position);
    this.group.quaternion.copy(above).multiply(reference);
    const local = reference.clone().invert().multiply(turn);
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

  /** The way that the region faces in the world; none where it is all around. */
  get facing(): Vector3 | undefined {
    const { middle } = this.region;
    if (middle.length() < ALL_AROUND) return undefined;
    return middle.clone().normalize().applyQuaternion(this.group.quaternion);
  }

  /** Draw the way from a rotation to the nearest legal one, for a bone; or none. */
  showWayBack(turn?: Quaternion, legal?: Quaternion, bone?: Vector3): void {
    this.wayBack.visible = turn !== undefined;
    if (!turn || !legal || !bone) return;
    const back = this.region.reference.clone().invert();
    const [start, end] = [turn, legal].map((each) =>
      bone.clone().applyQuaternion(back.clone().multiply(each)),
    ) as [Vector3, Vector3];
    this.wayLine.geometry.dispose();
    this.wayLine.visible = start.distanceTo(end) > 1e-3;
    this.wayLine.geometry = new TubeGeometry(new CatmullRomCurve3(arc(start, end)), 48, WAY, 6);
    this.wayEnd.position.copy(end);
  }

  /** Give back what it, and all that is drawn on it, takes on the graphics card. */
  dispose(): void {
    this.group.traverse((part) => {
      const { geometry, material } = part as Partial<Mesh>;
      geometry?.dispose();
      (material as Material | undefined)?.dispose();
      if (part instanceof InstancedMesh) part.dispose();
    });
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

/** Lines between pairs of points, none yet. */
export function createLines(color: string): Lines {
  return new LineSegments(new BufferGeometry(), new LineBasicMaterial({ color }));
}

/** Let lines run between pairs of points. */
export function setLines(segments: Lines, points: Vector3[]): void {
  segments.geometry.dispose();
  segments.geometry = new BufferGeometry().setFromPoints(points);
}

/** Of what is seen through all that is in front of it. */
function coverMaterial(color: string) {
  return new MeshBasicMaterial({ color, depthTest: false, transparent: true });
}

/** Let lines run where the directions of a region end. */
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

function twistColours({ twistDeg, twistSpan: [least, most] }: Region): Float32Array {
  const flat = new Float32Array(3 * twistDeg.length);
  twistDeg.forEach((width, i) => {
    twistColour(most > least ? (width - least) / (most - least) : 0).toArray(flat, 3 * i);
  });
  return flat;
}
