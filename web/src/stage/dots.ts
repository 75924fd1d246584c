// Observed rotations as dots in the colours of their performers, and the dot under the mouse.

import {
  BufferGeometry,
  type Camera,
  CanvasTexture,
  Color,
  Float32BufferAttribute,
  Points,
  PointsMaterial,
  type Quaternion,
  type Vector3,
} from "three";

const NEAR_PX = 7; // a dot is hit within this distance
const UNDER_PX = 2.5; // within this distance, the foremost dot is hit
/** Distinct for most kinds of colour vision; none has another meaning in the page. */
const COLOURS = [
  "#3b7dd8",
  "#ef8a17",
  "#8c5fd0",
  "#74a12e",
  "#e377c2",
  "#a0694b",
  "#17a2c9",
  "#c2a500",
];
/** Difference of further hues: the golden ratio spreads them evenly. */
const GOLDEN = 0.618034;

export const performerColour = (number: number): string =>
  COLOURS[number] ??
  `#${new Color().setHSL((number * GOLDEN) % 1, 0.55, 0.5 + 0.08 * (number % 3)).getHexString()}`;

/** An observed rotation with its source. */
export interface Sample {
  rotation: Quaternion;
  /** The index of the performer; -1 for the clip that is shown. */
  performer: number;
  clip: string;
  frame: number;
}

export class SampleDots {
  readonly points: Points<BufferGeometry, PointsMaterial>;
  private samples: Sample[] = [];
  private positions: Vector3[] = [];

  constructor(size: number) {
    const look = { size, sizeAttenuation: false, vertexColors: true };
    this.points = new Points(
      new BufferGeometry(),
      new PointsMaterial({ ...look, map: createDisc(), transparent: true, depthWrite: false }),
    );
    this.points.renderOrder = 1; // above transparent parts behind them
  }

  /** Show samples; return their positions. Those of the clip have the colour `ink`. */
  show(samples: Sample[], positionOf: (rotation: Quaternion) => Vector3, ink: string): Vector3[] {
    this.samples = samples;
    this.positions = samples.map(({ rotation }) => positionOf(rotation));
    const { material } = this.points;
    this.points.geometry.dispose();
    // A new geometry: an old one would show at most as many points as before.
    const geometry = new BufferGeometry().setFromPoints(this.positions);
    this.points.geometry = geometry;
    const colour = new Color();
    const colours = samples.flatMap(({ performer }) =>
      colour.set(performer < 0 ? ink : performerColour(performer)).toArray(),
    );
    geometry.setAttribute("color", new Float32BufferAttribute(colours, 3));
    material.opacity = samples.some(({ performer }) => performer >= 0) ? 0.9 : 0.5;
    return this.positions;
  }

  /** The foremost sample under the mouse, or the nearest one. */
  sampleAt({ offsetX, offsetY }: MouseEvent, camera: Camera, canvas: HTMLElement) {
    const { clientWidth, clientHeight } = canvas;
    let found: { rank: number; sample: Sample } | undefined;
    for (const [number, sample] of this.samples.entries()) {
      const place = this.points.localToWorld((this.positions[number] as Vector3).clone());
      const { x, y, z } = place.project(camera);
      const across = (0.5 + 0.5 * x) * clientWidth - offsetX;
      const down = (0.5 - 0.5 * y) * clientHeight - offsetY;
      const px = Math.hypot(across, down);
      if (px > NEAR_PX || z > 1) continue;
      const rank = px <= UNDER_PX ? z - 1 : px;
      if (!found || rank < found.rank) found = { rank, sample };
    }
    return found?.sample;
  }
}

let disc: CanvasTexture | undefined;

/** The texture that makes dots round. */
function createDisc(): CanvasTexture {
  if (disc) return disc;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 32;
  const pen = canvas.getContext("2d");
  if (pen) {
    pen.fillStyle = "#fff";
    pen.arc(16, 16, 15, 0, 7);
    pen.fill();
  }
  disc = new CanvasTexture(canvas);
  return disc;
}
