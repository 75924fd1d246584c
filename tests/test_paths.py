"""Paths in time: no pops, and no step over a gap."""

from __future__ import annotations

import numpy as np
import pytest

from clips import wave
from synovia import (
    Beyond,
    Box,
    DistanceField,
    Inside,
    Limit,
    RotationVector,
    SwingTwist,
    first_exit,
    quat,
)
from synovia.model import project_path

FRAME = 1.0 / 60.0
CHARTS = ["rotation-vector", "swing-twist"]


def about_x(angles: np.ndarray) -> np.ndarray:
    return quat.exp(np.asarray(angles, float)[..., None] * np.array([1.0, 0.0, 0.0]))


def angle_about_x(rotations: np.ndarray) -> np.ndarray:
    return quat.log(rotations)[..., 0]


@pytest.fixture
def hinge() -> Limit:
    """Turns about x by at most one radian each way, and nothing else."""
    return Limit(RotationVector(), Box([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], np.eye(3)))


@pytest.fixture(params=CHARTS)
def ball(request: pytest.FixtureRequest) -> Limit:
    rng = np.random.default_rng(3)
    cloud = quat.exp(rng.normal(size=(400, 3)) * (0.5, 0.3, 0.2))
    return Limit.fit(cloud, "kdop", request.param)


def wild(seed: int, size: float = 1.2, frames: int = 600) -> np.ndarray:
    return quat.exp(wave(frames, 3, size, seed))


def test_a_path_keeps_its_side_where_a_frame_by_itself_would_jump(hinge: Limit) -> None:
    there = np.linspace(0.0, 4.7, 100)
    path = about_x(np.concatenate([there, there[::-1]]))
    alone = np.abs(np.diff(angle_about_x(hinge.project(path)))).max()
    followed = np.abs(np.diff(angle_about_x(project_path(hinge, path, FRAME)))).max()
    assert alone == pytest.approx(2.0)
    assert followed <= 4.7 / 99 + 1e-12


def test_a_path_that_starts_beyond_the_switch_enters_by_the_side_it_comes_from(
    hinge: Limit,
) -> None:
    out = angle_about_x(project_path(hinge, about_x(np.linspace(2.5, 6.0, 200)), FRAME))
    assert out[0] == pytest.approx(-1.0)
    assert np.abs(np.diff(out)).max() <= 3.5 / 199 + 1e-12


def test_a_whole_turn_changes_sides_over_the_time_stated(hinge: Limit) -> None:
    path = about_x(np.linspace(0.0, 2.0 * np.pi, 400))
    for transition in (0.2, 0.5, 1.0):
        out = angle_about_x(project_path(hinge, path, FRAME, transition=transition))
        assert hinge.contains(about_x(out)).all()
        between = (out > -0.999) & (out < 0.999) & (np.abs(np.arange(400) - 200) < 100)
        assert between.sum() == pytest.approx(transition / FRAME, abs=4)
        # Smoothstep is at most 1.5 times as fast as a straight line over the same time.
        assert np.abs(np.diff(out)).max() <= 1.6 * 2.0 / (transition / FRAME)


def test_a_transition_of_no_time_is_a_jump(hinge: Limit) -> None:
    path = about_x(np.linspace(0.0, 2.0 * np.pi, 400))
    out = angle_about_x(project_path(hinge, path, FRAME, transition=0.0))
    assert np.abs(np.diff(out)).max() == pytest.approx(2.0)


def test_legal_frames_come_back_bit_for_bit(ball: Limit) -> None:
    path = wild(1)
    legal = ball.contains(path)
    assert legal.any()
    assert not legal.all()
    np.testing.assert_array_equal(project_path(ball, path, FRAME)[legal], path[legal])


@pytest.mark.parametrize("seed", range(8))
def test_no_step_grows_in_the_chart_and_all_frames_are_legal(ball: Limit, seed: int) -> None:
    path = wild(seed)
    out = project_path(ball, path, FRAME)
    assert ball.contains(out).all()
    before = np.linalg.norm(np.diff(ball.chart.unroll(path), axis=0), axis=-1)
    after = np.linalg.norm(np.diff(ball.chart.unroll(out), axis=0), axis=-1)
    assert (after <= before + 1e-9).all()


