// What Python opens the page with: a skeleton in motion, and which of its joints have limits.

import type { Clamping, Control, Opening, Start, State } from "./protocol";

export interface Skeleton {
  names: string[];
  parents: number[];
  /** By joint, the one that its limit is measured from: the parent, or a joint above it. */
  measuredFrom: number[];
  /** By joint, its partner on the other side; -1 where there is none. */
  partners: number[];
  /** By joint, what part of a human it belongs to; an empty word for none. */
  groups: string[];
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
  /** Whether nobody performed the first frame. */
  invented: boolean;
  /** The pose to open with, of a figure that is shown without a clip. */
  start: Start | null;
  notes: string[];
  limited: number[];
  controls: Control[];
  /** Whether the root goes about, as in a capture. */
  rootMoves: boolean;
  /** The axis of the world that is up. */
  up: "y" | "z";
  /** The joint that looks, if one is called so, and along which of its axes. */
  looker: string | null;
  lookAxis: string;
  rotations: Float32Array;
  /** What can be undone, and where the limits are saved, when the page was opened. */
  state: State;
  pose(frame: number): Pose;
  /** Whether a joint has a limit of its own, which can be drawn. */
  hasRegion(joint: number | undefined): joint is number;
}

export function clipFrom(opening: Opening): Clip {
  const { names, parents, moving, offsets, rotations } = opening;
  const children: number[][] = names.map(() => []);
  for (const [joint, parent] of parents.entries()) children[parent]?.push(joint);
  return {
    name: opening.clip,
    skeleton: {
      names,
      parents,
      measuredFrom: opening.measuredFrom,
      partners: opening.partners,
      groups: opening.groups,
      children,
      offsets,
      endParents: opening.endParents,
      endOffsets: opening.endOffsets,
    },
    frames: opening.frames,
    frameTime: opening.frameTime,
    invented: opening.invented,
    start: opening.start,
    notes: opening.notes,
    limited: opening.limited,
    controls: opening.controls,
    rootMoves: moving.includes(0),
    up: opening.up,
    looker: opening.looker,
    lookAxis: opening.lookAxis,
    rotations,
    state: opening,
    hasRegion(joint): joint is number {
      if (joint === undefined || !this.limited.includes(joint)) return false;
      return !this.state.grouped.includes(joint);
    },
    pose(frame) {
      const positions = offsets.slice();
      moving.forEach((joint, place) => {
        const start = 3 * (frame * moving.length + place);
        positions.set(opening.positions.subarray(start, start + 3), 3 * joint);
      });
      const start = 4 * names.length * frame;
      return { rotations: rotations.slice(start, start + 4 * names.length), positions };
    },
  };
}

/** What clamping makes of the clip. */
export interface Clamped {
  pose(frame: number): Pose;
  /** How far the clamped clip is outside at most. */
  leftDeg: number;
}

export function clampedFrom({ changed, clamped, leftDeg }: Clamping, clip: Clip): Clamped {
  return {
    leftDeg,
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
