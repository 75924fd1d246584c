// The picked joint's limit: requested from Python, drawn on a sphere at the joint, and explained.

import { batch, effect, untracked } from "@preact/signals";
import { type Quaternion, Vector3 } from "three";
import { Latest } from "./connection";
import { report } from "./notes";
import { quaternionAt } from "./pose/kinematics";
import type { Picture } from "./protocol";
import { type Region, regionFrom } from "./stage/region";
import { JointSphere } from "./stage/sphere";
import type { Stage } from "./stage/stage";
import type { Store } from "./store";

/** Requests what is legal while the driver of a joint is as it is: drafts while the driver moves. */
export class RegionHere {
  private region: Region | undefined;
  /** The driver's rotation of the last request. */
  private rotation: Quaternion | undefined;
  /** Counts poses; and the number of the pose whose fine picture is shown. */
  private asked = 0;
  private fine = -1;
  private drafts = new Latest((joint: number) => this.request(joint, true));
  private finePictures = new Latest((joint: number) => {
    this.drafts.cancel(); // a waiting draft would arrive after the fine picture
    return this.request(joint, false);
  });

  constructor(private store: Store) {
    effect(() => this.follow());
  }

  private follow(): void {
    const { store } = this;
    const [joint, region] = [store.picked.value, store.region.value];
    if (region !== this.region) {
      this.region = region;
      this.rotation = undefined;
      this.finePictures.cancel();
      this.asked++;
    }
    if (joint === undefined || !region || !store.isDependent) return;
    const rotation = store.measuredRotation(store.driver.value);
    if (this.rotation?.equals(rotation)) return;
    this.rotation = rotation;
    this.asked++;
    void this.drafts.send(joint);
    this.finePictures.sendWhenStill(joint);
  }

  private async request(joint: number, draft: boolean): Promise<void> {
    const { asked, store } = this;
    // A draft of an earlier pose is better than what is shown, unless that is the fine picture.
    const matters = () =>
      joint === store.picked.peek() &&
      store.isDependent &&
      (draft ? this.fine !== this.asked : asked === this.asked);
    const request = { joint: store.nameOf(joint), pose: store.poseRequest(), draft };
    await report(async () => {
      const picture = await store.connection.askWhile(matters, "here", request);
      if (!picture) return;
      if (!draft) this.fine = asked;
      store.regionHere.value = regionFrom(picture);
    });
  }
}

export class LimitView {
  /** True until the camera has turned to the region that is being requested. */
  private isAwaited = false;
  private refining = new Latest((joint: string) => this.refine(joint));
  private reasons = new Latest((joint: number) => this.explain(joint));

  constructor(
    private store: Store,
    private stage: Stage,
  ) {
    new RegionHere(store);
    let shown: string | undefined;
    effect(() => {
      const name = store.pickedName.value;
      void store.edition.value;
      if (name !== shown)
        batch(() => {
          store.region.value = store.regionHere.value = undefined;
        });
      shown = name;
      if (name !== undefined) void this.refresh(name);
    });
    effect(() => this.updateSphere());
    effect(() => this.updatePose());
    effect(() => {
      const sphere = store.sphere.value;
      const here = store.regionHere.value;
      const whole = store.region.value;
      if (!sphere || !here || !whole) return;
      sphere.showHere({ ...here, twistSpan: whole.twistSpan });
      stage.draw();
    });
    effect(() => {
      if (store.sphere.value) store.sphere.value.group.visible = !store.hasMap.value;
    });
    effect(() => this.followReason());
    effect(() => {
      const why = store.why.value;
      const bone = why && new Vector3().fromArray(why.bone);
      const rotation = why && untracked(() => store.measuredRotation());
      store.sphere.value?.showPathBack(rotation, why && quaternionAt(why.legal, 0), bone);
      stage.draw();
    });
  }

