// Angles, shares and verdicts as text. Angles are degrees outside a limit; negative ones are unusual.

/** An angle in degrees. */
export const formatDegrees = (angle: number): string =>
  angle > 0 && angle < 0.05 ? "<0.1°" : `${angle.toFixed(angle < 10 ? 1 : 0)}°`;

/** A signed angle in whole degrees; zero has no minus sign. */
export const formatAngle = (angle: number): string => `${Math.round(angle) + 0}°`.replace("-", "−");

export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A share, as `synovia.text.percent` writes it. */
export function formatPercent(share: number): string {
  if (share < 1e-6) return share === 0 ? "0%" : "<0.0001%";
  const percent = 100 * share;
  return `${share >= 0.01 ? percent.toFixed(1) : percent.toPrecision(2)}%`;
}

/** The share of all rotations that a limit allows. */
export const formatShare = (share: number): string =>
  share === 0 ? "a thin region" : `${formatPercent(share)} of all rotations`;

const UNITS: Record<string, string> = { degrees: "°", radians: " rad", length: "", share: "" };

/** A control's value without its unit, with the decimals that matter. */
export const formatNumber = (value: number, unit: string): string => {
  const text = value.toFixed(unit === "degrees" ? 0 : 2);
  return Number(text) === 0 ? text.replace("-", "") : text;
};

/** A control's value with its unit. */
export const formatValue = (value: number, unit: string): string =>
  `${formatNumber(value, unit)}${UNITS[unit] ?? ""}`;

/** A number with one decimal; zero has no minus sign. */
export const formatTenths = (value: number): string => (Math.round(10 * value) / 10 + 0).toFixed(1);

/** True if an angle is worse than another: any angle outside, or else the more unusual one. */
export function isWorse(angle: number, other: number): boolean {
  return angle > 0 ? angle > other : other <= 0 && angle < other;
}

/** An angle with its verdict, such as "3.2° unusual". */
export function formatVerdict(angle: number, twoVerdicts: boolean): string {
  const word = angle < 0 ? "unusual" : twoVerdicts ? "impossible" : "outside";
  return `${formatDegrees(Math.abs(angle))} ${word}`;
}

/** The CSS class that colours a verdict. */
export const verdictClass = (angle: number): string =>
  angle > 0 ? "missed" : angle < 0 ? "unusual" : "met";
