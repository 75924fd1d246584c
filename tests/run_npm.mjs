// As tests/runtime/answers.c: node run_npm.mjs index.js limits rotations out
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , index, file, given, out] = process.argv;
const { loadLimits } = await import(pathToFileURL(index));
const limits = await loadLimits(readFileSync(file));
const rotations = new Float64Array(new Uint8Array(readFileSync(given)).buffer);
const count = rotations.length / 4;
const numbers = [];
for (const joint of limits.limited) {
  const projected = limits.projectMany(joint, rotations);
  const [distances, exits] = [[], []];
  for (let k = 0; k < count; k++) {
    const one = rotations.subarray(4 * k, 4 * k + 4);
    const alone = limits.project(joint, one);
    const apart = Math.max(...alone.map((number, i) => Math.abs(number - projected[4 * k + i])));
    if (apart > 1e-12) throw new Error(`${joint}: one by one ${alone}`);
    distances.push(limits.distance(joint, one));
    if (limits.contains(joint, one) !== distances[k] <= 1e-9) throw new Error(`${joint}: contains`);
    const before = 4 * Math.max(k - 1, 0);
    exits.push(limits.firstExit(joint, projected.subarray(before, before + 4), one));
  }
  // One by one: a call takes some 100,000 arguments, not more.
  for (const found of [projected, distances, exits]) found.forEach((number) => numbers.push(number));
}
for (let k = 0; k < 8; k++) {
  const length = 4 * limits.joints.length;
  const pose = Float64Array.from({ length }, (_, j) => rotations[(length * k + j) % rotations.length]);
  limits.projectPose(pose);
  numbers.push(...pose);
}
for (const joint of limits.limited) {
  for (let k = 0; k < 8; k++) {
    numbers.push(...limits.soften(joint, rotations.subarray(4 * k, 4 * k + 4), 0.2, 0.7));
  }
}
for (let k = 0; k < 8; k++) {
  const target = [1.0, 0.25 * k, 0.5];
  const pose = Float64Array.from({ length: 4 * limits.joints.length }, (_, j) => Number(j % 4 === 0));
  const [first, last, end] = [1, limits.joints.length - 1, 2 + (k % 3)].map((j) => limits.joints[j]);
  numbers.push(limits.lookAt(pose, first, last, target), ...pose);
  for (let j = 0; j < pose.length; j++) pose[j] = Number(j % 4 === 0);
  const near = [0.03, 0.02, -0.01 * k];
  for (let j = 2 + (k % 3); j >= 0; j = limits.parents[j]) {
    limits.offsets[j].forEach((offset, i) => (near[i] += offset));
  }
  const options = { point: [0.1, 0, 0], pole: k % 2 ? [0, 1, 0] : undefined };
  numbers.push(limits.twoBone(pose, end, near, options), ...pose);
}
writeFileSync(out, new Uint8Array(Float64Array.from(numbers).buffer));
