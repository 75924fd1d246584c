// The view: camera, light, ground, the body and its ghost, what is drawn at a joint, and labels.

import {
  AmbientLight,
  Box3,
  Color,
  DirectionalLight,
  GridHelper,
  Group,
  HemisphereLight,
  LineBasicMaterial,
  Mesh,
  MeshStandardMaterial,
  type Object3D,
  Plane,
  type Ray,
  Raycaster,
  Scene,
  Sphere,
  SphereGeometry,
  Vector2,
  Vector3,
  WebGLRenderer,
} from "three";
import { Body, type Marks, type Style } from "./body";
import { steer, Turntable } from "./camera";
import type { Clip, Pose } from "./clip";
import { LEGAL, THEMES, type Theme } from "./colours";
import { degrees, element, found } from "./elements";

const NEAR_PX = 14;
const CLICK_PX = 4;
const MOST_LABELS = 6;

/** What the mouse is at: a joint, the tip of one of its bones, or the target to look at. */
export interface Grip {
  /** Undefined for the target. */
  joint: number | undefined;
  /** In the joint's own frame. */
  point: Vector3;
  place: Vector3;
}

/** Something besides joints that can be dragged or clicked. */
export interface Handle {
  /** In the world. */
  place: Vector3;
  /** Follow the mouse, whose ray into the scene this is. */
  drag(ray: Ray): void;
  /** The drag is over. */
  drop(): void;
  click(): void;
}

export class Stage {
  readonly table = new Turntable();
  readonly body: Body;
  readonly ghost: Body;
  /** What belongs to the picked joint's parent, at the joint. */
  readonly atJoint = new Group();
  theme: Theme = THEMES.light;
  onPick: (joint: number | undefined) => void = () => {};
  /** Told of drags that begin on a joint; where it answers false, the view turns instead. */
  onGrip: (grip: Grip) => boolean = () => false;
  onDrag: (target: Vector3) => void = () => {};
  handles: () => Handle[] = () => [];
  /** Told of clicks beside all joints; where it answers true, what is picked stays. */
  onClick: (ray: Ray) => boolean = () => false;
  onDouble: (ray: Ray) => void = () => {};
  private scene = new Scene();
  private renderer: WebGLRenderer;
  private canvas = found<HTMLCanvasElement>("#stage");
  private labels = found("#labels");
  private grid: GridHelper;
  private asked = false;
  private limited = new Set<number>();
  private marks: Marks = { picked: undefined, outside: new Set(), held: new Set() };
  private outsideDeg = new Map<number, number>();
  private ball: Mesh;
  private pressed: Vector2 | undefined;
  private plane: Plane | undefined;
  private handle: Handle | undefined;

  constructor(private clip: Clip) {
    this.body = new Body(clip.skeleton, this.limited);
    this.ghost = new Body(clip.skeleton, this.limited, true);
    this.limit();
    this.ghost.group.visible = false;
    this.renderer = new WebGLRenderer({ canvas: this.canvas, antialias: true });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    const key = new DirectionalLight("#ffffff", 2.2);
    key.position.set(3, 5, 4);
    const back = new DirectionalLight("#cfe4ff", 0.8);
    back.position.set(-4, 2, -5);
    const sky = new HemisphereLight("#ffffff", "#8a97a3", 1.1);
    const cell = 10 ** Math.round(Math.log10(this.body.size / 4));
    this.grid = new GridHelper(20 * cell, 20);
    this.ball = new Mesh(
      new SphereGeometry(0.03 * this.body.size, 24, 16),
      new MeshStandardMaterial({ color: LEGAL, roughness: 0.4 }),
    );
    this.ball.visible = false;
    this.scene.add(this.ball);
    const lights = [key, back, sky, new AmbientLight("#ffffff", 0.25)];
    this.table.stand(clip.up);
    for (const each of [key, back, sky]) each.position.applyQuaternion(this.table.upright);
    this.grid.quaternion.copy(this.table.upright);
    this.scene.add(...lights, this.grid, this.body.group, this.ghost.group, this.atJoint);
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.listen();
  }

  /** Show a thing besides, until it is taken off. */
  add(thing: Object3D): void {
    this.scene.add(thing);
  }

