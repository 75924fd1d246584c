// The limits file: save, save under a name, download, and edits that were not saved last time.

import { effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { banners, report, showMessage } from "../notes";
import type { Leftover } from "../protocol";
import type { Store } from "../store";
import { Button, Dialog, DialogButtons } from "../ui";

const SUFFIX = ".limits.json";

/** A question that is answered with yes or no. */
interface Question {
  title: string;
  text: preact.ComponentChildren;
  yes: string;
}

export class Files {
  private isNaming = signal(false);
  private isExplained = signal(false);
  private isAsked = signal(false);
  private question: Question = { title: "", text: "", yes: "" };
  private answer: (isYes: boolean) => void = () => {};
  private error = signal("");

  constructor(private store: Store) {
    const { state, clip } = store;
    const { scene } = state.value;
    effect(() => {
      if (state.value.scene !== scene) {
        this.isReloading = true;
        location.reload(); // another clip, or other limits
      }
      document.title = `${state.value.unsaved ? "• " : ""}${clip.name} – Synovia`;
      const { leftover } = state.value;
      banners.value = { ...banners.peek(), leftover: leftover && this.renderLeftover(leftover) };
    });
    // Unsaved edits stay in Python while the page is loaded again.
    addEventListener(
      "beforeunload",
      (event) => state.value.unsaved && !this.isReloading && event.preventDefault(),
    );
  }

  private isReloading = false;

  private renderLeftover({ written, name }: Leftover) {
    const decide = (restore: boolean) => () =>
      report(() => this.store.connection.ask("recover", { restore }));
    return (
      <p id="leftover" key="leftover">
        {`Edits of ${new Date(1000 * written).toLocaleString()} were not saved (${name}).`}
        <Button label="Bring back the edits that were not saved" onClick={decide(true)}>
          Bring them back
        </Button>
        <Button label="Remove the edits that were not saved" onClick={decide(false)}>
          Remove them
        </Button>
      </p>
    );
  }

  /** Save to the file, or beside it under a name. */
  async save(name: string | null = null, overwrite = false): Promise<void> {
    if (this.store.state.value.file === null) {
      this.isExplained.value = true;
      return;
    }
    this.error.value = "";
    try {
      const answer = await this.store.connection.ask("save", { as: name, overwrite });
      if (answer.exists) {
        if (await this.confirmOverwrite(answer.exists, answer.changed)) await this.save(name, true);
        return;
      }
      this.isNaming.value = false;
      showMessage(`Saved ${answer.saved}`);
    } catch (error) {
      this.showFailure((error as Error).message);
    }
  }

  /** Ask for a name, and save under it. */
  askName(): void {
    this.error.value = "";
    if (this.store.state.value.file === null) this.isExplained.value = true;
    else this.isNaming.value = true;
  }

  download(): Promise<void> {
    return report(() => this.store.download({ what: "limits" }));
  }

  /** Ask a question, and return whether the answer is yes. */
  confirm(question: Question): Promise<boolean> {
    this.question = question;
    this.isAsked.value = true;
    return new Promise((resolve) => (this.answer = resolve));
  }

  private confirmOverwrite(name: string, isChanged: boolean): Promise<boolean> {
    const reason = isChanged
      ? " was changed by another program since it was read here: those changes would be lost."
      : " exists already: its content would be lost.";
    const text = (
      <p>
        <b>{name}</b>
        {reason}
      </p>
    );
    return this.confirm({ title: "Overwrite?", text, yes: "Overwrite" });
  }

  private showFailure(reason: string): void {
    if (this.isNaming.value) this.error.value = reason;
    else showMessage(`Not saved: ${reason}`, false);
  }

  Tools = () => {
    const { file, unsaved } = this.store.state.value;
    return (
      <>
        <Button
          label="Save (Ctrl S)"
          title={file === null ? "Save (Ctrl S): how to" : `Save to ${file} (Ctrl S)`}
          data-unsaved={unsaved ? "" : undefined}
          onClick={() => void this.save()}
        >
          {file === null ? "Save…" : "Save"}
        </Button>
        <Button
          label="Save as (Ctrl Shift S)"
          hidden={file === null}
          onClick={() => this.askName()}
        >
          Save as…
        </Button>
        <Button label="Download the limits as a file" onClick={() => void this.download()}>
          Download
        </Button>
      </>
    );
  };

  Dialogs = () => (
    <>
      <Dialog id="naming" label="Save as" open={this.isNaming}>
        <this.NameForm />
      </Dialog>
      <Dialog
        id="question"
        label={this.isAsked.value ? this.question.title.replace("?", "") : ""}
        open={this.isAsked}
        onClose={(value) => this.answer(value === "yes")}
      >
        <h2>{this.question.title}</h2>
        {this.question.text}
        <DialogButtons yes={this.question.yes} />
      </Dialog>
      <Dialog
        id="nowhere"
        label="No file to save to"
        open={this.isExplained}
        focusesFirst
        onClose={(value) => value === "yes" && void this.download()}
      >
        <h2>No file to save to</h2>
        <p>Synovia writes only to a file that was named when it was started, and none was.</p>
        <p>
          <b>Now: </b>download the limits, with all your edits.
        </p>
        <p>
          <b>Next time: </b>start with <code>{`synovia view -o mine${SUFFIX}`}</code>, or in Python{" "}
          <code>{`view(…, save_to="mine${SUFFIX}")`}</code>, and Save writes there.
        </p>
        <DialogButtons cancel="Close" yes="Download" />
      </Dialog>
    </>
  );

  private NameForm = () => {
    const input = useRef<HTMLInputElement>(null);
    const file = this.store.state.value.file ?? "";
    const [, folder, name = ""] = /^(.*[/\\])?([^/\\]*)$/.exec(file) ?? [];
    useEffect(() => {
      input.current?.focus();
      input.current?.setSelectionRange(0, Math.max(name.length - SUFFIX.length, 0));
    }, []);
    return (
      <>
        <h2>Save as</h2>
        <form
          method="dialog"
          onSubmit={(event) => {
            event.preventDefault();
            void this.save(input.current?.value ?? null);
          }}
        >
          <input
            type="text"
            aria-label="Name of the file"
            spellcheck={false}
            defaultValue={name}
            ref={input}
          />
          <p>{folder ? `In ${folder}` : "In the folder where synovia was started"}</p>
          <p class="missed" role="alert">
            {this.error.value}
          </p>
          <Button label="Cancel" onClick={() => (this.isNaming.value = false)}>
            Cancel
          </Button>
          <button type="submit" class="first">
            Save
          </button>
        </form>
      </>
    );
  };
}
