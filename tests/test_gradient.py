"""Gradients of distances by small rotations, for every family."""

from __future__ import annotations

import numpy as np
import pytest

from families import LIMITS
from oracles import directions, random_quats
from synovia import Limit, kernels, quat
from synovia.charts import RotationVector
from synovia.shapes import Box

MAX_SLOPE = kernels.limit.MAX_SLOPE
STEP, AROUND = 1e-6, 3e-5


@pytest.fixture(params=LIMITS, ids=" in ".join)
def limit(request):
    return LIMITS[request.param]()


def slopes(limit, rotations):
    """Return gradients by differences, and how far those of either side are apart."""

    def sides(step):
        here, turns = limit.distance(rotations), step * np.eye(3)
        ahead = [limit.distance(quat.mul(rotations, quat.exp(turn))) - here for turn in turns]
        behind = [here - limit.distance(quat.mul(rotations, quat.exp(-turn))) for turn in turns]
        return np.array(ahead) / step, np.array(behind) / step

    ahead, behind = sides(AROUND)
    return 0.5 * sum(sides(STEP)).T, np.abs(ahead - behind).max(axis=0)


def by_turns(rotations, gradients):
    """Return gradients by the vectors (n, 3) of small turns."""
    return 0.5 * quat.mul(quat.inverse(rotations), gradients)[:, 1:]


def test_gradients_are_slopes_of_the_distance(limit):
    rotations = random_quats(400, np.random.default_rng(3))
    distances, gradients = limit.distance_and_gradient(rotations)
    assert np.abs(np.sum(gradients * rotations, axis=-1)).max() < 1e-6  # across the quaternion
    gradients = by_turns(rotations, gradients)
    assert np.allclose(distances, limit.distance(rotations), rtol=0.0, atol=1e-12)
    expected, kink = slopes(limit, rotations)
    smooth = kink < 1e-2  # elsewhere two faces, or two feet, are equally near
    smooth &= np.linalg.norm(expected, axis=-1) < MAX_SLOPE
    assert smooth.mean() > 0.8
    size = np.maximum(1.0, np.abs(expected).max(axis=1, keepdims=True))
    assert (np.abs(gradients - expected) / size)[smooth].max() < 1e-5
    assert np.isfinite(gradients).all()


def test_gradients_are_bounded_and_otherwise_lead_to_the_projection(limit):
    """Batches of training: 60 of 256 uniform rotations, and some next to the charts' poles."""
    rng = np.random.default_rng(0)
    poles = quat.mul(limit.chart.reference, np.eye(4)[rng.integers(4, size=1000)])
    near = quat.mul(
        poles, quat.exp(10.0 ** rng.uniform(-8.0, -1.0, (1000, 1)) * directions(1000, rng))
    )
    rotations = np.concatenate([random_quats(60 * 256, rng), near])
    distances, gradients = limit.distance_and_gradient(rotations)
    gradients = by_turns(rotations, gradients)
    assert np.linalg.norm(gradients, axis=-1).max() <= MAX_SLOPE
    # Where differences over a larger step are steeper, it is the gradient of the angle.
    expected, kink = slopes(limit, rotations)
    steep = (np.linalg.norm(expected, axis=-1) > 1.1 * MAX_SLOPE) & (kink < 1.0)
    steep &= distances > 1e-3
    to_member = quat.mul(quat.inverse(limit.project(rotations[steep])), rotations[steep])
    away = quat.log(to_member)
    away /= np.linalg.norm(away, axis=-1, keepdims=True)
    if limit.chart.name != "rotation-vector":  # that chart has no singularity within half a turn
        assert steep.sum() > 10
    assert np.abs(gradients[steep] - away).max(initial=0.0) < 1e-6


def test_gradients_in_single_precision_are_near(limit):
    rotations = random_quats(300, np.random.default_rng(5))
    precise = limit.distance_and_gradient(rotations)
    single = limit.distance_and_gradient(rotations.astype(np.float32))
    assert {part.dtype for part in single} == {np.dtype(np.float32)}
    near = np.abs(single[1] - precise[1]).max(axis=1) < 1e-2
    assert near.mean() > 0.95  # near a kink, rounding picks the other side


def test_gradients_are_finite_at_the_identity_at_half_turns_and_opposite_the_axis(limit):
    at = quat.mul(limit.chart.reference, np.eye(4))
    _, gradient = limit.distance_and_gradient(at)
    assert np.isfinite(gradient).all()


def test_points_of_other_covers_have_the_gradient_of_their_distance():
    box = Box(low=[-0.5, -2.0, -0.1], high=[1.0, 4.0, 0.6], axes=np.eye(3))
    limit = Limit(RotationVector(), box)  # reaches beyond half a turn: other covers are nearer
    rotations = random_quats(2000, np.random.default_rng(1))
    expected, kink = slopes(limit, rotations)
    gradients = by_turns(rotations, limit.distance_and_gradient(rotations)[1])
    assert np.abs(gradients - expected)[kink < 1e-2].max() < 1e-6
