// Surfaces that go with the joints: bones with a shape, and the skin around them.

import {
  Bone,
  BufferAttribute,
  BufferGeometry,
  Color,
  Matrix4,
  MeshStandardMaterial,
  Quaternion,
  SkinnedMesh,
  Sphere,
  Skeleton as ThreeSkeleton,
  Vector3,
} from "three";
import type { Skeleton } from "../clip";
import { forwardKinematics, type WorldPose } from "../pose/kinematics";
import type { BodyShape } from "../protocol";
import { MeshReader, vertexNormals } from "./mesh";

/** Triangles whose vertices go with up to four joints each. */
export interface FleshData {
  positions: Float32Array;
  indices: Uint32Array;
  /** Four a vertex, in bytes of the sum 255. */
  joints: Uint16Array;
  weights: Uint8Array;
  /** By vertex, the joint whose colour it has. */
  owners: Uint16Array;
  /** Where joints are while vertices are at these positions. */
  bind: WorldPose;
}

/** All bones as one; none where no human was recognised. */
export function bonesFrom(shape: BodyShape, skeleton: Skeleton): FleshData | undefined {
  if (!shape.kinds.length) return undefined;
  const reader = new MeshReader(shape);
  let first = 0;
  const surfaces = shape.sizes.map(([vertices = 0, triangles = 0], kind) => {
    const mesh = { ...reader.read(vertices, triangles, shape.steps[kind] ?? 1), first };
    first += vertices;
    return mesh;
  });
  const used = shape.kinds.map((kind) => surfaces[kind] as (typeof surfaces)[number]);
  const count = used.reduce((sum, { points }) => sum + points.length / 3, 0);
  const data: FleshData = {
    positions: new Float32Array(3 * count),
    indices: new Uint32Array(used.reduce((sum, { corners }) => sum + corners.length, 0)),
    joints: new Uint16Array(4 * count),
    weights: new Uint8Array(4 * count),
    owners: new Uint16Array(count),
    bind: worldOf(skeleton, shape.bindRotations, shape.bindPositions),
  };
  let at = 0;
  let corner = 0;
  const place = new Matrix4();
  const point = new Vector3();
  used.forEach(({ points, corners, first }, bone) => {
    const rows = shape.placings.subarray(12 * bone, 12 * bone + 12);
    place.set(...([...rows, 0, 0, 0, 1] as Parameters<Matrix4["set"]>));
    const near = shape.joints[2 * bone] ?? 0;
    const far = shape.joints[2 * bone + 1] ?? 0;
    for (let i = 0; i < points.length / 3; i++) {
      point
        .fromArray(points, 3 * i)
        .applyMatrix4(place)
        .toArray(data.positions, 3 * (at + i));
      const share = shape.shares[first + i] ?? 0;
      const two = 4 * (at + i); // of four joints: the others have no weight
      data.joints[two] = near;
      data.joints[two + 1] = far;
      data.weights[two] = 255 - share;
      data.weights[two + 1] = share;
      data.owners[at + i] = share > 127 ? far : near;
    }
    // A mirror image has its outside inside, unless its triangles are turned.
    const [second, third] = place.determinant() < 0 ? [2, 1] : [1, 2];
    for (let i = 0; i < corners.length; i += 3) {
      data.indices[corner] = at + (corners[i] as number);
      data.indices[corner + 1] = at + (corners[i + second] as number);
      data.indices[corner + 2] = at + (corners[i + third] as number);
      corner += 3;
    }
    at += points.length / 3;
  });
  return data;
}

/** The skin; none where there is none. */
export function skinFrom(shape: BodyShape, skeleton: Skeleton): FleshData | undefined {
  if (!shape.skinPoints.length) return undefined;
  const count = shape.skinWeights.length / 4;
  const owners = new Uint16Array(count);
  const { skinWeights, skinJoints } = shape;
  for (let i = 0; i < count; i++) {
    let most = 4 * i;
    for (let k = 4 * i + 1; k < 4 * i + 4; k++)
      if ((skinWeights[k] as number) > (skinWeights[most] as number)) most = k;
    owners[i] = skinJoints[most] as number;
  }
  const packed = { codes: shape.skinCodes, others: shape.skinOthers, points: shape.skinPoints };
  const mesh = new MeshReader(packed).read(count, shape.skinTriangles, shape.skinStep);
  return {
    positions: mesh.points,
    indices: mesh.corners,
    joints: shape.skinJoints,
    weights: shape.skinWeights,
    owners,
    bind: worldOf(skeleton, shape.skinRotations, shape.skinPositions),
  };
}

function worldOf(skeleton: Skeleton, rotations: Float32Array, positions: Float32Array): WorldPose {
  return forwardKinematics(skeleton, { rotations, positions });
}

/** Bones or skin in the scene: one mesh, which the graphics card bends. */
export class Flesh {
  readonly mesh: SkinnedMesh<BufferGeometry, MeshStandardMaterial>;
  private joints: Bone[];
  private owners: Uint16Array;
  private painted = "";
  private hidden = new Set<number>();

