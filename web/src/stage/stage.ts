// The view: camera, light, ground, the body and its ghost, and labels.

import { effect, untracked } from "@preact/signals";
import {
  Box3,
  Color,
  Group,
  Mesh,
  MeshStandardMaterial,
  Scene,
  Sphere,
  SphereGeometry,
  Vector2,
  Vector3,
  type WebGLRenderer,
} from "three";
import type { Pose } from "../clip";
import { formatVerdict, isWorse, verdictClass } from "../format";
import { showMessage } from "../notes";
import type { MadePose } from "../pose/history";
import { blendPoses, vectorAt } from "../pose/kinematics";
import type { Store } from "../store";
import { find } from "../ui";
import { Body, type Marks, type Shapes } from "./body";
import { Screen, Turntable } from "./camera";
import { LEGAL, OUTSIDE } from "./colours";
import { Gizmo } from "./gizmo";
import { placeLabels } from "./labels";
import type { OwnMesh } from "./mesh";
import { Pointer } from "./pointer";
import { createRenderer, enableShadows, FrameClock, setCheap } from "./renderer";
import { Scenery } from "./scenery";

const MAX_LABELS = 6; // more would cover the body
/** Cost of a label that covers the dot of a marked joint, or of another. */
const [MARKED_DOT, PLAIN_DOT] = [10, 1];
const MAX_HOLD_MS = 600; // later, capsules are better than an empty view
const TRANSITION_MS = 150; // from a pose to one that is far from it
const NO_WEBGL =
  "This browser draws nothing in three dimensions, because it has no WebGL. The joints, the strip, all numbers and Files work without it.";
const CHEAP =
  "Drawing is slow on this machine, so the view is simpler now. B shows the body again.";
const SIDE = 1.15; // distance between bodies side by side, of the body's size
const RIM = 0.04; // share of the view's sides in which a joint is too near to the edge

export class Stage {
  readonly turntable: Turntable;
  readonly body: Body;
  readonly ghost: Body;
  readonly scene = new Scene();
  /** Parts at the picked joint. */
  readonly jointGroup = new Group();
  readonly pointer: Pointer;
  readonly canvas = find<HTMLCanvasElement>("#stage");
  private renderer: WebGLRenderer | undefined;
  private clock = new FrameClock();
  private gizmo: Gizmo;
  private labels = find("#labels");
  private scenery: Scenery;
  private screen: Screen;
  private isDrawRequested = false;
  private isHeld = false;
  private limited = new Set<number>();
  /** By joint, the side on which its label was placed. */
  private labelSides = new Map<number, number>();
  private target: Mesh;
  private groundHeight: number | undefined;
  private lastRoot: Vector3 | undefined;
  /** A second body beside the first; created when it is first shown. */
  private beside: Body | undefined;
  private shapes: Shapes | undefined;

  constructor(private store: Store) {
    const { clip } = store;
    this.turntable = new Turntable(clip.up, this.canvas, () => this.draw());
    this.screen = new Screen(this.canvas, this.turntable);
    this.body = new Body(clip.skeleton, this.limited);
    this.ghost = new Body(clip.skeleton, this.limited, true);
    this.ghost.group.visible = false;
    this.renderer = createRenderer(this.canvas);
    if (this.renderer) enableShadows(this.renderer);
    else Object.assign(find("#nothing"), { textContent: NO_WEBGL, hidden: false });
    this.gizmo = new Gizmo(this.turntable, (name) => {
      this.turntable.setView(name);
      this.draw();
    });
    this.scenery = new Scenery(this.body.size, this.turntable.upright);
    this.target = new Mesh(
      new SphereGeometry(0.03 * this.body.size, 24, 16),
      new MeshStandardMaterial({ color: LEGAL, roughness: 0.4 }),
    );
    this.target.visible = false;
    const { scenery, body, ghost, jointGroup, target } = this;
    this.scene.add(scenery.group, body.group, ghost.group, jointGroup, target);
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.pointer = new Pointer(this.screen, this.turntable, this.body, this.target);
    this.subscribe();
  }

