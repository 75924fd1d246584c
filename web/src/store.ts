// The state of the page: signals that views subscribe to, and what is derived from them.

import { batch, computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { Quaternion } from "three";
import { recall } from "./browser";
import type { Clip, Pose } from "./clip";
import { type Connection, Latest } from "./connection";
import { type MadePose, PoseHistory } from "./pose/history";
import { forwardKinematics, measuredRotation, type WorldPose } from "./pose/kinematics";
import type { ExportRequest, Hinge, PoseRequest, Repaired, State, Why } from "./protocol";
import type { Style } from "./stage/body";
import { THEMES } from "./stage/colours";
import type { Slice } from "./stage/cone";
import type { Region } from "./stage/region";
import type { JointSphere } from "./stage/sphere";
import { saveBlob } from "./ui";

export type Mode = "look" | "try" | "edit" | "controls";

/** Frames that are seen in the time line, both included. */
export interface TimeWindow {
  first: number;
  last: number;
}

/** Degrees outside by frame and limited joint, with the joints that they are of. */
export interface Checked {
  joints: number[];
  outsideDeg: Float32Array;
}

const ROUNDING_DEG = 1e-4; // smaller angles are rounding errors

export class Store {
  /** Limits and file, as all pages of this server know them. */
  readonly state: Signal<State>;
  /** Counts changes of limits that are complete: views ask again for what depends on them. */
  readonly edition = signal(0);
  readonly mode = signal<Mode>("look");
  readonly picked = signal<number | undefined>(undefined);
  readonly frame = signal(0);
  readonly isPlaying = signal(false);
  readonly window: Signal<TimeWindow>;
  readonly themeName = signal<"light" | "dark">("light");
  readonly style = signal<Style>("body");
  readonly styles = signal<Style[]>(["body", "bones"]);
  /** True where drawing is slow: sticks without a shadow, in fewer pixels. */
  readonly isCheap = signal(false);
  /** False once the user wanted the body in spite of that. */
  mayBeCheap = recall("simple") !== "never";
  /** Degrees outside by frame and limited joint, with the joints that they are of. */
  readonly check = signal<Checked | undefined>(undefined);
  /** The same, without joints while it is unknown. */
  readonly checked = computed(
    () => this.check.value ?? { joints: [], outsideDeg: new Float32Array() },
  );
  /** The repaired clip, and whether it is shown in place of the clip. */
  readonly repaired = signal<Repaired | undefined>(undefined);
  readonly showsRepaired = signal(false);
  /** True while the clip is shown beside the repaired one. */
  readonly showsBoth = signal(false);
  private checkBefore: Checked | undefined;
  readonly history = new PoseHistory();
  /** Joints that keep the target of a drag out of reach. */
  readonly blocking = signal<number[]>([]);
  /** The picked joint's limit, and the part of it that is legal while its driver is as it is. */
  readonly region = signal<Region | undefined>(undefined);
  readonly regionHere = signal<Region | undefined>(undefined);
  /** The sphere that shows `region` in the view. */
  readonly sphere = signal<JointSphere | undefined>(undefined);
  /** The slice of a reach cone that the picked joint's bone is in. */
  readonly slice = signal<Slice | undefined>(undefined);
  /** The ends of a hinge that depends on another joint, in the present pose. */
  readonly hingeHere = signal<Hinge | undefined>(undefined);
  /** True while a map of the driver's directions replaces the sphere. */
  readonly hasMap = signal(false);
  /** True while the sphere is coloured by the difference from another limit. */
  readonly isCompared = signal(false);
  /** Why the picked joint is outside. */
  readonly why = signal<Why | undefined>(undefined);
  /** How the clip is clamped, as `synovia clamp --soften` takes it; null is hard. */
  readonly soften = signal<string | null>(null);

  readonly limited: ReadonlySignal<number[]>;
  readonly theme = computed(() => THEMES[this.themeName.value]);
  readonly pose: ReadonlySignal<Pose>;
  readonly world: ReadonlySignal<WorldPose>;
  /** Degrees outside by joint in the pose; joints inside are left out, negative is unusual. */
  readonly outside: ReadonlySignal<Map<number, number>>;
  /** Degrees outside of the picked joint. */
  readonly pickedOutsideDeg: ReadonlySignal<number>;
  /** The picked joint's name, if it has a limit with a region. */
  readonly pickedName: ReadonlySignal<string | undefined>;
  /** The joint that the picked joint's limit depends on; -1 for none. */
  readonly driver: ReadonlySignal<number>;
  private assessing = new Latest(() => this.requestOutside());

  constructor(
    readonly clip: Clip,
    readonly connection: Connection,
    state: State,
    /** True for a page that was exported: it is read only. */
    readonly isRecorded: boolean,
  ) {
    this.state = signal(state);
    this.window = signal({ first: 0, last: clip.frames - 1 });
    this.limited = computed(() => this.state.value.limited);
    this.pose = computed(() => this.history.present.value?.pose ?? this.clipPose(this.frame.value));
    this.world = computed(() => forwardKinematics(clip.skeleton, this.pose.value));
    this.outside = computed(() => this.findOutside());
    this.pickedOutsideDeg = computed(() => this.outside.value.get(this.picked.value ?? -1) ?? 0);
    this.pickedName = computed(() => {
      const { value } = this.picked;
      return this.hasRegion(value) ? this.nameOf(value) : undefined;
    });
    this.driver = computed(() => this.state.value.drivers[this.picked.value ?? -1] ?? -1);
    effect(() => {
      const result = this.repaired.value;
      const before = this.checkBefore;
      if (!result || !before) return;
      const after = { joints: before.joints, outsideDeg: result.outsideDeg };
      this.check.value = this.showsRepaired.value ? after : before;
    });
    effect(() => {
      if (this.edition.value === 0) return; // other limits need another repair
      batch(() => {
        this.repaired.value = undefined;
        this.showsRepaired.value = this.showsBoth.value = false;
      });
    });
  }

  /** The pose of a frame: of the clip, or of the repaired one while that is shown. */
  clipPose(frame: number): Pose {
    const pose = this.clip.pose(frame);
    const result = this.repaired.value;
    if (!result || !this.showsRepaired.value) return pose;
    const { moving, rotations, positions } = result;
    const count = this.clip.skeleton.names.length;
    moving.forEach((joint, index) => {
      const start = 3 * (frame * moving.length + index);
      pose.positions.set(positions.subarray(start, start + 3), 3 * joint);
    });
    const start = 4 * count * frame;
    return { rotations: rotations.slice(start, start + 4 * count), positions: pose.positions };
  }

  /** Show a repaired clip in place of the clip. */
  showRepaired(result: Repaired): void {
    if (!this.showsRepaired.peek()) this.checkBefore = this.check.peek();
    batch(() => {
      this.repaired.value = result;
      this.showsRepaired.value = true;
    });
  }

  /** True if the skeleton is recognised as a human's. */
  get isHuman(): boolean {
    return this.clip.skeleton.commonNames.some((name) => name !== "");
  }

  nameOf(joint: number | undefined): string {
    return this.clip.skeleton.names[joint ?? -1] ?? "";
  }

  /** True if a joint has a limit of its own, which can be drawn. */
  hasRegion(joint: number | undefined): joint is number {
    if (joint === undefined || !this.limited.value.includes(joint)) return false;
    return !this.state.value.grouped.includes(joint);
  }

  /** True if the picked joint has a driver and there is a server to ask about it. */
  get isDependent(): boolean {
    return this.driver.value >= 0 && !this.isRecorded;
  }

  /** The joint that a joint's limit is measured from; -1 for the world. */
  measuredFrom(joint: number): number {
    return this.state.value.measuredFrom[joint] ?? -1;
  }

  /** A joint's rotation relative to the joint that its limit is measured from. */
  measuredRotation(joint = this.picked.value ?? 0, pose = this.pose.value): Quaternion {
    const { skeleton } = this.clip;
    return measuredRotation(skeleton, this.measuredFrom(joint), pose.rotations, joint);
  }

  /** The rotation in the world that a joint's limit is measured from. */
  baseRotation(joint = this.picked.value ?? -1): Quaternion {
    return this.world.value.rotations[this.measuredFrom(joint)] ?? new Quaternion();
  }

  /** A pose as requests have it; the pose that is shown, unless another is given. */
  poseRequest({ rotations, positions }: Pose = this.pose.peek()): Required<PoseRequest> & {
    positions: number[];
  } {
    return {
      frame: this.frame.peek(),
      rotations: [...rotations],
      positions: [...positions],
    };
  }

  /** The pose that is shown, with what is known about it. */
  currentPose(): MadePose {
    const { pose, outside, history } = this;
    const shown = { pose: pose.peek(), outside: outside.peek(), values: undefined };
    return history.present.peek() ?? shown;
  }

  /** Angles in the order of limited joints, by joint. */
  byJoint(outsideDeg: ArrayLike<number>, joints = this.limited.peek()): Map<number, number> {
    return new Map(joints.map((joint, index) => [joint, outsideDeg[index] ?? 0]));
  }

  /** The clip's own pose beside the repaired one, with its degrees outside by joint. */
  get poseBefore(): MadePose | undefined {
    if (!this.showsBoth.value || this.history.present.value) return undefined;
    const [pose, outside] = [
      this.clip.pose(this.frame.value),
      this.anglesAt(this.checkBefore, this.frame.value),
    ];
    return { pose, outside, values: undefined };
  }

  /** Degrees outside by joint in a frame. */
  private anglesAt(check: Checked | undefined, frame: number): Map<number, number> {
    const { joints, outsideDeg } = check ?? { joints: [], outsideDeg: new Float32Array() };
    const first = frame * joints.length;
    return this.byJoint(outsideDeg.subarray(first, first + joints.length), joints);
  }

  private findOutside(): Map<number, number> {
    const present = this.history.present.value;
    const known = present
      ? (present.outside ?? new Map<number, number>())
      : this.anglesAt(this.check.value, this.frame.value);
    const limited = this.limited.value;
    return new Map(
      [...known].filter(
        ([joint, angle]) => Math.abs(angle) > ROUNDING_DEG && limited.includes(joint),
      ),
    );
  }

  /** Let the browser download a file that Python makes; return its name. */
  async download(request: ExportRequest): Promise<string> {
    const { name, content } = await this.connection.ask("export", request);
    saveBlob(name, new Blob([content]));
    return name;
  }

  /** Ask how far a made pose is outside the present limits. */
  assessPose(): Promise<void> {
    return this.assessing.send(undefined);
  }

  private async requestOutside(): Promise<void> {
    const { present } = this.history;
    const made = present.peek();
    if (!made) return;
    const { outsideDeg } = await this.connection.ask("outside", this.poseRequest(made.pose));
    const now = present.peek();
    if (now?.pose === made.pose) present.value = { ...now, outside: this.byJoint(outsideDeg) };
  }
}
