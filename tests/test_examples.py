"""Every example runs, in an empty directory, and fits on a screen; so does the README's code."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from oracles import EXHAUSTIVE
from synovia import save_clip
from synovia.cli import main
from synovia.demo import range_of_motion

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
APART = ("01_learn_check_clamp", "09_own_component", "14_page")
"""What runs in a process of its own, as users start it, or since it leaves something behind."""


def run(code: list[str], directory: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", *code],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_example(example: Path, directory: Path) -> None:
    assert run([str(example)], directory)
    check_length(example)


def check_length(example: Path) -> None:
    assert len(example.read_text("utf-8").splitlines()) <= 40


@pytest.mark.parametrize("example", EXAMPLES[1:], ids=lambda path: path.stem)
def test_the_example_runs(
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if EXHAUSTIVE or example.stem in APART:
        check_example(example, tmp_path)
        return
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out
    check_length(example)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4


def run_here(code: str, page: str) -> None:
    """In this process, since Python takes its time to start."""
    exec(compile(code, page, "exec"), {"__name__": "__main__"})


def test_the_first_example_and_the_code_in_the_readme_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The README and the first pages read rom.bvh and wild.bvh, which that example writes."""
    check_example(EXAMPLES[0], tmp_path)
    found = {
        page: re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
        for page in ("README.md", "docs/index.md", "docs/population.md")
    }
    assert all(found.values())
    monkeypatch.chdir(tmp_path)
    for block, page in {block: page for page, blocks in found.items() for block in blocks}.items():
        run_here(block, page)
    assert len(found["README.md"][0].strip().splitlines()) <= 10


@pytest.mark.parametrize(
    "page",
    [
        *("limits", "reach-cones", "theta-phi", "distance-fields"),
        *("components", "human", "shoulder", "ik", "formats"),
        *("guides/biomechanist", "guides/robotics", "guides/learning"),
    ],
)
def test_the_code_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fit of a figure takes some 20 s: only if all tests are asked for."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    if EXHAUSTIVE:
        save_clip(range_of_motion(60), "rom.bvh")
    else:
        blocks = [block for block in blocks if "fit_figure(" not in block]
    run_here("\n".join(blocks), f"{page}.md")


NUMBER = re.compile(r"\d+(?:\.\d+)?")
TIMED = ("compare",)
"""Commands that print times, which differ from run to run."""
INPUTS = {
    "rom": "cmu_bvh/rom",
    "motion": "cmu_bvh/motion",
    "dance.bvh": "animateddrawings_mit/rokoko__jesse_dance.bvh",
    "jesse_dance.bvh": "animateddrawings_mit/rokoko__jesse_dance.bvh",
}


def sessions(page: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a page on clips that are here, with the lines shown below each."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)]
    lines = [[line for line in part.splitlines() if line] for part in parts if part]
    known = re.compile(r"synovia \w+ (?:rom|motion\b|human\.limits|clamped\.bvh|(?:jesse_)?dance)")
    return [(command, shown) for command, *shown in lines if shown and known.match(command)]


def alike(shown: str, printed: str) -> bool:
    """Tell whether two lines are the same but for spaces, the last digits of numbers, and "…"."""
    if shown.endswith("…"):
        shown, printed = shown[:-1], printed[: len(shown) - 1]
    words, others = (NUMBER.sub("#", line).split() for line in (shown, printed))
    numbers, more = ([*map(float, NUMBER.findall(line))] for line in (shown, printed))
    return words == others and more == pytest.approx(numbers, rel=0.02, abs=0.11)


@pytest.mark.skipif(not DATA.is_dir(), reason="the clips of ../shared/data are not here")
@pytest.mark.parametrize("page", ["cli", "population"])
def test_commands_print_what_a_page_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, place in INPUTS.items():
        Path(name).symlink_to(DATA / place)
    for command, shown in sessions(page):
        words = command.partition(" |")[0].split()[1:]
        if words[0] in TIMED:
            continue
        if "-o" in words:
            Path(words[words.index("-o") + 1]).unlink(missing_ok=True)
        output = CliRunner().invoke(main, words, prog_name="synovia").output
        printed = iter(output.splitlines())
        for line in shown:
            left_out = line.strip() == "…"
            assert left_out or any(alike(line, other) for other in printed), (command, line)
