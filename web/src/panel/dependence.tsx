// A limit that depends on another joint, the driver: its numbers in the pose, and a map of them.

import { computed, effect, signal } from "@preact/signals";
import { Latest } from "../connection";
import { formatTenths } from "../format";
import { report } from "../notes";
import type { Dependence, Edit, Hinge, RangeMap } from "../protocol";
import { TWIST } from "../stage/colours";
import { MapSphere } from "../stage/rangemap";
import type { Stage } from "../stage/stage";
import type { Store } from "../store";
import { Button, Check, NumberField, Scale, Select } from "../ui";

const RADIUS_DEG = 15; // an edit changes numbers within this angle of the driver's rotation

export class DependencePanel {
  private known = signal<Dependence | undefined>(undefined);
  private valuesDeg = signal<number[] | undefined>(undefined);
  private map = signal<RangeMap | undefined>(undefined);
  private isMapWanted = signal(false);
  /** Which number the map shows; of two numbers, the first choice is their difference. */
  private choice = signal("");
  private radiusDeg = signal(RADIUS_DEG);
  /** True if the numbers of the clip's frames are outdated by an edit. */
  private isStale = false;
  private isTurnWanted = false;
  private latestNumbers = new Latest((joint: number) => this.requestNumbers(joint));
  private latestMap = new Latest((joint: number) => this.requestMap(joint));

  constructor(
    private store: Store,
    private stage: Stage,
    private actions: { apply(edit: Edit): void; pick(joint: number): void },
  ) {
    let shown: number | undefined;
    effect(() => {
      const [joint, driver] = [store.picked.value, store.driver.value];
      void [store.edition.value, store.pickedName.value];
      if (joint !== shown) this.known.value = this.valuesDeg.value = this.map.value = undefined;
      shown = joint;
      if (driver < 0) this.known.value = undefined;
      else if (joint !== undefined) void this.load(joint);
    });
    effect(() => this.followPose());
    effect(() => {
      store.hingeHere.value = this.hingeHere();
    });
    effect(() => this.drawMap());
    effect(() => this.placeMap());
    effect(() => {
      if (this.isMapWanted.value) this.isTurnWanted = true;
    });
    effect(() => {
      if (this.isMapWanted.value && this.known.value)
        void this.latestMap.send(store.picked.peek() ?? -1);
    });
  }

  /** Request the numbers again after an edit of the limit, also during a drag. */
  markStale(): void {
    this.isStale = true;
    if (this.known.peek()) void this.latestNumbers.send(this.store.picked.peek() ?? -1);
  }

  /** True if `joint` is picked and depends on a driver. */
  private isShown(joint: number): boolean {
    return this.store.picked.peek() === joint && this.store.driver.peek() >= 0;
  }

  /** The picked hinge with its ends in the current pose. */
  private hingeHere(): Hinge | undefined {
    const hinge = this.store.region.value?.hinge;
    const [lowDeg, highDeg] = this.valuesDeg.value ?? [];
    if (!hinge || !this.known.value?.hinge || lowDeg === undefined || highDeg === undefined)
      return undefined;
    return { ...hinge, lowDeg, highDeg };
  }

  /** The edit that moves an end of a hinge near the driver's rotation; undefined for other limits. */
  endEdit(side: "low" | "high", deg: number): Edit | undefined {
    return this.known.value?.hinge ? this.numberEdit(side === "low" ? 0 : 1, deg) : undefined;
  }

  /** The edit that makes the pose legal near the driver's rotation; undefined without a driver. */
  allowEdit(): Edit | undefined {
    if (this.store.driver.value < 0) return undefined;
    const pose = this.store.poseRequest();
    return { edit: "allow-here", radiusDeg: this.radiusDeg.value, pose };
  }

  private numberEdit(index: number, deg: number): Edit {
    const field = this.known.value?.fields[index]?.field ?? "";
    const pose = this.store.poseRequest();
    return { edit: "number-here", field, deg, radiusDeg: this.radiusDeg.value, pose };
  }

  private followPose(): void {
    const { store, known } = this;
    const [joint, made, frame] = [
      store.picked.value,
      store.history.present.value,
      store.frame.value,
    ];
    if (joint === undefined || !known.value) return;
    const count = known.value.fields.length;
    if (made || this.isStale) void this.latestNumbers.send(joint);
    else
      this.valuesDeg.value = [
        ...known.value.valuesDeg.subarray(frame * count, (frame + 1) * count),
      ];
    if (!this.map.peek()?.twists || !this.isMapWanted.peek()) return;
    this.latestMap.sendWhenStill(joint);
  }

  private async load(joint: number): Promise<void> {
    const matters = () => this.isShown(joint);
    const { connection } = this.store;
    const request = { joint: this.store.nameOf(joint) };
    const known = await connection.askWhile(matters, "dependence", request);
    if (!known) return;
    this.isStale = false;
    this.known.value = known;
  }

  private async requestNumbers(joint: number): Promise<void> {
    const { store } = this;
    if (!this.known.peek() || store.isRecorded) return;
    const matters = () => this.isShown(joint);
    const isWanted = () => this.isStale || store.history.present.peek() !== undefined;
    const request = { joint: store.nameOf(joint), pose: store.poseRequest() };
    await report(async () => {
      const answer = await store.connection.askWhile(matters, "ends", request);
      if (answer && isWanted()) this.valuesDeg.value = answer.valuesDeg;
    });
  }

