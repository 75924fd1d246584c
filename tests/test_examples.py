"""Every example runs, in an empty directory, and fits on a screen; so does the README's code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


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
    assert len(example.read_text("utf-8").splitlines()) <= 40


@pytest.mark.parametrize("example", EXAMPLES[1:], ids=lambda path: path.stem)
def test_the_example_runs(example: Path, tmp_path: Path) -> None:
    check_example(example, tmp_path)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4


def test_the_first_example_and_the_code_in_the_readme_run(tmp_path: Path) -> None:
    """The README and the first pages read rom.bvh and wild.bvh, which that example writes."""
    check_example(EXAMPLES[0], tmp_path)
    found = {
        page: re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
        for page in ("README.md", "docs/index.md", "docs/population.md")
    }
    assert all(found.values())
    for block in dict.fromkeys(block for blocks in found.values() for block in blocks):
        run(["-c", block], tmp_path)
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
    """In this process, since pages leave nothing behind and Python takes its time to start."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(blocks), f"{page}.md", "exec"), {"__name__": "__main__"})
