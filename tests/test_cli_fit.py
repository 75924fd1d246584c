"""`synovia fit`: what it tells, and every option of what is learned from whom."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from command_line import NAMES, acted, result_of, run
from synovia import quat, save_clip
from synovia.io import load_limits


def test_fit_tells_joint_by_joint(here, tmp_path):
    said = run("fit", "captures", "-o", tmp_path / "a.limits.json").splitlines()
    rows = {line.split()[0]: line.split() for line in said if line}
    assert rows["joint"][:4] == ["joint", "kind", "frames", "flips"]
    assert [rows[name][1] for name in NAMES[1:]] == ["ball", "ball", "hinge"]
    assert rows["Forearm"][2] == "800"
    assert rows["joint"][-5:] == ["deg", "held", "out", "newcomers", "volume"]
    assert rows["Chest"][-2] == "1.0%"
    assert rows["Chest"][-1].endswith("%")
    assert rows["all"][2] == "2400"
    assert "learned from 800 frames (13 s) in 4 clips of 3 performers (ann, bob, cat)" in said
    assert "Hips" not in rows
    two = run("fit", "captures/ann_1.bvh", "captures/bob_1.bvh", "-o", tmp_path / "b.limits.json")
    assert "2.9" in next(line for line in two.splitlines() if line.startswith("Chest"))
    assert "newcomers" not in two


def performers_in(path):
    return [clip["performer"] for clip in load_limits(path).provenance["clips"]]


def test_performers_come_from_names_a_pattern_or_a_file(here, tmp_path):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out)
    assert performers_in(out) == ["ann", "ann", "bob", "cat"]
    run("fit", "captures", "-o", out, "--performer", "(captures)/", "--force")
    assert performers_in(out) == ["captures"] * 4
    people = tmp_path / "people.csv"
    rows = zip(sorted(Path("captures").resolve().iterdir()), "xyxz", strict=True)
    people.write_text("\n".join(["path,performer", *(f"{path},{who}" for path, who in rows)]))
    run("fit", people, "-o", out, "--force")
    assert performers_in(out) == ["x", "y", "x", "z"]


def test_joints_are_chosen_and_left_out(here, tmp_path):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out, "--joints", "Hips,Chest", "-j", "Forearm", "-x", "Chest")
    assert list(load_limits(out).limits) == ["Hips", "Forearm"]


def test_references(here, tmp_path):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out, "--reference", "rest")
    at_rest = load_limits(out).limits["UpperArm"].chart.reference
    np.testing.assert_allclose(at_rest, quat.IDENTITY, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        (["-s", "box", "--with", "along=chart"], "box"),
        (["-s", "product", "-w", "swing=kdop", "-w", "along=chart"], "product"),
    ],
)
def test_shapes_with_their_options(here, tmp_path, options, shape):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out, *options)
    model = load_limits(out)
    assert {limit.shape.name for limit in model.limits.values()} == {shape}
    typed = dict(word.split("=") for word in options if "=" in word)
    assert typed.items() <= model.provenance["options"].items()


def test_options_that_are_angles_are_degrees(here, tmp_path):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out, "-s", "theta-phi", "-w", "cell=10", "-w", "spread=20")
    options = load_limits(out).provenance["options"]
    assert np.degrees([options["cell"], options["spread"]]) == pytest.approx([10.0, 20.0])
    assert "cell 10 deg, spread 20 deg" in run("info", out)


def test_a_union_takes_the_options_of_its_cones(here, tmp_path):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out, "-s", "union", "-w", "vertices=9")
    unions = [limit.shape for limit in load_limits(out).limits.values()]
    assert {len(cone.points) for union in unions for cone in union.parts} == {9}


@pytest.mark.parametrize("share", ["0.5%", "0.005", " .5 %"])
def test_shares_are_percent_or_fractions(here, tmp_path, share):
    out = tmp_path / "a.limits.json"
    said = run("fit", "captures", "-o", out, "--trim", share, "--reject", share)
    options = load_limits(out).provenance["options"]
    assert options["trim"] == options["reject"] == pytest.approx(0.005)
    assert "held out" in said.splitlines()[0]


def test_a_rejection_out_of_reach_is_said(here, tmp_path):
    clip = acted(7)
    rotations = clip.pose.rotations.copy()
    rotations[:, 1] = quat.mul(rotations[:, 1], np.array([0.0, 1.0, 0.0, 0.0]))
    save_clip(replace(clip, pose=replace(clip.pose, rotations=rotations)), tmp_path / "zoe.bvh")
    out = tmp_path / "a.limits.json"
    said = result_of("fit", "captures/bob_1.bvh", tmp_path / "zoe.bvh", "-o", out, "--reject", "1%")
    assert "synovia: warning: Chest: 1.00% was asked for, but these people promise" in said.stderr


def test_the_margin_is_in_degrees(here, tmp_path):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out, "--margin", "10")
    assert load_limits(out).provenance["options"]["margin"] == pytest.approx(np.radians(10.0))


def test_samples_are_kept_when_asked(here, tmp_path):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out, "--keep-samples")
    model = load_limits(out)
    kept = sum(len(sample.frames) for joint in model.samples.values() for sample in joint)
    assert f"with {kept} samples of what was observed" in run("info", out)
