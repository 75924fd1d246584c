// What is not needed at once waits until the first picture is there.

const SOON_MS = 400;

/** When the browser has nothing else to do, or else soon. */
export function idle(): Promise<void> {
  return new Promise((go) => {
    if ("requestIdleCallback" in window) requestIdleCallback(() => go(), { timeout: SOON_MS });
    else setTimeout(go, SOON_MS / 4);
  });
}
