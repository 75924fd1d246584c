// Text over the view: notes that stay until they are closed, and messages that fade.

import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { Button, find } from "./ui";

const GOOD_MS = 4_000; // long enough to read a line
const BAD_MS = 15_000; // a reason is read more than once

export const isLate = signal(false);
const notes = signal<{ text: string }[]>([]);
const message = signal({ text: "", good: true });
/** Parts that are shown before the notes, such as the progress of a fit. */
export const banners = signal<Record<string, preact.ComponentChildren>>({});

export function showNote(text: string): void {
  notes.value = [...notes.value, { text }];
}

let fading: number | undefined;

/** Show the result of an action, or why it failed, for some seconds. */
export function showMessage(text: string, good = true): void {
  message.value = { text, good };
  clearTimeout(fading);
  fading = window.setTimeout(() => (message.value = { text: "", good }), good ? GOOD_MS : BAD_MS);
}

export const showError = (error: unknown): void => showMessage((error as Error).message, false);

/** Run an action and show its error, if it fails. */
export async function report(act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (error) {
    showError(error);
  }
}

function Notes() {
  return (
    <>
      {Object.values(banners.value)}
      {notes.value.map((note) => (
        <p>
          {note.text}
          <Button
            label="Close this note"
            onClick={() => (notes.value = notes.value.filter((other) => other !== note))}
          >
            ✕
          </Button>
        </p>
      ))}
    </>
  );
}

/** Show notes and messages in their elements of the page. */
export function mountNotes(): void {
  render(<Notes />, find("#notes"));
  effect(() => {
    find("#late").textContent = isLate.value ? "Still computing …" : "";
  });
  effect(() => {
    const { text, good } = message.value;
    Object.assign(find("#done"), { textContent: text, className: good ? "well" : "missed" });
  });
}
