"""`synovia check`: tables, JSON and CSV of what is outside, and which clips are meant."""

from __future__ import annotations

import csv
import io
import json
import weakref
from dataclasses import replace

import numpy as np
import pytest

from command_line import NAMES, acted, result_of, run
from synovia import LimitModel, load_clip, save_clip
from synovia.io import load_limits


def test_check_names_the_worst_first(here):
    said = run("check", "wild.bvh", "--limits", "human.limits.json", code=1).splitlines()
    assert said[0].startswith("wild: outside, 3 of 3 joints in ")
    assert said[1].startswith("worst at frame ")
    rows = [line.split() for line in said[4:7]]
    worst_deg = [float(row[3]) for row in rows]
    assert worst_deg == sorted(worst_deg, reverse=True)
    assert rows[0][0] in said[1]
    assert float(rows[0][5]) == pytest.approx(int(rows[0][4]) / 60.0, abs=0.006)


def test_check_lists_all_joints_when_asked(here):
    one = run("check", "captures/ann_1.bvh", "-l", "human.limits.json")
    every = run("check", "captures/ann_1.bvh", "-l", "human.limits.json", "--all")
    assert one.splitlines() == ["ann_1: inside, all of 3 joints in 200 frames"]
    assert all(name in every for name in NAMES[1:])


def test_json_is_the_report(here):
    report = load_limits("human.limits.json").check(replace(load_clip("wild.bvh"), name="wild"))
    said = run("check", "wild.bvh", "-l", "human.limits.json", "--json", code=1)
    assert json.loads(said) == report.to_dict()


def test_json_of_several_clips_is_a_list(here):
    said = run("check", "captures", "wild.bvh", "-l", "human.limits.json", "--json", code=1)
    documents = json.loads(said)
    assert [each["clip"] for each in documents] == ["ann_1", "ann_2", "bob_1", "cat_1", "wild"]
    assert [each["ok"] for each in documents] == [True] * 4 + [False]
    assert isinstance(
        json.loads(run("check", "captures/a*1.bvh", "-l", "human.limits.json", "--json")), list
    )


def test_reports_of_a_directory_are_not_kept(here, tmp_path, monkeypatch):
    alive, most, plain = weakref.WeakSet(), [], LimitModel.check

    def check(*arguments, **more):
        report = plain(*arguments, **more)
        alive.add(report)
        most.append(len(alive))
        return report

    monkeypatch.setattr(LimitModel, "check", check)
    words = ("check", "captures", "-l", "human.limits.json", "--csv", tmp_path / "a.csv")
    documents = json.loads(run(*words, "--json"))
    assert len(documents) == len(most) == 4
    assert max(most) <= 2  # the one before is there until the next replaces it


def test_csv_has_a_row_for_each_frame_and_joint_outside(here, tmp_path):
    report = load_limits("human.limits.json").check(load_clip("wild.bvh"))
    path = tmp_path / "outside.csv"
    table = run("check", "wild.bvh", "-l", "human.limits.json", "--csv", path, code=1)
    printed = run("check", "wild.bvh", "-l", "human.limits.json", "--csv", "-", code=1)
    assert "outside" in table
    assert path.read_text() == printed
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert list(rows[0]) == ["clip", "frame", "time", "joint", "violation_deg", "verdict"]
    assert len(rows) == report.outside.sum()
    worst = max(rows, key=lambda row: float(row["violation_deg"]))
    assert worst["joint"] == report.joints[0].name
    assert int(worst["frame"]) == report.joints[0].worst_frame
    assert float(worst["violation_deg"]) == pytest.approx(np.degrees(report.joints[0].worst), 1e-5)


@pytest.mark.parametrize(
    "clips",
    [
        ["captures"],
        ["captures/*.bvh"],
        ["captures/ann_*.bvh", "captures/bob_1.bvh", "captures/cat_1.bvh"],
        ["**/[a-c]*_?.bvh"],
        ["captures/ann_1.bvh", "captures"],
    ],
    ids=str,
)
def test_clips_are_files_directories_and_globs(here, clips):
    documents = json.loads(run("check", *clips, "-l", "human.limits.json", "--json"))
    assert [each["clip"] for each in documents] == ["ann_1", "ann_2", "bob_1", "cat_1"]


