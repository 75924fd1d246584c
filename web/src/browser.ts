// What browsers offer besides elements: storage from page to page, and idle time.

/** What was remembered from page to page; in a frame, browsers may forbid it. */
export function recall(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Then it is not.
  }
}

const SOON_MS = 400;

/** When the browser has nothing else to do, or else soon. */
export function whenIdle(): Promise<void> {
  return new Promise((go) => {
    if ("requestIdleCallback" in window) requestIdleCallback(() => go(), { timeout: SOON_MS });
    else setTimeout(go, SOON_MS / 4);
  });
}
