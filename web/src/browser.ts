// Browser features besides elements: storage that outlasts the page, and idle time.

const COOKIE = "synovia";
const YEAR_S = 365 * 24 * 3600;
const SOON_MS = 400; // the longest wait for idle time

/** Settings by name. Cookies are shared by all ports of a machine, as the server has many. */
function settings(): Record<string, string> {
  try {
    const own = document.cookie.split("; ").find((cookie) => cookie.startsWith(`${COOKIE}=`));
    const text = own
      ? decodeURIComponent(own.slice(COOKIE.length + 1))
      : localStorage.getItem(COOKIE); // a file has no cookies
    return JSON.parse(text ?? "{}");
  } catch {
    return {}; // in a frame, browsers may forbid storage
  }
}

export const recall = (name: string): string | null => settings()[name] ?? null;

export function remember(name: string, value: string): void {
  try {
    const text = JSON.stringify({ ...settings(), [name]: value });
    const attributes = `path=/; max-age=${YEAR_S}; samesite=strict`;
    // biome-ignore lint/suspicious/noDocumentCookie: not all browsers have the Cookie Store API.
    document.cookie = `${COOKIE}=${encodeURIComponent(text)}; ${attributes}`;
    localStorage.setItem(COOKIE, text);
  } catch {
    // Storage is forbidden.
  }
}

/** Resolves when the browser is idle, or soon. */
export function whenIdle(): Promise<void> {
  return new Promise((resolve) => {
    if ("requestIdleCallback" in window) requestIdleCallback(() => resolve(), { timeout: SOON_MS });
    else setTimeout(resolve, SOON_MS / 4);
  });
}