@pytest.mark.parametrize("seed", range(8))
def test_true_steps_grow_by_no_more_than_the_chart_stretches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    limit = Limit.fit(quat.exp(0.3 * rng.normal(size=(300, 3))), "ellipsoid")
    path = wild(seed)
    out = project_path(limit, path, FRAME)
    before = quat.angle_between(path[:-1], path[1:])
    after = quat.angle_between(out[:-1], out[1:])
    largest = np.linalg.norm(limit.chart.unroll(path), axis=-1).max()
    assert (after <= before * (largest / 2.0) / np.sin(largest / 2.0) + 1e-9).all()


def test_a_softened_path_stays_inside_and_smooth(ball: Limit) -> None:
    path = wild(2)
    out = project_path(ball, path, FRAME, softening=Inside(0.1))
    assert ball.contains(out).all()
    before = np.linalg.norm(np.diff(ball.chart.unroll(path), axis=0), axis=-1)
    after = np.linalg.norm(np.diff(ball.chart.unroll(out), axis=0), axis=-1)
    assert (after <= before + 1e-9).all()


@pytest.mark.parametrize("softening", [None, Inside(0.5), Beyond(0.5)])
def test_a_change_of_sides_is_smooth_at_its_ends_too(
    hinge: Limit, softening: Inside | Beyond | None
) -> None:
    path = about_x(np.linspace(0.0, 2.0 * np.pi, 600))
    out = project_path(hinge, path, FRAME, softening=softening, transition=0.5)
    steps = quat.angle_between(out[:-1], out[1:])
    assert steps.max() <= 1.6 * 3.0 / (0.5 / FRAME)


@pytest.mark.parametrize("frames", [0, 1, 2])
def test_short_paths_work(ball: Limit, frames: int) -> None:
    out = project_path(ball, wild(0)[:frames], FRAME)
    assert out.shape == (frames, 4)
    assert ball.contains(out).all()


def test_float32_stays_float32(ball: Limit) -> None:
    out = project_path(ball, wild(4).astype(np.float32), FRAME)
    assert out.dtype == np.float32
    assert ball.contains(out).all()


def test_a_negative_transition_is_refused(ball: Limit) -> None:
    with pytest.raises(ValueError, match="transition must be at least 0 seconds"):
        project_path(ball, wild(0), FRAME, transition=-1.0)
    with pytest.raises(ValueError, match="transition must be at least 0 seconds and finite"):
        project_path(ball, wild(0), FRAME, transition=np.inf)


def test_the_exit_agrees_with_small_steps(ball: Limit) -> None:
    rng = np.random.default_rng(5)
    start = ball.sample(40, rng)
    end = quat.normalize(rng.normal(size=(40, 4)))
    exits = first_exit(ball, start, end)
    steps = np.linspace(0.0, 1.0, 4001)
    for k in range(40):
        legal = ball.contains(quat.slerp(start[k], end[k], steps))
        brute = 1.0 if legal.all() else steps[legal.argmin()]
        assert exits[k] == pytest.approx(brute, abs=1.0 / 4000)


def test_the_exit_is_legal_and_just_beyond_it_is_not(ball: Limit) -> None:
    rng = np.random.default_rng(6)
    start, end = ball.sample(50, rng), quat.normalize(rng.normal(size=(50, 4)))
    exits = first_exit(ball, start, end)
    assert ball.contains(quat.slerp(start, end, exits)).all()
    leaves = exits < 1.0
    beyond = quat.slerp(start, end, np.minimum(exits + 1e-6, 1.0))
    assert leaves.sum() > 20
    assert not ball.contains(beyond[leaves]).any()


def test_the_exit_does_not_pass_over_a_gap(hinge: Limit) -> None:
    """From 0.9 the short way to -0.9 + 2π - 2.7 = 2.68 leaves at 1, whatever comes later."""
    wide = Limit(RotationVector(), Box([-3.0, 0.0, 0.0], [2.9, 0.0, 0.0], np.eye(3)))
    exit_ = first_exit(wide, about_x(np.array(2.5)), about_x(np.array(-2.5)))
    assert exit_ == pytest.approx(0.4 / (2.0 * np.pi - 5.0), abs=1e-6)


def test_a_turn_along_the_boundary_is_legal_to_its_end(hinge: Limit) -> None:
    assert first_exit(hinge, about_x(np.array(1.0)), about_x(np.array(-1.0))) == 1.0


