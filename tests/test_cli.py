"""The command line as a whole: from captures to clamped clips, its help, and what terminals see."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from command_line import NAMES, acted, process, run
from synovia import __version__, save_clip
from synovia.cli import COMMANDS, main, terminal

CMU = Path(__file__).parents[2] / "shared" / "data" / "cmu_bvh" / "rom" / "79_22.bvh"


def test_the_whole_path(here, tmp_path):
    limits, clamped = tmp_path / "a.limits.json", tmp_path / "clamped.bvh"
    said = run("fit", "captures", "-o", limits)
    assert f"wrote {limits}" in said
    assert "UpperArm" in run("info", limits)
    assert "outside" in run("check", "wild.bvh", "-l", limits, code=1)
    said = run("clamp", "wild.bvh", "-l", limits, "-o", clamped)
    assert f"wrote {clamped}" in said
    assert "inside, all of 3 joints in 200 frames" in run("check", clamped, "-l", limits)


def test_a_real_capture(tmp_path):
    if not CMU.exists():
        pytest.skip(f"no captures at {CMU}")
    limits = tmp_path / "a.limits.json"
    assert "LeftArm" in run("fit", CMU, "-o", limits)
    said = run("check", CMU, "-l", limits, code=1)
    assert "frame 0 counts, though nobody performed it" in said
    assert "first frame: nobody performed it" in run("info", CMU)
    run("clamp", CMU, "-l", limits, "-o", tmp_path / "clamped.bvh")
    run("check", tmp_path / "clamped.bvh", "-l", limits)


CORPUS = [f"corpus {name}" for name in ("add", "fit", "merge")]


@pytest.mark.parametrize("command", [*COMMANDS, *CORPUS])
def test_help_teaches_by_example(command):
    said = run(*command.split(), "--help")
    assert f"  synovia {command}" in said.partition("Examples:")[2]
    assert max(map(len, said.splitlines())) <= 100
    assert "Exit codes" not in said  # documented once


@pytest.mark.parametrize("command", COMMANDS)
def test_the_list_of_commands_says_what_their_help_begins_with(command):
    loaded = main.get_command(click.Context(main), command)
    assert COMMANDS[command] == loaded.get_short_help_str(limit=200)


def test_help_shows_the_main_path_and_is_light():
    code = (
        "import sys; from synovia.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('numpy', 'scipy', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    said = done.stdout
    assert said.index("synovia check") < said.index("synovia clamp") < said.index("synovia fit")
    assert "_SYNOVIA_COMPLETE" in said
    assert "Exit codes:" in said
    assert said.splitlines()[-1] == "[]"


HIDE = """
import sys
sys.modules.update(dict.fromkeys(("scipy", "matplotlib", "websockets")))
from synovia.cli import main
for command in sys.argv[1:]:
    try:
        main(command.split())
    except SystemExit as end:
        print("ended:", end.code)
"""
LIGHT = {
    "info wild.bvh": 0,
    "info human.limits.json": 0,
    "check wild.bvh -l human.limits.json": 1,
    "clamp wild.bvh -l human.limits.json -o clamped.bvh": 0,
    "figure human --list": 0,
    "figure human --set shoulder.abduction=90 -o pose.bvh": 0,
}


def test_commands_that_apply_limits_need_no_heavy_packages(here, tmp_path):
    """All in one process, as it takes its time to start."""
    for name in ("wild.bvh", "human.limits.json"):
        shutil.copy(name, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", HIDE, *LIGHT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not done.stderr
    said = re.split(r"^ended: (.*)\n", done.stdout, flags=re.MULTILINE)
    assert all(said[:-1:2])
    assert said[1::2] == [str(code) for code in LIGHT.values()]


def test_version():
    assert run("--version", prog_name="synovia") == f"synovia {__version__}\n"
    assert process("--version").stdout == f"synovia {__version__}\n"


def test_shells_can_complete():
    def complete(words):
        asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        done = process(env={**os.environ, **asked, "_SYNOVIA_COMPLETE": "bash_complete"})
        return done.stdout.split()

    assert complete("synovia fit --shape k") == ["plain,kdop"]
    assert complete("synovia c") == [
        "plain,check",
        "plain,clamp",
        "plain,convert",
        "plain,compare",
        "plain,corpus",
    ]
    assert complete("synovia --de") == ["plain,--debug"]


def test_tables_keep_their_columns_whatever_the_names():
    long = "mixamorig:" + "VeryLongNameOfAJoint" * 6 + "End"
    rows = [(long, "123", "1.0"), ("左腕", "4", "22.5"), ("a\x1b[31mb", "-", "-")]
    lines = [click.unstyle(line) for line in terminal.table(("joint", "frames", "deg"), rows)]
    assert all(len(line) <= terminal.MAX_WIDTH for line in lines)
    assert lines[1].endswith("End     123   1.0")
    assert lines[1].startswith("mixamorig:Very")
    assert len(lines[2]) == len(lines[1]) - 2  # each of those letters takes two columns
    assert "\x1b" not in lines[3]


def test_long_names_fit_into_every_report(tmp_path):
    names = tuple(
        f"Character1:Skeleton:Reference_Group:{name}_Joint_With_A_Long_Name" for name in NAMES
    )
    for seed in range(2):
        save_clip(acted(seed, names=names), tmp_path / f"p{seed}.bvh")
    save_clip(acted(9, 1.6, names=names), tmp_path / "wild.bvh")
    limits = tmp_path / "a.limits.json"
    said = [
        run("fit", tmp_path / "p0.bvh", tmp_path / "p1.bvh", "-o", limits, "--reject", "1%"),
        run("check", tmp_path / "wild.bvh", "-l", limits, code=1),
        run("info", tmp_path / "wild.bvh"),
        run("info", limits),
    ]
    lines = [line for text in said for line in text.splitlines() if "wrote" not in line]
    assert max(map(len, lines)) <= 100


def test_a_pipe_gets_no_colours_and_no_bar(here, tmp_path):
    done = process("fit", "captures", "-o", tmp_path / "a.limits.json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert process("check", "wild.bvh", "-l", "human.limits.json").returncode == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_gets_a_bar_and_colours(here, tmp_path, no_color):
    import pty

    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "synovia"]
    command += ["fit", "captures", "-o", str(tmp_path / "a.limits.json")]
    done = subprocess.run(
        command, stdout=follower, stderr=follower, timeout=120, check=False,
        env={**os.environ, "NO_COLOR": no_color},
    )  # fmt: skip
    os.close(follower)
    said = os.read(leader, 1 << 20).decode()
    os.close(leader)
    assert done.returncode == 0
    assert "fitting" in said
    assert "100%" in said
    assert ("\x1b[1m" in said) == (not no_color)
