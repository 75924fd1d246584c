"""A clip in another world: the same motion, other axes, other units, other rates."""

from dataclasses import replace

import numpy as np
import pytest

from clips import clip
from synovia import quat
from synovia.skeleton import Skeleton, forward, resample, with_unit, with_up

AXES = {"x": [1.0, 0.0, 0.0], "y": [0.0, 1.0, 0.0], "z": [0.0, 0.0, 1.0]}


def standing(up, frames=5):
    walk = clip(frames=frames)
    return replace(walk, skeleton=replace(walk.skeleton, up=up))


@pytest.mark.parametrize("old", AXES)
@pytest.mark.parametrize("new", AXES)
def test_heights_are_the_same_and_joints_keep_their_rotations(old, new):
    before = standing(old)
    after = with_up(before, new)
    assert after.skeleton.up == new
    heights = [
        forward(each.skeleton, each.pose)[0] @ AXES[each.skeleton.up] for each in (before, after)
    ]
    np.testing.assert_allclose(heights[1], heights[0], atol=1e-15)
    joints = [each.pose.rotations[:, 1:].tobytes() for each in (before, after)]
    assert joints[0] == joints[1]
    there = with_up(after, old)
    np.testing.assert_allclose(there.pose.positions, before.pose.positions, atol=1e-15)
    assert quat.angle_between(there.pose.rotations, before.pose.rotations).max() < 1e-15


def test_what_does_not_say_is_y_up():
    before = standing("")
    assert with_up(before, "y").pose is before.pose
    up = forward(before.skeleton, with_up(before, "z").pose)[0][..., 2]
    np.testing.assert_allclose(up, forward(before.skeleton, before.pose)[0][..., 1], atol=1e-15)


def test_units_scale_lengths_and_must_be_known():
    before = standing("y")
    with pytest.raises(ValueError, match="ann_01: this clip does not say what unit"):
        with_unit(before, 1.0)
    known = replace(before, skeleton=replace(before.skeleton, unit=0.01))
    after = with_unit(known, 1.0)
    np.testing.assert_allclose(100.0 * after.pose.positions, before.pose.positions, rtol=1e-15)
    np.testing.assert_allclose(
        100.0 * after.skeleton.end_offsets, before.skeleton.end_offsets, rtol=1e-15
    )
    assert with_unit(after, 1.0) is after


def test_resampling_keeps_frames_that_are_kept_and_interpolates_the_others():
    before = clip(frames=7, fps=30.0)
    twice = resample(before, 1.0 / 60.0)
    assert twice.frames == 13
    np.testing.assert_allclose(twice.pose.rotations[::2], before.pose.rotations, atol=1e-15)
    halves = quat.slerp(before.pose.rotations[:-1], before.pose.rotations[1:], 0.5)
    np.testing.assert_allclose(twice.pose.rotations[1::2], halves, atol=1e-15)
    back = resample(twice, 1.0 / 30.0)
    assert back.frames == 7
    np.testing.assert_allclose(back.pose.rotations, before.pose.rotations, atol=1e-15)
    assert resample(before, 1.0).frames == 1
    assert resample(clip(frames=301, fps=120.0), 1.0 / 30.0).frames == 76


@pytest.mark.parametrize("frame_time", [0.0, -1.0, np.nan, np.inf, 1e-300])
def test_rates_that_cannot_be_are_refused(frame_time):
    with pytest.raises(ValueError, match="frame"):
        resample(clip(frames=3), frame_time)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"up": "w"}, r"Skeleton\.up must be x, y or z, or empty, got 'w'"),
        ({"unit": -1.0}, r"Skeleton\.unit must be metres, or 0 if unknown, got -1"),
        ({"unit": np.nan}, r"Skeleton\.unit must be metres"),
        ({"rest_rotations": [[1.0, 0.0, 0.0, 0.0]]}, r"rest_rotations must have shape \(2, 4\)"),
        ({"rest_rotations": [[2.0, 0, 0, 0]] * 2}, r"Skeleton\.rest_rotations"),
    ],
)
def test_skeletons_are_checked(given, error):
    with pytest.raises(ValueError, match=error):
        Skeleton(("a", "b"), [-1, 0], np.zeros((2, 3)), **given)
