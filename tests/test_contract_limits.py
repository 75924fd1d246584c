"""What every limit promises: shapes seen through charts."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import BATCHES, lengths
from synovia import quat
from synovia.arrays import TOLERANCE
from synovia.charts import CHARTS
from synovia.limit import Limit
from synovia.shapes import SHAPES


def test_projected_rotations_are_legal(limit, rotations):
    projected = limit.project(rotations)
    assert limit.contains(projected).all()
    assert np.abs(lengths(projected) - 1.0).max() < 1e-12


def test_projecting_rotations_twice_changes_nothing(limit, rotations):
    once = limit.project(rotations)
    assert np.array_equal(limit.project(once), once)


def test_a_legal_rotation_comes_back_bit_for_bit_sign_included(limit, rotations):
    legal = rotations[limit.contains(rotations)]
    assert len(legal) >= 200
    assert (legal[:, 0] < 0.0).any()
    assert limit.project(legal).tobytes() == legal.tobytes()


def test_a_rotation_and_its_negative_agree(limit, rotations):
    assert np.allclose(limit.distance(-rotations), limit.distance(rotations), rtol=0.0, atol=1e-12)
    apart = quat.angle_between(limit.project(-rotations), limit.project(rotations))
    distances = np.sort([limit.shape.distance(cover) for cover in limit.covers(rotations)], axis=0)
    tied = distances[1] - distances[0] <= 1e-9
    assert apart[~tied].max() < 1e-9
    same_side = (limit.project(-rotations) * -rotations).sum(axis=1)
    assert (same_side >= 0.0).all()


def test_legal_is_what_moves_nowhere(limit, rotations):
    legal = limit.contains(rotations)
    moved = (limit.project(rotations) != rotations).any(axis=1)
    assert np.array_equal(legal, ~moved)
    assert np.array_equal(limit.distance(rotations) <= TOLERANCE, legal)
    assert np.array_equal(limit.violation(rotations) > 0.0, moved)


def test_no_sampled_legal_rotation_is_nearer(limit, rotations):
    members = limit.shape.scatter(200, np.random.default_rng(1))
    rotations = rotations[:: 6 if len(limit.covers(rotations[:1])) > 9 else 1]
    distance = limit.distance(rotations)
    for cover in limit.covers(rotations):
        nearest = lengths(cover[:, None] - members).min(axis=1)
        assert (nearest >= distance - TOLERANCE).all()


@pytest.mark.parametrize("batch", BATCHES)
def test_limits_keep_the_batch_shape(limit, batch):
    rotations = np.broadcast_to(quat.exp(np.array([1.0, 2.0, 0.5])), (*batch, 4))
    assert limit.contains(rotations).shape == batch
    assert limit.distance(rotations).shape == batch
    assert limit.violation(rotations).shape == batch
    assert limit.project(rotations).shape == (*batch, 4)
    assert limit.normal(rotations).shape == (*batch, 3)


def test_limits_keep_float32(limit, rotations):
    single = rotations.astype(np.float32)
    projected = limit.project(single)
    assert projected.dtype == np.float32
    assert limit.distance(single).dtype == limit.violation(single).dtype == np.float32
    assert limit.contains(projected).all()
    assert np.array_equal(limit.project(projected), projected)
    assert (limit.distance(projected.astype(np.float64)) <= 1e-5).all()


def test_limits_change_nothing_they_are_given(limit, rotations):
    given = rotations.copy()
    for verb in (limit.contains, limit.distance, limit.project, limit.violation, limit.normal):
        verb(given)
    assert given.tobytes() == rotations.tobytes()


def test_strided_rotations_give_the_same_answers(limit, rotations):
    wide = np.repeat(rotations, 2, axis=0)[::2]
    fortran = np.asfortranarray(rotations)
    for other in (wide, fortran):
        assert np.array_equal(limit.project(other), limit.project(rotations))
        assert np.array_equal(limit.distance(other), limit.distance(rotations))


def test_a_limit_saves_the_names_of_its_parts(limit):
    fields = limit.to_dict()
    assert fields["chart"].pop("type") in CHARTS
    chart = type(limit.chart)(**fields["chart"])
    shape = dict(fields["shape"])
    twin = Limit(chart, SHAPES[shape.pop("type")].from_dict(shape))
    rotations = quat.exp(np.random.default_rng(0).normal(size=(50, 3)))
    assert np.array_equal(twin.project(rotations), limit.project(rotations))
