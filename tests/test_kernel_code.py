"""Kernels: packed instructions in machine code, and every kind of them within products."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from synovia.kernels import jit
from synovia.native.build import this_system

OBJDUMP = shutil.which("objdump")


@pytest.mark.skipif(OBJDUMP is None, reason="objdump is not installed")
@pytest.mark.skipif(this_system()[:6] != "x86_64", reason="builds for AVX are those of x86")
@pytest.mark.parametrize("register", ["ymm", "zmm"])
def test_kernels_become_packed_instructions(register):
    done = subprocess.run(
        [OBJDUMP, "-d", jit.NATIVE.__file__], capture_output=True, text=True, check=True
    )
    packed = re.findall(rf"\bvfn?m(?:add|sub)\d+pd\s.*%{register}", done.stdout)
    single = re.findall(r"\bvfn?m(?:add|sub)\d+sd\s", done.stdout)
    assert len(packed) > 500
    assert len(single) > 0  # what the pattern would see if it were not packed


def test_kernels_take_at_most_eight_arguments():
    """What belongs together is one buffer, with names for its offsets."""
    long = [
        f"{path.stem}.{node.name}"
        for path in Path(jit.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and len(node.args.args) > 8
    ]
    assert long == []
