// The mouse over the view: picking joints, and dragging joints and handles.

import { type Mesh, Plane, type Ray, type Vector2, Vector3 } from "three";
import type { Body } from "./body";
import type { Screen, Turntable } from "./camera";

const NEAR_PX = 14; // distance at which a joint or handle is hit
const CLICK_PX = 4; // longer moves are drags
const JOINT_PX = 9; // at a joint, rings are not hit

/** What the mouse holds: a joint, the tip of one of its bones, or the ball to look at. */
export interface Grip {
  /** Undefined for the ball. */
  joint: number | undefined;
  /** The point that is held, in the joint's frame. */
  point: Vector3;
  position: Vector3;
}

/** Something other than a joint that can be dragged or clicked. */
export interface Handle {
  /** In the world. */
  position: Vector3;
  /** Follow the ray of the mouse into the scene. */
  drag(ray: Ray): void;
  /** End the drag. */
  release(): void;
  /** Revert the drag. */
  cancel(): void;
  /** True if a joint at the same pixel goes first. */
  yields?: boolean;
  click(): void;
}

/** A handle at a position that moves; `onDrop` and `onCancel` of a listener end its drag. */
export function createHandle(
  position: () => Vector3,
  drag: (ray: Ray) => void,
  listener: { onDrop(): void; onCancel(): void },
  click = () => {},
): Handle {
  return {
    get position() {
      return position();
    },
    drag,
    release: () => listener.onDrop(),
    cancel: () => listener.onCancel(),
    click,
  };
}

export class Pointer {
  onPick: (joint: number | undefined) => void = () => {};
  /** Called when a drag begins on a joint; if it returns false, the view rotates instead. */
  onGrip: (grip: Grip) => boolean = () => false;
  onDrag: (target: Vector3) => void = () => {};
  /** Called when the drag of a joint ends, or is reverted. */
  onRelease: () => void = () => {};
  onCancel: () => void = () => {};
  listHandles: () => Handle[] = () => [];
  /** Called first for clicks; if it returns true, they are not for joints. */
  claimsClick: () => boolean = () => false;
  /** Called for clicks beside all joints; if it returns true, the picked joint stays. */
  onClick: (ray: Ray) => boolean = () => false;
  onDoubleClick: (ray: Ray) => void = () => {};
  private pressed: Vector2 | undefined;
  private plane: Plane | undefined;
  private handle: Handle | undefined;

  constructor(
    private screen: Screen,
    private turntable: Turntable,
    private body: Body,
    /** The ball that a joint can look at. */
    private target: Mesh,
  ) {
    const { canvas } = screen;
    turntable.claims = (event) => this.press(event);
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
      const pixel = screen.mousePosition(event);
      if (!this.handleAt(pixel)) this.onDoubleClick(screen.rayAt(pixel));
    });
    canvas.addEventListener("pointerup", (event) => this.release(screen.mousePosition(event)));
  }

  /** Revert the drag; return whether there was one. */
  cancel(): boolean {
    const { handle, plane } = this;
    this.plane = this.handle = undefined;
    if (!handle && !plane) return this.turntable.cancel();
    this.pressed = undefined; // the release is no click
    if (handle) handle.cancel();
    else this.onCancel();
    return true;
  }

  private move(event: PointerEvent): void {
    const { screen } = this;
    const pixel = screen.mousePosition(event);
    if (this.handle && this.hasMoved(pixel)) this.handle.drag(screen.rayAt(pixel));
    const target = this.plane && screen.rayAt(pixel).intersectPlane(this.plane, new Vector3());
    if (target) this.onDrag(target);
    if (!event.buttons) screen.canvas.style.cursor = this.handleAt(pixel) ? "grab" : "";
  }

  private release(pixel: Vector2): void {
    if (this.plane) this.onRelease();
    this.plane = undefined;
    if (this.handle) {
      if (this.hasMoved(pixel)) this.handle.release();
      else this.handle.click();
    } else if (this.pressed && !this.hasMoved(pixel) && !this.claimsClick()) {
      const grip = this.gripNear(pixel);
      if (grip || !this.onClick(this.screen.rayAt(pixel))) this.onPick(grip?.joint);
    }
    this.pressed = this.handle = undefined;
  }

  private press(event: PointerEvent): boolean {
    if (event.button !== 0) return false;
    const { canvas } = this.screen;
    const pixel = this.screen.mousePosition(event);
    this.handle = this.handleAt(pixel);
    if (this.handle) {
      canvas.setPointerCapture(event.pointerId);
      return true;
    }
    const grip = this.gripTarget(pixel) ?? this.gripNear(pixel);
    if (!grip || !this.onGrip(grip)) return false;
    canvas.setPointerCapture(event.pointerId);
    const facing = this.turntable.camera.getWorldDirection(new Vector3());
    this.plane = new Plane().setFromNormalAndCoplanarPoint(facing, grip.position);
    return true;
  }

  private gripTarget(pixel: Vector2): Grip | undefined {
    const spot = this.target.position.clone();
    if (!this.target.visible || this.screen.toPixels(spot).distanceTo(pixel) > NEAR_PX)
      return undefined;
    return { joint: undefined, point: new Vector3(), position: spot };
  }

  /** The joint nearest to a pixel, or the joint whose bone is. */
  private gripNear(pixel: Vector2): Grip | undefined {
    const { screen } = this;
    const { positions, rotations } = this.body.world;
    let best: { px: number; grip: Grip } | undefined;
    const offer = (px: number, joint: number, spot: Vector3) => {
      if (px > NEAR_PX || (best && px >= best.px)) return;
      const root = positions[joint] as Vector3;
      const inverse = rotations[joint]?.clone().invert();
      const point = spot.clone().sub(root);
      if (inverse) point.applyQuaternion(inverse);
      best = { px, grip: { joint, point, position: spot } };
    };
    positions.forEach((spot, joint) => {
      offer(screen.toPixels(spot).distanceTo(pixel) - 4, joint, spot);
    });
    this.body.bones.forEach(({ owner, child }, number) => {
      const tip = this.body.tips[number] as Vector3;
      const root = positions[owner] as Vector3;
      const a = screen.toPixels(root);
      const b = screen.toPixels(tip);
      const bone = b.clone().sub(a);
      // Seen from its end, a bone is a point.
      const along = pixel.clone().sub(a).dot(bone) / (bone.lengthSq() || 1);
      const share = Math.min(Math.max(along, 0), 1);
      const px = a.addScaledVector(bone, share).distanceTo(pixel);
      const spot = child === undefined && share > 0.7 ? tip : root;
      offer(px, owner, spot);
    });
    return best?.grip;
  }

  /** True if the mouse has moved since it was pressed: a drag, not a click. */
  private hasMoved(pixel: Vector2): boolean {
    return !this.pressed || this.pressed.distanceTo(pixel) >= CLICK_PX;
  }

  /** The foremost handle near a pixel; for a ring, its nearest point. */
  private handleAt(pixel: Vector2): Handle | undefined {
    const eye = this.turntable.camera.position;
    const atJoint = this.body.world.positions.some(
      (spot) => this.screen.toPixels(spot).distanceTo(pixel) <= JOINT_PX,
    );
    const pixels = (handle: Handle) => this.screen.toPixels(handle.position).distanceTo(pixel);
    return this.listHandles()
      .filter((handle) => !(handle.yields && atJoint) && pixels(handle) <= NEAR_PX)
      .sort((a, b) =>
        a.yields && b.yields
          ? pixels(a) - pixels(b)
          : a.position.distanceTo(eye) - b.position.distanceTo(eye),
      )[0];
  }
}
