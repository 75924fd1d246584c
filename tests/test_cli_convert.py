"""`synovia convert`: clips in another format, world or rate, and what is lost on the way."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from command_line import acted, result_of, run
from gltfs import walking
from plugins import load
from synovia import load_clip, quat, save_clip
from synovia.io import CLIP_FORMATS, ClipFormat, FormatEntry
from synovia.skeleton import forward

new_format = load("io", "poses")


@pytest.fixture
def poses(monkeypatch):
    """A format with its own idea of what is up, whose files hold more than motion."""
    form = ClipFormat(new_format.read_poses, new_format.write_poses, up="z", beside="meshes")
    monkeypatch.setitem(CLIP_FORMATS, ".poses", FormatEntry("poses", form))


@pytest.fixture
def several(monkeypatch):
    """A format whose files hold several clips, by name."""

    def read(path, options):
        kept = json.loads(path.read_text())
        if options.clip not in kept:
            raise ValueError(f"{path}: expected one of {', '.join(kept)}, got {options.clip!r}")
        (path.parent / "one.poses").write_text(json.dumps(kept[options.clip]))
        return new_format.read_poses(path.parent / "one.poses", options)

    def write(clips, path):
        kept = {}
        for clip in clips:
            new_format.write_poses([clip], path.parent / "one.poses")
            kept[clip.name] = json.loads((path.parent / "one.poses").read_text())
        path.write_text(json.dumps(kept))

    form = ClipFormat(read, write, contents=lambda path: list(json.loads(path.read_text())))
    monkeypatch.setitem(CLIP_FORMATS, ".takes", FormatEntry("takes", form))


@pytest.mark.usefixtures("poses")
def test_there_and_back(here, tmp_path):
    said = run("convert", "wild.bvh", "-o", tmp_path / "a.poses")
    assert "wild: 4 joints, 200 frames at 60 a second; wrote" in said
    assert "lost" not in said
    said = run("convert", tmp_path / "a.poses", "-o", tmp_path / "b.bvh", "--from-up", "z")
    assert "not in it: meshes, if a.poses has any" in said
    before, after = load_clip("wild.bvh"), load_clip(tmp_path / "b.bvh")
    assert np.degrees(quat.angle_between(before.pose.rotations, after.pose.rotations)).max() < 1e-6
    np.testing.assert_allclose(after.pose.positions, before.pose.positions, atol=1e-9)


def test_another_axis_up_another_unit_another_rate(here, tmp_path):
    words = ("--up", "z", "--from-unit", "cm", "--unit", "m", "--fps", "30")
    run("convert", "wild.bvh", "-o", tmp_path / "a.bvh", *words)
    before, after = load_clip("wild.bvh"), load_clip(tmp_path / "a.bvh")
    assert after.frames == 100
    assert after.frame_time == pytest.approx(1.0 / 30.0)
    heights = forward(before.skeleton, before.pose)[0][::2, :, 1]
    found = forward(after.skeleton, after.pose)[0][:, :, 2]
    np.testing.assert_allclose(100.0 * found, heights, atol=1e-6)


def test_a_directory(here, tmp_path):
    run("convert", "captures", "-o", tmp_path / "out", "--to", "bvh", "--fps", "10")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["ann_1.bvh", "ann_2.bvh", "bob_1.bvh", "cat_1.bvh"]


@pytest.mark.usefixtures("several")
def test_files_with_several_clips(here, tmp_path):
    two = tmp_path / "two.takes"
    CLIP_FORMATS[".takes"].format.write([_named("walk", 1), _named("a/b: run", 2)], two)
    said = run("info", two)
    assert "two.takes: 2 clips" in said
    assert "a/b: run" in said
    run("convert", f"{two}#walk", "-o", tmp_path / "walk.bvh")
    assert load_clip(tmp_path / "walk.bvh").frames == 200
    run("convert", two, "-o", tmp_path / "all", "--to", ".bvh")
    assert sorted(each.name for each in (tmp_path / "all").iterdir()) == [
        "two_a_b_ run.bvh",
        "two_walk.bvh",
    ]
    limits = ("-l", "human.limits.json")
    run("clamp", two, *limits, "-o", tmp_path / "legal.takes")
    assert [row["clip"] for row in json.loads(run("check", two, *limits, "--json", code=1))] == [
        "two#walk",
        "two#a/b: run",
    ]
    assert list(json.loads((tmp_path / "legal.takes").read_text())) == ["walk", "a/b: run"]
    run("check", tmp_path / "legal.takes", *limits)
    wrong = result_of("convert", two, "-o", tmp_path / "both.bvh", code=2).output
    assert "a .bvh file holds one clip, got 2" in wrong


def _named(name, seed):
    return replace(acted(seed, size=1.4), name=name)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["wild.bvh"], "Missing option '-o'"),
        (["wild.bvh", "-o", "a.mp4"], "--output must end in .bvh"),
        (["wild.bvh", "-o", "captures"], "'captures' is a directory: --to must say which format"),
        (["captures", "-o", "a.bvh"], "4 clips need a directory to go to"),
        (["captures", "-o", "out", "--to", "mp4"], "--to must be .bvh"),
        (["gone.bvh", "-o", "a.bvh"], "gone.bvh: No such file"),
        (["wild.bvh", "-o", "a.bvh", "--from-unit", "1e-320"], "from 1e-09 to 1e+09, got '1e-320'"),
        (["wild.bvh", "-o", "wild.bvh"], "wild.bvh: the file exists; --force replaces it"),
        (["wild.bvh", "-o", "a.bvh", "--unit", "m"], "does not say what unit its lengths are in"),
        (
            ["wild.bvh", "-o", "a.bvh", "--unit", "league"],
            "must be m, dm, cm, mm, in, ft, or a number",
        ),
        (["wild.bvh", "-o", "a.bvh", "--fps", "0"], "--fps"),
    ],
)
def test_what_makes_no_sense_is_said(here, words, said):
    before = (here / "wild.bvh").read_bytes()
    assert said in result_of("convert", *words, code=2).output
    assert (here / "wild.bvh").read_bytes() == before
    assert not (here / "a.bvh").exists()


def test_clips_are_read_on_the_skeleton_that_is_given(here, tmp_path, monkeypatch):
    seen = []

    def read(path, options):
        seen.append(options.skeleton)
        return acted(1)

    monkeypatch.setitem(
        CLIP_FORMATS, ".apart", FormatEntry("apart", ClipFormat(read), writable=False)
    )
    save_clip(acted(1), tmp_path / "bones.bvh")
    (tmp_path / "a.apart").touch()
    run("info", tmp_path / "a.apart", "--skeleton", tmp_path / "bones.bvh")
    run("info", tmp_path / "a.apart")
    assert seen == [tmp_path / "bones.bvh", None]


def test_one_of_several_animations_into_the_same_format(tmp_path):
    (tmp_path / "a.glb").write_bytes(walking().glb())
    said = run("convert", f"{tmp_path / 'a.glb'}#Walk", "-o", tmp_path / "b.glb")
    assert "lost" not in said
    assert load_clip(f"{tmp_path / 'b.glb'}#Walk").frames > 1


def test_another_unit_is_no_loss(here, tmp_path):
    said = run("convert", "wild.bvh", "-o", tmp_path / "a.glb", "--from-unit", "cm")
    assert "lost" not in said
    before, after = load_clip("wild.bvh"), load_clip(tmp_path / "a.glb")
    assert after.skeleton.unit == 1.0
    np.testing.assert_allclose(after.pose.positions, 0.01 * before.pose.positions, atol=1e-6)
