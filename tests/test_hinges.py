"""The chart `hinges`: three axes in order, whatever they are, and limits in it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from oracles import random_quats, region
from synovia import (
    Box,
    Hinges,
    KDop,
    Limit,
    first_exit,
    kernels,
    quat,
)
from synovia.arrays import TURN
from synovia.charts.chart import Chart
from synovia.mesh import DRAFT, sheet_and_boundary
from synovia.model import project_path
from synovia.shapes import Offset
from synovia.shapes.triangles import rim_of

REFERENCE, FRAME = random_quats(2, np.random.default_rng(4))
SKEW = np.array([[1.0, 0.2, 0.1], [0.1, 1.0, 0.4], [0.3, -0.2, 1.0]])
AXES = {
    "xyz": np.eye(3),
    "zyz": np.eye(3)[[2, 1, 2]],
    "left-handed": np.eye(3)[[1, 0, 2]],
    "aslant": quat.to_matrix(random_quats(1, np.random.default_rng(2))[0]),
    "skew": SKEW,
    "narrow": np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.1, 0.2, 1.0]]),
    "coplanar": np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 1.0, 0.0]]),
    "narrow zyz": np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [1.0, 0.0, 0.0]]),
}
LOW, HIGH = np.array([-0.7, -0.4, -0.9]), np.array([1.1, 0.6, 0.3])


@pytest.fixture(params=AXES)
def chart(request):
    return Hinges(REFERENCE, AXES[request.param], frame=FRAME)


def turned(chart, points):
    """The rotations of hinge angles, hinge by hinge, as matrices do it."""
    matrix = np.eye(3)
    for k in range(3):
        matrix = matrix @ quat.to_matrix(quat.exp(points[..., k, None] * chart.axes[k]))
    frame = quat.to_matrix(chart.frame)
    return quat.to_matrix(chart.reference) @ frame @ matrix @ frame.T


def gap(chart, rotations):
    beyond = chart.shortfall(rotations)
    return np.zeros(len(rotations)) if beyond is None else beyond


def test_rotations_are_hinge_by_hinge(chart, rng):
    points = rng.uniform(-4.0, 4.0, size=(300, 3))
    np.testing.assert_allclose(
        quat.to_matrix(chart.rotations(points)), turned(chart, points), atol=1e-14
    )


def test_points_are_of_the_rotation_or_of_the_nearest_that_hinges_make(chart, rng):
    rotations = random_quats(3000, rng)
    points = chart.points(rotations)
    apart = quat.angle_between(chart.rotations(points), rotations)
    np.testing.assert_allclose(apart, gap(chart, rotations), atol=1e-12)
    made = chart.rotations(rng.uniform(-np.pi, np.pi, size=(2000, 3)))
    nearest = quat.angle_between(rotations[:60, None], made).min(axis=1)
    assert (nearest >= apart[:60] - 1e-12).all()
    assert gap(chart, made).max() < 1e-12
    same = chart.rotations(chart.points(-rotations))
    assert quat.angle_between(same, chart.rotations(points)).max() < 1e-9


def test_every_cover_is_the_rotation_and_no_other_solution_is_missing(chart, rng):
    points = rng.uniform(-np.pi, np.pi, size=(400, 3))
    rotations = chart.rotations(points)
    covers = np.stack(chart.shifts(chart.points(rotations), 1))
    assert covers.shape[0] == 54
    for cover in covers:
        assert quat.angle_between(chart.rotations(cover), rotations).max() < 1e-11
    clear = np.abs(np.sin(points[:, 1] - chart.lock)) > 1e-3
    found = np.abs(covers - points).max(axis=-1).min(axis=0)
    assert found[clear].max() < 1e-8  # the angles that were asked for are among them


def test_the_density_and_the_stretch_are_those_of_the_turns(chart, rng):
    points = rng.uniform(-np.pi, np.pi, size=(200, 3))
    plain = np.abs(np.linalg.det(Chart._jacobian(chart, points))) / (8.0 * np.pi**2)
    np.testing.assert_allclose(chart.density(points), plain, atol=1e-11)
    np.testing.assert_allclose(chart.stretch(points), Chart.stretch(chart, points), rtol=1e-9)
    everywhere = random_quats(20_000, rng)
    made = (gap(chart, everywhere) < 1e-9).mean()
    assert made == pytest.approx(8.0 * np.pi**2 * chart.density(chart_middle(chart)), abs=0.01)


def chart_middle(chart):
    return np.array([0.0, chart.lock + 0.5 * np.pi, 0.0])


def test_axes_are_made_unit_and_must_not_be_parallel_or_zero():
    assert np.allclose(Hinges(axes=2.0 * np.eye(3)).axes, np.eye(3))
    with pytest.raises(ValueError, match="must not be parallel to their neighbours"):
        Hinges(axes=np.eye(3)[[0, 0, 1]])
    with pytest.raises(ValueError, match="must not be zero"):
        Hinges(axes=np.zeros((3, 3)))


# Limits.


@pytest.fixture(params=["box xyz", "box zyz", "box narrow", "kdop skew", "kdop narrow zyz"])
def limit(request):
    shape, _, axes = request.param.partition(" ")
    chart = Hinges(REFERENCE, AXES[axes], frame=FRAME)
    if shape == "box":
        return Limit(chart, Box(LOW, HIGH, np.eye(3)))
    corners = np.random.default_rng(1).uniform(LOW, HIGH, size=(40, 3))
    return Limit(chart, KDop.fit(corners, along="chart"))


def test_the_distance_is_that_of_the_nearest_cover_and_what_hinges_cannot_make(limit, rng):
    rotations = np.concatenate([random_quats(400, rng), limit.sample(150, rng)])
    covers = np.stack(limit.covers(rotations))
    distances = np.stack([limit.shape.distance(cover) for cover in covers]).min(axis=0)
    beyond = gap(limit.chart, rotations)
    brute = np.where(beyond > 1e-9, beyond + np.maximum(distances, 0.0), distances)
    np.testing.assert_allclose(limit.distance(rotations), brute, atol=1e-12)


@pytest.mark.parametrize("name", ["within pi", "far beyond pi"])
def test_kernels_find_what_numpy_finds(chart, name, rng):
    limit = Limit(chart, region("kdop", name, rng))
    rotations = random_quats(100, rng)
    assert limit.compiled
    np.testing.assert_allclose(limit.distance(rotations), limit.nearest(rotations)[1], atol=1e-10)
    projected = limit.project(rotations)
    assert limit.nearest(projected)[1].max() <= 1e-9
    # At gimbal lock the outer hinges may turn against each other.
    for half_turns, sign in ((0.0, -1.0), (np.pi, 1.0)):
        locked = rng.uniform(-np.pi, np.pi, size=3)
        locked[1] = chart.lock + half_turns
        slide = np.linspace(-np.pi, np.pi, 4001)[:, None] * [1.0, 0.0, sign]
        same = chart.rotations(locked + slide)
        if quat.angle_between(same, same[0]).max() > 1e-6:
            slide[:, 2] *= -1.0
            same = chart.rotations(locked + slide)
        if quat.angle_between(same, same[0]).max() > 1e-6:
            continue  # axes that are not at right angles fold there, but do not lock
        turns = 2.0 * np.pi * np.array(list(product((-1, 0, 1), repeat=3)))
        least = limit.shape.distance((locked + slide)[:, None] + turns).min()
        assert limit.distance(same[0]) == pytest.approx(least, abs=3e-3)


def test_no_turn_leaves_the_chart_faster_than_kernels_say(chart, rng):
    packed = Limit(chart, Box([-3.0] * 3, [3.0] * 3, np.eye(3))).packed
    tail = len(packed) - kernels.hinges.TAIL.SIZE
    points = rng.uniform(-np.pi, np.pi, size=(200, 3))
    told = [kernels.hinges.hinge_stretch(packed, tail, point[1], 0.0) for point in points]
    np.testing.assert_allclose(told, np.minimum(chart.stretch(points), 1e9), rtol=1e-5)


def test_a_rotation_that_hinges_cannot_make_is_outside_of_every_limit(rng):
    chart = Hinges(REFERENCE, AXES["narrow"])
    everything = Limit(chart, Box([-3.2] * 3, [3.2] * 3, np.eye(3)))
    rotations = random_quats(500, rng)
    beyond = gap(chart, rotations) > 1e-9
    assert 50 < beyond.sum() < 450
    np.testing.assert_array_equal(everything.contains(rotations), ~beyond)
    assert everything.contains(everything.project(rotations)).all()
    path = quat.slerp(rotations[~beyond][0], rotations[beyond][0], np.linspace(0.0, 1.0, 50))
    assert everything.contains(project_path(everything, path, 1 / 30)).all()
    exits = first_exit(everything, rotations[~beyond][:5], rotations[beyond][:5])
    assert (exits < 1.0).all()
    assert everything.volume() == pytest.approx((~beyond).mean(), abs=0.1)


def test_volume_and_sample_agree_with_uniform_rotations(limit, rng):
    everywhere = random_quats(10_000, rng)
    share = limit.contains(everywhere).mean()
    assert limit.volume() == pytest.approx(share, abs=4.0 * np.sqrt(share / 10_000) + 0.02 * share)
    sample, legal = limit.sample(1000, rng), everywhere[limit.contains(everywhere)]
    assert limit.contains(sample).all()
    middle = limit.chart.rotations(0.5 * (LOW + HIGH))
    a, b = (quat.angle_between(each, middle) for each in (legal, sample))
    assert abs(a.mean() - b.mean()) < 4.5 * np.sqrt(a.var() / len(a) + b.var() / len(b))


@pytest.mark.parametrize("end", [0.5 * np.pi, np.pi])
def test_a_range_may_end_at_gimbal_lock_or_go_round(end, rng):
    chart = Hinges()
    limit = Limit(chart, Box([-0.2, 0.0, 0.1], [0.7, end, 0.9], np.eye(3)))
    points = rng.uniform([-0.2, 0.5 * np.pi, 0.1], [0.7, 0.5 * np.pi, 0.9], size=(40, 3))
    assert limit.contains(chart.rotations(points)).all()  # only a difference is known there
    rotations = random_quats(400, rng)
    once = limit.project(rotations)
    assert limit.contains(once).all()
    assert limit.project(once).tobytes() == once.tobytes()
    free = Limit(chart, Box([-np.pi, 0.0, -np.pi], [np.pi, end, np.pi], np.eye(3)))
    assert free.volume() == pytest.approx(0.5, abs=0.02)  # of its two solutions each has one


# Axes by data.


@pytest.fixture
def coarse(monkeypatch):
    """Conversions whose losses are looked for less thoroughly."""
    for name, value in (("UNIFORM_ROTATIONS", 5000), ("CLIMBS", 2)):
        monkeypatch.setattr(f"synovia.limit.convert.{name}", value)


@pytest.mark.usefixtures("coarse")
def test_a_fit_chooses_axes_and_order_that_take_little(rng):
    bend = np.array([0.3, 0.9, -0.2]) / np.linalg.norm([0.3, 0.9, -0.2])
    angles = rng.uniform(0.0, 2.2, size=(400, 1))
    rotations = quat.mul(quat.exp(angles * bend), quat.exp(0.03 * rng.normal(size=(400, 3))))
    fitted = Limit.fit(rotations, "box", "hinges", margin=0.0, along="chart")
    assert np.abs(fitted.chart.axes @ bend).max() > 0.999
    own = Hinges(fitted.chart.reference)
    plain = Limit(own, Box.fit(own.points(rotations), along="chart"))
    assert fitted.volume() < 0.1 * plain.volume()
    back = fitted.to("kdop", "rotation-vector").limit.to("box", "hinges", along="chart")
    assert np.abs(back.limit.chart.axes @ bend).max() > 0.999


@pytest.mark.usefixtures("coarse")
def test_a_limit_is_converted_to_the_hinges_that_are_given(rng):
    box = Limit.fit(quat.exp(0.1 * rng.normal(size=(200, 3))), "box", "rotation-vector")
    chart = Hinges(box.chart.reference, SKEW)
    there = box.to("kdop", chart, along="chart")
    assert there.limit.chart is chart
    assert there.lost < 1e-4
    assert there.gained < 0.01
    same = Limit(chart, there.limit.shape).to("box", along="chart")
    assert same.limit.chart is chart
    np.testing.assert_allclose(same.limit.shape.low, there.limit.shape.bounds[0], atol=1e-9)


def test_whole_turns_are_the_same_angles(rng):
    chart = Hinges(axes=SKEW)
    near, far = (
        Limit(chart, Box(LOW + turns, HIGH + turns, np.eye(3)))
        for turns in (np.zeros(3), TURN * np.array([1, -1, 0]))
    )
    rotations = random_quats(300, rng)
    np.testing.assert_allclose(near.distance(rotations), far.distance(rotations), atol=1e-9)


def test_what_hinges_cannot_make_is_not_within_reach_of_what_they_can(rng):
    chart, near = Hinges(REFERENCE, AXES["coplanar"]), Box([-0.5] * 3, [0.5] * 3, np.eye(3))
    limit = Limit(chart, Offset(near, 0.4))
    rotations = quat.mul(REFERENCE, quat.exp(0.5 * rng.normal(size=(300, 3))))
    beyond = limit.is_out_of_reach(rotations)
    assert (Limit(chart, near).distance(rotations[beyond]) < 0.4).sum() > 30
    assert not limit.contains(rotations[beyond]).any()
    np.testing.assert_array_equal(limit.distance(rotations), limit.nearest(rotations)[1])


def test_the_draft_of_a_picture_is_closed():
    limit = Limit(Hinges(REFERENCE), Box(LOW, HIGH, np.eye(3)))
    triangles = sheet_and_boundary(limit, np.eye(3)[2], DRAFT)[1].triangles
    assert len(triangles) > 100
    assert len(rim_of(triangles)) == 0
