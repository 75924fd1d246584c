// Components and helpers that all parts of the page share.

import type { Signal } from "@preact/signals";
import type { ButtonHTMLAttributes, ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** The first element that matches `selector`; the page's own elements always exist. */
export function find<Kind extends HTMLElement = HTMLElement>(selector: string): Kind {
  const found = document.querySelector<Kind>(selector);
  if (!found) throw new Error(`the page has no ${selector}`);
  return found;
}

export const focusStage = (): void => find("#stage").focus();

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { label: string };

/** A button with a tooltip; its accessible name begins with the words on it. */
export function Button({ label, ...rest }: ButtonProps) {
  const { children } = rest;
  const words = typeof children === "string" && /\p{L}{2}/u.test(children) ? children : "";
  const isSaid = label.toLowerCase().includes(words.toLowerCase());
  return (
    <button
      type="button"
      title={label}
      aria-label={isSaid ? label : `${words}: ${label}`}
      {...rest}
    />
  );
}

const LONG_NAME = 16; // characters; shorter names fit everywhere
const NAME_END = 8; // characters at the end of a long name, which tell joints apart

/** A name that loses its middle where there is no room: ends tell joints and clips apart. */
export function LongName({ text }: { text: string }) {
  if (text.length <= LONG_NAME) return <bdi>{text}</bdi>;
  return (
    <bdi class="long">
      <span>{text.slice(0, -NAME_END)}</span>
      <span>{text.slice(-NAME_END)}</span>
    </bdi>
  );
}

export function Check({ box, children }: { box: Signal<boolean>; children: ComponentChildren }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={box.value}
        onChange={({ currentTarget }) => (box.value = currentTarget.checked)}
      />
      {children}
    </label>
  );
}

export interface Option {
  name: string;
  label: string;
  /** Why it cannot be chosen; null or absent if it can. */
  why?: string | null;
}

interface SelectProps {
  label: string;
  options: Option[];
  value: string;
  onChoose: (value: string) => void;
  hidden?: boolean;
}

export function Select({ label, options, value, onChoose, hidden = false }: SelectProps) {
  return (
    <select
      aria-label={label}
      value={value}
      hidden={hidden}
      onChange={({ currentTarget }) => onChoose(currentTarget.value)}
    >
      {options.map(({ name, label: text, why }) => (
        <option
          key={name}
          value={name}
          disabled={!!why}
          title={why ?? ""}
          selected={name === value}
        >
          {text}
        </option>
      ))}
    </select>
  );
}

/** A list with its label before it, as a row of a form. */
export function SelectRow(props: SelectProps) {
  return (
    <label class="field">
      {props.label}
      <Select {...props} />
    </label>
  );
}

/** Rows of a `<dl>`. */
export function Facts({ rows, kind }: { rows: (readonly [string, string])[]; kind?: string }) {
  return rows.map(([name, value]) => [
    <dt key={name} class={kind}>
      {name}
    </dt>,
    <dd key={`${name} value`} class={kind}>
      {value}
    </dd>,
  ]);
}

/** The field that is being typed in and not committed yet, and its text before. */
let unfinished: EventTarget | null = null;
let textBefore = "";

/** True while `field` holds text that is not committed. */
export const isUnfinished = (field: EventTarget | null): boolean =>
  field !== null && field === unfinished;

/** Follow typing in all fields of the page. */
export function trackTyping(): void {
  const remember = (target: EventTarget | null) => {
    if (target instanceof HTMLInputElement) textBefore = target.value;
  };
  document.addEventListener("focusin", ({ target }) => remember(target));
  document.addEventListener("input", ({ target }) => (unfinished = target));
  document.addEventListener(
    "change",
    ({ target }) => {
      unfinished = null;
      remember(target);
    },
    { capture: true },
  );
}

/** Restore the text that an unfinished field had before. */
export function revertTyping(field: EventTarget | null): void {
  if (!isUnfinished(field) || !(field instanceof HTMLInputElement)) return;
  field.value = textBefore;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  unfinished = null;
}

interface NumberProps {
  label: string;
  /** The committed value, as text; it is not written over text that is being typed. */
  value: string;
  /** Called with a valid number when it is committed. */
  onCommit: (value: number) => void;
  min?: number | string;
  max?: number | string;
  step?: string;
  class?: string;
  title?: string;
  disabled?: boolean;
}

