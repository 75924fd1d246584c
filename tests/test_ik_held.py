"""Inverse kinematics where a limit is measured from an ancestor."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from arms import SOLVERS
from synovia import (
    Clip,
    DirectionTwist,
    Ellipsoid,
    Limit,
    LimitModel,
    Pose,
    ReachCone,
    RotationVector,
    Skeleton,
    forward,
    quat,
)
from synovia.ik import Aim, Reach, follow, look_at, solve, two_bone, watch

NAMES = ("Chest", "Clavicle", "Scapula", "UpperArm", "Elbow", "Wrist")
BONES = Skeleton(
    NAMES,
    [-1, 0, 1, 2, 3, 4],
    [[0, 0, 0], [0.1, 0, 0], [0.1, 0, 0], [0, 0, 0], [0.3, 0, 0], [0.3, 0, 0]],
)


def model(skeleton=BONES, arm="UpperArm", above="Chest"):
    around = np.pi * np.arange(6) / 3
    ring = np.stack(
        [np.full(6, np.cos(0.8)), np.sin(0.8) * np.cos(around), np.sin(0.8) * np.sin(around)],
        axis=1,
    )
    cone = Limit(DirectionTwist(axis=np.array([1.0, 0.0, 0.0])), ReachCone(ring, -0.5, 0.5), above)
    return LimitModel({arm: cone}, skeleton)


def shrugged(angle):
    """The rest pose, the clavicle turned up and the scapula forward by an angle."""
    rest = BONES.rest_pose()
    rotations = rest.rotations.copy()
    rotations[1], rotations[2] = quat.exp([0.0, 0.0, angle]), quat.exp([0.0, -angle, 0.0])
    return Pose(rotations, rest.positions)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_pose_is_legal_as_the_ancestor_sees_it(solver):
    limits, pose = model(), shrugged(0.5)
    directions = np.random.default_rng(0).normal(size=(20, 3))
    targets = 0.5 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    found = solver(limits, BONES, pose, Reach("Wrist", targets))
    assert limits.contains(found.pose).all()
    assert np.array_equal(found.pose.rotations[:, 1:3], np.tile(pose.rotations[1:3], (20, 1, 1)))
    assert not found.converged.all()


def test_what_can_be_reached_is_reached():
    limits, pose = model(), shrugged(0.4)
    rng = np.random.default_rng(1)
    legal = limits.sample(50, rng)
    rotations = legal.rotations.copy()
    rotations[:, 1:3] = pose.rotations[1:3]
    rotations[:, 4] = quat.exp(rng.uniform(0.2, 1.0, (50, 1)) * [0.0, 0.0, 1.0])
    made = limits.project(Pose(rotations, legal.positions))
    where, _ = forward(BONES, made)
    found = solve(limits, BONES, pose, [Reach("Wrist", where[:, -1])])
    assert found.converged.all()
    assert limits.contains(found.pose).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_poses_may_differ_in_the_joints_between(solver):
    goal = Reach("Wrist", [0.4, 0.2, 0.0])
    one, other = shrugged(0.1), shrugged(0.4)
    both = Pose(
        np.stack([one.rotations, other.rotations]), np.stack([one.positions, other.positions])
    )
    found = solver(model(), BONES, both, goal)
    assert found.converged.all()
    for k, pose in enumerate((one, other)):
        alone = solver(model(), BONES, pose, goal)
        np.testing.assert_allclose(found.pose.rotations[k], alone.pose.rotations, atol=1e-9)


def with_clavicle_limit():
    """The same, and a limit of the clavicle's own: 0.3 radians any way."""
    limits = model()
    small = Limit(RotationVector(), Ellipsoid([0.0, 0.0, 0.0], [0.3, 0.3, 0.3], np.eye(3)))
    return LimitModel({**limits.limits, "Clavicle": small}, BONES)


def test_joints_between_with_a_limit_of_their_own_move_with_the_others():
    limits = with_clavicle_limit()
    made = limits.sample(60, np.random.default_rng(3))
    where, _ = forward(BONES, made)
    found = solve(limits, BONES, BONES.rest_pose(), [Reach("Wrist", where[:, -1])])
    assert limits.contains(found.pose).all()
    assert found.converged.all()
    turned = quat.angle_between(found.pose.rotations[:, 1], quat.IDENTITY)
    assert turned.max() > 0.05
    assert np.array_equal(found.pose.rotations[:, 2], np.tile(quat.IDENTITY, (60, 1)))
    still = two_bone(limits, BONES, BONES.rest_pose(), Reach("Wrist", where[:, -1]))
    assert still.converged.sum() < found.converged.sum()
    assert np.array_equal(still.pose.rotations[:, 1], np.tile(quat.IDENTITY, (60, 1)))


