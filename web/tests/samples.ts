// Small skeletons, clips and pictures to test on.

import { Quaternion, Vector3 } from "three";
import { type Clip, clipFrom } from "../src/clip";
import type { Opening, Picture } from "../src/protocol";

export const X = new Vector3(1, 0, 0);
export const Y = new Vector3(0, 1, 0);
export const Z = new Vector3(0, 0, 1);

export function turn(axis: Vector3, degrees: number): Quaternion {
  return new Quaternion().setFromAxisAngle(axis, (degrees * Math.PI) / 180);
}

export function wFirst({ w, x, y, z }: Quaternion): number[] {
  return [w, x, y, z];
}

/** A spine with an arm and a leg; the second frame has the arm turned and the root moved. */
export const OPENING: Opening = {
  clip: "wave",
  names: ["root", "spine", "arm", "hand", "leg", "foot"],
  parents: [-1, 0, 1, 2, 0, 4],
  endParents: [3],
  partners: [-1, -1, -1, -1, -1, -1],
  groups: ["", "", "", "", "", ""],
  commonNames: ["", "", "", "", "", ""],
  frames: 2,
  frameTime: 0.5,
  invented: false,
  start: null,
  notes: [],
  moving: [0],
  controls: [],
  suffixes: [],
  up: "y",
  looker: null,
  lookAxis: "z",
  state: {
    limited: [2, 4],
    grouped: [],
    measuredFrom: [-1, 0, 1, 2, 0, 4],
    drivers: [],
    undo: null,
    redo: null,
    file: null,
    unsaved: false,
    twoVerdicts: false,
    scene: 0,
    leftover: null,
    evidence: 1,
  },
  offsets: Float32Array.of(0, 1, 0, 0, 0.5, 0, 0.2, 0, 0, 0.3, 0, 0, 0, -0.4, 0, 0, -0.4, 0),
  endOffsets: Float32Array.of(0.1, 0, 0),
  rotations: Float32Array.from([0, 1].flatMap((frame) => frameRotations(frame))),
  positions: Float32Array.of(0, 1, 0, 0, 1, 2),
};

function frameRotations(frame: number): number[] {
  return [0, 1, 2, 3, 4, 5].flatMap((joint) =>
    frame === 1 && joint === 2 ? wFirst(turn(Z, 90)) : [1, 0, 0, 0],
  );
}

export function clip(): Clip {
  return clipFrom(structuredClone(OPENING));
}

/** A cone about z whose four corners are so many degrees away, as Python sends it. */
export function conePicture(awayDeg = 30, cones = 1): Picture {
  const away = (awayDeg * Math.PI) / 180;
  const [near, far] = [Math.cos(away), Math.sin(away)];
  const corners = [far, 0, near, 0, far, near, -far, 0, near, 0, -far, near];
  const each = (values: number[]) => Array.from({ length: cones }, () => values).flat();
  return {
    label: "Reach cone",
    family: "reach-cone",
    chart: "direction-twist",
    sculptable: false,
    share: 0.1,
    reference: [1, 0, 0, 0],
    axis: [0, 0, 1],
    numbers: [],
    hinge: null,
    corners: Float32Array.from(each(corners)),
    cornersTwistDeg: Float32Array.from(each([-10, 10, -20, 20, -30, 30, -40, 40])),
    cornerCounts: Uint32Array.from(each([4])),
    visible: Float32Array.from(each([0, 0, 1])),
    visibleTwistDeg: Float32Array.from(each([-45, 45])),
    directions: Float32Array.from(corners),
    faces: Uint32Array.of(0, 1, 2, 0, 2, 3),
    rim: Uint32Array.of(0, 1, 1, 2, 2, 3, 3, 0),
    twistDeg: Float32Array.of(20, 40, 60, 80),
    vectors: new Float32Array(),
    triangles: new Uint32Array(),
  };
}
