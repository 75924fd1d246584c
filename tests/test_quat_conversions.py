"""Quaternions as matrices and as Euler angles, and back."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from quats import (
    AXES,
    assert_same_rotation,
    few,
    many_quats,
    oracle,
    quats,
    random_quats,
    special_quats,
    wxyz,
)
from synovia import quat

ORDERS = ["".join(o) for o in product("xyz", repeat=3) if o[1] not in (o[0], o[2])]


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
