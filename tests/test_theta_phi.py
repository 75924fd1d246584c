"""Theta-phi tables keep the promises of shapes, and say what is wrong with what is given."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from synovia import ThetaPhi
from tables import angles, points_around, table

KINDS = ("blob", "single", "polar", "islands", "ring", "whole")


@pytest.fixture(params=KINDS)
def shape(request):
    return table(request.param)


def test_projections_go_as_far_as_the_direction_is_beyond(shape, rng):
    points = points_around(1000, rng)
    away = np.maximum(shape.angle_beyond(points[:, :3] @ shape.frame.T), 0.0)
    assert np.abs(angles(points[:, :3], shape.project(points)[:, :3]) - away).max() < 2e-9


def test_normals_point_outwards(shape, rng):
    inner = shape.scatter(200, rng)
    normal = shape.facing(inner)
    assert np.abs(np.linalg.norm(normal, axis=1) - 1.0).max() < 1e-6
    assert np.abs(np.sum(normal[:, :3] * inner[:, :3], axis=1)).max() < 1e-6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": np.zeros((18, 36))}, "a table needs a legal cell"),
        ({"counts": -np.ones((18, 36))}, "counts must be at least 0"),
        ({"counts": np.ones((1, 36))}, r"counts must be at least \(2, 4\)"),
        ({"low": np.ones((18, 36)), "high": np.zeros((18, 36))}, "low must not exceed"),
        ({"low": np.full((18, 36), np.nan)}, "low must be finite"),
        ({"low": np.zeros((3, 3))}, r"low must have shape \(18, 36\)"),
        ({"frame": np.ones((3, 3))}, "frame must be orthonormal"),
        ({"least": -1.0}, "least must be at least 0"),
    ],
)
def test_wrong_fields_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(table("blob"), **change)


def test_wrong_samples_are_named():
    with pytest.raises(ValueError, match=r"must have shape \(n, 4\)"):
        ThetaPhi.fit(np.zeros((5, 3)))
    with pytest.raises(ValueError, match="at least one point"):
        ThetaPhi.fit(np.zeros((0, 4)))
    with pytest.raises(ValueError, match="directions must be unit"):
        ThetaPhi.fit(np.zeros((5, 4)))
    with pytest.raises(ValueError, match="cell must be between"):
        ThetaPhi.fit(np.eye(4)[:1], cell=5.0)
    with pytest.raises(ValueError, match="holes must be"):
        ThetaPhi.fit(np.eye(4)[:1], holes="some")
    with pytest.raises(ValueError, match="directions must be unit"):
        table("blob").distance([[2.0, 0.0, 0.0, 0.0]])