  /** Show a picture of the picked joint's limit. */
  show(picture: Picture): void {
    const region = regionFrom(picture);
    // If the limit depends on another joint, equal colours are equal twists wherever that is.
    if (this.store.isDependent) region.twistSpan = [0, region.twistSpan[1]];
    this.store.region.value = region;
    if (this.isAwaited) this.turnToRegion();
  }

  private async refresh(joint: string): Promise<void> {
    const { store } = this;
    const matters = () => store.pickedName.peek() === joint;
    if (!store.isRecorded && !store.region.peek()) {
      const draft = await store.connection.askWhile(matters, "region", { joint, draft: true });
      if (!draft) return;
      this.show(draft);
    }
    await this.refining.send(joint);
  }

  private async refine(joint: string): Promise<void> {
    const matters = () => this.store.pickedName.peek() === joint;
    const picture = await this.store.connection.askWhile(matters, "region", { joint });
    if (picture) this.show(picture);
  }

  /** Turn the camera to a side from which the picked joint's region is seen, once it is there. */
  turnToRegion(): void {
    const { store, stage } = this;
    const { turntable } = stage;
    const [sphere, hinge] = [store.sphere.peek(), store.region.peek()?.hinge];
    this.isAwaited = store.pickedName.peek() !== undefined && !sphere;
    if (sphere && hinge) {
      const { positions } = store.world.peek();
      const joint = positions[store.picked.peek() ?? 0] ?? new Vector3();
      const outwards = joint.clone().sub(positions[0] ?? new Vector3());
      const axis = new Vector3().fromArray(hinge.axis).applyQuaternion(store.baseRotation());
      turntable.bringToSide(axis, outwards);
    } else if (sphere?.facing) turntable.bringToFront(sphere.facing);
    stage.draw();
  }

  private updateSphere(): void {
    const { store, stage } = this;
    const [region, theme] = [store.region.value, store.theme.value];
    const isDependent = store.isDependent;
    const before = store.sphere.peek();
    let sphere: JointSphere | undefined;
    if (region) {
      const radius = stage.body.sphereRadius(store.picked.peek() ?? 0);
      if (before?.radius === radius && before.theme === theme) sphere = before;
      else sphere = new JointSphere(region, radius, theme);
      sphere.show(region);
      sphere.setDependent(isDependent);
    }
    if (sphere === before) return;
    if (before) stage.jointGroup.remove(before.group);
    before?.dispose();
    if (sphere) stage.jointGroup.add(sphere.group);
    store.sphere.value = sphere;
  }

  private updatePose(): void {
    const { store } = this;
    const { sphere, region, picked } = store;
    const position = store.world.value.positions[picked.value ?? -1];
    if (sphere.value && region.value && position) {
      const isOutside = store.pickedOutsideDeg.value > 0;
      const rotation = store.measuredRotation();
      sphere.value.setPose(position, store.baseRotation(), rotation, isOutside);
    }
    store.slice.value = sphere.value?.slice;
    this.stage.draw();
  }

  /** Request why the picked joint is outside or unusual, once the pose is still. */
  private followReason(): void {
    const { store } = this;
    const joint = store.picked.value;
    const isOutside = store.pickedOutsideDeg.value !== 0;
    void store.pose.value;
    void store.edition.value;
    this.reasons.cancel();
    store.why.value = undefined;
    if (joint !== undefined && isOutside && !store.isPlaying.value)
      this.reasons.sendWhenStill(joint);
  }

  private async explain(joint: number): Promise<void> {
    const { store } = this;
    const [pose, edition] = [store.pose.peek(), store.edition.peek()];
    const isCurrent = () =>
      store.pose.peek() === pose &&
      store.edition.peek() === edition &&
      store.picked.peek() === joint &&
      store.pickedOutsideDeg.peek() !== 0;
    const request = { ...store.poseRequest(), joint: store.nameOf(joint) };
    const why = await store.connection.askWhile(isCurrent, "why", request);
    if (why) store.why.value = why;
  }
}
