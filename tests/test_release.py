"""Releases: one version in all files, and notes from the changelog."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import synovia

ROOT = Path(__file__).parents[1]


def notes(*arguments):
    command = [sys.executable, ROOT / "tools/release_notes.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_every_file_names_the_same_version():
    done = notes("--check")
    assert done.stderr == ""
    assert done.stdout.strip()
    assert "says version" not in done.stdout


def test_notes_come_from_the_changelog():
    done = notes()
    assert done.returncode == 0
    assert done.stdout.startswith(f"# Synovia {synovia.__version__}\n\n### ")
    assert "\n## " not in done.stdout


def test_the_recipe_has_the_dependencies_of_the_package():
    project = (ROOT / "pyproject.toml").read_text()
    block = re.search(r"^dependencies = \[(.*?)^\]", project, re.MULTILINE | re.DOTALL)[1]
    dependencies = {" ".join(pair) for pair in re.findall(r'"(\w+)(>=[\d.]+)"', block)}
    recipe = (ROOT / "packaging/recipe.yaml").read_text().partition("  run:\n")[2]
    assert dependencies <= set(re.findall(r"- (.+)", recipe.partition("\ntests:")[0]))
