"""Promises of convex shapes: margins, tight bounds, closed surfaces, uniform samples, measure."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import (
    CONVEX,
    THIN,
    cloud,
    curved,
    directions,
    fitted,
    queries,
    spanned,
    support,
)
from synovia.arrays import TOLERANCE
from synovia.shapes import SHAPES, Ellipsoid, KDop
from synovia.shapes.mesh import shape_surface


def test_margin_widens(case, kind, rng):
    narrow, wide = fitted(case, kind), fitted(case, kind, margin=0.1)
    points = queries(narrow)
    outside = narrow.distance(points) > TOLERANCE
    assert (wide.distance(points) <= narrow.distance(points) + 1e-12)[outside].all()
    assert (wide.distance(points) < narrow.distance(points) - 0.01)[
        narrow.distance(points) > 0.2
    ].all()
    assert (wide.bounds[0] <= narrow.bounds[0] - 0.1 + 1e-9).all() or curved(narrow)
    assert (wide.bounds[0] < narrow.bounds[0]).all()
    assert (wide.bounds[1] > narrow.bounds[1]).all()
    assert wide.contains(narrow.scatter(300, rng)).all()


def test_grow_contains_the_shape(shape, rng):
    assert shape.grow(0.1).contains(shape.scatter(500, rng)).all()
    assert shape.grow(0.1).contains(shape.project(6.0 * directions(500, rng))).all()
    assert (shape.grow(0.1).distance(shape.scatter(500, rng)) < 0.0).all()


def test_shrink_is_contained(shape, rng):
    for r in (1e-3, 0.1, 5.0):
        less = shape.shrink(r)
        assert shape.contains(less.scatter(300, rng)).all()
        assert shape.contains(less.project(6.0 * directions(300, rng))).all()


def test_shrink_moves_faces_in_by_r_and_shortens_radii_by_r(thick, rng):
    outwards = directions(3000, rng)
    r = 0.3 * float((support(thick, outwards) + support(thick, -outwards)).min()) / 2.0
    less = thick.shrink(r)
    round_part = getattr(thick, "swing", thick)
    if isinstance(round_part, Ellipsoid):
        shorter = getattr(less, "swing", less)
        assert np.allclose(shorter.radii, round_part.radii - r, atol=1e-12)
        return
    edge = np.concatenate([less.project(20.0 * outwards), less.scatter(1000, rng)])
    for _ in range(10):
        assert thick.contains(edge + r * directions(len(edge), rng)).all()
    assert thick.contains(edge[:3000] + r * less.normal(20.0 * outwards)).all()


def test_bounds_are_tight(shape):
    low, high = shape.bounds
    assert np.allclose(high, support(shape, np.eye(3)), atol=1e-8)
    assert np.allclose(low, -support(shape, -np.eye(3)), atol=1e-8)


def test_more_detail_comes_nearer_to_a_curved_boundary(thick, rng):
    if not curved(thick):
        assert len(shape_surface(thick, 4).vertices) == len(shape_surface(thick, 2).vertices)
        return

    def sag(detail):
        surface = shape_surface(thick, detail)
        return -thick.distance(surface.vertices[surface.triangles].mean(axis=1)).min()

    if isinstance(thick, Ellipsoid):
        assert sag(4) < sag(3) / 3 < sag(2) / 9
    assert len(shape_surface(thick, 4).vertices) > 2 * len(shape_surface(thick, 2).vertices)


@pytest.mark.parametrize("name", [name for name in CONVEX if name != "product"])
@pytest.mark.parametrize(("kind", "dimensions"), list(zip(THIN, (0, 1, 2), strict=True)))
def test_thin_data_make_thin_shapes(name, kind, dimensions, rng):
    shape = SHAPES[name].fit(cloud(kind))
    assert spanned(shape.scatter(400, rng)) == dimensions
    assert shape.measure == 0.0
    assert SHAPES[name].fit(cloud(kind), margin=0.01).measure > 0.0


@pytest.mark.parametrize("beyond", 10.0 ** np.arange(-12.0, -1.0))
def test_planes_that_are_hardly_violated_are_met_too(beyond):
    """After the projection onto one plane the point is next to others, on their far side."""
    cube = KDop(np.eye(3), -np.ones(3), np.ones(3))
    once = cube.project(np.array([2.0, 1.0 + beyond, 1.0 + 0.7 * beyond]))
    assert cube.contains(once)
    np.testing.assert_allclose(once, 1.0, rtol=0.0, atol=TOLERANCE)


def test_at_the_boundary_nothing_lies_beyond_the_normal(shape, rng):
    rim = shape.project(6.0 * directions(400, rng))
    normal = shape.normal(rim)
    assert (support(shape, normal) - (normal * rim).sum(axis=1)).max() < 1e-7