  private async requestMap(joint: number): Promise<void> {
    const { store } = this;
    const matters = () => this.isShown(joint) && this.isMapWanted.peek();
    // The first map is for any twist of the driver; if the twist matters, request it again.
    const pose = this.map.peek()?.twists && !store.isRecorded ? store.poseRequest() : null;
    const request = { joint: store.nameOf(joint), pose };
    const map = await store.connection.askWhile(matters, "map", request);
    if (!map) return;
    this.map.value = map;
    if (pose === null && map.twists && !store.isRecorded) void this.latestMap.send(joint);
  }

  private get choices(): string[] {
    const labels = this.known.value?.fields.map(({ label }) => label) ?? [];
    return labels.length === 2 ? ["Range", ...labels] : labels;
  }

  /** The number that the map shows for each direction, from the values of all numbers. */
  private mapValues(values: ArrayLike<number>): number[] {
    const count = this.known.value?.fields.length ?? 1;
    const choice = Math.max(this.choices.indexOf(this.choice.value), 0);
    const at = (i: number, k: number) => values[i * count + k] ?? 0;
    return Array.from({ length: values.length / count }, (_, i) =>
      count === 2 ? (choice === 0 ? at(i, 1) - at(i, 0) : at(i, choice - 1)) : at(i, 0),
    );
  }

  /** The least and the greatest number of the map; undefined without a map. */
  private span = computed<[number, number] | undefined>(() => {
    if (!this.map.value || !this.isMapWanted.value) return undefined;
    return this.mapValues(this.map.value.valuesDeg).reduce<[number, number]>(
      ([least, most], each) => [Math.min(least, each), Math.max(most, each)],
      [Infinity, -Infinity],
    );
  });
  private sphere = signal<MapSphere | undefined>(undefined);

  private drawMap(): void {
    const { store, stage, sphere } = this;
    const [map, span, driver] = [this.map.value, this.span.value, store.driver.value];
    const before = sphere.peek();
    if (before) stage.scene.remove(before.group);
    before?.dispose();
    if (!map || !span || driver < 0) sphere.value = undefined;
    else {
      const radius = stage.body.sphereRadius(driver);
      const values = this.mapValues(map.valuesDeg);
      sphere.value = new MapSphere(map, values, span, radius, store.theme.value);
      stage.scene.add(sphere.value.group);
    }
    store.hasMap.value = sphere.value !== undefined;
    stage.draw();
  }

  /** Move the map to the driver, and show it once after it was requested. */
  private placeMap(): void {
    const { store } = this;
    const [sphere, driver] = [this.sphere.value, store.driver.value];
    const position = store.world.value.positions[driver];
    if (!sphere || !position) return;
    sphere.setPose(position, store.baseRotation(driver), store.measuredRotation(driver));
    if (this.isTurnWanted) {
      this.isTurnWanted = false;
      this.stage.frameJoint(driver);
      if (sphere.facing) this.stage.turntable.bringToFront(sphere.facing);
    }
    this.stage.draw();
  }

  Panel = () => {
    const { store } = this;
    const driver = store.nameOf(store.driver.value);
    const values = this.valuesDeg.value;
    const shown = (values ?? []).map((deg) => `${formatTenths(deg)}°`);
    const span = this.span.value;
    return (
      <section class="dependence" aria-label="Dependence" hidden={store.driver.value < 0}>
        <h3>
          Depends on{" "}
          <Button
            class="link"
            label="Pick the joint that this one depends on"
            onClick={() => this.actions.pick(store.driver.value)}
          >
            {driver}
          </Button>
        </h3>
        <p id="here" role="status">
          {values &&
            `As that is now: ${shown.length === 2 ? shown.join(" to ") : `margin ${shown[0]}`}`}
        </p>
        <p class="key">
          {store.isRecorded
            ? `The sphere shows its limit with ${driver} anywhere: this page is a recording.`
            : `On the sphere, what is legal now; the pale line is its limit with ${driver} anywhere.`}
        </p>
        <div class="line">
          <Check box={this.isMapWanted}>Map over its directions</Check>
          <Select
            label="Colours of the map"
            options={this.choices.map((name) => ({ name, label: name }))}
            value={this.choice.value || (this.choices[0] ?? "")}
            onChoose={(name) => (this.choice.value = name)}
            hidden={!this.isMapWanted.value}
          />
        </div>
        {span && (
          <Scale
            label={this.choice.value || "Range"}
            ends={span}
            colours={TWIST}
            mark={values && this.mapValues(values)[0]}
          />
        )}
        {store.mode.value === "edit" && this.renderEdits()}
      </section>
    );
  };

  private renderEdits() {
    const known = this.known.value;
    return (
      <div>
        {!known?.hinge && ( // the ends of a hinge are beside its arc
          <div class="fields">
            {known?.fields.map(({ label }, index) => (
              <label key={label}>
                {label}
                <NumberField
                  label={`${label} here, in degrees`}
                  value={formatTenths(this.valuesDeg.value?.[index] ?? 0)}
                  onCommit={(deg) => this.actions.apply(this.numberEdit(index, deg))}
                />
              </label>
            ))}
          </div>
        )}
        <label>
          An edit reaches
          <NumberField
            label="Reach of an edit, in degrees"
            value={String(this.radiusDeg.value)}
            min="0"
            max="180"
            step="5"
            onCommit={(deg) => (this.radiusDeg.value = deg)}
          />
          ° around
        </label>
        <div class="line">
          <Button
            label="Use this joint's own limit alone, whatever the other joint does"
            onClick={() => this.actions.apply({ edit: "detach" })}
          >
            Remove the dependence
          </Button>
        </div>
      </div>
    );
  }
}
