"""How steep a field is and how far it reaches: the quick answers beside slow plain ones."""

from __future__ import annotations

import numpy as np
import pytest

from fields import ALL, field
from synovia.shapes.distance_field.grid import close_axes, steepest


def corner_values(nodes):
    """Return the values at the corners of all cells: (cells, 2, 2, 2)."""
    windows = np.lib.stride_tricks.sliding_window_view(nodes, (2, 2, 2))
    return windows.reshape(-1, 2, 2, 2)


@pytest.mark.parametrize("kind", ALL)
def test_the_steepest_slope_is_that_of_a_corner(kind):
    shape = field(kind)
    nodes = close_axes(shape.values, shape.wrapping)
    cells = corner_values(nodes)
    inside = cells.min(axis=(1, 2, 3)) <= shape.threshold
    outside = cells.max(axis=(1, 2, 3)) > shape.threshold
    steps = [np.diff(cells, axis=1 + axis) / h for axis, h in enumerate(shape.spacing)]
    slopes = np.sqrt(sum(step**2 for step in steps)).reshape(len(cells), -1).max(axis=1)
    found = steepest(nodes, shape.spacing, shape.threshold)
    for slope, cells_of in zip(found, (inside, outside), strict=True):
        assert slope == pytest.approx(slopes[cells_of].max(initial=1e-9**0.5), rel=1e-12)


@pytest.mark.parametrize("columns", [(0, 1, 2), (0, 1), (1,), (2,)])
@pytest.mark.parametrize("kind", ALL)
def test_the_reach_is_that_of_cells_with_members(kind, columns):
    shape = field(kind)
    nodes = close_axes(shape.values, shape.wrapping)
    count = np.array(nodes.shape) - 1
    cells = corner_values(nodes).reshape(*count, 8)
    first = np.argwhere(cells.min(axis=-1) <= shape.threshold)
    corners = (first[:, None] + np.array(list(np.ndindex(2, 2, 2)))).reshape(-1, 3)
    points = shape.low + shape.spacing * corners
    farthest = np.linalg.norm(points[:, columns], axis=1).max()
    assert shape.reach(columns) == pytest.approx(farthest, rel=1e-12)
