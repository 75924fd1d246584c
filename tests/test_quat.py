"""Quaternions: group laws, agreement with SciPy, accuracy near singular angles, array handling."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation, Slerp

from oracles import BATCHES
from synovia import quat

AXES = [np.array(axis) for axis in ([1.0, 0, 0], [0, 0, -1.0], [0.6, 0, 0.8], [-0.48, 0.6, 0.64])]
ORDERS = ["".join(o) for o in product("xyz", repeat=3) if o[1] not in (o[0], o[2])]
TINY = [0.0, 5e-324, 1e-310, 1e-200, 1e-160, 1e-20, 1e-9]
UNIT_X = np.array([1.0, 0.0, 0.0])
few = settings(max_examples=60)


def random_quats(*batch, seed=0):
    q = np.random.default_rng(seed).normal(size=(*batch, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def special_quats():
    """Return all with parts in -1, 0, 1: identity, quarter, third and half turns, both signs."""
    grid = np.array([q for q in product((-1.0, 0.0, 1.0), repeat=4) if any(q)])
    return grid / np.linalg.norm(grid, axis=-1, keepdims=True)


def many_quats():
    return np.concatenate([random_quats(200), special_quats()])


def oracle(q):
    return Rotation.from_quat(q, scalar_first=True)


def wxyz(rotation):
    return rotation.as_quat(scalar_first=True)


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
    "from_6d": (lambda q: quat.from_6d(quat.to_6d(q)), (4,)),
    "to_6d": (quat.to_6d, (6,)),
    "from_euler": (lambda q: quat.from_euler(q[..., 1:], "xyz"), (4,)),
    "to_euler": (lambda q: quat.to_euler(q, "ZXY"), (3,)),
    "to_euler, proper": (lambda q: quat.to_euler(q, "zyz"), (3,)),
    "slerp": (lambda q: quat.slerp(q, q[..., ::-1], np.full(q.shape[:-1], 0.3)), (4,)),
    "unroll": (lambda q: quat.unroll(q[None])[0], (4,)),
}


@pytest.mark.parametrize("name", VERBS)
def test_results_keep_batch_shape_and_float_type_and_change_nothing(name):
    function, tail = VERBS[name]
    for batch, dtype in product(BATCHES, (np.float32, np.float64)):
        result = function(random_quats(*batch).astype(dtype))
        assert isinstance(result, np.ndarray)
        assert (result.shape, result.dtype) == ((*batch, *tail), dtype)
    q = quat.unroll(random_quats(60))
    single = function(q.astype(np.float32))
    np.testing.assert_allclose(single, function(q.astype(np.float32).astype(float)), atol=1e-4)
    items = [np.abs(function(one)) for one in q]  # of `unroll`, the first has w >= 0
    np.testing.assert_allclose(np.abs(function(q)), items, rtol=0, atol=1e-15)
    given = many_quats()
    given.flags.writeable = False
    before = given.copy()
    function(given)[...] = 9
    np.testing.assert_array_equal(given, before)


def test_leading_axes_broadcast_and_float_types_combine():
    a, b, v = random_quats(3, 1), random_quats(2), np.ones((3, 1, 3))
    assert quat.mul(a, b).shape == (3, 2, 4)
    assert quat.rotate(b, v).shape == (3, 2, 3)
    assert quat.angle_between(a, b).shape == (3, 2)
    assert quat.slerp(a, b, np.zeros((5, 1, 1))).shape == (5, 3, 2, 4)
    assert quat.between(v, np.eye(3)).shape == (3, 3, 4)
    assert [part.shape for part in quat.swing_twist(b, v)] == [(3, 2, 4)] * 2
    single = b.astype(np.float32)
    assert quat.mean(single, np.ones(2)).dtype == np.float32
    assert quat.mul(single, quat.IDENTITY).dtype == np.float64
    assert quat.rotate(single, [0, 0, 1]).dtype == np.float32
    assert quat.swing_twist(single, UNIT_X)[0].dtype == np.float32
    assert quat.log([1, 0, 0, 0]).dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        quat.IDENTITY[0] = 2.0


def test_scipy_agrees():
    a, b = many_quats(), many_quats()[::-1]
    v = np.random.default_rng(1).normal(size=(len(a), 3))
    assert_same_rotation(quat.mul(a, b), wxyz(oracle(a) * oracle(b)))
    assert_same_rotation(quat.inverse(a), wxyz(oracle(a).inv()))
    np.testing.assert_allclose(quat.rotate(a, v), oracle(a).apply(v), atol=1e-14)
    expected = (oracle(a).inv() * oracle(b)).magnitude()
    np.testing.assert_allclose(quat.angle_between(a, b), expected, atol=2e-15)
    clear = a[np.abs(a[:, 0]) > 1e-9]  # a half turn has two rotation vectors
    np.testing.assert_allclose(quat.log(clear), oracle(clear).as_rotvec(), atol=2e-15)
    v *= np.geomspace(1e-9, 50, len(v))[:, None]
    assert_same_rotation(quat.exp(v), wxyz(Rotation.from_rotvec(v)))
    matrices = oracle(a).as_matrix()
    np.testing.assert_allclose(quat.to_matrix(a), matrices, atol=1e-15)
    back = quat.from_matrix(matrices)
    assert_same_rotation(back, a, atol=1e-15)
    assert (back[:, 0] >= 0).all()
    t = np.linspace(0, 1, 11)
    for one, other in zip(random_quats(30), random_quats(30, seed=1), strict=True):
        assert_same_rotation(
            quat.slerp(one, other, t), wxyz(Slerp([0, 1], oracle(np.array([one, other])))(t))
        )
    q, weights = random_quats(4, 10), np.random.default_rng(6).uniform(0, 1, size=(4, 10))
    flat = oracle(q.reshape(-1, 4))
    assert_same_rotation(quat.mean(q), wxyz(flat.mean()), atol=1e-13)
    assert_same_rotation(quat.mean(q, weights), wxyz(flat.mean(weights.ravel())), atol=1e-13)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-3, 1.0, 1e200])
def test_normalize_gives_length_one_at_any_scale(scale):
    for q in (special_quats() * scale, (special_quats() * scale)[3]):
        unit_q = quat.normalize(q)
        np.testing.assert_allclose(np.linalg.norm(unit_q, axis=-1), 1, atol=4e-16)
        np.testing.assert_allclose(unit_q * scale, q, atol=scale * 1e-3 + 5e-324)
    np.testing.assert_array_equal(quat.normalize(np.zeros(4)), quat.IDENTITY)


# Logarithm and exponential.


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("small", TINY)
def test_log_and_exp_are_accurate_near_no_half_and_full_turn(axis, small):
    q = np.array([1.0, *(small / 2 * axis)])
    exact = {"rtol": 1e-15, "atol": 2e-323}
    np.testing.assert_allclose(quat.exp(small * axis), q, **exact)
    np.testing.assert_allclose(quat.log(q), small * axis, **exact)
    np.testing.assert_allclose(quat.log_unrolled(q), small * axis, **exact)
    np.testing.assert_array_equal(quat.log(-q), quat.log(q))
    near_half = np.array([np.sin(small / 2), *(np.cos(small / 2) * axis)])
    np.testing.assert_allclose(quat.log(near_half), (np.pi - small) * axis, atol=1e-15)
    beyond = quat.log_unrolled(near_half * [-1, 1, 1, 1])
    np.testing.assert_allclose(beyond, (np.pi + small) * axis, rtol=0, atol=1e-15)
    if small > 1e-300:
        full = np.array([-np.cos(small / 2), *(np.sin(small / 2) * axis)])
        np.testing.assert_allclose(quat.log_unrolled(full), (2 * np.pi - small) * axis, atol=1e-15)
        np.testing.assert_allclose(quat.log(full), -small * axis, rtol=1e-15)


def test_log_of_half_and_full_turns_is_defined():
    for axis, sign, w in product(AXES, (1, -1), (0.0, -0.0)):
        np.testing.assert_allclose(quat.log([w, *(sign * axis)]), np.pi * sign * axis, atol=1e-15)
    np.testing.assert_array_equal(quat.log_unrolled([-1, 0, 0, 0]), [2 * np.pi, 0, 0])
    np.testing.assert_array_equal(quat.log([-1, 0, 0, 0]), [0, 0, 0])
    length = np.linalg.norm(quat.log_unrolled([-1, 5e-324, 5e-324, 5e-324]))
    assert length == pytest.approx(2 * np.pi, abs=2e-15)


@few
@given(quats(), vectors(size=3.6), st.sampled_from([1, 2, -3, 100]))
def test_log_and_exp_are_inverse(q, v, turns):
    assert np.linalg.norm(quat.log(q)) <= np.pi + 1e-15
    assert np.linalg.norm(quat.log_unrolled(q)) <= 2 * np.pi + 2e-15
    assert_same_rotation(quat.exp(quat.log(q)), q, atol=1e-15)
    np.testing.assert_allclose(quat.exp(quat.log_unrolled(q)), q, atol=1e-15)
    np.testing.assert_allclose(quat.log_unrolled(quat.exp(v)), v, rtol=1e-13, atol=1e-300)
    axis = np.array([0.6, 0.0, 0.8])
    more = quat.exp(axis + 2 * np.pi * turns * axis)
    np.testing.assert_allclose(more, (-1) ** turns * quat.exp(axis), atol=1e-13)


# Directions, angles, swing and twist.


@few
@given(vectors().filter(any), vectors().filter(any))
def test_between_is_the_shortest_rotation(a, b):
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


def test_between_special_directions():
    assert all(quat.between(axis, -3 * axis)[0] == 0 for axis in AXES)
    tiny = quat.between([1, 0, 0], [1, 1e-20, 0])
    np.testing.assert_allclose(tiny, [1, 0, 0, 5e-21], rtol=1e-15)
    starts = ([0, 0, 0], [5e-324, 0, 0], [0, -1e-310, 0], [0, 3, 4])
    for a, b in product(starts, ([0, 0, 0], [0, 0, -5e-324], [0, 1, 0])):
        assert np.linalg.norm(quat.between(a, b)) == pytest.approx(1)


@pytest.mark.parametrize("small", [0.0, 1e-300, 1e-20, 1e-13, 1e-8, 1e-3])
def test_small_angles_keep_their_digits(small):
    a = random_quats(50)
    for axis in AXES:
        step = quat.exp(small * axis)
        angle = quat.angle_between(quat.IDENTITY, [step, -step])
        np.testing.assert_allclose(angle, small, rtol=1e-15)
        rotated = quat.mul(a, step)
        np.testing.assert_allclose(quat.angle_between(a, rotated), small, atol=1e-15)
        half = quat.mul(rotated, [0, *axis])
        np.testing.assert_allclose(quat.angle_between(a, half), np.pi - small, atol=2e-15)
        for end in (step, -step):
            quarter = quat.log(quat.slerp(quat.IDENTITY, end, 0.25))
            np.testing.assert_allclose(quarter, 0.25 * small * axis, rtol=1e-14, atol=1e-323)


def test_angle_between_is_relative_and_ignores_lengths():
    a = random_quats(50)
    b = a + 1e-13 * random_quats(50, seed=1)
    step = b - a  # exact, for they are close
    across = step - (step * a).sum(-1, keepdims=True) * a
    expected = 2 * np.linalg.norm(across, axis=-1)
    np.testing.assert_allclose(quat.angle_between(a, b), expected, rtol=1e-12)
    np.testing.assert_allclose(quat.angle_between(a, a * (1 + 1e-9)), 0, atol=1e-15)


@few
@given(quats(), quats(), st.floats(0, 1))
def test_angles_are_a_metric_and_slerp_a_geodesic(a, b, t):
    angle = quat.angle_between(a, b)
    assert 0 <= angle <= np.pi
    assert quat.angle_between(-a, b) == quat.angle_between(a, -b) == angle
    assert quat.angle_between(b, a) == pytest.approx(angle, abs=2e-15)
    assert quat.angle_between(a, -a) == 0
    middle = quat.slerp(a, b, t)
    assert quat.angle_between(a, middle) == pytest.approx(t * angle, abs=4e-15)
    assert quat.angle_between(middle, b) == pytest.approx((1 - t) * angle, abs=4e-15)
    np.testing.assert_array_equal(quat.slerp(a, b, 0.0), a)
    np.testing.assert_allclose(quat.slerp(a, -a, t), a, atol=1e-15)


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


@pytest.mark.parametrize(
    "q", [[0, 1.0, 0, 0], [0, -0.6, 0.8, 0], [-0.0, 0, -1.0, 0], [5e-324, 1.0, 0, 5e-324]]
)
def test_at_a_swing_of_pi_the_twist_is_the_identity(q):
    swing, twist = quat.swing_twist(q, [0, 0, 1.0])
    np.testing.assert_allclose(np.linalg.norm([swing, twist], axis=-1), 1, atol=1e-15)
    np.testing.assert_allclose(quat.mul(swing, twist), q, atol=1e-15)
    if q[3] == 0:
        np.testing.assert_array_equal(swing, q)
        np.testing.assert_array_equal(twist, quat.IDENTITY)


# Euler angles.


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
    np.testing.assert_allclose(quat.from_euler([2 * np.pi], "y"), [-1, 0, 0, 0], atol=1e-15)


@pytest.mark.parametrize("order", ORDERS)
def test_to_euler_agrees_with_scipy_and_is_the_inverse(order):
    q = random_quats(300)
    expected = oracle(q).as_euler(order.upper())
    np.testing.assert_allclose(quat.to_euler(q, order), expected, atol=1e-12)
    np.testing.assert_allclose(quat.to_euler(-q, order), expected, atol=1e-12)
    special = special_quats()
    again = quat.from_euler(quat.to_euler(special, order), order)
    assert_same_rotation(again, special, atol=1e-14)


@pytest.mark.parametrize("off", [0.0, 1e-300, 1e-16, 1e-14, 1e-13, 1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles_come_back_at_and_near_gimbal_lock(order, off):
    low, high = (0, np.pi) if order[0] == order[2] else (-np.pi / 2, np.pi / 2)
    outer = np.random.default_rng(5).uniform(-np.pi, np.pi, size=(50, 2))
    outer[0] = 0
    for middle in (low + off, high - off, low - off, high + off):
        q = quat.from_euler(np.insert(outer, 1, middle, axis=-1), order)
        angles = quat.to_euler(q, order)
        assert (np.abs(angles) <= np.pi).all()
        assert ((low <= angles[:, 1]) & (angles[:, 1] <= high)).all()
        if off < 1e-15:
            np.testing.assert_array_equal(angles[:, 2], 0)
        assert_same_rotation(quat.from_euler(angles, order), q, atol=1e-13)


def test_bad_orders_of_axes_are_refused():
    for order in ("", "xyzx", "xw", "1"):
        with pytest.raises(ValueError, match="letters of 'xyz'"):
            quat.from_euler(np.zeros(len(order)), order)
    for order in ("x", "xy", "xxy", "xyy", "zzz"):
        with pytest.raises(ValueError, match="without equal neighbours"):
            quat.to_euler(quat.IDENTITY, order)
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 2\) for the order 'xy', got \(5, 3\)"):
        quat.from_euler(np.zeros((5, 3)), "xy")


# Means and paths.


def test_a_mean_ignores_signs_and_refuses_bad_weights():
    q = quat.exp(np.random.default_rng(8).normal(size=(30, 3)))
    best = quat.mean(q)
    signs = np.random.default_rng(7).choice([-1, 1], size=(30, 1))
    np.testing.assert_allclose(quat.mean(signs * q), best, atol=1e-15)
    for one in many_quats():
        assert quat.mean(one)[0] >= 0
        assert_same_rotation(quat.mean(one), one)
    for weights in ([0, 0], [1, -1], [np.nan, 1]):
        with pytest.raises(ValueError, match="weights of at least 0"):
            quat.mean(random_quats(2), weights)
    with pytest.raises(ValueError, match="mean needs"):
        quat.mean(np.zeros((0, 4)))


@few
@given(st.integers(0, 2**32 - 1), st.sampled_from([(7,), (1, 3), (6, 3), (5, 2, 3)]))
def test_unroll_changes_signs_alone_and_never_jumps(seed, batch):
    q = random_quats(*batch, seed=seed)
    smooth = quat.unroll(q)
    assert (smooth[0, ..., 0] >= 0).all()
    assert ((smooth[1:] * smooth[:-1]).sum(-1) >= 0).all()
    assert ((smooth == q).all(-1) | (smooth == -q).all(-1)).all()


def test_unroll_runs_along_the_given_axis():
    q = random_quats(3, 8)
    for axis in (1, -2):
        np.testing.assert_array_equal(quat.unroll(q, axis=axis), [quat.unroll(each) for each in q])
    for axis in (2, -1, 3, -4):
        with pytest.raises(ValueError, match="axis must be one of the axes before the last"):
            quat.unroll(q, axis=axis)
    with pytest.raises(ValueError, match="axis must be"):
        quat.unroll(quat.IDENTITY)
