"""Distance fields: values, volume, and projections within half a cell's diagonal of the nearest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fields import EULER, FEW, field, members, nearest_distance, queries, value
from oracles import EXHAUSTIVE
from synovia import Limit, RotationVector, kernels
from synovia.kernels.rotation import LANES
from synovia.shapes import DistanceField
from synovia.shapes.mesh import shape_surface


@pytest.fixture(params=FEW)
def kind(request):
    return request.param


def test_members_are_where_phi_is_at_most_the_threshold(kind):
    shape = field(kind)
    points = queries(shape, 600 if EXHAUSTIVE else 300)
    phi = value(shape, points)
    clear = np.abs(phi - shape.threshold) > 1e-7  # slopes of 10 and more are among these
    sides = np.concatenate([points - shape.low, points - shape.nodes[-1, -1, -1]], axis=1)
    clear &= (np.abs(sides) > 1e-7).all(axis=1)
    np.testing.assert_array_equal((phi <= shape.threshold)[clear], shape.contains(points)[clear])
    finite = np.isfinite(phi)
    np.testing.assert_allclose(shape.value(points)[finite], phi[finite], atol=1e-12)


def test_projections_miss_the_nearest_member_by_half_a_diagonal_at_most(kind):
    shape = field(kind)
    points = queries(shape, 1500 if EXHAUSTIVE else 400)
    distance = shape.distance(points)
    outside = distance > 0.0
    excess = distance[outside] - nearest_distance(kind, points[outside])
    assert excess.max() <= shape.half_diagonal
    assert excess.mean() <= 0.15 * shape.half_diagonal


@pytest.mark.parametrize("rough", ["random", "random wrapped"])
def test_the_bound_of_half_a_diagonal_is_needed_and_kept(rough):
    """Of rough fields projections come near to the bound, so that a wider one would be seen."""
    shape = field(rough)
    half = 0.5 * np.linalg.norm(shape.spacing)
    assert shape.half_diagonal == pytest.approx(half)
    points = queries(shape, 6000)
    distance = shape.distance(points)
    outside = distance > 0.0
    excess = distance[outside] - nearest_distance(rough, points[outside])
    assert 0.5 * half < excess.max() <= half


def test_the_index_of_sites_accepts_nothing_beyond_the_bound(kind):
    shape, kernel = field(kind), kernels.distance_field
    points = queries(shape, 400)
    points = points[shape.distance(points) > 0.0][:LANES]
    local, periods = points - shape.low, np.array(shape.periods)
    local = np.where(periods > 0.0, np.mod(local, np.where(periods > 0.0, periods, 1.0)), local)
    packed, work = shape.packed, np.zeros(kernel.WORK)
    for axis in range(3):
        work[kernel.Q + axis * LANES :][: len(local)] = local[:, axis]
    kernel.find_sites(packed, 1, kernel.grid_of(packed, 1), work, len(local))
    proved = np.sqrt(np.maximum(work[kernel.BOUND :][: len(local)], 0.0))
    excess = proved + 0.5 * shape.half_diagonal - nearest_distance(kind, points)
    assert 0.25 * shape.half_diagonal < excess.max() <= shape.half_diagonal


# Of a coarse field in Euler angles much of the rim is a crease, where the box ends the region.
@pytest.mark.parametrize(
    "kind", [kind for kind in FEW if "random" not in kind and kind != "coarse euler"]
)
def test_points_at_the_boundary_are_next_to_it(kind):
    shape = field(kind)
    rng = np.random.default_rng(2)
    rim = shape_surface(shape).vertices
    offset = 1e-6 * rng.normal(size=rim.shape)
    distance = shape.distance(rim + offset)
    # A slope of a twentieth is as flat as a field may be here; at a crease none need exist.
    assert np.quantile(distance, 0.99) <= 20.0 * 1e-5


def test_growing_contains_the_field_and_moves_the_boundary():
    for kind in ("sparse", "dense", "line", "filled", "euler", "sculpted", "one"):
        shape = field(kind)
        for r in (0.0, 0.05, 0.3):
            grown = shape.grow(r)
            assert grown.contains(members(kind)).all()
            outside = queries(shape)
            outside = outside[np.abs(shape.distance(outside) - r) > 2.0 * shape.half_diagonal]
            if shape.wraps.any():
                outside = outside[(outside[:, 1] > 0.01) & (outside[:, 1] < 3.13)]
            expected = shape.distance(outside) <= r
            assert (grown.contains(outside) == expected).mean() > 0.995


def test_growing_far_takes_larger_cells():
    small = DistanceField.fit(np.zeros((1, 3)))
    grown = small.grow(2.5)
    assert max(grown.values.shape) <= 256
    directions = np.random.default_rng(0).normal(size=(500, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert grown.contains(2.5 * directions).all()
    assert not grown.contains(2.7 * directions).any()


def test_shrinking_stays_inside_and_never_empties(kind):
    shape = field(kind)
    for r in (0.0, 0.05, 10.0):
        smaller = shape.shrink(r)
        points = smaller.scatter(300, np.random.default_rng(6))
        assert shape.contains(points).all()
        assert smaller.contains(smaller.project(queries(shape, 300))).all()
    assert shape.shrink(10.0).measure == 0.0


@pytest.mark.parametrize(
    "options", [{"closing": 0.0}, {"threshold": 0.87, "closing": 1.5}, {"resolution": 12}]
)
def test_every_sample_is_a_member_whatever_the_options(options):
    rng = np.random.default_rng(7)
    for n in (2, 60, 3000):
        samples = rng.normal(size=(n, 3)) * [0.6, 0.2, 0.05]
        assert DistanceField.fit(samples, **options).contains(samples).all()


def test_the_source_steps_follow_the_slope():
    shape = DistanceField.fit(np.zeros((1, 3)), resolution=40, threshold=4.0)
    points = np.random.default_rng(0).normal(size=(200, 3)) * 0.02
    slope = shape.gradient(points)
    away = points / np.linalg.norm(points, axis=1, keepdims=True)
    far = np.linalg.norm(points, axis=1) > 0.03
    assert (np.einsum("ni,ni->n", slope, away)[far] > 0.9).all()
    np.testing.assert_allclose(shape.step(points), points - shape.value(points)[:, None] * slope)


def test_across_the_seam_nothing_changes():
    shape = field("seam")
    points = queries(shape)
    turned = points + np.array([1.0, 0.0, -1.0]) * shape.periods
    np.testing.assert_allclose(shape.distance(points), shape.distance(turned), atol=1e-6)
    np.testing.assert_allclose(shape.measure, field("euler").measure, rtol=0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spacing": [0.1, 0.0, 0.1]}, "spacing must be at least 0.0001 radians"),
        ({"spacing": [0.1, 1e-8, 0.1]}, "spacing must be at least"),  # tables of many gigabytes
        ({"values": np.zeros((1, 3, 3))}, "2 to 256 nodes"),
        ({"values": np.zeros((3, 3))}, r"shape \(i, j, k\)"),
        ({"values": np.full((3, 3, 3), np.nan)}, "must be finite"),
        ({"threshold": -1.0}, "or the region is empty"),
        ({"threshold": np.nan}, "must be finite"),
        ({"wraps": [0.5, 0.0, 0.0]}, "0 or 1"),
        ({"low": [0.0, 0.0]}, r"shape \(3\)"),
    ],
)
def test_what_makes_no_field_is_refused(change, message):
    shape = DistanceField([0, 0, 0], [0.1, 0.1, 0.1], np.zeros((3, 3, 3)), 0.0)
    with pytest.raises(ValueError, match=message):
        replace(shape, **change)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0.5}, "√3/2 cells"),
        ({"closing": -1.0}, "closing must be"),
        ({"closing": 3.0}, "closing must be"),
        ({"resolution": 7}, "resolution must be from 8"),
        ({"resolution": 8, "threshold": 1.6}, "resolution must be at least 10 nodes"),
        ({"margin": -0.1}, "margin must be"),
        ({"periods": (1.0, 0.0)}, "periods must be"),
    ],
)
def test_what_makes_no_fit_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        DistanceField.fit(np.zeros((2, 3)), **options)
    with pytest.raises(ValueError, match="at least one point"):
        DistanceField.fit(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="from 0 to π"):
        DistanceField.fit(np.array([[0.0, 3.5, 0.0]]), periods=EULER)


@pytest.mark.parametrize("cell", [1e-4, 0.01, 0.1, 0.2])
def test_a_packed_field_of_32_nodes_a_side_takes_at_most_600_kilobytes(cell):
    low, spacing = np.full(3, -15.5 * cell), np.full(3, cell)
    nodes = low + cell * np.stack(np.meshgrid(*[np.arange(32)] * 3, indexing="ij"), axis=-1)
    ball = DistanceField(low, spacing, np.linalg.norm(nodes, axis=-1), 12.0 * cell)
    assert Limit(RotationVector(), ball).packed.nbytes <= 600_000


def test_values_are_rounded_down_to_single_precision(rng):
    values = rng.normal(size=(3, 4, 5)) * 10.0 ** rng.integers(-30, 30, size=(3, 4, 5))
    values[0, 0, 0], values[0, 0, 1] = 1e300, -1e300
    shape = DistanceField(np.zeros(3), np.ones(3), values, float(np.sort(values.ravel())[1]))
    kept = shape.values
    assert (kept == kept.astype(np.float32)).all()
    usual = np.abs(values) < 1e38
    assert (kept[usual] <= values[usual]).all()
    np.testing.assert_allclose(kept[usual], values[usual], rtol=2e-7)
    np.testing.assert_array_equal(replace(shape).values, kept)
