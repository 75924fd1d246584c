// The skeleton as one sees it: bones and skin of a human, or else sticks or capsules, and a dot at
// each joint.

import {
  type BufferGeometry,
  CapsuleGeometry,
  Color,
  Group,
  InstancedMesh,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  MeshLambertMaterial,
  MeshStandardMaterial,
  OctahedronGeometry,
  type Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
import type { Pose, Skeleton } from "../clip";
import { forwardKinematics, vectorAt, type WorldPose } from "../pose/kinematics";
import type { BodyShape } from "../protocol";
import { OUTSIDE, PICKED, type Theme, UNUSUAL } from "./colours";
import {
  createBoneMaterial,
  createSkinMaterial,
  Flesh,
  type HumanMeshes,
  type SeeThrough,
} from "./flesh";
import type { OwnMesh, Tint } from "./mesh";

const UP = new Vector3(0, 1, 0);
const BLOCKING = "#7c5cd6";
const CROWDED_PX = 5; // room of a dot in a body, below which it is left out

/** A bone from the joint `owner` to `child`, or to an end site. `tip` is relative to the owner. */
export interface Bone {
  owner: number;
  child: number | undefined;
  tip: Vector3;
}

export function listBones(skeleton: Skeleton): Bone[] {
  const bare = new Set(jointsAboveBody(skeleton));
  const limbs = skeleton.parents.flatMap((owner, child) =>
    owner < 0 || bare.has(owner) ? [] : [{ owner, child, tip: vectorAt(skeleton.offsets, child) }],
  );
  const tips = skeleton.endParents.map((owner, end) => ({
    owner,
    child: undefined,
    tip: vectorAt(skeleton.endOffsets, end),
  }));
  return [...limbs, ...tips].filter(({ tip }) => tip.length() > 0);
}

/** Common ancestors of all joints of a human, such as a root on the ground: they have no bones. */
function jointsAboveBody({ parents, groups }: Skeleton): number[] {
  const paths = groups.flatMap((group, joint) => {
    const path: number[] = [];
    for (let at = joint; at >= 0; at = parents[at] ?? -1) path.unshift(at);
    return group ? [path] : [];
  });
  const [first = []] = paths;
  return first.filter((joint, at) => {
    const next = first[at + 1];
    return next !== undefined && paths.every((path) => path[at] === joint && path[at + 1] === next);
  });
}

/** "mesh" is the mesh of the clip's file; "sticks" are for slow machines. */
export type Style = "bones" | "body" | "both" | "mesh" | "sticks";

/** The meshes of a human, and how they attach to its skeleton. */
export interface Shapes {
  meshes: HumanMeshes;
  fit: BodyShape;
}

/** Opacity of skin that faces the camera, if the bones are to be visible. */
const VEIL = 0.2;
/** Radius around a picked joint in which bones are visible, as a share of the body's size. */
const CLEARING = 0.15;

/** Highlighted joints: the picked one, those outside or unusual, those that block a goal. */
export interface Marks {
  picked: number | undefined;
  outside: Set<number>;
  unusual: Set<number>;
  blocking: Set<number>;
}

type Mark = "outside" | "blocking" | "unusual" | "picked";

/** Colour of a mark, its strength on a mesh of the clip's file, and the radius of a dot in pixels. */
const MARKS: Record<Mark, Tint & { dot: number }> = {
  outside: { colour: OUTSIDE, strength: 0.85, dot: 5.5 },
  blocking: { colour: BLOCKING, strength: 0.6, dot: 5.5 },
  unusual: { colour: UNUSUAL, strength: 0.7, dot: 5 },
  picked: { colour: PICKED, strength: 0.45, dot: 5 },
};

/** The most important mark of a joint. */
function markOf(joint: number, marks: Marks): Mark | undefined {
  for (const mark of ["outside", "blocking", "unusual"] as const)
    if (marks[mark].has(joint)) return mark;
  return joint === marks.picked ? "picked" : undefined;
}

function ghostMaterial(): MeshStandardMaterial {
  const thin = { transparent: true, opacity: 0.4, depthWrite: false };
  // Draw it a little farther away, so that the body hides it where both nearly coincide.
  const behind = { polygonOffset: true, polygonOffsetFactor: 4, polygonOffsetUnits: 8 };
  return new MeshStandardMaterial({ vertexColors: true, roughness: 0.6, ...thin, ...behind });
}

export class Body {
  readonly group = new Group();
  readonly bones: Bone[];
  readonly size: number;
  world: WorldPose = { positions: [], rotations: [] };
  /** Positions of the bones' tips in the world. */
  tips: Vector3[] = [];
  /** Length of a pixel in the world, for the size of dots. */
  pixel = 0;
  /** Distance of each joint from its nearest parent or child. */
  private spacing: number[];
  private meshes: Mesh<BufferGeometry, MeshLambertMaterial>[] = [];
  private materials: Record<"body" | Mark, MeshLambertMaterial>;
  private dots: InstancedMesh | undefined;
  private style: Style = "both";
  private shapes: Shapes | undefined;
  private bonesFlesh: Flesh | undefined;
  private skinFlesh: Flesh | undefined;
  private ownMesh: OwnMesh | undefined;
  private seen: SeeThrough = {
    opacity: { value: 1 },
    place: { value: new Vector3() },
    radius: { value: 0 },
  };

  constructor(
    private skeleton: Skeleton,
    private limited: Set<number>,
    private isGhost = false,
  ) {
    this.bones = listBones(skeleton);
    const lengths = this.bones.map(({ tip }) => tip.length()).sort((a, b) => a - b);
    const reach = forwardKinematics(skeleton, restPose(skeleton)).positions;
    const longest = Math.max(...reach.map((point) => point.distanceTo(reach[0] as Vector3)), 0);
    this.spacing = skeleton.parents.map((parent, joint) => {
      const bones = [...(parent < 0 ? [] : [joint]), ...(skeleton.children[joint] ?? [])];
      const lengths = bones.map((bone) => vectorAt(skeleton.offsets, bone).length());
      return Math.min(...lengths.filter((length) => length > 0));
    });
    this.size = longest || lengths.at(-1) || 1;
    const material = (color: string) => new MeshLambertMaterial({ color });
    this.materials = {
      body: material("#ffffff"),
      picked: material(PICKED),
      outside: material(OUTSIDE),
      unusual: material(UNUSUAL),
      blocking: material(BLOCKING),
    };
    if (isGhost)
      for (const each of Object.values(this.materials))
        Object.assign(each, { transparent: true, opacity: 0.35, depthWrite: false });
    this.setStyle(this.style);
  }

  /** Radius of the sphere at a joint: 0.8 of its longest bone, within bounds. */
  sphereRadius(joint: number): number {
    const bones = this.bones.filter(({ owner }) => owner === joint);
    const length = Math.max(...bones.map(({ tip }) => tip.length()), 0);
    return Math.min(Math.max(0.8 * length, 0.1 * this.size), 0.25 * this.size);
  }

  /** Show the meshes of a human. */
  setShapes(shapes: Shapes): void {
    this.shapes = shapes;
    for (const flesh of [this.bonesFlesh, this.skinFlesh]) flesh?.dispose();
    this.bonesFlesh = this.skinFlesh = undefined;
    this.setStyle(this.style);
  }

  /** Use the mesh of the clip's file for the style "mesh". */
  setMesh(mesh: OwnMesh): void {
    this.ownMesh = mesh;
    this.setStyle(this.style);
  }

  private createFlesh(shapes: Shapes): void {
    const { isGhost, seen } = this;
    const bone = isGhost ? ghostMaterial() : createBoneMaterial(seen);
    const skin = isGhost ? ghostMaterial() : createSkinMaterial(seen);
    this.bonesFlesh = new Flesh(shapes.meshes.bones, shapes.fit, bone);
    this.skinFlesh = shapes.fit.skin ? new Flesh(shapes.meshes.skin, shapes.fit, skin) : undefined;
    if (this.skinFlesh) this.skinFlesh.mesh.renderOrder = 0.5;
    for (const flesh of [this.bonesFlesh, this.skinFlesh])
      if (flesh) Object.assign(flesh.mesh, { castShadow: !this.isGhost, receiveShadow: false });
  }

  /** True if the body is shown as a mesh or a human, not as capsules or sticks. */
  get isShaped(): boolean {
    return this.style !== "sticks" && (this.shapes !== undefined || this.isMesh);
  }

  get isMesh(): boolean {
    return this.style === "mesh" && this.ownMesh !== undefined;
  }

  /** Approximate coordinate of the lowest point along the world's up axis. */
  lowest(up: "y" | "z"): number {
    if (this.isMesh && this.ownMesh) return this.ownMesh.lowest(up);
    const heights = [...this.world.positions, ...this.tips].map((point) => point[up]);
    return Math.min(...heights) - (this.isShaped ? 0.004 : 0.02) * this.size;
  }

  setStyle(style: Style): void {
    this.style = style;
    if (this.isGhost && !this.world.positions.length) return; // it has not been shown yet
    if (this.shapes && !this.bonesFlesh) this.createFlesh(this.shapes);
    for (const mesh of this.meshes) mesh.geometry.dispose();
    this.group.clear();
    this.dots?.geometry.dispose();
    this.dots?.dispose();
    this.meshes = [];
    if (this.isMesh && this.ownMesh) this.group.add(this.ownMesh.root);
    else if (this.bonesFlesh && style !== "sticks") this.addFlesh();
    else
      this.meshes = this.bones.map((bone) => {
        const mesh = new Mesh(this.boneGeometry(bone), this.materials.body);
        mesh.castShadow = !this.isGhost;
        this.group.add(mesh);
        return mesh;
      });
    if (this.isGhost) return;
    this.dots = new InstancedMesh(
      new SphereGeometry(1, 16, 10),
      // Drawn over the body, so that joints inside it are visible.
      new MeshBasicMaterial({ depthTest: false, transparent: true }),
      this.skeleton.names.length,
    );
    this.dots.frustumCulled = false;
    this.dots.renderOrder = 1;
    this.group.add(this.dots);
  }

  private addFlesh(): void {
    const { bonesFlesh, skinFlesh, style } = this;
    const skinned = style !== "bones" && skinFlesh;
    // A ghost has either skin or bones; a transparent skin has bones below it.
    if (bonesFlesh && !(this.isGhost && skinned)) this.group.add(bonesFlesh.mesh);
    this.seen.opacity.value = style === "body" && skinned ? 1 : VEIL;
    if (skinned) this.group.add(skinFlesh.mesh);
  }

  /** True if a bone, such as a rib, ends in a joint without bones: it is drawn half as thick. */
  private isTwig({ child }: Bone): boolean {
    if (child === undefined || this.skeleton.endParents.includes(child)) return false;
    return this.skeleton.children[child]?.length === 0;
  }

  private boneGeometry(bone: Bone): BufferGeometry {
    const length = bone.tip.length();
    const share = this.isTwig(bone) ? 0.5 : 1;
    if (this.style === "bones" || this.style === "sticks") {
      const shape = new OctahedronGeometry(0.5);
      const width = share * Math.min(0.16 * length, 0.045 * this.size);
      const corners = shape.getAttribute("position");
      for (let i = 0; i < corners.count; i++)
        // Widest near its root, as bones are drawn in animation tools.
        corners.setY(i, corners.getY(i) > 0.25 ? 0.5 : corners.getY(i) < -0.25 ? -0.5 : -0.38);
      shape.scale(width / 0.5 / 1.4, length, width / 0.5 / 1.4);
      shape.translate(0, 0.5 * length, 0);
      shape.computeVertexNormals();
      return shape;
    }
    const least = 0.014 * this.size;
    const radius = share * Math.min(Math.max(0.24 * length, least), 0.036 * this.size);
    const shape = new CapsuleGeometry(radius, Math.max(length - 0.6 * radius, 1e-6), 6, 16);
    shape.translate(0, 0.5 * length, 0);
    return shape;
  }

  setPose(pose: Pose, world = forwardKinematics(this.skeleton, pose)): void {
    this.world = world;
    if (!this.meshes.length && !this.isShaped) this.setStyle(this.style);
    if (this.isMesh) this.ownMesh?.setPose(this.world);
    this.bonesFlesh?.setPose(this.world);
    this.skinFlesh?.setPose(this.world);
    const { positions, rotations } = this.world;
    this.tips = this.bones.map(({ owner, child, tip }, number) => {
      const root = positions[owner] as Vector3;
      const turn = rotations[owner] as Quaternion;
      const offset = child === undefined ? tip : vectorAt(pose.positions, child);
      const mesh = this.meshes[number];
      mesh?.position.copy(root);
      mesh?.quaternion.setFromUnitVectors(UP, offset.clone().normalize()).premultiply(turn);
      return offset.clone().applyQuaternion(turn).add(root);
    });
  }

  /** Hide the bones that coincide with those of another body, so that a ghost is visible. */
  showDifferencesFrom(other: Body): void {
    const near = 1e-4 * this.size;
    const still = new Set<number>();
    this.world.positions.forEach((position, joint) => {
      const there = other.world.positions[joint] ?? position;
      const turn = this.world.rotations[joint] as Quaternion;
      const { x, y, z, w } = other.world.rotations[joint] ?? turn;
      const apart = Math.hypot(turn.x - x, turn.y - y, turn.z - z, turn.w - w);
      if (position.distanceTo(there) <= near && apart < 1e-4) still.add(joint);
    });
    for (const flesh of [this.bonesFlesh, this.skinFlesh]) {
      flesh?.hide(still);
      flesh?.setPose(this.world);
    }
    this.meshes.forEach((mesh, number) => {
      const root = other.meshes[number]?.position ?? mesh.position;
      const tip = other.tips[number] as Vector3;
      const moved = mesh.position.distanceTo(root) > near;
      mesh.visible = moved || (this.tips[number] as Vector3).distanceTo(tip) > near;
    });
  }

  paint(theme: Theme, marks: Marks): void {
    this.bonesFlesh?.paint(this.fleshColours(theme.bone, theme, marks));
    this.skinFlesh?.paint(this.fleshColours(theme.skin, theme, marks));
    if (this.isMesh)
      this.ownMesh?.paint(
        this.skeleton.names.map((_, joint) => {
          const mark = markOf(joint, marks);
          return mark && MARKS[mark];
        }),
      );
    const place = marks.picked === undefined ? undefined : this.world.positions[marks.picked];
    this.seen.radius.value = place ? CLEARING * this.size : 0;
    if (place) this.seen.place.value.copy(place);
    if (!this.meshes.length && !this.isShaped) return;
    this.materials.body.color.set(this.isGhost ? theme.ghost : theme.body);
    this.bones.forEach(({ owner }, number) => {
      const mesh = this.meshes[number];
      const mark = this.isGhost ? undefined : markOf(owner, marks);
      if (mesh) mesh.material = this.materials[mark ?? "body"];
    });
    this.world.positions.forEach((position, joint) => {
      const radius = this.pixel * this.dotPixels(joint, marks);
      const place = new Matrix4().makeTranslation(position);
      this.dots?.setMatrixAt(joint, place.scale(new Vector3(radius, radius, radius)));
      const plain = this.limited.has(joint) ? theme.limited : theme.bare;
      this.dots?.setColorAt(joint, new Color(colourOf(joint, marks, plain)));
    });
    if (!this.dots) return;
    this.dots.instanceMatrix.needsUpdate = true;
    if (this.dots.instanceColor) this.dots.instanceColor.needsUpdate = true;
  }

  private fleshColours(plain: string, theme: Theme, marks: Marks): string[] {
    return this.skeleton.names.map((_, joint) =>
      this.isGhost ? theme.ghost : colourOf(joint, marks, plain),
    );
  }

  /** Radius of a joint's dot in pixels; 0 for joints without limit or crowded ones in a body. */
  private dotPixels(joint: number, marks: Marks): number {
    const mark = markOf(joint, marks);
    if (mark) return MARKS[mark].dot;
    if (!this.limited.has(joint)) return this.style === "bones" ? 1.8 : 0;
    const room = (0.35 * (this.spacing[joint] ?? 0)) / this.pixel;
    if (this.isShaped && room < CROWDED_PX) return 0; // dots of vertebrae would hide the spine
    return Math.min(Math.max(room, 1.6), this.isShaped ? 2.6 : 3.4);
  }
}

function colourOf(joint: number, marks: Marks, plain: string): string {
  const mark = markOf(joint, marks);
  return mark ? MARKS[mark].colour : plain;
}

export function restPose(skeleton: Skeleton): Pose {
  const rotations = new Float32Array(4 * skeleton.names.length);
  for (let i = 0; i < rotations.length; i += 4) rotations[i] = 1;
  return { rotations, positions: skeleton.offsets };
}
