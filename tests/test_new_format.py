"""A clip format is one file and one line: here it is, and all that reads and writes clips works."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from clips import clip
from synovia import Clip, LimitModel, Pose, Skeleton, load_clip, save_clip, save_limits
from synovia.cli import main
from synovia.io import CLIP_FORMATS, ClipFormat


# The file.
def read_poses(path):
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    skeleton = Skeleton(found["names"], found["parents"], found["offsets"])
    pose = Pose(np.array(found["rotations"]), np.array(found["positions"]))
    return Clip(skeleton, pose, found["frame_time"], name=path.stem)


def write_poses(clip, path):
    skeleton, pose = clip.skeleton, clip.pose
    found = {
        "names": list(skeleton.names),
        "parents": np.asarray(skeleton.parents).tolist(),
        "offsets": skeleton.offsets.tolist(),
        "rotations": pose.rotations.tolist(),
        "positions": pose.positions.tolist(),
        "frame_time": clip.frame_time,
    }
    path.write_text(json.dumps(found), encoding="utf-8")


@pytest.fixture
def poses(monkeypatch):
    # The line.
    monkeypatch.setitem(CLIP_FORMATS, ".poses", ClipFormat(read_poses, write_poses))


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.mark.usefixtures("poses")
def test_a_clip_goes_there_and_back(tmp_path):
    before = clip(frames=20)
    save_clip(before, tmp_path / "walk.poses")
    after = load_clip(tmp_path / "walk.poses")
    assert after.skeleton.names == before.skeleton.names
    assert after.pose.rotations.tobytes() == before.pose.rotations.tobytes()


@pytest.mark.usefixtures("poses")
def test_the_command_line_takes_it(tmp_path):
    before = clip(frames=40)
    save_clip(before, tmp_path / "walk.poses")
    save_limits(LimitModel.fit([before], "box"), tmp_path / "a.limits.json")
    told = run("info", tmp_path / "walk.poses")
    assert told.exit_code == 0, told.output
    assert "40" in told.output
    fitted = run("fit", tmp_path / "walk.poses", "-o", tmp_path / "b.limits.json")
    assert fitted.exit_code == 0, fitted.output
    checked = run("check", tmp_path / "walk.poses", "--limits", tmp_path / "a.limits.json")
    assert checked.exit_code == 1, checked.output  # what a fit drops is outside
    for output in ("legal.poses", "legal.bvh"):
        words = ("--limits", tmp_path / "a.limits.json", "-o", tmp_path / output)
        clamped = run("clamp", tmp_path / "walk.poses", *words)
        assert clamped.exit_code == 0, clamped.output
        assert load_clip(tmp_path / output).pose.rotations.shape == before.pose.rotations.shape


def test_an_unknown_suffix_names_those_that_are_known(tmp_path):
    with pytest.raises(ValueError, match=r"must be one of \.bvh, got '\.poses'"):
        load_clip(tmp_path / "walk.poses")