  /** Take over which joints have limits now. */
  limit(): void {
    this.limited.clear();
    for (const joint of this.clip.limited) this.limited.add(joint);
  }

  show(pose: Pose, outsideDeg: Map<number, number>, marks: Marks): void {
    this.body.pose(pose);
    this.outsideDeg = outsideDeg;
    this.mark(marks);
  }

  mark(marks: Marks): void {
    this.marks = marks;
    this.body.paint(this.theme, marks);
    this.draw();
  }

  haunt(pose: Pose | undefined): void {
    this.ghost.group.visible = pose !== undefined;
    if (pose) {
      this.ghost.pose(pose);
      this.ghost.differFrom(this.body);
      this.ghost.paint(this.theme, this.marks);
    }
    this.draw();
  }

  /** Show the target to look at, at a place in the world, or put it away. */
  aim(target: Vector3 | undefined): void {
    this.ball.visible = target !== undefined;
    if (target) this.ball.position.copy(target);
    this.draw();
  }

  dress(theme: Theme): void {
    this.theme = theme;
    this.scene.background = new Color(theme.background);
    (this.grid.material as LineBasicMaterial).dispose();
    const fresh = new GridHelper(20 * this.cell(), 20, theme.line, theme.line);
    fresh.position.copy(this.grid.position);
    fresh.quaternion.copy(this.grid.quaternion);
    this.scene.remove(this.grid);
    this.grid = fresh;
    this.scene.add(fresh);
    this.ghost.paint(theme, this.marks);
    this.mark(this.marks);
  }

  private cell(): number {
    return 10 ** Math.round(Math.log10(this.body.size / 4));
  }

  shape(style: Style, pose: Pose): void {
    this.body.shape(style);
    this.ghost.shape(style);
    this.body.pose(pose);
    this.mark(this.marks);
  }

  /** Put the ground under the lowest joint, and all of the body into view. */
  frameAll(): void {
    const bounds = new Box3().setFromPoints([...this.body.where.positions, ...this.body.tips]);
    this.grid.position.set(0, 0, 0)[this.clip.up] = bounds.min[this.clip.up] - 0.02 * this.body.size;
    const sphere = bounds.getBoundingSphere(new Sphere());
    this.table.frame(sphere.center, Math.max(sphere.radius, 0.2 * this.body.size));
    this.draw();
  }

  frameJoint(joint: number): void {
    const place = this.body.where.positions[joint];
    if (place) this.table.frame(place, 0.3 * this.body.size);
    this.draw();
  }

