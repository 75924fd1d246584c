"""Clips driven by goals: on their paths, legal in every frame, and without pops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arms
from oracles import random_quats
from synovia import Clip, LimitModel, Pose, Skeleton, quat
from synovia.charts import SwingTwist
from synovia.ik import (
    Aim,
    Comfort,
    Orient,
    Reach,
    SearchSettings,
    Stay,
    follow,
    look_at,
    solve,
    watch,
)
from synovia.ik.goals import errors_of
from synovia.limit import Limit
from synovia.shapes import Box
from synovia.skeleton import forward

FRAMES = 40
FRAME = np.radians(10.0)
"""What the default speed, 600 degrees a second, allows in one of 60 frames a second.

A limit that turns a joint back may add a little."""


def moving(model, size=0.3, frames=FRAMES, seed=0, name="wave"):
    """A legal clip in which every joint swings about a legal rotation."""
    rng, count = np.random.default_rng(seed), len(model.skeleton)
    time = np.linspace(0.0, 2.0, frames)[:, None, None]
    turns = size * np.sin(time * rng.uniform(1.0, 3.0, (count, 3)) + rng.uniform(0, 6, (count, 3)))
    turns[:, 0] = 0.0
    centre = model.sample(1, rng).rotations[0]
    rotations = quat.normalize(quat.mul(centre, quat.exp(turns)))
    positions = np.tile(model.skeleton.offsets, (frames, 1, 1))
    return model.project(Clip(model.skeleton, Pose(rotations, positions), 1.0 / 60.0, name))


def still(skeleton, frames):
    rest = skeleton.rest_pose()
    rotations = np.tile(rest.rotations, (frames, 1, 1))
    return Clip(skeleton, Pose(rotations, np.tile(rest.positions, (frames, 1, 1))), 1.0 / 60.0)


def place_of(clip, joint="Hand"):
    return forward(clip.skeleton, clip.pose)[0][:, clip.skeleton.index(joint)]


def turned_away(driven, clip):
    """Return the angles by which joints rotate in each frame, apart from the clip's motion.

    They exceed the bound a little where the pose carried along with the clip leaves its limits.
    """
    now, then = driven.pose.rotations, clip.pose.rotations
    carried = quat.mul(now[:-1], quat.mul(quat.inverse(then[:-1]), then[1:]))
    return quat.angle_between(carried, now[1:])


def test_a_hand_follows_its_path():
    model = arms.arm()
    clip, other = moving(model), moving(model, seed=0, size=0.35)
    path = place_of(other)
    seen = []
    driven = follow(
        model, clip, [Reach("Hand", path)], progress=lambda frames: seen.extend(frames) or frames
    )
    assert seen == list(range(FRAMES))
    assert model.contains(driven.clip.pose).all()
    assert driven.solution.converged.all()
    assert not driven.late.any()
    assert np.linalg.norm(place_of(driven.clip) - path, axis=-1).max() < 2e-4 * 1.2
    assert (driven.clip.frame_time, driven.clip.name) == (clip.frame_time, clip.name)
    assert driven.clip.steps.max() < clip.steps.max() + np.radians(2.0)
    assert driven.reason(3) == "all goals are met"


def test_its_own_path_leaves_a_clip_as_it_is():
    clip = moving(arms.arm())
    driven = follow(arms.arm(), clip, [Reach("Hand", place_of(clip))])
    assert quat.angle_between(driven.clip.pose.rotations, clip.pose.rotations).max() < 1e-3
    assert driven.solution.errors[:, 1].max() < 1e-3  # the wish to stay near the clip


def test_joints_that_no_goal_hangs_on_do_as_in_the_clip():
    bones = Skeleton(
        ("Hips", "Chest", "Left", "LeftHand", "Right", "RightHand"),
        [-1, 0, 1, 2, 1, 4],
        [[0, 1, 0], [0, 0.4, 0], [0.2, 0, 0], [0.5, 0, 0], [-0.2, 0, 0], [-0.5, 0, 0]],
    )
    rng = np.random.default_rng(1)
    turns = quat.exp(rng.normal(scale=0.5, size=(3, 200, 3)))
    limits = {n: Limit.fit(seen) for n, seen in zip(("Chest", "Left", "Right"), turns, strict=True)}
    model = LimitModel(limits, bones)
    clip = moving(model)
    path = place_of(clip, "LeftHand") + 0.03
    driven = follow(model, clip, [Reach("LeftHand", path)])
    same = (driven.clip.pose.rotations == clip.pose.rotations).all(axis=(0, 2))
    assert same.tolist() == [True, False, False, True, True, True]
    pinned = follow(model, clip, [Reach("LeftHand", path)], pinned=["RightHand"])
    off = np.linalg.norm(place_of(pinned.clip, "RightHand") - place_of(clip, "RightHand"), axis=1)
    assert off.max() < 0.01
    assert model.contains(pinned.clip.pose).all()
    goals = pinned.solution.goals
    assert [goal.joint for goal in (goals[0], goals[-1])] == ["LeftHand", "RightHand"]
    alone = follow(model, clip, [Reach("LeftHand", path)], joints=["Left"])
    assert (alone.clip.pose.rotations[:, 1] == clip.pose.rotations[:, 1]).all()


def test_a_free_root_goes_along_and_comes_back():
    model = arms.arm()
    clip = moving(model, frames=80)
    path = place_of(clip) + np.where(np.arange(80) < 30, 1.0, 0.0)[:, None] * [0.0, 0.4, 0.0]
    driven = follow(model, clip, [Reach("Hand", path)], free_root=True, max_speed=100.0)
    assert driven.solution.converged[[0, 29, 79]].all()
    away = np.linalg.norm(driven.clip.pose.positions[:, 0] - clip.pose.positions[:, 0], axis=1)
    assert away[29] > 0.1
    assert away[79] < 0.02
    assert model.contains(driven.clip.pose).all()


@pytest.mark.parametrize("family", ["cone", *arms.FAMILIES])
def test_no_pop_where_a_target_leaves_reach_and_comes_back(family):
    """Along a line out of reach and back, in steps of 1 % of the chain's length, and a rest."""
    model = arms.arm() if family == "cone" else arms.of_family(family)
    clip = moving(model, size=0.1, frames=93)
    start = place_of(clip)[0]
    shoulder = place_of(clip, "Shoulder")[0]
    out = (start - shoulder) / np.linalg.norm(start - shoulder)
    far = 0.012 * np.maximum(40.0 - np.abs(np.arange(93) - 40.0), 0.0)[:, None]
    driven = follow(model, clip, [Reach("Hand", start + far * out)])
    assert model.contains(driven.clip.pose).all()
    assert not driven.solution.converged[40]
    assert driven.solution.converged[-1]
    assert turned_away(driven.clip, clip).max() < 1.05 * FRAME
    assert driven.clip.steps.max() < FRAME + clip.steps.max()


