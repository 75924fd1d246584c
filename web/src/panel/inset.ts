// The limit in the space of rotation vectors, with observed rotations and the current one.

import { effect, untracked } from "@preact/signals";
import {
  BackSide,
  Box3,
  BufferAttribute,
  BufferGeometry,
  Color,
  DirectionalLight,
  FrontSide,
  Group,
  HemisphereLight,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  MeshLambertMaterial,
  Quaternion,
  Raycaster,
  Scene,
  Sphere,
  SphereGeometry,
  Vector2,
  Vector3,
  type WebGLRenderer,
} from "three";
import { whenIdle } from "../browser";
import type { Brush } from "../edit/brush";
import { rotationVector } from "../pose/kinematics";
import { Turntable } from "../stage/camera";
import { LEGAL, OUTSIDE, type Theme } from "../stage/colours";
import { type Sample, SampleDots } from "../stage/dots";
import type { Region } from "../stage/region";
import { createRenderer } from "../stage/renderer";
import type { Store } from "../store";
import type { Evidence } from "./evidence";

const FULL_TURN = 2 * Math.PI;
const BLUE = "#2f6fc1";
const BRUSH = "#e8890c";
const [BACK, FRONT] = [0.28, 0.3]; // opacity of a limit's sides
const PALE = 0.3; // factor of the opacity around the region that is legal now

export class Inset {
  readonly dots = new SampleDots(4);
  private scene = new Scene();
  private turntable: Turntable;
  /** Created for the first region: a second WebGL context takes long to set up. */
  private renderer: WebGLRenderer | undefined;
  private contents = new Group();
  /** The surface of the currently legal region, if the limit depends on another joint. */
  private inner = new Group();
  private marker = new Mesh(new SphereGeometry(1, 16, 12), new MeshBasicMaterial());
  private region: Region | undefined;
  private middle = new Vector3();
  private framed = new Sphere(new Vector3(), 1);
  private isDrawRequested = false;
  private surface: Surface | undefined;
  private joint: number | undefined;
  private brushBall = new Mesh(
    new SphereGeometry(1, 32, 20),
    new MeshBasicMaterial({ color: BRUSH, transparent: true, opacity: 0.25, depthWrite: false }),
  );
  private isBrushing = false;

