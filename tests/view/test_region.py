"""The picture is the decision: what is drawn as the boundary is where `contains` changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cones import CONES
from oracles import EXHAUSTIVE, triangle_distance
from synovia import (
    SHAPES,
    Box,
    DirectionTwist,
    Limit,
    ReachCone,
    RotationVector,
    SwingTwist,
    Union,
    quat,
)
from synovia.arrays import unit_vectors
from synovia.limit import mirror_limit
from synovia.mesh import DRAFT, FINE, boundary, sheet, sheet_and_boundary
from synovia.shapes import Directional
from synovia.shapes.triangles import edges_of

REFERENCE = quat.exp(np.array([0.3, -0.2, 0.5]))
AXIS = np.array([0.0, 0.6, 0.8])
STEP = np.radians(0.1)
SAMPLES, ON_RIM = 1500 if EXHAUSTIVE else 600, 300
OBLIQUE = 0.25
FAMILIES = [
    (name, chart) for name, shape in SHAPES.items() if name != "union" for chart in shape.charts
]
if not EXHAUSTIVE:  # each shape in a chart, and each chart with a box, a field or more
    FAMILIES = [each for each in FAMILIES if each[0] == "box" or each[1] != "rotation-vector"]
CONE_NAMES = ("three", "concave", "long edge", "beyond a hemisphere", "past π", "free")


def fitted(family, chart, **options):
    """A limit of the family around rotations that spread by 29, 17 and 11 degrees."""
    spread = np.random.default_rng(0).normal(size=(400, 3)) * [0.5, 0.3, 0.2]
    axis = AXIS if chart in ("swing-twist", "direction-twist") else None
    rotations = quat.mul(REFERENCE, quat.exp(spread))
    return Limit.fit(rotations, family, chart, axis=axis, **options)


def table(margin):
    return fitted("theta-phi", "direction-twist", margin=margin)


def of_directions(shape):
    return Limit(DirectionTwist(REFERENCE, AXIS), shape)


def cone(name):
    """A cone about the bone's axis, as one has them; those that are not reach its opposite."""
    shape = CONES[name]()
    return Limit(DirectionTwist(REFERENCE, shape.visible), shape)


def union():
    return of_directions(Union((CONES["three"](), CONES["convex"]())))


def far_box():
    """A box that begins before half a turn and ends beyond it."""
    return Limit(RotationVector(REFERENCE), Box([2.2, -0.4, -0.6], [3.8, 0.5, 0.4], np.eye(3)))


def long_box():
    """A box that reaches round to where it is already."""
    return Limit(SwingTwist(REFERENCE, AXIS), Box([-0.5, -0.4, -3.4], [0.6, 0.5, 3.3], np.eye(3)))


def mirrored():
    """A table of the other side, whose frame is left-handed."""
    return mirror_limit(table(0.05), np.array([0.3, 0.9, 0.1]))


LIMITS = {f"{family} in {chart}": (fitted, family, chart) for family, chart in FAMILIES}
LIMITS |= {f"cone, {name}": (cone, name) for name in CONE_NAMES}
LIMITS |= {
    "table without margin": (table, 0.0),
    "table with a wide margin": (table, 0.2),
    "union": (union,),
    "box beyond half a turn": (far_box,),
    "box all around": (long_box,),
}
LIMITS |= {"table of the other side": (mirrored,)}


@pytest.fixture(scope="module", params=LIMITS)
def limit(request):
    make, *given = LIMITS[request.param]
    return make(*given)


@pytest.fixture(scope="module")
def drawn(limit):
    return sheet_and_boundary(limit, AXIS)


def sampled(mesh, rng):
    """Points on the drawn triangles, uniform by area, and the outward normals there."""
    corners = mesh.vertices[mesh.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normals, axis=1)
    which = rng.choice(len(corners), SAMPLES, p=area / area.sum())
    points = np.einsum("nk,nkd->nd", rng.dirichlet(np.ones(3), SAMPLES), corners[which])
    return points, normals[which] / area[which, None]


def at_an_edge(points, normals, mesh):
    """Which points have, within 0.2 degrees, a drawn triangle at less than some 105 degrees.

    There the region, or what is outside, is thinner than that: a wedge, or two sides in one place.
    """
    corners = mesh.vertices[mesh.triangles]
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(faces, axis=1)
    low, high = corners.min(axis=1) - 2.0 * STEP, corners.max(axis=1) + 2.0 * STEP
    found = np.zeros(len(points), dtype=bool)
    for number, (point, normal) in enumerate(zip(points, normals, strict=True)):
        near = ((point >= low) & (point <= high)).all(axis=1) & (faces @ normal < OBLIQUE * size)
        away = triangle_distance(np.tile(point, (near.sum(), 1)), corners[near])
        found[number] = away.min(initial=1.0) < 2.0 * STEP
    return found


