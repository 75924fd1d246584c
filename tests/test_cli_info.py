"""`synovia info`: what is in a clip, and what is in limits."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from command_line import acted, run
from rigs import RIGS, rig
from synovia import Clip, Pose, quat, save_clip
from synovia.io import load_limits


def test_info_of_a_clip(here):
    said = run("info", "captures/ann_1.bvh")
    assert "4 joints, 200 frames, 3.33 s at 60 frames a second" in said
    assert "      Forearm" in said
    assert "about z" in said
    kind, low, _, high, *_ = said.partition("      Forearm")[2].split()
    assert kind == "hinge"
    assert float(high) - float(low) == pytest.approx(np.degrees(1.4), abs=1.5)
    assert "no length" not in said


def test_info_tells_zero_bones_and_invented_frames(tmp_path):
    clip = acted(0)
    rotations = clip.pose.rotations.copy()
    rotations[0] = quat.IDENTITY
    rotations[0, 1:] = quat.exp(np.array([1.5, 0.0, 0.0]))
    offsets = clip.skeleton.offsets.copy()
    offsets[2] = 0.0
    positions = np.broadcast_to(offsets, clip.pose.positions.shape)
    jumping = Clip(replace(clip.skeleton, offsets=offsets), Pose(rotations, positions), 1.0 / 60.0)
    save_clip(jumping, tmp_path / "t.bvh")
    said = run("info", tmp_path / "t.bvh")
    assert "no length: UpperArm" in said
    assert "first frame: nobody performed it" in said


def standing(skeleton):
    """A clip of two frames at rest."""
    pose = skeleton.rest_pose()
    both = Pose(np.stack([pose.rotations] * 2), np.stack([pose.positions] * 2))
    return Clip(skeleton, both, 1.0 / 60.0)


def test_info_shows_the_bones_of_a_human(tmp_path):
    skeleton, _, _ = rig(RIGS["CMU"])
    save_clip(standing(skeleton), tmp_path / "cmu.bvh")
    said = run("info", tmp_path / "cmu.bvh")
    assert "a human, by names as in CMU: 21 of 21 bones, and 4 bones of fingers and face" in said
    assert "spine is 2 joints: LowerBack, Spine" in said
    rows = [line.split() for line in said.splitlines()]
    assert ["upperArm", "LeftArm", "RightArm"] in rows
    assert ["hips", "Hips"] in rows
    assert "LeftHand … LeftFingerBase" in said


def test_info_shows_doubts_about_a_human(tmp_path):
    save_clip(standing(rig(RIGS["SMPL"], exchange=True)[0]), tmp_path / "a.bvh")
    said = run("info", tmp_path / "a.bvh")
    assert "left and right look exchanged" in said
    assert "left_elbow (0.5)" in said


def test_info_tells_why_there_is_no_human(here):
    said = run("info", "captures/ann_1.bvh")
    assert "no human: its joints name no pair of arms or legs" in said


def test_info_of_limits(here):
    said = run("info", "human.limits.json")
    assert "limits for 3 of 4 joints, kdop in swing-twist" in said
    assert "learned from 800 frames" in said
    assert "margin 2.86 deg" in said
    bounds = load_limits("human.limits.json").limits["Chest"].shape.bounds
    low, high = np.round(np.degrees(bounds[:, 0])).astype(int)
    (row,) = (line for line in said.splitlines() if line.startswith("Chest "))
    assert f" {low} to {high} " in row
    assert "clips: ann_1" in said


def test_info_names_some_of_very_many_clips(here, tmp_path):
    document = json.loads((here / "human.limits.json").read_text())
    document["provenance"]["clips"] = [{"name": f"take{k}", "frames": 5} for k in range(1457)]
    (tmp_path / "a.limits.json").write_text(json.dumps(document))
    said = run("info", tmp_path / "a.limits.json")
    assert "take39 and 1417 more" in " ".join(said.split())
    assert "take40" not in said


@pytest.mark.parametrize(
    "provenance",
    [
        {"options": 5},
        {"options": [1]},
        {"options": {"margin": None, "reject": [1], "trim": {}, "cell": "wide"}},
        {"clips": [{"performer": 1, "frames": {}, "frame_time": "x"}]},
        {"clips": {"a": None}, "joints": [1], "blend": {"performers": 1}},
        {"joints": {"Chest": {"frames": 0, "flips": 3, "unconfirmed": 0, "isolated": 0}}},
    ],
)
def test_info_takes_any_provenance_that_a_file_may_have(here, tmp_path, provenance):
    document = json.loads((here / "human.limits.json").read_text())
    document["provenance"] = provenance
    (tmp_path / "a.limits.json").write_text(json.dumps(document))
    assert "limits for 3 of 4 joints" in run("info", tmp_path / "a.limits.json")
