/** A unit quaternion, w first. Zero and numbers that are not finite count as the identity. */
export type Rotation = ArrayLike<number>;

/** Load the limits of a `.limits.bin` file. Throws an Error if the file is invalid.
 *
 * `wasm` are the bytes of synovia.wasm, if a bundler has moved it away from index.js.
 */
export function loadLimits(
  bytes: ArrayBuffer | ArrayBufferView,
  options?: { wasm?: BufferSource },
): Promise<Limits>;

/** Limits of a skeleton's joints, addressed by name. An unknown name throws an Error. */
export class Limits {
  private constructor();
  /** All joints of the skeleton, parents before children. */
  readonly joints: string[];
  /** The index of each joint's parent, -1 for a root. */
  readonly parents: number[];
  /** The position of each joint at rest, relative to its parent. */
  readonly offsets: number[][];
  /** The joints that have a limit. */
  readonly limited: string[];
  /** The joint that rotations of `joint` are relative to: its parent or an ancestor; null: the world. */
  measuredFrom(joint: string): string | null;
  /** The joint that the limit of `joint` depends on, or null. Methods for one joint use its own
   * limit; `projectPose` moves both joints to the nearest legal rotations. */
  dependsOn(joint: string): string | null;
  /** Return true if a rotation is legal. */
  contains(joint: string, rotation: Rotation): boolean;
  /** Return the signed distance of a rotation from the limit, in radians of its chart; at most 0 inside. */
  distance(joint: string, rotation: Rotation): number;
  /** Return the nearest legal rotation, written to `out` if given. Legal rotations are unchanged. */
  project<Out extends { [index: number]: number } = number[]>(joint: string, rotation: Rotation, out?: Out): Out;
  /** As `project`, for many rotations of 4 numbers each. */
  projectMany<Out extends { [index: number]: number } = Float64Array>(
    joint: string,
    rotations: ArrayLike<number>,
    out?: Out,
  ): Out;
  /** Return the fraction, from 0 to 1, of the rotation from `previous` to `proposed` that is legal. */
  firstExit(joint: string, previous: Rotation, proposed: Rotation): number;
  /** Project a pose in place: 4 numbers for each joint, relative to its parent. Returns the number of
   * joints that were outside. */
  projectPose(rotations: Float64Array | number[]): number;
  /** As `project`, but a rotation at distance d outside ends radius · tanh(falloff · d) outside. */
  soften<Out extends { [index: number]: number } = number[]>(
    joint: string,
    rotation: Rotation,
    radius: number,
    falloff?: number,
    out?: Out,
  ): Out;
  /** Rotate the joints from `first` down to `last`, in place and within limits, so that `axis` of the
   * last (default z) from `point` in its frame points at `target`. Bone lengths are those at rest.
   * Returns the remaining angle, in radians. */
  lookAt(
    rotations: Float64Array | number[],
    first: string,
    last: string,
    target: ArrayLike<number>,
    options?: { axis?: ArrayLike<number>; point?: ArrayLike<number> },
  ): number;
  /** Move `point` of the joint `end` to `target` with the two bones above it, in place and within
   * limits; the middle joint points towards `pole`. Returns the remaining distance. */
  twoBone(
    rotations: Float64Array | number[],
    end: string,
    target: ArrayLike<number>,
    options?: { point?: ArrayLike<number>; pole?: ArrayLike<number> },
  ): number;
}
