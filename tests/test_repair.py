"""Repairs: glitches, twist, kept hands and feet, bounded steps, and reports."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import clips
import synovia
from command_line import result_of, run
from synovia import Clip, LimitModel, Pose, forward, quat, save_clip
from synovia.model import Limb
from synovia.repairs import KEEP, STAGES, repair
from synovia.repairs.effectors import find_contacts
from synovia.repairs.paths import (
    find_glitches,
    interpolate_glitches,
    joint_step_bounds,
    measured_steps,
)

X, Y, Z = np.eye(3)
FRAMES, FRAME_TIME = 90, 1.0 / 60.0
MAX_SPEED = np.radians(400.0)
MODEL = synovia.human_limits(source="possible")
SKELETON = MODEL.skeleton


def bump(first, last):
    """Return a curve (FRAMES,) that rises from 0 to 1 and falls, smoothly, between two frames."""
    share = np.clip((np.arange(FRAMES) - first) / (last - first), 0.0, 1.0)
    return np.sin(np.pi * share) ** 2


def act(**extra):
    """Return a legal clip, standing with moving arms; `extra` are rotation vectors by joint."""
    t = np.arange(FRAMES) * FRAME_TIME
    vectors = {
        "leftUpperArm": np.outer(0.2 * np.sin(3.0 * t) - 0.9, Z),
        "rightUpperArm": np.outer(0.2 * np.sin(2.0 * t) + 0.9, Z),
        "leftLowerArm": np.outer(-0.5 + 0.2 * np.sin(2.0 * t), Y),
        "rightLowerArm": np.outer(0.5 + 0.2 * np.sin(3.0 * t), Y),
        "leftUpperLeg": np.outer(np.full(FRAMES, -0.3), X),
        "leftLowerLeg": np.outer(np.full(FRAMES, 0.6), X),
        "leftFoot": np.outer(np.full(FRAMES, -0.3), X),
        "head": np.outer(0.2 * np.sin(t), Y),
    }
    for name, more in extra.items():
        vectors[name] = vectors.get(name, 0.0) + more
    rotations = np.tile(SKELETON.rest_pose().rotations, (FRAMES, 1, 1))
    for name, path in vectors.items():
        rotations[:, SKELETON.index(name)] = quat.exp(path)
    pose = Pose(rotations, np.tile(SKELETON.offsets, (FRAMES, 1, 1)))
    return Clip(SKELETON, pose, FRAME_TIME, "act")


WRONG = {
    "elbow": {"leftLowerArm": np.outer(1.0 * bump(20, 60), Y)},
    "knee": {"rightLowerLeg": np.outer(-0.5 * bump(20, 60), X)},
    "neck": {"head": np.outer(1.5 * bump(20, 60), X)},
    "shoulder": {"leftUpperArm": np.outer(-1.6 * bump(20, 60), Z)},
}
"""Rotations that leave the limits of one joint."""


def test_glitches_are_found_and_interpolated():
    rng = np.random.default_rng(0)
    true = quat.exp(clips.wave(240, 12, 0.8, 3).reshape(240, 4, 3))
    bad, wrong = true.copy(), np.zeros((240, 4), bool)
    for first, length, joint, angle_deg in [(50, 1, 0, 30), (90, 3, 1, 60), (120, 6, 2, 180)]:
        axis = rng.normal(size=3)
        turn = quat.exp(np.radians(angle_deg) * axis / np.linalg.norm(axis))
        wrong[first : first + length, joint] = True
        bad[first : first + length, joint] = quat.mul(bad[first : first + length, joint], turn)
    found = find_glitches(bad, 1.0 / 120.0, MAX_SPEED)
    np.testing.assert_array_equal(found, wrong)
    assert quat.angle_between(interpolate_glitches(bad, found), true).max() < np.radians(2.0)


def test_fast_motion_and_steps_that_stay_are_no_glitches():
    t = np.arange(240) / 120.0
    throw = quat.exp(np.outer(1.2 * np.sin(2.0 * np.pi * 6.0 * t), X))  # 2,600 degrees a second
    step = quat.exp(np.outer(np.where(t < 1.0, 0.0, 0.8), Y))
    assert not find_glitches(np.stack([throw, step], axis=1), 1.0 / 120.0, MAX_SPEED).any()


def test_interpolated_glitches_are_no_faster_than_allowed():
    flipped = np.isin(np.arange(60), [20, 21, 24])  # 22 and 23 look like a glitch, too
    still = np.repeat((flipped | (np.arange(60) > 24))[:, None], 3, axis=1) * [np.pi, 0.0, 0.0]
    rotations = quat.exp(still)[:, None]
    glitches = find_glitches(rotations, FRAME_TIME, MAX_SPEED)
    assert glitches.any()
    steps = [
        quat.angle_between(path[:-1], path[1:])
        for path in (interpolate_glitches(rotations, glitches), rotations)
    ]
    assert (steps[0] <= np.maximum(2.0 * steps[1], MAX_SPEED * FRAME_TIME)).all()


def test_stages_do_not_add_up_to_longer_steps():
    """Steps are bounded by those of the input, although twist moves before joints are clamped."""
    rng = np.random.default_rng(0)
    for seed in range(4):
        limb = ("leftUpperArm", "leftLowerArm", "leftHand", "rightUpperLeg", "rightLowerLeg")
        extra = {name: clips.wave(FRAMES, 3, 1.4, rng.integers(100)) for name in limb}
        clip = act(**extra)
        repaired, report = repair(clip, MODEL)
        assert MODEL.check(repaired).ok
        assert not report.over, seed
        steps = joint_step_bounds(MODEL, clip, MAX_SPEED)
        assert (measured_steps(MODEL, repaired) <= steps + 1e-3).all()


def test_twist_moves_along_limbs_and_no_joint_moves():
    limb = next(each for each in MODEL.constraints if "leftHand" in each.joints)
    assert isinstance(limb, Limb)
    joints = [SKELETON.index(name) for name in limb.joints]
    clip = act()
    twist, rotations = quat.exp(np.outer(2.2 * bump(20, 60), X)), clip.pose.rotations.copy()
    rotations[:, joints[1]] = quat.mul(rotations[:, joints[1]], twist)
    rotations[:, joints[2]] = quat.mul(quat.inverse(twist), rotations[:, joints[2]])
    clip = replace(clip, pose=clip.pose.with_rotations(rotations))
    before = limb.joint_distance(clip.pose.rotations[:, joints]).max()
    repaired, report = repair(clip, MODEL)
    after = limb.joint_distance(repaired.pose.rotations[:, joints]).max()
    assert before > 0.3
    assert after < np.radians(1.0)
    places = [forward(SKELETON, each.pose)[0] for each in (clip, repaired)]
    np.testing.assert_allclose(*places, atol=1e-9)
    by_name = {stage.name: stage for stage in report.stages}
    assert set(by_name["twist"].joints) == {"leftLowerArm", "leftHand"}
    assert not any(len(by_name[name].frames) for name in STAGES if name != "twist")


def test_contacts_are_low_and_slow():
    t = np.arange(120) / 60.0
    swing = np.maximum(np.sin(2.0 * np.pi * t), 0.0)  # in the air in every other half second
    path = np.stack([swing, 0.1 + 0.2 * swing, np.zeros(120)], axis=-1)
    found = find_contacts(path, Y, 1.7, 1.0 / 60.0)
    assert found[swing == 0.0].mean() > 0.95
    assert not found[swing > 0.2].any()


@pytest.mark.parametrize("joint", WRONG)
def test_hands_feet_and_head_stay(joint):
    clip = act(**WRONG[joint])
    assert not MODEL.check(clip).ok
    repaired, report = repair(clip, MODEL)
    assert MODEL.check(repaired).ok
    assert report.share_kept > 0.95, report.to_dict()
    before, after = (forward(SKELETON, each.pose) for each in (clip, repaired))
    for name in ("leftHand", "rightHand", "leftFoot", "rightToes"):
        moved = np.linalg.norm(before[0] - after[0], axis=-1)[report.kept, SKELETON.index(name)]
        assert moved.max() < 0.0055  # 0.3 % of the estimated height
    steps = joint_step_bounds(MODEL, clip, MAX_SPEED)
    assert (measured_steps(MODEL, repaired) <= steps + 1e-4).all()
    clamped = forward(SKELETON, MODEL.project(clip).pose)[0]
    assert np.linalg.norm(before[0] - clamped, axis=-1).max() > 0.01 or joint == "neck"


def test_legal_clips_come_back_as_they_are():
    clip = act()
    assert MODEL.check(clip).ok
    repaired, report = repair(clip, MODEL)
    assert (repaired.pose.rotations == clip.pose.rotations).all()
    assert len(report.changed) == 0
    assert report.share_kept == 1.0
    assert report.describe() == ["nothing to repair"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_repair_that_keeps_nothing_is_a_clamp(dtype):
    clip = act(**WRONG["knee"])
    arrays = (each.astype(dtype) for each in (clip.pose.rotations, clip.pose.positions))
    clip = replace(clip, pose=Pose(*arrays))
    model = LimitModel(MODEL.limits, SKELETON)  # without limbs, so no twist is redistributed
    repaired, report = repair(clip, model, keep=())
    assert repaired.pose.rotations.dtype == dtype
    clamped = model.project(clip).pose.rotations
    np.testing.assert_allclose(repaired.pose.rotations, clamped, atol=1e-5)
    assert [stage.name for stage in report.stages if len(stage.frames)] == ["clamp"]


def test_a_rig_that_is_no_human_is_clamped():
    clip = clips.clip(size=1.2)
    model = LimitModel.fit([clips.clip(size=0.4)], "box", joints=["LeftArm"])
    repaired, report = repair(clip, model)
    assert model.check(repaired).ok
    assert "nothing is kept in place" in report.note


def test_what_cannot_be_kept_is_reported():
    """A head that is upside down cannot be kept: no neck and spine rotate so far."""
    clip = act(head=np.outer(2.9 * bump(20, 60), X))
    repaired, report = repair(clip, MODEL)
    assert MODEL.check(repaired).ok
    assert "head" in report.not_kept
    assert not report.kept[report.not_kept["head"]].any()
    frames = len(report.not_kept["head"])
    assert f"could not keep: head, {frames} frames" in report.describe()


@pytest.mark.parametrize("frames", [0, 1, 2])
def test_short_clips_are_repaired(frames):
    clip = act(**WRONG["knee"])
    cut = slice(40, 40 + frames)
    short = replace(clip, pose=Pose(clip.pose.rotations[cut], clip.pose.positions[cut]))
    repaired, report = repair(short, MODEL)
    assert repaired.frames == len(report.kept) == frames
    assert MODEL.check(repaired).ok


def test_keep_takes_known_names():
    with pytest.raises(ValueError, match=r"keep must be some of hands, feet, head, got .*ears"):
        repair(act(), MODEL, keep=("hands", "ears"))


def test_the_command_reports_and_writes(tmp_path):
    source, target = tmp_path / "act.bvh", tmp_path / "out.bvh"
    save_clip(act(**WRONG["elbow"]), source)
    ask = ["repair", source, "-l", "possible"]
    said = run(*ask, "--dry-run")
    assert "solved inverse kinematics" in said
    assert "hands, feet and head kept in" in said
    assert not target.exists()
    document = json.loads(run(*ask, "-o", target, "--json"))
    assert [stage["stage"] for stage in document["stages"]] == list(STAGES)
    assert document["share_kept"] > 0.95
    run("check", target, "-l", "possible")
    assert "nothing to repair" in run("repair", target, "-l", "possible", "--dry-run")


def test_the_command_explains_its_options(tmp_path):
    save_clip(act(), tmp_path / "act.bvh")
    assert "--output is missing" in result_of("repair", tmp_path / "act.bvh", code=2).stderr
    words = ["repair", tmp_path / "act.bvh", "--dry-run", "--keep", "hands,ears"]
    said = result_of(*words, code=2).stderr
    assert f"--keep takes {', '.join(KEEP)} or none, got 'hands,ears'" in said
