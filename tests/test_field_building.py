"""Building distance fields: exact distances, nearest sites, filled holes, paths, other limits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from fields import EULER
from oracles import triangle_distance
from synovia import DistanceField, EulerZYZ, Limit, RotationVector, quat
from synovia.learn import field_from_paths
from synovia.learn.people import subdivide
from synovia.shapes.distance_field.grid import (
    close_axes,
    fill_holes,
    nearest_sites,
    node_points,
    redistance,
    sample_distance,
    site_index,
    surface_triangles,
    values_at,
)

LOW, SPACING, COUNT = np.array([-1.0, 0.2, -1.0]), np.array([0.2, 0.25, 0.3]), (9, 7, 8)
WRAPS = np.array([True, False, True])
PERIOD = np.where(WRAPS, SPACING * COUNT, 0.0)


def brute(points, nodes, period):
    """The distance from each node to the nearest point, over all images."""
    move = nodes[:, None] - points
    turn = np.where(period > 0.0, period, 1.0)
    move = np.where(period > 0.0, move - turn * np.rint(move / turn), move)
    return np.linalg.norm(move, axis=-1).min(axis=1)


def distances_to_sites(codes, spacing, points, period):
    """Return how far each point is from the site of its code."""
    codes = codes.ravel()
    sites = spacing * np.stack([codes >> 20, (codes >> 10) & 1023, codes & 1023], axis=-1)
    return [
        brute(site[None], point[None], period)[0] for site, point in zip(sites, points, strict=True)
    ]


@pytest.mark.parametrize("period", [np.zeros(3), PERIOD], ids=["open", "wrapped"])
def test_distances_to_samples_are_exact(period):
    points = np.random.default_rng(0).normal(size=(80, 3))
    nodes = node_points(LOW, SPACING, COUNT)
    expected = brute(points, nodes.reshape(-1, 3), period).reshape(COUNT)
    np.testing.assert_allclose(
        sample_distance(points, LOW, SPACING, COUNT, period), expected, atol=1e-12
    )


@pytest.mark.parametrize("wraps", [np.zeros(3, bool), WRAPS], ids=["open", "wrapped"])
def test_the_index_holds_the_nearest_sites(wraps):
    rng = np.random.default_rng(2)
    nodes = close_axes(rng.normal(size=(7, 5, 6)), wraps)
    period = np.where(wraps, SPACING * (np.array(nodes.shape) - 1), 0.0)
    ends = [(0.0, wrap) if wrap else (-1.0, 3.0) for wrap in period]
    places = [np.sort(rng.uniform(*end, size=n)) for end, n in zip(ends, (5, 6, 7), strict=True)]
    codes = site_index(nodes, -0.5, SPACING, period, places)
    parts = [
        np.arange(4 * n - (4 if wrap else 3)) for n, wrap in zip(nodes.shape, wraps, strict=True)
    ]
    fine = 0.25 * np.stack(np.meshgrid(*parts, indexing="ij"), axis=-1).reshape(-1, 3)
    members = SPACING * fine[values_at(nodes, fine) <= -0.5]
    at = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, 3)
    np.testing.assert_allclose(
        distances_to_sites(codes, SPACING / 4.0, at, period), brute(members, at, period), atol=1e-12
    )


@pytest.mark.parametrize("period", [np.zeros(3), PERIOD], ids=["open", "wrapped"])
@pytest.mark.parametrize("share", [0.003, 0.1, 0.9])
def test_nearest_sites_are_exact(period, share):
    rng = np.random.default_rng(1)
    members = rng.random(COUNT) < share
    members[3, 2, 5] = True
    places = [np.sort(rng.uniform(-1.0, 3.0, size=n)) for n in (5, 6, 7)]
    codes = nearest_sites(members, SPACING, period, places)
    at = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, 3)
    expected = brute(SPACING * np.argwhere(members), at, period)
    found = distances_to_sites(codes, SPACING, at, period)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def sphere(n, radius):
    points = np.random.default_rng(2).normal(size=(n, 3))
    return radius * points / np.linalg.norm(points, axis=1, keepdims=True)


def test_holes_are_filled_and_only_holes():
    samples = sphere(4000, 1.0)
    hollow = DistanceField.fit(samples, closing=0.0)
    full = DistanceField.fit(samples)
    assert not hollow.contains(np.zeros(3))
    assert full.contains(np.zeros(3))
    np.testing.assert_allclose(full.value(np.zeros(3)), -1.0, atol=full.spacing[0])
    outside = 1.5 * sphere(500, 1.0)
    np.testing.assert_allclose(full.value(outside), hollow.value(outside), atol=1e-12)
    radius = (0.75 * full.measure / np.pi) ** (1.0 / 3.0)
    np.testing.assert_allclose(radius, 1.0 + full.threshold, atol=0.3 * full.spacing[0])


def test_a_bowl_is_not_filled():
    samples = sphere(4000, 1.0)
    bowl = DistanceField.fit(samples[samples[:, 2] < 0.3])
    assert not bowl.contains(np.zeros(3))
    assert bowl.contains(samples[samples[:, 2] < 0.3]).all()


def test_filling_raises_nothing_and_works_without_sides():
    values = np.random.default_rng(3).uniform(0.0, 1.0, COUNT)
    for wraps in (np.zeros(3, bool), WRAPS, np.ones(3, bool)):
        for r in (0.2, 0.6, 2.0):
            assert (fill_holes(values, r, SPACING, wraps) <= values).all()


def test_distances_anew_are_distances_to_the_level():
    axis = np.linspace(-1.0, 1.0, 33)
    nodes = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
    radius = np.linalg.norm(nodes, axis=-1)
    spacing = np.full(3, axis[1] - axis[0])
    found = redistance(radius**3, 0.6**3, np.full(3, -1.0), spacing, np.zeros(3, bool))
    np.testing.assert_allclose(found, radius - 0.6, atol=0.15 * spacing[0])
    with pytest.raises(ValueError, match="must part the nodes"):
        redistance(radius, 9.0, np.full(3, -1.0), spacing, np.zeros(3, bool))


def to_triangles(points, corners, shifts):
    """Return the distance of each point to the nearest triangle, over all images."""
    images = np.repeat((points[:, None] + shifts).reshape(-1, 3), len(corners), axis=0)
    every = np.tile(corners, (len(points) * len(shifts), 1, 1))
    return triangle_distance(images, every).reshape(len(points), -1).min(axis=1)


@pytest.mark.parametrize("wraps", [np.zeros(3, bool), WRAPS], ids=["open", "wrapped"])
@pytest.mark.parametrize("seed", range(3))
def test_distances_from_a_level_are_those_from_its_triangles(wraps, seed):
    values = np.random.default_rng(seed).normal(size=(5, 4, 5))
    shifts = np.array(list(np.ndindex(3, 3, 3))) - 1.0
    shifts = shifts[(shifts * ~wraps == 0.0).all(axis=1)] * SPACING * values.shape
    vertices, triangles = surface_triangles(values, 0.8, LOW, SPACING, wraps, capped=False)
    nodes = node_points(LOW, SPACING, values.shape).reshape(-1, 3)
    expected = to_triangles(nodes, vertices[triangles], shifts).reshape(values.shape)
    found = redistance(values, 0.8, LOW, SPACING, wraps)
    np.testing.assert_allclose(found, np.where(values <= 0.8, -expected, expected), atol=1e-12)


@pytest.mark.parametrize("chart", ["rotation-vector", "swing-twist", "euler"])
def test_paths_have_no_gaps(chart):
    t = np.linspace(0.0, 2.0 * np.pi, 12)
    path = quat.exp(np.stack([np.sin(t), 0.5 * np.sin(2.0 * t), 0.2 * np.cos(t)], axis=1))
    limit = field_from_paths([path], chart, resolution=40)
    between = np.concatenate([quat.slerp(a, b, np.linspace(0, 1, 9)) for a, b in pairwise(path)])
    assert limit.contains(between).all()
    dense = subdivide(path, limit.chart, 0.02)
    steps = np.linalg.norm(np.diff(limit.chart.follow(limit.chart.points(dense)), axis=0), axis=1)
    assert steps.max() <= 0.02


def test_clips_stay_apart_unless_bridged():
    t = np.linspace(0.0, 0.3, 10)[:, None]
    one, other = quat.exp(t * [1.0, 0.0, 0.0]), quat.exp(t * [1.0, 0.0, 0.0] + [1.5, 0.0, 0.0])
    middle = quat.exp(np.array([0.9, 0.0, 0.0]))
    assert not field_from_paths([one, other]).contains(middle)
    assert field_from_paths([one, other], bridged=True).contains(middle)
    with pytest.raises(ValueError, match="at least one frame"):
        field_from_paths([])


@pytest.mark.parametrize("shape", ["box", "ellipsoid", "kdop"])
def test_fields_of_other_limits_tell_their_error(shape):
    rng = np.random.default_rng(5)
    limit = Limit.fit(quat.exp(rng.normal(size=(200, 3)) * [0.5, 0.3, 0.2]), shape)
    coarse, fine = limit.to("distance-field"), limit.to("distance-field", resolution=64)
    assert 0.0 < fine.error < coarse.error < 2.0 * coarse.limit.shape.spacing[0]
    assert fine.gained + fine.lost < coarse.gained + coarse.lost < 0.2 * limit.volume()
    rotations = quat.exp(rng.normal(size=(4000, 3)) * 0.6)
    apart = np.abs(limit.distance(rotations)) > 1.5 * fine.error
    agreed = limit.contains(rotations) == fine.limit.contains(rotations)
    assert agreed[apart].all()
    with pytest.raises(ValueError, match="resolution must be"):
        limit.to("distance-field", resolution=3)


def test_a_field_must_wrap_as_its_chart_does():
    plain, wrapped = (
        DistanceField.fit(np.ones((1, 3))),
        DistanceField.fit(np.ones((1, 3)), periods=EULER),
    )
    Limit(EulerZYZ(), wrapped)
    Limit(RotationVector(), plain)
    with pytest.raises(ValueError, match="must have the periods"):
        Limit(RotationVector(), wrapped)
    with pytest.raises(ValueError, match="must have the periods"):
        Limit(EulerZYZ(), plain)
