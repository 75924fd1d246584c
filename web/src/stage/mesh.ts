// The mesh of the clip's own file, on the joints of the clip, tinted where a joint stands out.

import {
  Box3,
  Color,
  DataTexture,
  FloatType,
  type Group,
  type Material,
  type Matrix4,
  Mesh,
  MeshStandardMaterial,
  type Object3D,
  RGBAFormat,
  SkinnedMesh,
  Vector3,
} from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import type { WorldPose } from "../pose/kinematics";
import type { OwnMesh as MeshFile } from "../protocol";

const MAX_METALNESS = 0.3; // metal mirrors its surroundings, and there are none

/** The colour of a joint's skin, and how much of it covers the file's own, from 0 to 1. */
export interface Tint {
  colour: string;
  strength: number;
}

/** Read the file; undefined if nothing in it can be drawn. */
export async function readMesh(file: MeshFile): Promise<OwnMesh | undefined> {
  const { scene, parser } = await new GLTFLoader().parseAsync(file.content.slice().buffer, "");
  const jointOf = new Map(file.nodes.map((node, joint) => [node, joint]));
  const joints = new Map<Object3D, number>();
  scene.traverse((object) => {
    const node = parser.associations.get(object)?.nodes;
    const joint = jointOf.get(node ?? -1);
    // A mesh inside a node may have the same number as the node.
    if (joint !== undefined && parser.associations.get(object.parent as Object3D)?.nodes !== node)
      joints.set(object, joint);
  });
  const mesh = new OwnMesh(scene, joints);
  return mesh.isEmpty ? undefined : mesh;
}

export class OwnMesh {
  /** By joint, from its frame in the clip to its node in the file, without its position. */
  private linears = new Map<Object3D, Matrix4>();
  private meshes: { tints: DataTexture; joints: number[] }[] = [];

  constructor(
    readonly root: Group,
    private joints: Map<Object3D, number>,
  ) {
    root.updateMatrixWorld(true);
    for (const object of joints.keys())
      this.linears.set(object, object.matrixWorld.clone().setPosition(0, 0, 0));
    root.traverse((object) => {
      object.matrixAutoUpdate = object.matrixWorldAutoUpdate = false;
      if (object instanceof Mesh) this.prepare(object);
    });
  }

  /** The coordinate of its lowest vertex along the world's up axis. */
  lowest(up: "y" | "z"): number {
    return new Box3().setFromObject(this.root, true).min[up];
  }

  get isEmpty(): boolean {
    return !this.meshes.length;
  }

  /** Give a mesh a material of its own, whose colour is mixed with the tints of its joints. */
  private prepare(mesh: Mesh): void {
    mesh.frustumCulled = false;
    mesh.castShadow = true;
    const joints =
      mesh instanceof SkinnedMesh
        ? mesh.skeleton.bones.map((bone) => this.joints.get(bone) ?? -1)
        : [this.jointAbove(mesh)];
    const tints = new DataTexture(
      new Float32Array(4 * joints.length),
      joints.length,
      1,
      RGBAFormat,
      FloatType,
    );
    this.meshes.push({ tints, joints });
    const own = (material: Material) => tintedMaterial(material.clone(), tints);
    mesh.material = Array.isArray(mesh.material) ? mesh.material.map(own) : own(mesh.material);
  }

  private jointAbove(object: Object3D | null): number {
    for (let above = object; above; above = above.parent) {
      const joint = this.joints.get(above);
      if (joint !== undefined) return joint;
    }
    return -1;
  }

  setPose({ positions, rotations }: WorldPose): void {
    const unit = new Vector3(1, 1, 1);
    this.root.traverse((object) => {
      const joint = this.joints.get(object) ?? -1;
      const [position, rotation] = [positions[joint], rotations[joint]];
      const linear = this.linears.get(object);
      if (position && rotation && linear)
        object.matrixWorld.compose(position, rotation, unit).multiply(linear);
      else if (object.parent && object !== this.root)
        object.matrixWorld.multiplyMatrices(object.parent.matrixWorld, object.matrix);
      if (object instanceof SkinnedMesh) object.bindMatrixInverse.copy(object.matrixWorld).invert();
    });
  }

  paint(tints: (Tint | undefined)[]): void {
    for (const { tints: texture, joints } of this.meshes) {
      const data = texture.image.data as Float32Array;
      data.fill(0);
      joints.forEach((joint, bone) => {
        const tint = tints[joint];
        if (!tint) return;
        const { r, g, b } = new Color(tint.colour).multiplyScalar(tint.strength);
        data.set([r, g, b, tint.strength], 4 * bone);
      });
      texture.needsUpdate = true;
    }
  }
}

/** Mix the tints of the bones that move a vertex into a material's own colour. */
function tintedMaterial(material: Material, tints: DataTexture): Material {
  if (material instanceof MeshStandardMaterial)
    material.metalness = Math.min(material.metalness, MAX_METALNESS);
  material.onBeforeCompile = (shader) => {
    shader.uniforms.tints = { value: tints };
    shader.vertexShader = shader.vertexShader
      .replace(
        "#include <common>",
        "#include <common>\nuniform sampler2D tints;\nvarying vec4 vTint;",
      )
      .replace(
        "#include <begin_vertex>",
        `#include <begin_vertex>
#ifdef USE_SKINNING
vTint = vec4(0.0);
for (int k = 0; k < 4; k++)
  vTint += skinWeight[k] * texelFetch(tints, ivec2(int(skinIndex[k]), 0), 0);
#else
vTint = texelFetch(tints, ivec2(0, 0), 0);
#endif`,
      );
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", "#include <common>\nvarying vec4 vTint;")
      .replace(
        "#include <color_fragment>",
        "#include <color_fragment>\ndiffuseColor.rgb = diffuseColor.rgb * (1.0 - vTint.a) + vTint.rgb;",
      );
  };
  return material;
}
