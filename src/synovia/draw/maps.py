"""Maps and cross sections of shapes that are made of cells or nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from ..arrays import TURN, Floats, Scalars
from ..shapes import DistanceField, Region, ThetaPhi


@dataclass(frozen=True, eq=False)
class CellMap:
    """Widths of the ranges of twist in the cells of a sphere, by longitude and latitude.

    `widths` (rows, columns) are in radians, NaN where no twist is legal: rows from the south,
    columns from longitude −π on. `frame` holds the axes as rows: the first is at longitude 0 and
    latitude 0, the third is the pole.
    """

    widths: Floats
    frame: Floats


@singledispatch
def cell_map(shape: Region) -> CellMap | None:
    """Return the cells of a shape that is made of cells of the sphere, else None."""
    return None


@cell_map.register
def _(shape: ThetaPhi) -> CellMap | None:
    widths = np.minimum(shape.high - shape.low, TURN)
    return CellMap(np.where(shape.legal, widths, np.nan), shape.frame)


@dataclass(frozen=True, eq=False)
class CrossSection:
    """Signed distances in the plane of the chart where coordinate `across` is `at` radians.

    `distances` (rows, columns) are in radians; `along` (columns,) and `up` (rows,) are values of
    the first and the second of the other coordinates.
    """

    across: int
    at: float
    along: Scalars
    up: Scalars
    distances: Floats


@singledispatch
def cross_sections(shape: Region) -> tuple[CrossSection, ...]:
    """Return the planes of nodes through the deepest node of a field; none for other shapes."""
    return ()


@cross_sections.register
def _(shape: DistanceField) -> tuple[CrossSection, ...]:
    distances = shape.values - shape.threshold
    nodes = [
        low + step * np.arange(count)
        for low, step, count in zip(shape.low, shape.spacing, distances.shape, strict=True)
    ]
    # Beyond half a turn a chart repeats rotations: prefer nodes within it.
    angles = np.linalg.norm(np.stack(np.meshgrid(*nodes, indexing="ij")), axis=0)
    once = np.where(angles <= np.pi, distances, np.inf)
    ranked = once if once.min() < 0.0 else distances
    deepest = np.unravel_index(int(ranked.argmin()), distances.shape)
    sections = []
    for across, index in enumerate(map(int, deepest)):
        along, up = (axis for axis in range(3) if axis != across)
        plane = np.take(distances, index, axis=across).T
        at = float(nodes[across][index])
        sections.append(CrossSection(across, at, nodes[along], nodes[up], plane))
    return tuple(sections)
