// The mesh of a file follows the joints of the clip exactly, and has the tints of its joints.

import {
  Bone,
  BufferAttribute,
  BufferGeometry,
  Euler,
  Group,
  Matrix4,
  Mesh,
  MeshStandardMaterial,
  Quaternion,
  Skeleton,
  SkinnedMesh,
  Vector3,
} from "three";
import { expect, test } from "vitest";
import { OwnMesh } from "../src/stage/mesh";

/** A scaled and rotated armature with two bones, a skin, and a rigid hat on the second. */
function character() {
  const root = new Group();
  const armature = new Group();
  armature.scale.setScalar(0.01);
  armature.quaternion.setFromEuler(new Euler(-Math.PI / 2, 0, 0));
  const [hip, arm] = [new Bone(), new Bone()];
  hip.position.set(0, 5, 90);
  hip.quaternion.setFromEuler(new Euler(1.2, 0.1, 0.3));
  arm.position.set(2, 30, 1);
  arm.quaternion.setFromEuler(new Euler(0.2, -0.6, 0.4));
  const hat = new Mesh(new BufferGeometry(), new MeshStandardMaterial());
  hat.position.set(0, 7, 0);
  arm.add(hat);
  hip.add(arm);
  armature.add(hip);
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(9), 3));
  geometry.setAttribute("skinIndex", new BufferAttribute(new Uint16Array(12), 4));
  geometry.setAttribute("skinWeight", new BufferAttribute(new Float32Array(12).fill(0.25), 4));
  const skin = new SkinnedMesh(geometry, new MeshStandardMaterial());
  root.add(armature, skin);
  root.updateMatrixWorld(true);
  skin.bind(new Skeleton([hip, arm]), new Matrix4());
  return { root, hip, arm, hat };
}

const near = (found: Matrix4, wanted: Matrix4) =>
  found.elements.forEach((value, k) => {
    expect(value).toBeCloseTo(wanted.elements[k] as number, 9);
  });

test("joints that turn take their nodes and what hangs on these with them", () => {
  const { root, hip, arm, hat } = character();
  const rest = [hip, arm].map((node) => new Vector3().setFromMatrixPosition(node.matrixWorld));
  const before = hat.matrixWorld.clone();
  const joints = new Map([
    [hip, 0],
    [arm, 1],
  ]);
  const mesh = new OwnMesh(root, joints);
  mesh.setPose({ positions: rest, rotations: rest.map(() => new Quaternion()) });
  near(hat.matrixWorld, before);
  // As a rigid motion of the world moves it.
  const turn = new Quaternion().setFromEuler(new Euler(0.7, -0.4, 1.1));
  const positions = rest.map((place) => place.clone().add(new Vector3(0.1, 0.2, -0.3)));
  mesh.setPose({ positions, rotations: [new Quaternion(), turn] });
  const moved = new Matrix4()
    .makeTranslation(positions[1] as Vector3)
    .multiply(new Matrix4().makeRotationFromQuaternion(turn))
    .multiply(new Matrix4().makeTranslation((rest[1] as Vector3).clone().negate()));
  near(hat.matrixWorld, moved.multiply(before));
});

test("a joint that stands out tints the bones and the parts that move with it", () => {
  const { root, hip, arm, hat } = character();
  const joints = new Map([
    [hip, 0],
    [arm, 1],
  ]);
  const mesh = new OwnMesh(root, joints);
  mesh.paint([undefined, { colour: "#ff0000", strength: 0.5 }]);
  const shader = {
    uniforms: {} as Record<string, { value: unknown }>,
    vertexShader: "",
    fragmentShader: "",
  };
  const tintsOf = (object: Mesh) => {
    const material = object.material as MeshStandardMaterial;
    material.onBeforeCompile(shader as never, undefined as never);
    const tints = shader.uniforms.tints as { value: { image: { data: Float32Array } } };
    return [...tints.value.image.data];
  };
  expect(tintsOf(hat)).toEqual([0.5, 0, 0, 0.5]);
  expect(tintsOf(root.children[1] as Mesh)).toEqual([0, 0, 0, 0, 0.5, 0, 0, 0.5]);
});
