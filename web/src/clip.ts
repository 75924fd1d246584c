// The clip that Python opens the page with: a skeleton and its motion.

import type { Clamping, Control, Opening, Start } from "./protocol";

export interface Skeleton {
  names: string[];
  parents: number[];
  /** By joint, its partner on the other side; -1 for none. */
  partners: number[];
  /** By joint, its group in a human, such as "Left arm"; empty for none. */
  groups: string[];
  /** By joint, its common name, such as "left knee"; "" for none. */
  commonNames: string[];
  children: number[][];
  offsets: Float32Array;
  endParents: number[];
  endOffsets: Float32Array;
}

/** Rotations (w, x, y, z) and positions of all joints, relative to their parents. */
export interface Pose {
  rotations: Float32Array;
  positions: Float32Array;
}

export interface Clip {
  name: string;
  skeleton: Skeleton;
  frames: number;
  /** Seconds from frame to frame. */
  frameTime: number;
  /** True if the first frame was not captured, such as a T-pose. */
  invented: boolean;
  /** The pose to open a figure with that has no clip. */
  start: Start | null;
  notes: string[];
  controls: Control[];
  /** Ends of the names of files that can be opened. */
  suffixes: string[];
  /** True if the root translates, as in a capture. */
  rootMoves: boolean;
  /** The world's axis that points up. */
  up: "y" | "z";
  /** The name of the joint that looks, and along which of its axes. */
  looker: string | null;
  lookAxis: string;
  /** Rotations of all frames. */
  rotations: Float32Array;
  pose(frame: number): Pose;
}

export function clipFrom(opening: Opening): Clip {
  const { names, parents, moving, offsets, rotations } = opening;
  const { partners, groups, commonNames, endParents, endOffsets } = opening;
  const { frames, frameTime, invented, start, notes, controls, suffixes } = opening;
  const { up, looker, lookAxis } = opening;
  const children: number[][] = names.map(() => []);
  for (const [joint, parent] of parents.entries()) children[parent]?.push(joint);
  const skeleton = {
    names,
    parents,
    partners,
    groups,
    commonNames,
    children,
    offsets,
    endParents,
    endOffsets,
  };
  return {
    ...{ name: opening.clip, skeleton, rootMoves: moving.includes(0), rotations },
    ...{ frames, frameTime, invented, start, notes, controls, suffixes, up, looker, lookAxis },
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

/** The clip's pose at `frame`, with the rotations that clamping changes. */
export function clampedPose({ changed, clamped }: Clamping, clip: Clip, frame: number): Pose {
  const pose = clip.pose(frame);
  changed.forEach((joint, index) => {
    const start = 4 * (frame * changed.length + index);
    pose.rotations.set(clamped.subarray(start, start + 4), 4 * joint);
  });
  return pose;
}
