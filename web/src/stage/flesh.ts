// The default human's meshes, bones and skin, attached to the joints of a skeleton.

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
import type { WorldPose } from "../pose/kinematics";
import type { BodyShape } from "../protocol";

/** Meshes whose vertices move with up to four segments of the default human. */
export interface HumanMeshes {
  bones: BufferGeometry;
  skin: BufferGeometry;
}

/** The default human's meshes as geometries. */
export function readHuman(shape: BodyShape): HumanMeshes {
  const geometry = (
    vertices: Float32Array,
    triangles: Uint32Array,
    segments: Uint32Array,
    weights: Uint32Array,
  ) => {
    const made = new BufferGeometry();
    made.setAttribute("position", new BufferAttribute(vertices, 3));
    made.setAttribute("skinIndex", new BufferAttribute(Uint8Array.from(segments), 4));
    made.setAttribute("skinWeight", new BufferAttribute(Uint8Array.from(weights), 4, true));
    made.setIndex(new BufferAttribute(triangles, 1));
    return made;
  };
  const { bonesVertices, bonesTriangles, bonesSegments, bonesWeights } = shape;
  const { skinVertices, skinTriangles, skinSegments, skinWeights } = shape;
  return {
    bones: geometry(bonesVertices, bonesTriangles, bonesSegments, bonesWeights),
    skin: geometry(skinVertices, skinTriangles, skinSegments, skinWeights),
  };
}

/** Return the part of a mesh whose first segments have a joint, with weights that sum to 1. */
function keepSegments(mesh: BufferGeometry, joints: number[]): BufferGeometry {
  const kept = new BufferGeometry();
  for (const [name, attribute] of Object.entries(mesh.attributes))
    kept.setAttribute(name, attribute);
  kept.setIndex(mesh.index);
  if (!joints.includes(-1)) return kept;
  const segments = mesh.getAttribute("skinIndex");
  const weights = new Float32Array(4 * segments.count);
  const isKept = (vertex: number) => (joints[segments.getX(vertex)] ?? -1) >= 0;
  for (let vertex = 0; vertex < segments.count; vertex++) {
    let sum = 0;
    for (let k = 0; k < 4; k++) {
      const known = (joints[segments.getComponent(vertex, k)] ?? -1) >= 0;
      const weight = known ? mesh.getAttribute("skinWeight").getComponent(vertex, k) : 0;
      weights[4 * vertex + k] = weight;
      sum += weight;
    }
    if (sum === 0) weights[4 * vertex] = sum = 1;
    for (let k = 4 * vertex; k < 4 * vertex + 4; k++) weights[k] = (weights[k] as number) / sum;
  }
  const corners = mesh.index?.array ?? [];
  const index: number[] = [];
  for (let i = 0; i < corners.length; i += 3) {
    const triangle = [...corners.slice(i, i + 3)];
    if (triangle.every(isKept)) index.push(...triangle);
  }
  kept.setAttribute("skinWeight", new BufferAttribute(weights, 4));
  kept.setIndex(index);
  return kept;
}

/** Bones or skin in the scene: one mesh, deformed by the graphics card. */
export class Flesh {
  readonly mesh: SkinnedMesh<BufferGeometry, MeshStandardMaterial>;
  /** The joint of each segment. */
  private joints: number[];
  private segments: Bone[];
  /** By vertex, the joint whose colour it has. */
  private owners: Uint16Array;
  private painted = "";
  private hidden = new Set<number>();

  constructor(
    mesh: BufferGeometry,
    { joints, offsets }: BodyShape,
    material: MeshStandardMaterial,
  ) {
    this.joints = joints;
    const geometry = keepSegments(mesh, joints);
    if (!mesh.hasAttribute("normal")) mesh.computeVertexNormals();
    geometry.setAttribute("normal", mesh.getAttribute("normal"));
    const { array: segments, count } = geometry.getAttribute("skinIndex");
    const { array: weights } = geometry.getAttribute("skinWeight");
    this.owners = new Uint16Array(count);
    for (let vertex = 0; vertex < count; vertex++) {
      let best = 4 * vertex;
      for (let k = best + 1; k < 4 * vertex + 4; k++)
        if ((weights[k] as number) > (weights[best] as number)) best = k;
      this.owners[vertex] = Math.max(joints[segments[best] as number] ?? 0, 0);
    }
    geometry.setAttribute("color", new BufferAttribute(new Uint8Array(3 * count), 3, true));
    this.segments = joints.map(() => {
      const segment = new Bone();
      segment.matrixAutoUpdate = false;
      segment.matrixWorldAutoUpdate = false;
      return segment;
    });
    const matrices = this.segments.map((_, segment) => {
      const rows = offsets.subarray(12 * segment, 12 * segment + 12);
      return new Matrix4().set(...([...rows, 0, 0, 0, 1] as Parameters<Matrix4["set"]>));
    });
    this.mesh = new SkinnedMesh(geometry, material);
    this.mesh.frustumCulled = false;
    this.mesh.boundingSphere = new Sphere(); // otherwise three.js deforms every vertex to find it
    this.mesh.bind(new ThreeSkeleton(this.segments, matrices), new Matrix4());
  }

  setPose({ positions, rotations }: WorldPose): void {
    this.segments.forEach((segment, number) => {
      const joint = this.joints[number] ?? -1;
      segment.matrixWorld.copy(worldMatrix(positions[joint] ?? new Vector3(), rotations[joint]));
      if (this.hidden.has(joint)) segment.matrixWorld.scale(new Vector3(0, 0, 0));
    });
  }

  /** Hide what moves with these joints, from the next pose on. */
  hide(joints: Set<number>): void {
    this.hidden = joints;
  }

  /** Colour what moves with each joint. */
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
