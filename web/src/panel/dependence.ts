// A limit that depends on another joint, the driver: its numbers in the pose, and a map of them.

import { Quaternion, type Vector3 } from "three";
import type { Clip } from "../clip";
import { type Connection, Latest, STILL_MS } from "../connection";
import { button, element } from "../elements";
import { formatTenths } from "../format";
import { showMessage } from "../notes";
import { measuredRotation } from "../pose/kinematics";
import type { Dependence, Edit, Hinge, PoseRequest, RangeMap } from "../protocol";
import { TWIST } from "../stage/colours";
import { MapSphere } from "../stage/rangemap";
import type { Stage } from "../stage/stage";

/** Degrees around the driver's rotation in which an edit changes numbers, unless one says so. */
const RADIUS_DEG = 15;

/** What the page shows, and who makes edits. */
export interface PoseSource {
  pose(): PoseRequest;
  /** The frame of the clip that is shown, if it is one of that. */
  frame(): number | undefined;
  /** Numbers, or the map, are others now, for another reason than that `setPose` was called. */
  onChange(): void;
  apply(edit: Edit): void;
  pickDriver(joint: number): void;
  /** Let the view show the map, which is at a joint and faces some way, if it does. */
  lookAt(joint: number, facing: Vector3 | undefined): void;
}

export class DependencePanel {
  readonly panel = element("section", { class: "dependence", "aria-label": "Dependence" });
  private title = element("h3");
  private driverButton = button(
    "",
    "Pick the joint that this one depends on",
    () => this.source.pickDriver(this.driver),
    { class: "link" },
  );
  private now = element("p", { id: "here", role: "status" });
  private key = element("p", { class: "key" });
  private fields = element("div", { class: "fields" });
  private inputs: HTMLInputElement[] = [];
  private mapToggle = element("input", { type: "checkbox" });
  private choice = element("select", { "aria-label": "Colours of the map" });
  private scale = element("div", { class: "scale" });
  private radius = element("input", {
    type: "number",
    min: "0",
    max: "180",
    step: "5",
    value: `${RADIUS_DEG}`,
    "aria-label": "Reach of an edit, in degrees",
  });
  private edits = element("div", { "data-in": "edit" });
  private joint: number | undefined;
  private driver = -1;
  private known: Dependence | undefined;
  private valuesDeg: number[] | undefined;
  private map: RangeMap | undefined;
  private sphere: MapSphere | undefined;
  private span: [number, number] = [0, 0];
  private still: number | undefined;
  /** Whether the numbers of the clip's frames are those of limits before an edit. */
  private isStale = false;
  /** Whether the view is to come to the map when that is there. */
  private comesAround = false;
  private latestEnds = new Latest((joint: number) => this.askEnds(joint));
  private latestMap = new Latest((joint: number) => this.askMap(joint));

  constructor(
    private clip: Clip,
    private connection: Connection,
    private stage: Stage,
    private source: PoseSource,
  ) {
    this.title.append("Depends on ", this.driverButton);
    const detach = button(
      "Remove the dependence",
      "Let this joint have its own limit alone, wherever the other one is",
      () => this.source.apply({ edit: "detach" }),
    );
    this.edits.append(
      this.fields,
      element("label", {}, "An edit reaches", this.radius, "° around"),
      element("div", { class: "line" }, detach),
    );
    this.panel.append(
      this.title,
      this.now,
      this.key,
      element(
        "div",
        { class: "line" },
        element("label", { class: "check" }, this.mapToggle, "Map over its directions"),
        this.choice,
      ),
      this.edits,
    );
    this.mapToggle.addEventListener("change", () => {
      this.comesAround = this.mapToggle.checked;
      this.refreshMap();
    });
    this.choice.addEventListener("change", () => this.drawMap());
    this.scale.style.setProperty("--twist", TWIST.join());
    this.pick(undefined);
  }

  /** Another joint is picked, or none; or its limit has changed. */
  pick(joint: number | undefined): void {
    const driver = joint === undefined ? -1 : (this.clip.state.drivers[joint] ?? -1);
    if (joint !== this.joint || driver !== this.driver) {
      this.known = this.valuesDeg = this.map = undefined;
      this.clearMap();
    }
    this.joint = joint;
    this.driver = driver;
    this.panel.hidden = driver < 0;
    this.driverButton.textContent = this.driverName ?? "";
    this.key.textContent = document.body.hasAttribute("data-recorded")
      ? `The sphere shows its limit with ${this.driverName} anywhere: this page is a recording.`
      : `On the sphere, what is legal now; the pale line is its limit with ${this.driverName} anywhere.`;
    if (joint !== undefined && driver >= 0) void this.load(joint);
  }

