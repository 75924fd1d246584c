// The mouse over the view: which joint or handle it is at, what it takes, drags, clicks.

import { type Mesh, Plane, type Ray, type Vector2, Vector3 } from "three";
import type { Body } from "./body";
import type { Screen } from "./camera";
import { steer, type Turntable } from "./camera";

const NEAR_PX = 14;
const CLICK_PX = 4;
const JOINT_PX = 9;

/** What the mouse is at: a joint, the tip of one of its bones, or the target to look at. */
export interface Grip {
  /** Undefined for the target. */
  joint: number | undefined;
  /** In the joint's own frame. */
  point: Vector3;
  position: Vector3;
}

/** Something besides joints that can be dragged or clicked. */
export interface Handle {
  /** In the world. */
  position: Vector3;
  /** Follow the mouse, whose ray into the scene this is. */
  drag(ray: Ray): void;
  /** The drag is over. */
  release(): void;
  /** The drag is taken back. */
  cancel(): void;
  /** Whether a joint that is there as well goes first. */
  yields?: boolean;
  click(): void;
}

export class Pointer {
  onPick: (joint: number | undefined) => void = () => {};
  /** Told of drags that begin on a joint; where it answers false, the view turns instead. */
  onGrip: (grip: Grip) => boolean = () => false;
  onDrag: (target: Vector3) => void = () => {};
  /** The drag of a joint is over, or taken back. */
  onRelease: () => void = () => {};
  onCancel: () => void = () => {};
  listHandles: () => Handle[] = () => [];
  /** Told of clicks first of all; where it answers true, they are not for joints. */
  claimsClick: () => boolean = () => false;
  /** Told of clicks beside all joints; where it answers true, what is picked stays. */
  onClick: (ray: Ray) => boolean = () => false;
  onDoubleClick: (ray: Ray) => void = () => {};
  private pressed: Vector2 | undefined;
  private plane: Plane | undefined;
  private handle: Handle | undefined;
  private cancelTurn: () => boolean;

  constructor(
    private screen: Screen,
    private turntable: Turntable,
    private body: Body,
    /** The target to look at. */
    private target: Mesh,
    turned: () => void,
  ) {
    const { canvas } = screen;
    this.cancelTurn = steer(canvas, turntable, turned, (event) => this.press(event));
    canvas.addEventListener("pointerdown", (event) => {
      this.pressed = event.button === 0 ? screen.mousePosition(event) : undefined;
    });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointercancel", () => {
      this.handle?.release();
      if (this.plane) this.onRelease();
      this.plane = this.pressed = this.handle = undefined;
    });
    canvas.addEventListener("dblclick", (event) => {
      const place = screen.mousePosition(event);
      if (!this.handleAt(place)) this.onDoubleClick(screen.rayAt(place));
    });
    canvas.addEventListener("pointerup", (event) => this.release(screen.mousePosition(event)));
  }

  /** Take back the drag that is under way, as though it had never begun; tell whether there is. */
  cancel(): boolean {
    const { handle, plane } = this;
    this.plane = this.handle = undefined;
    if (!handle && !plane) return this.cancelTurn();
    this.pressed = undefined; // what follows is no click
    if (handle) handle.cancel();
    else this.onCancel();
    return true;
  }

  private move(event: PointerEvent): void {
    const { screen } = this;
    const place = screen.mousePosition(event);
    if (this.handle && this.hasMoved(place)) this.handle.drag(screen.rayAt(place));
    const target = this.plane && screen.rayAt(place).intersectPlane(this.plane, new Vector3());
    if (target) this.onDrag(target);
    if (!event.buttons) screen.canvas.style.cursor = this.handleAt(place) ? "grab" : "";
  }

  private release(place: Vector2): void {
    if (this.plane) this.onRelease();
    this.plane = undefined;
    if (this.handle) {
      if (this.hasMoved(place)) this.handle.release();
      else this.handle.click();
    } else if (this.pressed && !this.hasMoved(place) && !this.claimsClick()) {
      const grip = this.gripNear(place);
      if (grip || !this.onClick(this.screen.rayAt(place))) this.onPick(grip?.joint);
    }
    this.pressed = this.handle = undefined;
  }

  private press(event: PointerEvent): boolean {
    if (event.button !== 0) return false;
    const { canvas } = this.screen;
    const place = this.screen.mousePosition(event);
    this.handle = this.handleAt(place);
    if (this.handle) {
      canvas.setPointerCapture(event.pointerId);
      return true;
    }
    const grip = this.gripTarget(place) ?? this.gripNear(place);
    if (!grip || !this.onGrip(grip)) return false;
    canvas.setPointerCapture(event.pointerId);
    const facing = this.turntable.camera.getWorldDirection(new Vector3());
    this.plane = new Plane().setFromNormalAndCoplanarPoint(facing, grip.position);
    return true;
  }

  private gripTarget(place: Vector2): Grip | undefined {
    const spot = this.target.position.clone();
    if (!this.target.visible || this.screen.toPixels(spot).distanceTo(place) > NEAR_PX)
      return undefined;
    return { joint: undefined, point: new Vector3(), position: spot };
  }

  /** The joint nearest to a place on the canvas, or the joint of the bone that is. */
  private gripNear(place: Vector2): Grip | undefined {
    const { screen } = this;
    const { positions, rotations } = this.body.world;
    let best: { px: number; grip: Grip } | undefined;
    const offer = (px: number, joint: number, spot: Vector3) => {
      if (px > NEAR_PX || (best && px >= best.px)) return;
      const root = positions[joint] as Vector3;
      const turn = rotations[joint]?.clone().invert();
      const point = spot.clone().sub(root);
      if (turn) point.applyQuaternion(turn);
      best = { px, grip: { joint, point, position: spot } };
    };
    positions.forEach((spot, joint) => {
      offer(screen.toPixels(spot).distanceTo(place) - 4, joint, spot);
    });
    this.body.bones.forEach(({ owner, child }, number) => {
      const tip = this.body.tips[number] as Vector3;
      const root = positions[owner] as Vector3;
      const a = screen.toPixels(root);
      const b = screen.toPixels(tip);
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
  private hasMoved(place: Vector2): boolean {
    return !this.pressed || this.pressed.distanceTo(place) >= CLICK_PX;
  }

  /** The handle at a place on the canvas: of those near it, the one in front; of a ring, the nearest. */
  private handleAt(place: Vector2): Handle | undefined {
    const eye = this.turntable.camera.position;
    const atJoint = this.body.world.positions.some(
      (spot) => this.screen.toPixels(spot).distanceTo(place) <= JOINT_PX,
    );
    const pixels = (handle: Handle) => this.screen.toPixels(handle.position).distanceTo(place);
    return this.listHandles()
      .filter((handle) => !(handle.yields && atJoint) && pixels(handle) <= NEAR_PX)
      .sort((a, b) =>
        a.yields && b.yields
          ? pixels(a) - pixels(b)
          : a.position.distanceTo(eye) - b.position.distanceTo(eye),
      )[0];
  }
}
