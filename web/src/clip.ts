// What Python opens the page with: a skeleton in motion, and which of its joints have limits.

import type { Answer } from "./socket";

export interface Control {
  name: string;
  low: number;
  high: number;
  neutral: number;
  unit: string;
}

export interface Skeleton {
  names: string[];
  parents: number[];
  /** By joint, the one that its limit is measured from: the parent, or a joint above it. */
  measuredFrom: number[];
  children: number[][];
  offsets: Float32Array;
  endParents: number[];
  endOffsets: Float32Array;
}

/** Rotations (w, x, y, z) and positions of all joints, each as its parent sees it. */
export interface Pose {
  rotations: Float32Array;
  positions: Float32Array;
}

export interface Clip {
  name: string;
  skeleton: Skeleton;
  frames: number;
  frameTime: number;
  notes: string[];
  limited: number[];
  controls: Control[];
  rotations: Float32Array;
  pose(frame: number): Pose;
}

export function clipOf({ header, arrays }: Answer): Clip {
  const names = header["names"] as string[];
  const parents = header["parents"] as number[];
  const moving = header["moving"] as number[];
  const offsets = arrays["offsets"] as Float32Array;
  const rotations = arrays["rotations"] as Float32Array;
  const places = arrays["positions"] as Float32Array;
  const children: number[][] = names.map(() => []);
  parents.forEach((parent, joint) => children[parent]?.push(joint));
  return {
    name: header["clip"] as string,
    skeleton: {
      names,
      parents,
      measuredFrom: header["measuredFrom"] as number[],
      children,
      offsets,
      endParents: header["endParents"] as number[],
      endOffsets: arrays["endOffsets"] as Float32Array,
    },
    frames: header["frames"] as number,
    frameTime: header["frameTime"] as number,
    notes: header["notes"] as string[],
    limited: header["limited"] as number[],
    controls: header["controls"] as Control[],
    rotations,
    pose(frame) {
      const positions = offsets.slice();
      moving.forEach((joint, place) => {
        const start = 3 * (frame * moving.length + place);
        positions.set(places.subarray(start, start + 3), 3 * joint);
      });
      const start = 4 * names.length * frame;
      return { rotations: rotations.slice(start, start + 4 * names.length), positions };
    },
  };
}

/** How far joints are outside over time, and what clamping makes of the clip. */
export interface Check {
  /** Degrees by frame and limited joint. */
  outsideDeg: Float32Array;
  clampedPose(frame: number): Pose;
  changes: boolean;
  /** How far the clamped clip is outside at most. */
  leftDeg: number;
}

export function checkOf({ header, arrays }: Answer, clip: Clip): Check {
  const changed = header["changed"] as number[];
  const clamped = arrays["clamped"] as Float32Array;
  return {
    outsideDeg: arrays["outsideDeg"] as Float32Array,
    changes: changed.length > 0,
    leftDeg: header["leftDeg"] as number,
    clampedPose(frame) {
      const pose = clip.pose(frame);
      changed.forEach((joint, place) => {
        const start = 4 * (frame * changed.length + place);
        pose.rotations.set(clamped.subarray(start, start + 4), 4 * joint);
      });
      return pose;
    },
  };
}
