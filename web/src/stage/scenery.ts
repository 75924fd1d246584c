// What the body stands on and is lit by.

import {
  AmbientLight,
  DirectionalLight,
  GridHelper,
  Group,
  HemisphereLight,
  type LineBasicMaterial,
  type Quaternion,
} from "three";
import type { Theme } from "./colours";

export class Scenery {
  readonly group = new Group();
  private ground: GridHelper;

  /** For a body of this size, in a world that is turned so from y up. */
  constructor(
    private size: number,
    upright: Quaternion,
  ) {
    const key = new DirectionalLight("#ffffff", 2.2);
    key.position.set(3, 5, 4);
    const back = new DirectionalLight("#cfe4ff", 0.8);
    back.position.set(-4, 2, -5);
    const sky = new HemisphereLight("#ffffff", "#8a97a3", 1.1);
    for (const each of [key, back, sky]) each.position.applyQuaternion(upright);
    this.ground = this.createGrid();
    this.ground.quaternion.copy(upright);
    this.group.add(key, back, sky, new AmbientLight("#ffffff", 0.25), this.ground);
  }

  /** Put the ground at this height along the axis that is up. */
  setGroundHeight(up: "y" | "z", height: number): void {
    this.ground.position.set(0, 0, 0)[up] = height;
  }

  setTheme(theme: Theme): void {
    (this.ground.material as LineBasicMaterial).dispose();
    const fresh = this.createGrid(theme.line);
    fresh.position.copy(this.ground.position);
    fresh.quaternion.copy(this.ground.quaternion);
    this.group.remove(this.ground);
    this.ground = fresh;
    this.group.add(fresh);
  }

  private createGrid(colour?: string): GridHelper {
    const cell = 10 ** Math.round(Math.log10(this.size / 4));
    return new GridHelper(20 * cell, 20, colour, colour);
  }
}
