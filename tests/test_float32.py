"""Rotations in float32 near the singularities of charts, where rounding moves points far."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from families import FAMILIES
from oracles import directions, random_quats
from synovia import Box, SwingTwist, quat
from synovia.arrays import tolerance
from synovia.charts import CHARTS, takes_axis
from synovia.limit import Limit

AXIS = np.array([0.6, 0.0, 0.8])
N = 300  # rotations near each singularity


SPREADS = (0.5, 0.8, 1.1)  # radians, of the rotations that limits are fitted to


def wide_limit(shape, chart, spread):
    """A limit about a random reference that mostly reaches a singularity of its chart."""
    rng = np.random.default_rng(round(10 * spread))
    reference = random_quats(1, rng)[0]
    vectors = spread * rng.normal(size=(300, 3)) * [1.0, 0.7, 0.5]
    options = {"resolution": 12} if shape == "distance-field" else {}
    options |= {"axis": AXIS} if takes_axis(CHARTS[chart]) else {}
    rotations = quat.mul(reference, quat.exp(vectors))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the region has the direction opposite
        return Limit.fit(rotations, shape, chart, reference=reference, **options)


def near_singularities(limit, rng):
    """Rotations in float32, from 1e-9 to 0.1 radians from the singularities of all charts."""
    bone = AXIS if takes_axis(type(limit.chart)) else np.array([0.0, 0.0, 1.0])
    across = np.array([0.0, 1.0, 0.0])
    off = 10.0 ** rng.uniform(-9, -1, (N, 1)) * rng.choice([-1.0, 1.0], (N, 1))
    any_angle, any_other = rng.uniform(-np.pi, np.pi, (2, N, 1))
    twist = quat.exp(any_angle * bone)
    swing_axis = quat.rotate(quat.exp(any_other * bone), across)
    angles_of_lock = [quat.exp((lock + off) * across) for lock in (0.0, 0.5 * np.pi, np.pi)]
    local = [
        quat.mul(quat.exp((np.pi + off) * swing_axis), twist),  # half a turn of swing
        quat.mul(quat.exp(any_angle * swing_axis), quat.exp((np.pi + off) * bone)),
        quat.exp((np.pi + off) * directions(N, rng)),
        quat.exp(off * directions(N, rng)),
        *(quat.mul(quat.mul(quat.exp(any_other * bone), each), twist) for each in angles_of_lock),
        quat.exp(np.pi * np.concatenate([np.eye(3), across[None], bone[None]])),
    ]
    return quat.mul(limit.chart.reference, np.concatenate(local)).astype(np.float32)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize(("shape", "chart"), FAMILIES)
def test_projections_in_float32_are_legal_near_singularities(shape, chart, spread):
    limit = wide_limit(shape, chart, spread)
    rotations = near_singularities(limit, np.random.default_rng(0))
    legal = limit.contains(rotations)
    assert 0 < legal.sum() < len(legal)
    projected = limit.project(rotations)
    assert projected.dtype == np.float32
    assert limit.contains(projected).all()
    assert np.array_equal(limit.project(projected), projected)
    assert projected[legal].tobytes() == rotations[legal].tobytes()
    exact = rotations.astype(np.float64)
    assert (limit.distance(projected.astype(np.float64)) <= 1.01 * tolerance(np.float32)).all()
    if limit.is_steep:  # where members are rounded one by one, to near by
        move = quat.angle_between(projected.astype(np.float64), limit.project(exact))
        assert np.quantile(move[~legal], 0.98) < 1e-3


@pytest.mark.parametrize("short", [0.003, 0.01, 0.03, 0.1])
def test_float32_is_legal_just_short_of_half_a_turn_of_swing(short):
    rng = np.random.default_rng(0)
    box = Box([-0.5, -0.001, -0.2], [np.pi - short, 0.0, 0.3], np.eye(3))
    limit = Limit(SwingTwist(random_quats(1, rng)[0], AXIS), box)
    corner = limit.chart.rotations(np.array([np.pi - short, 0.0, 0.3]))
    turns = quat.exp(10.0 ** rng.uniform(-4, 0, (3000, 1)) * directions(3000, rng))
    projected = limit.project(quat.mul(corner, turns).astype(np.float32))
    assert limit.contains(projected).all()
    assert (limit.distance(projected.astype(np.float64)) <= 1.01 * tolerance(np.float32)).all()


def at_distance(limit, distance, n=100):
    """Rotations this far outside a limit, in radians of its chart, about."""
    rotations = random_quats(4 * n, np.random.default_rng(1))
    start, end = limit.project(rotations), rotations
    low, high = np.zeros(len(start)), np.ones(len(start))
    for _ in range(50):
        middle = 0.5 * (low + high)
        outside = limit.distance(quat.slerp(start, end, middle)) > distance
        low, high = np.where(outside, low, middle), np.where(outside, middle, high)
    found = quat.slerp(start, end, low)
    exact = np.abs(limit.distance(found) - distance) < 0.1 * distance  # no step of a field's
    return found[exact][:n]


@pytest.mark.parametrize(("dtype", "radians"), [(np.float32, 1e-5), (np.float64, 1e-9)])
@pytest.mark.parametrize(("shape", "chart"), FAMILIES)
def test_rotations_are_legal_up_to_the_tolerance_and_no_farther(shape, chart, dtype, radians):
    limit = wide_limit(shape, chart, 0.3)
    inner, outer = (at_distance(limit, share * radians).astype(dtype) for share in (0.5, 2.0))
    assert min(len(inner), len(outer)) >= 20
    assert limit.contains(inner).all()
    assert limit.project(inner).tobytes() == inner.tobytes()
    assert not limit.contains(outer).any()
    assert (limit.project(outer) != outer).any(axis=-1).all()
