// Colours: those with a meaning are the same in both themes.

import { Color } from "three";

export const OUTSIDE = "#dc2f45";
/** Sky blue of Okabe and Ito, distinct from red for every kind of colour vision. */
export const UNUSUAL = "#56b4e9";
export const PICKED = "#f0a020";
export const LEGAL = "#0b9488";
export const SLICE = "#2f6fc1";

const RAMP = ["#fad7a0", "#f4a259", "#ec6a4c", OUTSIDE, "#a11d36"];
/** From blue (narrow) to yellow (wide), distinct for all kinds of colour vision. */
export const TWIST = ["#232c7a", "#2f63c8", "#5b9ddd", "#c3cf8e", "#ffd93b"];

/** Interpolate between colours, which are parsed once, since it runs for each vertex. */
function createRamp(names: string[]): (share: number) => Color {
  const colours = names.map((name) => new Color(name));
  return (share) => {
    const position = Math.min(Math.max(share, 0), 1) * (colours.length - 1);
    const first = Math.min(Math.floor(position), colours.length - 2);
    const [from, to] = [colours[first], colours[first + 1]] as [Color, Color];
    return from.clone().lerp(to, position - first);
  };
}

/** From just outside to far outside. */
export const outsideColour = createRamp(RAMP);

/** From just unusual to almost impossible. */
export const unusualColour = createRamp(["#b9e0f7", UNUSUAL, "#0072b2"]);

/** From a narrow range of twist to a wide one. */
export const twistColour = createRamp(TWIST);

export interface Theme {
  background: string;
  body: string;
  bone: string;
  skin: string;
  bare: string;
  /** The dot of a joint that has a limit. */
  limited: string;
  ink: string;
  line: string;
  ghost: string;
  /** The opacity of the shadow on the ground. */
  shade: number;
}

export const THEMES: Record<"light" | "dark", Theme> = {
  light: {
    background: "#f3f6f8",
    body: "#b9c5ce",
    bone: "#efe7d6",
    skin: "#d2bfb1",
    bare: "#d5dde3",
    limited: "#0b7a70",
    ink: "#22303c",
    line: "#d3dce2",
    ghost: "#0b9488",
    shade: 0.22,
  },
  dark: {
    background: "#12171c",
    body: "#8493a0",
    bone: "#e9e0cd",
    skin: "#a99f9a",
    bare: "#4b5863",
    limited: "#7ff0e1",
    ink: "#e8edf1",
    line: "#27313a",
    ghost: "#2dd4bf",
    shade: 0.5,
  },
};
