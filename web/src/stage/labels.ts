// Placement of labels over the view: beside their joints, not over dots or other labels.

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The size of a label in pixels, and the pixel of its joint. */
export interface Label {
  width: number;
  height: number;
  x: number;
  y: number;
  /** The side on which it was placed before; it stays there unless another is much better. */
  side: number | undefined;
}

/** A point that labels should not cover, with the cost if one does. */
export interface Dot {
  x: number;
  y: number;
  weight: number;
}

const GAP_PX = 12; // from the joint to the label
const DOT_PX = 6; // radius of a dot
const RIM_PX = 4; // from the label to the edge of the view
/** Costs: over a label, over the edge, each pixel of distance, another side than before. */
const [OVER_LABEL, OFF_RIM, AWAY, CHANGED] = [100, 100, 0.02, 0.9];

/** Sides of a joint: right or left, and by how many heights of the label down. */
const SIDES = [0, 1, -1, 2, -2, 3, -3, 4, -4].flatMap((down) => [
  { right: true, down },
  { right: false, down },
]);

/** Return the corner and side of each label; the first label chooses first. */
export function placeLabels(
  labels: Label[],
  dots: Dot[],
  view: { width: number; height: number },
): { x: number; y: number; side: number }[] {
  const placed: Box[] = [];
  return labels.map((label) => {
    const { width, height } = label;
    let best = { x: 0, y: 0, side: 0, cost: Number.POSITIVE_INFINITY };
    SIDES.forEach(({ right, down }, side) => {
      const x = label.x + (right ? GAP_PX : -GAP_PX - width);
      const y = label.y + (down - 0.5) * (height + 2);
      const box = { x, y, width, height };
      const away = AWAY * (Math.abs(down) * height + (right ? 0 : 0.5 * height));
      const cost =
        away +
        (label.side === undefined || label.side === side ? 0 : CHANGED) +
        (isWithin(box, view) ? 0 : OFF_RIM) +
        OVER_LABEL * placed.filter((other) => overlap(box, other)).length +
        dots.reduce((sum, dot) => sum + (covers(box, dot) ? dot.weight : 0), 0);
      if (cost < best.cost) best = { x, y, side, cost };
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
