"""Machine code is kept for exactly as long as nothing that it was made of changes."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from synovia.kernels import jit

HERE = Path(jit.__file__).parent


@pytest.fixture
def copied(tmp_path):
    shutil.copytree(HERE, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "kernels"


def versions(folder):
    jit.dependencies.cache_clear()
    jit.version_of.cache_clear()
    return {path.stem: jit.version_of(path) for path in folder.glob("*.py")}


def test_a_change_renames_the_kernels_that_use_it_and_no_others(copied):
    before = versions(copied)
    with (copied / "bvh.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    after = versions(copied)
    assert {name for name in before if before[name] != after[name]} == {"bvh"}
    with (copied / "rotation.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    changed = {name for name, version in versions(copied).items() if version != after[name]}
    assert {"rotation", "limit", "ik_descent"} <= changed
    assert not {"jit", "bvh"} & changed


def test_kernels_outside_count_those_they_import_from_here(tmp_path):
    outside = tmp_path / "outside.py"
    outside.write_text("from synovia.kernels.limit import enter\nfrom .beside import x\n")
    (tmp_path / "beside.py").write_text("x = 1\n")
    used = jit.dependencies(outside)
    assert {outside, tmp_path / "beside.py", HERE / "limit.py", HERE / "rotation.py"} <= used


@pytest.mark.parametrize("path", sorted(HERE.glob("*.py")), ids=lambda path: path.stem)
def test_every_import_of_a_kernel_counts(path):
    named = {
        node.module
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level == 1
    }
    assert None not in named, "write `from .name import thing`: its version is found by that"
    assert {HERE / f"{name}.py" for name in named} <= jit.dependencies(path)
