"""The command line without limits of one's own: a human on whatever rig a clip has."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from command_line import result_of, run
from synovia import (
    Clip,
    Pose,
    Skeleton,
    forward,
    load_clip,
    load_limits,
    quat,
    save_clip,
    save_limits,
)
from synovia.io import save_clips
from synovia.io.smpl import smpl_skeleton
from synovia.population import canonical_limits, limits_for
from twins import renamed, walker, with_rest

ELBOW = "mixamorig:LeftForeArm"
RIG_FILES = ("both.glb", "both.glb#walk")
CAPTURES = Path(__file__).parents[2] / "shared" / "data" / "cmu_bvh"


def broken(clip):
    """The clip with an elbow that bends backwards for a moment."""
    rotations = np.array(clip.pose.rotations)
    back = quat.exp(np.array([0.0, 1.0, 0.0]) * np.radians(60.0))
    rotations[40:50, clip.skeleton.index(ELBOW)] = back
    return Clip(clip.skeleton, Pose(rotations, clip.pose.positions), clip.frame_time, clip.name)


def seat():
    """A chair, whose joints are no bones."""
    names = ("seat", "back", "leg1", "leg2")
    skeleton = Skeleton(names, np.array([-1, 0, 0, 0]), np.eye(4, 3))
    rotations = np.tile(quat.IDENTITY, (5, 4, 1))
    return Clip(skeleton, Pose(rotations, np.tile(skeleton.offsets, (5, 1, 1))), 0.1, "chair")


CHAIR = seat()


def complaint(*arguments):
    return result_of(*arguments, code=2).stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_clip(walker(), "walk.bvh")
    save_clip(broken(walker()), "wild.bvh")
    return tmp_path


def test_three_commands_on_ones_own_file(folder):
    assert "inside, all of 18 joints in 90 frames" in run("check", "walk.bvh")
    said = run("check", "wild.bvh", code=1)
    assert "wild: impossible, 1 of 18 joints in 10 of 90 frames" in said
    assert re.search(r"left elbow: 4\d° beyond extension", said)
    assert f"{ELBOW} at 1.33 s" in " ".join(said.split())
    assert "changed 1 joint" in run("clamp", "wild.bvh", "-o", "clamped.bvh")
    run("check", "clamped.bvh")
    before, after = load_clip("wild.bvh"), load_clip("clamped.bvh")
    moved = (before.pose.rotations != after.pose.rotations).any(axis=(0, 2))
    assert [before.skeleton.names[k] for k in np.flatnonzero(moved)] == [ELBOW]


def test_the_unusual_is_listed_and_counts_only_if_strict(folder):
    run("clamp", "wild.bvh", "-o", "possible.bvh")
    said = run("check", "possible.bvh")
    assert "possible: unusual, 1 of 18 joints in 10 of 90 frames" in said
    assert re.search(r"left elbow: \d° beyond extension", said)
    run("check", "possible.bvh", "--strict", code=1)
    run("clamp", "wild.bvh", "-o", "usual.bvh", "--to", "usual")
    assert "inside, all of 18 joints" in run("check", "usual.bvh", "--strict")
    run("check", "possible.bvh", "-l", "possible", "--strict")
    assert "unusual, 1 of 18" in run("check", "possible.bvh", "-l", "usual", code=1)
    said = complaint("clamp", "wild.bvh", "-l", "possible", "--to", "usual", "-o", "a.bvh")
    assert "--to usual needs limits with both verdicts, got possible" in said


def test_each_row_has_a_verdict(folder):
    half = broken(walker())
    rotations = np.array(half.pose.rotations)
    unusual = quat.exp(np.array([0.0, 1.0, 0.0]) * np.radians(12.0))
    rotations[60:65, half.skeleton.index(ELBOW)] = unusual
    pose = Pose(rotations, half.pose.positions)
    save_clip(Clip(half.skeleton, pose, half.frame_time, half.name), "both.bvh")
    rows = run("check", "both.bvh", "--csv", "-", code=1).splitlines()
    assert rows[0] == "clip,frame,time,joint,violation_deg,verdict"
    verdicts = [(int(row.split(",")[1]), row.split(",")[-1]) for row in rows[1:]]
    assert verdicts == [
        *((frame, "impossible") for frame in range(40, 50)),
        *((frame, "unusual") for frame in range(60, 65)),
    ]
    document = json.loads(run("check", "both.bvh", "--json", code=1))
    assert not document["ok"]
    assert not document["usual"]
    rows = [(row["name"], row["verdict"]) for row in document["joints"]]
    assert rows[:2] == [(ELBOW, "impossible"), (ELBOW, "unusual")]
    assert {verdict for _, verdict in rows[2:]} == {"inside"}
    assert len(rows) == 19
    assert [each["verdict"] for each in document["findings"]] == ["impossible", "unusual"]


def test_limits_files_keep_both_verdicts(folder):
    run("clamp", "wild.bvh", "-o", "possible.bvh")
    run("limits", "--rig", "walk.bvh", "-o", "a.limits.json")
    assert "unusual, 1 of 18 joints" in run("check", "possible.bvh", "-l", "a.limits.json")
    run("check", "possible.bvh", "-l", "a.limits.json", "--strict", code=1)
    run("limits", "a.limits.json", "--rig", "smpl", "-o", "smpl.limits.json")
    assert load_limits("smpl.limits.json").usual.limits.keys() >= {"left_elbow", "left_hip"}


def test_a_rig_may_be_a_file_with_several_clips(folder):
    clips = [replace(load_clip(f"{name}.bvh"), name=name) for name in ("walk", "wild")]
    clips = [replace(clip, skeleton=replace(clip.skeleton, unit=0.01)) for clip in clips]
    save_clips(clips, "both.glb")
    said = [run("limits", "--rig", rig, "-o", "a.limits.json", "--force") for rig in RIG_FILES]
    assert said[0] == said[1]


def test_what_is_used_is_said_in_a_line(folder):
    said = result_of("check", "walk.bvh", "--limits", "possible").stderr
    assert "walk: human limits (possible) for 18 joints" in said
    assert said.count("\n") == 1
    said = result_of("check", "walk.bvh", "-v").stderr
    assert "leftUpperArm: mixamorig:LeftArm" in said
    assert "reference: the rest pose" in said


def test_many_clips_of_one_rig_take_a_line_and_what_is_no_human_is_left_out(folder):
    save_clip(CHAIR, "chair.bvh")
    said = result_of("check", ".", code=1)
    assert said.stderr.count("human limits") == 1
    assert "2 clips: human limits (possible and usual) for 18 joints" in said.stderr
    assert "chair.bvh: no human" in said.stderr
    assert "of 2 clips: 1 impossible, 0 unusual" in said.stdout
    assert "left out 1 clip, not checked" in said.stdout
    assert "left out 1 clip, not clamped" in run("clamp", ".", "-o", "legal", code=1)
    assert sorted(path.name for path in (folder / "legal").iterdir()) == ["walk.bvh", "wild.bvh"]
    save_clip(CHAIR, "stool.bvh")
    assert "chair.bvh: no human" in complaint("check", "chair.bvh", "stool.bvh")


def test_a_gate_does_not_pass_what_was_not_checked_unless_told_to(folder):
    save_clip(CHAIR, "chair.bvh")
    for code, words in ((1, ()), (0, ("--humans-only",))):
        said = result_of("check", "walk.bvh", "chair.bvh", *words, code=code)
        assert "chair.bvh: no human" in said.stderr
        run("clamp", "walk.bvh", "chair.bvh", "-o", "legal", "-f", *words, code=code)
    run("check", "walk.bvh", "wild.bvh", "chair.bvh", "--humans-only", code=1)
    assert "no human" in complaint("check", "chair.bvh", "--humans-only")


def test_calibration_needs_limits_of_ones_own(folder):
    said = complaint("check", "walk.bvh", "--calibrate", "wild.bvh")
    assert "--calibrate needs limits of your own" in said


def test_json_tells_joint_direction_angles_and_people(folder):
    document = json.loads(run("check", "wild.bvh", "--json", code=1))
    (finding,) = document["findings"]
    assert finding["joint"] == ELBOW
    assert finding["role"] == "leftLowerArm"
    assert 40 <= finding["frame"] < 50
    assert finding["verdict"] == "impossible"
    assert re.match(r"left elbow: 4\d° beyond extension", finding["text"])
    assert finding["violation_deg"] == pytest.approx(45.0, abs=5.0)
    assert finding["angles_deg"]["flexion"] == pytest.approx(-60.0, abs=2.0)
    assert finding["time"] == pytest.approx(finding["frame"] / 30.0, rel=1e-4)
    inside = json.loads(run("check", "walk.bvh", "--json"))
    assert inside["findings"] == []
    assert inside["human"]["limits"] == "human"
    assert inside["human"]["convention"] == "Mixamo"
    assert inside["human"]["no_verdict"] == {}
    assert inside["human"]["steps"][0] == "reference: the rest pose"


def test_a_map_says_what_names_do_not(folder):
    strange = {name: f"Bone{k}" for k, name in enumerate(walker().skeleton.names)}
    save_clip(renamed(broken(walker()), strange), "strange.bvh")
    assert "no human" in complaint("check", "strange.bvh")
    rows = [
        f"{strange[name]},{role}" for role, name in limits_for(walker()).alignment.rig.roles.items()
    ]
    (folder / "roles.csv").write_text("\n".join(["theirs,ours", *rows]))
    assert "left elbow" in run("check", "strange.bvh", "--map", "roles.csv", code=1)
    assert "leftUpperArm" in complaint("check", "strange.bvh", "--map", "Bone1=leftUperArm")


def test_a_reference_by_hand(folder):
    standing = result_of("check", "walk.bvh", "--tpose", "40", "-v").stderr
    assert "reference: the pose that was given" in standing
    run("check", "walk.bvh", "--tpose", "walk.bvh")
    assert "--tpose must be a frame below 90" in complaint("check", "walk.bvh", "--tpose", "90")
    assert "or a clip, got '1.5'" in complaint("check", "walk.bvh", "--tpose", "1.5")
    save_clip(CHAIR, "chair.bvh")
    said = complaint("check", "walk.bvh", "--tpose", "chair.bvh")
    assert "chair.bvh: --tpose takes a clip of the same joints as walk.bvh" in said


def test_limits_as_a_file(folder):
    assert "limits of 18 joints" in run("limits", "--rig", "walk.bvh", "-o", "a.limits.json")
    said = run("check", "wild.bvh", "-l", "a.limits.json", code=1)
    assert ELBOW in said
    run("limits", "usual", "--rig", "smpl", "-o", "smpl.limits.json")
    made = load_limits("smpl.limits.json")
    assert made.skeleton.names == smpl_skeleton(24).names
    fresh = canonical_limits("usual").on(made.skeleton)
    assert set(made.limits) == set(fresh.limits)
    assert "left_collar" in canonical_limits("human").on(made.skeleton).limits
    rotations = quat.normalize(np.random.default_rng(0).normal(size=(500, 4)))
    for name, limit in made.limits.items():
        np.testing.assert_array_equal(
            limit.contains(rotations), fresh.limits[name].contains(rotations)
        )
    for rig in ("smplx", "vrm", "mixamo"):
        run("limits", "--rig", rig, "-o", f"{rig}.limits.json")
        assert len(load_limits(f"{rig}.limits.json").limits) >= 17
    first = (folder / "vrm.limits.json").read_bytes()
    run("limits", "--rig", "vrm", "-fo", "vrm.limits.json")
    assert (folder / "vrm.limits.json").read_bytes() == first
    assert "must be one of smpl" in complaint("limits", "--rig", "smlp", "-o", "b.limits.json")


def test_limits_of_one_rig_on_another(folder):
    save_limits(limits_for(walker()).model, "mixamo.limits.json")
    run("limits", "mixamo.limits.json", "--rig", "smpl", "-o", "smpl.limits.json")
    assert "left_shoulder" in load_limits("smpl.limits.json").limits
    assert "No such file" in complaint(
        "limits", "gone.limits.json", "--rig", "smpl", "-o", "b.limits.json"
    )


def test_limits_that_are_not_carried_over_are_named_with_a_remedy(folder):
    """Each joint of a plain fit is carried or named; as advised, all those named there are."""
    save_clip(walker(), "walk.bvh")
    fit = ("fit", "walk.bvh", "--trim", "0", "-fo", "own.limits.json")
    order = ("limits", "own.limits.json", "--rig", "smpl", "-fo", "smpl.limits.json")
    run(*fit)
    said = result_of(*order).stderr
    lost = [line.split(": ")[3:] for line in said.splitlines() if "not carried over" in line]
    named = {name for names, _ in lost for name in names.split(", ")}
    own, carried = load_limits("own.limits.json").limits, load_limits("smpl.limits.json").limits
    assert named < set(own)
    assert len(carried) == len(own) - len(named)
    advice = [reason.split("fit again with ")[1] for _, reason in lost if "again" in reason]
    assert len(advice) == 1
    run(*fit, *advice[0].split())
    run(*order)
    assert len(load_limits("smpl.limits.json").limits) == len(carried) + advice[0].count("=")


def test_a_clip_shows_how_the_rig_stood_that_limits_were_learned_on(folder):
    rng = np.random.default_rng(1)
    lost = {name: quat.normalize(rng.normal(size=4)) for name in walker().skeleton.names}
    save_clip(with_rest(walker(), lost), "lost.bvh")
    run("fit", "lost.bvh", "-o", "lost.limits.json", "--trim", "0")
    order = ("limits", "lost.limits.json", "--rig", "smpl", "-fo", "smpl.limits.json")
    said = complaint(*order)
    assert "lost.limits.json on smpl: of the rig that these limits are for: no pose" in said
    assert "--learned-on CLIP" in said
    run(*order, "--learned-on", "lost.bvh")
    assert "left_hip" in load_limits("smpl.limits.json").limits
    save_clip(CHAIR, "chair.bvh")
    assert "--learned-on takes a clip of the joints" in complaint(
        *order, "--learned-on", "chair.bvh"
    )


def test_info_tells_reference_doubts_and_where_limits_come_from(folder):
    assert "reference: the rest pose" in run("info", "walk.bvh")
    rng = np.random.default_rng(1)
    lost = {name: quat.normalize(rng.normal(size=4)) for name in walker().skeleton.names}
    save_clip(with_rest(walker(), lost), "lost.bvh")
    said = run("info", "lost.bvh")
    assert "reference: lost at" in said
    assert "limits of a human give no verdict on" in said
    for source in ("human", "usual"):
        run("limits", source, "--rig", "smpl", "-fo", "smpl.limits.json")
        said = run("info", "smpl.limits.json")
        assert "learned from 66 people in 1457 clips of Carn" in said
        assert ("published ranges of motion" in said) == (source == "human")


def test_goals_and_gaze_within_what_humans_can_do(folder):
    place = "mixamorig:LeftHand=0.5,1.2,0.4"
    said = run("solve", "walk.bvh", "--goal", place, "-o", "reach.bvh", code=1)
    assert "goals met" in said
    limits = limits_for(load_clip("walk.bvh"))
    assert limits.check(load_clip("reach.bvh"))[0].violation.max() < 1e-4
    run("look", "walk.bvh", "--at", "0.5,1.6,4", "-o", "look.bvh")
    assert limits.check(load_clip("look.bvh"))[0].violation.max() < 1e-4


def test_a_face_looks_ahead_however_its_joint_is_turned(folder):
    """The head of this twin is called otherwise, and at rest it looks up."""
    twin = with_rest(walker(), {"mixamorig:Head": quat.exp(np.array([-0.4, 0.0, 0.0]))})
    save_clip(renamed(twin, {"mixamorig:Head": "mixamorig:Skull"}), "twin.bvh")
    roles = ("--map", "mixamorig:Skull=head")
    run("look", "twin.bvh", *roles, "--at", "0.5,1.6,4", "-o", "look.bvh")
    twin, looked = load_clip("twin.bvh"), load_clip("look.bvh")
    alignment = limits_for(twin, roles={"mixamorig:Skull": "head"}).alignment
    head = looked.skeleton.index("mixamorig:Skull")
    places, turns = forward(looked.skeleton, looked.pose)
    face = quat.rotate(quat.mul(turns[:, head], alignment.frames["head"]), [0.0, 0.0, 1.0])
    way = np.array([0.5, 1.6, 4.0]) - places[:, head]
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    assert (face * way).sum(axis=1).min() > np.cos(np.radians(0.1))
    assert quat.angle_between(alignment.frames["head"], quat.IDENTITY) > 0.2


def test_pictures_of_a_human(folder):
    run("draw", "usual", "--joint", "leftUpperArm", "-o", "usual.png")
    assert (folder / "usual.png").stat().st_size > 10_000
    run("draw", "walk.bvh", "--joint", "mixamorig:LeftUpLeg", "-o", "rig.png")


def wild(seed):
    """The walk with joints that rotate much farther, on a rig without a usable rest pose."""
    rng, clip = np.random.default_rng(seed), walker()
    rotations, time = np.array(clip.pose.rotations), np.linspace(0.0, 6.0, clip.frames)[:, None]
    for name in ("LeftForeArm", "RightHand", "RightLeg", "LeftFoot", "Head"):
        joint = clip.skeleton.index(f"mixamorig:{name}")
        vectors = np.sin(rng.uniform(1.0, 3.0) * time) * rng.normal(size=3)
        rotations[:, joint] = quat.mul(rotations[:, joint], quat.exp(vectors))
    rest = {name: quat.normalize(rng.normal(size=4)) for name in clip.skeleton.names}
    return with_rest(replace(clip, pose=Pose(rotations, clip.pose.positions)), rest)


@pytest.mark.parametrize(("seed", "suffix"), [(1, ".bvh"), (2, ".glb"), (3, ".motion.csv")])
def test_clamped_clips_pass_check_on_rigs_without_a_rest_pose(folder, seed, suffix):
    save_clip(wild(seed), "lost.bvh")
    run("check", "lost.bvh", code=1)
    run("clamp", "lost.bvh", "-o", f"clamped{suffix}")
    run("check", f"clamped{suffix}")


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("motion/88_04", ".bvh"), ("motion/74_03", ".glb"), ("rom/74_13", ".motion.csv")],
)
def test_clamped_captures_pass_check(folder, name, suffix):
    """Feet whose zero moves with the clip, flips of the capture, forearms that rotate too far."""
    capture = CAPTURES / f"{name}.bvh"
    if not capture.exists():
        pytest.skip("needs the captures beside the repository")
    run("check", capture, code=1)
    run("clamp", capture, "-o", f"clamped{suffix}")
    run("check", f"clamped{suffix}")
