// The world's axes in a corner of the view, and buttons for views along them.

import { signal } from "@preact/signals";
import { render } from "preact";
import { Vector3 } from "three";
import { Button, find } from "../ui";
import type { Turntable, ViewName } from "./camera";

const SIZE = 72; // pixels
const REACH = 26; // pixels from the middle to the end of an axis
const AXES = [
  { name: "x", end: new Vector3(1, 0, 0), colour: "#c9243b", views: ["Left", "Right"] },
  { name: "y", end: new Vector3(0, 1, 0), colour: "#2f7d1f", views: ["Top", "Bottom"] },
  { name: "z", end: new Vector3(0, 0, 1), colour: "#2a63c4", views: ["Front", "Back"] },
] as const;
const BUTTONS = [
  ["Front", "Front", "Numpad 1"],
  ["Side", "Right", "Numpad 3"],
  ["Back", "Back", "Ctrl Numpad 1"],
  ["Top", "Top", "Numpad 7"],
] as const;

export class Gizmo {
  /** The ends of the axes on the screen: right, down, and towards the viewer. */
  private ends = signal<Vector3[]>([]);
  private view = signal("");

  constructor(
    private turntable: Turntable,
    private onView: (name: ViewName) => void,
  ) {
    render(<this.View />, find("#gizmo"));
  }

  /** Follow the camera. */
  update(): void {
    const { turntable } = this;
    const toCamera = turntable.camera.quaternion.clone().invert();
    this.ends.value = AXES.map(({ end }) =>
      end.clone().applyQuaternion(turntable.upright).applyQuaternion(toCamera),
    );
    this.view.value = [turntable.viewName, turntable.isParallel ? "parallel" : ""]
      .filter(Boolean)
      .join(", ");
  }

  private View = () => {
    const balls = this.ends.value.flatMap((end, k) => [
      { end, k, sign: 1 },
      { end: end.clone().negate(), k, sign: -1 },
    ]);
    balls.sort((one, other) => one.end.z - other.end.z); // nearer ones cover those behind
    return (
      <>
        <svg viewBox={`${-SIZE / 2} ${-SIZE / 2} ${SIZE} ${SIZE}`} aria-hidden="true">
          <title>Views along the axes</title>
          {balls.map(({ end, k, sign }) => {
            const axis = AXES[k] as (typeof AXES)[number];
            const view = axis.views[sign > 0 ? 0 : 1];
            const [x, y] = [REACH * end.x, -REACH * end.y];
            return (
              <g key={view} onClick={() => this.onView(view)}>
                <title>{view}</title>
                {sign > 0 && <line x2={x} y2={y} stroke={axis.colour} />}
                <circle cx={x} cy={y} r={sign > 0 ? 7.5 : 4.5} fill={axis.colour} />
                {sign > 0 && (
                  <text x={x} y={y + 3.5}>
                    {axis.name}
                  </text>
                )}
              </g>
            );
          })}
        </svg>
        <div class="views">
          {BUTTONS.map(([text, view, keys]) => (
            <Button
              key={text}
              label={`${text} (${keys})`}
              aria-pressed={this.view.value.startsWith(view)}
              onClick={() => this.onView(view)}
            >
              {text}
            </Button>
          ))}
        </div>
        <p id="view">{this.view.value}</p>
      </>
    );
  };
}
