// The canvas of the view, in pixels: where points of the world are on it, and what is under one.

import { type Ray, Raycaster, Vector2, type Vector3 } from "three";
import type { Turntable } from "./camera";

export class Screen {
  constructor(
    readonly canvas: HTMLCanvasElement,
    private table: Turntable,
  ) {}

  /** Where a point of the world is on the canvas. */
  pixel(point: Vector3): Vector2 {
    const { x, y } = point.clone().project(this.table.camera);
    const { clientWidth, clientHeight } = this.canvas;
    return new Vector2(0.5 * (1 + x) * clientWidth, 0.5 * (1 - y) * clientHeight);
  }

  /** Where the mouse is on the canvas. */
  at(event: MouseEvent): Vector2 {
    const { left, top } = this.canvas.getBoundingClientRect();
    return new Vector2(event.clientX - left, event.clientY - top);
  }

  /** The ray into the scene under a place on the canvas. */
  ray(place: Vector2): Ray {
    const { clientWidth, clientHeight } = this.canvas;
    const caster = new Raycaster();
    const screen = new Vector2((2 * place.x) / clientWidth - 1, 1 - (2 * place.y) / clientHeight);
    caster.setFromCamera(screen, this.table.camera);
    return caster.ray;
  }
}
