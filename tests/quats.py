"""Quaternions to test with, and SciPy's answers about them."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from synovia import quat

AXES = [np.array(axis) for axis in ([1.0, 0, 0], [0, 0, -1.0], [0.6, 0, 0.8], [-0.48, 0.6, 0.64])]
few = settings(max_examples=60)


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
