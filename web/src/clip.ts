// The clip that Python opens the page with: a skeleton and its motion.

import type { Clamping, Opening } from "./protocol";

export interface Skeleton
  extends Pick<
    Opening,
    | "names"
    | "parents"
    | "partners"
    | "groups"
    | "commonNames"
    | "offsets"
    | "endParents"
    | "endOffsets"
  > {
  children: number[][];
}

/** Rotations (w, x, y, z) and positions of all joints, flat, relative to their parents. */
export interface Pose {
  rotations: Float32Array;
  positions: Float32Array;
}

export interface Clip extends Omit<Opening, "clip" | "state" | "positions" | keyof Skeleton> {
  name: string;
  skeleton: Skeleton;
  /** True if the root translates, as in a capture. */
  rootMoves: boolean;
  pose(frame: number): Pose;
}

/** The clip of an opening message; `pose` returns copies. */
export function clipFrom(opening: Opening): Clip {
  const { names, parents, moving, offsets, rotations } = opening;
  const children: number[][] = names.map(() => []);
  for (const [joint, parent] of parents.entries()) children[parent]?.push(joint);
  return {
    ...opening,
    name: opening.clip,
    skeleton: { ...opening, children },
    rootMoves: moving.includes(0),
    pose(frame) {
      const positions = offsets.slice();
      moving.forEach((joint, index) => {
        const start = 3 * (frame * moving.length + index);
        positions.set(opening.positions.subarray(start, start + 3), 3 * joint);
      });
      const start = 4 * names.length * frame;
      return { rotations: rotations.slice(start, start + 4 * names.length), positions };
    },
  };
}

/** The pose of a clip at `frame` after clamping. */
export function clampedPose({ changed, clamped }: Clamping, clip: Clip, frame: number): Pose {
  const pose = clip.pose(frame);
  changed.forEach((joint, index) => {
    const start = 4 * (frame * changed.length + index);
    pose.rotations.set(clamped.subarray(start, start + 4), 4 * joint);
  });
  return pose;
}