  constructor(
    private canvas: HTMLCanvasElement,
    private store: Store,
    evidence: Evidence,
    private brush: Brush,
  ) {
    const light = new DirectionalLight("#ffffff", 2.4);
    light.position.set(2, 4, 3);
    const sky = new HemisphereLight("#ffffff", "#777777", 1.2);
    const center = new SphereGeometry(0.02, 12, 8);
    this.brushBall.add(new Mesh(center, new MeshBasicMaterial({ color: BRUSH })));
    this.brushBall.visible = false;
    this.scene.add(this.contents, this.inner, this.marker, this.brushBall, light, sky);
    this.turntable = new Turntable("y", canvas, () => this.draw());
    this.turntable.isParallel = true;
    this.turntable.claims = (event) => this.beginStroke(event);
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => this.isBrushing || this.showBrush(undefined));
    for (const end of ["pointerup", "pointercancel"])
      canvas.addEventListener(end, () => this.endStroke());
    new ResizeObserver(() => this.resize()).observe(canvas);
    effect(() => {
      const observations = evidence.observations.value;
      const joint = store.picked.peek();
      if (store.region.value && joint !== undefined && observations?.joint === joint)
        this.show(store.region.value, evidence.shown.value, joint);
    });
    effect(() => this.showHere(store.regionHere.value));
    effect(() => this.followPose());
    effect(() => {
      if (store.mode.value !== "edit") this.showBrush(undefined);
    });
  }

  get camera() {
    return this.turntable.camera;
  }

  /** True if the brush can edit the surface. */
  get isSculpting(): boolean {
    return this.region?.sculptable === true && this.store.mode.peek() === "edit";
  }

  /** Revert the stroke or the camera's drag in progress; return true if there was one. */
  cancel(): boolean {
    if (!this.isBrushing) return this.turntable.cancel();
    this.isBrushing = false;
    this.brush.cancel();
    return true;
  }

  private beginStroke(event: PointerEvent): boolean {
    const canBrush = event.button === 0 && !event.ctrlKey && this.isSculpting;
    const point = canBrush ? this.hitSurface(event) : undefined;
    if (!point) return false;
    this.canvas.setPointerCapture(event.pointerId);
    this.isBrushing = true;
    this.brush.press(point, event.shiftKey);
    this.showBrush(point);
    return true;
  }

  private hover(event: PointerEvent): void {
    if (!this.isSculpting || (event.buttons && !this.isBrushing)) return;
    const point = this.hitSurface(event);
    this.showBrush(point);
    if (this.isBrushing && point) this.brush.touch(point);
  }

  private endStroke(): void {
    if (!this.isBrushing) return;
    this.isBrushing = false;
    this.brush.lift();
  }

  /** Show the brush at a point of the surface, or hide it. */
  private showBrush(at: Vector3 | undefined): void {
    if (!at && !this.brushBall.visible) return;
    this.brushBall.visible = at !== undefined;
    this.canvas.classList.toggle("brushing", this.brushBall.visible);
    if (at) this.brushBall.position.copy(at);
    this.brushBall.scale.setScalar(this.brush.radius);
    this.draw();
  }

  /** The point of the surface under the mouse, a rotation vector; undefined without one. */
  private hitSurface({ offsetX, offsetY }: PointerEvent): Vector3 | undefined {
    if (!this.surface) return undefined;
    const { clientWidth, clientHeight } = this.canvas;
    const screen = new Vector2((2 * offsetX) / clientWidth - 1, 1 - (2 * offsetY) / clientHeight);
    const ray = new Raycaster();
    ray.setFromCamera(screen, this.turntable.camera);
    return ray.intersectObject(this.surface, false)[0]?.point;
  }

  /** Show a region and observed rotations; the camera moves only for another joint. */
  private show(region: Region, samples: Sample[], joint: number): void {
    const { theme } = this.store;
    this.region = region;
    for (const thing of this.contents.children) (thing as Mesh).geometry.dispose();
    this.contents.clear();
    const sides = createSurface(region);
    this.surface = sides[1]; // the front, which the brush touches
    this.contents.add(...sides);
    this.updateOpacity();
    const bounds = new Box3().setFromBufferAttribute(
      this.surface.geometry.getAttribute("position") as BufferAttribute,
    );
    bounds.getCenter(this.middle);
    const positionOf = (rotation: Quaternion) => this.nearestVector(rotation);
    const points = this.dots.show(samples, positionOf, theme.value.ink);
    for (const point of points) bounds.expandByPoint(point);
    const around = bounds.getBoundingSphere(new Sphere());
    const { radius } = around;
    this.contents.add(this.dots.points, createAxes(radius, theme.value));
    this.marker.scale.setScalar(0.035 * radius);
    untracked(() => this.followPose());
    if (this.joint !== joint) {
      this.joint = joint;
      this.framed = around;
      this.reframe();
      this.includeMarker();
    } else this.draw();
  }

  /** Show the currently legal region of a limit that depends on another joint. */
  private showHere(region: Region | undefined): void {
    for (const thing of this.inner.children) (thing as Surface).geometry.dispose();
    this.inner.clear();
    if (region) this.inner.add(...createSurface(region));
    this.updateOpacity();
    this.draw();
  }

  /** Draw the limit paler if the currently legal region is shown as well. */
  private updateOpacity(): void {
    const share = this.inner.children.length ? PALE : 1;
    for (const thing of this.contents.children)
      if (thing instanceof Mesh && thing.material instanceof MeshLambertMaterial)
        thing.material.opacity = share * (thing.material.side === BackSide ? BACK : FRONT);
  }

  private followPose(): void {
    const { store, marker } = this;
    if (store.picked.value === undefined) return;
    marker.position.copy(this.nearestVector(store.measuredRotation()));
    marker.material.color.set(store.pickedOutsideDeg.value > 0 ? OUTSIDE : LEGAL);
    this.includeMarker();
    this.draw();
  }

  /** Enlarge the view if necessary to show the current rotation. */
  private includeMarker(): void {
    const away = this.marker.position.distanceTo(this.framed.center);
    if (!this.region || away <= this.framed.radius) return;
    this.framed.radius = 1.05 * away;
    this.reframe();
  }

  /** The rotation vector from the reference; of its two forms, the one nearer to the region. */
  private nearestVector(rotation: Quaternion): Vector3 {
    const reference = this.region?.reference.clone().invert() ?? new Quaternion();
    const folded = rotationVector(reference.multiply(rotation));
    const angle = folded.length();
    if (angle < 1e-9) return folded;
    const other = folded.clone().multiplyScalar((angle - FULL_TURN) / angle);
    return other.distanceTo(this.middle) < folded.distanceTo(this.middle) ? other : folded;
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    this.renderer?.setSize(clientWidth, clientHeight, false);
    this.turntable.resize(clientWidth / Math.max(clientHeight, 1) || 1);
    this.reframe();
  }

  private reframe(): void {
    this.turntable.frame(this.framed.center, this.framed.radius);
    this.draw();
  }

  private createRenderer(): WebGLRenderer | undefined {
    const { canvas } = this;
    const renderer = createRenderer(canvas);
    renderer?.setSize(canvas.clientWidth, canvas.clientHeight, false);
    return renderer;
  }

  private draw(): void {
    if (this.isDrawRequested || !this.region) return;
    this.isDrawRequested = true;
    void (this.renderer ? Promise.resolve() : whenIdle()).then(() =>
      requestAnimationFrame(() => {
        this.isDrawRequested = false;
        this.renderer ??= this.createRenderer();
        this.renderer?.render(this.scene, this.turntable.camera);
      }),
    );
  }
}

type Surface = Mesh<BufferGeometry, MeshLambertMaterial>;

/** Meshes of the boundary of a region: its back faces, and its front faces. */
function createSurface({ vectors, triangles }: Region): [Surface, Surface] {
  const shape = new BufferGeometry();
  shape.setAttribute("position", new BufferAttribute(vectors, 3));
  shape.setIndex(new BufferAttribute(triangles, 1));
  shape.computeVertexNormals();
  const create = (side: typeof BackSide | typeof FrontSide, opacity: number): Surface => {
    const look = { color: BLUE, side, transparent: true, opacity, depthWrite: false };
    return new Mesh(shape, new MeshLambertMaterial(look));
  };
  return [create(BackSide, BACK), create(FrontSide, FRONT)];
}

/** Lines along x, y and z through the reference, with a mark every 30 degrees. */
function createAxes(radius: number, theme: Theme): LineSegments {
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
          along
            .clone()
            .multiplyScalar(angle)
            .addScaledVector(across, side * 0.02 * radius),
        );
  }
  const color = new Color(theme.ink);
  const material = new LineBasicMaterial({ color, transparent: true, opacity: 0.35 });
  return new LineSegments(new BufferGeometry().setFromPoints(points), material);
}