/** A number that is committed by Enter or by leaving the field; empty text restores the value. */
export function NumberField({ label, value, onCommit, ...rest }: NumberProps) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (field.current && !isUnfinished(field.current)) field.current.value = value;
  });
  return (
    <input
      type="number"
      step="any"
      aria-label={label}
      ref={field}
      onKeyDown={({ key }) => {
        // After the change event; in a dialog the field keeps the focus.
        if (key === "Enter" && !field.current?.closest("dialog")) setTimeout(focusStage);
      }}
      onChange={({ currentTarget }) => {
        const { validity, valueAsNumber } = currentTarget;
        // The step is for the arrow keys alone.
        const isAllowed = !(validity.rangeUnderflow || validity.rangeOverflow);
        if (currentTarget.value === "") currentTarget.value = value;
        else if (isAllowed) onCommit(valueAsNumber);
        else currentTarget.reportValidity();
      }}
      {...rest}
    />
  );
}

/** A number with one digit after the point, or fewer. */
export const shortNumber = (value: number, digits = 1): string =>
  String(Number(value.toFixed(digits)));

let revertDrag: (() => void) | undefined;

/** Note that a drag beside the view has begun; Esc calls `revert` until the pointer is released. */
export function beginDrag(revert: () => void): void {
  revertDrag = revert;
  for (const end of ["pointerup", "pointercancel"])
    addEventListener(end, () => (revertDrag = undefined), { once: true });
}

/** Revert the drag beside the view; return whether there was one. */
export function cancelDrag(): boolean {
  const revert = revertDrag;
  revertDrag = undefined;
  revert?.();
  return revert !== undefined;
}

interface DragSliderProps {
  label: string;
  /** The value as it is read aloud. */
  text: string;
  ends: [number, number];
  value: number;
  disabled?: boolean;
  onBegin?: () => void;
  /** Called with every value of a drag, and with the step of the history that the drag is. */
  onInput: (value: number, step: symbol) => void;
  /** Called when a drag ends or is reverted. */
  onEnd?: () => void;
  /** Called when a drag is reverted. */
  onRevert: (step: symbol) => void;
}

/** A slider whose drag is one step; it does not move by itself while it is dragged. */
export function DragSlider(props: DragSliderProps) {
  const { label, text, ends, value, disabled = false } = props;
  const slider = useRef<HTMLInputElement>(null);
  const step = useRef<symbol | undefined>(undefined);
  useLayoutEffect(() => {
    if (slider.current && !step.current) slider.current.value = String(value);
  });
  const end = () => {
    step.current = undefined;
    props.onEnd?.();
  };
  return (
    <input
      type="range"
      min={ends[0]}
      max={ends[1]}
      step="any"
      ref={slider}
      disabled={disabled}
      aria-label={label}
      aria-valuetext={text}
      onPointerDown={({ currentTarget }) => {
        const drag = Symbol("drag");
        step.current = drag;
        props.onBegin?.();
        beginDrag(() => {
          end();
          releaseSlider(currentTarget);
          props.onRevert(drag);
        });
      }}
      onPointerUp={end}
      onPointerCancel={end}
      onInput={({ currentTarget }) =>
        props.onInput(currentTarget.valueAsNumber, step.current ?? Symbol("step"))
      }
    />
  );
}

/** End the drag of a slider: browsers release one that is disabled. */
export function releaseSlider(slider: HTMLInputElement): void {
  slider.disabled = true;
  requestAnimationFrame(() => (slider.disabled = false));
}

interface RangeProps {
  name: string;
  label: string;
  /** Ends and step of the slider, in degrees. */
  range: [low: number, high: number, step: number];
  value: Signal<number>;
  disabled?: boolean;
  hidden?: boolean;
  title?: string;
  /** Called with every value of a drag. */
  onInput?: () => void;
  /** Called when a drag, or typing, ends. */
  onChange?: () => void;
  /** Called when a drag is reverted. */
  onCancel?: () => void;
}

