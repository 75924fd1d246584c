// Facts about the picked joint; without one, what to do first.

import { effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Brush } from "../edit/brush";
import { capitalize, formatDegrees, formatShare, formatVerdict, verdictClass } from "../format";
import { quaternionAt } from "../pose/kinematics";
import type { NearestSample } from "../protocol";
import { TWIST } from "../stage/colours";
import type { Store } from "../store";
import { Button, Facts, find, Scale } from "../ui";
import type { Evidence, Recall } from "./evidence";
import { Inset } from "./inset";

const FIRST = [
  ["Click a joint", "(a dot in the view, or its name in the list) to see what its limit allows."],
  ["Press Space", "to play; the strip below shows when a joint is outside, and its dot turns red."],
  ["Drag", "to turn the view, the wheel zooms, ? shows all keys."],
  ["Go on", "above: Try moves hands and feet within the limits, Edit changes them."],
] as const;

export interface JointActions {
  edit(): void;
  showClamped(): void;
  allow(): void;
  recall: Recall;
}

export class JointPanel {
  private isLarge = signal(false);
  private inset: Inset | undefined;

  constructor(
    private store: Store,
    private evidence: Evidence,
    private brush: Brush,
    private actions: JointActions,
  ) {
    document.addEventListener("keydown", (event) => this.shrinkOnEscape(event), { capture: true });
    effect(() => {
      if (store.pickedName.value === undefined) this.isLarge.value = false;
    });
  }

  private shrinkOnEscape(event: KeyboardEvent): void {
    if (event.key !== "Escape" || !this.isLarge.value) return;
    event.stopPropagation();
    if (!this.cancelDrag()) this.isLarge.value = false;
  }

  /** Revert a drag in the picture of rotations; return whether there was one. */
  cancelDrag(): boolean {
    return this.inset?.cancel() ?? false;
  }

  Intro = () => (
    <div
      class="intro"
      hidden={this.store.mode.value !== "look" || this.store.picked.value !== undefined}
    >
      <h2>What to do first</h2>
      <ol>
        {FIRST.map(([what, why]) => (
          <li key={what}>
            <b>{what}</b> {why}
          </li>
        ))}
      </ol>
    </div>
  );

  Details = () => {
    const { picked, limited, mode, isPlaying, clip, isRecorded } = this.store;
    const joint = picked.value;
    if (joint === undefined) return null;
    const isLimited = limited.value.includes(joint);
    const isEdited = mode.value === "edit";
    const commonName = clip.skeleton.commonNames[joint];
    const label = isLimited ? "Edit this limit" : "Give it a limit";
    const angle = this.store.pickedOutsideDeg.value;
    const verdict = formatVerdict(angle, this.store.state.value.twoVerdicts);
    return (
      <div class="joint">
        {!isEdited && (
          <h2>
            {this.store.nameOf(joint)} {commonName && <small>{commonName}</small>}
          </h2>
        )}
        <p
          id="now"
          role="status"
          aria-live={isPlaying.value ? "off" : "polite"}
          class={isLimited ? verdictClass(angle) : ""}
        >
          {!isLimited ? "This joint has no limit." : angle === 0 ? "Inside its limit" : verdict}
        </p>
        <this.Reason />
        {isLimited && <this.Limit isEdited={isEdited} />}
        {mode.value === "look" && clip.skeleton.parents[joint] !== -1 && !isRecorded && (
          <Button class="wide to-edit" label={`${label} (3)`} onClick={this.actions.edit}>
            {label}
          </Button>
        )}
      </div>
    );
  };