def not_drawn(limit):
    """The share of points that may be off: steps of twists around a grown table are not drawn.

    At margins of 0.05 and 0.2 radians, 1 and 13 % of the points were.
    """
    return 0.8 * limit.margin if limit.shape.name == "theta-phi" else 0.0


def test_a_tenth_of_a_degree_inside_is_legal_and_outside_is_not(limit, drawn, rng):
    """Points on the triangles, moved 0.1 degrees in and out, are inside and outside: all of them.

    Two things excuse a point that ends on the wrong side. Either it has met the right one on its
    way: then the boundary is where it is drawn, and what it met is thinner than 0.1 degrees. Or it
    is within 0.2 degrees of an edge sharper than 105 degrees, where a step across one side may
    leave by the other. No more than a twentieth of all points end on the wrong side.
    """
    points, normals = sampled(drawn[1], rng)
    for sign in (-1.0, 1.0):
        way = points[:, None] + sign * STEP * np.linspace(0.0, 1.0, 21)[:, None] * normals[:, None]
        rotations = quat.mul(limit.chart.reference, quat.exp(way))
        wrong = np.flatnonzero(limit.contains(rotations[:, -1]) != (sign < 0.0))
        assert len(wrong) < (0.05 + not_drawn(limit)) * SAMPLES
        tried = limit.distance(rotations[wrong])  # what is legal may be as thin as a sheet
        met = (tried < 0.05 * STEP if sign < 0.0 else tried > 1e-9).any(axis=1)
        lost = wrong[~met]
        off = ~at_an_edge(points[lost], normals[lost], drawn[1])
        assert off.sum() <= not_drawn(limit) * SAMPLES


def test_corners_of_triangles_are_on_the_boundary_at_sharp_edges_too(limit, drawn, rng):
    """A region begins within 0.005 degrees of each, and ends within 0.02 in some direction.

    So what excuses a point above, near an edge, is the step: it is across one side of the edge, and
    there is another. The triangles themselves end at the edge.
    """
    used = np.unique(drawn[1].triangles)
    corners = drawn[1].vertices[rng.choice(used, min(1000, len(used)), replace=False)]
    at = quat.mul(limit.chart.reference, quat.exp(corners))
    assert np.degrees(limit.distance(at)).max() < 0.005
    around = np.array([way for way in np.ndindex(3, 3, 3) if way != (1, 1, 1)]) - 1.0
    around *= np.radians(0.02) / np.linalg.norm(around, axis=1, keepdims=True)
    beside = quat.mul(limit.chart.reference, quat.exp(corners[:, None] + around))
    assert (~limit.contains(beside)).any(axis=1).all()


def test_no_legal_rotation_can_look_outside(limit, drawn, rng):
    """What is legal is within what is drawn, by the solid angle that the triangles take up."""
    if limit.region.bounds[1, -1] - limit.region.bounds[0, -1] > 2.0 * np.pi - 1e-6:
        return  # a twist all around has no ends: nothing is closed
    a, b, c = np.moveaxis(drawn[1].vertices[drawn[1].triangles], 1, 0)
    legal = quat.mul(quat.inverse(limit.chart.reference), limit.sample(6, rng))
    # A boundary that goes on beyond half a turn is drawn there.
    near = quat.log(legal)
    far = quat.log_unrolled(-quat.exp(near))
    for each in zip(near, far, strict=True):
        assert max(winding(a - place, b - place, c - place) for place in each) > 0.5


def winding(u, v, w):
    """How often triangles with these corners go round the origin."""
    lengths = [np.linalg.norm(each, axis=1) for each in (u, v, w)]
    volume = np.sum(u * np.cross(v, w), axis=1)
    below = (
        np.prod(lengths, axis=0)
        + np.sum(u * v, axis=1) * lengths[2]
        + np.sum(v * w, axis=1) * lengths[0]
        + np.sum(w * u, axis=1) * lengths[1]
    )
    return 2.0 * np.arctan2(volume, below).sum() / (4.0 * np.pi)


def legal_direction(limit, directions, axis):
    """Whether a bone may point there with some twist: searched ever more closely, where nearest."""
    if isinstance(limit.shape, Directional):
        return limit.region.contains_direction(directions)
    swings = quat.mul(limit.chart.reference, quat.between(axis, directions))[:, None, None]
    tried, reach = np.linspace(-np.pi, np.pi, 720, endpoint=False)[None, None], np.radians(0.75)
    for places in (6, 1, 1):
        distance = limit.distance(quat.mul(swings, quat.exp(tried[..., None] * axis)))
        valleys = (distance <= np.roll(distance, 1, axis=2)) & (
            distance <= np.roll(distance, -1, axis=2)
        )
        order = np.argsort(np.where(valleys, distance, np.inf), axis=2)[..., :places]
        best = np.take_along_axis(np.broadcast_to(tried, distance.shape), order, axis=2)
        tried = best.reshape(len(directions), -1, 1) + reach * np.linspace(-1.0, 1.0, 61)
        reach /= 20.0
    return distance.min(axis=(1, 2)) <= 1e-9