def test_joints_between_that_are_named_share_the_range_of_the_sum():
    """A spine of four whose top is limited by 0.6 radians from the hips."""
    names = ("Hips", "Spine", "Spine1", "Spine2", "Chest", "Head")
    offsets = [[0, 0, 0], *[[0, 0.1, 0]] * 5]
    bones = Skeleton(names, [-1, 0, 1, 2, 3, 4], offsets)
    within = Ellipsoid([0.0, 0.0, 0.0], [0.6, 0.6, 0.6], np.eye(3))
    limits = LimitModel({"Chest": Limit(RotationVector(), within, "Hips")}, bones)
    spine = names[1:5]
    for angle, met in ((0.5, True), (1.5, False)):
        target = [10.0 * np.sin(angle), 0.4, 10.0 * np.cos(angle)]
        found = look_at(limits, bones, bones.rest_pose(), target, spine)
        assert limits.contains(found.pose)
        assert found.converged == met
        turns = np.linalg.norm(quat.log(found.pose.rotations[1:5]), axis=1)
        whole = min(angle, 0.6)
        assert whole - 1e-3 < turns.sum() < 1.1 * whole  # none turns back
        assert not met or np.ptp(turns) < 0.02  # each takes its share
    solved = solve(
        *(limits, bones, bones.rest_pose(), [Aim("Chest", [0.3, 0.45, 1.0])]), joints=spine
    )
    assert solved.converged
    assert limits.contains(solved.pose)


def test_ancestors_are_found_by_the_names_of_another_skeleton():
    renamed = Skeleton(tuple(f"rig:{n}" for n in NAMES), BONES.parents, BONES.offsets)
    limits, pose = model(), shrugged(0.5)
    found = solve(limits, renamed, pose, [Reach("rig:Wrist", [-0.3, 0.3, 0.2])])
    same = solve(limits, BONES, pose, [Reach("Wrist", [-0.3, 0.3, 0.2])])
    assert np.array_equal(found.pose.rotations, same.pose.rotations)
    assert limits.contains(found.pose)


def shrugging(frames=12):
    """A clip whose clavicle and scapula turn, so that no two frames are alike between."""
    poses = [shrugged(angle) for angle in np.linspace(0.0, 0.5, frames)]
    rotations = np.stack([pose.rotations for pose in poses])
    return Clip(BONES, Pose(rotations, np.tile(BONES.offsets, (frames, 1, 1))), 1 / 30, "shrug")


def test_a_clip_is_driven_while_the_joints_between_do_as_they_do():
    limits, clip = model(), shrugging()
    driven = follow(limits, clip, [Reach("Wrist", [0.55, 0.2, 0.1])])
    assert limits.contains(driven.clip.pose).all()
    between = driven.clip.pose.rotations[:, 1:3]
    np.testing.assert_allclose(between, clip.pose.rotations[:, 1:3], atol=1e-12)
    assert driven.solution.converged.all()


def test_a_clip_looks_while_the_joints_between_do_as_they_do():
    limits, clip = model(), shrugging()
    axis = np.array([1.0, 0.0, 0.0])
    seen = watch(limits, clip, np.array([2.0, 1.0, 0.5]), ["UpperArm", "Elbow"], axis=axis)
    assert limits.contains(seen.clip.pose).all()
    assert seen.solution.converged.all()
    where, how = forward(BONES, seen.clip.pose)
    way = np.array([2.0, 1.0, 0.5]) - where[:, 4]
    along = np.sum(quat.rotate(how[:, 4], axis) * way, axis=1) / np.linalg.norm(way, axis=1)
    assert along.min() > 1.0 - 1e-6


def test_limits_and_skeletons_are_not_kept_alive():
    limits = model()
    renamed = Skeleton(tuple(f"rig:{n}" for n in NAMES), BONES.parents, BONES.offsets)
    solve(limits, renamed, shrugged(0.1), [Reach("rig:Wrist", [0.5, 0.1, 0.0])])
    kept = weakref.ref(renamed)
    del renamed, limits
    gc.collect()
    assert kept() is None
