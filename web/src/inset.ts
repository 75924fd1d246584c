// The limit in the space of rotation vectors, with what the clip does and where the joint is now.

import {
  BackSide,
  Box3,
  BufferAttribute,
  BufferGeometry,
  Color,
  FrontSide,
  DirectionalLight,
  Group,
  HemisphereLight,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  MeshLambertMaterial,
  Points,
  PointsMaterial,
  Quaternion,
  Scene,
  Sphere,
  SphereGeometry,
  Vector3,
  WebGLRenderer,
} from "three";
import { steer, Turntable } from "./camera";
import { LEGAL, OUTSIDE, type Theme } from "./colours";
import { rotationVector } from "./quaternions";
import type { Region } from "./region";

const TURN = 2 * Math.PI;
const BLUE = "#2f6fc1";

export class Inset {
  private scene = new Scene();
  private table = new Turntable();
  private renderer: WebGLRenderer;
  private things = new Group();
  private now = new Mesh(new SphereGeometry(1, 16, 12), new MeshBasicMaterial());
  private region: Region | undefined;
  private middle = new Vector3();
  private framed = new Sphere(new Vector3(), 1);
  private asked = false;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    const light = new DirectionalLight("#ffffff", 2.4);
    light.position.set(2, 4, 3);
    this.scene.add(this.things, this.now, light, new HemisphereLight("#ffffff", "#777777", 1.2));
    this.table.flat = true;
    steer(canvas, this.table, () => this.draw());
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  /** Show a region, and the rotations of a joint in the frames of a clip. */
  show(region: Region, rotations: Quaternion[], theme: Theme): void {
    this.region = region;
    this.things.clear();
    const shape = new BufferGeometry();
    shape.setAttribute("position", new BufferAttribute(region.vectors, 3));
    shape.setIndex(new BufferAttribute(region.triangles, 1));
    shape.computeVertexNormals();
    for (const [side, opacity] of [
      [BackSide, 0.28],
      [FrontSide, 0.3],
    ] as const)
      this.things.add(
        new Mesh(
          shape,
          new MeshLambertMaterial({
            color: BLUE,
            side,
            transparent: true,
            opacity,
            depthWrite: false,
          }),
        ),
      );
    const bounds = new Box3().setFromBufferAttribute(
      shape.getAttribute("position") as BufferAttribute,
    );
    bounds.getCenter(this.middle);
    const seen = rotations.map((rotation) => this.vector(rotation));
    for (const point of seen) bounds.expandByPoint(point);
    const dots = new PointsMaterial({
      color: new Color(theme.ink),
      size: 2.5,
      sizeAttenuation: false,
      transparent: true,
      opacity: 0.5,
    });
    const { radius } = bounds.getBoundingSphere(this.framed);
    this.things.add(new Points(new BufferGeometry().setFromPoints(seen), dots), axes(radius, theme));
    this.now.scale.setScalar(0.035 * radius);
    this.reframe();
  }

  mark(rotation: Quaternion, outside: boolean): void {
    this.now.position.copy(this.vector(rotation));
    this.now.material.color.set(outside ? OUTSIDE : LEGAL);
    this.draw();
  }

  /** The rotation vector from the reference, in the cover that is nearer to the region. */
  private vector(rotation: Quaternion): Vector3 {
    const reference = this.region?.reference.clone().invert() ?? new Quaternion();
    const folded = rotationVector(reference.multiply(rotation));
    const angle = folded.length();
    if (angle < 1e-9) return folded;
    const other = folded.clone().multiplyScalar((angle - TURN) / angle);
    return other.distanceTo(this.middle) < folded.distanceTo(this.middle) ? other : folded;
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.table.resize(clientWidth / Math.max(clientHeight, 1) || 1);
    this.reframe();
  }

  private reframe(): void {
    this.table.frame(this.framed.center, this.framed.radius);
    this.draw();
  }

  private draw(): void {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.renderer.render(this.scene, this.table.camera);
    });
  }
}

/** Lines about x, y and z through the reference, with a mark every 30 degrees. */
function axes(radius: number, theme: Theme): LineSegments {
  const points: Vector3[] = [];
  const step = Math.PI / 6;
  const far = Math.max(step, Math.ceil(radius / step) * step);
  for (const [along, across] of [
    [new Vector3(1, 0, 0), new Vector3(0, 1, 0)],
    [new Vector3(0, 1, 0), new Vector3(1, 0, 0)],
    [new Vector3(0, 0, 1), new Vector3(0, 1, 0)],
  ] as const) {
    points.push(along.clone().multiplyScalar(-far), along.clone().multiplyScalar(far));
    for (let angle = -far; angle <= far + 1e-6; angle += step)
      for (const side of [-1, 1])
        points.push(
          along.clone().multiplyScalar(angle).addScaledVector(across, side * 0.02 * radius),
        );
  }
  const color = new Color(theme.ink);
  const material = new LineBasicMaterial({ color, transparent: true, opacity: 0.35 });
  return new LineSegments(new BufferGeometry().setFromPoints(points), material);
}