def test_clips_of_one_name_are_told_apart_by_their_folders(here, tmp_path):
    for folder in ("ann", "bob"):
        (tmp_path / folder / ".hidden").mkdir(parents=True)
        save_clip(acted(1), tmp_path / folder / "take.bvh")
        save_clip(acted(1), tmp_path / folder / ".hidden" / "take.bvh")
    documents = json.loads(run("check", tmp_path, "-l", "human.limits.json", "--json"))
    assert [each["clip"] for each in documents] == ["ann/take", "bob/take"]


OTHER = ("Pelvis", "Torso", "Arm_L", "Elbow_L")


@pytest.mark.parametrize("form", ["pairs", "file"])
def test_a_map_gives_other_names(here, tmp_path, form):
    save_clip(acted(9, size=1.6, names=OTHER), tmp_path / "rig.bvh")
    pairs = list(zip(OTHER, NAMES, strict=True))
    if form == "pairs":
        maps = [word for theirs, ours in pairs for word in ("--map", f"{theirs}={ours}")]
    else:
        lines = ["theirs,ours", *(",".join(pair) for pair in pairs)]
        (tmp_path / "map.csv").write_text("\n".join(lines))
        maps = ["-m", tmp_path / "map.csv"]
    ask = [tmp_path / "rig.bvh", "-l", "human.limits.json", *maps]
    rig = json.loads(run("check", *ask, "--json", code=1))
    wild = json.loads(run("check", "wild.bvh", "-l", "human.limits.json", "--json", code=1))
    assert rig["joints"] == wild["joints"]
    run("clamp", *ask, "-o", tmp_path / "clamped.bvh")
    assert load_clip(tmp_path / "clamped.bvh").skeleton.names == OTHER
    both = ["captures/ann_1.bvh", tmp_path / "rig.bvh"]
    said = result_of("fit", *both, "-o", tmp_path / "a.limits.json", *maps)
    assert said.stderr == ""
    assert load_limits(tmp_path / "a.limits.json").provenance["joints"]["Chest"]["frames"] == 400


def test_a_table_holds_no_formulas_and_no_control_characters(tmp_path):
    names = ("Hips", "=1+1", "@arm", "-\x1b[2J")
    save_clip(acted(names=names), tmp_path / "calm.bvh")
    save_clip(acted(9, 1.6, names=names), tmp_path / "+wild.bvh")
    run("fit", tmp_path / "calm.bvh", "-o", tmp_path / "a.limits.json")
    words = ("check", tmp_path / "+wild.bvh", "-l", tmp_path / "a.limits.json", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(run(*words, code=1))))
    assert {row["clip"] for row in rows} == {"'+wild"}
    assert {row["joint"] for row in rows} == {"'=1+1", "'@arm", "'-?[2J"}


def test_clips_that_cannot_be_read_are_left_out(here, tmp_path):
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    save_clip(load_clip("captures/ann_1.bvh"), mixed / "a.bvh")
    text = (mixed / "a.bvh").read_text()
    (mixed / "b.bvh").write_text(text[:300])
    (mixed / "c.bvh").write_text(text[: text.index("Frames:")] + "Frames: 0\nFrame Time: 0.01\n")
    (mixed / "d.glb").write_bytes(b"glTF")
    limits = ("-l", "human.limits.json")
    done = result_of("check", mixed, *limits, "--humans-only", code=1)
    assert "a: inside, all of 3 joints" in done.stdout
    assert "left out 3 clips, not checked" in done.stdout
    for name in ("b.bvh:", "c.bvh: expected a clip with frames", "d.glb:"):
        assert name in done.stderr
    run("clamp", mixed, *limits, "-o", tmp_path / "legal", code=1)
    assert [path.name for path in (tmp_path / "legal").iterdir()] == ["a.bvh"]
    (mixed / "a.bvh").unlink()
    assert "b.bvh:" in result_of("check", mixed, *limits, code=2).stderr
