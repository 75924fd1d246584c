// Actions on the whole pose: undo, mirror, reset a joint, and a shelf of poses that are kept.

import { signal } from "@preact/signals";
import { showMessage } from "../notes";
import type { Store } from "../store";
import { Button, focusStage } from "../ui";
import type { MadePose } from "./history";

interface Kept {
  name: string;
  made: MadePose;
}

export class Shelf {
  private kept = signal<Kept[]>([]);
  private name = signal("");

  constructor(
    private store: Store,
    private actions: { mirror(): void; resetJoint(): void },
  ) {}

  private keep(): void {
    const name = this.name.value.trim() || `Pose ${this.kept.value.length + 1}`;
    this.kept.value = [...this.kept.value, { name, made: this.store.currentPose() }];
    this.name.value = "";
    focusStage(); // the next key is not part of a name
  }

  private async copy({ name, made }: Kept): Promise<void> {
    const rounded = (values: Float32Array, joint: number, count: number) =>
      [...values.subarray(count * joint, count * (joint + 1))].map((value) => +value.toFixed(6));
    const entries = this.store.clip.skeleton.names.map((joint, index) => {
      const rotation = rounded(made.pose.rotations, index, 4);
      const position = rounded(made.pose.positions, index, 3);
      return [joint, { rotation, position }];
    });
    const joints = Object.fromEntries(entries);
    const text = JSON.stringify({ name, controls: made.values ?? null, joints }, null, 1);
    try {
      await navigator.clipboard.writeText(text);
      showMessage(`${name} is copied, as JSON.`);
    } catch {
      showMessage("The browser does not let the page copy.", false);
    }
  }

  Panel = () => {
    const { store, actions } = this;
    const { history } = store;
    const joint = store.nameOf(store.picked.value);
    return (
      <div class="poses">
        <h2>Pose</h2>
        <div class="line">
          <Button
            label="Undo the pose (Ctrl Z)"
            disabled={!history.canUndo.value}
            onClick={() => history.undo()}
          >
            Undo
          </Button>
          <Button
            label="Redo the pose (Ctrl Shift Z)"
            disabled={!history.canRedo.value}
            onClick={() => history.redo()}
          >
            Redo
          </Button>
          <Button
            label="Mirror the pose: left and right change places"
            onClick={() => actions.mirror()}
          >
            Mirror
          </Button>
          <Button
            label={joint ? `Reset ${joint}` : "Pick a joint to reset it"}
            disabled={!joint}
            onClick={() => actions.resetJoint()}
          >
            Reset joint
          </Button>
        </div>
        <form
          class="keep"
          onSubmit={(event) => {
            event.preventDefault();
            this.keep();
          }}
        >
          <input
            type="text"
            placeholder="Name this pose"
            aria-label="Name of the pose"
            maxLength={60}
            value={this.name.value}
            onInput={({ currentTarget }) => (this.name.value = currentTarget.value)}
          />
          <button type="submit">Keep</button>
        </form>
        <ul aria-label="Poses that are kept">
          {this.kept.value.map((kept) => (
            <li key={kept.name}>
              <Button
                class="apply"
                label={`Apply ${kept.name}`}
                onClick={() => history.take(kept.made)}
              >
                {kept.name}
              </Button>
              <Button label={`Copy ${kept.name} as JSON`} onClick={() => void this.copy(kept)}>
                Copy
              </Button>
              <Button
                label={`Delete ${kept.name}`}
                onClick={() => {
                  this.kept.value = this.kept.value.filter((other) => other !== kept);
                }}
              >
                ✕
              </Button>
            </li>
          ))}
        </ul>
      </div>
    );
  };
}
