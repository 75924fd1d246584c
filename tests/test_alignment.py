"""Rules by which rest poses and motion show the frames of a rig."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import synovia
from synovia import Clip, Pose, Skeleton, quat
from synovia.io.smpl import smpl_skeleton
from synovia.population import limits_for
from synovia.rigs import FACE, FINGERS, align, canonical_skeleton, recognize
from synovia.rigs.frames import median_rotation
from synovia.rigs.stance import stance_of, unlike_sides, unlike_standing
from twins import walker, with_rest

WALK = walker()


def about(axis, degrees):
    return quat.exp(np.radians(degrees) * np.array(axis, float))


def bone(name):
    return f"mixamorig:{name}"


def turned(clip, name, turn):
    """Return the clip with a joint rotated by a constant, in its own frame."""
    rotations = np.array(clip.pose.rotations)
    joint = clip.skeleton.index(name)
    rotations[:, joint] = quat.mul(rotations[:, joint], turn)
    return replace(clip, pose=Pose(rotations, clip.pose.positions))


def arms_up(left, right):
    """Return the walk on a rig whose upper arms rest so many degrees above level."""
    arms = {bone("LeftArm"): about((0, 0, 1), left), bone("RightArm"): about((0, 0, 1), -right)}
    return with_rest(WALK, arms)


@pytest.mark.parametrize(("degrees", "is_rest"), [(0, True), (25, True), (35, False), (90, False)])
def test_raised_arms_are_no_rest_pose(degrees, is_rest):
    rig = recognize(arms_up(degrees, degrees).skeleton)
    reason = unlike_standing(stance_of(rig, rig.skeleton.rest_pose()))
    assert (reason is None) == is_rest
    assert is_rest or f"{degrees} degrees above level" in reason


@pytest.mark.parametrize(("degrees", "is_rest"), [(0, True), (-20, True), (-46, False)])
def test_a_rest_pose_is_symmetric(degrees, is_rest):
    clip = arms_up(0, degrees)
    rig = recognize(clip.skeleton)
    assert (unlike_sides(stance_of(rig, rig.skeleton.rest_pose())) is None) == is_rest
    assert ("the rest pose" in align(rig, [clip]).steps[0]) == is_rest


def test_a_person_who_lies_down_does_not_change_what_is_up():
    rotations = np.array(WALK.pose.rotations)
    rotations[:, 0] = quat.mul(about((1, 0, 0), 90), rotations[:, 0])
    lying = replace(WALK, pose=Pose(rotations, WALK.pose.positions))
    skeleton = replace(WALK.skeleton, up="")
    lying = replace(lying, skeleton=skeleton)
    alignment = align(recognize(skeleton), [lying])
    assert any("gravity does not show" in step for step in alignment.steps)
    assert not any("set upright" in step for step in alignment.steps)


def test_two_hinges_far_off_silence_the_limbs():
    twisted = {
        bone(f"{side}{part}"): about((1, 0, 0), 80)
        for side in ("Left", "Right")
        for part in ("Arm",)
    }
    alignment = align(recognize(WALK.skeleton), [with_rest(WALK, twisted)])
    assert any("no verdict on limbs" in step for step in alignment.steps)
    assert set(alignment.trusted) == {"chest", "head"} | {
        role for role in alignment.trusted if role.endswith("Shoulder")
    }


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_a_collarbone_is_measured_from_its_median(axis):
    before = align(recognize(WALK.skeleton), [WALK]).canonical_rotations(WALK.pose)
    clip = turned(WALK, bone("LeftShoulder"), about(axis, 40))
    after = align(recognize(clip.skeleton), [clip]).canonical_rotations(clip.pose)
    for seen in (before, after):
        assert quat.angle_between(median_rotation(seen["leftShoulder"]), quat.IDENTITY) < 1e-6
    angles = [quat.angle_between(quat.IDENTITY, seen["leftShoulder"]) for seen in (before, after)]
    np.testing.assert_allclose(angles[0], angles[1], atol=1e-2)


@pytest.mark.parametrize(("axis", "most"), [("x", 30.0), ("y", 25.0)])
def test_the_zero_of_a_foot_moves_to_its_median_up_to_a_bound(axis, most):
    """Gravity is off: it would align part of the lift."""

    def median_deg(degrees):
        vector = {"x": (1, 0, 0), "y": (0, 1, 0)}[axis]
        clip = turned(WALK, bone("LeftFoot"), about(vector, degrees))
        alignment = align(recognize(clip.skeleton), [clip], gravity=False)
        seen = alignment.canonical_rotations(clip.pose)["leftFoot"]
        lift, _, rotation = np.degrees(quat.to_euler(median_rotation(seen), "xzy"))
        return lift if axis == "x" else rotation

    assert median_deg(0.0) == pytest.approx(0.0, abs=1e-6)
    assert median_deg(0.5 * most) == pytest.approx(0.0, abs=1e-6)
    # The foot's own frame is not quite canonical, so the rest is known to a few degrees.
    assert abs(median_deg(most + 25.0)) == pytest.approx(25.0, abs=16.0)


def test_few_frames_have_no_median():
    few = replace(WALK, pose=Pose(WALK.pose.rotations[:20], WALK.pose.positions[:20]))
    alignment = align(recognize(few.skeleton), [few])
    assert not alignment.medians
    assert not any("median" in step for step in alignment.steps)


def test_a_pose_that_is_held_has_no_median():
    frames = np.tile(WALK.pose.rotations[:1], (60, 1, 1))
    held = replace(WALK, pose=Pose(frames, np.tile(WALK.pose.positions[:1], (60, 1, 1))))
    assert not align(recognize(held.skeleton), [held]).medians
    turned_foot = turned(held, bone("LeftFoot"), about((0, 1, 0), 110))
    assert "left ankle" not in limits_for(turned_foot).silent


def test_a_foot_whose_median_is_outside_gets_no_verdict():
    clip = turned(WALK, bone("LeftFoot"), about((0, 1, 0), 110))
    limits = limits_for(clip)
    assert "left ankle" in limits.silent
    assert "right ankle" not in limits.silent
    assert any("leftFoot: its median is outside" in line for line in limits.explain())


@pytest.mark.parametrize("seed", range(6))
def test_a_clamped_clip_is_clean_when_its_alignment_is_estimated_again(seed):
    """Feet, collarbones and hips are off in part of the frames, so that medians move."""
    rng = np.random.default_rng(seed)
    rotations = np.array(WALK.pose.rotations)
    for name in ("LeftFoot", "RightFoot", "LeftShoulder", "RightUpLeg"):
        some = slice(None, int(rng.uniform(0.2, 0.9) * len(rotations)))
        joint = WALK.skeleton.index(bone(name))
        turn = quat.exp(rng.normal(scale=1.0, size=3))
        rotations[some, joint] = quat.mul(rotations[some, joint], turn)
    clip = replace(WALK, pose=Pose(rotations, WALK.pose.positions))
    report = synovia.check(clip)
    assert not (report.ok and report.unusual.ok)
    assert synovia.check(synovia.clamp(clip)).ok


def human_with_fingers(*, fingers=True, thumb=True, hand_twist=0.0):
    """Return one T-pose of the canonical human with fingers, palms down when twist is 0."""
    body = canonical_skeleton()
    kept = [k for k, name in enumerate(body.names) if name not in (*FINGERS, *FACE)]
    names = [body.names[k] for k in kept]
    parents = [-1 if up < 0 else kept.index(up) for up in body.parents[kept].tolist()]
    offsets = list(body.offsets[kept])
    ends = [
        (kept.index(k), end)
        for k, end in zip(body.end_parents, body.end_offsets, strict=True)
        if k in kept
    ]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        hand = names.index(f"{side}Hand")
        ends.append((hand, np.array([0.18 * sign, 0.0, 0.0])))
        added = []
        if fingers:
            added += [("IndexProximal", (0.08, 0, 0.03)), ("LittleProximal", (0.08, 0, -0.03))]
        if thumb:
            added += [("ThumbMetacarpal", (0.02, -0.005, 0.02))]
            added += [("ThumbProximal", (0.05, -0.01, 0.045))]
        twist = about((1, 0, 0), hand_twist)
        for name, place in added:
            names.append(f"{side}{name}")
            parents.append(hand)
            offsets.append(quat.rotate(twist, np.array(place) * [sign, 1, 1]))
    skeleton = Skeleton(
        tuple(names),
        np.array(parents),
        np.array(offsets),
        end_parents=np.array([parent for parent, _ in ends]),
        end_offsets=np.array([offset for _, offset in ends]),
    )
    rest = skeleton.rest_pose()
    return Clip(skeleton, Pose(rest.rotations[None], rest.positions[None]), 1.0)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, "fingers"),
        ({"fingers": False}, "thumb"),
        ({"fingers": False, "thumb": False}, None),
    ],
)
def test_what_shows_the_palm(options, shown):
    clip = human_with_fingers(**options)
    assert align(recognize(clip.skeleton)).palm == {"left": shown, "right": shown}


def test_the_convention_of_smpl_shows_the_palm():
    assert align(recognize(smpl_skeleton(24))).palm == dict.fromkeys(
        ("left", "right"), "convention"
    )


@pytest.mark.parametrize("degrees", [-90.0, 30.0, 90.0])
def test_the_knuckles_show_the_palm_of_a_twisted_hand(degrees):
    plain, twisted = (
        align(recognize(human_with_fingers(thumb=False, hand_twist=twist).skeleton))
        for twist in (0.0, degrees)
    )
    for hand in ("leftHand", "rightHand"):
        turn = quat.mul(quat.inverse(plain.frames[hand]), twisted.frames[hand])
        assert quat.angle_between(turn, about((1, 0, 0), degrees)) < 1e-6


def test_hanging_arms_without_fingers_do_not_show_the_palm():
    clip = arms_up(-70, -70)
    assert not any("Thumb" in name for name in clip.skeleton.names)
    assert align(recognize(clip.skeleton), [clip]).palm == {"left": None, "right": None}
