// Turntable, as in Blender: middle (or left) drag turns, with Shift it pans, the wheel zooms.

import {
  OrthographicCamera,
  PerspectiveCamera,
  Quaternion,
  type Ray,
  Raycaster,
  Vector2,
  Vector3,
} from "three";

const FIELD_DEG = 32;
const UPRIGHT = Math.PI / 2 - 1e-3;
/** The cosine of how far from our own direction one still sees well what faces that way. */
const TOWARDS_US = 0.4;
/** Likewise of an axis, about which something turns. */
const ON_AXIS = 0.7;
/** How much more the end of an axis that is outwards counts than the one that is nearer. */
const SIDE_BIAS = 0.5;
const VIEWS: Record<string, [yaw: number, pitch: number]> = {
  Front: [0, 0],
  Back: [Math.PI, 0],
  Right: [-Math.PI / 2, 0],
  Left: [Math.PI / 2, 0],
  Top: [0, UPRIGHT],
  Bottom: [0, -UPRIGHT],
};

export class Turntable {
  readonly perspective = new PerspectiveCamera(FIELD_DEG, 1, 0.01, 1000);
  readonly parallel = new OrthographicCamera();
  target = new Vector3();
  distance = 5;
  yaw = 0.55;
  pitch = 0.18;
  isParallel = false;
  viewName = "";
  /** Turns what is built with y up to how the world stands. */
  readonly upright = new Quaternion();
  private aspect = 1;

  get camera(): PerspectiveCamera | OrthographicCamera {
    return this.isParallel ? this.parallel : this.perspective;
  }

  /** Let an axis of the world be up: with z, the front is towards -y, as in Blender. */
  setUp(up: "y" | "z"): void {
    this.upright.setFromAxisAngle(new Vector3(1, 0, 0), up === "z" ? Math.PI / 2 : 0);
    for (const camera of [this.perspective, this.parallel])
      camera.up.set(0, 1, 0).applyQuaternion(this.upright);
  }

  resize(aspect: number): void {
    this.aspect = aspect;
    this.updateCameras();
  }

  turn(yaw: number, pitch: number): void {
    this.yaw += yaw;
    this.pitch = Math.min(Math.max(this.pitch + pitch, -UPRIGHT), UPRIGHT);
    this.viewName = "";
    this.updateCameras();
  }

  /** How much of the world is seen from top to bottom, where the target is. */
  get height(): number {
    return 2 * this.distance * Math.tan((FIELD_DEG * Math.PI) / 360);
  }

  /** Move by shares of the view's height. */
  pan(right: number, up: number): void {
    const { camera, height } = this;
    this.target.addScaledVector(
      new Vector3().setFromMatrixColumn(camera.matrix, 0),
      -right * height,
    );
    this.target.addScaledVector(new Vector3().setFromMatrixColumn(camera.matrix, 1), up * height);
    this.updateCameras();
  }

  /** Go by a way in the world. */
  shift(way: Vector3): void {
    this.target.add(way);
    this.updateCameras();
  }

  zoom(factor: number): void {
    this.distance = Math.min(Math.max(this.distance * factor, 1e-3), 1e6);
    this.updateCameras();
  }

  setView(name: string): void {
    const [yaw, pitch] = VIEWS[name] ?? [this.yaw, this.pitch];
    this.yaw = yaw;
    this.pitch = pitch;
    this.viewName = name;
    this.updateCameras();
  }

  /** Remember how one looks; what comes back restores it. */
  keepView(): () => void {
    const { yaw, pitch, distance, viewName } = this;
    const target = this.target.clone();
    return () => {
      Object.assign(this, { yaw, pitch, distance, viewName, target });
      this.updateCameras();
    };
  }

  turnAround(): void {
    this.turn(Math.PI, -2 * this.pitch);
  }

  /**
   * Turn just so far about what is up that a way of the world comes towards us, not away from us;
   * not at all if it is nearly up or down, or if one looks from a side that was asked for by name.
   */
  bringToFront(way: Vector3, towards = TOWARDS_US): void {
    const { x, y, z } = way.clone().applyQuaternion(this.upright.clone().invert());
    const across = Math.cos(this.pitch) * Math.hypot(x, z);
    if (this.viewName || across < 0.2) return;
    const least = (towards - Math.sin(this.pitch) * y) / across;
    const most = Math.acos(Math.min(Math.max(least, -1), 1));
    const beside = this.yaw - Math.atan2(x, z);
    const off = Math.atan2(Math.sin(beside), Math.cos(beside));
    if (Math.abs(off) > most) this.turn(Math.sign(off) * most - off, 0);
  }

