"""What share of all rotations a limit allows: as exact as its picture is fine."""

from __future__ import annotations

import numpy as np

from ..arrays import Scalars
from ..limit import Limit
from ..shapes import Directional, DistanceField, ThetaPhi
from ..shapes.field_tables import closed
from ..shapes.field_volume import volume_of
from ..shapes.table_pack import reached
from ..shapes.table_scatter import volume
from .mesh import Finish, Mesh
from .sheets import Sheet

SAMPLES, FEW = 4000, 500
"""Rotations to find the share with, and for a draft."""
NODES = 10_000
"""Directions that a table's volume is integrated over for a draft."""
EVERY = 8.0 * np.pi**2
"""The volume of all directions with all twists."""


def share_of(limit: Limit, directions: Sheet, finish: Finish) -> float:
    """Return the share of all rotations that is legal, in [0, 1].

    Drafts have no time for what takes long to integrate: to a percent or so, it comes from the
    directions that are drawn, or from few nodes and lines.
    """
    shape = limit.shape
    if finish.careful:
        return limit.volume(SAMPLES)
    if isinstance(shape, ThetaPhi):
        cells = reached(shape.legal, shape.margin)
        return volume(shape._beyond, shape._twists, cells, NODES) / EVERY
    if isinstance(shape, Directional):
        widths = directions.widths[directions.mesh.triangles].mean(axis=1)
        return float(_areas(directions.mesh) @ widths) / EVERY
    if isinstance(shape, DistanceField) and shape.reach(limit.chart.winds) < np.pi:
        return _share_of_field(limit, shape)
    return limit.volume(FEW)


def _areas(mesh: Mesh) -> Scalars:
    """Return the areas of triangles on the unit sphere."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.triangles], 1, 0)
    product = np.einsum("ij,ij->i", a, np.cross(b, c))
    dots = np.einsum("ij,ij->i", a, b) + np.einsum("ij,ij->i", b, c) + np.einsum("ij,ij->i", c, a)
    return np.asarray(2.0 * np.abs(np.arctan2(product, 1.0 + dots)))


def _share_of_field(limit: Limit, field: DistanceField) -> float:
    """Return the share as the volume, by one line in each cell, times the density at its nodes."""
    legal = np.argwhere(field.values <= field.threshold)
    density = limit.chart.density(field.low + field.spacing * legal).mean()
    nodes = closed(field.values, field.wrapping)
    return float(min(volume_of(nodes, field.threshold, field.spacing, side=1) * density, 1.0))
