"""What share of all rotations a limit allows: as exact as its picture is fine."""

from __future__ import annotations

import numpy as np

from ..arrays import Scalars
from ..limit import Limit
from ..shapes import Directional, DistanceField, ThetaPhi
from ..shapes.field_volume import volume_of
from ..shapes.polytope import Polytope
from ..shapes.table_pack import reached
from ..shapes.table_scatter import volume
from .mesh import Finish, Mesh, rim_of
from .region import overlaps_itself
from .sheets import Sheet

SAMPLES, FEW = 4000, 500
"""Rotations to find the share with, and for a draft."""
NODES = 10_000
"""Directions that a table's volume is integrated over for a draft."""
NEAR = 1e-2
"""Radians within which (r − sin r)/r³ is as good as at 0, and has more digits."""
EVERY = 8.0 * np.pi**2
"""The volume of all directions with all twists."""


def share_of(limit: Limit, directions: Sheet, boundary: Mesh, finish: Finish) -> float:
    """Return the share of all rotations that is legal, in [0, 1].

    Drafts have no time for what takes long to integrate: to a percent or so, it comes from what is
    drawn, or from few nodes and lines.
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
    if isinstance(shape, Polytope) and not overlaps_itself(limit) and _is_closed(boundary):
        return _enclosed(boundary)
    return limit.volume(FEW)


def _is_closed(mesh: Mesh) -> bool:
    """Tell whether every edge has a triangle on either side: none was torn, and left out."""
    return len(rim_of(mesh.triangles)) == 0


def _enclosed(boundary: Mesh) -> float:
    """Return the share of all rotations inside a closed boundary of rotation vectors.

    Of these a volume dV holds dV (1 − cos r)/(4π²r²), which is the divergence of v (r − sin r) over
    4π²r³: so the share is what flows through the triangles. On each, v · n is the same everywhere.
    """
    a, b, c = boundary.vertices[boundary.triangles].swapaxes(0, 1)
    sides = 0.5 * np.stack([a + b, b + c, c + a])
    r = np.maximum(np.sqrt(np.einsum("kij,kij->ki", sides, sides)), NEAR)
    flow = ((r - np.sin(r)) / r**3).mean(axis=0)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)) @ flow) / EVERY


def _areas(mesh: Mesh) -> Scalars:
    """Return the areas of triangles on the unit sphere."""
    a, b, c = mesh.vertices[mesh.triangles].swapaxes(0, 1)
    product = np.einsum("ij,ij->i", a, np.cross(b, c))
    dots = np.einsum("ij,ij->i", a, b) + np.einsum("ij,ij->i", b, c) + np.einsum("ij,ij->i", c, a)
    return np.asarray(2.0 * np.abs(np.arctan2(product, 1.0 + dots)))


def _share_of_field(limit: Limit, field: DistanceField) -> float:
    """Return the share as the volume, by one line in each cell, times the density at its nodes."""
    legal = np.argwhere(field.values <= field.threshold)
    density = limit.chart.density(field.low + field.spacing * legal).mean()
    return float(
        min(volume_of(field.closed, field.threshold, field.spacing, side=1) * density, 1.0)
    )
