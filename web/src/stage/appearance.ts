// How the page looks: bones or a body, light or dark, remembered from page to page.

import { recall, remember } from "../browser";
import type { Pose } from "../clip";
import { button } from "../elements";
import type { Style } from "./body";
import { THEMES } from "./colours";
import type { Stage } from "./stage";

export class Appearance {
  readonly styleButton = button("Bones", "Bones or body (B)", () => this.toggleStyle());
  readonly themeButton = button("◐", "Light or dark (L)", () => this.setTheme());
  private style: Style = "body";

  constructor(
    private stage: Stage,
    private pose: () => Pose,
    /** Told of another style. */
    private onStyle: () => void,
    /** Told of other colours. */
    private onTheme: () => void,
  ) {}

  toggleStyle(): void {
    this.style = this.style === "body" ? "bones" : "body";
    this.styleButton.setAttribute("aria-pressed", String(this.style === "bones"));
    this.stage.setStyle(this.style, this.pose());
    this.onStyle();
  }

  /** Dress as before, or as the system does. */
  restore(): void {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.setTheme(recall("theme") ?? (dark ? "dark" : "light"));
  }

  setTheme(name?: string): void {
    const root = document.documentElement;
    const theme = name ?? (root.dataset.theme === "dark" ? "light" : "dark");
    root.dataset.theme = theme;
    remember("theme", theme);
    this.stage.setTheme(theme === "dark" ? THEMES.dark : THEMES.light);
    this.onTheme();
  }
}