def test_a_jump_takes_some_frames():
    model = arms.arm()
    clip = moving(model, size=0.05, frames=60)
    target = place_of(moving(model, size=0.5, frames=60))[30]
    path = np.where(np.arange(60)[:, None] < 20, place_of(clip), target)
    driven = follow(model, clip, [Reach("Hand", path)])
    assert model.contains(driven.clip.pose).all()
    assert turned_away(driven.clip, clip).max() < 1.05 * FRAME
    assert driven.late[20]
    assert not driven.solution.converged[20]
    assert not driven.late[:20].any()
    assert driven.reason(20).endswith("its target: still on the way, as fast as joints may turn")
    assert driven.solution.converged[-1]
    missed = np.linalg.norm(place_of(driven.clip) - path, axis=1)
    np.testing.assert_allclose(driven.solution.errors[:, 0], missed, atol=1e-9)
    slow = follow(model, clip, [Reach("Hand", path)], max_speed=np.radians(120.0))
    assert turned_away(slow.clip, clip).max() < 1.01 * np.radians(2.0)
    assert slow.late.sum() > driven.late.sum()


def test_a_limb_that_bent_to_the_wrong_side_comes_back():
    """Stretched out along a line, an arm may bend at the wrist, and the elbow cannot follow."""
    model = arms.arm()
    clip = moving(model, size=0.1, frames=81)
    start, shoulder = place_of(clip)[0], place_of(clip, "Shoulder")[0]
    far = 0.012 * (40.0 - np.abs(np.arange(81) - 40.0))[:, None]
    path = start + far * (start - shoulder) / np.linalg.norm(start - shoulder)
    driven = follow(model, clip, [Reach("Hand", path)])
    assert driven.solution.converged[-1]
    bent = quat.angle_between(driven.clip.pose.rotations[-1], clip.pose.rotations[-1])
    assert bent.max() < np.radians(30.0)


