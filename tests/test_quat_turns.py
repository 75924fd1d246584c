"""Products of quaternions, what they turn, the angles between them, swing and twist."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quats import (
    AXES,
    assert_same_rotation,
    few,
    many_quats,
    oracle,
    quats,
    random_quats,
    special_quats,
    unit,
    vectors,
    wxyz,
)
from synovia import quat

# Products, inverses, turned vectors


def test_identity_is_locked():
    with pytest.raises(ValueError, match="read-only"):
        quat.IDENTITY[0] = 2.0


def test_mul_and_inverse_agree_with_scipy():
    a, b = many_quats(), many_quats()[::-1]
    assert_same_rotation(quat.mul(a, b), wxyz(oracle(a) * oracle(b)))
    assert_same_rotation(quat.inverse(a), wxyz(oracle(a).inv()))


def test_rotate_agrees_with_scipy():
    q = many_quats()
    v = np.random.default_rng(1).normal(size=(len(q), 3))
    np.testing.assert_allclose(quat.rotate(q, v), oracle(q).apply(v), atol=1e-14)


def test_a_quarter_turn_about_z_takes_x_to_y():
    q = quat.exp([0, 0, np.pi / 2])
    np.testing.assert_allclose(quat.rotate(q, [1, 0, 0]), [0, 1, 0], atol=1e-15)


def test_mul_keeps_the_sign():
    np.testing.assert_array_equal(quat.mul(-quat.IDENTITY, [0, 1, 0, 0]), [0, -1, 0, 0])


@few
@given(quats(), quats(), quats(), vectors())
def test_turning_by_a_product_is_turning_twice(a, b, c, v):
    twice = quat.rotate(a, quat.rotate(b, v))
    np.testing.assert_allclose(quat.rotate(quat.mul(a, b), v), twice, atol=1e-13)
    left, right = quat.mul(quat.mul(a, b), c), quat.mul(a, quat.mul(b, c))
    np.testing.assert_allclose(left, right, atol=1e-15 * 4)


@few
@given(quats(), vectors())
def test_the_inverse_undoes(q, v):
    np.testing.assert_allclose(quat.mul(q, quat.inverse(q)), quat.IDENTITY, atol=1e-15)
    np.testing.assert_allclose(quat.rotate(quat.inverse(q), quat.rotate(q, v)), v, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-3, 1.0, 1e200])
def test_normalize_gives_length_one_at_any_scale(scale):
    q = special_quats() * scale
    found = quat.normalize(q)
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1, atol=4e-16)
    np.testing.assert_allclose(found, special_quats(), atol=1e-15 if scale > 1e-300 else 1e-3)


def test_normalize_makes_zeros_the_identity():
    np.testing.assert_array_equal(quat.normalize(np.zeros(4)), quat.IDENTITY)


# Directions


@few
@given(vectors().filter(any), vectors().filter(any))
def test_between_takes_a_to_b(a, b):
    q = quat.between(a, b)
    np.testing.assert_allclose(quat.rotate(q, unit(a)), unit(b), atol=2e-15)
    assert q[1:] @ unit(a) == pytest.approx(0, abs=2e-15)
    assert q[0] >= 0


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("bend", [0.0, 1e-300, 1e-18, 3e-16, 1e-15, 1e-12, 1e-8, 1e-4])
def test_between_is_accurate_near_parallel_and_opposite(bend, sign):
    rng = np.random.default_rng(3)
    a = rng.normal(size=(300, 3))
    a /= np.linalg.norm(a, axis=-1, keepdims=True)
    b = sign * a + bend * rng.normal(size=(300, 3))
    q = quat.between(a, 7 * b)
    b /= np.linalg.norm(b, axis=-1, keepdims=True)
    np.testing.assert_allclose(quat.rotate(q, a), b, rtol=0, atol=4e-15)
    np.testing.assert_allclose((q[:, 1:] * a).sum(-1), 0, atol=4e-15)
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), 1, atol=4e-16)


def test_between_opposites_is_a_half_turn_across():
    for axis in AXES:
        q = quat.between(axis, -3 * axis)
        assert q[0] == 0
        np.testing.assert_allclose(np.linalg.norm(q), 1, atol=4e-16)
        assert q[1:] @ axis == pytest.approx(0, abs=2e-16)


def test_between_turns_by_the_angle_between_and_no_further():
    q = quat.between([2, 0, 0], [0, 0, 5])
    np.testing.assert_allclose(quat.log(q), [0, -np.pi / 2, 0], atol=1e-15)
    tiny = quat.between([1, 0, 0], [1, 1e-20, 0])
    np.testing.assert_allclose(tiny, [1, 0, 0, 5e-21], rtol=1e-15)


@pytest.mark.parametrize("a", [[0, 0, 0], [5e-324, 0, 0], [0, -1e-310, 0], [0, 3, 4]])
@pytest.mark.parametrize("b", [[0, 0, 0], [0, 0, -5e-324], [0, 1, 0]])
def test_between_is_finite_for_zero_and_denormals(a, b):
    assert np.linalg.norm(quat.between(a, b)) == pytest.approx(1)


# Angles


def test_angle_between_agrees_with_scipy():
    a, b = many_quats(), many_quats()[::-1]
    expected = (oracle(a).inv() * oracle(b)).magnitude()
    np.testing.assert_allclose(quat.angle_between(a, b), expected, atol=2e-15)


@pytest.mark.parametrize("small", [0.0, 1e-300, 1e-20, 1e-13, 1e-8, 1e-3])
def test_angle_between_keeps_the_digits_of_tiny_angles(small):
    a = random_quats(50)
    for axis in AXES:
        step = quat.exp(small * axis)
        angle = quat.angle_between(quat.IDENTITY, [step, -step])
        np.testing.assert_allclose(angle, small, rtol=1e-15)
        turned = quat.mul(a, step)
        np.testing.assert_allclose(quat.angle_between(a, turned), small, atol=1e-15)
        half = quat.mul(turned, [0, *axis])
        np.testing.assert_allclose(quat.angle_between(a, half), np.pi - small, atol=2e-15)


def test_angle_between_keeps_relative_digits_away_from_the_identity():
    a = random_quats(50)
    b = a + 1e-13 * random_quats(50, seed=1)
    step = b - a  # exact, for they are close
    across = step - (step * a).sum(-1, keepdims=True) * a
    expected = 2 * np.linalg.norm(across, axis=-1)
    np.testing.assert_allclose(quat.angle_between(a, b), expected, rtol=1e-12)


def test_angle_between_does_not_mind_lengths_off_by_rounding():
    q = random_quats(50)
    np.testing.assert_allclose(quat.angle_between(q, q * (1 + 1e-9)), 0, atol=1e-15)


@few
@given(quats(), quats())
def test_angle_between_ignores_signs_and_order(a, b):
    angle = quat.angle_between(a, b)
    assert 0 <= angle <= np.pi
    assert quat.angle_between(-a, b) == quat.angle_between(a, -b) == angle
    assert quat.angle_between(b, a) == pytest.approx(angle, abs=2e-15)
    assert quat.angle_between(a, -a) == 0


# Swing and twist


@few
@given(quats(), vectors().filter(any))
def test_swing_and_twist_recompose_with_the_sign(q, axis):
    axis = unit(axis)
    swing, twist = quat.swing_twist(q, axis)
    np.testing.assert_allclose(quat.mul(swing, twist), q, atol=1e-15)
    assert swing[0] >= 0
    assert swing[1:] @ axis == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose(np.cross(twist[1:], axis), 0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm([swing, twist], axis=-1), 1, atol=1e-15)


@few
@given(st.floats(0, 3.1), st.floats(0, 6.2), st.floats(-6.2, 6.2))
def test_swing_and_twist_come_back_as_they_were_put_together(size, way, angle):
    swing = quat.exp([0, size * np.cos(way), size * np.sin(way)])
    twist = quat.exp([angle, 0, 0])
    found = quat.swing_twist(quat.mul(swing, twist), [1, 0, 0])
    np.testing.assert_allclose(found, [swing, twist], atol=1e-13)


def test_the_sign_goes_into_the_twist():
    q = many_quats()[np.hypot(*many_quats()[:, [0, 3]].T) > 1e-9]
    swing, twist = quat.swing_twist(q, [0, 0, 1])
    other_swing, other_twist = quat.swing_twist(-q, [0, 0, 1])
    np.testing.assert_allclose(other_swing, swing, atol=1e-15)
    np.testing.assert_allclose(other_twist, -twist, atol=1e-15)


@pytest.mark.parametrize("q", [[0, 1.0, 0, 0], [0, -0.6, 0.8, 0], [-0.0, 0, -1.0, 0]])
def test_at_a_swing_of_pi_the_twist_is_the_identity(q):
    swing, twist = quat.swing_twist(q, [0, 0, 1.0])
    np.testing.assert_array_equal(swing, q)
    np.testing.assert_array_equal(twist, quat.IDENTITY)
    almost = quat.swing_twist(quat.exp((1 - 1e-12) * quat.log(q)), [0, 0, 1.0])
    np.testing.assert_allclose(almost, [swing, twist], atol=1e-11)


def test_swing_and_twist_are_unit_even_for_denormals():
    swing, twist = quat.swing_twist([5e-324, 1.0, 0, 5e-324], [0, 0, 1.0])
    np.testing.assert_allclose(np.linalg.norm([swing, twist], axis=-1), 1, atol=1e-15)
    np.testing.assert_allclose(quat.mul(swing, twist), [0, 1, 0, 0], atol=1e-15)
