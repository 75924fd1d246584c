// How the page looks: bones, a body or both, light or dark, remembered from page to page.

import { recall, remember } from "../browser";
import type { Pose } from "../clip";
import { button } from "../elements";
import type { Style } from "./body";
import { THEMES } from "./colours";
import type { Stage } from "./stage";

const LABELS: Record<Style, string> = { bones: "Bones", body: "Body", both: "Both" };

export class Appearance {
  readonly styleButton = button(LABELS.body, "Bones, body or both (B)", () => this.toggleStyle(), {
    class: "style",
  });
  readonly themeButton = button("◐", "Light or dark (L)", () => this.setTheme());
  private style: Style = "body";
  private styles: Style[] = ["body", "bones"];

  constructor(
    private stage: Stage,
    private pose: () => Pose,
    /** Told of another style. */
    private onStyle: () => void,
    /** Told of other colours. */
    private onTheme: () => void,
  ) {}

  /** Show the next style. */
  toggleStyle(): void {
    const next = (this.styles.indexOf(this.style) + 1) % this.styles.length;
    this.setStyle(this.styles[next] ?? "body");
    remember("style", this.style);
  }

  /** A human has bones and perhaps a skin: show them as before, or both. */
  offerShapes(hasSkin: boolean): void {
    this.styles = hasSkin ? ["both", "bones", "body"] : ["bones"];
    const before = recall("style") as Style | null;
    const known = before && this.styles.includes(before);
    this.setStyle(known ? before : (this.styles[0] ?? "bones"));
  }

  private setStyle(style: Style): void {
    this.style = style;
    this.styleButton.textContent = LABELS[style];
    this.stage.setStyle(style, this.pose());
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
