"""Laws of every registered chart: round trips, covers, metric, frames, mirrors and kernels."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from families import LIMITS
from oracles import followed, placed, random_quats
from synovia import Limit, ReachCone, quat
from synovia.arrays import TURN
from synovia.charts import (
    CHARTS,
    Chart,
    DirectionTwist,
    EulerZYZ,
    RotationVector,
    SwingTwist,
    takes_axis,
)
from synovia.charts.chart import SIDEWAYS
from synovia.io.limits import FILES
from synovia.limit import mirror_rotations
from synovia.mesh.region import is_left_handed, rotation_vectors
from synovia.schema import decode, encode
from synovia.shapes.reach_cone.star import from_polar

FRAME = random_quats(1, np.random.default_rng(8))[0]
SINGULAR = 30.0  # stretch beyond which rounding errors grow as much
ASLANT = np.array([0.9, 0.3, -0.2])


@pytest.fixture(params=[f"{name}{frame}" for name in CHARTS for frame in ("", " in a frame")])
def chart(request):
    name, _, frame = request.param.partition(" ")
    plain = placed(name)
    return replace(plain, frame=FRAME) if frame else plain


@pytest.fixture
def regular(chart, rng):
    """Uniform rotations, except near singularities of the chart."""
    everywhere = random_quats(2000, rng)
    return everywhere[chart.stretch(chart.points(everywhere)) < SINGULAR]


def tangents(chart, points):
    """Return orthonormal moves (n, 3, d) that stay in the chart."""
    if chart.dimension == 3:
        return np.broadcast_to(np.eye(3), (len(points), 3, 3))
    _, _, basis = np.linalg.svd(points[:, None, :3])
    moves = np.zeros((len(points), 3, 4))
    moves[:, :2, :3], moves[:, 2, 3] = basis[:, 1:], 1.0
    return moves


def jacobian(chart, points, step=1e-5):
    """Return the rotation vectors (n, 3, 3) per unit of each of the `tangents`."""
    moves = step * tangents(chart, points)
    before, after = (chart.rotations(points[:, None] + sign * moves) for sign in (-1.0, 1.0))
    return quat.log(quat.mul(quat.inverse(before), after)) / (2.0 * step)


def test_rotations_come_back_from_their_points(chart, regular):
    points = chart.points(regular)
    back = chart.rotations(points)
    assert len(regular) > 1000
    assert points.shape == (len(regular), chart.dimension)
    assert quat.angle_between(back, regular).max() < 1e-11
    assert np.abs(np.linalg.norm(back, axis=1) - 1.0).max() < 1e-12
    assert np.abs(chart.points(back) - points).max() < 1e-9


def test_opposite_quaternions_have_the_same_point(chart, regular):
    assert np.abs(chart.points(-regular) - chart.points(regular)).max() < 1e-9


@pytest.mark.parametrize("batch", [(), (0,), (2, 3)])
def test_batch_shapes_are_kept(chart, batch):
    rotations = np.broadcast_to(quat.exp(np.array([0.1, 0.2, 0.3])), (*batch, 4))
    points = chart.points(rotations)
    assert points.shape == (*batch, chart.dimension)
    assert chart.rotations(points).shape == (*batch, 4)
    assert chart.density(points).shape == chart.stretch(points).shape == batch


def test_every_cover_is_the_same_rotation(chart, regular):
    points = chart.points(regular)
    covers = chart.shifts(points, 2)
    assert np.array_equal(covers[0], points)
    for cover in covers:
        assert quat.angle_between(chart.rotations(cover), regular).max() < 1e-9
    at_reference = np.stack(chart.shifts(chart.points(chart.reference)[None], 2))
    assert quat.angle_between(chart.rotations(at_reference), chart.reference).max() < 1e-11


def test_no_cover_is_missing(chart, rng):
    if len(chart.shifts(np.empty((0, chart.dimension)), 1)) == 1:
        return  # shapes in this chart treat coordinates as periodic
    points = rng.uniform(-4.0, 4.0, size=(300, 3))
    points = points[chart.stretch(points) < SINGULAR]
    covers = np.stack(chart.shifts(chart.points(chart.rotations(points)), 2))
    assert np.abs(covers - points).max(axis=-1).min(axis=0).max() < 1e-8


@pytest.mark.parametrize("step", [0.02, 0.3])
def test_paths_follow_the_nearest_cover_step_by_step(chart, rng, step):
    steps = quat.exp(step * rng.normal(size=(300, 3)) + [0.0, 0.0, 0.05])
    rotations = [chart.reference]
    for each in steps:
        rotations.append(quat.mul(rotations[-1], each))
    rotations = rng.choice([-1.0, 1.0], size=(301, 1)) * np.stack(rotations)
    path = chart.follow(chart.points(rotations))
    assert quat.angle_between(chart.rotations(path), rotations).max() < 1e-6
    assert np.abs(path - followed(chart, rotations)).max() < 1e-6
    assert chart.follow(np.empty((0, chart.dimension))).shape == (0, chart.dimension)


def test_density_is_that_of_the_uniform_measure(chart, regular):
    points = chart.points(regular[:300])
    expected = np.abs(np.linalg.det(jacobian(chart, points))) / (8.0 * np.pi**2)
    density = chart.density(points)
    np.testing.assert_allclose(density, expected, rtol=1e-5)
    assert density.max() <= chart.max_density * (1.0 + 1e-9)
    assert density.max() > 0.5 * chart.max_density


def test_no_path_is_stretched_more_than_stretch_says(chart, regular):
    points = chart.points(regular[:300])
    steepest = 1.0 / np.linalg.svd(jacobian(chart, points), compute_uv=False)[:, -1]
    stretch = chart.stretch(points)
    assert (steepest <= stretch * (1.0 + 1e-4)).all()
    assert (stretch <= 2.0 * steepest).all()


def test_a_frame_rotates_the_axes(chart, regular):
    plain = replace(chart, reference=quat.IDENTITY, frame=quat.IDENTITY)
    local = quat.mul(quat.inverse(chart.reference), regular)
    local = quat.mul(quat.mul(quat.inverse(chart.frame), local), chart.frame)
    assert np.abs(chart.points(regular) - plain.points(local)).max() < 1e-9
    vectors = np.random.default_rng(1).normal(size=(20, 3))
    np.testing.assert_allclose(
        chart.in_joint(vectors), quat.rotate(chart.frame, vectors), atol=1e-12
    )
    np.testing.assert_allclose(chart.in_chart(chart.in_joint(vectors)), vectors, atol=1e-12)


def test_the_bone_is_in_the_joints_frame(chart):
    if not takes_axis(type(chart)):
        assert chart.bone is None
        return
    np.testing.assert_allclose(chart.bone, chart.in_joint(chart.axis), atol=1e-15)
    twist = quat.mul(chart.reference, quat.exp(0.3 * chart.bone))
    assert chart.points(twist)[-1] == pytest.approx(0.3, abs=1e-12)
    with pytest.raises(ValueError, match="axis must not be zero"):
        replace(chart, axis=np.zeros(3))


@pytest.mark.parametrize("normal", [np.eye(3)[0], ASLANT], ids=["x", "aslant"])
def test_a_mirror_maps_points_linearly(chart, regular, normal):
    points, images = chart.points(regular), mirror_rotations(regular, normal)
    reflections = chart.mirror(normal)
    assert reflections
    for there, turn, about, across in reflections:
        mapped = (points - about) @ turn.T + about
        assert quat.angle_between(there.rotations(mapped), images).max() < 1e-9
        assert np.abs(turn @ turn.T - np.eye(chart.dimension)).max() < 1e-9
        assert np.linalg.norm(across) == pytest.approx(1.0)


def test_kernels_agree_with_numpy(chart, rng):
    if chart.kernel is None:
        return
    limit = next(made() for (_, name), made in LIMITS.items() if name == chart.name)
    limit = Limit(replace(chart, reference=limit.chart.reference), limit.shape)
    special = np.concatenate([np.eye(4), -np.eye(4), [[0.0, 0.6, 0.8, 0.0], [0.6, 0.0, 0.0, 0.8]]])
    special = quat.mul(limit.chart.reference, special)
    rotations = np.concatenate([random_quats(300, rng), special])
    distance = limit.nearest(rotations)[1]
    clear = limit.chart.stretch(limit.chart.points(rotations)) < SINGULAR
    projected = limit.project(rotations)
    assert np.isfinite(limit.distance(rotations)).all()
    np.testing.assert_allclose(limit.distance(rotations)[clear], distance[clear], atol=1e-9)
    assert limit.contains(projected).all()
    moved = limit._project_by_covers(rotations)
    apart = quat.angle_between(projected, moved)[clear]
    assert np.quantile(apart, 0.97) < 1e-9  # where two members are equally near, either is right
    single = limit.distance(rotations.astype(np.float32))
    assert single.dtype == np.float32
    assert np.abs(single - distance)[clear].max() < 1e-4


def test_pictures_show_the_rotation_in_the_joints_frame(chart, regular):
    vectors = rotation_vectors(chart, chart.points(regular))
    shown = quat.mul(chart.reference, quat.exp(vectors))
    assert quat.angle_between(shown, regular).max() < 1e-9
    if chart.dimension == 3:
        at_reference = chart.points(chart.reference)[None]
        assert is_left_handed(chart) == (np.linalg.det(jacobian(chart, at_reference))[0] < 0.0)


def test_fields_make_the_chart_again(chart, regular):
    stored = encode(chart, FILES)
    assert ("frame" in stored) == bool(getattr(chart, "frame", quat.IDENTITY)[1:].any())
    twin = decode(Chart, stored, FILES)
    assert np.array_equal(twin.points(regular), chart.points(regular))
    for each in fields(chart):
        with pytest.raises(ValueError, match="read-only"):
            getattr(chart, each.name)[0] = 2.0


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ([1.0, 1.0, 0.0, 0.0], "must be unit quaternions"),
        ([0.0, 0.0, 0.0], "must have shape"),
        ([np.nan, 0.0, 0.0, 1.0], "must be finite"),
        ([[1.0, 0.0, 0.0, 0.0]] * 2, r"must have shape \(4\)"),
    ],
)
def test_a_bad_reference_or_frame_is_refused(chart, reference, message):
    with pytest.raises(ValueError, match=f"reference {message}"):
        type(chart)(np.array(reference))
    with pytest.raises(ValueError, match=f"frame {message}"):
        type(chart)(frame=np.array(reference))


def test_an_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match=r"kernel must be in kernels\.layout, got 99"):

        class Unknown(Chart):
            kernel = 99


def test_vectors_and_twists_continue_beyond_half_a_turn():
    vectors = np.linspace(0.0, 15.0, 400)[:, None] * [0.0, 0.0, 1.0]
    for kind in (RotationVector, SwingTwist):
        chart = kind(random_quats(1, np.random.default_rng(1))[0])
        for way in (1.0, -1.0):
            rotations = chart.rotations(way * vectors)
            assert np.abs(chart.follow(chart.points(rotations)) - way * vectors).max() < 1e-9
        # At a whole turn the direction of the vector is lost: the path continues straight on.
        angles = np.array([0.0, 2.0, 4.0, TURN, 8.0])[:, None] * [0.0, 0.0, 1.0]
        rotations = chart.rotations(angles)
        rotations[3] = -chart.reference
        assert np.abs(chart.follow(chart.points(rotations)) - angles).max() < 1e-9


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0, 0), (0, -2, 0), (0, 0, -1), (1, 2, 3)])
def test_the_swing_moves_the_bone_and_the_twist_does_not(axis, rng):
    reference = random_quats(1, rng)[0]
    chart = SwingTwist(reference, np.array(axis, float))
    bone = chart.axis
    swings, twists = rng.uniform(-1.5, 1.5, size=(200, 2)), rng.uniform(-3.0, 3.0, size=(200, 1))
    rotations = chart.rotations(np.hstack([swings, twists]))
    swung = chart.rotations(np.hstack([swings, 0.0 * twists]))
    assert quat.angle_between(quat.mul(swung, quat.exp(twists * bone)), rotations).max() < 1e-12
    cosine = (quat.rotate(rotations, bone) * quat.rotate(reference, bone)).sum(axis=1)
    angle = np.arccos(np.clip(cosine, -1.0, 1.0))
    assert np.abs(angle - np.linalg.norm(swings, axis=1)).max() < 1e-6
    other = DirectionTwist(reference, chart.axis)
    local = quat.mul(quat.inverse(reference), rotations)
    expected = np.hstack([quat.rotate(local, bone), twists])
    assert np.abs(other.points(rotations) - expected).max() < 1e-12


def test_opposite_the_axis_a_rotation_can_still_be_twisted():
    chart, turn = DirectionTwist(), 0.4
    ring = from_polar(np.arange(8) * TURN / 8, np.full(8, 0.7), -chart.axis)
    with pytest.warns(UserWarning, match="opposite the bone's axis"):
        limit = Limit(chart, ReachCone(ring, turn, 0.6))
    opposite = np.array([[0.0, 0.6, 0.8, 0.0], [0.0, 1.0, 0.0, 0.0]])
    expected = quat.mul(opposite, quat.exp(np.array([0.0, 0.0, turn])))
    assert quat.angle_between(limit.project(opposite), expected).max() < 1e-12


def test_euler_angles_are_those_of_scipy(rng):
    rotations = random_quats(300, rng)
    expected = Rotation.from_quat(rotations, scalar_first=True).as_euler("ZYZ")
    apart = EulerZYZ(SIDEWAYS).points(rotations) - expected
    assert np.abs(np.sin(0.5 * apart)).max() < 1e-10
    chart = placed("euler")
    assert np.abs(chart.points(chart.reference) - [0.0, 0.5 * np.pi, 0.0]).max() < 1e-15
