"""A clip format, an exporter and a naming convention are each one file and one registry line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from clips import clip
from plugins import add, load
from rigs import rig
from synovia import Clip, LimitModel, Pose, load_clip, quat, save_clip, save_limits
from synovia.cli import main
from synovia.export import EXPORTERS, Exporter
from synovia.io import CLIP_FORMATS, ClipFormat, FormatEntry, save_clips
from synovia.rigs.conventions import CONVENTIONS

DOCS = Path(__file__).parents[1] / "docs"
new_format = load("io", "poses")
load("export", "angles")
ACME = load("rigs", "acme").ACME


@pytest.fixture
def poses(monkeypatch):
    add(monkeypatch, CLIP_FORMATS, ".poses", FormatEntry("poses", "synovia.io.poses:POSES"))


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


def test_a_format_that_is_only_read_says_what_can_be_written(tmp_path, monkeypatch):
    read_only = FormatEntry("poses", ClipFormat(new_format.read_poses), writable=False)
    monkeypatch.setitem(CLIP_FORMATS, ".poses", read_only)
    with pytest.raises(ValueError, match=r"walk\.poses: \.poses is only read; \.bvh.* written"):
        save_clip(clip(frames=3), tmp_path / "walk.poses")
    with pytest.raises(ValueError, match=r"walk\.bvh: a \.bvh file holds one clip, got 2"):
        save_clips([clip(frames=3)] * 2, tmp_path / "walk.bvh")


def test_an_exporter_works_with_to_and_by_its_suffix(tmp_path, monkeypatch):
    entry = Exporter("largest angles as text", (".angles",), "synovia.export.angles:write_angles")
    add(monkeypatch, EXPORTERS, "angles", entry)
    save_limits(LimitModel.fit([clip(frames=60)], "box"), tmp_path / "a.limits.json")
    assert "angles: largest angles as text" in " ".join(run("export", "--help").output.split())
    for words in (("-o", tmp_path / "a.angles"), ("--to", "angles", "-o", tmp_path / "a.txt")):
        result = run("export", tmp_path / "a.limits.json", *words)
        assert result.exit_code == 0, result.output
        assert "joints as angles; wrote" in result.output
    assert (tmp_path / "a.angles").read_text().startswith("# a\n")
    refused = run("export", tmp_path / "a.limits.json", "--to", "nothing", "-o", tmp_path / "a.b")
    assert refused.exit_code == 2
    assert "'angles'" in refused.output


def test_a_naming_convention_is_recognised(tmp_path, monkeypatch):
    text = """
acme_beck hips
 acme_rumpf chest
  acme_kopf head
  acme_oberarm_{l} UpperArm
   acme_unterarm_{l} LowerArm
 acme_bein_{l} UpperLeg
  acme_wade_{l} LowerLeg
"""
    skeleton = rig(text)[0]
    rest = Pose(np.tile(quat.IDENTITY, (2, len(skeleton), 1)), np.tile(skeleton.offsets, (2, 1, 1)))
    save_clip(Clip(skeleton, rest, 1 / 30), tmp_path / "a.bvh")
    assert "Acme" not in run("info", tmp_path / "a.bvh").output
    add(monkeypatch, CONVENTIONS, "Acme", ACME)
    assert "Acme" in run("info", tmp_path / "a.bvh").output


def test_entries_of_the_registry_agree_with_their_formats():
    for suffix, entry in CLIP_FORMATS.items():
        assert entry.writable == (entry.load().write is not None), suffix


def test_checking_suffixes_imports_no_format():
    code = (
        "import sys; from synovia.io import *; clip_suffix('a.glb'), writable_suffixes(); "
        "from synovia.export import EXPORTERS, target_of; target_of('a.xml'); "
        "print([name for name in sys.modules if name.startswith('synovia.')])"
    ).replace("import *", "import clip_suffix, writable_suffixes")
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    names = set(json.loads(imported.decode().replace("'", '"')))
    modules = {entry.format.partition(":")[0] for entry in CLIP_FORMATS.values()}
    modules |= {each.write.partition(":")[0] for each in EXPORTERS.values()}
    assert not names & modules
