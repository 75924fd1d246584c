// Angles and shares as people read them.

/** Of an angle in degrees. */
export const formatDegrees = (angle: number): string =>
  angle > 0 && angle < 0.05 ? "<0.1°" : `${angle.toFixed(angle < 10 ? 1 : 0)}°`;

/** Of a share, as `synovia.text.percent` writes it. */
export function formatPercent(share: number): string {
  if (share < 1e-6) return share === 0 ? "0%" : "<0.0001%";
  const percent = 100 * share;
  return `${share >= 0.01 ? percent.toFixed(1) : percent.toPrecision(2)}%`;
}

/** Of the share of all rotations that a limit allows. */
export const formatShare = (share: number): string =>
  share === 0 ? "a thin region" : `${formatPercent(share)} of all rotations`;

/** Of what is called so, in the middle of a sentence: an oriented box, a k-DOP. */
export function withArticle(label: string): string {
  const name = /^[A-Z][a-z]/.test(label) ? label[0]?.toLowerCase() + label.slice(1) : label;
  return `${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`;
}

const UNITS: Record<string, string> = { degrees: "°", radians: " rad", length: "", share: "" };

/** Of a control's value, as it is typed: with the decimals that matter. */
export const formatNumber = (value: number, unit: string): string => {
  const text = value.toFixed(unit === "degrees" ? 0 : 2);
  return Number(text) === 0 ? text.replace("-", "") : text;
};

/** Of a control's value, in its unit. */
export const formatValue = (value: number, unit: string): string =>
  `${formatNumber(value, unit)}${UNITS[unit] ?? ""}`;

/** A number with one digit after the point, and no minus before nothing. */
export const formatTenths = (value: number): string => (Math.round(10 * value) / 10 + 0).toFixed(1);
