"""The grid under a table: which cell is nearest, and the twists between centres."""

from __future__ import annotations

import numpy as np
import pytest

from synovia.shapes.theta_phi.grid import centres, nearest_cells, nearest_legal
from tables import MASKS, directions, table


def test_only_cells_at_the_rim_are_nearest_to_others(rng):
    for shape in ((2, 4), (7, 12), (36, 72)):
        for _ in range(20):
            axis, wide = directions(1, rng)[0], rng.uniform(-1.0, 1.0)
            legal = (centres(shape) @ axis > wide) ^ (rng.random(shape) < 0.02)
            lost = np.flatnonzero(~legal)
            if len(lost) and legal.any():
                every = nearest_cells(shape, lost, np.flatnonzero(legal))
                found = nearest_legal(legal).ravel()
                np.testing.assert_array_equal(found[lost], every)
                np.testing.assert_array_equal(found[legal.ravel()], np.flatnonzero(legal))


def interpolated(shape, direction):
    """Return the ends of the twists at one direction, from the four centres about it."""
    x, y, z = shape.frame @ direction
    rows, columns = shape.counts.shape
    row = (np.arcsin(np.clip(z, -1.0, 1.0)) / np.pi + 0.5) * rows - 0.5
    column = (np.arctan2(y, x) / (2.0 * np.pi) + 0.5) * columns - 0.5
    source = nearest_legal(shape.legal)
    ends = []
    for values in (shape.low.ravel()[source], shape.high.ravel()[source]):

        def at(i, j, values=values):
            if 0 <= i < rows:
                return values[i, j % columns]
            last = values[0 if i < 0 else -1]  # half-way to what is beyond stands its mean
            return 2.0 * last.mean() - last[j % columns]

        i, j = int(np.floor(row)), int(np.floor(column))
        b, a = row - i, column - j
        south = (1.0 - a) * at(i, j) + a * at(i, j + 1)
        ends.append((1.0 - b) * south + b * ((1.0 - a) * at(i + 1, j) + a * at(i + 1, j + 1)))
    return ends[0], max(ends)


@pytest.mark.parametrize("kind", MASKS)
def test_twists_are_interpolated_between_four_centres(kind, rng):
    shape = table(kind)
    poles = np.stack([shape.frame[2], -shape.frame[2], -shape.frame[0]])
    some = np.concatenate([directions(300, rng), poles])
    expected = [interpolated(shape, each) for each in some]
    np.testing.assert_allclose(shape.twist_range(some), expected, atol=1e-11)
