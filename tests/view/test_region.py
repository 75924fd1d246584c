"""The picture is the decision: what is drawn as the boundary is where `contains` changes."""

from __future__ import annotations

import numpy as np
import pytest

from cones import CONES
from synovia import SHAPES, DirectionTwist, Limit, Union, quat
from synovia.limit import mirror_limit
from synovia.shapes import Directional
from synovia.view.mesh import edges_of
from synovia.view.region import boundary, sheet

REFERENCE = quat.exp(np.array([0.3, -0.2, 0.5]))
AXIS = np.array([0.0, 0.6, 0.8])
STEP = np.radians(0.1)
SAMPLES = 1500
FAMILIES = [
    (name, chart)
    for name, shape in SHAPES.items()
    if name not in ("union", "theta-phi")
    for chart in shape.charts
]


def fitted(family, chart):
    """A limit of the family around rotations that spread by 29, 17 and 11 degrees."""
    spread = np.random.default_rng(0).normal(size=(400, 3)) * [0.5, 0.3, 0.2]
    rotations = quat.mul(REFERENCE, quat.exp(spread))
    axis = AXIS if chart in ("swing-twist", "direction-twist") else None
    return Limit.fit(rotations, family, chart, axis=axis)


def table():
    """A table whose cells, without a margin, are what is drawn."""
    spread = np.random.default_rng(0).normal(size=(400, 3)) * [0.5, 0.3, 0.2]
    rotations = quat.mul(REFERENCE, quat.exp(spread))
    return Limit.fit(rotations, "theta-phi", axis=AXIS, margin=0.0)


def union():
    return Limit(DirectionTwist(REFERENCE, AXIS), Union((CONES["three"](), CONES["convex"]())))


def mirrored():
    """A table of the other side, whose frame is left-handed."""
    return mirror_limit(table(), np.array([0.3, 0.9, 0.1]))


LIMITS = {f"{family} in {chart}": (fitted, family, chart) for family, chart in FAMILIES}
LIMITS |= {"theta-phi in direction-twist": (table,), "union in direction-twist": (union,)}
LIMITS |= {"theta-phi of the other side": (mirrored,)}


@pytest.fixture(scope="module", params=LIMITS)
def limit(request):
    make, *given = LIMITS[request.param]
    return make(*given)


@pytest.fixture(scope="module")
def mesh(limit):
    return boundary(limit)


def sampled(mesh, rng):
    """Points on the drawn triangles, uniform by area, and the outward normals there."""
    corners = mesh.vertices[mesh.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normals, axis=1)
    which = rng.choice(len(corners), SAMPLES, p=area / area.sum())
    points = np.einsum("nk,nkd->nd", rng.dirichlet(np.ones(3), SAMPLES), corners[which])
    return points, normals[which] / area[which, None]


def test_a_tenth_of_a_degree_inside_is_legal_and_outside_is_not(limit, mesh, rng):
    points, normals = sampled(mesh, rng)

    def legal(vectors):
        return limit.contains(quat.mul(limit.chart.reference, quat.exp(vectors)))

    # A step out of one face may be a step into a neighbour's part, and one in may come out
    # again where the region is thin: such places are few.
    assert legal(points - STEP * normals).mean() > 0.985
    assert (~legal(points + STEP * normals)).mean() > 0.985


def test_no_sample_of_the_clip_can_look_outside(limit, mesh, rng):
    """What is legal is within what is drawn, by the solid angle that the triangles take up."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.triangles], 1, 0)
    legal = limit.sample(12, rng)
    vectors = quat.log(quat.mul(quat.inverse(limit.chart.reference), legal))
    for vector in vectors:
        u, v, w = a - vector, b - vector, c - vector
        lengths = [np.linalg.norm(each, axis=1) for each in (u, v, w)]
        volume = np.sum(u * np.cross(v, w), axis=1)
        below = (
            np.prod(lengths, axis=0)
            + np.sum(u * v, axis=1) * lengths[2]
            + np.sum(v * w, axis=1) * lengths[0]
            + np.sum(w * u, axis=1) * lengths[1]
        )
        winding = 2.0 * np.arctan2(volume, below).sum() / (4.0 * np.pi)
        assert winding > 0.5


def legal_direction(limit, directions, axis):
    """Whether a bone may point there with some twist, of very many that are tried."""
    if isinstance(limit.shape, Directional):
        return limit.shape.contains_direction(directions)
    twists = quat.exp(np.linspace(-np.pi, np.pi, 5760)[:, None] * axis)
    swings = quat.mul(limit.chart.reference, quat.between(axis, directions))
    return limit.contains(quat.mul(swings[:, None], twists)).any(axis=1)


def test_the_rim_on_the_sphere_parts_legal_directions_from_others(limit, rng):
    drawn = sheet(limit, AXIS)
    directions, rim = drawn.mesh.vertices, drawn.rim
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0, atol=1e-9)
    rim = rim[rng.permutation(len(rim))[:60]]
    start, end = directions[rim[:, 0]], directions[rim[:, 1]]
    middle = 0.5 * (start + end)
    outward = np.cross(end - start, middle)  # triangles are counter-clockwise from outside
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)

    def moved(angle):
        away = middle + angle * outward
        return away / np.linalg.norm(away, axis=1, keepdims=True)

    assert legal_direction(limit, moved(-STEP), drawn.axis).mean() > 0.9
    assert (~legal_direction(limit, moved(STEP), drawn.axis)).mean() > 0.9


def test_twist_widths_are_what_the_shape_says():
    limit = fitted("reach-cone", "direction-twist")
    drawn = sheet(limit, AXIS)
    low, high = np.moveaxis(limit.shape.twist_range(drawn.mesh.vertices), -1, 0)
    np.testing.assert_allclose(drawn.widths, high - low)


def test_twist_widths_of_other_families_end_where_contains_does():
    limit = fitted("ellipsoid", "rotation-vector")
    drawn = sheet(limit, AXIS)
    some = np.random.default_rng(1).permutation(len(drawn.widths))[:40]
    twists = np.linspace(0.0, 2.0 * np.pi, 7200, endpoint=False)
    swings = quat.between(AXIS, drawn.mesh.vertices[some])
    tried = quat.mul(swings[:, None], quat.exp(twists[:, None] * AXIS))
    shares = limit.contains(quat.mul(limit.chart.reference, tried)).mean(axis=1)
    np.testing.assert_allclose(drawn.widths[some], 2.0 * np.pi * shares, atol=np.radians(1.5))


def test_a_thin_limit_has_a_picture():
    still = Limit.fit(np.tile(REFERENCE, (3, 1)), "box", "swing-twist", margin=0.0)
    assert np.isfinite(boundary(still).vertices).all()
    assert np.isfinite(sheet(still, AXIS).mesh.vertices).all()


def test_nothing_gapes_after_halving(limit, mesh):
    if isinstance(limit.shape, Directional):
        return  # walls and sheets have rims of their own
    number = edges_of(mesh.triangles)[1].ravel()
    assert (np.bincount(number) == 2).mean() > 0.999
