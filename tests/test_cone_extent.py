"""The extent of reach cones: grown, shrunk, their surface, measure and bounds."""

from __future__ import annotations

import numpy as np
import pytest

from cones import TURN, sphere


def test_measure_and_scatter_agree_with_random_directions(cone, rng):
    members = cone.scatter(4000, rng)
    assert cone.contains(members).all()
    if cone.measure < 1e-4:
        return  # too few of the directions below would be in it
    directions = sphere(200_000, rng)
    directions = directions[cone.contains_direction(directions)]
    width = np.minimum(np.diff(cone.twist_range(directions))[:, 0], TURN)
    expected = 4.0 * np.pi * width.sum() / 200_000
    assert cone.measure == pytest.approx(expected, rel=0.03)
    mean = (directions * width[:, None]).sum(axis=0) / width.sum()
    assert np.abs(members[:, :3].mean(axis=0) - mean).max() < 0.05


def test_bounds_are_tight(cone, rng):
    members = cone.scatter(20_000, rng)
    low, high = cone.bounds
    assert (low[:3] >= members[:, :3].min(axis=0) - 0.2).all()
    assert (high[:3] <= members[:, :3].max(axis=0) + 0.2).all()
    assert low[3] == min(cone.low.min(), cone.visible_low)
