// What browsers offer besides elements: storage from page to page, and idle time.

const PREFIX = "synovia-";
const YEAR_S = 365 * 24 * 3600;

/**
 * What was remembered from page to page; in a frame, browsers may forbid it. Cookies are for all
 * ports of a machine, and the server has another one at each start; a file has storage alone.
 */
export function recall(name: string): string | null {
  try {
    const own = document.cookie.split("; ").find((each) => each.startsWith(`${PREFIX}${name}=`));
    return own?.slice(own.indexOf("=") + 1) ?? localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    // biome-ignore lint/suspicious/noDocumentCookie: the other way of setting one is not everywhere.
    document.cookie = `${PREFIX}${name}=${value}; path=/; max-age=${YEAR_S}; samesite=strict`;
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
