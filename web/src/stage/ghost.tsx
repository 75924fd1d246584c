// The ghost: the clamped clip, requested when it is shown, and how it is clamped.

import { effect, signal } from "@preact/signals";
import { clampedPose } from "../clip";
import { formatDegrees } from "../format";
import type { Clamping } from "../protocol";
import type { Store } from "../store";
import { Button, Details, SelectRow, SliderWithNumber } from "../ui";
import type { Stage } from "./stage";

const KINDS = [
  { name: "hard", label: "stop at the limit" },
  { name: "inside", label: "slow down inside" },
  { name: "beyond", label: "give way beyond" },
];

export class Ghost {
  private isShown = signal(false);
  private clamping = signal<Clamping | undefined>(undefined);
  private kind = signal("hard");
  private radiusDeg = signal(5);
  private isOpen = signal(false);
  private requests = 0;

  constructor(
    private store: Store,
    stage: Stage,
  ) {
    effect(() => {
      void store.check.value;
      const soften = store.soften.value;
      this.requests++;
      this.clamping.value = undefined;
      if (this.isShown.peek() || soften !== null) void this.request(soften);
    });
    effect(() => {
      void [store.style.value, store.pose.value];
      const clamping = this.isShown.value ? this.clamping.value : undefined;
      stage.showGhost(clamping && clampedPose(clamping, store.clip, store.frame.value));
    });
  }

  /** True if clamping changes the clip. */
  private get isPossible(): boolean {
    return this.store.check.value?.outsideDeg.some((angle) => angle > 0) ?? false;
  }

  toggle(): void {
    if (!this.isPossible) return;
    this.isShown.value = !this.isShown.value;
    if (this.isShown.value && !this.clamping.value) void this.request(this.store.soften.value);
  }

  private async request(soften: string | null): Promise<void> {
    const number = ++this.requests;
    const matters = () => number === this.requests; // the limits are still the same
    const clamping = await this.store.connection.askWhile(matters, "clamp", { soften });
    if (clamping) this.clamping.value = clamping;
  }

  private setSoftening(): void {
    const [kind, radius] = [this.kind.value, this.radiusDeg.value];
    this.store.soften.value = kind === "hard" ? null : `${kind}:${radius}`;
  }

  Tool = () => (
    <Button
      label="Ghost of the clamped clip (G)"
      disabled={!this.isPossible}
      aria-pressed={this.isShown.value}
      onClick={() => this.toggle()}
    >
      Ghost
    </Button>
  );

  Softening = () => {
    const { leftDeg = 0 } = this.clamping.value ?? {};
    return (
      <Details class="softening" summary="How the ghost is clamped" open={this.isOpen}>
        <SelectRow
          label="Clamping"
          options={KINDS}
          value={this.kind.value}
          onChoose={(kind) => {
            this.kind.value = kind;
            this.setSoftening();
          }}
        />
        <SliderWithNumber
          name="Softening radius"
          label="Within"
          range={[0.5, 30, 0.5]}
          value={this.radiusDeg}
          hidden={this.kind.value === "hard"}
          onChange={() => this.setSoftening()}
        />
        <p class="why">
          {this.store.soften.value !== null &&
            `Clamped so, the clip is at most ${formatDegrees(leftDeg)} outside.`}
        </p>
      </Details>
    );
  };
}
