"""Every example runs in an empty directory, and has at most 40 lines."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from oracles import EXHAUSTIVE

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SEPARATE = ("01_learn_check_clamp", "09_own_component", "14_page")
"""Examples that run in a separate process, because they leave state behind."""


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
    if EXHAUSTIVE or example.stem in SEPARATE:
        check_example(example, tmp_path)
        return
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out
    check_length(example)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4


def test_the_first_example_runs(tmp_path: Path) -> None:
    check_example(EXAMPLES[0], tmp_path)
