// Ground, lights and shadow.

import {
  AmbientLight,
  DirectionalLight,
  GridHelper,
  Group,
  HemisphereLight,
  type LineBasicMaterial,
  Mesh,
  MeshBasicMaterial,
  PlaneGeometry,
  type Quaternion,
  RingGeometry,
  ShadowMaterial,
  Vector3,
} from "three";
import type { Theme } from "./colours";

const SHADOW_PX = 1024;

export class Scenery {
  readonly group = new Group();
  private ground: GridHelper;
  private shade: Mesh<PlaneGeometry, ShadowMaterial>;
  /** From above, so that the shadow is below the body. */
  private overhead = new DirectionalLight("#ffffff", 0.7);
  private balance: Mesh<RingGeometry, MeshBasicMaterial>;
  private cell: number;
  private key = new DirectionalLight("#fff4e6", 2.1);
  private rim = new DirectionalLight("#cfe4ff", 2.4);

  /** For a body of `size`; `upright` rotates y to the world's up axis. */
  constructor(
    private size: number,
    private upright: Quaternion,
  ) {
    this.cell = 10 ** Math.round(Math.log10(size / 4));
    const sky = new HemisphereLight("#ffffff", "#6f7a85", 0.75);
    sky.position.applyQuaternion(upright);
    this.ground = this.createGrid();
    this.ground.quaternion.copy(upright);
    this.shade = new Mesh(
      new PlaneGeometry(6 * size, 6 * size),
      new ShadowMaterial({ opacity: 0.2, depthWrite: false }),
    );
    this.shade.rotation.x = -Math.PI / 2;
    this.shade.quaternion.premultiply(upright);
    this.shade.receiveShadow = true;
    this.balance = new Mesh(
      new RingGeometry(0.022 * size, 0.032 * size, 32).rotateX(-Math.PI / 2),
      new MeshBasicMaterial({ depthTest: false, transparent: true }),
    );
    this.balance.quaternion.copy(upright);
    this.balance.renderOrder = 4;
    this.balance.visible = false;
    this.castFromAbove();
    this.group.add(this.balance, sky, new AmbientLight("#ffffff", 0.18), this.ground, this.shade);
    this.group.add(this.key, this.rim, this.overhead, this.overhead.target);
  }

  set hasShadow(isOn: boolean) {
    this.overhead.castShadow = this.shade.visible = isOn;
  }

  /** Place the key light at the upper left of the camera, and the rim light behind the body. */
  lightFrom(view: Quaternion): void {
    this.key.position.set(-0.75, 0.85, 0.8).applyQuaternion(view);
    this.rim.position.set(0.9, 0.45, -0.75).applyQuaternion(view);
  }

  private castFromAbove(): void {
    const { shadow } = this.overhead;
    const reach = 1.1 * this.size;
    this.overhead.castShadow = true;
    shadow.mapSize.set(SHADOW_PX, SHADOW_PX);
    shadow.radius = 6;
    shadow.bias = -0.002;
    Object.assign(shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach });
    Object.assign(shadow.camera, { near: 0.01 * this.size, far: 6 * this.size });
    shadow.camera.updateProjectionMatrix();
  }

  /** Place the ground at a height along the up axis, below a position. */
  setGround(up: "y" | "z", height: number, position: Vector3): void {
    const below = position.clone();
    below[up] = height;
    this.shade.position.copy(below);
    this.overhead.target.position.copy(below);
    const above = new Vector3(0.1, 3, 0.12).multiplyScalar(this.size).applyQuaternion(this.upright);
    this.overhead.position.copy(below).add(above);
    // Lines keep their positions in the world, so that the body's motion is seen.
    for (const axis of ["x", "y", "z"] as const)
      if (axis !== up) below[axis] = this.cell * Math.round(below[axis] / this.cell);
    this.ground.position.copy(below);
  }

  /** Mark a position on the ground with a ring, or hide the mark. */
  markBalance(position: Vector3 | undefined, colour: string): void {
    this.balance.visible = position !== undefined;
    if (position) this.balance.position.copy(position);
    this.balance.material.color.set(colour);
  }

  setTheme(theme: Theme): void {
    (this.ground.material as LineBasicMaterial).dispose();
    const fresh = this.createGrid(theme.line);
    fresh.position.copy(this.ground.position);
    fresh.quaternion.copy(this.ground.quaternion);
    this.group.remove(this.ground);
    this.ground = fresh;
    this.group.add(fresh);
    this.shade.material.opacity = theme.shade;
  }

  private createGrid(colour?: string): GridHelper {
    return new GridHelper(20 * this.cell, 20, colour, colour);
  }
}