def test_what_cannot_be_reached_is_said_frame_by_frame():
    bones = Skeleton(("Root", "Elbow", "Hand"), [-1, 0, 1], [[0, 0, 0], [0.3, 0, 0], [0.3, 0, 0]])
    model = LimitModel({"Elbow": arms.hinge([0, 0, 1], 0.0, 1.0)}, bones)
    bends = np.linspace(0.5, 1.5, 41)
    clip = Clip(
        bones, Pose(np.tile([1.0, 0, 0, 0], (41, 3, 1)), np.tile(bones.offsets, (41, 1, 1))), 0.02
    )
    path = np.stack([0.3 + 0.3 * np.cos(bends), 0.3 * np.sin(bends), 0.0 * bends], axis=1)
    driven = follow(model, clip, [Reach("Hand", path)])
    assert driven.solution.converged.tolist() == (bends < 1.0 + 1e-3).tolist()
    assert driven.solution.blocking(30).keys() == {"Elbow"}
    assert driven.solution.blocking(30)["Elbow"] == pytest.approx(bends[30] - 1.0, abs=1e-2)
    assert "held by the limit of Elbow (28.6 degrees more)" in driven.reason(40)


def test_a_clip_outside_its_limits_is_clamped_first():
    model = arms.arm()
    clip = moving(model)
    wild = replace(
        clip,
        pose=Pose(
            random_quats(5, np.random.default_rng(0)) + 0 * clip.pose.rotations, clip.pose.positions
        ),
    )
    driven = follow(model, wild, [Reach("Hand", [0.5, 1.2, 0.3])])
    assert model.contains(driven.clip.pose).all()


def test_other_goals_and_names():
    model = arms.arm()
    clip = moving(model)
    _, how = forward(clip.skeleton, moving(model, size=0.35).pose)
    goals = [Orient("Hand", how[:, 4]), Aim("Wrist", [2.0, 1.0, 0.5], axis=[1, 0, 0], weight=0.1)]
    assert model.contains(follow(model, clip, goals).clip.pose).all()
    bones = replace(clip.skeleton, names=("Chest", "S", "E", "W", "H"))
    theirs = replace(clip, skeleton=bones)
    names = {"S": "Shoulder", "E": "Elbow", "W": "Wrist", "H": "Hand"}
    path = place_of(clip) + 0.05
    one = follow(model, theirs, [Reach("H", path)], names=names)
    assert (
        one.clip.pose.rotations == follow(model, clip, [Reach("Hand", path)]).clip.pose.rotations
    ).all()
    kept = follow(model, clip, [Stay(clip.pose)])
    np.testing.assert_allclose(kept.clip.pose.rotations, clip.pose.rotations, atol=1e-9)


