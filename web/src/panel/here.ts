// What is legal for a joint while its driver is as it is in the pose: drafts while that moves.

import type { Quaternion } from "three";
import type { Clip } from "../clip";
import { type Connection, Latest, STILL_MS } from "../connection";
import { showMessage } from "../notes";
import { measuredRotation } from "../pose/kinematics";
import type { PoseRequest } from "../protocol";
import { type Region, regionFrom } from "../stage/region";

export class RegionHere {
  private joint: number | undefined;
  /** How the driver is turned where the last picture was asked for. */
  private driver: Quaternion | undefined;
  /** Counts poses; a fine picture is shown of the one with the number `fine`. */
  private asked = 0;
  private fine = -1;
  private still: number | undefined;
  private latest = new Latest((joint: number) => this.ask(joint, true));

  constructor(
    private clip: Clip,
    private connection: Connection,
    private pose: () => PoseRequest,
    private onRegion: (region: Region) => void,
  ) {}

  /** Another joint is picked, or its limit has changed. */
  pick(joint: number | undefined): void {
    this.joint = joint;
    this.driver = undefined;
    clearTimeout(this.still);
    this.asked++;
  }

  /** Whether there is a driver, and somebody to ask. */
  get isAvailable(): boolean {
    return this.driverNumber >= 0 && !document.body.hasAttribute("data-recorded");
  }

  /** The pose has changed, perhaps. */
  setPose(): void {
    const { joint } = this;
    if (joint === undefined || !this.isAvailable) return;
    const turn = measuredRotation(this.clip.skeleton, this.pose().rotations, this.driverNumber);
    if (this.driver?.equals(turn)) return;
    this.driver = turn;
    this.asked++;
    void this.latest.send(joint);
    clearTimeout(this.still);
    this.still = window.setTimeout(() => {
      this.latest.cancel(); // a draft that waits would come after the fine picture
      void this.ask(joint, false);
    }, STILL_MS);
  }

  private get driverNumber(): number {
    return this.joint === undefined ? -1 : (this.clip.state.drivers[this.joint] ?? -1);
  }

  private async ask(joint: number, draft: boolean): Promise<void> {
    const { asked } = this;
    // A draft of a pose that is over is still nearer to the present one than what was before,
    // unless that is the fine picture of the present one.
    const matters = () =>
      joint === this.joint && (draft ? this.fine !== this.asked : asked === this.asked);
    if (!matters() || !this.isAvailable) return;
    const request = { joint: this.clip.skeleton.names[joint] ?? "", pose: this.pose(), draft };
    try {
      const picture = await this.connection.ask("here", request);
      if (!matters() || !this.isAvailable) return;
      if (!draft) this.fine = asked;
      this.onRegion(regionFrom(picture));
    } catch (error) {
      if (matters() && this.isAvailable) showMessage((error as Error).message, false);
    }
  }
}
