"""Which way a clip stands and looks: guessed from names and places, made up and captured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from synovia import Clip, Pose, Skeleton, load_clip, quat
from synovia.view.display import AXES, head_joint, look_axis, up_axis

CAPTURES = Path(__file__).parents[3] / "shared" / "data"
NAMES = ("Hips", "Spine", "Head", "LeftUpLeg", "LeftFoot", "RightUpLeg", "RightFoot")
PARENTS = [-1, 0, 1, 0, 3, 0, 5]
PLACES = np.array(
    [[0, 1, 0], [0, 0.3, 0], [0, 0.3, 0], [0.1, 0, 0], [0, -0.9, 0], [-0.1, 0, 0], [0, -0.9, 0]]
)
"""It stands along y, and looks along z."""
LYING = quat.exp(np.array([0.5 * np.pi, 0.0, 0.0]))
"""Takes y to z, and z to -y."""


def body(offsets, names=NAMES, root=None):
    bones = Skeleton(names, PARENTS, offsets)
    rest = bones.rest_pose()
    rotations = np.tile(rest.rotations, (3, 1, 1))
    if root is not None:
        rotations[:, 0] = root
    return Clip(bones, Pose(rotations, np.tile(rest.positions, (3, 1, 1))), 0.1, "body")


def bearing(clip):
    return up_axis(clip), look_axis(clip, head_joint(clip))


def test_it_stands_along_y_or_z():
    assert bearing(body(PLACES)) == ("y", "z")
    assert bearing(body(quat.rotate(LYING, PLACES))) == ("z", "-y")


@pytest.mark.parametrize("turn", [0.5, 1.0, -0.5])
def test_it_looks_to_where_its_left_and_right_say(turn):
    turned = quat.rotate(quat.exp(np.array([0.0, np.pi * turn, 0.0])), PLACES)
    assert bearing(body(turned)) == ("y", {0.5: "x", 1.0: "-z", -0.5: "-x"}[turn])


def test_joints_at_rest_along_y_may_be_posed_along_z():
    """What is up is what the clip shows; where a head looks is its own axis, as at rest."""
    assert bearing(body(PLACES, root=LYING)) == ("z", "z")


def test_names_say_nothing_then_places_do():
    names = ("a", "b", "c", "d", "e", "f", "g")
    lying = quat.rotate(LYING, PLACES)
    for offsets, up, axis in ((PLACES, "y", "z"), (lying, "z", "-y")):
        clip = body(offsets, names)
        assert (up_axis(clip), head_joint(clip), look_axis(clip, "c")) == (up, None, axis)


def test_what_walks_off_is_not_taken_for_upright():
    """A long animal without names goes along its own length."""
    clip = body(quat.rotate(LYING, PLACES), ("a", "b", "c", "d", "e", "f", "g"))
    for axis, up in ((1, "z"), (2, "y")):
        positions = clip.pose.positions.copy()
        positions[:, 0, axis] += np.linspace(0.0, 5.0, clip.frames)
        assert up_axis(replace(clip, pose=Pose(clip.pose.rotations, positions))) == up


def test_a_root_is_no_looker_and_a_bare_head_comes_first():
    assert head_joint(body(PLACES, ("Head", "a", "b", "c", "d", "e", "f"))) is None
    assert head_joint(body(PLACES, ("a", "HeadTop", "mixamorig:Head", "c", "d", "e", "f"))) == (
        "mixamorig:Head"
    )


def test_axes_are_of_length_1():
    assert sorted(AXES) == ["-x", "-y", "-z", "x", "y", "z"]
    np.testing.assert_array_equal(np.linalg.norm(list(AXES.values()), axis=1), 1.0)


@pytest.mark.parametrize(
    ("path", "up", "axis"),
    [
        ("cmu_bvh/motion/02_01.bvh", "y", "z"),
        ("animateddrawings_mit/rokoko__jesse_dance.bvh", "y", "z"),  # bones along x at rest
        ("makehuman/walk1__58e43d.bvh", "z", "-y"),
        ("makehuman/tpose__20e716.bvh", "y", "z"),
    ],
)
def test_captures_stand_upright(path, up, axis):
    if not (CAPTURES / path).exists():
        pytest.skip(f"no captures in ../shared/data: {path}")
    assert bearing(load_clip(CAPTURES / path)) == (up, axis)
