"""Charts: there and back, across whole turns, and how much of all rotations is where."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import followed, random_quats
from synovia import quat
from synovia.arrays import TURN
from synovia.charts import CHARTS, RotationVector, SwingTwist
from synovia.charts.rotation_vector import wind


@pytest.fixture
def rotations(rng):
    return random_quats(3000, rng)


def radial(chart, points):
    """The sizes that a chart folds to at most pi: the vector's, or the swing's and the twist's."""
    if isinstance(chart, RotationVector):
        return [np.linalg.norm(points, axis=-1)]
    return [np.linalg.norm(points[..., :2], axis=-1), np.abs(points[..., 2])]


def in_domain(chart, n, rng):
    """Points, uniform in the part of the chart that holds every rotation once, and its volume."""
    if isinstance(chart, RotationVector):
        points = rng.uniform(-np.pi, np.pi, size=(n, 3))
        return points[np.linalg.norm(points, axis=1) < np.pi], 4.0 / 3.0 * np.pi**4
    points = rng.uniform(-np.pi, np.pi, size=(n, 3))
    return points[np.linalg.norm(points[:, :2], axis=1) < np.pi], np.pi**3 * TURN


def test_rotations_come_back_from_their_points(chart, rotations):
    back = chart.rotations(chart.points(rotations))
    assert quat.angle_between(back, rotations).max() < 1e-12
    assert np.abs(np.linalg.norm(back, axis=1) - 1.0).max() < 1e-12


def test_points_come_back_from_their_rotations(chart, rng):
    points, _ = in_domain(chart, 3000, rng)
    assert np.abs(chart.points(chart.rotations(points)) - points).max() < 1e-9


def test_points_are_folded_and_signs_make_no_difference(chart, rotations):
    points = chart.points(rotations)
    assert all(size.max() <= np.pi + 1e-12 for size in radial(chart, points))
    assert np.abs(chart.points(-rotations) - points).max() < 1e-12


def test_the_reference_is_the_origin(chart):
    assert np.abs(chart.points(chart.reference)).max() < 1e-15


@pytest.mark.parametrize("batch", [(), (0,), (2, 3)])
def test_charts_keep_the_batch_shape(chart, batch):
    rotations = np.broadcast_to(quat.exp(np.array([0.1, 0.2, 0.3])), (*batch, 4))
    assert chart.points(rotations).shape == (*batch, 3)
    assert chart.rotations(np.zeros((*batch, 3))).shape == (*batch, 4)
    assert chart.density(np.zeros((*batch, 3))).shape == batch


def test_every_cover_is_the_same_rotation(chart, rotations):
    points = chart.points(rotations)
    covers = chart.shifts(points, 2)
    assert np.array_equal(covers[0], points)
    for cover in covers:
        assert quat.angle_between(chart.rotations(cover), rotations).max() < 1e-11
    apart = np.linalg.norm(np.stack(covers)[:, None] - np.stack(covers), axis=-1)
    assert (apart + 100.0 * np.eye(len(covers))[..., None]).min() > TURN - 1e-9


def test_covers_of_the_origin_are_finite(chart):
    covers = np.stack(chart.shifts(np.zeros((1, 3)), 2))
    assert np.isfinite(covers).all()
    for cover in covers:
        assert quat.angle_between(chart.rotations(cover), chart.reference).max() < 1e-12
    assert np.linalg.norm(wind(np.zeros(3), 1)) == pytest.approx(TURN)


def test_unroll_follows_a_turn_about_one_axis(chart):
    angles = np.linspace(0.0, 15.0, 400)
    vectors = angles[:, None] * np.array([0.0, 0.0, 1.0])
    path = chart.unroll(chart.rotations(vectors))
    assert np.abs(path - vectors).max() < 1e-9
    back = chart.unroll(chart.rotations(-vectors))
    assert np.abs(back + vectors).max() < 1e-9


def test_unroll_comes_back(chart):
    angles = 7.0 * np.sin(np.linspace(0.0, np.pi, 500))
    wobble = 0.2 * np.sin(np.linspace(0.0, 20.0, 500))
    vectors = np.stack([0.3 + wobble, 0.0 * wobble, angles], axis=1)
    path = chart.unroll(chart.rotations(vectors))
    assert np.abs(path[-1] - vectors[-1]).max() < 1e-9
    assert np.abs(path).max() > TURN


@pytest.mark.parametrize("step", [0.02, 0.3, 1.0])
def test_unroll_is_the_nearest_cover_step_by_step(chart, rng, step):
    turns = quat.exp(step * rng.normal(size=(300, 3)) + [0.0, 0.0, 0.05])
    rotations = [chart.reference]
    for turn in turns:
        rotations.append(quat.mul(rotations[-1], turn))
    rotations = rng.choice([-1.0, 1.0], size=(301, 1)) * np.stack(rotations)
    path = chart.unroll(rotations)
    assert quat.angle_between(chart.rotations(path), rotations).max() < 1e-9
    assert np.abs(path - followed(chart, rotations)).max() < 1e-9