def test_a_turn_within_a_thin_region_is_legal_to_its_end() -> None:
    """Swings without twist: the turn between two of them is one too, though bent in the chart."""
    swings = Limit(RotationVector(), Box([-1.0, -1.0, 0.0], [1.0, 1.0, 0.0], np.eye(3)))
    start, end = quat.exp(np.array([0.9, 0.8, 0.0])), quat.exp(np.array([-0.9, 0.8, 0.0]))
    assert first_exit(swings, start, end) == 1.0
    out = first_exit(swings, start, quat.exp(np.array([1.9, 0.2, 0.0])))
    steps = np.linspace(0.0, 1.0, 20001)
    legal = swings.contains(quat.slerp(start, quat.exp(np.array([1.9, 0.2, 0.0])), steps))
    assert out == pytest.approx(steps[legal.argmin()], abs=1e-4)


def test_the_exit_from_an_illegal_start_is_0_and_of_no_turn_is_1(ball: Limit) -> None:
    inside, outside = ball.sample(1, np.random.default_rng(0))[0], about_x(np.array(3.0))
    assert first_exit(ball, outside, inside) == 0.0
    assert first_exit(ball, inside, inside) == 1.0


def test_exits_broadcast(hinge: Limit) -> None:
    exits = first_exit(hinge, about_x(np.array(0.0)), about_x(np.array([[0.5], [2.0]])))
    np.testing.assert_allclose(exits, [[1.0], [0.5]], atol=1e-8)


def test_swing_twist_stretch_is_what_short_steps_show() -> None:
    chart = SwingTwist()
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4000, 3)) * (0.7, 0.7, 1.0)
    axes = rng.normal(size=(4000, 3))
    step = 1e-5 * axes / np.linalg.norm(axes, axis=-1, keepdims=True)
    moved = chart.points(quat.mul(chart.rotations(points), quat.exp(step)))
    start = chart.points(chart.rotations(points))
    length = np.linalg.norm(moved - start, axis=-1)
    near = length < 1.0  # not across the fold
    assert (length[near] <= 1e-5 * chart.stretch(start[near]) * (1.0 + 1e-3)).all()


@pytest.fixture(scope="module")
def notched() -> Limit:
    """Two arms of a region that is no further than 0.25 rad across, as a horseshoe."""
    turn = np.linspace(-2.4, 2.4, 400)
    bow = np.stack([0.9 * np.cos(turn), 0.9 * np.sin(turn), np.zeros(400)], axis=1)
    field = DistanceField.fit(bow, resolution=40, closing=0.0)
    return Limit(RotationVector(), field)


def test_a_jump_between_the_arms_of_a_region_goes_around(notched: Limit) -> None:
    across = np.stack([np.full(120, -1.0), np.linspace(0.75, -0.75, 120), np.zeros(120)], axis=1)
    path = quat.exp(across)
    by_itself = notched.project(path)
    clamped = project_path(notched, path, FRAME, transition=1.0)
    assert notched.contains(clamped).all()
    assert quat.angle_between(by_itself[:-1], by_itself[1:]).max() > 0.8
    # All the way around is 4.3 rad, eased over 60 frames.
    assert quat.angle_between(clamped[:-1], clamped[1:]).max() < 0.2


def test_a_leap_of_the_path_itself_is_not_smoothed(notched: Limit) -> None:
    still = np.stack([np.full(60, -1.0), np.linspace(0.02, -0.02, 60), np.zeros(60)], axis=1)
    path = quat.exp(np.concatenate([[[1.2, 0.0, 0.0]], still]))
    clamped = project_path(notched, path, FRAME, transition=3.0)
    assert np.allclose(clamped[1], notched.project(path[1]), atol=0.05)
    assert np.allclose(clamped[0], notched.project(path[0]), atol=1e-9)


def test_crossing_the_seam_of_a_free_twist_outside_is_no_change_of_sides():
    """Where all twists are legal, the seam at 180 degrees is nowhere among rotations."""
    free = Box(low=[-0.5, -0.5, -np.pi], high=[0.5, 0.5, np.pi], axes=np.eye(3))
    wrist = Limit(SwingTwist(axis=[0.0, 0.0, 1.0]), free)
    twist = np.linspace(np.pi - 1.0, np.pi + 1.0, 41)[:, None] * [0.0, 0.0, 1.0]
    swing = 0.8 * np.sin(np.linspace(0.0, np.pi, 41))[:, None] * [1.0, 0.0, 0.0]
    path = quat.mul(quat.exp(swing), quat.exp(twist))
    clamped = project_path(wrist, path, 1.0 / 30.0)
    moved = quat.angle_between(path, clamped)
    assert moved.max() == pytest.approx(0.3, abs=1e-6)