  /** Facts about the limit, and the colours of its twists. */
  private Limit = ({ isEdited }: { isEdited: boolean }) => {
    const { store } = this;
    const { region, regionHere, picked, clip, isCompared } = store;
    const joint = picked.value ?? -1;
    if (!store.hasRegion(joint)) return null;
    if (!region.value)
      return (
        <dl>
          <Facts rows={[["Limit", "is being drawn …"]]} />
        </dl>
      );
    const { label, chart, share, twistSpan } = region.value;
    const from = store.measuredFrom(joint);
    const here = regionHere.value ? formatShare(regionHere.value.share) : "";
    return (
      <>
        <dl>
          {!isEdited && (
            <Facts
              rows={[
                ["Family", label],
                ["Chart", chart],
              ]}
            />
          )}
          {from !== clip.skeleton.parents[joint] && (
            <Facts rows={[["Seen from", store.nameOf(from)]]} />
          )}
          {!isEdited && (
            <Facts
              rows={[
                ["Allows", formatShare(share)],
                ...(store.isDependent ? [["Now", here] as const] : []),
              ]}
            />
          )}
        </dl>
        {!isCompared.value && <Scale label="Free twist" ends={twistSpan} colours={TWIST} />}
      </>
    );
  };

  /** Why the joint is outside, by swing and twist, and in clinical terms if it has some. */
  private Reason = () => {
    const why = this.store.why.value;
    if (!why) return <div id="why" hidden />;
    const { outsideDeg, swingDeg, twistDeg, name, move, heldBy, nearest } = why;
    const words = name && move ? `${name}: ${formatDegrees(outsideDeg)} beyond ${move}` : "";
    return (
      <div id="why">
        {words && <b>{capitalize(words)}</b>}
        {heldBy && (
          <span class="held">
            Held by <bdi>{heldBy}</bdi>: this would be legal if that joint were elsewhere
          </span>
        )}
        <span>
          {`Swing ${formatDegrees(swingDeg)}, rotation about the bone ${formatDegrees(Math.abs(twistDeg))} too far`}
        </span>
        {nearest && this.renderNearest(nearest)}
        {this.store.pickedOutsideDeg.value > 0 && (
          <div class="remedies">
            <Button
              label="Show the nearest legal pose as a ghost"
              onClick={this.actions.showClamped}
            >
              Show clamped
            </Button>
            <Button
              label="Widen the limit just enough to make this pose legal"
              onClick={this.actions.allow}
            >
              Allow this
            </Button>
          </div>
        )}
      </div>
    );
  };

  private renderNearest({ performer, clip, frame, deg, rotation }: NearestSample) {
    return (
      <div class="nearest">
        <span>
          {`Nearest observed ${formatDegrees(deg)} away: `}
          <bdi>{performer}</bdi>
          {` in ${clip}, frame ${frame}`}
        </span>
        <Button
          label="Pose the body as it was observed there"
          onClick={() => this.actions.recall(quaternionAt(rotation, 0), clip, frame)}
        >
          Show
        </Button>
      </div>
    );
  }

  /** The limit among rotations; enlarged, it covers the view. */
  Picture = () => {
    const { store, evidence } = this;
    const place = useRef<HTMLDivElement>(null);
    const figure = useRef<HTMLElement>(null);
    const canvas = useRef<HTMLCanvasElement>(null);
    const isLarge = this.isLarge.value;
    useEffect(() => {
      if (!canvas.current) return;
      const inset = new Inset(canvas.current, store, evidence, this.brush);
      this.inset = inset;
      const isAllowed = () => !inset.isSculpting;
      evidence.followPointer(canvas.current, () => inset.camera, inset.dots, isAllowed);
    }, []);
    useEffect(() => {
      if (figure.current) (isLarge ? find("main") : place.current)?.append(figure.current);
    }, [isLarge]);
    return (
      <>
        <div ref={place}>
          <figure
            class={isLarge ? "inset large" : "inset"}
            ref={figure}
            hidden={!store.region.value}
          >
            <div>
              <canvas id="inset" role="img" aria-label="The limit among rotations" ref={canvas} />
              <Button
                label={isLarge ? "Shrink this picture (Esc)" : "Enlarge this picture"}
                onClick={() => (this.isLarge.value = !isLarge)}
              >
                {isLarge ? "⤡" : "⤢"}
              </Button>
            </div>
            <figcaption>
              Rotations as vectors from the reference: the limit,{" "}
              {evidence.observations.value?.caption}, a ball for now. Axes about x, y, z with a mark
              every 30°.
            </figcaption>
          </figure>
        </div>
        <evidence.Panel />
      </>
    );
  };
}
