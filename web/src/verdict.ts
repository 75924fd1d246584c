// Verdicts on joints. Angles are degrees outside the limits; negative ones are only unusual.

import { formatDegrees } from "./format";

/** Whether an angle is worse than another: any that is outside, or else the more unusual one. */
export function isWorse(angle: number, other: number): boolean {
  return angle > 0 ? angle > other : other <= 0 && angle < other;
}

/** An angle with its verdict, such as "3.2° unusual". */
export function formatVerdict(angle: number, twoVerdicts: boolean): string {
  const word = angle < 0 ? "unusual" : twoVerdicts ? "impossible" : "outside";
  return `${formatDegrees(Math.abs(angle))} ${word}`;
}

/** The class that colours a verdict. */
export const verdictClass = (angle: number): string =>
  angle > 0 ? "missed" : angle < 0 ? "unusual" : "met";
