// The camera: three's OrbitControls as a turntable, with named views and a parallel projection.

import {
  MOUSE,
  OrthographicCamera,
  PerspectiveCamera,
  Quaternion,
  type Ray,
  Raycaster,
  Vector2,
  Vector3,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

const FIELD_DEG = 32; // vertical field of view
const POLE = 1e-3; // radians that the camera keeps from straight up and down, where yaw is undefined
const RADIANS_PER_HEIGHT = 4; // rotation by a drag over the height of the view
const ZOOM_SPEED = 2.9; // a notch of the wheel zooms by 16 %
/** The cosine of the largest angle to the camera at which a region is still seen well. */
const REGION_COSINE = 0.4;
/** Likewise of an axis of rotation, whose circles must not be seen edge-on. */
const AXIS_COSINE = 0.7;
/** Weight of the outward end of an axis against the end that is nearer to the camera. */
const OUTWARD_BIAS = 0.5;
const VIEWS = {
  Front: [0, 0],
  Back: [Math.PI, 0],
  Right: [-Math.PI / 2, 0],
  Left: [Math.PI / 2, 0],
  Top: [0, Math.PI / 2 - POLE],
  Bottom: [0, POLE - Math.PI / 2],
} as const;
export type ViewName = keyof typeof VIEWS;

/** An angle modulo 2π, from -π to π. */
const wrapAngle = (angle: number): number => Math.atan2(Math.sin(angle), Math.cos(angle));

export class Turntable {
  /** Decides whether a press of the pointer is for something else than the camera. */
  claims: (event: PointerEvent) => boolean = () => false;
  isParallel = false;
  /** Rotates a scene with y up to the world's up axis. */
  readonly upright = new Quaternion();
  private perspective = new PerspectiveCamera(FIELD_DEG, 1, 0.01, 1000);
  private parallel = new OrthographicCamera();
  private controls: OrbitControls;
  private isDragged = false;
  private aspect = 1;

  /** With z up, the front is towards -y, as in Blender. Without a canvas there is no mouse. */
  constructor(up: "y" | "z" = "y", canvas?: HTMLCanvasElement, onChange: () => void = () => {}) {
    this.upright.setFromAxisAngle(new Vector3(1, 0, 0), up === "z" ? Math.PI / 2 : 0);
    this.perspective.up.set(0, 1, 0).applyQuaternion(this.upright);
    // Before OrbitControls listens, so that this listener is called first.
    canvas?.addEventListener("pointerdown", (event) => this.prepareDrag(event), { capture: true });
    const controls = new OrbitControls(this.perspective, canvas ?? null);
    controls.minPolarAngle = POLE;
    controls.maxPolarAngle = Math.PI - POLE;
    controls.minDistance = 1e-3;
    controls.maxDistance = 1e6;
    controls.rotateSpeed = RADIANS_PER_HEIGHT / (2 * Math.PI);
    controls.zoomSpeed = ZOOM_SPEED;
    controls.addEventListener("start", () => {
      this.isDragged = true;
      controls.saveState();
    });
    controls.addEventListener("end", () => (this.isDragged = false));
    controls.addEventListener("change", () => {
      this.updateCameras();
      onChange();
    });
    this.controls = controls;
    this.place(0.55, 0.18, 5); // from the front, a little to the left and above
  }

  get camera(): PerspectiveCamera | OrthographicCamera {
    return this.isParallel ? this.parallel : this.perspective;
  }

  get target(): Vector3 {
    return this.controls.target;
  }

  /** The angle about the up axis, in radians; 0 is the front. */
  get yaw(): number {
    return this.controls.getAzimuthalAngle();
  }

  /** The angle above the ground, in radians. */
  get pitch(): number {
    return Math.PI / 2 - this.controls.getPolarAngle();
  }

  get distance(): number {
    return this.controls.getDistance();
  }

  /** The name of the present view, if it has one. */
  get viewName(): string {
    const isHere = ([yaw, pitch]: readonly [number, number]) =>
      Math.abs(wrapAngle(this.yaw - yaw)) < 1e-6 && Math.abs(this.pitch - pitch) < 1e-6;
    return (Object.keys(VIEWS) as ViewName[]).find((name) => isHere(VIEWS[name])) ?? "";
  }

  /** The height of the view in the world, at the target. */
  get height(): number {
    return 2 * this.distance * Math.tan((FIELD_DEG * Math.PI) / 360);
  }

  resize(aspect: number): void {
    this.aspect = aspect;
    this.updateCameras();
  }

  rotate(yaw: number, pitch: number): void {
    this.place(this.yaw + yaw, this.pitch + pitch);
  }

  /** Move the target and the camera by a vector of the world. */
  shift(offset: Vector3): void {
    this.target.add(offset);
    this.perspective.position.add(offset);
    this.update();
  }

  zoom(factor: number): void {
    this.place(this.yaw, this.pitch, this.distance * factor);
  }

  setView(name: ViewName): void {
    const [yaw, pitch] = VIEWS[name];
    this.place(yaw, pitch);
  }

  turnAround(): void {
    this.place(this.yaw + Math.PI, -this.pitch);
  }

  /** Place the camera at angles and a distance from a target. */
  restore(yaw: number, pitch: number, distance: number, target: Vector3): void {
    this.target.copy(target);
    this.place(yaw, pitch, distance);
  }

  /** Revert a drag of the camera; return whether there was one. */
  cancel(): boolean {
    if (!this.isDragged) return false;
    this.isDragged = false;
    this.controls.reset();
    return true;
  }

  /**
   * Rotate about the up axis by as little as brings a direction of the world towards the camera.
   * Named views, and directions that are nearly up or down, are left as they are.
   */
  bringToFront(direction: Vector3, cosine = REGION_COSINE): void {
    const { x, y, z } = direction.clone().applyQuaternion(this.upright.clone().invert());
    const across = Math.cos(this.pitch) * Math.hypot(x, z);
    if (this.viewName || across < 0.2) return;
    const least = (cosine - Math.sin(this.pitch) * y) / across;
    const most = Math.acos(Math.min(Math.max(least, -1), 1));
    const off = wrapAngle(this.yaw - Math.atan2(x, z));
    if (Math.abs(off) > most) this.rotate(Math.sign(off) * most - off, 0);
  }

  /**
   * Likewise for an axis of rotation: from the nearer of its ends, or, where both are as near, from
   * the one that points outwards.
   */
  bringToSide(axis: Vector3, outwards: Vector3): void {
    const towards = this.offset(this.yaw, this.pitch);
    towards.addScaledVector(outwards, OUTWARD_BIAS / (outwards.length() || 1));
    this.bringToFront(axis.clone().multiplyScalar(axis.dot(towards) < 0 ? -1 : 1), AXIS_COSINE);
  }

  /** Show a sphere from edge to edge. */
  frame(center: Vector3, radius: number): void {
    const { yaw, pitch } = this;
    this.target.copy(center);
    const narrow = Math.min(this.aspect, 1);
    this.place(yaw, pitch, (1.04 * radius) / Math.sin((FIELD_DEG * Math.PI) / 360) / narrow);
  }

  /** The unit vector from the target to a camera at these angles. */
  private offset(yaw: number, pitch: number): Vector3 {
    const polar = Math.min(Math.max(Math.PI / 2 - pitch, POLE), Math.PI - POLE);
    return new Vector3().setFromSphericalCoords(1, polar, yaw).applyQuaternion(this.upright);
  }

  private place(yaw: number, pitch: number, distance = this.distance): void {
    const offset = this.offset(yaw, pitch).multiplyScalar(distance);
    this.perspective.position.copy(this.target).add(offset);
    this.update();
  }

  private update(): void {
    this.controls.update();
    this.updateCameras();
  }

  /** Let OrbitControls take the drag, unless something else claims it; with Ctrl it zooms. */
  private prepareDrag(event: PointerEvent): void {
    if (event.button === 1) event.preventDefault(); // browsers would scroll
    this.controls.enabled = !this.claims(event);
    const left = event.ctrlKey ? MOUSE.DOLLY : MOUSE.ROTATE;
    this.controls.mouseButtons = { LEFT: left, MIDDLE: MOUSE.ROTATE, RIGHT: MOUSE.PAN };
    for (const end of ["pointerup", "pointercancel"])
      addEventListener(end, () => (this.controls.enabled = true), { once: true });
  }

  private updateCameras(): void {
    const { perspective, parallel, aspect, distance } = this;
    const half = 0.5 * this.height;
    const sides = { top: half, bottom: -half, left: -half * aspect, right: half * aspect };
    Object.assign(parallel, { ...sides, near: -100 * distance, far: 100 * distance });
    Object.assign(perspective, { aspect, near: distance / 200, far: distance * 100 });
    parallel.position.copy(perspective.position);
    parallel.quaternion.copy(perspective.quaternion);
    for (const camera of [perspective, parallel]) {
      camera.updateProjectionMatrix();
      camera.updateMatrixWorld();
    }
  }
}

/** The canvas of the view, in pixels. */
export class Screen {
  constructor(
    readonly canvas: HTMLCanvasElement,
    private turntable: Turntable,
  ) {}

  /** The pixel of a point of the world. */
  toPixels(point: Vector3): Vector2 {
    const { x, y } = point.clone().project(this.turntable.camera);
    const { clientWidth, clientHeight } = this.canvas;
    return new Vector2(0.5 * (1 + x) * clientWidth, 0.5 * (1 - y) * clientHeight);
  }

  /** The pixel of the mouse. */
  mousePosition(event: MouseEvent): Vector2 {
    const { left, top } = this.canvas.getBoundingClientRect();
    return new Vector2(event.clientX - left, event.clientY - top);
  }

  /** The ray into the scene through a pixel. */
  rayAt({ x, y }: Vector2): Ray {
    const { clientWidth, clientHeight } = this.canvas;
    const caster = new Raycaster();
    const screen = new Vector2((2 * x) / clientWidth - 1, 1 - (2 * y) / clientHeight);
    caster.setFromCamera(screen, this.turntable.camera);
    return caster.ray;
  }
}
