from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from synovia import quat

BATCHES = [(), (0,), (1,), (3, 1, 2)]
AXES = [np.array(axis) for axis in ([1.0, 0, 0], [0, 0, -1.0], [0.6, 0, 0.8], [-0.48, 0.6, 0.64])]
ORDERS = ["".join(o) for o in product("xyz", repeat=3) if o[1] not in (o[0], o[2])]
TINY = [0.0, 5e-324, 1e-310, 1e-200, 1e-160, 1e-20, 1e-9]
few = settings(max_examples=60, deadline=None)


def random_quats(*batch, seed=0):
    q = np.random.default_rng(seed).normal(size=(*batch, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def special_quats():
    """Return all with parts in -1, 0, 1: no turn, quarter, third and half turns, both signs."""
    grid = np.array([q for q in product((-1.0, 0.0, 1.0), repeat=4) if any(q)])
    return grid / np.linalg.norm(grid, axis=-1, keepdims=True)


def many_quats():
    return np.concatenate([random_quats(200), special_quats()])


def oracle(q):
    return Rotation.from_quat(q[..., [1, 2, 3, 0]])


def wxyz(rotation):
    return rotation.as_quat()[..., [3, 0, 1, 2]]


def assert_same_rotation(a, b, atol=1e-14):
    b = np.where((np.asarray(a) * b).sum(-1, keepdims=True) < 0, -np.asarray(b), b)
    np.testing.assert_allclose(a, b, rtol=0, atol=atol)


def unit(v):
    v = v / np.abs(v).max()
    return v / np.linalg.norm(v)


def quats():
    return arrays(np.float64, 4, elements=st.floats(-1, 1)).filter(any).map(quat.normalize)


def vectors(size=10.0):
    return arrays(np.float64, 3, elements=st.floats(-size, size))


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


# Logarithm and exponential


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


# Matrices


def test_to_matrix_agrees_with_scipy():
    q = many_quats()
    np.testing.assert_allclose(quat.to_matrix(q), oracle(q).as_matrix(), atol=1e-15)


def test_from_matrix_agrees_with_scipy_also_for_half_turns():
    m = oracle(many_quats()).as_matrix()
    q = quat.from_matrix(m)
    assert_same_rotation(q, wxyz(Rotation.from_matrix(m)), atol=1e-15)
    assert (q[:, 0] >= 0).all()
    np.testing.assert_allclose(quat.to_matrix(q), m, atol=2e-15)


@pytest.mark.parametrize("small", [0.0, 1e-300, 1e-12, 1e-8, 1e-4])
@pytest.mark.parametrize("turn", [0.0, np.pi])
def test_matrices_keep_turns_near_none_and_near_a_half(turn, small):
    for axis in AXES:
        q = quat.exp((turn + small) * axis)
        assert_same_rotation(quat.from_matrix(quat.to_matrix(q)), q, atol=1e-15)


# Euler angles


@pytest.mark.parametrize("length", [1, 2, 3])
def test_from_euler_agrees_with_scipy(length):
    angles = np.random.default_rng(4).uniform(-7, 7, size=(40, length))
    about = dict(zip("xyz", np.eye(3), strict=True))
    for letters in product("xyz", repeat=length):
        order = "".join(letters)
        expected = Rotation.identity(40)
        for k, letter in enumerate(order):
            expected = expected * Rotation.from_rotvec(angles[:, k, None] * about[letter])
        assert_same_rotation(quat.from_euler(angles, order), wxyz(expected))
        assert_same_rotation(quat.from_euler(angles, order.upper()), wxyz(expected))


def test_from_euler_multiplies_in_the_order_of_bvh_channels():
    z, x, y = 0.3, -1.1, 2.0
    m = [Rotation.from_euler(a, v).as_matrix() for a, v in (("z", z), ("x", x), ("y", y))]
    found = quat.to_matrix(quat.from_euler([z, x, y], "ZXY"))
    np.testing.assert_allclose(found, m[0] @ m[1] @ m[2], atol=1e-15)


def test_from_euler_keeps_full_turns():
    np.testing.assert_allclose(quat.from_euler([2 * np.pi], "y"), [-1, 0, 0, 0], atol=1e-15)


@pytest.mark.parametrize("order", ORDERS)
def test_to_euler_agrees_with_scipy(order):
    q = random_quats(300)
    expected = oracle(q).as_euler(order.upper())
    np.testing.assert_allclose(quat.to_euler(q, order), expected, atol=1e-12)
    np.testing.assert_allclose(quat.to_euler(-q, order), expected, atol=1e-12)


@pytest.mark.parametrize("off", [0.0, 1e-300, 1e-16, 1e-14, 1e-13, 1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles_come_back_at_and_near_gimbal_lock(order, off):
    low, high = (0, np.pi) if order[0] == order[2] else (-np.pi / 2, np.pi / 2)
    outer = np.random.default_rng(5).uniform(-np.pi, np.pi, size=(50, 2))
    outer[0] = 0
    for middle in (low + off, high - off, low - off, high + off):
        angles = np.insert(outer, 1, middle, axis=-1)
        q = quat.from_euler(angles, order)
        found = quat.to_euler(q, order)
        assert np.isfinite(found).all()
        assert (np.abs(found) <= np.pi).all()
        assert (low <= found[:, 1]).all()
        assert (found[:, 1] <= high).all()
        if off < 1e-15:
            np.testing.assert_array_equal(found[:, 2], 0)
        assert_same_rotation(quat.from_euler(found, order), q, atol=1e-13)


@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles_of_special_rotations_give_them_back(order):
    q = special_quats()
    again = quat.from_euler(quat.to_euler(q, order), order)
    assert_same_rotation(again, q, atol=1e-14)


@few
@given(quats(), st.sampled_from(ORDERS))
def test_euler_angles_give_the_rotation_back(q, order):
    assert_same_rotation(quat.from_euler(quat.to_euler(q, order), order), q, atol=1e-13)


@pytest.mark.parametrize("order", ["", "xyzx", "xw", "1"])
def test_orders_of_other_letters_are_refused(order):
    with pytest.raises(ValueError, match="letters of 'xyz'"):
        quat.from_euler(np.zeros(len(order)), order)


@pytest.mark.parametrize("order", ["x", "xy", "xxy", "xyy", "zzz"])
def test_to_euler_refuses_orders_that_do_not_reach_every_rotation(order):
    with pytest.raises(ValueError, match="without equal neighbours"):
        quat.to_euler(quat.IDENTITY, order)


def test_from_euler_refuses_another_number_of_angles():
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 2\) for the order 'xy', got \(5, 3\)"):
        quat.from_euler(np.zeros((5, 3)), "xy")


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


# Shapes, types, and leaving alone what was given

UNIT_X = np.array([1.0, 0.0, 0.0])
VERBS = {
    "mul": (lambda q: quat.mul(q, q), (4,)),
    "inverse": (quat.inverse, (4,)),
    "normalize": (quat.normalize, (4,)),
    "rotate": (lambda q: quat.rotate(q, q[..., 1:]), (3,)),
    "log": (quat.log, (3,)),
    "log_unrolled": (quat.log_unrolled, (3,)),
    "exp": (lambda q: quat.exp(q[..., 1:]), (4,)),
    "between": (lambda q: quat.between(q[..., 1:], q[..., :3]), (4,)),
    "angle_between": (lambda q: quat.angle_between(q, q[..., ::-1]), ()),
    "swing": (lambda q: quat.swing_twist(q, UNIT_X)[0], (4,)),
    "twist": (lambda q: quat.swing_twist(q, UNIT_X)[1], (4,)),
    "from_matrix": (lambda q: quat.from_matrix(quat.to_matrix(q)), (4,)),
    "to_matrix": (quat.to_matrix, (3, 3)),
    "from_euler": (lambda q: quat.from_euler(q[..., 1:], "xyz"), (4,)),
    "to_euler": (lambda q: quat.to_euler(q, "ZXY"), (3,)),
    "to_euler, proper": (lambda q: quat.to_euler(q, "zyz"), (3,)),
    "slerp": (lambda q: quat.slerp(q, q[..., ::-1], np.full(q.shape[:-1], 0.3)), (4,)),
    "unroll": (lambda q: quat.unroll(q[None])[0], (4,)),
}


@pytest.fixture(params=VERBS)
def verb(request):
    return VERBS[request.param]


@pytest.mark.parametrize("batch", BATCHES)
def test_answers_keep_the_batch_shape_and_the_float_type(verb, batch):
    function, tail = verb
    for dtype in (np.float32, np.float64):
        answer = function(random_quats(*batch).astype(dtype))
        assert isinstance(answer, np.ndarray)
        assert answer.shape == (*batch, *tail)
        assert answer.dtype == dtype


def test_float32_answers_are_near_the_float64_ones(verb):
    function, _ = verb
    q = quat.unroll(random_quats(100)).astype(np.float32)
    np.testing.assert_allclose(function(q), function(q.astype(np.float64)), rtol=0, atol=1e-4)


def test_a_batch_is_answered_like_its_items(verb):
    function, _ = verb
    q = quat.unroll(random_quats(6)).reshape(3, 1, 2, 4)
    items = [function(one) for one in q.reshape(-1, 4)]
    answer = function(q)
    found = answer.reshape(6, *answer.shape[3:])
    same = np.abs(found - items) < 1e-15
    if function is VERBS["unroll"][0]:
        same |= np.abs(found + items) < 1e-15
    assert same.all()


def test_nothing_given_is_changed(verb):
    function, _ = verb
    q = many_quats()
    q.flags.writeable = False
    before = q.copy()
    answer = function(q)
    np.testing.assert_array_equal(q, before)
    answer[...] = 9
    np.testing.assert_array_equal(q, before)


def test_leading_axes_broadcast():
    a, b, v = random_quats(3, 1), random_quats(2), np.ones((3, 1, 3))
    assert quat.mul(a, b).shape == (3, 2, 4)
    assert quat.rotate(b, v).shape == (3, 2, 3)
    assert quat.angle_between(a, b).shape == (3, 2)
    assert quat.slerp(a, b, np.zeros((5, 1, 1))).shape == (5, 3, 2, 4)
    assert quat.between(v, np.eye(3)).shape == (3, 3, 4)
    assert [part.shape for part in quat.swing_twist(b, np.ones((3, 1, 3)))] == [(3, 2, 4)] * 2
    assert quat.swing_twist(quat.IDENTITY, np.eye(3))[1].shape == (3, 4)


def test_mean_keeps_float32():
    q = random_quats(9).astype(np.float32)
    assert quat.mean(q, np.ones(9)).dtype == np.float32


def test_float32_with_float64_is_float64_but_lists_follow_the_array():
    q = random_quats(2).astype(np.float32)
    assert quat.mul(q, quat.IDENTITY).dtype == np.float64
    assert quat.rotate(q, [0, 0, 1]).dtype == np.float32
    assert quat.swing_twist(q, UNIT_X)[0].dtype == np.float32
    assert quat.log([1, 0, 0, 0]).dtype == np.float64


def test_plain_numpy_suffices():
    import ast
    from pathlib import Path

    nodes = list(ast.walk(ast.parse(Path(quat.__file__).read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert names == {"__future__", "functools", "numpy", "arrays"}
