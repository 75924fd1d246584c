"""Softening: limits that are approached instead of hit."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import CASES, EXHAUSTIVE, fitted, lengths, placed, queries, random_quats
from synovia import quat
from synovia.arrays import TOLERANCE
from synovia.limit import Limit
from synovia.limit.softening import Beyond, Inside
from synovia.shapes import Box, Ellipsoid

KINDS = [Beyond(), Beyond(0.02, 0.5), Inside(), Inside(0.01)]
if EXHAUSTIVE:
    KINDS += [Beyond(0.3, 10.0), Inside(0.4)]
SLACK = 5 * TOLERANCE


@pytest.fixture(params=KINDS, ids=str)
def softening(request):
    return request.param


@pytest.fixture(params=[k for k in KINDS if isinstance(k, Beyond)], ids=str)
def beyond(request):
    return request.param


@pytest.fixture(params=[k for k in KINDS if isinstance(k, Inside)], ids=str)
def inside(request):
    return request.param


@pytest.fixture(
    params=["tilted", "elongated", "line", "one"] if EXHAUSTIVE else ["elongated", "line"]
)
def kind(request):
    return request.param


@pytest.fixture
def points(shape):
    return queries(shape, 300)


def test_members_stay_with_beyond(shape, points, beyond):
    members = points[shape.contains(points)]
    assert beyond.soften(shape, members).tobytes() == members.tobytes()


def test_beyond_ends_less_than_radius_beyond(shape, points, beyond):
    distance = shape.distance(points)
    softened = shape.distance(beyond.soften(shape, points))
    assert (softened < beyond.radius + TOLERANCE).all()
    assert (softened <= distance + TOLERANCE).all()
    outside = distance > 1e-6
    expected = np.minimum(beyond.radius * np.tanh(beyond.falloff * distance), distance)
    assert np.allclose(softened[outside], expected[outside], atol=1e-9)


def test_members_deeper_than_the_radius_stay_with_inside(case, inside):
    shape = fitted(case, "round")
    members = shape.scatter(3000, np.random.default_rng(0))
    deep = members[shape.distance(members) < -inside.radius]
    kept = deep[inside_of_shrunk(shape, inside, deep)]
    assert np.array_equal(inside.soften(shape, kept), kept)
    if inside.radius < 0.1:
        assert len(kept) > 100


def inside_of_shrunk(shape, inside, points):
    return shape.shrink(inside.radius).contains(points)


def test_softening_is_monotone(shape, points, softening, rng):
    """Whichever way a point moves, its softened point does not move against it."""
    soft = softening.soften(shape, points)
    for size in (1e-3, 0.1, 1.0):
        moved = points + size * rng.normal(size=points.shape)
        turned = ((softening.soften(shape, moved) - soft) * (moved - points)).sum(axis=-1)
        assert (turned >= -SLACK).all()


def test_what_is_outside_a_wide_box_ends_half_the_radius_inside():
    box = Box([-1.0, -1.0, -1.0], [1.0, 1.0, 1.0], np.eye(3))
    ends = Inside(0.2).soften(box, np.array([[1.0, 0.0, 0.0], [5.0, 0.0, 0.0], [0.7, 0.0, 0.0]]))
    assert np.allclose(ends[:, 0], [0.9, 0.9, 0.7], atol=1e-12)


def test_softening_is_continuous_and_nothing_moves_apart(shape, points, softening, rng):
    a = points
    for size in (1e-6, 1e-3, 0.1, 1.0):
        b = a + size * rng.normal(size=a.shape)
        apart = lengths(softening.soften(shape, a) - softening.soften(shape, b))
        assert (apart <= lengths(a - b) + SLACK).all()


def test_rotations_are_softened_as_their_points_are(softening):
    for case in CASES:
        limit = Limit(placed("swing-twist"), fitted(case, "tilted"))
        rotations = random_quats(300, np.random.default_rng(2))
        softened = limit.soften(rotations, softening)
        points = softening.soften(limit.shape, limit.nearest_cover(rotations))
        assert quat.angle_between(softened, limit.chart.rotations(points)).max() < 1e-9
        assert np.abs(lengths(softened) - 1.0).max() < 1e-12
        if isinstance(softening, Inside):
            assert limit.contains(softened).all()


def test_a_thin_box_is_softened_along_what_it_spans():
    hinge = Box([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], np.eye(3))
    softened = Inside(0.2).soften(hinge, np.array([[0.95, 0.0, 0.0], [3.0, 1.0, 0.0]]))
    assert 0.88 < softened[0, 0] < 0.9
    assert np.isclose(softened[1, 0], 0.9, atol=1e-12)
    assert np.allclose(softened[:, 1:], 0.0, atol=1e-15)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf])
def test_the_radius_must_be_positive(radius):
    for kind in (Beyond, Inside):
        with pytest.raises(ValueError, match="softening radius must be more than 0"):
            kind(radius)
    with pytest.raises(ValueError, match="softening falloff must be more than 0"):
        Beyond(0.1, radius)


def test_a_thin_ellipsoid_is_softened_along_what_it_spans():
    # A hinge with a margin: softening must not stop the hinge itself.
    hinge = Ellipsoid(np.zeros(3), [1.0, 0.05, 0.05], np.eye(3))
    softened = Inside(0.1).soften(hinge, np.array([0.5, 0.0, 0.0]))
    assert softened[0] > 0.4
