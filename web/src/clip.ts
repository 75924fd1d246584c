// What Python opens the page with: a skeleton in motion, and which of its joints have limits.

import type { Answer } from "./connection";

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
  /** By joint, its partner on the other side; -1 where there is none. */
  partners: number[];
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
  /** The axis of the world that is up. */
  up: "y" | "z";
  /** The joint that looks, if one is called so, and along which of its axes. */
  looker: string | null;
  lookAxis: string;
  rotations: Float32Array;
  /** What can be undone, and where the limits are saved, when the page was opened. */
  state: Record<string, unknown>;
  pose(frame: number): Pose;
}

export function clipFrom({ header, arrays }: Answer): Clip {
  const names = header.names as string[];
  const parents = header.parents as number[];
  const moving = header.moving as number[];
  const offsets = arrays.offsets as Float32Array;
  const rotations = arrays.rotations as Float32Array;
  const places = arrays.positions as Float32Array;
  const children: number[][] = names.map(() => []);
  for (const [joint, parent] of parents.entries()) children[parent]?.push(joint);
  return {
    name: header.clip as string,
    skeleton: {
      names,
      parents,
      measuredFrom: header.measuredFrom as number[],
      partners: header.partners as number[],
      children,
      offsets,
      endParents: header.endParents as number[],
      endOffsets: arrays.endOffsets as Float32Array,
    },
    frames: header.frames as number,
    frameTime: header.frameTime as number,
    notes: header.notes as string[],
    limited: header.limited as number[],
    controls: header.controls as Control[],
    up: header.up as "y" | "z",
    looker: header.looker as string | null,
    lookAxis: header.lookAxis as string,
    rotations,
    state: header,
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

/** Degrees by which joints are outside, by frame and limited joint. */
export const outsideOf = ({ arrays }: Answer): Float32Array => arrays.outsideDeg as Float32Array;

/** What clamping makes of the clip. */
export interface Clamped {
  pose(frame: number): Pose;
  /** How far the clamped clip is outside at most. */
  leftDeg: number;
}

export function clampedFrom({ header, arrays }: Answer, clip: Clip): Clamped {
  const changed = header.changed as number[];
  const clamped = arrays.clamped as Float32Array;
  return {
    leftDeg: header.leftDeg as number,
    pose(frame) {
      const pose = clip.pose(frame);
      changed.forEach((joint, place) => {
        const start = 4 * (frame * changed.length + place);
        pose.rotations.set(clamped.subarray(start, start + 4), 4 * joint);
      });
      return pose;
    },
  };
}
