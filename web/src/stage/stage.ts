// The view: camera, light, ground, the body and its ghost, what is drawn at a joint, and labels.

import {
  Box3,
  Color,
  Group,
  Mesh,
  MeshStandardMaterial,
  type Object3D,
  PCFShadowMap,
  Scene,
  Sphere,
  SphereGeometry,
  Vector2,
  type Vector3,
  WebGLRenderer,
} from "three";
import type { Clip, Pose } from "../clip";
import { element, find } from "../elements";
import { formatVerdict, isWorse } from "../verdict";
import { Body, type Marks, type Shapes, type Style } from "./body";
import { Screen, Turntable } from "./camera";
import { LEGAL, THEMES, type Theme } from "./colours";
import { placeLabels } from "./labels";
import { Pointer } from "./pointer";
import { Scenery } from "./scenery";

const MOST_LABELS = 6;
/** What a label costs that covers a dot which stands out, and another. */
const [MARKED_DOT, PLAIN_DOT] = [10, 1];
const LONGEST_HOLD_MS = 600;
/** How near to its rim the view shows nothing well, as a share of its sides. */
const RIM = 0.04;

export class Stage {
  readonly turntable = new Turntable();
  readonly body: Body;
  readonly ghost: Body;
  /** What belongs to the picked joint's parent, at the joint. */
  readonly jointGroup = new Group();
  readonly pointer: Pointer;
  theme: Theme = THEMES.light;
  private scene = new Scene();
  private renderer: WebGLRenderer;
  private canvas = find<HTMLCanvasElement>("#stage");
  private labels = find("#labels");
  private scenery: Scenery;
  private screen = new Screen(this.canvas, this.turntable);
  private isDrawRequested = false;
  private isHeld = false;
  private limited = new Set<number>();
  private marks: Marks = {
    picked: undefined,
    outside: new Set(),
    unusual: new Set(),
    blocking: new Set(),
  };
  private outsideDeg = new Map<number, number>();
  /** By joint, which way its label was written. */
  private labelWays = new Map<number, number>();
  private target: Mesh;
  private groundHeight: number | undefined;
  private lastRoot: Vector3 | undefined;

  constructor(private clip: Clip) {
    this.body = new Body(clip.skeleton, this.limited);
    this.ghost = new Body(clip.skeleton, this.limited, true);
    this.updateLimited();
    this.ghost.group.visible = false;
    this.renderer = new WebGLRenderer({ canvas: this.canvas, antialias: true });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.shadowMap.autoUpdate = false; // only when the body moves
    this.turntable.setUp(clip.up);
    this.scenery = new Scenery(this.body.size, this.turntable.upright);
    this.target = new Mesh(
      new SphereGeometry(0.03 * this.body.size, 24, 16),
      new MeshStandardMaterial({ color: LEGAL, roughness: 0.4 }),
    );
    this.target.visible = false;
    this.scene.add(
      this.scenery.group,
      this.body.group,
      this.ghost.group,
      this.jointGroup,
      this.target,
    );
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.pointer = new Pointer(this.screen, this.turntable, this.body, this.target, () =>
      this.draw(),
    );
  }

  /** Show a thing besides, until it is taken off. */
  add(thing: Object3D): void {
    this.scene.add(thing);
  }

  /** Take a thing off. */
  remove(thing: Object3D): void {
    this.scene.remove(thing);
  }

  /** Take over which joints have limits now. */
  updateLimited(): void {
    this.limited.clear();
    for (const joint of this.clip.limited) this.limited.add(joint);
  }

  show(pose: Pose, outsideDeg: Map<number, number>, marks: Marks): void {
    this.body.setPose(pose);
    this.renderer.shadowMap.needsUpdate = true;
    this.placeGround();
    this.outsideDeg = outsideDeg;
    this.setMarks(marks);
  }

  setMarks(marks: Marks): void {
    this.marks = marks;
    this.body.paint(this.theme, marks);
    this.draw();
  }

  showGhost(pose: Pose | undefined): void {
    this.ghost.group.visible = pose !== undefined;
    if (pose) {
      this.ghost.setPose(pose);
      this.ghost.showDifferencesFrom(this.body);
      this.ghost.paint(this.theme, this.marks);
    }
    this.draw();
  }

  /** Show the target to look at, at a place in the world, or put it away. */
  showTarget(target: Vector3 | undefined): void {
    this.target.visible = target !== undefined;
    if (target) this.target.position.copy(target);
    this.draw();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.scene.background = new Color(theme.background);
    this.scenery.setTheme(theme);
    this.ghost.paint(theme, this.marks);
    this.setMarks(this.marks);
  }

  /** Show a human, not capsules. */
  setShapes(shapes: Shapes): void {
    this.body.setShapes(shapes);
    this.ghost.setShapes(shapes);
  }

  setStyle(style: Style, pose: Pose): void {
    this.body.setStyle(style);
    this.ghost.setStyle(style);
    this.body.setPose(pose);
    this.renderer.shadowMap.needsUpdate = true;
    this.setMarks(this.marks);
  }

  /** Let the ground go with the body; under its feet, unless its root moves as in a clip. */
  private placeGround(): void {
    const { positions } = this.body.world;
    const root = positions[0];
    if (!root) return;
    const { up } = this.clip;
    if (this.groundHeight === undefined || !this.clip.rootMoves) {
      const points = [...positions, ...this.body.tips].map((point) => point[up]);
      this.groundHeight =
        Math.min(...points) - (this.body.isShaped ? 0.004 : 0.02) * this.body.size;
    }
    this.scenery.setGround(up, this.groundHeight, root);
  }