@pytest.mark.parametrize(
    ("goals", "options", "said"),
    [
        (
            [Reach("Hand", np.zeros((39, 3)))],
            {},
            "Hand: there must be one target, or one for each of the clip's 40 frames, got 39",
        ),
        (
            [Reach("Hand", np.zeros((2, 40, 3)))],
            {},
            r"40 frames, got an array of shape \(2, 40, 3\)",
        ),
        ([Reach("Hnad", np.zeros(3))], {}, "no joint 'Hnad'; did you mean Hand"),
        ([Reach("Hand", np.zeros(3))], {"pinned": ["Foot"]}, "no joint 'Foot'"),
        ([Reach("Hand", np.zeros(3))], {"pinned": "Chest"}, "pinned must be a list of names"),
        ([Reach("Hand", np.zeros(3))], {"max_speed": 0.0}, "max_speed must be above 0"),
        ([], {}, "goals must be some of"),
    ],
)
def test_follow_says_what_is_wrong(goals, options, said):
    with pytest.raises(ValueError, match=said):
        follow(arms.arm(), moving(arms.arm()), goals, **options)


def test_a_clip_must_have_frames():
    bones = arms.skeleton()
    empty = Clip(bones, Pose(np.zeros((0, 5, 4)), np.zeros((0, 5, 3))), 0.01, "nothing")
    with pytest.raises(ValueError, match="nothing: a clip to drive must have frames, got none"):
        follow(arms.arm(), empty, [Reach("Hand", [0, 0, 0])])
    with pytest.raises(ValueError, match="must have frames"):
        watch(arms.arm(), empty, [0, 0, 1], ["Hand"])


def test_a_clip_of_one_frame():
    clip = moving(arms.arm(), frames=1)
    driven = follow(arms.arm(), clip, [Reach("Hand", place_of(clip))])
    assert driven.solution.converged.tolist() == [True]
    assert watch(arms.arm(), clip, [2, 1, 3], ["Wrist"]).clip.frames == 1


@settings(max_examples=4)
@given(seed=st.integers(0, 10**6))
def test_gaps_are_measured_as_the_solver_does(seed):
    rng = np.random.default_rng(seed)
    model = arms.arm()
    start = Pose(random_quats(5, rng), model.skeleton.offsets)
    goals = [
        Reach("Hand", rng.normal(size=(6, 3)), point=[0.1, 0.2, 0.0]),
        Aim("Wrist", rng.normal(size=3), axis=rng.normal(size=3), point=[0.0, 0.1, 0.0]),
        Orient("Elbow", random_quats(6, rng)),
        Stay(Pose(random_quats(5, rng), model.skeleton.offsets), model.skeleton.names[1:]),
        Comfort(margin=0.4),
    ]
    found = solve(model, model.skeleton, start, goals, settings=SearchSettings(0, 3))
    measured = errors_of(goals, model, found.pose)
    np.testing.assert_allclose(measured, found.errors, atol=1e-7)


UP = np.array([0.0, 1.0, 0.0])
BODY = Skeleton(("Hips", "Spine", "Neck", "Head"), [-1, 0, 1, 2], [[0, 1, 0]] + [[0, 0.2, 0]] * 3)
WATCHING = ("Spine", "Neck", "Head")


def turning(*most):
    shapes = [Box([-0.2, -0.2, -angle], [0.2, 0.2, angle], np.eye(3)) for angle in most]
    limits = [Limit(SwingTwist(axis=UP), shape) for shape in shapes]
    return LimitModel(dict(zip(WATCHING, limits, strict=True)), BODY)


def around(frames, last=2.0 * np.pi):
    """Targets that go round the body at the height of the eyes."""
    angle = np.linspace(0.0, last, frames)
    return np.stack([4 * np.sin(angle), np.full(frames, 1.6), 4 * np.cos(angle)], axis=1)


def test_watching_is_looking_frame_by_frame():
    model = turning(0.5, 0.7, 0.9)
    clip = moving(model, size=0.1)
    target = around(FRAMES, 1.5)
    seen = watch(model, clip, target, WATCHING, weights=[1, 2, 3])
    frame_by_frame = look_at(model, BODY, clip.pose, target, WATCHING, weights=[1, 2, 3])
    assert (seen.clip.pose.rotations == frame_by_frame.pose.rotations).all()
    assert (seen.solution.errors == frame_by_frame.errors).all()
    assert seen.solution.converged.all()
    assert not seen.late.any()
    once = watch(model, clip, target[9], WATCHING)
    assert once.solution.converged.all()


