"""The boundary of a distance field as a net: soon made, with a point in each cell that it cuts."""

from __future__ import annotations

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Mask, Points, Scalars

STEPS, LONGEST = 3, 0.5
"""Steps that points go to a field's level, and how long each may be, in cells."""


def net_of(values: Floats, level: float, wraps: Mask) -> tuple[Points, Ints]:
    """Return a point for each cell that the level cuts, counted in nodes, and the quads of them.

    Around each edge of the grid that crosses the level, its four cells make one, counter-clockwise
    as seen from outside. Beyond the ends of axes that do not wrap nothing is inside.
    """
    pads = [(0, 0) if wrap else (1, 1) for wrap in wraps]
    nodes = np.pad(values, pads, constant_values=np.inf)
    quads = np.empty((kernels.field_net.crossed(nodes, level), 4), np.int64)
    places = np.empty((min(quads.size, nodes.size), 3))
    count = kernels.field_net.net(nodes, level, np.full(nodes.shape, -1), places, quads)
    return places[:count] - [before for before, _ in pads], quads


def values_at(nodes: Floats, points: Points) -> Scalars:
    """Return the values at points (n, 3) within the grid, counted in nodes."""
    found = np.empty(len(points))
    kernels.field_net.heights(nodes, np.ascontiguousarray(points), found)
    return found


def settled_on(nodes: Floats, level: float, points: Points, free: Mask, moving: Mask) -> Points:
    """Return points (n, 3), counted in nodes, the `moving` ones at a level, along `free` axes."""
    points = np.array(points, order="C")
    kernels.field_net.settle(nodes, level, free, moving, STEPS, LONGEST, points)
    return points
