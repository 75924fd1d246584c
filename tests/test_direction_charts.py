"""DirectionTwist and EulerZYZ: one point for each rotation, in NumPy and in the kernels alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from oracles import placed, random_quats
from synovia import kernels, quat
from synovia.charts import DirectionTwist, EulerZYZ, SwingTwist
from synovia.kernels.rotation import BLOCK, LANES, PT, PX, QW, T, X


@pytest.fixture(params=["direction-twist", "euler"])
def chart(request):
    return placed(request.param)


@pytest.fixture
def rotations(rng):
    return random_quats(4 * LANES, rng)


def through_kernels(chart, rotations):
    """Points, and the quaternions of the same points, as the compiled loops give them."""
    packed = np.array([kernels.limit.LAYOUT, 0.0, *chart.packed, 0.0, 0.0])
    points, back = [], []
    for part in np.split(rotations, len(rotations) // LANES):
        block = np.zeros(BLOCK, rotations.dtype)
        kernels.rotation.load(part.ravel(), 0, block, LANES)
        kernels.limit.enter(packed, np.int64(0), block, LANES)
        block[PX : PX + 3 * LANES] = block[X : X + 3 * LANES]
        block[PT : PT + LANES] = block[T : T + LANES]
        rows = block[X : X + 3 * LANES].reshape(3, LANES), block[T : T + LANES][None]
        points.append(np.concatenate(rows[: chart.dimension - 2]).T)
        block[X : X + 3 * LANES] += 1.0  # so that directions count as moved
        kernels.limit.leave(packed, np.int64(0), -np.inf, block, LANES)
        back.append(block[QW : QW + 4 * LANES].reshape(4, LANES).T.copy())
    return np.concatenate(points), np.concatenate(back)


def test_rotations_come_back_from_their_points(chart, rotations):
    back = chart.rotations(chart.points(rotations))
    assert quat.angle_between(back, rotations).max() < 1e-12
    assert np.abs(chart.points(-rotations) - chart.points(rotations)).max() < 1e-12


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_give_the_same_points_and_rotations(chart, rotations, dtype):
    if dtype == np.float32 and not chart.single_precision:
        pytest.skip("in float64 alone")
    slack = 1e-12 if dtype == np.float64 else 2e-5
    points, back = through_kernels(chart, rotations.astype(dtype))
    assert points.dtype == dtype
    far_from_singular = chart.stretch(chart.points(rotations)) < 30.0
    assert np.abs(points - chart.points(rotations))[far_from_singular].max() < slack
    assert quat.angle_between(back, rotations)[far_from_singular].max() < slack
    assert ((back * rotations).sum(axis=1) > 0.0).all()


def test_kernels_are_finite_where_angles_are_not_defined():
    half_turns = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.6, 0.8, 0.0], [0.0, 0.0, 0.0, 1.0]])
    rotations = np.tile(np.concatenate([half_turns, [[1.0, 0.0, 0.0, 0.0]]]), (LANES // 4, 1))
    for chart in (DirectionTwist(), EulerZYZ(), EulerZYZ.raw()):
        points, back = through_kernels(chart, rotations)
        assert np.isfinite(points).all()
        assert np.abs(np.sin(0.5 * (points - chart.points(rotations)))).max() < 1e-12
        defined = chart.stretch(points) < 1e6
        assert quat.angle_between(back, rotations)[defined].max(initial=0.0) < 1e-12
        assert np.abs(np.linalg.norm(back, axis=1) - 1.0).max() < 1e-12


def test_where_only_the_twist_is_new_the_rotation_is_twisted_in_place(rng):
    chart, turn = DirectionTwist(), 0.4
    # Opposite the axis no twist is defined, but twisting further is.
    rotations = np.tile([0.0, 0.6, 0.8, 0.0], (LANES, 1))
    packed = np.array([kernels.limit.LAYOUT, 0.0, *chart.packed, 0.0, 0.0])
    block = np.zeros(BLOCK)
    kernels.rotation.load(rotations.ravel(), 0, block, LANES)
    kernels.limit.enter(packed, np.int64(0), block, LANES)
    block[PX : PX + 3 * LANES] = block[X : X + 3 * LANES]
    block[PT : PT + LANES] = block[T : T + LANES] + turn
    kernels.limit.leave(packed, np.int64(0), -np.inf, block, LANES)
    out = block[QW : QW + 4 * LANES].reshape(4, LANES).T
    expected = quat.mul(rotations, quat.exp(np.array([0.0, 0.0, turn])))
    assert quat.angle_between(out, expected).max() < 1e-12


def test_directions_are_where_the_axis_goes_and_twists_those_of_swing_twist(rotations):
    chart = placed("direction-twist")
    points = chart.points(rotations)
    local = quat.mul(quat.inverse(chart.reference), rotations)
    assert np.abs(points[:, :3] - quat.rotate(local, chart.axis)).max() < 1e-12
    swing_twist = SwingTwist(chart.reference, chart.axis).points(rotations)
    assert np.abs(points[:, 3] - swing_twist[:, 2]).max() < 1e-12
    assert np.array_equal(chart.shifts(points, 3)[0], points)


def test_the_references_are_where_they_should_be():
    chart = placed("direction-twist")
    assert np.abs(chart.points(chart.reference) - [*chart.axis, 0.0]).max() < 1e-15
    chart = placed("euler")
    assert np.abs(chart.points(chart.reference) - [0.0, 0.5 * np.pi, 0.0]).max() < 1e-15


def test_euler_angles_are_those_of_scipy(rotations):
    raw = EulerZYZ.raw().points(rotations)
    expected = Rotation.from_quat(rotations, scalar_first=True).as_euler("ZYZ")
    assert np.abs(np.sin(0.5 * (raw - expected))).max() < 1e-10


def test_density_sums_to_one(chart, rng):
    n = 200_000
    if isinstance(chart, DirectionTwist):
        points, volume = np.zeros((n, 4)), 4.0 * np.pi * 2.0 * np.pi
    else:
        points = rng.uniform([-np.pi, 0.0, -np.pi], np.pi, size=(n, 3))
        volume = np.pi * (2.0 * np.pi) ** 2
    assert chart.density(points).mean() * volume == pytest.approx(1.0, abs=0.01)


def test_no_path_is_stretched_more_than_stretch_says(chart, rotations, rng):
    step = 1e-6
    moved = quat.mul(rotations, quat.exp(step * quat.log(random_quats(len(rotations), rng)) / 3.0))
    before, after = chart.points(rotations), chart.points(moved)
    change = np.abs(after - before)
    change = np.linalg.norm(np.minimum(change, 2.0 * np.pi - change), axis=1)
    angle = quat.angle_between(rotations, moved)
    well = chart.stretch(before) < 50.0
    assert (change <= 1.001 * chart.stretch(before) * angle)[well].all()


def test_unrolled_paths_do_not_jump(chart):
    turn = quat.exp(np.linspace(0.0, 12.0, 400)[:, None] * chart_axis(chart))
    path = chart.unroll(quat.mul(chart.reference, turn))
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() < 0.2


def chart_axis(chart):
    return chart.axis if isinstance(chart, DirectionTwist) else np.array([0.0, 0.0, 1.0])


def test_an_axis_must_not_be_zero():
    with pytest.raises(ValueError, match=r"DirectionTwist.axis must not be zero"):
        DirectionTwist(axis=np.zeros(3))