def test_a_look_changes_sides_behind_the_back_without_a_pop():
    model = turning(0.5, 0.7, 0.9)
    clip = moving(model, size=0.0, frames=240)
    seen = watch(model, clip, around(240), WATCHING)
    assert model.contains(seen.clip.pose).all()
    assert turned_away(seen.clip, clip).max() < 1.01 * FRAME
    jump = look_at(model, BODY, clip.pose, around(240), WATCHING).pose.rotations
    assert quat.angle_between(jump[1:], jump[:-1]).max() > 3.0 * FRAME
    assert seen.late.any()
    assert seen.solution.converged[[0, -1]].all()
    held = int(np.flatnonzero(seen.late)[0])
    assert "still on the way" in seen.reason(held)
    blocked = int(np.flatnonzero(~seen.solution.converged & ~seen.late)[0])
    assert "held by the limit of" in seen.reason(blocked)


def test_watch_says_what_is_wrong():
    model = turning(0.5, 0.7, 0.9)
    clip = moving(model)
    with pytest.raises(ValueError, match="Head: there must be one target, or one for each of the"):
        watch(model, clip, np.zeros((2, FRAMES, 3)), WATCHING)
    with pytest.raises(ValueError, match="40 frames, got 12"):
        watch(model, clip, around(12), WATCHING)
    with pytest.raises(ValueError, match="no joint 'Brain'"):
        watch(model, clip, around(FRAMES), ["Brain"])


def test_feet_that_are_pinned_stand_while_the_hand_is_still_on_its_way():
    names = (
        "Hips",
        "Chest",
        "Arm",
        "Hand",
        *(s + b for s in "LR" for b in ("Hip", "Knee", "Foot")),
    )
    offsets = [[0, 0.9, 0], [0, 0.5, 0], [0.1, 0, 0], [0.5, 0, 0]]
    for side in (0.1, -0.1):
        offsets += [[side, 0, 0], [0, -0.45, 0.05], [0, -0.42, -0.05]]
    body = Skeleton(names, [-1, 0, 1, 2, 0, 4, 5, 0, 7, 8], np.array(offsets))
    rest = body.rest_pose()
    rotations = np.tile(rest.rotations, (20, 1, 1))
    clip = Clip(body, Pose(rotations, np.tile(rest.positions, (20, 1, 1))), 1 / 60, "still")
    leg = Limit(
        SwingTwist(axis=[1.0, 0.0, 0.0]), Box([-0.4, -0.4, -2.0], [0.4, 0.4, 2.0], np.eye(3))
    )
    model = LimitModel({"LHip": leg, "RHip": leg, "LKnee": leg, "RKnee": leg}, body)
    target = np.where(np.arange(20)[:, None] < 3, [0.6, 1.4, 0.0], [0.5, 0.7, 0.5])
    driven = follow(model, clip, [Reach("Hand", target)], pinned=["LFoot", "RFoot"], free_root=True)
    assert driven.late.any()
    feet = forward(body, driven.clip.pose)[0][:, [body.index("LFoot"), body.index("RFoot")]]
    assert np.linalg.norm(feet - feet[0], axis=-1).max() < 1e-3
    assert driven.solution.pins == 2
    assert [goal.joint for goal in driven.solution.goals[-2:]] == ["LFoot", "RFoot"]
    assert all(driven.solution.slipped(frame) == {} for frame in range(20))
    root = np.linalg.norm(np.diff(driven.clip.pose.positions[:, 0], axis=0), axis=-1)
    assert (root > 0.01).sum() >= 3  # it does not jump either


def test_a_hand_that_gets_stuck_returns_by_the_clips_pose_without_going_back():
    model = arms.arm()
    clip = moving(model, size=0.05, frames=80)
    targets = [place_of(moving(model, seed=k, size=0.0, frames=1))[0] for k in range(1, 9)]
    for target in targets:
        path = np.where(np.arange(80)[:, None] < 5, place_of(clip), target)
        assert follow(model, clip, [Reach("Hand", path)]).solution.converged[-20:].all()
