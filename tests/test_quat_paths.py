"""Between, among and along quaternions: slerp, the mean, and paths unrolled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quats import AXES, assert_same_rotation, few, many_quats, oracle, quats, random_quats, wxyz
from synovia import quat

# Slerp


def test_slerp_agrees_with_scipy():
    from scipy.spatial.transform import Slerp

    t = np.linspace(0, 1, 11)
    for a, b in zip(random_quats(30), random_quats(30, seed=1), strict=True):
        expected = Slerp([0, 1], oracle(np.array([a, b])))(t)
        assert_same_rotation(quat.slerp(a, b, t), wxyz(expected))


@few
@given(quats(), quats(), st.floats(0, 1))
def test_slerp_goes_the_shortest_way_at_a_steady_pace(a, b, t):
    whole, middle = quat.angle_between(a, b), quat.slerp(a, b, t)
    assert quat.angle_between(a, middle) == pytest.approx(t * whole, abs=4e-15)
    assert quat.angle_between(middle, b) == pytest.approx((1 - t) * whole, abs=4e-15)
    np.testing.assert_array_equal(quat.slerp(a, b, 0.0), a)
    assert_same_rotation(quat.slerp(a, b, 1.0), b, atol=2e-15)


@pytest.mark.parametrize("small", [0.0, 1e-300, 1e-20, 1e-12, 1e-6])
def test_slerp_keeps_the_digits_of_close_rotations(small):
    b = quat.exp(small * AXES[3])
    expected = 0.25 * small * AXES[3]
    for end in (b, -b):
        found = quat.log(quat.slerp(quat.IDENTITY, end, 0.25))
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_slerp_between_a_rotation_and_its_other_sign_stays():
    q = many_quats()
    np.testing.assert_allclose(quat.slerp(q, -q, 0.3), q, atol=1e-15)


def test_slerp_across_a_half_turn_passes_the_quarter():
    a = random_quats(20)
    b = quat.mul(a, [0, 0.6, 0, 0.8])
    np.testing.assert_allclose(quat.angle_between(a, quat.slerp(a, b, 0.5)), np.pi / 2)
    np.testing.assert_allclose(quat.angle_between(b, quat.slerp(a, b, 0.5)), np.pi / 2)


# Mean


def test_mean_agrees_with_scipy():
    q, weights = random_quats(4, 10), np.random.default_rng(6).uniform(0, 1, size=(4, 10))
    flat = oracle(q.reshape(-1, 4))
    assert_same_rotation(quat.mean(q), wxyz(flat.mean()), atol=1e-13)
    assert_same_rotation(quat.mean(q, weights), wxyz(flat.mean(weights.ravel())), atol=1e-13)


def test_mean_does_not_mind_signs_and_has_w_at_least_0():
    q = random_quats(30)
    signs = np.random.default_rng(7).choice([-1, 1], size=(30, 1))
    np.testing.assert_allclose(quat.mean(signs * q), quat.mean(q), atol=1e-15)
    for one in many_quats():
        found = quat.mean(one)
        assert found[0] >= 0
        assert_same_rotation(found, one)


def test_no_nearby_rotation_is_a_better_mean():
    def cost(center):
        return ((quat.to_matrix(q) - quat.to_matrix(center)) ** 2).sum()

    q = quat.exp(np.random.default_rng(8).normal(size=(30, 3)))
    best = quat.mean(q)
    for step in np.random.default_rng(9).normal(size=(20, 3)) * 1e-2:
        assert cost(quat.mul(best, quat.exp(step))) > cost(best)


@pytest.mark.parametrize("weights", [[0, 0], [1, -1], [np.nan, 1]])
def test_mean_refuses_weights_that_weigh_nothing(weights):
    with pytest.raises(ValueError, match="weights of at least 0"):
        quat.mean(random_quats(2), weights)


def test_mean_of_nothing_is_refused():
    with pytest.raises(ValueError, match="mean needs"):
        quat.mean(np.zeros((0, 4)))


# Unroll


@few
@given(st.integers(0, 2**32 - 1), st.sampled_from([(7,), (1, 3), (6, 3), (5, 2, 3)]))
def test_unroll_leaves_rotations_and_never_jumps(seed, batch):
    q = random_quats(*batch, seed=seed)
    smooth = quat.unroll(q)
    assert (smooth[0, ..., 0] >= 0).all()
    assert ((smooth[1:] * smooth[:-1]).sum(-1) >= 0).all()
    assert ((smooth == q).all(-1) | (smooth == -q).all(-1)).all()


def test_unroll_follows_a_long_twist_beyond_the_full_turn():
    angles = np.linspace(0, 20, 100)
    path = quat.exp(angles[:, None] * AXES[2])
    flipped = path * np.random.default_rng(10).choice([-1, 1], size=(100, 1))
    np.testing.assert_array_equal(quat.unroll(flipped), path)


@pytest.mark.parametrize("axis", [1, -2])
def test_unroll_runs_along_the_axis_it_is_told(axis):
    q = random_quats(3, 8)
    np.testing.assert_array_equal(quat.unroll(q, axis=axis), [quat.unroll(each) for each in q])


@pytest.mark.parametrize("axis", [2, -1, 3, -4])
def test_unroll_refuses_an_axis_that_is_no_time(axis):
    with pytest.raises(ValueError, match="axis must be one of the axes before the last"):
        quat.unroll(random_quats(3, 8), axis=axis)


def test_unroll_of_one_quaternion_without_time_is_refused():
    with pytest.raises(ValueError, match="axis must be"):
        quat.unroll(quat.IDENTITY)
