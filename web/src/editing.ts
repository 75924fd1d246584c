// Edit: what can be dragged at the picked joint's limit, and a history of what was done.

import { Quaternion, type Ray, Sphere, Vector3 } from "three";
import type { Clip } from "./clip";
import { button, element } from "./elements";
import { type Fan, type Region, regionOf } from "./region";
import { type Answer, Latest, type Line } from "./socket";
import type { Handle } from "./stage";

/** An edit as Python knows it: its name, and what it needs. */
export interface Edit {
  edit: string;
  /** The request it is made by, where it has one of its own. */
  ask?: string;
  [given: string]: unknown;
}

/** With the stroke it belongs to: what one drag does is undone at once. */
interface Stroked extends Edit {
  stroke: string;
}

export class Editing {
  readonly panel = element("div", { class: "editing" });
  handles: Handle[] = [];
  /** Told of every answer to an edit. */
  heard: (header: Record<string, unknown>) => void = () => {};
  private said = element("p", { id: "said", role: "status" });
  private undo = button("↶ Undo", "Undo (Ctrl Z)", () => void this.step("undo"));
  private redo = button("↷ Redo", "Redo (Ctrl Shift Z)", () => void this.step("redo"));
  private joint: number | undefined;
  private strokes = 0;
  private latest = new Latest((edit: Stroked) => this.send(edit));

  constructor(
    private clip: Clip,
    private line: Line,
    /** Told of a new picture of the picked joint's limit, in the middle of a drag perhaps. */
    private drawn: (region: Region) => void,
    /** Told when limits have changed and the drag is over. */
    private changed: () => void,
  ) {
    const history = element("div", { class: "history", role: "toolbar", "aria-label": "History" });
    history.append(this.undo, this.redo);
    this.panel.append(element("h2", {}, "Edit the limit"), history, this.said);
    this.tell({ undo: null, redo: null });
  }

  pick(joint: number | undefined): void {
    this.joint = joint;
    this.handles = [];
    this.said.textContent = "";
  }

  /** Put handles to the corners of a cone that is drawn. */
  show(region: Region, fan: Fan): void {
    this.handles = [];
    for (let i = 0; i < region.corners.length / 3; i++) this.handles.push(this.corner(i, region, fan));
  }

  private corner(index: number, region: Region, fan: Fan): Handle {
    return {
      get place() {
        return fan.group.localToWorld(new Vector3().fromArray(region.corners, 3 * index));
      },
      drag: (ray) => {
        const point = onSphere(ray, fan).toArray();
        this.follow({ edit: "move-point", index, point });
      },
      drop: () => void this.drop(),
      click: () => {},
    };
  }

  /** An edit in the middle of a drag: only the latest is sent, and all are one step. */
  follow(edit: Edit): void {
    void this.latest.ask({ ...edit, stroke: this.stroke });
  }

  /** End the drag, once its last edit is answered. */
  async drop(): Promise<void> {
    this.strokes++;
    await this.latest.idle();
    this.changed();
  }

  /** An edit of the present stroke that must not be left out for a later one. */
  async now(edit: Edit): Promise<void> {
    await this.send({ ...edit, stroke: this.stroke });
  }

  /** One edit that is a step of its own. */
  async once(edit: Edit): Promise<void> {
    this.follow(edit);
    await this.drop();
  }

  async step(which: "undo" | "redo"): Promise<void> {
    const joint = this.name;
    try {
      this.receive(await this.line.ask(which, { joint }));
      this.changed();
    } catch (error) {
      this.said.textContent = (error as Error).message;
    }
  }

  /** Another page has changed the limits. */
  hear(news: Record<string, unknown>): void {
    this.tell(news);
    this.changed();
  }

  private get name(): string | null {
    return this.joint === undefined ? null : (this.clip.skeleton.names[this.joint] ?? null);
  }

  private get stroke(): string {
    return `${SESSION}-${this.strokes}`;
  }

  private async send(edit: Stroked): Promise<void> {
    if (this.name === null) return;
    try {
      this.receive(await this.line.ask(edit.ask ?? "edit", { ...edit, joint: this.name }));
    } catch (error) {
      this.said.textContent = (error as Error).message;
    }
  }

  private receive(answer: Answer): void {
    const { header } = answer;
    this.said.textContent = (header["refused"] as string | undefined) ?? "";
    this.tell(header);
    this.heard(header);
    if (header["family"]) this.drawn(regionOf(answer));
  }

  private tell(state: Record<string, unknown>): void {
    for (const [which, tool] of [
      ["undo", this.undo],
      ["redo", this.redo],
    ] as const) {
      const what = state[which];
      tool.disabled = typeof what !== "string";
      tool.title = typeof what === "string" ? `${which}: ${what}` : `nothing to ${which}`;
    }
    if (state["limited"]) this.clip.limited.splice(0, Infinity, ...(state["limited"] as number[]));
    if (state["measuredFrom"]) this.clip.skeleton.measuredFrom = state["measuredFrom"] as number[];
  }
}

/** Of this page, so that strokes of two pages are not taken for one. */
const SESSION = crypto.getRandomValues(new Uint32Array(1))[0];

/** Where a ray meets a fan's sphere, or comes nearest to it: a direction as the reference sees it. */
function onSphere(ray: Ray, fan: Fan): Vector3 {
  const middle = fan.group.position;
  const sphere = new Sphere(middle, fan.group.scale.x);
  const met = ray.intersectSphere(sphere, new Vector3());
  const point = met ?? ray.closestPointToPoint(middle, new Vector3());
  const turn = fan.group.quaternion.clone().invert() as Quaternion;
  return point.sub(middle).applyQuaternion(turn).normalize();
}
