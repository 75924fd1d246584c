// The limit of the picked joint as it is shown: at the joint, in the panel, in what edits it.

import { Quaternion } from "three";
import type { Clip } from "./clip";
import type { Line } from "./connection";
import type { Editing } from "./edit/editing";
import type { Families } from "./edit/families";
import type { Modes } from "./modes";
import type { Panel } from "./panel/joint";
import { type Region, regionOf } from "./stage/region";
import { Fan } from "./stage/sphere";
import type { Stage } from "./stage/stage";

export class ShownLimit {
  private joint: number | undefined;
  private fan: Fan | undefined;

  constructor(
    private clip: Clip,
    private line: Line,
    private stage: Stage,
    private panel: Panel,
    private editing: Editing,
    private families: Families,
    private modes: Modes,
    /** Told of a new picture, which does not know yet how the joint is turned. */
    private drawn: () => void,
  ) {}

  /** Show the limit of another joint, if it has one. */
  pick(joint: number | undefined): void {
    this.joint = joint;
    this.leave();
    if (this.limited) {
      this.modes.tell("coming");
      void this.renew();
    } else this.modes.tell(joint === undefined ? "nothing" : "none");
  }

  /** Whether the picked joint has a limit. */
  get limited(): boolean {
    return this.joint !== undefined && this.clip.limited.includes(this.joint);
  }

  /** Ask for the limit as it is now. */
  async renew(): Promise<void> {
    const { joint } = this;
    if (joint === undefined) return;
    const name = this.clip.skeleton.names[joint] ?? "";
    const matters = () => this.joint === joint && this.limited;
    const answer = await this.line.askWhile(matters, "region", { joint: name });
    if (answer && this.joint === joint) this.draw(regionOf(answer));
  }

  /** The colours are others now. */
  dress(): void {
    if (this.fan) void this.renew();
  }

  draw(region: Region): void {
    const { joint } = this;
    if (joint === undefined) return;
    const { body, theme } = this.stage;
    const bones = body.bones.filter(({ owner }) => owner === joint);
    const length = Math.max(...bones.map(({ tip }) => tip.length()), 0);
    const radius = Math.min(Math.max(0.8 * length, 0.1 * body.size), 0.25 * body.size);
    if (this.fan?.radius === radius && this.fan.theme === theme) this.fan.show(region);
    else {
      this.leave();
      this.fan = new Fan(region, radius, theme);
      this.stage.atJoint.add(this.fan.group);
    }
    const field = region.family === "distance-field";
    this.modes.tell(region.outline ? "cone" : field ? "field" : "other");
    this.editing.show(region, this.fan);
    this.families.show(region);
    this.panel.show(region, joint, theme);
    this.drawn();
  }

  /** Let it follow the pose, in which the joint is turned so and outside by so many degrees. */
  follow(turn: Quaternion, outsideDeg: number): void {
    if (this.joint === undefined || !this.limited) return;
    this.panel.tell(outsideDeg);
    const { positions, rotations } = this.stage.body.where;
    const place = positions[this.joint];
    if (!this.fan || !place) return;
    const { measuredFrom } = this.clip.skeleton;
    const above = rotations[measuredFrom[this.joint] ?? -1] ?? new Quaternion();
    this.fan.place(place, above, turn, outsideDeg > 0);
    this.editing.follows();
    this.panel.mark(turn, outsideDeg > 0);
    this.families.mark(turn);
    this.stage.draw();
  }

  private leave(): void {
    if (this.fan) this.stage.atJoint.remove(this.fan.group);
    this.fan = undefined;
  }
}
