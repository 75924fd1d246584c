// How the page looks: bones or a body, light or dark, remembered from page to page.

import { remember, remembered } from "../browser";
import type { Pose } from "../clip";
import { button } from "../elements";
import type { Style } from "./body";
import { THEMES } from "./colours";
import type { Stage } from "./stage";

export class Looks {
  readonly bones = button("Bones", "Bones or body (B)", () => this.restyle());
  readonly light = button("◐", "Light or dark (L)", () => this.dress());
  private style: Style = "body";

  constructor(
    private stage: Stage,
    private pose: () => Pose,
    /** Told of another style. */
    private restyled: () => void,
    /** Told of other colours. */
    private dressed: () => void,
  ) {}

  restyle(): void {
    this.style = this.style === "body" ? "bones" : "body";
    this.bones.setAttribute("aria-pressed", String(this.style === "bones"));
    this.stage.shape(this.style, this.pose());
    this.restyled();
  }

  /** Dress as before, or as the system does. */
  begin(): void {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.dress(remembered("theme") ?? (dark ? "dark" : "light"));
  }

  dress(name?: string): void {
    const root = document.documentElement;
    const theme = name ?? (root.dataset.theme === "dark" ? "light" : "dark");
    root.dataset.theme = theme;
    remember("theme", theme);
    this.stage.dress(theme === "dark" ? THEMES.dark : THEMES.light);
    this.dressed();
  }
}