  /**
   * Likewise for an axis, so that what turns about it is not seen edge-on: from the nearer of its
   * ends, or, where both are as near, from the one that is outwards.
   */
  bringToSide(axis: Vector3, outwards: Vector3): void {
    const ours = this.away.addScaledVector(outwards, SIDE_BIAS / (outwards.length() || 1));
    this.bringToFront(axis.clone().multiplyScalar(axis.dot(ours) < 0 ? -1 : 1), ON_AXIS);
  }

  frame(center: Vector3, radius: number): void {
    this.target.copy(center);
    const narrow = Math.min(this.aspect, 1);
    this.distance = (1.04 * radius) / Math.sin((FIELD_DEG * Math.PI) / 360) / narrow;
    this.updateCameras();
  }

  /** The way from the target to us. */
  private get away(): Vector3 {
    return new Vector3(
      Math.sin(this.yaw) * Math.cos(this.pitch),
      Math.sin(this.pitch),
      Math.cos(this.yaw) * Math.cos(this.pitch),
    ).applyQuaternion(this.upright);
  }

  private updateCameras(): void {
    const { away } = this;
    const half = 0.5 * this.height;
    Object.assign(this.parallel, {
      top: half,
      bottom: -half,
      left: -half * this.aspect,
      right: half * this.aspect,
      near: -100 * this.distance,
      far: 100 * this.distance,
    });
    Object.assign(this.perspective, {
      aspect: this.aspect,
      near: this.distance / 200,
      far: this.distance * 100,
    });
    for (const camera of [this.perspective, this.parallel]) {
      camera.position.copy(this.target).addScaledVector(away, this.distance);
      camera.lookAt(this.target);
      camera.updateProjectionMatrix();
      camera.updateMatrixWorld();
    }
  }
}

/**
 * Give a canvas the mouse of a turntable; what `taken` claims at its start is not a turn. What comes
 * back takes a turn back that is under way, and tells whether one is.
 */
export function steer(
  canvas: HTMLCanvasElement,
  table: Turntable,
  changed: () => void,
  taken: (event: PointerEvent) => boolean = () => false,
): () => boolean {
  let last: { x: number; y: number } | undefined;
  let restore = () => {};
  canvas.addEventListener("pointerdown", (event) => {
    if (taken(event)) return;
    if (event.button === 1) event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    last = { x: event.clientX, y: event.clientY };
    restore = table.keepView();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    const x = (event.clientX - last.x) / canvas.clientHeight;
    const y = (event.clientY - last.y) / canvas.clientHeight;
    last = { x: event.clientX, y: event.clientY };
    if (event.shiftKey || event.buttons === 2) table.pan(x, y);
    else if (event.ctrlKey) table.zoom(Math.exp(2 * y));
    else table.turn(-4 * x, 4 * y);
    changed();
  });
  for (const end of ["pointerup", "pointercancel"])
    canvas.addEventListener(end, () => (last = undefined));
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      table.zoom(Math.exp(0.0015 * Math.min(Math.max(event.deltaY, -200), 200)));
      changed();
    },
    { passive: false },
  );
  return () => {
    if (!last) return false;
    last = undefined;
    restore();
    changed();
    return true;
  };
}

/** The canvas of the view, in pixels: where points of the world are on it, and what is under one. */
export class Screen {
  constructor(
    readonly canvas: HTMLCanvasElement,
    private turntable: Turntable,
  ) {}

  /** Where a point of the world is on the canvas. */
  toPixels(point: Vector3): Vector2 {
    const { x, y } = point.clone().project(this.turntable.camera);
    const { clientWidth, clientHeight } = this.canvas;
    return new Vector2(0.5 * (1 + x) * clientWidth, 0.5 * (1 - y) * clientHeight);
  }

  /** Where the mouse is on the canvas. */
  mousePosition(event: MouseEvent): Vector2 {
    const { left, top } = this.canvas.getBoundingClientRect();
    return new Vector2(event.clientX - left, event.clientY - top);
  }

  /** The ray into the scene under a place on the canvas. */
  rayAt(place: Vector2): Ray {
    const { clientWidth, clientHeight } = this.canvas;
    const caster = new Raycaster();
    const screen = new Vector2((2 * place.x) / clientWidth - 1, 1 - (2 * place.y) / clientHeight);
    caster.setFromCamera(screen, this.turntable.camera);
    return caster.ray;
  }
}
