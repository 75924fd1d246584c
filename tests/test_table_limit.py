"""Limits made of tables: every verb works, and many share one table."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from oracles import random_quats
from synovia import Beyond, DirectionTwist, Inside, Limit, first_exit, quat


@pytest.fixture
def limit(rng):
    rotations = quat.exp(0.5 * rng.normal(size=(3000, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Limit.fit(rotations, "theta-phi", axis=[1.0, 0.0, 0.0])


def test_through_a_limit_every_verb_works(limit, rng):
    rotations = random_quats(1500, rng)
    projected = limit.project(rotations)
    assert limit.contains(projected).all()
    assert np.array_equal(limit.project(projected), projected)
    inside = limit.contains(rotations)
    assert np.array_equal(projected[inside], rotations[inside])
    points = limit.chart.points(rotations)
    away = limit.chart.stretch(points) < 100.0
    assert np.abs(limit.distance(rotations) - limit.region.distance(points))[away].max() < 1e-9
    expected = limit.chart.rotations(limit.region.project(points))
    assert quat.angle_between(projected, expected)[away].max() < 1e-8
    assert limit.contains(limit.sample(200, rng)).all()
    legal = limit.contains(random_quats(40_000, rng)).mean()
    assert limit.volume() == pytest.approx(legal, abs=0.01)
    assert limit.violation(rotations).shape == (1500,)
    assert np.abs(np.linalg.norm(limit.normal(rotations), axis=1) - 1.0).max() < 1e-6
    assert limit.contains(limit.soften(rotations[:200], Inside(0.1))).all()
    softened = limit.soften(rotations[:200], Beyond(0.1))
    assert limit.distance(softened).max() < 0.11
    exits = first_exit(limit, limit.sample(20, rng), rotations[:20])
    assert ((exits >= 0.0) & (exits <= 1.0)).all()


def test_many_limits_share_one_table(limit):
    twin = Limit(DirectionTwist(axis=np.array([0.0, 1.0, 0.0])), limit.shape)
    assert twin.shape is limit.shape
    assert twin.shape.packed is limit.shape.packed


def test_single_precision_rotations_stay_so(limit, rng):
    rotations = random_quats(300, rng).astype(np.float32)
    projected = limit.project(rotations)
    assert projected.dtype == np.float32
    assert limit.contains(projected).all()