  /** Whether the picked joint depends on another. */
  get isShown(): boolean {
    return this.driver >= 0;
  }

  /** Whether its numbers are the two ends of the joint's arc. */
  get isHinge(): boolean {
    return this.isShown && this.known?.hinge === true;
  }

  get driverName(): string | undefined {
    return this.clip.skeleton.names[this.driver];
  }

  /** Whether a map is drawn, at the driver. */
  get hasMap(): boolean {
    return this.sphere !== undefined;
  }

  /** The arc of a hinge as its driver lets it be in the pose. */
  hingeHere(hinge: Hinge | null): Hinge | null {
    const [lowDeg, highDeg] = this.valuesDeg ?? [];
    if (!hinge || !this.known?.hinge || lowDeg === undefined || highDeg === undefined) return hinge;
    return { ...hinge, lowDeg, highDeg };
  }

  /** The edit that moves an end of a hinge's arc, where the driver is now; none if it has none. */
  endEdit(side: "low" | "high", deg: number): Edit | undefined {
    if (!this.known?.hinge) return undefined;
    return this.numberEdit(side === "low" ? 0 : 1, deg);
  }

  /** The edit that makes the pose legal where the driver is now; none if there is no driver. */
  allowEdit(): Edit | undefined {
    if (!this.isShown) return undefined;
    return { edit: "allow-here", radiusDeg: this.radiusDeg, pose: this.source.pose() };
  }

  /** The limit has changed, in the middle of a drag perhaps. */
  markStale(): void {
    this.isStale = true;
    this.setPose();
  }

  /** The pose has changed. */
  setPose(): void {
    const { joint, known } = this;
    if (joint === undefined || !known) return;
    const frame = this.source.frame();
    const count = known.fields.length;
    if (frame === undefined || this.isStale) void this.latestEnds.send(joint);
    else this.showNumbers([...known.valuesDeg.subarray(frame * count, (frame + 1) * count)]);
    this.placeMap();
    if (!this.map?.twists || !this.sphere) return;
    clearTimeout(this.still);
    this.still = window.setTimeout(() => this.refreshMap(), STILL_MS);
  }

  private get radiusDeg(): number {
    return Number(this.radius.value) || 0;
  }

  private numberEdit(place: number, deg: number): Edit {
    const field = this.known?.fields[place]?.field ?? "";
    const pose = this.source.pose();
    return { edit: "number-here", field, deg, radiusDeg: this.radiusDeg, pose };
  }

  private async load(joint: number): Promise<void> {
    const matters = () => this.joint === joint && this.isShown;
    const name = this.clip.skeleton.names[joint] ?? "";
    const known = await this.connection.askWhile(matters, "dependence", { joint: name });
    if (!known || !matters()) return;
    const before = this.known;
    this.known = known;
    this.isStale = false;
    if (before?.fields.length !== known.fields.length || before.hinge !== known.hinge)
      this.layOut(known);
    this.setPose();
    this.source.onChange();
    this.refreshMap();
  }

  private layOut({ fields, hinge }: Dependence): void {
    const labels = fields.map(({ label }) => label);
    const names = labels.length === 2 ? ["Range", ...labels] : labels;
    this.choice.replaceChildren(...names.map((name) => element("option", {}, name)));
    this.inputs = fields.map(({ label }, place) => {
      const known = { type: "number", step: "1", "aria-label": `${label} here, in degrees` };
      const input = element("input", known);
      input.addEventListener("change", () => {
        if (input.value === "") input.value = input.defaultValue;
        else this.source.apply(this.numberEdit(place, Number(input.value)));
      });
      return input;
    });
    this.fields.hidden = hinge; // its arc has them
    this.fields.replaceChildren(
      ...this.inputs.map((input, place) => element("label", {}, labels[place] ?? "", input)),
    );
  }

  private async askEnds(joint: number): Promise<void> {
    if (joint !== this.joint || !this.known) return;
    try {
      const name = this.clip.skeleton.names[joint] ?? "";
      const request = { joint: name, pose: this.source.pose() };
      const { valuesDeg } = await this.connection.ask("ends", request);
      const isWanted = this.isStale || this.source.frame() === undefined;
      if (joint !== this.joint || !isWanted) return;
      this.showNumbers(valuesDeg);
      this.source.onChange();
    } catch (error) {
      if (joint === this.joint && this.isShown) showMessage((error as Error).message, false);
    }
  }

