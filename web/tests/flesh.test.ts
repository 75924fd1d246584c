// Surfaces as they are sent: a walk over triangles, and steps from where it guesses points.

import { BufferAttribute, BufferGeometry, SphereGeometry } from "three";
import { expect, test } from "vitest";
import { MeshReader, vertexNormals } from "../src/stage/mesh";

/** Low bytes of x, y and z, then the high ones. */
const bytes = (x: number[], y: number[], z: number[]) =>
  Uint8Array.from([...x, ...y, ...z, ...new Array(3 * x.length).fill(0)]);

test("a tetrahedron is three vertices, a new one, and two that are known", () => {
  const reader = new MeshReader({
    codes: Uint8Array.of(0, 0, 0, 0, 2, 1),
    others: new Uint16Array(),
    points: bytes([0, 2, 1, 0], [0, 0, 2, 0], [0, 0, 0, 2]),
  });
  const { corners, points } = reader.read(4, 4, 0.5);
  const triangles = Array.from({ length: 4 }, (_, k) => [...corners.slice(3 * k, 3 * k + 3)]);
  const sorted = triangles.map((each) => [...each].sort().join("")).sort();
  expect(sorted).toEqual(["012", "013", "023", "123"]);
  // 2 is one step on, 1 one back; the last is guessed at 0 + 2 - 1.
  expect([...points]).toEqual([0, 0, 0, 0.5, 0, 0, 0, 0.5, 0, -0.5, 0.5, 0.5]);
});

test("meshes follow each other, and edges may have no triangle", () => {
  const none = 4;
  const reader = new MeshReader({
    codes: Uint8Array.of(0, 0, 0, none, none, none, 0, 0, 0, none, none, none),
    others: new Uint16Array(),
    points: bytes([0, 2, 0, 4, 0, 0], [0, 0, 2, 0, 0, 0], [0, 0, 0, 0, 0, 6]),
  });
  expect([...reader.read(3, 1, 1).points]).toEqual([0, 0, 0, 1, 0, 0, 1, 1, 0]);
  const { corners, points } = reader.read(3, 1, 1);
  expect([...corners]).toEqual([0, 1, 2]);
  expect([...points]).toEqual([2, 0, 0, 2, 0, 0, 2, 0, 3]);
});

test("normals are those of three.js", () => {
  const ball = new SphereGeometry(2, 9, 7);
  const positions = ball.getAttribute("position").array as Float32Array;
  const indices = Uint32Array.from(ball.getIndex()?.array ?? []);
  const shape = new BufferGeometry().setAttribute("position", new BufferAttribute(positions, 3));
  shape.setIndex(new BufferAttribute(indices, 1)).computeVertexNormals();
  const theirs = shape.getAttribute("normal").array;
  vertexNormals(positions, indices).forEach((each, at) => {
    expect(each).toBeCloseTo(theirs[at] as number, 5);
  });
});
