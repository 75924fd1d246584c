// The mouse over the view: which joint or handle it is at, what it takes, drags, clicks.

import { type Mesh, Plane, type Ray, type Vector2, Vector3 } from "three";
import type { Body } from "./body";
import type { Screen } from "./camera";
import { steer, type Turntable } from "./camera";

const NEAR_PX = 14;
const CLICK_PX = 4;

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

export class Pointer {
  onPick: (joint: number | undefined) => void = () => {};
  /** Told of drags that begin on a joint; where it answers false, the view turns instead. */
  onGrip: (grip: Grip) => boolean = () => false;
  onDrag: (target: Vector3) => void = () => {};
  handles: () => Handle[] = () => [];
  /** Told of clicks beside all joints; where it answers true, what is picked stays. */
  onClick: (ray: Ray) => boolean = () => false;
  onDouble: (ray: Ray) => void = () => {};
  private pressed: Vector2 | undefined;
  private plane: Plane | undefined;
  private handle: Handle | undefined;

  constructor(
    private screen: Screen,
    private table: Turntable,
    private body: Body,
    /** The target to look at. */
    private ball: Mesh,
    turned: () => void,
  ) {
    const { canvas } = screen;
    steer(canvas, table, turned, (event) => this.grip(event));
    canvas.addEventListener("pointerdown", (event) => {
      this.pressed = event.button === 0 ? screen.at(event) : undefined;
    });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointercancel", () => {
      this.handle?.drop();
      this.plane = this.pressed = this.handle = undefined;
    });
    canvas.addEventListener("dblclick", (event) => {
      const place = screen.at(event);
      if (!this.handleAt(place)) this.onDouble(screen.ray(place));
    });
    canvas.addEventListener("pointerup", (event) => this.lift(screen.at(event)));
  }

  private move(event: PointerEvent): void {
    const { screen } = this;
    const place = screen.at(event);
    if (this.handle && this.moved(place)) this.handle.drag(screen.ray(place));
    const target = this.plane && screen.ray(place).intersectPlane(this.plane, new Vector3());
    if (target) this.onDrag(target);
    if (!event.buttons) screen.canvas.style.cursor = this.handleAt(place) ? "grab" : "";
  }

  private lift(place: Vector2): void {
    this.plane = undefined;
    if (this.handle) {
      if (this.moved(place)) this.handle.drop();
      else this.handle.click();
    } else if (this.pressed && !this.moved(place)) {
      const grip = this.near(place);
      if (grip || !this.onClick(this.screen.ray(place))) this.onPick(grip?.joint);
    }
    this.pressed = this.handle = undefined;
  }

  private grip(event: PointerEvent): boolean {
    if (event.button !== 0) return false;
    const { canvas } = this.screen;
    const place = this.screen.at(event);
    this.handle = this.handleAt(place);
    if (this.handle) {
      canvas.setPointerCapture(event.pointerId);
      return true;
    }
    const grip = this.target(place) ?? this.near(place);
    if (!grip || !this.onGrip(grip)) return false;
    canvas.setPointerCapture(event.pointerId);
    const facing = this.table.camera.getWorldDirection(new Vector3());
    this.plane = new Plane().setFromNormalAndCoplanarPoint(facing, grip.place);
    return true;
  }

  private target(place: Vector2): Grip | undefined {
    const spot = this.ball.position.clone();
    if (!this.ball.visible || this.screen.pixel(spot).distanceTo(place) > NEAR_PX) return undefined;
    return { joint: undefined, point: new Vector3(), place: spot };
  }

  /** The joint nearest to a place on the canvas, or the joint of the bone that is. */
  private near(place: Vector2): Grip | undefined {
    const { screen } = this;
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
    positions.forEach((spot, joint) => {
      offer(screen.pixel(spot).distanceTo(place) - 4, joint, spot);
    });
    this.body.bones.forEach(({ owner, child }, number) => {
      const tip = this.body.tips[number] as Vector3;
      const root = positions[owner] as Vector3;
      const a = screen.pixel(root);
      const b = screen.pixel(tip);
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

  /** Whether the mouse has left the place where it was pressed: a drag, not a click. */
  private moved(place: Vector2): boolean {
    return !this.pressed || this.pressed.distanceTo(place) >= CLICK_PX;
  }

  /** The handle at a place on the canvas: of those near it, the one in front. */
  private handleAt(place: Vector2): Handle | undefined {
    const eye = this.table.camera.position;
    return this.handles()
      .filter((handle) => this.screen.pixel(handle.place).distanceTo(place) <= NEAR_PX)
      .sort((a, b) => a.place.distanceTo(eye) - b.place.distanceTo(eye))[0];
  }
}
