import { type Material, type Mesh, Quaternion, Vector2, Vector3 } from "three";
import { expect, test } from "vitest";
import { Screen, Turntable, type ViewName } from "../src/stage/camera";
import { outsideColour, THEMES, twistColour } from "../src/stage/colours";
import { placeLabels } from "../src/stage/labels";
import { MapSphere } from "../src/stage/rangemap";
import { regionFrom } from "../src/stage/region";
import { JointSphere } from "../src/stage/sphere";
import { conePicture, turn, X } from "./samples";

function table(up: "y" | "z" = "y"): Turntable {
  const made = new Turntable(up);
  made.resize(1.5);
  return made;
}

/** Which way the camera looks. */
const facing = (turntable: Turntable) => turntable.camera.getWorldDirection(new Vector3());

test.each([
  ["Front", 0, 0, -1],
  ["Back", 0, 0, 1],
  ["Right", 1, 0, 0],
  ["Left", -1, 0, 0],
  ["Top", 0, -1, 0],
])("the view from %s looks to (%d, %d, %d)", (name, x, y, z) => {
  const turntable = table();
  turntable.setView(name as ViewName);
  expect(facing(turntable).distanceTo(new Vector3(x, y, z))).toBeLessThan(2e-3);
  expect(turntable.viewName).toBe(name);
});

test("with z up the front is towards -y", () => {
  const turntable = table("z");
  turntable.setView("Front");
  expect(facing(turntable).distanceTo(new Vector3(0, 1, 0))).toBeCloseTo(0);
});

test("a turn ends over the pole, and forgets the view's name", () => {
  const turntable = table();
  turntable.setView("Front");
  turntable.rotate(0.1, 100);
  expect(turntable.pitch).toBeLessThan(Math.PI / 2);
  expect(turntable.viewName).toBe("");
});

test("the opposite side is seen twice where one began", () => {
  const turntable = table();
  const before = facing(turntable);
  turntable.turnAround();
  expect(facing(turntable).add(before).length()).toBeCloseTo(0);
  turntable.turnAround();
  expect(facing(turntable).distanceTo(before)).toBeCloseTo(0);
});

test("what is framed is seen from edge to edge", () => {
  const turntable = table();
  turntable.frame(new Vector3(1, 2, 3), 0.5);
  expect(turntable.height).toBeGreaterThan(1);
  expect(turntable.height).toBeLessThan(1.2);
  const middle = new Vector3(1, 2, 3).project(turntable.camera);
  expect(Math.hypot(middle.x, middle.y)).toBeCloseTo(0);
});

test("zooming stays within bounds", () => {
  const turntable = table();
  turntable.zoom(1e-12);
  expect(turntable.distance).toBeCloseTo(1e-3);
  turntable.zoom(1e12);
  expect(turntable.distance / 1e6).toBeCloseTo(1);
});

test.each([false, true])("a point and the ray under its pixel meet (parallel: %s)", (parallel) => {
  const turntable = table();
  turntable.isParallel = parallel;
  const canvas = { clientWidth: 600, clientHeight: 400 } as HTMLCanvasElement;
  const screen = new Screen(canvas, turntable);
  const point = new Vector3(0.3, -0.2, 0.4);
  expect(screen.rayAt(screen.toPixels(point)).distanceToPoint(point)).toBeCloseTo(0);
  expect(screen.toPixels(turntable.target).distanceTo(new Vector2(300, 200))).toBeCloseTo(0);
});

test("colours run from one end to the other, and stop there", () => {
  expect(twistColour(0).getHexString()).toBe("232c7a");
  expect(twistColour(1).getHexString()).toBe("ffd93b");
  expect(twistColour(2)).toEqual(twistColour(1));
  expect(outsideColour(-1)).toEqual(outsideColour(0));
  expect(outsideColour(0.25).getHexString()).toBe("f4a259");
});

test("both themes have the same colours to give", () => {
  expect(Object.keys(THEMES.dark)).toEqual(Object.keys(THEMES.light));
});

