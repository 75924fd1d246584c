"""Paths in time: no pops, and no step over a gap."""

from __future__ import annotations

import numpy as np
import pytest

from clips import wave
from synovia import (
    Box,
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


@pytest.mark.parametrize("frames", [0, 1, 2])
def test_short_paths_work(ball: Limit, frames: int) -> None:
    out = project_path(ball, wild(0)[:frames], FRAME)
    assert out.shape == (frames, 4)
    assert ball.contains(out).all()


def test_float32_stays_float32(ball: Limit) -> None:
    out = project_path(ball, wild(4).astype(np.float32), FRAME)
    assert out.dtype == np.float32
    assert ball.contains(out).all()


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
