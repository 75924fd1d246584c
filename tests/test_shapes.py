"""Properties of single shapes; those of all shapes are in test_contract*."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from oracles import cloud, curved, queries, random_frame
from synovia.export.hinged import half_spaces
from synovia.shapes import SHAPES, Box, Ellipsoid, KDop, Product
from synovia.shapes.extent import Extent
from synovia.shapes.mesh import shape_boundary
from synovia.shapes.polytope import chebyshev_center

EYE = np.eye(3)
SKEWED = np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def test_the_registry_knows_every_shape_by_its_own_name():
    assert all(name == kind.name for name, kind in SHAPES.items())
    assert set(SHAPES) >= {"box", "ellipsoid", "kdop", "product"}


# Polytopes.


@pytest.mark.parametrize("seed", range(6))
def test_the_hull_of_a_polytope_is_that_of_its_corners(seed):
    from scipy.spatial import ConvexHull

    rng = np.random.default_rng(seed)
    points = rng.normal(size=(40, 3)) * np.exp(rng.uniform(-3.0, 0.5, 3))
    axes = None if seed % 3 else rng.normal(size=(5 + seed, 3))
    shape = KDop.fit(points.round(1) if seed % 2 else points, axes=axes)
    hull = ConvexHull(shape.corners)
    boundary = shape_boundary(shape)
    assert shape.measure == pytest.approx(hull.volume, rel=0.02)
    assert len(boundary.triangles) == len(hull.simplices)
    a, b, c = np.moveaxis(boundary.points[boundary.triangles] - shape.corners.mean(axis=0), 1, 0)
    outward = np.einsum("ti,ti->t", a, np.cross(b, c))
    assert outward.min() > 0.0
    assert outward.sum() / 6.0 == pytest.approx(hull.volume, rel=1e-9)


def test_a_flat_polytope_has_two_sides_and_no_volume():
    sheet = Box([0.0, 0.0, 0.3], [2.0, 1.0, 0.3], EYE)
    assert sheet.measure == 0.0
    assert len(shape_boundary(sheet).triangles) == 4
    assert np.ptp(sheet.scatter(500, np.random.default_rng(0)), axis=0) == pytest.approx(
        [2.0, 1.0, 0.0], abs=0.05
    )


# Box.


def test_a_box_clamps_each_coordinate():
    box = Box([-1.0, -2.0, 0.0], [1.0, 2.0, 0.5], EYE)
    assert box.project([3.0, -5.0, 0.2]).tolist() == [1.0, -2.0, 0.2]
    assert box.distance([4.0, 6.0, 0.2]) == pytest.approx(5.0)
    assert box.distance([0.0, 0.0, 0.1]) == pytest.approx(-0.1)
    assert box.measure == pytest.approx(4.0)


def test_a_box_follows_the_data_or_the_chart():
    tilted = cloud("tilted")
    assert np.array_equal(Box.fit(tilted, along="chart").axes, EYE)
    assert Box.fit(tilted).measure < Box.fit(tilted, along="chart").measure
    with pytest.raises(ValueError, match="along must be 'data' or 'chart', got 'up'"):
        Box.fit(tilted, along="up")


def test_principal_axes_are_right_handed_and_sorted():
    shape = Box.fit(cloud("elongated"))
    assert np.linalg.det(shape.axes) == pytest.approx(1.0)
    assert (np.diff(shape.high - shape.low) < 0.0).all()


@pytest.mark.parametrize("kind", [Box, KDop])
def test_low_must_not_exceed_high(kind):
    with pytest.raises(ValueError, match=f"{kind.__name__}.low must not exceed"):
        kind(axes=EYE, low=[0.0, 0.0, 1.0], high=[1.0, 1.0, 0.0])


@pytest.mark.parametrize("axes", [2.0 * EYE, SKEWED, np.zeros((3, 3))])
def test_axes_of_boxes_and_ellipsoids_must_be_orthonormal(axes):
    with pytest.raises(ValueError, match=r"Box.axes must be orthonormal"):
        Box(np.zeros(3), np.ones(3), axes)
    with pytest.raises(ValueError, match=r"Ellipsoid.axes must be orthonormal"):
        Ellipsoid(np.zeros(3), np.ones(3), axes)


def test_fields_must_have_the_right_shape_and_be_finite():
    with pytest.raises(ValueError, match=r"Box.high must have shape \(3\), got \(2,\)"):
        Box(np.zeros(3), np.ones(2), EYE)
    with pytest.raises(ValueError, match=r"Box.low must have 2 or 3 numbers, got 4"):
        Box(np.zeros(4), np.ones(4), np.eye(4))
    with pytest.raises(ValueError, match=r"Box.axes must have shape \(3, 3\)"):
        Box(np.zeros(3), np.ones(3), np.eye(2))
    with pytest.raises(ValueError, match=r"Box.low must be finite"):
        Box([0.0, np.nan, 0.0], np.ones(3), EYE)
    with pytest.raises(ValueError, match=r"Ellipsoid.radii must be finite"):
        Ellipsoid(np.zeros(3), [1.0, np.inf, 1.0], EYE)
    with pytest.raises(ValueError, match=r"Ellipsoid.center must have 2 or 3 numbers"):
        Ellipsoid(np.zeros(1), np.ones(1), np.eye(1))
    with pytest.raises(ValueError, match=r"Box.low must be numbers"):
        Box(["a", "b", "c"], np.ones(3), EYE)


# Ellipsoid.


def test_a_round_ellipsoid_is_a_ball(rng):
    ball = Ellipsoid(np.ones(3), np.full(3, 0.5), random_frame(rng))
    points = 3.0 * rng.normal(size=(500, 3))
    length = np.linalg.norm(points - 1.0, axis=1)
    assert np.allclose(ball.distance(points), length - 0.5, atol=1e-12)
    assert ball.distance(np.ones(3)) == -0.5


def test_radii_must_not_be_negative():
    with pytest.raises(ValueError, match=r"Ellipsoid.radii must be at least 0"):
        Ellipsoid(np.zeros(3), [1.0, -0.1, 1.0], EYE)


def test_a_flat_ellipsoid_presses_points_flat(rng):
    disc = Ellipsoid(np.zeros(3), [1.0, 1.0, 0.0], EYE)
    assert disc.project([0.3, 0.4, 2.0]) == pytest.approx([0.3, 0.4, 0.0], abs=1e-15)
    assert disc.project([3.0, 4.0, 2.0]) == pytest.approx([0.6, 0.8, 0.0], abs=1e-14)
    assert abs(disc.normal([0.3, 0.4, 0.0])[2]) == pytest.approx(1.0)


# KDop.


def test_a_kdop_has_26_faces_or_as_many_as_axes_are_given():
    assert KDop.fit(cloud("round")).axes.shape == (13, 3)
    assert KDop.fit(cloud("round")[:, :2]).axes.shape == (8, 2)
    assert KDop.fit(cloud("round"), axes=2.0 * EYE).axes.shape == (3, 3)


def test_redundant_axes_and_their_order_make_no_difference(rng):
    points, order = 2.0 * rng.normal(size=(2000, 3)), rng.permutation(13)
    shape, box = KDop.fit(cloud("tilted")), KDop.fit(cloud("tilted"), axes=EYE)
    fields = (shape.axes, shape.low, shape.high)
    far = np.concatenate([box.axes, [[0.6, 0.8, 0.0]]])
    same = [
        (shape, KDop(*(field[order] for field in fields))),
        (shape, KDop(*(np.concatenate([field, field]) for field in fields))),
        (box, KDop(far, np.append(box.low, -50.0), np.append(box.high, 50.0))),
        (box, Box.fit(cloud("tilted"))),
    ]
    for one, other in same:
        assert np.allclose(other.project(points), one.project(points), atol=1e-9)
        assert other.measure == pytest.approx(one.measure, rel=0.02)


def test_an_empty_kdop_is_refused():
    axes = np.concatenate([EYE, [[0.6, 0.8, 0.0]]])
    with pytest.raises(ValueError, match="KDop is empty"):
        KDop(axes, [-1.0, -1.0, -1.0, 5.0], [1.0, 1.0, 1.0, 6.0])
    with pytest.raises(ValueError, match="KDop is empty"):
        KDop(axes, [-1.0, -1.0, -1.0, 1.4 + 1e-6], [1.0, 1.0, 1.0, 6.0])
    touching = KDop(axes, [-1.0, -1.0, -1.0, 1.4], [1.0, 1.0, 1.0, 6.0])
    assert touching.project(np.zeros(3)) == pytest.approx([1.0, 1.0, 0.0], abs=1e-9)


def test_axes_of_a_kdop_must_span_and_be_unit():
    with pytest.raises(ValueError, match=r"KDop.axes must span 3 dimensions"):
        KDop(EYE[:2], np.zeros(2), np.ones(2))
    with pytest.raises(ValueError, match=r"KDop.axes must span 3 dimensions"):
        KDop.fit(cloud("round"), axes=[[1, 0, 0], [0, 1, 0], [1, 1, 0]])
    with pytest.raises(ValueError, match=r"KDop.axes must be unit rows"):
        KDop(2.0 * EYE, np.zeros(3), np.ones(3))
    with pytest.raises(ValueError, match=r"axes must be .* rows that are not zero"):
        KDop.fit(cloud("round"), axes=[[1, 0, 0], [0, 1, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match=r"axes must have shape \(..., 3\)"):
        KDop.fit(cloud("round"), axes=np.eye(2))
    with pytest.raises(ValueError, match=r"KDop.axes must have shape"):
        KDop(np.eye(4), np.zeros(4), np.ones(4))
    with pytest.raises(ValueError, match=r"KDop.low must have shape \(3\)"):
        KDop(EYE, np.zeros(2), np.ones(3))


# Product.


def test_a_product_clamps_swing_and_twist_apart(rng):
    shape = Product(Ellipsoid(np.zeros(2), [0.5, 0.5], np.eye(2)), -0.2, 0.3)
    projected = shape.project([3.0, 4.0, 9.0])
    assert projected == pytest.approx([0.3, 0.4, 0.3])
    assert shape.distance([3.0, 4.0, 9.0]) == pytest.approx(np.hypot(4.5, 8.7))
    assert shape.distance([0.0, 0.0, 0.2]) == pytest.approx(-0.1)
    assert shape.measure == pytest.approx(np.pi * 0.25 * 0.5)


def test_a_product_is_for_swing_and_twist_alone():
    assert Product.charts == ("swing-twist",)
    with pytest.raises(ValueError, match="swing must be one of box, ellipsoid, kdop, got 'cone'"):
        Product.fit(cloud("round"), swing="cone")
    with pytest.raises(ValueError, match=r"Product.swing must be a shape of the plane"):
        Product(Box.fit(cloud("round")), 0.0, 1.0)
    with pytest.raises(ValueError, match=r"Product.low must not exceed Product.high"):
        Product(Box.fit(cloud("round")[:, :2]), 1.0, 0.0)
    with pytest.raises(ValueError, match=r"Product.low"):
        Product(Box.fit(cloud("round")[:, :2]), 0.0, np.inf)
    with pytest.raises(ValueError, match=r"points to fit must have shape \(n, 3\)"):
        Product.fit(cloud("round")[:, :2])


# Shapes of the plane.


@pytest.mark.parametrize("name", ["box", "ellipsoid", "kdop"])
@pytest.mark.parametrize("kind", ["round", "tilted", "one", "line"])
def test_shapes_of_the_plane_keep_the_contract(name, kind, rng):
    samples = cloud(kind)[:, :2]
    shape = SHAPES[name].fit(samples)
    points = 2.0 * rng.normal(size=(400, 2))
    projected = shape.project(points)
    assert shape.dimension == 2
    assert projected.shape == (400, 2)
    assert shape.contains(samples).all()
    assert shape.contains(projected).all()
    assert np.array_equal(shape.project(projected), projected)
    move = np.linalg.norm(points - projected, axis=1)
    assert np.allclose(np.maximum(shape.distance(points), 0.0), move, atol=1e-9)
    members = shape.scatter(300, rng)
    assert members.shape == (300, 2)
    assert shape.contains(members).all()
    nearest = np.linalg.norm(points[:, None] - members, axis=-1).min(axis=1)
    assert (nearest >= shape.distance(points) - 1e-9).all()
    assert (members >= shape.bounds[0] - 1e-9).all()
    assert (members <= shape.bounds[1] + 1e-9).all()
    low, high = shape.grow(0.2).bounds
    inside = shape.grow(0.2).contains(rng.uniform(low, high, size=(20_000, 2))).mean()
    assert shape.grow(0.2).measure == pytest.approx(inside * np.prod(high - low), rel=0.05)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-9, 1e-7, 1e-5])
def test_the_noise_of_a_hinge_does_not_lengthen_its_ellipsoid(noise):
    rng = np.random.default_rng(0)
    points = noise * rng.normal(size=(500, 3))
    points[:, 0] += np.linspace(-1.0, 1.0, 500)
    fitted = Ellipsoid.fit(points)
    assert fitted.contains(points).all()
    assert 1.0 - 1e-9 <= fitted.radii.max() <= 1.01
    assert fitted.radii.min() <= 1e-2


def test_a_kdop_of_many_axes_is_exact_and_one_of_too_many_is_refused():
    rng = np.random.default_rng(0)
    axes = rng.normal(size=(64, 3))
    points = rng.normal(size=(200, 3))
    fitted = KDop.fit(points, axes=axes)
    assert fitted.contains(points).all()
    assert np.abs(fitted.distance(fitted.corners)).max() <= 1e-9
    with pytest.raises(ValueError, match="at most 64, got 65"):
        KDop.fit(points, axes=rng.normal(size=(65, 3)))


def test_half_spaces_are_the_shape(thick, rng):
    planes = half_spaces(thick)
    if planes is None:
        assert curved(thick)
        return
    points = queries(thick, n=300)
    along = points @ planes.axes.T
    inside = ((along >= planes.low - 1e-9) & (along <= planes.high + 1e-9)).all(axis=-1)
    clear = np.abs(thick.distance(points)) > 1e-8
    np.testing.assert_array_equal(inside[clear], thick.contains(points)[clear])


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("count", [3, 13, 40])
def test_the_deepest_point_of_a_polytope_is_the_centre_of_its_largest_ball(dimension, count, rng):
    for _ in range(5):
        points = rng.normal(size=(30, dimension)) * rng.uniform(0.01, 1.0, dimension)
        kdop = KDop.fit(points + 1.0, axes=rng.normal(size=(count, dimension)))
        planes = np.column_stack([np.concatenate([kdop.axes, -kdop.axes]), np.ones(2 * count)])
        offsets = np.concatenate([kdop.high, -kdop.low])
        found = linprog([*[0.0] * dimension, -1.0], planes, offsets, bounds=(None, None))
        assert kdop.distance(kdop.deepest) == pytest.approx(found.fun, abs=1e-9)


@pytest.mark.parametrize("apart", [1e-3, 1e-4, 1e-5])
def test_the_deepest_point_between_nearly_parallel_planes(apart, rng):
    for _ in range(40):
        axes = rng.normal(size=3) + apart * rng.normal(size=(3, 3))
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
        half, middle = rng.uniform(0.1, 1.0, 3), axes @ rng.normal(size=3)
        center = chebyshev_center(axes, middle - half, middle + half)
        radius = (half - np.abs(axes @ center - middle)).min()
        assert radius == pytest.approx(half.min(), abs=1e-8)


def test_a_cube_is_as_deep_as_half_its_side():
    for cube in (
        Box([-0.5] * 3, [0.5] * 3, EYE),
        Product(Box([-0.5] * 2, [0.5] * 2, EYE[:2, :2]), -0.5, 0.5),
    ):
        assert cube.distance(cube.deepest) == -0.5
        assert Extent(cube).region.distance(Extent(cube).deepest) == pytest.approx(-0.5, abs=1e-3)
