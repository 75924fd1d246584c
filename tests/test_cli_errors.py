"""The command line when something is wrong: a sentence that helps, exit code 2, no traceback."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

from command_line import NAMES, acted, process, result_of, run
from synovia import LimitModel, save_clip
from synovia.cli import COMMANDS, main
from synovia.io import load_limits
from synovia.learn import takes
from synovia.view.folder import Folder

LIMITS = ("-l", "human.limits.json")


def complaint(*arguments):
    """Run what must fail, and return the sentence."""
    result = result_of(*arguments, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("synovia: error: ")
    return result.stderr.removeprefix("synovia: error: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit", "gone.bvh", "-o", "a.limits.json"], "gone.bvh: No such file"),
        (["fit", "gone*.bvh", "-o", "a.limits.json"], "gone*.bvh: no clip matches"),
        (["check", "wild.bvh", "-l", "gone.limits.json"], "gone.limits.json: No such file"),
        (["check", "wild.bvh#Walk", *LIMITS], "expected the name of a file that holds several"),
        (["check", "human.limits.json", *LIMITS], "suffix must be one of .bvh"),
        (["info", "captures"], "captures: expected a file, got a directory"),
        (["fit", "captures", "-o", "captures"], "--output must end in .limits.json"),
        (["fit", "captures", "-o", "gone/a.limits.json"], "gone: there is no such directory"),
        (["clamp", "wild.bvh", *LIMITS, "-o", "out"], "--output must end in .bvh"),
        (["clamp", "captures", *LIMITS, "-o", "out.bvh"], "4 clips need a directory"),
        (["clamp", "captures", *LIMITS, "-o", "human.limits.json"], "is a file"),
        (["check", "wild.bvh", *LIMITS, "--csv", "gone/a.csv"], "gone: there is no such directory"),
        (["check", "wild.bvh", *LIMITS, "--csv", "-", "--json"], "choose one"),
        (["fot"], "no command 'fot'; did you mean fit?"),
        (["check", "wild.bvh"], "wild.bvh: no human"),
        (["check", "wild.bvh", "-l", "humna"], "did you mean human? got 'humna'"),
        (["check", "wild.bvh", "--tpose", "9999"], "--tpose must be a frame below"),
    ],
    ids=" ".join,
)
def test_files_that_are_not_what_they_should_be(here, arguments, said):
    assert said in complaint(*arguments)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--joints", "Chest,Uperarm"], "did you mean UpperArm? this skeleton has Hips, Chest,"),
        (["--with", "by=volume"], "--with by: kdop takes along=data|chart"),
        (["-s", "theta-phi", "-w", "cell=x"], "--with cell must be DEGREES, got 'x'"),
        (["-s", "theta-phi", "-w", "cell=95"], "(0.25 and 90 degrees), got 1.658 radians"),
        (["--with", "along=bone"], "--with along must be data|chart, got 'bone'"),
        (["--with", "along"], "--with takes OPTION=VALUE, got 'along'"),
        (["-w", "along=data", "-w", "along=chart"], "--with gives along twice"),
        (
            ["-s", "product", "-w", "k=3"],
            "product takes swing=box|ellipsoid|kdop",
        ),
        (["-s", "blob"], "'blob' is not one of"),
        (["--trim", "5"], "must be a share like 0.5% or 0.005, got '5'"),
        (["--reject", "-1%"], "got '-1%'"),
        (["--reject", "1%", "--margin", "3"], "either --margin or --reject"),
        (["--reject", "0"], "reject must be a share between 0 and 1"),
        (["--margin", "-1"], "--margin"),
        (["--reference", "median"], "'median' is not one of 'mean', 'rest'"),
        (["--performer", "ann"], "must have one (group)"),
        (["--performer", "(zoe)"], "finds nobody in"),
        (["--map", "Torso=Chest"], "no joint 'Torso'"),
    ],
    ids=" ".join,
)
def test_options_that_make_no_sense(here, tmp_path, options, said):
    assert said in complaint("fit", "captures", "-o", tmp_path / "a.limits.json", *options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["inside", "inside:0", "outside:5", "beyond:-1", "inside:nan"])
def test_softening_that_makes_no_sense(here, tmp_path, text):
    said = complaint("clamp", "wild.bvh", *LIMITS, "-o", tmp_path / "a.bvh", "--soften", text)
    assert "softening takes inside:DEG or beyond:DEG" in said


def test_a_pattern_that_backtracks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(takes, "PATTERN_SECONDS", 1.0)
    clip = tmp_path / f"{'a' * 60}!.bvh"
    save_clip(acted(), clip)
    said = complaint("fit", clip, "-o", tmp_path / "a.limits.json", "-p", "(a+)+$")
    assert "performer pattern '(a+)+$' takes more than 1 s to search 1 names" in said
    folder = Folder([clip], [clip.stem])
    with pytest.raises(ValueError, match="takes more than 1 s"):
        folder.rows("(a+)+$")
    monkeypatch.undo()
    assert [row.performer for row in folder.rows("(a+)!")] == ["a" * 60]


def test_tables_that_lack_something(here, tmp_path):
    table, out = tmp_path / "a.csv", tmp_path / "a.limits.json"
    table.write_text("file,who\nann_1,x\n")
    assert f"{table}:1: expected the columns path" in complaint("fit", table, "-o", out)
    table.write_text("path,performer\n,x\n")
    assert f"{table}:2: expected path" in complaint("fit", table, "-o", out)
    table.write_text("theirs,ours\nTorso,Chest\n")
    assert "no joint 'Torso'" in complaint("check", "wild.bvh", *LIMITS, "-m", table)


def broken(made, tmp_path, change):
    path = tmp_path / "broken.bvh"
    path.write_text("\n".join(change((made / "wild.bvh").read_text().splitlines())))
    return path


@pytest.mark.parametrize("command", ["fit", "check", "clamp", "info"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [*lines[:-1], lines[-1][:20]], ":{n}: expected 15 numbers"),
        (lambda lines: lines[:6], "the end of the file"),
        (
            lambda lines: [*lines[:-1], lines[-1] + " nan"],
            ":{n}: expected finite numbers, got 'nan'",
        ),
        (lambda lines: ["{}"], ":1: expected HIERARCHY"),
        (lambda lines: [], "expected HIERARCHY, got the end of the file"),
    ],
    ids=["short row", "truncated", "nan", "not bvh", "nothing"],
)
def test_broken_clips_are_told_by_line(here, tmp_path, command, change, said):
    path = broken(here, tmp_path, change)
    line = len(path.read_text().splitlines())
    more = {
        "fit": ["-o", tmp_path / "a.limits.json"],
        "clamp": [*LIMITS, "-o", tmp_path / "a.bvh"],
        "check": LIMITS,
    }
    assert said.format(n=line) in complaint(command, path, *more.get(command, []))
    assert [each.name for each in tmp_path.iterdir()] == ["broken.bvh"]


def test_a_clip_without_frames(here, tmp_path):
    path = tmp_path / "empty.bvh"
    save_clip(acted(frames=0), path)
    assert "cannot be learned from no frames" in complaint(
        "fit", path, "-o", tmp_path / "a.limits.json"
    )
    for words in (["check"], ["check", "--json"], ["clamp", "-o", tmp_path / "b.bvh"]):
        said = complaint(*words, path, *LIMITS)
        assert f"{path}: expected a clip with frames, got none" in said
    assert "0 frames" in run("info", path)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1", b"\xff", b'{"format": "synovia-limits"}'])
def test_not_limits(here, tmp_path, content):
    path = tmp_path / "a.limits.json"
    path.write_bytes(content)
    for command in ("check", "clamp"):
        more = ["-o", tmp_path / "b.bvh"] if command == "clamp" else []
        assert str(path) in complaint(command, "wild.bvh", "-l", path, *more)
    assert str(path) in complaint("info", path)


def test_limits_without_a_known_origin(here, tmp_path):
    document = json.loads((here / "human.limits.json").read_text())
    for provenance in ({}, {"clips": "Gray's Anatomy", "joints": [3], "options": {"by": "hand"}}):
        document["provenance"] = provenance
        (tmp_path / "a.limits.json").write_text(json.dumps(document))
        assert "limits for 3 of 4 joints" in run("info", tmp_path / "a.limits.json")


def test_another_skeleton_is_warned_about_and_served(here, tmp_path):
    save_clip(acted(9, 1.6, names=("Root", "Chest", "UpperArm", "Elbow")), tmp_path / "rig.bvh")
    result = result_of("check", tmp_path / "rig.bvh", *LIMITS, code=1)
    assert result.stderr.splitlines() == [
        "synovia: warning: rig: has no Forearm",
        "synovia: warning: rig: joints that are not known here, and left alone: Elbow",
    ]
    assert "of 2 joints" in result.stdout
    result = result_of("check", tmp_path / "rig.bvh", *LIMITS, "--json", code=1)
    assert len(json.loads(result.stdout)["joints"]) == 2
    result = result_of("clamp", tmp_path / "rig.bvh", *LIMITS, "-o", tmp_path / "a.bvh")
    assert result.stderr.count("no Forearm") == 1


def test_a_skeleton_without_any_of_the_joints_is_an_error(here, tmp_path):
    save_clip(acted(names=("A", "B", "C", "D")), tmp_path / "rig.bvh")
    for more in (["check"], ["clamp", "-o", tmp_path / "a.bvh"]):
        said = complaint(*more, tmp_path / "rig.bvh", *LIMITS)
        assert "rig: no joint of this clip has a limit. It has A, B, C, D" in said
        assert f"limits are for {', '.join(NAMES[1:])}" in said
        assert "--map THEIRS=OURS" in said


def test_a_map_that_only_some_clips_need(here, tmp_path):
    save_clip(acted(1, names=("Root", "Chest", "UpperArm", "Elbow")), tmp_path / "rig.bvh")
    ask = ["check", "captures/ann_1.bvh", tmp_path / "rig.bvh", *LIMITS, "-m", "Elbow=Forearm"]
    assert result_of(*ask).stderr == ""
    assert "no clip has Tail" in result_of(*ask, "-m", "Tail=Chest").stderr
    assert "no joint 'Tail'" in complaint("check", "wild.bvh", *LIMITS, "-m", "Tail=Chest")


@pytest.mark.parametrize("reason", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_an_output_that_cannot_be_written_is_refused_with_the_systems_reason(
    here, tmp_path, monkeypatch, reason
):
    def fail(**options):
        raise OSError(reason, os.strerror(reason), options["dir"])

    monkeypatch.setattr(tempfile, "TemporaryFile", fail)
    for command, out in (("fit", "a.limits.json"), ("clamp", "a.bvh")):
        more = LIMITS if command == "clamp" else ()
        said = complaint(command, "wild.bvh", *more, "-o", tmp_path / out)
        assert f"{tmp_path / out}: {os.strerror(reason)}" in said


LIMITS_FROM = ("--rig", "smpl", "-o", "out/a.limits.json")
OUTPUTS = {
    "fit": ["captures", "-o", "out/a.limits.json"],
    "check": ["wild.bvh", *LIMITS, "--csv", "out/a.csv"],
    "clamp": ["wild.bvh", *LIMITS, "-o", "out/a.bvh"],
    "repair": ["wild.bvh", *LIMITS, "-o", "out/a.bvh"],
    "report": ["wild.bvh", "-o", "out/a.html"],
    "solve": ["wild.bvh", *LIMITS, "-g", "Chest=0,0,0", "-o", "out/a.bvh"],
    "look": ["wild.bvh", *LIMITS, "--at", "0,0,0", "-o", "out/a.bvh"],
    "limits": LIMITS_FROM,
    "export": ["human.limits.json", "-o", "out/a.urdf"],
    "convert": ["wild.bvh", "-o", "out/a.bvh"],
    "runtime": ["-o", "out"],
    "draw": ["human.limits.json", "-o", "out/a.png"],
    "compare": ["captures", "-o", "out/a.png"],
    "figure": ["human", "-o", "out/a.xml"],
    "demo": ["out"],
}
WITHOUT_OUTPUT = {"view", "info", "lint", "corpus"}  # the page asks; corpus has commands of its own


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - WITHOUT_OUTPUT))
def test_a_file_that_exists_is_replaced_only_by_force(made, tmp_path, monkeypatch, command):
    if command in ("draw", "compare"):
        pytest.importorskip("matplotlib")
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    words = OUTPUTS[command]
    names = {"runtime": "synovia.h", "demo": "limits.png"}
    output = Path("out") / names.get(command, Path(words[-1]).name)
    output.parent.mkdir()
    output.write_text("mine")
    assert f"{output}: the file exists; --force replaces it" in complaint(command, *words)
    assert output.read_text() == "mine"
    assert os.listdir("out") == [output.name]
    help_text = run(command, "--help")
    assert "-f, --force" in help_text
    if command in ("fit", "clamp", "convert", "runtime"):
        run(command, *words, "--force")
        assert output.read_bytes() != b"mine"


def test_a_directory_where_the_output_belongs(here, tmp_path):
    (tmp_path / "a.limits.json").mkdir()
    said = complaint("fit", "captures", "-o", tmp_path / "a.limits.json")
    assert "a directory is where the file belongs" in said


def test_two_clips_for_one_file(here, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        save_clip(acted(1), tmp_path / folder / "take.bvh")
    said = complaint("clamp", tmp_path / "a", tmp_path / "b", *LIMITS, "-o", tmp_path / "out")
    assert "would both be written to" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_shows_the_traceback(here, place):
    words = ["check", "gone.bvh", *LIMITS]
    words = ["--debug", *words] if place == "before" else [*words, "--debug"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert "FileNotFoundError" in result.stderr
    assert "Traceback" not in complaint("check", "gone.bvh", *LIMITS)  # and not the next time


def test_faults_of_ours_are_said_without_a_traceback(here, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(LimitModel, "check", fail)
    said = complaint("check", "wild.bvh", *LIMITS)
    assert said.startswith("ZeroDivisionError: by nothing (a fault in synovia")


def test_warnings_are_lines_each_once(here, monkeypatch):
    def warn(model, clip, **_):
        for _ in range(3):
            warnings.warn("look out", stacklevel=2)
        warnings.warn("old", DeprecationWarning, stacklevel=2)
        return plain(model, clip)

    plain = LimitModel.check
    monkeypatch.setattr(LimitModel, "check", warn)
    result = result_of("check", "captures", *LIMITS)
    assert result.stderr == "synovia: warning: look out\n"


@pytest.mark.parametrize("when", ["fitting", "writing"])
def test_an_interrupt_leaves_nothing_half_written(here, tmp_path, monkeypatch, when):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    if when == "fitting":
        monkeypatch.setattr(LimitModel, "fit", interrupt)
    else:
        monkeypatch.setattr(os, "replace", interrupt)
    result_of("fit", "captures", "-o", tmp_path / "a.limits.json", code=130)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_importing_shows_no_traceback():
    program = """