  private showNumbers(valuesDeg: number[]): void {
    this.valuesDeg = valuesDeg;
    const shown = valuesDeg.map((deg) => `${formatTenths(deg)}°`);
    const numbers = shown.length === 2 ? shown.join(" to ") : `margin ${shown[0]}`;
    this.now.textContent = `As that is now: ${numbers}`;
    this.inputs.forEach((input, place) => {
      if (input !== document.activeElement)
        input.value = input.defaultValue = formatTenths(valuesDeg[place] ?? 0);
    });
    this.showScale();
  }

  private refreshMap(): void {
    if (this.joint !== undefined && this.isShown && this.mapToggle.checked)
      void this.latestMap.send(this.joint);
    else this.clearMap();
    this.choice.hidden = !this.mapToggle.checked;
    this.showScale();
  }

  private async askMap(joint: number): Promise<void> {
    const name = this.clip.skeleton.names[joint] ?? "";
    const matters = () => this.joint === joint && this.isShown && this.mapToggle.checked;
    const recorded = document.body.hasAttribute("data-recorded");
    const pose = this.map?.twists && !recorded ? this.source.pose() : null;
    const map = await this.connection.askWhile(matters, "map", { joint: name, pose });
    if (!map || !matters()) return;
    const first = !this.map && map.twists && !recorded;
    this.map = map;
    this.drawMap();
    if (first) void this.latestMap.send(joint); // of the twist that the driver has now
  }

  /** By direction, what is chosen: the first end, the second, or what is between them. */
  private mapValues(values: ArrayLike<number>): number[] {
    const count = this.known?.fields.length ?? 1;
    const place = this.choice.selectedIndex;
    const at = (i: number, k: number) => values[i * count + k] ?? 0;
    return Array.from({ length: values.length / count }, (_, i) =>
      count === 2 ? (place === 0 ? at(i, 1) - at(i, 0) : at(i, place - 1)) : at(i, 0),
    );
  }

  drawMap(): void {
    const { map, driver, stage } = this;
    this.clearMap();
    if (!map || driver < 0 || !this.mapToggle.checked) return;
    const values = this.mapValues(map.valuesDeg);
    this.span = values.reduce<[number, number]>(
      ([least, most], each) => [Math.min(least, each), Math.max(most, each)],
      [Infinity, -Infinity],
    );
    const radius = stage.body.sphereRadius(driver);
    this.sphere = new MapSphere(map, values, this.span, radius, stage.theme);
    stage.add(this.sphere.group);
    this.placeMap();
    this.showScale();
    this.source.onChange();
    if (this.comesAround) this.source.lookAt(driver, this.sphere.facing);
    this.comesAround = false;
  }

  private placeMap(): void {
    const { driver, sphere } = this;
    const { positions, rotations } = this.stage.body.world;
    const place = positions[driver];
    if (!sphere || !place) return;
    const above = rotations[this.clip.skeleton.measuredFrom[driver] ?? -1] ?? new Quaternion();
    const { rotations: turns } = this.source.pose();
    sphere.setPose(place, above, measuredRotation(this.clip.skeleton, turns, driver));
    this.stage.draw();
  }

  private clearMap(): void {
    if (!this.sphere) return;
    this.stage.remove(this.sphere.group);
    this.sphere.dispose();
    this.scale.remove();
    this.sphere = undefined;
    this.source.onChange();
    this.stage.draw();
  }

  private showScale(): void {
    if (!this.sphere) return;
    if (!this.scale.isConnected) this.edits.before(this.scale);
    const [least, most] = this.span.map((deg) =>
      element("span", { class: "end" }, `${deg.toFixed(0)}°`),
    ) as [HTMLElement, HTMLElement];
    const [here] = this.valuesDeg ? this.mapValues(this.valuesDeg) : [];
    const share = ((here ?? 0) - this.span[0]) / Math.max(this.span[1] - this.span[0], 1e-6);
    const mark = element("b", { title: "Where it is now" }, `${(here ?? 0).toFixed(0)}°`);
    mark.style.left = `${100 * Math.min(Math.max(share, 0), 1)}%`;
    const label = this.choice.value || "Range";
    this.scale.replaceChildren(
      element("span", {}, label),
      least,
      element("i", {}, ...(here === undefined ? [] : [mark])),
      most,
    );
  }
}
