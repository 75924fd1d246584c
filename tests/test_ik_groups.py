"""Inverse kinematics within limits of a figure's groups: joints move as controls move them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from synovia import Clip, LimitModel, Pose, forward, human, human_limits, quat
from synovia.ik import Aim, Orient, Reach, Stay, follow, look_at, solve, track, two_bone, watch

BODY = human()
BONES = BODY.skeleton
MODEL = LimitModel.of_figure(BODY)
REST = Pose(BODY.pose().rotations, BODY.pose().positions)
SPINE = [
    f"{part}{n}" for part, count in (("L", 5), ("T", 12), ("C", 7)) for n in range(count, 0, -1)
]
LOOKING = [*SPINE, "Head"]
ARM = ["LeftUpperArm", "LeftLowerArm", "LeftForearm", "LeftHand"]


def turn_of(pose, top, base):
    """The angle, in degrees, of one joint as another one above it sees it."""
    _, turns = forward(BONES, pose)
    between = quat.mul(quat.inverse(turns[BONES.index(base)]), turns[BONES.index(top)])
    return np.degrees(np.linalg.norm(quat.log(between)))


def elsewhere():
    """The rest pose, with the root turned and moved."""
    rotations, positions = REST.rotations.copy(), REST.positions.copy()
    rotations[0], positions[0] = quat.exp([0.0, 1.0, 0.0]), [1.0, 1.0, 1.0]
    return Pose(rotations, positions)


def test_looking_behind_twists_the_spine_no_farther_than_its_controls():
    behind = [-1.0, 1.6, -1.0]
    apart = look_at(human_limits(), BONES, REST, behind, LOOKING)
    together = look_at(MODEL, BONES, REST, behind, LOOKING)
    assert MODEL.contains(together.pose)
    assert turn_of(apart.pose, "T1", "L1") > 35.0  # legal by joints, not for the human
    assert not MODEL.contains(apart.pose)
    ends = [BODY.controls[f"thoracic.{name}"].high for name in ("flexion", "bend", "twist")]
    assert turn_of(together.pose, "T1", "L1") < np.linalg.norm(ends)
    assert "held by the range of" in together.reason()
    assert "thoracic.twist" in together.reason()


def test_a_look_ahead_is_met_by_weights_and_joints():
    found = look_at(MODEL, BONES, elsewhere(), [2.0, 1.7, 2.0], LOOKING)
    assert found.converged
    assert MODEL.contains(found.pose)
    neck = look_at(MODEL, BONES, REST, [0.5, 1.6, 1.0], LOOKING, weights=[0.0] * 17 + [1.0] * 8)
    assert neck.converged
    assert np.array_equal(neck.pose.rotations[1:6], REST.rotations[1:6])  # the lumbar spine


def test_goals_are_met_where_the_root_is():
    where = np.array([1.3, 1.5, 0.7])
    found = solve(MODEL, BONES, elsewhere(), [Reach("LeftHand", where)])
    assert found.reason() == "all goals are met"
    assert MODEL.contains(found.pose)
    placed, turns = forward(BONES, found.pose)
    assert np.allclose(placed[BONES.index("LeftHand")], where, atol=1e-3)
    assert np.array_equal(found.pose.rotations[0], elsewhere().rotations[0])
    turned = turns[BONES.index("Head")]
    goals = [Reach("LeftHand", where), Orient("Head", turned), Stay(found.pose)]
    again = solve(MODEL, BONES, found.pose, [*goals, Aim("LeftFoot", [1.0, -5.0, 1.0], [0, -1, 0])])
    assert again.errors.shape == (4,)
    assert again.errors[:2].max() < 0.05
    assert MODEL.contains(again.pose)


def test_targets_may_have_leading_axes():
    places = np.array([[0.2, 1.3, 0.4], [0.4, 1.1, 0.3], [0.0, 9.0, 0.0]])
    found = solve(MODEL, BONES, REST, [Reach("LeftHand", places)], joints=ARM)
    assert found.converged.tolist() == [True, True, False]
    assert found.pose.rotations.shape == (3, 75, 4)
    assert "beyond the chain's reach" in found.reason(2)


def test_a_track_turns_no_joint_farther_than_asked():
    found = track(MODEL, BONES, REST, [Reach("LeftHand", [0.2, 1.3, 0.4])])
    assert not found.converged
    turned = quat.angle_between(found.pose.rotations, REST.rotations).max()
    assert 0.12 < turned <= 0.14 + 1e-9
    assert MODEL.contains(found.pose)


def test_clips_are_watched_and_followed():
    sway = np.sin(np.linspace(0.0, 1.0, 5))[:, None]
    _, neutral, high = BODY.ranges
    posed = BODY.pose(neutral + 0.2 * sway * (high - neutral))
    clip = Clip(BONES, Pose(posed.rotations, posed.positions), 1.0 / 30.0)
    seen = watch(MODEL, clip, [0.3, 1.5, 2.0], LOOKING)
    assert seen.solution.converged.all()
    hand = forward(BONES, clip.pose)[0][:, BONES.index("LeftHand")] + np.array([0.01, 0.02, 0.01])
    led = follow(MODEL, clip, [Reach("LeftHand", hand)], joints=ARM)
    assert led.solution.converged.all()
    assert MODEL.contains(seen.clip.pose).all()
    assert MODEL.contains(led.clip.pose).all()


def test_groups_keep_the_speed_limit_where_a_target_passes_behind_the_back():
    angle = np.linspace(0.0, 2.0 * np.pi, 60)
    target = np.stack([3.0 * np.sin(angle), np.full(60, 1.6), 3.0 * np.cos(angle)], axis=1)
    still = Pose(np.tile(REST.rotations, (60, 1, 1)), np.tile(REST.positions, (60, 1, 1)))
    seen = watch(MODEL, Clip(BONES, still, 1.0 / 60.0), target, LOOKING)
    assert seen.late.any()
    assert MODEL.contains(seen.clip.pose).all()
    rotations = seen.clip.pose.rotations
    steps_deg = np.degrees(quat.angle_between(rotations[:-1], rotations[1:]))
    assert 5.0 < steps_deg.max() <= 10.0 + 1e-6  # 600 degrees a second


def test_what_groups_do_not_take_is_refused():
    goals = [Reach("LeftHand", [0.2, 1.3, 0.4])]
    with pytest.raises(ValueError, match="two_bone takes limits of single joints"):
        two_bone(MODEL, BONES, REST, goals[0])
    with pytest.raises(ValueError, match="take no pins"):
        solve(MODEL, BONES, REST, goals, pinned=["LeftFoot"])
    larger = replace(BONES, offsets=2.0 * BONES.offsets)
    with pytest.raises(ValueError, match="must have the figure's bones"):
        solve(MODEL, larger, REST, goals)
    part = LimitModel(MODEL.groups[:2], BONES)
    with pytest.raises(ValueError, match="takes all groups of one figure"):
        solve(part, BONES, REST, goals)