def test_unroll_of_nothing_is_nothing(chart):
    assert chart.unroll(np.zeros((0, 4))).shape == (0, 3)


def test_unroll_through_the_reference_after_a_whole_turn(chart):
    # At exactly one turn every direction is a cover's; the path goes straight on.
    angles = np.array([0.0, 2.0, 4.0, TURN, 8.0])
    vectors = angles[:, None] * np.array([0.0, 0.0, 1.0])
    rotations = chart.rotations(vectors)
    rotations[3] = -chart.reference
    assert np.abs(chart.unroll(rotations) - vectors).max() < 1e-9


def test_density_is_a_share_of_all_rotations(chart, rng):
    points, volume = in_domain(chart, 400_000, rng)
    density = chart.density(points)
    error = density.std() / np.sqrt(len(density)) * volume
    assert density.mean() * volume == pytest.approx(1.0, abs=4.0 * error)
    assert error < 0.01
    assert (density >= 0.0).all()


def test_density_is_where_random_rotations_are(chart, rng):
    found = chart.points(random_quats(100_000, rng))
    points, volume = in_domain(chart, 400_000, rng)
    weights = chart.density(points) * volume
    for measured, expected in zip(radial(chart, found), radial(chart, points), strict=True):
        for size in (0.5, 1.5, 2.5):
            share = (weights * (expected < size)).mean()
            assert (measured < size).mean() == pytest.approx(share, abs=0.01)


def test_what_to_dict_writes_from_dict_reads(chart, rotations):
    fields = chart.to_dict()
    twin = CHARTS[fields.pop("type")].from_dict(fields)
    assert np.array_equal(twin.points(rotations), chart.points(rotations))


def test_packed_charts_have_one_length(chart):
    assert len(chart.packed) == 20
    assert np.isfinite(chart.packed).all()


def test_the_bone_points_along_z_unless_an_axis_is_given():
    assert SwingTwist().axis.tolist() == [0.0, 0.0, 1.0]
    twist = quat.exp(np.array([0.0, 0.0, 0.7]))
    assert np.allclose(SwingTwist().points(twist), [0.0, 0.0, 0.7])


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0, 0), (0, -2, 0), (0, 0, -1), (1, 2, 3)])
def test_the_swing_moves_the_bone_and_the_twist_does_not(axis, rng):
    reference = random_quats(1, rng)[0]
    chart = SwingTwist(reference, np.array(axis, float))
    bone = chart.axis
    assert np.linalg.norm(bone) == pytest.approx(1.0)
    swings = rng.uniform(-1.5, 1.5, size=(200, 2))
    twists = rng.uniform(-3.0, 3.0, size=(200, 2))
    a, b = (chart.rotations(np.column_stack([swings, twist])) for twist in twists.T)
    # Twists about the bone come first, so they leave its direction alone.
    assert np.abs(quat.rotate(a, bone) - quat.rotate(b, bone)).max() < 1e-12
    only = chart.rotations(np.column_stack([swings, 0.0 * twists[:, 0]]))
    about_bone = quat.exp(twists[:, :1] * bone)
    assert quat.angle_between(quat.mul(only, about_bone), a).max() < 1e-12
    # The swing's size is how far the bone is from where it points at the reference.
    cosine = (quat.rotate(a, bone) * quat.rotate(reference, bone)).sum(axis=1)
    assert (
        np.abs(np.arccos(np.clip(cosine, -1.0, 1.0)) - np.linalg.norm(swings, axis=1)).max() < 1e-6
    )


@pytest.mark.parametrize("axis", [(0, 0, 0), (0, 0, 1e-13)])
def test_an_axis_of_zero_is_refused(axis):
    with pytest.raises(ValueError, match="axis must not be zero"):
        SwingTwist(quat.IDENTITY, np.array(axis, float))


def test_a_bad_reference_is_refused(chart):
    with pytest.raises(ValueError, match="reference must be unit quaternions"):
        type(chart)(np.array([1.0, 1.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match="reference must have shape"):
        type(chart)(np.zeros(3))
    with pytest.raises(ValueError, match="reference must be finite"):
        type(chart)(np.array([np.nan, 0.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match=r"reference must have shape \(4\)"):
        type(chart)(np.tile(quat.IDENTITY, (2, 1)))


def test_a_chart_owns_its_reference():
    reference = np.array([1.0, 0.0, 0.0, 0.0])
    chart = RotationVector(reference)
    reference[:] = 0.0
    assert chart.reference.tolist() == [1.0, 0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        chart.reference[0] = 2.0
