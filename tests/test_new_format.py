"""A clip format is one file and one line: here it is, and all that reads and writes clips works."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from clips import clip
from synovia import Clip, LimitModel, Pose, Skeleton, load_clip, save_clip, save_limits
from synovia.cli import main
from synovia.io import CLIP_FORMATS, ClipFormat, save_clips


# The file.
def read_poses(path, _options):
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    skeleton = Skeleton(found["names"], found["parents"], found["offsets"])
    pose = Pose(np.array(found["rotations"]), np.array(found["positions"]))
    return Clip(skeleton, pose, found["frame_time"], name=path.stem)


def write_poses(clips, path):
    (clip,) = clips
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
    known = re.escape(", ".join(CLIP_FORMATS))
    with pytest.raises(ValueError, match=rf"must be one of {known}, got '\.poses'"):
        load_clip(tmp_path / "walk.poses")


def test_a_file_without_a_known_suffix_is_told_by_how_it_begins(tmp_path):
    before = clip(frames=3)
    save_clip(before, tmp_path / "walk.bvh")
    (tmp_path / "walk.bvh").rename(tmp_path / "walk.txt~")
    assert load_clip(tmp_path / "walk.txt~").frames == 3


def test_a_format_that_is_only_read_says_what_can_be_written(tmp_path, monkeypatch):
    monkeypatch.setitem(CLIP_FORMATS, ".poses", ClipFormat(read_poses))
    with pytest.raises(ValueError, match=r"walk\.poses: \.poses is only read; \.bvh.* written"):
        save_clip(clip(frames=3), tmp_path / "walk.poses")
    with pytest.raises(ValueError, match=r"walk\.bvh: a \.bvh file holds one clip, got 2"):
        save_clips([clip(frames=3)] * 2, tmp_path / "walk.bvh")