test.each([
  ["is in front already", 0.3, 0.3],
  ["is behind, a little to the left", Math.PI - 0.2, undefined],
])("a region that %s is brought to the front by the least turn", (_, way, yaw) => {
  const turntable = table();
  turntable.rotate(0.3 - turntable.yaw, -turntable.pitch);
  const region = new Vector3(Math.sin(way), 0, Math.cos(way));
  turntable.bringToFront(region);
  expect(-facing(turntable).dot(region)).toBeGreaterThan(0.4 - 1e-6);
  if (yaw !== undefined) expect(turntable.yaw).toBeCloseTo(yaw);
  else expect(turntable.yaw).toBeCloseTo(way - Math.acos(0.4));
});

test.each([
  ["edge-on comes from outside", 0.01, 1],
  ["nearer to its other end stays there", -0.9, -1],
])("a hinge that is seen %s", (_, yaw, side) => {
  const turntable = table();
  turntable.rotate(yaw - turntable.yaw, -turntable.pitch);
  const [axis, outwards] = [new Vector3(-1, 0, 0), new Vector3(0.3, 0.5, 0)];
  turntable.bringToSide(axis, outwards);
  expect(-facing(turntable).x * side).toBeGreaterThan(0.7 - 1e-6);
});

test("a view that was asked for by name stays", () => {
  const turntable = table();
  turntable.setView("Back");
  turntable.bringToFront(new Vector3(0, 0, 1));
  expect(turntable.viewName).toBe("Back");
});

test("a map gives back all that it takes on the graphics card", () => {
  const map = {
    driver: "Hip",
    twists: false,
    reference: [1, 0, 0, 0],
    axis: [0, -1, 0],
    directions: new Float32Array([1, 0, 0, 0, 1, 0, 0, 0, 1]),
    faces: new Uint32Array([0, 1, 2]),
    rim: new Float32Array([1, 0, 0, 0, 1, 0]),
    valuesDeg: new Float32Array([10, 20, 30]),
  };
  const sphere = new MapSphere(map, map.valuesDeg, [10, 30], 1, THEMES.light);
  sphere.setPose(new Vector3(), new Quaternion(), new Quaternion());
  let disposed = 0;
  const parts = sphere.group.children as Mesh[];
  for (const part of parts)
    for (const thing of [part.geometry, part.material as Material])
      thing.addEventListener("dispose", () => disposed++);
  sphere.dispose();
  expect(parts.length).toBeGreaterThan(3);
  expect(disposed).toBe(2 * parts.length);
});

test("a sphere gives back all that it, and what is drawn on it, takes on the graphics card", () => {
  const sphere = new JointSphere(regionFrom(conePicture()), 1, THEMES.light);
  sphere.showPathBack(turn(X, 60), turn(X, 30), new Vector3(0, 0, 1));
  const left = new Set<object>();
  sphere.group.traverse((part) => {
    const { geometry, material } = part as Partial<Mesh>;
    for (const each of [geometry, material as Material | undefined]) {
      if (!each) continue;
      left.add(each);
      each.addEventListener("dispose", () => left.delete(each));
    }
  });
  expect(left.size).toBeGreaterThan(15);
  sphere.dispose();
  expect(left.size).toBe(0);
});

const VIEW = { width: 600, height: 400 };
const label = (x: number, y: number, side?: number) => ({ x, y, width: 100, height: 16, side });

test("labels cover neither each other nor dots, and stay in the view", () => {
  const joints = [
    [300, 200],
    [305, 204],
    [350, 198],
    [590, 395],
    [3, 2],
  ] as const;
  const labels = joints.map(([x, y]) => label(x, y));
  const dots = joints.map(([x, y]) => ({ x, y, weight: 10 }));
  const places = placeLabels(labels, dots, VIEW);
  places.forEach(({ x, y }, number) => {
    expect(x).toBeGreaterThanOrEqual(0);
    expect(y).toBeGreaterThanOrEqual(0);
    expect(x + 100).toBeLessThanOrEqual(VIEW.width);
    expect(y + 16).toBeLessThanOrEqual(VIEW.height);
    for (const dot of dots)
      expect(dot.x > x && dot.x < x + 100 && dot.y > y && dot.y < y + 16).toBe(false);
    for (const other of places.slice(0, number))
      expect(Math.abs(other.x - x) < 100 && Math.abs(other.y - y) < 16).toBe(false);
  });
});

test("a label stays where it was while that is as good", () => {
  const [before] = placeLabels([label(300, 200)], [{ x: 340, y: 200, weight: 10 }], VIEW);
  const [after] = placeLabels([label(300, 200, before?.side)], [], VIEW);
  expect(after?.side).toBe(before?.side);
});
