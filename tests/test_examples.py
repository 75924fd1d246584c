"""Every example runs, in an empty directory, and fits on a screen; so does the README's code."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from oracles import EXHAUSTIVE
from synovia import save_clip
from synovia.demo import range_of_motion

ROOT = Path(__file__).parent.parent
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