  constructor(data: FleshData, material: MeshStandardMaterial) {
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(data.positions, 3));
    geometry.setAttribute("skinIndex", new BufferAttribute(data.joints, 4));
    geometry.setAttribute("skinWeight", new BufferAttribute(data.weights, 4, true));
    geometry.setAttribute(
      "color",
      new BufferAttribute(new Uint8Array(data.owners.length * 3), 3, true),
    );
    geometry.setIndex(new BufferAttribute(data.indices, 1));
    const normals = vertexNormals(data.positions, data.indices);
    geometry.setAttribute("normal", new BufferAttribute(normals, 3));
    this.owners = data.owners;
    this.joints = data.bind.positions.map(() => {
      const joint = new Bone();
      joint.matrixAutoUpdate = false;
      joint.matrixWorldAutoUpdate = false;
      return joint;
    });
    const inverses = data.bind.positions.map((position, joint) =>
      worldMatrix(position, data.bind.rotations[joint]).invert(),
    );
    this.mesh = new SkinnedMesh(geometry, material);
    this.mesh.frustumCulled = false;
    this.mesh.boundingSphere = new Sphere(); // or three.js bends every vertex to find it
    this.mesh.bind(new ThreeSkeleton(this.joints, inverses), new Matrix4());
  }

  setPose({ positions, rotations }: WorldPose): void {
    this.joints.forEach((joint, number) => {
      joint.matrixWorld.copy(worldMatrix(positions[number] ?? new Vector3(), rotations[number]));
      // What is not to be seen has no size.
      if (this.hidden.has(number)) joint.matrixWorld.scale(new Vector3(0, 0, 0));
    });
  }

  /** Leave out what goes with these joints, from the next pose on. */
  hide(joints: Set<number>): void {
    this.hidden = joints;
  }

  /** Give what goes with each joint a colour. */
  paint(colours: string[]): void {
    const key = colours.join();
    if (key === this.painted) return;
    this.painted = key;
    const bytes = colours.map((colour) => {
      const { r, g, b } = new Color(colour);
      return [r, g, b].map((part) => Math.round(255 * part));
    });
    const attribute = this.mesh.geometry.getAttribute("color") as BufferAttribute;
    const { array } = attribute;
    this.owners.forEach((owner, vertex) => {
      const [r, g, b] = bytes[owner] as [number, number, number];
      array[3 * vertex] = r;
      array[3 * vertex + 1] = g;
      array[3 * vertex + 2] = b;
    });
    attribute.needsUpdate = true;
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.mesh.skeleton.dispose();
  }
}

function worldMatrix(position: Vector3, rotation = new Quaternion()): Matrix4 {
  return new Matrix4().compose(position, rotation, new Vector3(1, 1, 1));
}

/** How a skin lets one see through: everywhere, more so where one looks straight at it, or around a place. */
export interface SeeThrough {
  /** How much is seen of the skin where one looks straight at it, from 0 to 1. */
  opacity: { value: number };
  place: { value: Vector3 };
  /** Around the place, as far as this, one sees the bones. */
  radius: { value: number };
}

/** The skin's material; it hides what is behind it unless one is to see through. */
export function createSkinMaterial(seen: SeeThrough): MeshStandardMaterial {
  const material = new MeshStandardMaterial({
    vertexColors: true,
    transparent: true,
    roughness: 0.62,
  });
  return withPlace(
    material,
    seen,
    `float facing = abs(dot(normalize(normal), normalize(vViewPosition)));
float far = smoothstep(0.55 * seenRadius, seenRadius, distance(vSeenAt, seenPlace));
float clear = min(seenOpacity, mix(0.1, 1.0, far));
diffuseColor.a = clear > 0.99 ? 1.0 : mix(min(1.0, clear + 0.62), clear, smoothstep(0.0, 0.75, facing));`,
  );
}

/** The material of bones, which under a skin are seen around the place alone. */
export function createBoneMaterial(seen: SeeThrough): MeshStandardMaterial {
  const material = new MeshStandardMaterial({ vertexColors: true, roughness: 0.58 });
  return withPlace(
    material,
    seen,
    "if (seenOpacity > 0.99 && distance(vSeenAt, seenPlace) > seenRadius) discard;",
  );
}

/** Let a shader know where it is in the world, and do something with it before it is done. */
function withPlace(
  material: MeshStandardMaterial,
  seen: SeeThrough,
  last: string,
): MeshStandardMaterial {
  const shared = "varying vec3 vSeenAt;";
  const uniforms = "uniform float seenOpacity;\nuniform vec3 seenPlace;\nuniform float seenRadius;";
  material.customProgramCacheKey = () => last;
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, {
      seenOpacity: seen.opacity,
      seenPlace: seen.place,
      seenRadius: seen.radius,
    });
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", `#include <common>\n${shared}`)
      .replace(
        "#include <project_vertex>",
        "#include <project_vertex>\nvSeenAt = (modelMatrix * vec4(transformed, 1.0)).xyz;",
      );
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", `#include <common>\n${shared}\n${uniforms}`)
      .replace("#include <opaque_fragment>", `${last}\n#include <opaque_fragment>`);
  };
  return material;
}