  private subscribe(): void {
    const { store, body, ghost } = this;
    effect(() => {
      const { theme } = store;
      this.scene.background = new Color(theme.value.background);
      this.scenery.setTheme(theme.value);
    });
    effect(() => {
      const isCheap = store.isCheap.value;
      if (!this.renderer) return;
      this.renderer.shadowMap.enabled = this.scenery.hasShadow = !isCheap;
      setCheap(this.renderer, isCheap);
      untracked(() => this.resize());
    });
    effect(() => {
      this.limited.clear();
      for (const joint of store.limited.value) this.limited.add(joint);
    });
    effect(() => {
      const style = store.isCheap.value ? "sticks" : store.style.value;
      for (const each of [body, ghost]) each.setStyle(style);
      this.beside?.setStyle(style);
      untracked(() => this.showPose());
    });
    effect(() => this.showBeside(store.poseBefore));
    effect(() => {
      if (store.showsBoth.value) untracked(() => this.frameAll());
      find("#sides").hidden = !store.showsBoth.value;
    });
    effect(() => {
      this.showPose();
      if (!store.history.present.value) untracked(() => this.followRoot());
    });
    effect(() => {
      void store.limited.value;
      body.paint(store.theme.value, this.marks);
      ghost.paint(store.theme.value, this.marks);
      this.draw();
    });
  }

  private get marks(): Marks {
    return this.markOutside(this.store.outside.value, this.store.blocking.value);
  }

  private markOutside(angles: Map<number, number>, blocking: number[] = []): Marks {
    const joints = (sign: number) =>
      new Set([...angles].filter(([, angle]) => sign * angle > 0).map(([joint]) => joint));
    const { value: picked } = this.store.picked;
    return { picked, outside: joints(1), unusual: joints(-1), blocking: new Set(blocking) };
  }

  /** Show a pose on a second body, to the left of the first, or hide that. */
  private showBeside(made: MadePose | undefined): void {
    if (made && !this.beside) {
      this.beside = new Body(this.store.clip.skeleton, this.limited);
      this.beside.setStyle(this.store.isCheap.peek() ? "sticks" : this.store.style.peek());
      if (this.shapes) this.beside.setShapes(this.shapes);
      this.scene.add(this.beside.group);
    }
    const { beside } = this;
    if (!beside) return;
    beside.group.visible = made !== undefined;
    if (made) {
      const left = new Vector3(-1, 0, 0).applyQuaternion(this.turntable.camera.quaternion);
      left[this.store.clip.up] = 0;
      left.setLength(SIDE * this.body.size);
      const positions = made.pose.positions.slice();
      this.store.clip.skeleton.parents.forEach((parent, joint) => {
        if (parent < 0)
          left
            .clone()
            .add(vectorAt(positions, joint))
            .toArray(positions, 3 * joint);
      });
      beside.pixel = this.body.pixel;
      beside.setPose({ ...made.pose, positions });
      beside.paint(this.store.theme.value, this.markOutside(made.outside ?? new Map()));
    }
    this.draw();
  }

  private showPose(): void {
    this.body.setPose(this.store.pose.value, this.store.world.value);
    this.body.paint(
      this.store.theme.peek(),
      untracked(() => this.marks),
    );
    if (this.renderer) this.renderer.shadowMap.needsUpdate = true;
    this.placeGround();
    this.draw();
  }

  /** Show a ghost of the body in another pose, or hide it. */
  showGhost(pose: Pose | undefined): void {
    this.ghost.group.visible = pose !== undefined;
    if (pose) {
      this.ghost.setPose(pose);
      this.ghost.showDifferencesFrom(this.body);
      this.ghost.paint(
        this.store.theme.peek(),
        untracked(() => this.marks),
      );
    }
    this.draw();
  }