  /** Put the ground under the lowest joint, and all of the body into view. */
  frameAll(): void {
    const bounds = new Box3().setFromPoints([...this.body.world.positions, ...this.body.tips]);
    this.groundHeight = undefined;
    this.placeGround();
    const sphere = bounds.getBoundingSphere(new Sphere());
    // With some room for the hint that is below.
    this.turntable.frame(sphere.center, Math.max(1.06 * sphere.radius, 0.2 * this.body.size));
    this.draw();
  }

  /** Let the view go with the root over the ground, from where it was when this was last asked. */
  followRoot(): void {
    const root = this.body.world.positions[0];
    if (!root) return;
    if (this.lastRoot) {
      const way = root.clone().sub(this.lastRoot);
      way[this.clip.up] = 0;
      if (way.lengthSq() > 0) this.turntable.shift(way);
    }
    this.lastRoot = root.clone();
  }

  /** Whether a joint is to be seen, not too near to the rim of the view. */
  isInView(joint: number): boolean {
    const place = this.body.world.positions[joint];
    if (!place) return true;
    const { x, y } = this.screen.toPixels(place);
    const { clientWidth, clientHeight } = this.canvas;
    const [left, top] = [RIM * clientWidth, RIM * clientHeight];
    return x > left && y > top && x < clientWidth - left && y < clientHeight - top;
  }

  frameJoint(joint: number): void {
    const place = this.body.world.positions[joint];
    if (place) this.turntable.frame(place, 0.3 * this.body.size);
    this.draw();
  }

  /** Draw nothing until something is there, such as the body, unless that takes long. */
  hold(until: Promise<unknown>): void {
    this.isHeld = true;
    const late = new Promise((go) => setTimeout(go, LONGEST_HOLD_MS));
    const release = () => {
      this.isHeld = false;
      this.draw();
    };
    void Promise.race([until, late]).then(release, release);
  }

  draw(): void {
    if (this.isDrawRequested || this.isHeld) return;
    this.isDrawRequested = true;
    requestAnimationFrame(() => {
      this.isDrawRequested = false;
      if (this.isHeld) return;
      this.drawNow();
      this.updateLabels();
      find("#view").textContent = [
        this.turntable.viewName,
        this.turntable.isParallel ? "parallel" : "",
      ]
        .filter(Boolean)
        .join(", ");
    });
  }

  /** Draw what is seen at once: the canvas has it until this task is over. */
  drawNow(): void {
    this.updatePixelSize();
    this.scenery.lightFrom(this.turntable.camera.quaternion);
    this.renderer.render(this.scene, this.turntable.camera);
  }

  /** Let dots be as large on the screen as they were, however near one is. */
  private updatePixelSize(): void {
    const pixel = this.turntable.height / Math.max(this.canvas.clientHeight, 1);
    if (pixel === this.body.pixel) return;
    this.body.pixel = pixel;
    this.body.paint(this.theme, this.marks);
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.turntable.resize(clientWidth / Math.max(clientHeight, 1) || 1);
    this.draw();
  }

  /** What is seen, as PNG. */
  picture(): Promise<Blob> {
    this.drawNow(); // or what was drawn may be gone
    return new Promise((resolve, reject) =>
      this.canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture")))),
    );
  }

  private updateLabels(): void {
    const worst = [...this.outsideDeg]
      .sort((a, b) => (isWorse(a[1], b[1]) ? -1 : 1))
      .slice(0, MOST_LABELS);
    if (!worst.length && !this.labels.childElementCount) return;
    const { positions } = this.body.world;
    const spots = positions.map((place) => this.screen.toPixels(place));
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const written = worst.map(([joint, angle]) => {
      const name = this.clip.skeleton.names[joint] ?? "";
      const text = ` ${formatVerdict(angle, this.clip.state.twoVerdicts)}`;
      return element("span", { class: "label" }, element("bdi", {}, name), text);
    });
    const dots = spots.flatMap(({ x, y }, joint) => {
      const marked = this.outsideDeg.has(joint) || joint === this.marks.picked;
      const weight = marked ? MARKED_DOT : PLAIN_DOT;
      return marked || this.limited.has(joint) ? [{ x, y, weight }] : [];
    });
    for (const { position } of this.pointer.listHandles()) {
      const { x, y } = this.screen.toPixels(position);
      dots.push({ x, y, weight: MARKED_DOT });
    }
    this.labels.replaceChildren(...written); // after which all that is measured is laid out anew
    const labels = worst.map(([joint], number) => {
      const { x, y } = spots[joint] ?? new Vector2();
      const { offsetWidth, offsetHeight } = written[number] as HTMLElement;
      return { x, y, width: offsetWidth, height: offsetHeight, way: this.labelWays.get(joint) };
    });
    const places = placeLabels(labels, dots, { width, height });
    this.labelWays.clear();
    places.forEach(({ x, y, way }, number) => {
      this.labelWays.set(worst[number]?.[0] ?? -1, way);
      (written[number] as HTMLElement).style.transform = `translate(${x}px, ${y}px)`;
    });
  }
}
