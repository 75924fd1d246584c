/** A unit quaternion, w first. What is no rotation counts as the identity. */
export type Rotation = ArrayLike<number>;

/** The limits in a `.limits.bin` file, checked; throws an Error that says what is wrong with it.
 *
 * `wasm` are the bytes of synovia.wasm, where a bundler has put it elsewhere than beside index.js.
 */
export function loadLimits(
  bytes: ArrayBuffer | ArrayBufferView,
  options?: { wasm?: BufferSource },
): Promise<Limits>;

/** Limits of a skeleton's joints. Joints go by name; an unknown one is an Error. */
export class Limits {
  private constructor();
  /** All joints of the skeleton, parents before children. */
  readonly joints: string[];
  /** The number of each joint's parent, -1 for a root. */
  readonly parents: number[];
  /** Where each joint is at rest, as its parent sees it. */
  readonly offsets: number[][];
  /** The joints that have a limit. */
  readonly limited: string[];
  /** The joint that rotations of `joint` are seen from: its parent, or an ancestor; null: the world. */
  measuredFrom(joint: string): string | null;
  /** The joint that the limit of `joint` depends on, null if on none. Questions about one joint are
   * answered by what it may do at all; `projectPose` moves both to the nearest legal rotations. */
  dependsOn(joint: string): string | null;
  /** Whether a rotation is legal. */
  contains(joint: string, rotation: Rotation): boolean;
  /** How far outside a rotation is, in radians of the limit's chart; at most 0 inside. */
  distance(joint: string, rotation: Rotation): number;
  /** The nearest legal rotation, written to `out` if that is given; a legal one bit for bit. */
  project<Out extends { [index: number]: number } = number[]>(joint: string, rotation: Rotation, out?: Out): Out;
  /** The same for many, 4 numbers each. */
  projectMany<Out extends { [index: number]: number } = Float64Array>(
    joint: string,
    rotations: ArrayLike<number>,
    out?: Out,
  ): Out;
  /** The largest t from 0 to 1 with the turn from `previous` to `proposed` legal before it. */
  firstExit(joint: string, previous: Rotation, proposed: Rotation): number;
  /** Make a pose legal in place: 4 numbers for each joint, as its parent sees it. Returns how many
   * joints were outside. */
  projectPose(rotations: Float64Array | number[]): number;
  /** As `project`, softly: what is d outside ends radius · tanh(falloff · d) outside. */
  soften<Out extends { [index: number]: number } = number[]>(
    joint: string,
    rotation: Rotation,
    radius: number,
    falloff?: number,
    out?: Out,
  ): Out;
  /** Turn the joints from `first` down to `last` until `axis` of the last (z), which starts at
   * `point` of its frame, points at `target`. In place, and legal as a whole; bones are as at rest.
   * Returns the angle that is left, in radians. */
  lookAt(
    rotations: Float64Array | number[],
    first: string,
    last: string,
    target: ArrayLike<number>,
    options?: { axis?: ArrayLike<number>; point?: ArrayLike<number> },
  ): number;
  /** Bring `point` of the joint `end` to `target` by the two bones above it, the middle joint
   * towards the direction `pole`. In place, and legal as a whole. Returns how far it is off. */
  twoBone(
    rotations: Float64Array | number[],
    end: string,
    target: ArrayLike<number>,
    options?: { point?: ArrayLike<number>; pole?: ArrayLike<number> },
  ): number;
}
