// Where labels are written over the view: beside what they name, over no dot and no other label.

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A label of some size, and what it names. */
export interface Label {
  width: number;
  height: number;
  x: number;
  y: number;
  /** Which way it was written before, if it was: it stays there where that is as good. */
  way: number | undefined;
}

/** Something that is not to be covered, as much as it weighs. */
export interface Dot {
  x: number;
  y: number;
  weight: number;
}

const GAP_PX = 12;
const DOT_PX = 6;
const RIM_PX = 4;
const [OVER_LABEL, OFF_RIM, AWAY, CHANGED] = [100, 100, 0.02, 0.9];

/** Ways from a joint to its label: to the right or left, and by how many heights down. */
const WAYS = [0, 1, -1, 2, -2, 3, -3, 4, -4].flatMap((down) => [
  { side: 1, down },
  { side: -1, down },
]);

/** Return for each label where its corner is, and which way that is; those before others choose first. */
export function placeLabels(
  labels: Label[],
  dots: Dot[],
  view: { width: number; height: number },
): { x: number; y: number; way: number }[] {
  const placed: Box[] = [];
  return labels.map((label) => {
    const { width, height } = label;
    let best = { x: 0, y: 0, way: 0, cost: Number.POSITIVE_INFINITY };
    WAYS.forEach(({ side, down }, way) => {
      const x = label.x + (side > 0 ? GAP_PX : -GAP_PX - width);
      const y = label.y + (down - 0.5) * (height + 2);
      const box = { x, y, width, height };
      const away = AWAY * (Math.abs(down) * height + (side > 0 ? 0 : 0.5 * height));
      const cost =
        away +
        (label.way === undefined || label.way === way ? 0 : CHANGED) +
        (isWithin(box, view) ? 0 : OFF_RIM) +
        OVER_LABEL * placed.filter((other) => overlap(box, other)).length +
        dots.reduce((sum, dot) => sum + (covers(box, dot) ? dot.weight : 0), 0);
      if (cost < best.cost) best = { x, y, way, cost };
    });
    placed.push({ x: best.x, y: best.y, width, height });
    return best;
  });
}

function isWithin({ x, y, width, height }: Box, view: { width: number; height: number }): boolean {
  const [right, bottom] = [view.width - RIM_PX - width, view.height - RIM_PX - height];
  return x >= RIM_PX && y >= RIM_PX && x <= right && y <= bottom;
}

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

function covers({ x, y, width, height }: Box, dot: Dot): boolean {
  const beside = dot.x < x - DOT_PX || dot.x > x + width + DOT_PX;
  return !beside && dot.y > y - DOT_PX && dot.y < y + height + DOT_PX;
}
