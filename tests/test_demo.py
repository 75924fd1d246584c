"""The demo: its truth is one, its clips keep or break it, and what it prints is so."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner

from synovia import LimitModel, human_limits, quat
from synovia.cli import main
from synovia.cli.demo import demo
from synovia.demo import JOINTS, WILD_JOINTS, range_of_motion, wild
from synovia.demo.clips import ANCESTORS, joint_rotations, random_controls
from synovia.io import load_clip, load_limits
from synovia.skeleton import lineage

FILES = {"rom.bvh", "wild.bvh", "clamped.bvh", "human.limits.json", "limits.png"}


@cache
def true_limits():
    """The limits that the clips are made to keep or to break: those of the default human."""
    ours = human_limits()
    return LimitModel({name: ours.limits[name] for name in JOINTS}, ours.skeleton)


@pytest.fixture(scope="module")
def rom():
    return range_of_motion()


@pytest.fixture(scope="module")
def wild_clip():
    return wild()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run of the command, in a directory with a file of the user's: (directory, result)."""
    directory = tmp_path_factory.mktemp("demo") / "made here"
    directory.mkdir()
    (directory / "mine.txt").write_text("keep me")
    (directory / "rom.bvh").write_text("of an earlier run")
    return directory, CliRunner().invoke(demo, ["--force", str(directory)], catch_exceptions=False)


@pytest.mark.parametrize("name", [name for name in JOINTS if name != "Head"])
def test_what_controls_do_is_legal(name, rng):
    limit = true_limits().limits[name]
    assert limit.relative_to == ANCESTORS.get(name)
    assert limit.contains(joint_rotations(name, random_controls(300, rng, beyond=0.5))).all()


def test_the_range_of_motion_is_legal_in_every_frame(rom):
    assert true_limits().contains(rom.pose).all()


def test_the_range_of_motion_goes_to_the_ends(rom):
    for name in JOINTS:
        joint = lineage(rom.skeleton, name, ANCESTORS.get(name))
        seen = joint.relative_rotation(rom.pose.rotations)
        asked = joint_rotations(name, random_controls(500, np.random.default_rng(0)))
        middle = quat.mean(asked)
        spread = quat.angle_between(seen, middle).max()
        assert spread > 0.9 * quat.angle_between(asked, middle).max(), name


def test_clips_are_the_same_bits_each_time(rom, wild_clip):
    for one, other in ((rom, range_of_motion()), (wild_clip, wild())):
        assert (one.pose.rotations == other.pose.rotations).all()
        assert (one.pose.positions == other.pose.positions).all()


def test_clips_are_smooth(rom, wild_clip):
    assert 0.0 < np.degrees(rom.steps.max()) < 20.0
    assert 0.0 < np.degrees(wild_clip.steps.max()) < 10.0


def test_the_wild_clip_breaks_the_limits_it_means_to_and_no_others(wild_clip):
    report = true_limits().check(wild_clip)
    assert {row.name for row in report.joints if row.frames} == set(WILD_JOINTS)
    assert all(row.share < 0.5 for row in report.joints)


def test_the_command_ends_well_and_names_what_it_wrote(run):
    directory, result = run
    assert result.exit_code == 0
    assert {path.name for path in directory.iterdir()} == FILES | {"mine.txt"}
    assert all(name in result.output for name in FILES)
    assert (directory / "mine.txt").read_text() == "keep me"


def test_its_files_load_again(run, rom):
    directory, _ = run
    assert load_clip(directory / "rom.bvh").frames == rom.frames
    assert load_clip(directory / "wild.bvh").skeleton.names == true_limits().skeleton.names
    assert set(load_limits(directory / "human.limits.json").limits) == set(JOINTS)
    assert (directory / "limits.png").read_bytes().startswith(b"\x89PNG")


def test_the_saved_limits_reject_the_wild_clip_and_accept_the_clamped_one(run):
    directory, _ = run
    model = load_limits(directory / "human.limits.json")
    report = model.check(load_clip(directory / "wild.bvh"))
    assert {row.name for row in report.joints if row.frames} == set(WILD_JOINTS)
    assert model.check(load_clip(directory / "clamped.bvh")).ok
    assert model.check(load_clip(directory / "rom.bvh")).outside.mean() < 0.001


def test_the_commands_to_try_next_are_quoted_for_the_shell(run):
    directory, result = run
    assert f"synovia check '{directory}/wild.bvh' --limits" in result.output


def test_a_file_in_the_directorys_place_is_left_alone(tmp_path):
    place = tmp_path / "taken"
    place.write_text("mine")
    result = CliRunner().invoke(demo, [str(place)])
    assert result.exit_code in (1, 2)
    assert "a file is where" in result.output
    assert "Traceback" not in result.output
    assert place.read_text() == "mine"


def test_a_file_above_the_directory_is_an_error_in_one_line(tmp_path):
    (tmp_path / "taken").write_text("mine")
    result = CliRunner().invoke(main, ["demo", str(tmp_path / "taken" / "below")])
    assert result.exit_code in (1, 2)
    assert "taken" in result.output
    assert result.output.count("\n") == 1


def test_help_says_what_is_written():
    result = CliRunner().invoke(demo, ["--help"])
    assert result.exit_code == 0
    assert all(name in result.output for name in FILES)


def test_a_second_run_without_matplotlib_gives_the_same_files_but_the_picture(run, tmp_path):
    program = """
        import sys
        sys.modules["matplotlib"] = None
        from synovia.cli.demo import demo
        demo([sys.argv[1]])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "pip install 'synovia[draw]'" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == FILES - {"limits.png"}
    directory, _ = run
    for name in FILES - {"limits.png", "human.limits.json"}:
        assert (tmp_path / name).read_bytes() == (directory / name).read_bytes()