import sys
from importlib.abc import MetaPathFinder
class Interrupt(MetaPathFinder):
    def find_spec(self, name, *_):
        if name == wanted:
            raise KeyboardInterrupt
wanted = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupt())
from synovia.__main__ import main
main()
"""
    for name in ("click", "numpy"):
        done = subprocess.run(
            [sys.executable, "-c", program, name, "info", "a.bvh"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")


def test_nobody_reads_on(here):
    command = [sys.executable, "-m", "synovia", "check", "wild.bvh", *LIMITS, "--csv", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.close()
        said = running.stderr.read()
        running.wait(timeout=120)
    assert said == b""
    assert running.returncode in (141, -getattr(signal, "SIGPIPE", 13))


def test_a_process_ends_with_the_sentence(here, tmp_path):
    done = process("check", "gone.bvh", *LIMITS)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "synovia: error: gone.bvh: No such file or directory\n"
    assert load_limits("human.limits.json").limits.keys() == set(NAMES[1:])


EVIL = "\x1b]0;title\x07\x9b2J\u202e\x1b[8m"


def test_names_from_files_do_not_control_the_terminal(tmp_path, monkeypatch):
    """Whatever is printed, as to a terminal that shows colours."""
    names = tuple(f"{name}{EVIL}" for name in NAMES)
    monkeypatch.chdir(tmp_path)
    save_clip(acted(names=names), "calm.bvh")
    save_clip(acted(9, 1.6, names=names), f"wild{EVIL}.bvh")
    wild = f"wild{EVIL}.bvh"
    commands = [
        ["fit", "calm.bvh", "-o", "a.limits.json"],
        ["fit", wild, "-o", "b.limits.json", "-j", "Tail"],
        ["info", wild],
        ["info", "a.limits.json"],
        ["check", wild],
        ["check", wild, "-l", "a.limits.json"],
        ["check", wild, "-l", "a.limits.json", "--json"],
        ["check", f"gone{EVIL}.bvh"],
        ["clamp", wild, "-l", "a.limits.json", "-o", f"out{EVIL}.bvh"],
        ["solve", wild, "-l", "a.limits.json", "-g", "Hand=0,0,0", "-o", "out.bvh"],
        ["look", wild, "-l", "a.limits.json", "--at", "0,0,0", "-o", "out.bvh"],
        ["convert", wild, "-o", "out", "--to", ".bvh"],
        ["export", "a.limits.json", "-o", "a.urdf"],
        ["corpus", "add", wild, "calm.bvh", "-o", f"corpus{EVIL}", "--jobs", "1"],
        ["corpus", "status", f"corpus{EVIL}"],
        [EVIL],
    ]
    for words in commands:
        output = CliRunner().invoke(main, words, color=True).output
        plain = re.sub(r"\x1b\[(?:[01]|3[1236])m", "", output).replace("\n", "")
        assert plain.isprintable(), (words, output)
        assert output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_stream_on_a_full_disk_is_an_error(here):
    command = [sys.executable, "-m", "synovia"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*command, "info", "wild.bvh"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        unheard = subprocess.run([*command, "info", "gone.bvh"], stderr=full, check=False)
    assert done.returncode == unheard.returncode == 2
    assert done.stderr == "synovia: error: stdout: No space left on device\n"


@pytest.mark.skipif(sys.platform == "win32", reason="the shell closes streams on POSIX")
def test_closed_streams_are_no_error(tmp_path):
    script = '"$0" -m synovia runtime -o "$1" >&- 2>&-'
    words = ["sh", "-c", script, sys.executable, str(tmp_path)]
    assert subprocess.run(words, check=False).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["synovia.h"]


@pytest.mark.parametrize("command", ["check", "clamp", "view"])
def test_limits_without_a_name_are_not_those_of_a_human(here, tmp_path, command):
    more = {"clamp": ["-o", tmp_path / "a.bvh"], "view": ["--no-browser"]}
    said = complaint(command, "wild.bvh", "-l", "", *more.get(command, []))
    assert "the suffix of limits must be .limits.json" in said
