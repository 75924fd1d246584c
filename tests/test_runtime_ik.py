"""Inverse kinematics of the runtime: what Python's solvers find, and never an illegal pose."""

from __future__ import annotations

import numpy as np
import pytest

from arms import FAMILIES, arm, of_family
from oracles import random_quats
from synovia import Pose, quat
from synovia.ik import Reach, look_at, two_bone
from synovia.io.packed_limits import packed_limits_bytes
from synovia.kernels import runtime

MODELS = ["arm", *FAMILIES]


def model_named(name):
    return arm() if name == "arm" else of_family(name)


def starts(model, count, rng):
    """Legal poses (count, joints, 4)."""
    rotations = quat.exp(0.4 * rng.normal(size=(count, len(model.skeleton.names), 3)))
    places = np.broadcast_to(model.skeleton.offsets, (*rotations.shape[:2], 3))
    return model.project(Pose(rotations, places)).rotations


@pytest.mark.parametrize("name", MODELS)
def test_looking_is_that_of_python_where_the_goal_is_met(name):
    rng, model = np.random.default_rng(1), model_named(name)
    skeleton, packed = model.skeleton, np.frombuffer(packed_limits_bytes(model))
    away, met = np.empty(len(model.limits)), 0
    for pose in starts(model, 12, rng):
        target = np.array([0.7, 1.2, 0.0]) + rng.normal(size=3)
        mine = pose.ravel().copy()
        left = runtime.look_at(packed, mine, 1, 4, np.array([0, 0, 0, 1.0, 0, 0]), target, away)
        found = mine.reshape(-1, 4)
        assert model.contains(Pose(found, skeleton.offsets)).all()
        theirs = look_at(
            model,
            skeleton,
            Pose(pose, skeleton.offsets),
            target,
            skeleton.names[1:],
            axis=[1, 0, 0],
        )
        if left <= runtime.MET:
            met += 1
            np.testing.assert_allclose(found, theirs.pose.rotations, atol=1e-9)
    assert met >= 3


@pytest.mark.parametrize("name", MODELS)
def test_two_bones_are_those_of_python_where_the_triangle_closes(name):
    rng, model = np.random.default_rng(2), model_named(name)
    skeleton, packed = model.skeleton, np.frombuffer(packed_limits_bytes(model))
    away, closed = np.empty(len(model.limits)), 0
    reachable = starts(model, 12, rng).copy()
    for k, pose in enumerate(starts(model, 12, rng)):
        reachable[k, [0, 3]] = pose[[0, 3]]  # which two bones do not turn
        goal = Reach("Wrist", ends(skeleton, reachable[k]), point=[0.05, 0.0, 0.0])
        pole = rng.normal(size=3) if k % 2 else None
        mine = pose.ravel().copy()
        left = runtime.two_bone(
            packed, mine, 3, goal.point, goal.target, np.zeros(3) if pole is None else pole, away
        )
        found = mine.reshape(-1, 4)
        assert model.contains(Pose(found, skeleton.offsets)).all()
        assert left == pytest.approx(np.linalg.norm(ends(skeleton, found) - goal.target), abs=1e-12)
        start = Pose(pose, skeleton.offsets)
        theirs = two_bone(model, skeleton, start, goal, pole=pole)
        # Python may also bend from another legal rotation, which the runtime does not try.
        same_bend = quat.angle_between(found[2], theirs.pose.rotations[2]) < 1e-6
        if same_bend and theirs.iterations == 0 and theirs.errors.max() < 1e-9:
            closed += 1
            np.testing.assert_allclose(found, theirs.pose.rotations, atol=1e-6)
    assert closed >= 3


def ends(skeleton, rotations):
    """Where the point of the goal is, by the plainest way: from the wrist up."""
    place = np.array([0.05, 0.0, 0.0])
    for joint in (3, 2, 1, 0):
        place = quat.rotate(rotations[joint], place) + skeleton.offsets[joint]
    return place


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_numbers_that_are_none_leave_a_legal_pose(bad):
    model = arm()
    skeleton, packed = model.skeleton, np.frombuffer(packed_limits_bytes(model))
    away = np.empty(len(model.limits))
    for where in range(6):
        vectors = np.ones((2, 3))
        vectors.flat[where] = bad
        pose = random_quats(5, np.random.default_rng(where)).ravel()
        runtime.look_at(packed, pose, 0, 4, vectors.ravel().copy(), vectors[0], away)
        runtime.two_bone(packed, pose, 3, vectors[0], vectors[1], vectors[0], away)
        assert model.contains(Pose(pose.reshape(-1, 4), skeleton.offsets)).all()
