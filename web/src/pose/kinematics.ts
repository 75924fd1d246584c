// Just enough of rotations for forward kinematics: three.js quaternions, from w-first arrays.

import { Quaternion, Vector3 } from "three";
import type { Pose, Skeleton } from "../clip";

export function quaternionAt(values: ArrayLike<number>, joint: number): Quaternion {
  const i = 4 * joint;
  return new Quaternion(values[i + 1], values[i + 2], values[i + 3], values[i]);
}

export function vectorAt(values: ArrayLike<number>, joint: number): Vector3 {
  return new Vector3(values[3 * joint], values[3 * joint + 1], values[3 * joint + 2]);
}

/** The rotation vector of a rotation, at most half a turn long. */
export function rotationVector(turn: Quaternion): Vector3 {
  const sign = turn.w < 0 ? -1 : 1;
  const axis = new Vector3(turn.x, turn.y, turn.z).multiplyScalar(sign);
  const sine = axis.length();
  return sine < 1e-12 ? axis : axis.multiplyScalar((2 * Math.atan2(sine, sign * turn.w)) / sine);
}

/** A joint's rotation as the one sees it that its limit is measured from, in frame `frame`. */
export function measuredRotation(
  { names, parents, measuredFrom }: Skeleton,
  rotations: ArrayLike<number>,
  joint: number,
  frame = 0,
): Quaternion {
  const first = frame * names.length;
  const turn = quaternionAt(rotations, first + joint);
  let above = parents[joint] ?? -1;
  while (above >= 0 && above !== measuredFrom[joint]) {
    turn.premultiply(quaternionAt(rotations, first + above));
    above = parents[above] ?? -1;
  }
  return turn;
}

/** Where the joints are in the world. */
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
    const above = rotations[parent];
    const from = positions[parent];
    if (above && from) {
      position.applyQuaternion(above).add(from);
      rotation.premultiply(above);
    }
    positions.push(position);
    rotations.push(rotation);
  });
  return { positions, rotations };
}

/** The joints from a limb's root to one of its joints: as far up as nothing else of size hangs. */
export function limbJoints({ names, parents, children }: Skeleton, joint: number): string[] {
  const count = (root: number): number =>
    1 + (children[root] ?? []).reduce((sum, child) => sum + count(child), 0);
  const chain: string[] = [];
  for (let at = joint; (parents[at] ?? -1) >= 0; at = parents[at] as number) {
    chain.unshift(names[at] as string);
    const beside = (children[parents[at] as number] ?? []).filter((child) => child !== at);
    if (beside.some((child) => count(child) > 1)) break;
  }
  return chain;
}
