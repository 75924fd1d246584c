// Forward kinematics with three.js quaternions, from arrays that have w first.

import { Quaternion, Vector3 } from "three";
import type { Pose, Skeleton } from "../clip";

export function quaternionAt(values: ArrayLike<number>, joint: number): Quaternion {
  const i = 4 * joint;
  return new Quaternion(values[i + 1], values[i + 2], values[i + 3], values[i]);
}

export const wFirst = ({ w, x, y, z }: Quaternion): number[] => [w, x, y, z];

export function vectorAt(values: ArrayLike<number>, joint: number): Vector3 {
  return new Vector3(values[3 * joint], values[3 * joint + 1], values[3 * joint + 2]);
}

/** A pose between two others, at a share of the way. */
export function blendPoses(from: Pose, to: Pose, share: number): Pose {
  const rotations = new Float32Array(to.rotations.length);
  const positions = to.positions.map((value, i) => {
    const start = from.positions[i] as number;
    return start + share * (value - start);
  });
  for (let joint = 0; joint < rotations.length / 4; joint++) {
    const end = quaternionAt(to.rotations, joint);
    rotations.set(wFirst(quaternionAt(from.rotations, joint).slerp(end, share)), 4 * joint);
  }
  return { rotations, positions };
}

/** The rotation vector of a rotation, at most π long. */
export function rotationVector(rotation: Quaternion): Vector3 {
  const sign = rotation.w < 0 ? -1 : 1;
  const axis = new Vector3(rotation.x, rotation.y, rotation.z).multiplyScalar(sign);
  const sine = axis.length();
  return sine < 1e-12
    ? axis
    : axis.multiplyScalar((2 * Math.atan2(sine, sign * rotation.w)) / sine);
}

/** A joint's rotation relative to its ancestor `from`, in frame `frame` of `rotations`. */
export function measuredRotation(
  { names, parents }: Skeleton,
  from: number,
  rotations: ArrayLike<number>,
  joint: number,
  frame = 0,
): Quaternion {
  const first = frame * names.length;
  const rotation = quaternionAt(rotations, first + joint);
  let ancestor = parents[joint] ?? -1;
  while (ancestor >= 0 && ancestor !== from) {
    rotation.premultiply(quaternionAt(rotations, first + ancestor));
    ancestor = parents[ancestor] ?? -1;
  }
  return rotation;
}

/** Positions and rotations of the joints in the world. */
export interface WorldPose {
  positions: Vector3[];
  rotations: Quaternion[];
}

export function forwardKinematics(skeleton: Skeleton, pose: Pose): WorldPose {
  const positions: Vector3[] = [];
  const rotations: Quaternion[] = [];
  skeleton.parents.forEach((parent, joint) => {
    const position = vectorAt(pose.positions, joint);
    const rotation = quaternionAt(pose.rotations, joint);
    const [parentRotation, parentPosition] = [rotations[parent], positions[parent]];
    if (parentRotation && parentPosition) {
      position.applyQuaternion(parentRotation).add(parentPosition);
      rotation.premultiply(parentRotation);
    }
    positions.push(position);
    rotations.push(rotation);
  });
  return { positions, rotations };
}

/** Names from a limb's root to `joint`: up to the first ancestor with another branch of joints. */
export function limbJoints({ names, parents, children }: Skeleton, joint: number): string[] {
  const count = (root: number): number =>
    1 + (children[root] ?? []).reduce((sum, child) => sum + count(child), 0);
  const chain: string[] = [];
  for (let at = joint; (parents[at] ?? -1) >= 0; at = parents[at] as number) {
    chain.unshift(names[at] as string);
    const siblings = (children[parents[at] as number] ?? []).filter((child) => child !== at);
    if (siblings.some((child) => count(child) > 1)) break;
  }
  return chain;
}
