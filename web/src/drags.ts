// The drag of something beside the view that is under way, so that Esc can take it back.

let takeBack: (() => void) | undefined;

/** A drag has begun; it is over when the mouse lets go, unless it is taken back before. */
export function beginDrag(undo: () => void): void {
  takeBack = undo;
  for (const end of ["pointerup", "pointercancel"])
    addEventListener(end, () => (takeBack = undefined), { once: true });
}

/** Take the drag back; tell whether there is one. */
export function cancelDrag(): boolean {
  const undo = takeBack;
  takeBack = undefined;
  undo?.();
  return undo !== undefined;
}
