// The limit of the picked joint as it is shown: at the joint, in the panel, in what edits it.

import { Quaternion, Vector3 } from "three";
import type { Clip } from "./clip";
import type { Connection } from "./connection";
import type { Editing } from "./edit/editing";
import type { Families } from "./edit/families";
import type { Modes } from "./modes";
import { RegionHere } from "./panel/here";
import type { JointPanel } from "./panel/joint";
import { quaternionAt } from "./pose/kinematics";
import type { Hinge, PoseRequest, Why } from "./protocol";
import { type Region, regionFrom } from "./stage/region";
import { JointSphere } from "./stage/sphere";
import type { Stage } from "./stage/stage";

export class LimitView {
  private joint: number | undefined;
  sphere: JointSphere | undefined;
  /** The one axis that the picked joint turns about, where that is known. */
  hinge: Hinge | null = null;
  /** The whole limit, whatever a driver does. */
  private region: Region | undefined;
  private here: RegionHere;

  constructor(
    private clip: Clip,
    private connection: Connection,
    private stage: Stage,
    private panel: JointPanel,
    private editing: Editing,
    private families: Families,
    private modes: Modes,
    /** Told of a new picture, which does not know yet how the joint is turned. */
    private onShown: () => void,
    /** Told when it is known what was observed of the joint. */
    private onObserved: () => void,
    pose: () => PoseRequest,
  ) {
    this.here = new RegionHere(clip, connection, pose, (region) => this.showHere(region));
  }

  /** Show the limit of another joint, if it has one. */
  pick(joint: number | undefined): void {
    this.joint = joint;
    this.hinge = null;
    this.clear();
    this.here.pick(joint);
    this.panel.showHere(undefined);
    if (this.isLimited) {
      this.modes.setEditState("coming");
      void this.refresh();
    } else this.modes.setEditState(joint === undefined ? "nothing" : "none");
  }

  /** Whether the picked joint has a limit. */
  get isLimited(): boolean {
    return this.clip.hasRegion(this.joint);
  }

  /** Of the sphere that is drawn. */
  get radius(): number | undefined {
    return this.sphere?.radius;
  }

  /** Ask for the limit as it is now. */
  async refresh(): Promise<void> {
    const { joint } = this;
    if (joint === undefined) return;
    const name = this.clip.skeleton.names[joint] ?? "";
    const matters = () => this.joint === joint && this.isLimited;
    const answer = await this.connection.askWhile(matters, "region", { joint: name });
    if (answer && this.joint === joint) this.show(regionFrom(answer));
  }

  /** The colours are others now. */
  updateTheme(): void {
    if (this.sphere) void this.refresh();
  }

  show(whole: Region): void {
    const { joint } = this;
    if (joint === undefined) return;
    // Colours of what depends on another joint are for the same twists wherever that is.
    const most = whole.twistSpan[1];
    const region: Region = this.here.isAvailable ? { ...whole, twistSpan: [0, most] } : whole;
    this.region = region;
    this.hinge = region.hinge;
    const { body, theme } = this.stage;
    const radius = body.sphereRadius(joint);
    if (this.sphere?.radius === radius && this.sphere.theme === theme) this.sphere.show(region);
    else {
      this.clear();
      this.sphere = new JointSphere(region, radius, theme);
      this.stage.jointGroup.add(this.sphere.group);
    }
    this.sphere.setDependent(this.here.isAvailable);
    if (!this.here.isAvailable) this.panel.showHere(undefined);
    const kind = region.hinge ? "hinge" : region.sculptable ? "field" : "other";
    this.modes.setEditState(region.outline ? "cone" : kind);
    this.editing.show(region, this.sphere);
    this.families.show(region);
    this.panel.show(region, joint, theme, () => this.onObserved());
    this.here.pick(joint);
    this.onShown();
  }

  /** Show what is legal now, where the joint depends on another one. */
  private showHere(here: Region): void {
    const { region, sphere } = this;
    if (!region || !sphere) return;
    sphere.showHere({ ...here, twistSpan: region.twistSpan });
    this.panel.showHere(here);
    this.stage.draw();
  }

  /** Let it follow the pose, in which the joint is turned so and outside by so many degrees. */
  setPose(turn: Quaternion, outsideDeg: number): void {
    if (this.joint === undefined || !this.isLimited) return;
    this.panel.showViolation(outsideDeg);
    const { positions, rotations } = this.stage.body.world;
    const place = positions[this.joint];
    if (!this.sphere || !place) return;
    this.here.setPose();
    const { measuredFrom } = this.clip.skeleton;
    const above = rotations[measuredFrom[this.joint] ?? -1] ?? new Quaternion();
    this.sphere.setPose(place, above, turn, outsideDeg > 0);
    this.editing.updateSlice();
    this.panel.setRotation(turn, outsideDeg > 0);
    this.families.setRotation(turn);
    this.stage.draw();
  }

  /** Explain why the joint is outside, as it is turned now; or not any more. */
  showWhy(why: Why | undefined, turn?: Quaternion): void {
    this.panel.showWhy(why);
    const bone = why && new Vector3(...(why.bone as [number, number, number]));
    this.sphere?.showWayBack(why && turn, why && quaternionAt(why.legal, 0), bone);
    this.stage.draw();
  }

  private clear(): void {
    if (this.sphere) this.stage.jointGroup.remove(this.sphere.group);
    this.sphere?.dispose();
    this.sphere = undefined;
  }
}