  /** Show the ball to look at, at a position in the world, or hide it. */
  showTarget(position: Vector3 | undefined): void {
    this.target.visible = position !== undefined;
    if (position) this.target.position.copy(position);
    this.draw();
  }

  /** Mark where the centre of mass is on the ground, or hide the mark. */
  showBalance(center: Vector3 | undefined, isBalanced = true): void {
    this.scenery.markBalance(center, isBalanced ? LEGAL : OUTSIDE);
    this.draw();
  }

  /** Fade from one pose to another, which the store already has. */
  showTransition(from: Pose, to: Pose): void {
    const started = performance.now();
    const step = (now: number): void => {
      if (this.store.pose.peek() !== to) return;
      const share = Math.min((now - started) / TRANSITION_MS, 1);
      this.body.setPose(share < 1 ? blendPoses(from, to, share) : to);
      if (this.renderer) this.renderer.shadowMap.needsUpdate = true;
      this.draw();
      if (share < 1) requestAnimationFrame(step);
    };
    step(started);
  }

  /** Show a human instead of capsules. */
  setShapes(shapes: Shapes): void {
    this.shapes = shapes;
    for (const body of [this.body, this.ghost]) body.setShapes(shapes);
    untracked(() => this.showPose());
  }

  /** Show the mesh of the clip's own file. */
  setMesh(mesh: OwnMesh): void {
    this.body.setMesh(mesh);
    this.groundHeight = undefined;
    untracked(() => this.showPose());
  }

  /** Keep the ground below the body: at the feet of the clip's poses, unless the root moves. */
  private placeGround(): void {
    const { positions } = this.body.world;
    const root = positions[0];
    if (!root) return;
    const { up, rootMoves } = this.store.clip;
    const isMade = this.store.history.present.peek() !== undefined;
    if (this.groundHeight === undefined || !(rootMoves || isMade || this.body.isMesh))
      this.groundHeight = this.body.lowest(up);
    this.scenery.setGround(up, this.groundHeight, root);
  }

  /** Show the whole body, with the ground below its lowest joint. */
  frameAll(): void {
    const bounds = new Box3().setFromPoints([...this.body.world.positions, ...this.body.tips]);
    if (this.beside?.group.visible)
      for (const point of this.beside.world.positions) bounds.expandByPoint(point);
    this.groundHeight = undefined;
    this.placeGround();
    const sphere = bounds.getBoundingSphere(new Sphere());
    // With some room for the hint at the bottom.
    this.turntable.frame(sphere.center, Math.max(1.06 * sphere.radius, 0.2 * this.body.size));
    this.draw();
  }

  /** Move the camera over the ground by as much as the root has moved since the last call. */
  private followRoot(): void {
    const root = this.body.world.positions[0];
    if (!root) return;
    if (this.lastRoot) {
      const offset = root.clone().sub(this.lastRoot);
      offset[this.store.clip.up] = 0;
      if (offset.lengthSq() > 0) this.turntable.shift(offset);
    }
    this.lastRoot = root.clone();
  }

  /** True if a joint is in the view and not too near to its edge. */
  isInView(joint: number): boolean {
    const position = this.body.world.positions[joint];
    if (!position) return true;
    const { x, y } = this.screen.toPixels(position);
    const { clientWidth, clientHeight } = this.canvas;
    const [left, top] = [RIM * clientWidth, RIM * clientHeight];
    return x > left && y > top && x < clientWidth - left && y < clientHeight - top;
  }

  frameJoint(joint: number): void {
    const position = this.body.world.positions[joint];
    if (position) this.turntable.frame(position, 0.3 * this.body.size);
    this.draw();
  }

  /** Draw nothing until a promise settles, such as that of the body, unless it takes long. */
  hold(until: Promise<unknown>): void {
    this.isHeld = true;
    const late = new Promise((go) => setTimeout(go, MAX_HOLD_MS));
    const release = () => {
      this.isHeld = false;
      this.draw();
    };
    void Promise.race([until, late]).then(release, release);
  }