/** A slider in degrees with a number that may also exceed its upper end, up to 90. */
export function SliderWithNumber(props: RangeProps) {
  const { name, label, range, value, disabled = false, hidden = false, title = "" } = props;
  const [min, max, step] = range;
  const slider = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (slider.current) slider.current.value = String(value.value);
  });
  const set = (to: number) => {
    value.value = to;
    props.onInput?.();
  };
  return (
    <div class="field ranged" hidden={hidden} title={title}>
      <span>{label}</span>
      <input
        type="range"
        ref={slider}
        aria-label={name}
        {...{ min, max, step, disabled }}
        onPointerDown={({ currentTarget }) => {
          const before = value.value;
          beginDrag(() => {
            releaseSlider(currentTarget);
            value.value = before;
            (props.onCancel ?? props.onInput)?.();
          });
        }}
        onInput={({ currentTarget }) => set(currentTarget.valueAsNumber)}
        onChange={({ currentTarget }) => currentTarget.disabled || props.onChange?.()}
      />
      <NumberField
        label={`${name}, in degrees`}
        value={shortNumber(value.value, 2)}
        min={min}
        max={90}
        disabled={disabled}
        onCommit={(typed) => {
          set(typed);
          props.onChange?.();
        }}
      />
    </div>
  );
}

interface DialogProps {
  id: string;
  label: string;
  open: Signal<boolean>;
  children: ComponentChildren;
  /** Called with the value of the button that closed it; an empty one for Esc. */
  onClose?: (answer: string) => void;
  /** True to focus the button that answers yes. */
  focusesFirst?: boolean;
}

/** A modal dialog that is shown while `open` is true. */
export function Dialog({ id, label, open, children, onClose, focusesFirst }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = open.value;
  useLayoutEffect(() => {
    if (!dialog.current || dialog.current.open === isOpen) return;
    dialog.current.returnValue = "";
    if (isOpen) dialog.current.showModal();
    else dialog.current.close();
    // The attribute `autofocus` would be refused in the frame of a notebook.
    if (isOpen && focusesFirst) dialog.current.querySelector<HTMLElement>(".first")?.focus();
  }, [isOpen]);
  return (
    <dialog
      id={id}
      aria-label={label}
      ref={dialog}
      onClose={({ currentTarget }) => {
        open.value = false;
        onClose?.(currentTarget.returnValue);
      }}
    >
      {isOpen && children}
    </dialog>
  );
}

/** Buttons at the end of a dialog: one that closes it, and one that answers yes. */
export function DialogButtons({ cancel = "Cancel", yes }: { cancel?: string; yes?: string }) {
  return (
    <form method="dialog">
      <button type="submit" value="no">
        {cancel}
      </button>
      {yes && (
        <button type="submit" value="yes" class="first">
          {yes}
        </button>
      )}
    </form>
  );
}

/** Colours of a range from its least value to its greatest, with a mark at the present value. */
export function Scale(props: {
  label: string;
  ends: [number, number];
  colours: string[];
  mark?: number | undefined;
}) {
  const { label, ends, colours, mark } = props;
  const [least, most] = ends.map((deg) => `${deg.toFixed(0)}°`);
  const share = ((mark ?? 0) - ends[0]) / Math.max(ends[1] - ends[0], 1e-6);
  return (
    <div class="scale" style={{ "--twist": colours.join() }}>
      <span>{label}</span>
      <span class="end">{least}</span>
      {least === most && mark === undefined ? (
        "everywhere" // there is one colour
      ) : (
        <>
          <i>
            {mark !== undefined && (
              <b
                title="Where it is now"
                style={{ left: `${100 * Math.min(Math.max(share, 0), 1)}%` }}
              >{`${mark.toFixed(0)}°`}</b>
            )}
          </i>
          <span class="end">{most}</span>
        </>
      )}
    </div>
  );
}

/** Let the browser download a file. */
export function saveBlob(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000); // ms; by then the download has begun
}

/** A part of a panel that is folded until it is opened. */
export function Details(props: {
  class: string;
  summary: string;
  open: Signal<boolean>;
  children: ComponentChildren;
}) {
  const { summary, open, children } = props;
  return (
    <details
      class={props.class}
      open={open.value}
      onToggle={({ currentTarget }) => (open.value = currentTarget.open)}
    >
      <summary>{summary}</summary>
      {children}
    </details>
  );
}

/** A hidden chooser of files, which `chooser.current.click()` opens. */
export function FileChooser(props: {
  label: string;
  chooser: RefObject<HTMLInputElement | null>;
  onChoose: (files: File[]) => void;
  multiple?: boolean;
  accept?: string;
}) {
  const { label, chooser, onChoose, ...rest } = props;
  return (
    <input
      type="file"
      hidden
      aria-label={label}
      ref={chooser}
      onChange={({ currentTarget }) => {
        const files = [...(currentTarget.files ?? [])];
        currentTarget.value = ""; // the same file can be chosen again
        onChoose(files);
      }}
      {...rest}
    />
  );
}
