"""`synovia clamp`: how much it moves, softly or not, and where it writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from command_line import acted, run
from synovia import load_clip, quat, save_clip


def test_clamp_says_how_much(here, tmp_path):
    said = run("clamp", "wild.bvh", "-l", "human.limits.json", "-o", tmp_path / "out.bvh")
    before, after = load_clip("wild.bvh"), load_clip(tmp_path / "out.bvh")
    angles_deg = np.degrees(quat.angle_between(before.pose.rotations, after.pose.rotations))
    assert f"by at most {angles_deg.max():.1f} degrees" in said
    assert f"in {(angles_deg > 1e-5).any(axis=1).sum()} of 200 frames" in said
    out = tmp_path / "same.bvh"
    assert "nothing to change" in run(
        "clamp", "captures/ann_1.bvh", "-l", "human.limits.json", "-o", out
    )


def test_clamp_says_how_far_joints_were_outside_and_moved(here, tmp_path):
    words = ["clamp", "wild.bvh", "-l", "human.limits.json", "-o", tmp_path / "out.bvh", "--json"]
    (document,) = json.loads(run(*words))
    report = json.loads(run("check", "wild.bvh", "-l", "human.limits.json", "--json", code=1))
    worst_deg = {row["name"]: row["worst_deg"] for row in report["joints"]}
    rows = document["joints"]
    assert [row["violation_deg"] for row in rows] == [worst_deg[row["name"]] for row in rows]
    assert all(row["correction_deg"] >= row["violation_deg"] - 1e-3 > 0.0 for row in rows)


def test_clamp_softly(here, tmp_path):
    ask = ["clamp", "wild.bvh", "-l", "human.limits.json", "--max-speed", "300"]
    run(*ask, "-o", tmp_path / "in.bvh", "--soften", "inside:5")
    run(*ask, "-o", tmp_path / "beyond.bvh", "-s", "beyond:5")
    run("check", tmp_path / "in.bvh", "-l", "human.limits.json")
    said = run("check", tmp_path / "beyond.bvh", "-l", "human.limits.json", "--json", code=1)
    assert 0.1 < json.loads(said)["joints"][0]["worst_deg"] < 6.0


def test_clamp_into_a_directory(here, tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    save_clip(acted(2, size=1.5), tmp_path / "in" / "a.bvh")
    save_clip(acted(3, size=1.5), tmp_path / "in" / "deep" / "a.bvh")
    ask = ["clamp", tmp_path / "in", "-l", "human.limits.json", "-o", tmp_path / "in" / "out"]
    run(*ask)
    run(*ask, "--force")  # what was written is no input the next time
    found = sorted(str(path.relative_to(tmp_path / "in")) for path in tmp_path.rglob("*.bvh"))
    assert found == sorted(
        map(str, map(Path, ["a.bvh", "deep/a.bvh", "out/a.bvh", "out/deep/a.bvh"]))
    )
    run("check", tmp_path / "in" / "out", "-l", "human.limits.json")


def test_clamp_a_directory_with_one_clip_in_a_folder(here, tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    save_clip(acted(2, size=1.5), tmp_path / "in" / "deep" / "a.bvh")
    run("clamp", tmp_path / "in", "-l", "human.limits.json", "-o", tmp_path / "out")
    run("check", tmp_path / "out" / "deep" / "a.bvh", "-l", "human.limits.json")


def test_clamp_with_a_closed_stdout_writes_and_is_content(here, tmp_path):
    out = tmp_path / "a.bvh"
    words = ["clamp", "wild.bvh", "-l", "human.limits.json", "-o", str(out)]
    script = '"$0" -m synovia "$@" >&-'
    command = ["sh", "-c", script, sys.executable, *words]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert out.exists()
