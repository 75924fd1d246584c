"""Scapulae: points of the bone stay on an ellipsoid, by the nearest turns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joints import random_matrices, scapula, turn


def on_the_ellipsoid(bone, matrices, found, lift, rotation):
    """Where the blended points are: by how much |q| is off 1, (n, 2), and the points themselves."""
    u, w = np.clip(lift, 0, 1)[:, None, None], np.clip(rotation, 0, 1)[:, None, None]
    points = (1 - w) * ((1 - u) * bone.pairs[1] + u * bone.pairs[0]) + w * bone.pairs[2]
    held = np.concatenate([points, np.ones((*points.shape[:-1], 1))], axis=-1)
    placed = np.einsum("nij,npj->npi", matrices @ found, held)[..., :3]
    unit = (placed - bone.center) @ bone.axes.T / bone.radii
    return np.linalg.norm(unit, axis=-1) - 1.0, points


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(-0.15, 0.15))
@settings(max_examples=50)
def test_any_lift_and_rotation_stays_on_the_ellipsoid(lift, rotation, tilt):
    bone, given = scapula(), turn([0.0, 1.0, 0.3], tilt)
    found = bone(matrix=given, lift=lift, rotation=rotation)
    assert found["gap"] == 0.0
    share = np.array([lift]), np.array([rotation])
    off, _ = on_the_ellipsoid(bone, given[None], found["matrix"][None], *share)
    assert np.abs(off).max() < 1e-9


def nearest_root(bone, matrix, axis, point):
    """The angle nearest to 0 on the ellipsoid, or the closest, on a fine grid of angles."""
    angles = np.linspace(-np.pi, np.pi, 20001)
    along = axis * np.dot(axis, point)
    circle = along + np.cos(angles)[:, None] * (point - along)
    circle = circle + np.sin(angles)[:, None] * np.cross(axis, point)
    placed = circle @ matrix[:3, :3].T + matrix[:3, 3] - bone.center
    off = np.linalg.norm(placed @ bone.axes.T / bone.radii, axis=1) - 1.0
    crossings = np.flatnonzero((off[:-1] > 0.0) != (off[1:] > 0.0))
    if len(crossings):
        return angles[crossings[np.abs(angles[crossings]).argmin()]], True
    return angles[np.abs(off).argmin()], False


def test_the_first_turn_is_the_nearest_to_none(rng):
    bone = scapula()
    given = random_matrices((60,), rng, 0.4)
    given[:, :3, 3] *= 4.0
    found = bone(matrix=given, lift=0.0, rotation=0.0)
    for k in range(60):
        angle, reached = nearest_root(bone, given[k], bone.axis, bone.pairs[1, 0])
        assert found["first"][k] == pytest.approx(angle, abs=1e-3)
        assert reached or found["gap"][k] > 0.0


def test_an_ellipsoid_out_of_reach_is_approached_and_flagged():
    bone = scapula(center=[100.0, 0.0, 0.0])
    found = bone(matrix=np.eye(4), lift=0.5, rotation=0.5)
    assert found["gap"] > 1.0
    assert np.isfinite(found["matrix"]).all()


def test_bad_scapulae_are_refused():
    with pytest.raises(ValueError, match="radii must be above 0"):
        scapula(radii=[1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="axis must not be zero"):
        scapula(axis=[0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="orthonormal"):
        scapula(axes=np.ones((3, 3)))
    with pytest.raises(ValueError, match="away from the origin"):
        scapula(pairs=np.zeros((3, 2, 3)))
