// The difference of two limits on one sphere.

import { BufferAttribute, BufferGeometry, Color, Group, Mesh } from "three";
import type { Comparison } from "../protocol";
import { createLines, setPaint, translucentMaterial } from "./sphere";

export const GAINED = "#0b9488";
export const LOST = "#c2378f";
/** Where both limits agree. */
const SAME = new Color("#9aa7b2");
const OVER = 1.003; // radius of parts that are drawn over the sphere

/** The parts for the sphere at a joint. */
export function createDifference(comparison: Comparison): Group {
  const { gainedTwists, lostTwists, rim } = comparison;
  const shape = new BufferGeometry();
  const [gained, lost] = [new Color(GAINED), new Color(LOST)];
  const colours = [...gainedTwists].map((more, i) => {
    const less = lostTwists[i] ?? 0;
    return SAME.clone().lerp(more >= less ? gained : lost, Math.max(more, less) / 255);
  });
  setPaint(shape, comparison, colours);
  const edge = createLines(LOST);
  edge.geometry.setAttribute("position", new BufferAttribute(rim, 3));
  const group = new Group();
  group.add(new Mesh(shape, translucentMaterial(0.72, { vertexColors: true })), edge);
  group.scale.setScalar(OVER);
  return group;
}