  draw(): void {
    if (this.isDrawRequested || this.isHeld) return;
    this.isDrawRequested = true;
    requestAnimationFrame((now) => {
      this.isDrawRequested = false;
      if (this.isHeld) return;
      this.drawNow();
      this.updateLabels();
      this.gizmo.update();
      const { isCheap, mayBeCheap, isPlaying } = this.store;
      // Only in playback, where nothing else is computed.
      const isSlow = isPlaying.peek() && this.renderer && this.clock.tick(now);
      if (!isSlow || isCheap.peek() || !mayBeCheap) return;
      isCheap.value = true;
      showMessage(CHEAP);
    });
  }

  /** Draw at once; the canvas keeps the picture until the current task ends. */
  drawNow(): void {
    this.updatePixelSize();
    this.scenery.lightFrom(this.turntable.camera.quaternion);
    this.renderer?.render(this.scene, this.turntable.camera);
  }

  /** Keep the size of dots on the screen, whatever the distance. */
  private updatePixelSize(): void {
    const pixel = this.turntable.height / Math.max(this.canvas.clientHeight, 1);
    if (pixel === this.body.pixel) return;
    this.body.pixel = pixel;
    this.body.paint(
      this.store.theme.peek(),
      untracked(() => this.marks),
    );
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    this.renderer?.setSize(clientWidth, clientHeight, false);
    this.turntable.resize(clientWidth / Math.max(clientHeight, 1) || 1);
    this.draw();
  }

  /** The view as PNG. */
  picture(): Promise<Blob> {
    if (!this.renderer) return Promise.reject(new Error(NO_WEBGL));
    this.drawNow(); // the browser may have discarded the last picture
    return new Promise((resolve, reject) =>
      this.canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture")))),
    );
  }

  private updateLabels(): void {
    if (!this.renderer) return;
    const outside = this.store.outside.peek();
    const { twoVerdicts } = this.store.state.peek();
    const worst = [...outside].sort((a, b) => (isWorse(a[1], b[1]) ? -1 : 1)).slice(0, MAX_LABELS);
    if (!worst.length && !this.labels.childElementCount) return;
    const pixels = this.body.world.positions.map((position) => this.screen.toPixels(position));
    const spans = worst.map(([joint, angle]) => {
      const name = document.createElement("bdi");
      name.textContent = this.store.nameOf(joint);
      const span = document.createElement("span");
      span.className = `label ${verdictClass(angle)}`;
      span.append(name, ` ${formatVerdict(angle, twoVerdicts)}`);
      return span;
    });
    const dots = pixels.flatMap(({ x, y }, joint) => {
      const isMarked = outside.has(joint) || joint === this.store.picked.peek();
      const weight = isMarked ? MARKED_DOT : PLAIN_DOT;
      return isMarked || this.limited.has(joint) ? [{ x, y, weight }] : [];
    });
    for (const { position } of this.pointer.listHandles()) {
      const { x, y } = this.screen.toPixels(position);
      dots.push({ x, y, weight: MARKED_DOT });
    }
    this.labels.replaceChildren(...spans); // before they are measured
    const labels = worst.map(([joint], index) => {
      const { x, y } = pixels[joint] ?? new Vector2();
      const { offsetWidth: width, offsetHeight: height } = spans[index] as HTMLElement;
      return { x, y, width, height, side: this.labelSides.get(joint) };
    });
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const placed = placeLabels(labels, dots, { width, height });
    this.labelSides.clear();
    placed.forEach(({ x, y, side }, index) => {
      this.labelSides.set(worst[index]?.[0] ?? -1, side);
      (spans[index] as HTMLElement).style.transform = `translate(${x}px, ${y}px)`;
    });
  }
}