  draw(): void {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.renderer.render(this.scene, this.table.camera);
      this.label();
      found("#view").textContent = [this.table.name, this.table.flat ? "parallel" : ""]
        .filter(Boolean)
        .join(", ");
    });
  }

  /** Where a point of the world is on the canvas, in pixels. */
  pixel(point: Vector3): Vector2 {
    const { x, y } = point.clone().project(this.table.camera);
    const { clientWidth, clientHeight } = this.canvas;
    return new Vector2(0.5 * (1 + x) * clientWidth, 0.5 * (1 - y) * clientHeight);
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.table.resize(clientWidth / Math.max(clientHeight, 1) || 1);
    this.draw();
  }

  private label(): void {
    const worst = [...this.outsideDeg].sort((a, b) => b[1] - a[1]).slice(0, MOST_LABELS);
    this.labels.replaceChildren(
      ...worst.map(([joint, angle]) => {
        const name = this.clip.skeleton.names[joint] ?? "";
        const label = element("span", { class: "label" }, `${name} ${degrees(angle)} outside`);
        const { x, y } = this.pixel(this.body.where.positions[joint] ?? new Vector3());
        label.style.transform = `translate(${x + 12}px, ${y - 10}px)`;
        return label;
      }),
    );
  }

  private at(event: MouseEvent): Vector2 {
    const { left, top } = this.canvas.getBoundingClientRect();
    return new Vector2(event.clientX - left, event.clientY - top);
  }

  private target(place: Vector2): Grip | undefined {
    const spot = this.ball.position.clone();
    if (!this.ball.visible || this.pixel(spot).distanceTo(place) > NEAR_PX) return undefined;
    return { joint: undefined, point: new Vector3(), place: spot };
  }

  /** The joint nearest to a place on the canvas, or the joint of the bone that is. */
  private near(place: Vector2): Grip | undefined {
    const { positions, rotations } = this.body.where;
    let best: { px: number; grip: Grip } | undefined;
    const offer = (px: number, joint: number, spot: Vector3) => {
      if (px > NEAR_PX || (best && px >= best.px)) return;
      const root = positions[joint] as Vector3;
      const turn = rotations[joint]?.clone().invert();
      const point = spot.clone().sub(root);
      if (turn) point.applyQuaternion(turn);
      best = { px, grip: { joint, point, place: spot } };
    };
    positions.forEach((spot, joint) => offer(this.pixel(spot).distanceTo(place) - 4, joint, spot));
    this.body.bones.forEach(({ owner, child }, number) => {
      const tip = this.body.tips[number] as Vector3;
      const root = positions[owner] as Vector3;
      const a = this.pixel(root);
      const b = this.pixel(tip);
      const way = b.clone().sub(a);
      // Seen from its end a bone is a point.
      const along = place.clone().sub(a).dot(way) / (way.lengthSq() || 1);
      const share = Math.min(Math.max(along, 0), 1);
      const px = a.addScaledVector(way, share).distanceTo(place);
      const spot = child === undefined && share > 0.7 ? tip : root;
      offer(px, owner, spot);
    });
    return best?.grip;
  }

  private listen(): void {
    const { canvas } = this;
    steer(canvas, this.table, () => this.draw(), (event) => this.grip(event));
    canvas.addEventListener("pointerdown", (event) => {
      this.pressed = event.button === 0 ? this.at(event) : undefined;
    });
    canvas.addEventListener("pointermove", (event) => {
      const place = this.at(event);
      if (this.handle && this.moved(place)) this.handle.drag(this.ray(place));
      const target = this.plane && this.ray(place).intersectPlane(this.plane, new Vector3());
      if (target) this.onDrag(target);
      if (!event.buttons) canvas.style.cursor = this.handleAt(place) ? "grab" : "";
    });
    canvas.addEventListener("pointercancel", () => {
      this.handle?.drop();
      this.plane = this.pressed = this.handle = undefined;
    });
    canvas.addEventListener("dblclick", (event) => {
      const place = this.at(event);
      if (!this.handleAt(place)) this.onDouble(this.ray(place));
    });
    canvas.addEventListener("pointerup", (event) => {
      this.plane = undefined;
      const place = this.at(event);
      if (this.handle) {
        if (this.moved(place)) this.handle.drop();
        else this.handle.click();
      } else if (this.pressed && !this.moved(place)) {
        const grip = this.near(place);
        if (grip || !this.onClick(this.ray(place))) this.onPick(grip?.joint);
      }
      this.pressed = this.handle = undefined;
    });
  }

  private grip(event: PointerEvent): boolean {
    if (event.button !== 0) return false;
    this.handle = this.handleAt(this.at(event));
    if (this.handle) {
      this.canvas.setPointerCapture(event.pointerId);
      return true;
    }
    const grip = this.target(this.at(event)) ?? this.near(this.at(event));
    if (!grip || !this.onGrip(grip)) return false;
    this.canvas.setPointerCapture(event.pointerId);
    const facing = this.table.camera.getWorldDirection(new Vector3());
    this.plane = new Plane().setFromNormalAndCoplanarPoint(facing, grip.place);
    return true;
  }

  /** Whether the mouse has left the place where it was pressed: a drag, not a click. */
  private moved(place: Vector2): boolean {
    return !this.pressed || this.pressed.distanceTo(place) >= CLICK_PX;
  }

  /** The handle at a place on the canvas: of those near it, the one in front. */
  private handleAt(place: Vector2): Handle | undefined {
    const eye = this.table.camera.position;
    return this.handles()
      .filter((handle) => this.pixel(handle.place).distanceTo(place) <= NEAR_PX)
      .sort((a, b) => a.place.distanceTo(eye) - b.place.distanceTo(eye))[0];
  }

  private ray(place: Vector2): Ray {
    const { clientWidth, clientHeight } = this.canvas;
    const caster = new Raycaster();
    const screen = new Vector2((2 * place.x) / clientWidth - 1, 1 - (2 * place.y) / clientHeight);
    caster.setFromCamera(screen, this.table.camera);
    return caster.ray;
  }
}