def test_the_rim_on_the_sphere_parts_legal_directions_from_others(limit, drawn, rng):
    """Points on the rim, moved 0.1 degrees in and out, are legal and not: all of them.

    Unless they have met the right side on their way, as above.
    """
    directions, rim = drawn[0].mesh.vertices, drawn[0].rim
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0, atol=1e-9)
    start, end = directions[rim[:, 0]], directions[rim[:, 1]]
    lengths = np.linalg.norm(end - start, axis=1)
    which = rng.choice(len(rim), ON_RIM, p=lengths / lengths.sum())
    start, end = start[which], end[which]
    points = start + rng.random((ON_RIM, 1)) * (end - start)
    outward = np.cross(end - start, start + end)  # triangles are counter-clockwise from outside
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)

    def legal(numbers, shares):
        moved = points[numbers, None] + shares[:, None] * STEP * outward[numbers, None]
        moved /= np.linalg.norm(moved, axis=-1, keepdims=True)
        found = legal_direction(limit, moved.reshape(-1, 3), drawn[0].axis)
        return found.reshape(moved.shape[:2])

    for sign in (-1.0, 1.0):
        ends = legal(np.arange(ON_RIM), np.array([sign]))[:, 0]
        wrong = np.flatnonzero(ends != (sign < 0.0))
        if len(wrong):  # at the tip of a wedge, what they meet is as thin as it gets
            on_the_way = legal(wrong, sign * np.geomspace(1e-4, 1.0, 21))
            off = ~(on_the_way == (sign < 0.0)).any(axis=1)
            assert off.sum() <= not_drawn(limit) * ON_RIM


def test_a_draft_has_few_triangles_with_corners_on_the_boundary(limit):
    sheet, mesh = sheet_and_boundary(limit, AXIS, DRAFT)
    assert 20 < len(mesh.triangles) < 5000
    corners = mesh.vertices[np.unique(mesh.triangles)]
    rotations = quat.mul(limit.chart.reference, quat.exp(corners))
    assert np.median(np.abs(limit.distance(rotations))) < 1e-6
    outside = limit.distance(rotations) > np.radians(0.1)
    assert outside.mean() < 0.01
    np.testing.assert_allclose(np.linalg.norm(sheet.mesh.vertices, axis=1), 1.0, atol=1e-9)
    assert len(sheet.rim) > 2


def test_twist_widths_are_what_the_shape_says():
    limit = fitted("reach-cone", "direction-twist")
    drawn = sheet(limit, AXIS)
    low, high = np.moveaxis(limit.region.twist_range(drawn.mesh.vertices), -1, 0)
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


def test_nothing_gapes_after_halving(limit, drawn):
    if isinstance(limit.shape, Directional) or limit.shape.reach((2,)) > np.pi:
        return  # walls and sheets have rims of their own, and so has what is cut off
    number = edges_of(drawn[1].triangles)[1].ravel()
    assert (np.bincount(number) == 2).mean() > 0.999


def test_a_draft_shows_narrow_twists_around_a_cone():
    outline = np.array([[0.5, 0.0, 1.0], [0.0, 0.5, 1.0], [-0.5, 0.0, 1.0], [0.0, -0.5, 1.0]])
    shape = ReachCone(unit_vectors(outline), *np.radians([7.0, 8.0]))
    limit = Limit(DirectionTwist(axis=np.array([0.0, 0.0, 1.0])), shape, margin=0.01)
    rough, fine = (sheet(limit, limit.chart.axis, each).mesh for each in (DRAFT, FINE))
    shares = [winding(*each.vertices[each.triangles].swapaxes(0, 1)) for each in (rough, fine)]
    assert shares[0] == pytest.approx(shares[1], rel=0.1)
    assert shares[1] > 0.03


@pytest.mark.parametrize("core", [cone("concave"), table(0.0)], ids=["cone", "table"])
def test_around_cones_and_tables_the_rim_is_to_half_a_degree(core, rng):
    limit = replace(core, margin=0.05)
    drawn = sheet(limit, core.chart.axis, FINE)
    start, end = drawn.mesh.vertices[drawn.rim[rng.choice(len(drawn.rim), 60)]].swapaxes(0, 1)
    middle, outward = unit_vectors(start + end), unit_vectors(np.cross(end - start, start))
    for side, legal in ((1.0, False), (-1.0, True)):
        beside = unit_vectors(middle + side * np.radians(0.5) * outward)
        assert (legal_direction(limit, beside, core.chart.axis) == legal).mean() >= 0.9
