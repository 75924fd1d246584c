// The view: camera, light, ground, the body and its ghost, what is drawn at a joint, and labels.

import {
  Box3,
  Color,
  Group,
  Mesh,
  MeshStandardMaterial,
  type Object3D,
  Scene,
  Sphere,
  SphereGeometry,
  Vector3,
  WebGLRenderer,
} from "three";
import type { Clip, Pose } from "../clip";
import { degrees, element, found } from "../elements";
import { Body, type Marks, type Style } from "./body";
import { Screen, Turntable } from "./camera";
import { LEGAL, THEMES, type Theme } from "./colours";
import { Pointer } from "./pointer";
import { Scenery } from "./scenery";

const MOST_LABELS = 6;

export class Stage {
  readonly table = new Turntable();
  readonly body: Body;
  readonly ghost: Body;
  /** What belongs to the picked joint's parent, at the joint. */
  readonly atJoint = new Group();
  readonly pointer: Pointer;
  theme: Theme = THEMES.light;
  private scene = new Scene();
  private renderer: WebGLRenderer;
  private canvas = found<HTMLCanvasElement>("#stage");
  private labels = found("#labels");
  private scenery: Scenery;
  private screen = new Screen(this.canvas, this.table);
  private asked = false;
  private limited = new Set<number>();
  private marks: Marks = { picked: undefined, outside: new Set(), held: new Set() };
  private outsideDeg = new Map<number, number>();
  private ball: Mesh;

  constructor(private clip: Clip) {
    this.body = new Body(clip.skeleton, this.limited);
    this.ghost = new Body(clip.skeleton, this.limited, true);
    this.limit();
    this.ghost.group.visible = false;
    this.renderer = new WebGLRenderer({ canvas: this.canvas, antialias: true });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.table.stand(clip.up);
    this.scenery = new Scenery(this.body.size, this.table.upright);
    this.ball = new Mesh(
      new SphereGeometry(0.03 * this.body.size, 24, 16),
      new MeshStandardMaterial({ color: LEGAL, roughness: 0.4 }),
    );
    this.ball.visible = false;
    this.scene.add(this.scenery.group, this.body.group, this.ghost.group, this.atJoint, this.ball);
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.pointer = new Pointer(this.screen, this.table, this.body, this.ball, () => this.draw());
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
    this.scenery.dress(theme);
    this.ghost.paint(theme, this.marks);
    this.mark(this.marks);
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
    this.scenery.lay(this.clip.up, bounds.min[this.clip.up] - 0.02 * this.body.size);
    const sphere = bounds.getBoundingSphere(new Sphere());
    // With some room for the hint that is below.
    this.table.frame(sphere.center, Math.max(1.06 * sphere.radius, 0.2 * this.body.size));
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
      this.measure();
      this.renderer.render(this.scene, this.table.camera);
      this.label();
      found("#view").textContent = [this.table.name, this.table.flat ? "parallel" : ""]
        .filter(Boolean)
        .join(", ");
    });
  }

  /** Let dots be as large on the screen as they were, however near one is. */
  private measure(): void {
    const pixel = this.table.height / Math.max(this.canvas.clientHeight, 1);
    if (pixel === this.body.pixel) return;
    this.body.pixel = pixel;
    this.body.paint(this.theme, this.marks);
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
        const told = ` ${degrees(angle)} outside`;
        const label = element("span", { class: "label" }, element("bdi", {}, name), told);
        const { x, y } = this.screen.pixel(this.body.where.positions[joint] ?? new Vector3());
        label.style.transform = `translate(${x + 12}px, ${y - 10}px)`;
        return label;
      }),
    );
  }
}
