import { Quaternion, Vector3 } from "three";
import { expect, test } from "vitest";
import { clampedPose } from "../src/clip";
import {
  forwardKinematics,
  limbJoints,
  measuredRotation,
  quaternionAt,
  rotationVector,
  vectorAt,
} from "../src/pose/kinematics";
import { listBones, restPose } from "../src/stage/body";
import { clip, turn, wFirst, X, Y, Z } from "./samples";

test("quaternions are w first in arrays", () => {
  const quaternion = quaternionAt([9, 9, 9, 9, 0.5, 0.1, 0.2, 0.3], 1);
  expect(wFirst(quaternion)).toEqual([0.5, 0.1, 0.2, 0.3]);
  expect(vectorAt([0, 0, 0, 1, 2, 3], 1)).toEqual(new Vector3(1, 2, 3));
});

test.each([0, 1e-9, 30, 179])("a turn by %d degrees is as long as its rotation vector", (angle) => {
  const vector = rotationVector(turn(Y, angle));
  expect(vector.length()).toBeCloseTo((angle * Math.PI) / 180, 9);
  if (angle > 1) expect(vector.normalize().distanceTo(Y)).toBeCloseTo(0);
});

test("q and -q have the same rotation vector, at most half a turn long", () => {
  const { w, x, y, z } = turn(X, 100);
  const other = rotationVector(new Quaternion(-x, -y, -z, -w));
  expect(other.distanceTo(rotationVector(turn(X, 100)))).toBeCloseTo(0);
  expect(rotationVector(turn(X, 270)).x).toBeCloseTo(-Math.PI / 2);
});

test("forward kinematics stacks offsets and turns", () => {
  const { skeleton, pose } = clip();
  const { positions, rotations } = forwardKinematics(skeleton, pose(1));
  expect(positions[0]).toEqual(new Vector3(0, 1, 2));
  expect(positions[2]?.distanceTo(new Vector3(0.2, 1.5, 2))).toBeCloseTo(0);
  // The arm is turned by 90 degrees about z: the hand is above it.
  expect(positions[3]?.distanceTo(new Vector3(0.2, 1.8, 2))).toBeCloseTo(0);
  expect(rotations[3]?.angleTo(turn(Z, 90))).toBeCloseTo(0);
});

test("a joint's rotation is measured from its parent, or from a joint above it", () => {
  const { skeleton, rotations } = clip();
  const measured = (from: number, frame: number) =>
    measuredRotation(skeleton, from, rotations, 3, frame);
  expect(measured(2, 1).angleTo(new Quaternion())).toBeCloseTo(0);
  expect(measured(1, 1).angleTo(turn(Z, 90))).toBeCloseTo(0);
  expect(measured(1, 0).angleTo(new Quaternion())).toBeCloseTo(0);
});

test("a limb goes up to where something else of size hangs", () => {
  const { skeleton } = clip();
  expect(limbJoints(skeleton, 5)).toEqual(["leg", "foot"]);
  expect(limbJoints(skeleton, 3)).toEqual(["spine", "arm", "hand"]);
  expect(limbJoints(skeleton, 0)).toEqual([]);
});

test("a clip's pose has the positions that change, and offsets for the others", () => {
  const { pose, skeleton } = clip();
  expect([...pose(1).positions.subarray(0, 6)]).toEqual([0, 1, 2, 0, 0.5, 0]);
  expect(skeleton.offsets[2]).toBe(0); // it is a copy
  expect(skeleton.children).toEqual([[1, 4], [2], [3], [], [5], []]);
});

test("a clamped pose differs in the joints that were changed", () => {
  const shown = clip();
  const clamped = Float32Array.from([1, 0, 0, 0, ...wFirst(turn(Z, 45))]);
  const pose = clampedPose({ changed: [2], leftDeg: 1.5, clamped }, shown, 1);
  expect(quaternionAt(pose.rotations, 2).angleTo(turn(Z, 45))).toBeCloseTo(0);
  expect(quaternionAt(shown.pose(1).rotations, 2).angleTo(turn(Z, 90))).toBeCloseTo(0);
});

test("bones go to children and to ends, unless they have no length", () => {
  const { skeleton } = clip();
  skeleton.offsets.fill(0, 3, 6); // the spine is where the root is
  const bones = listBones(skeleton).map(({ owner, child }) => [owner, child]);
  expect(bones).toEqual([
    [1, 2],
    [2, 3],
    [0, 4],
    [4, 5],
    [3, undefined],
  ]);
});

test("a root above a whole human has no bones", () => {
  const { skeleton } = clip();
  skeleton.parents = [-1, 0, 1, 2, 1, 4]; // all hang on the spine, which is on the root
  skeleton.groups = ["", "Spine", "Left arm", "Left arm", "Right arm", "Right arm"];
  const owners = listBones(skeleton).map(({ owner }) => owner);
  expect(owners).toContain(1);
  expect(owners).not.toContain(0);
});

test("at rest no joint is turned", () => {
  const { skeleton } = clip();
  const rest = restPose(skeleton);
  expect(forwardKinematics(skeleton, rest).positions[3]?.x).toBeCloseTo(0.5);
});
