// A limit as Python draws it: the directions of the bone, and the boundary among rotations.

import {
  BufferAttribute,
  BufferGeometry,
  DoubleSide,
  Group,
  Line,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
import { LEGAL, OUTSIDE, type Theme, twistColour } from "./colours";
import type { Typed } from "./numbers";
import { quaternionAt } from "./quaternions";
import type { Answer } from "./socket";

export interface Region {
  family: string;
  chart: string;
  /** Of all rotations. */
  share: number;
  /** What can be typed. */
  numbers: Typed[];
  reference: Quaternion;
  axis: Vector3;
  directions: Float32Array;
  faces: Uint32Array;
  rim: Uint32Array;
  twistDeg: Float32Array;
  /** Least and greatest. */
  span: [number, number];
  corners: Float32Array;
  vectors: Float32Array;
  triangles: Uint32Array;
}

export function regionOf({ header, arrays }: Answer): Region {
  const floats = (name: string) => arrays[name] as Float32Array;
  const whole = (name: string) => arrays[name] as Uint32Array;
  const twistDeg = floats("twistDeg");
  let [least, most] = [Infinity, 0];
  for (const width of twistDeg) {
    least = Math.min(least, width);
    most = Math.max(most, width);
  }
  return {
    family: header["family"] as string,
    chart: header["chart"] as string,
    share: header["share"] as number,
    numbers: header["numbers"] as Typed[],
    reference: quaternionAt(header["reference"] as number[], 0),
    axis: new Vector3(...(header["axis"] as [number, number, number])),
    directions: floats("directions"),
    faces: whole("faces"),
    rim: whole("rim"),
    twistDeg,
    span: [Math.min(least, most), most],
    corners: floats("corners"),
    vectors: floats("vectors"),
    triangles: whole("triangles"),
  };
}

/** The sphere at the joint: where the bone may point, coloured by how far it may twist. */
export class Fan {
  readonly group = new Group();
  private needle: Line;
  private tip: Mesh;
  private inks: LineBasicMaterial;

  constructor(
    readonly region: Region,
    private radius: number,
    theme: Theme,
  ) {
    const shape = new BufferGeometry();
    shape.setAttribute("position", new BufferAttribute(region.directions, 3));
    shape.setIndex(new BufferAttribute(region.faces, 1));
    shape.setAttribute("color", new BufferAttribute(colours(region), 3));
    const painted = new MeshBasicMaterial({
      vertexColors: true,
      side: DoubleSide,
      transparent: true,
      opacity: 0.6,
      depthWrite: false,
    });
    this.inks = new LineBasicMaterial({ color: theme.ink });
    const outline = new BufferGeometry();
    outline.setAttribute("position", shape.getAttribute("position"));
    outline.setIndex(new BufferAttribute(region.rim, 1));
    const ball = new Mesh(
      new SphereGeometry(0.995, 48, 24),
      new MeshBasicMaterial({
        color: theme.ink,
        transparent: true,
        opacity: 0.07,
        depthWrite: false,
      }),
    );
    const needle = new BufferGeometry().setFromPoints([new Vector3(), region.axis]);
    this.needle = new Line(needle, new LineBasicMaterial({ color: LEGAL }));
    this.tip = new Mesh(new SphereGeometry(0.045, 16, 12), new MeshBasicMaterial({ color: LEGAL }));
    this.group.add(ball, new Mesh(shape, painted), new LineSegments(outline, this.inks));
    if (region.corners.length) this.group.add(this.corners());
    this.group.add(this.needle, this.tip);
    this.group.scale.setScalar(this.radius);
  }

  private corners(): Group {
    const dots = new Group();
    const dot = new SphereGeometry(0.022, 10, 8);
    for (let i = 0; i < this.region.corners.length; i += 3) {
      const mesh = new Mesh(dot, new MeshBasicMaterial({ color: this.inks.color }));
      mesh.position.fromArray(this.region.corners, i);
      dots.add(mesh);
    }
    return dots;
  }

  /** Put it at a joint that is turned by `turn` as seen from where it is measured, `above`. */
  place(position: Vector3, above: Quaternion, turn: Quaternion, outside: boolean): void {
    this.group.position.copy(position);
    this.group.quaternion.copy(above).multiply(this.region.reference);
    const local = this.region.reference.clone().invert().multiply(turn);
    const direction = this.region.axis.clone().applyQuaternion(local);
    this.needle.geometry.setFromPoints([new Vector3(), direction]);
    this.tip.position.copy(direction);
    const colour = outside ? OUTSIDE : LEGAL;
    (this.needle.material as LineBasicMaterial).color.set(colour);
    (this.tip.material as MeshBasicMaterial).color.set(colour);
  }
}

function colours({ twistDeg, span: [least, most] }: Region): Float32Array {
  const flat = new Float32Array(3 * twistDeg.length);
  twistDeg.forEach((width, i) => {
    twistColour(most > least ? (width - least) / (most - least) : 0).toArray(flat, 3 * i);
  });
  return flat;
}
