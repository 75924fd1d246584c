"""Logarithms and exponentials of quaternions, accurate at every turn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.transform import Rotation

from quats import AXES, assert_same_rotation, few, many_quats, oracle, quats, vectors, wxyz
from synovia import quat

TINY = [0.0, 5e-324, 1e-310, 1e-200, 1e-160, 1e-20, 1e-9]


def test_log_agrees_with_scipy_where_the_half_turn_leaves_no_choice():
    q = many_quats()
    q = q[np.abs(q[:, 0]) > 1e-9]
    np.testing.assert_allclose(quat.log(q), oracle(q).as_rotvec(), atol=2e-15)
    np.testing.assert_array_equal(quat.log(-q), quat.log(q))


def test_exp_agrees_with_scipy():
    v = np.random.default_rng(2).normal(size=(300, 3)) * np.geomspace(1e-9, 50, 300)[:, None]
    assert_same_rotation(quat.exp(v), wxyz(Rotation.from_rotvec(v)))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("small", TINY)
def test_log_is_accurate_near_no_turn(axis, small):
    q = np.array([1.0, *(small / 2 * axis)])
    np.testing.assert_allclose(quat.log(q), small * axis, rtol=1e-15, atol=2e-323)
    np.testing.assert_allclose(quat.log_unrolled(q), small * axis, rtol=1e-15, atol=2e-323)
    np.testing.assert_array_equal(quat.log(-q), quat.log(q))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("small", TINY)
def test_log_is_accurate_near_the_half_turn(axis, small):
    short = np.array([np.sin(small / 2), *(np.cos(small / 2) * axis)])
    np.testing.assert_allclose(quat.log(short), (np.pi - small) * axis, rtol=0, atol=1e-15)
    beyond = short * [-1, 1, 1, 1]
    unrolled = quat.log_unrolled(beyond)
    np.testing.assert_allclose(unrolled, (np.pi + small) * axis, rtol=0, atol=1e-15)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("small", [s for s in TINY if s > 1e-300])
def test_log_unrolled_is_accurate_near_the_full_turn(axis, small):
    q = np.array([-np.cos(small / 2), *(np.sin(small / 2) * axis)])
    expected = (2 * np.pi - small) * axis
    np.testing.assert_allclose(quat.log_unrolled(q), expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(quat.log(q), -small * axis, rtol=1e-15)


@pytest.mark.parametrize("w", [0.0, -0.0])
@pytest.mark.parametrize("axis", AXES)
def test_log_of_a_half_turn_points_where_the_quaternion_does(axis, w):
    for way in (axis, -axis):
        np.testing.assert_allclose(quat.log([w, *way]), np.pi * way, rtol=0, atol=1e-15)


def test_log_unrolled_of_a_full_turn_is_about_x():
    np.testing.assert_array_equal(quat.log_unrolled([-1, 0, 0, 0]), [2 * np.pi, 0, 0])
    np.testing.assert_array_equal(quat.log([-1, 0, 0, 0]), [0, 0, 0])


def test_log_unrolled_of_denormals_is_no_longer_than_a_full_turn():
    length = np.linalg.norm(quat.log_unrolled([-1, 5e-324, 5e-324, 5e-324]))
    assert length == pytest.approx(2 * np.pi, abs=2e-15)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("small", TINY)
def test_exp_keeps_the_digits_of_tiny_turns(axis, small):
    expected = [1, *(small / 2 * axis)]
    np.testing.assert_allclose(quat.exp(small * axis), expected, rtol=1e-15, atol=2e-323)


@pytest.mark.parametrize("turns", [1, 2, -3, 100])
def test_exp_changes_sign_with_each_full_turn(turns):
    v = np.array([0.6, 0.0, 0.8])
    more = quat.exp(v + 2 * np.pi * turns * v)
    np.testing.assert_allclose(more, (-1) ** turns * quat.exp(v), atol=1e-13)


@few
@given(quats())
def test_exp_undoes_log_up_to_sign(q):
    assert np.linalg.norm(quat.log(q)) <= np.pi + 1e-15
    assert_same_rotation(quat.exp(quat.log(q)), q, atol=1e-15)


@few
@given(quats())
def test_exp_undoes_log_unrolled_with_the_sign(q):
    assert np.linalg.norm(quat.log_unrolled(q)) <= 2 * np.pi + 2e-15
    np.testing.assert_allclose(quat.exp(quat.log_unrolled(q)), q, atol=1e-15)


@few
@given(vectors(size=3.6))
def test_log_unrolled_undoes_exp_short_of_a_full_turn(v):
    np.testing.assert_allclose(quat.log_unrolled(quat.exp(v)), v, rtol=1e-13, atol=1e-300)
