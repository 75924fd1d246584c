"""Kernels: packed instructions in machine code, and every kind of them within products."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from oracles import CASES, fitted
from synovia.kernels import jit, rotation, shapes
from synovia.shapes import SHAPES, Box, Ellipsoid, KDop, Product

EYE = np.eye(3)


def has_fma():
    try:
        return re.search(r"\bfma\b", Path("/proc/cpuinfo").read_text()) is not None
    except OSError:
        return False


@pytest.mark.skipif(jit.numba is None, reason="numba is not installed")
@pytest.mark.skipif(not has_fma(), reason="this processor has no fused multiply-add, or hides it")
@pytest.mark.parametrize(
    "function",
    [
        rotation.turn_in_and_log,
        rotation.turn_out,
        rotation.exp,
        rotation.split,
        rotation.join,
        shapes.box,
        shapes.ellipsoid,
    ],
    ids=lambda function: function.__name__,
)
def test_kernels_become_packed_instructions(function):
    compiled = jit.numba.njit(nogil=True, fastmath=jit.FAST, error_model="numpy")(function.py_func)
    block = np.zeros(rotation.BLOCK)
    if function in (shapes.box, shapes.ellipsoid):
        packed = (
            Box(-np.ones(3), np.ones(3), EYE)
            if function is shapes.box
            else Ellipsoid(np.zeros(3), np.ones(3), EYE)
        ).packed
        compiled(packed, 1, block, rotation.LANES)
    elif function is rotation.turn_in_and_log:
        compiled(np.ones(4), 0, block, rotation.LANES)
    elif function is rotation.turn_out:
        compiled(np.ones(4), 0, 0.0, block, rotation.LANES)
    else:
        compiled(block, rotation.LANES)
    (assembly,) = compiled.inspect_asm().values()
    assert len(re.findall(r"\bvfn?m(?:add|sub)\d+pd\b", assembly)) >= 6


def test_products_have_their_swing_projected_by_every_kind():
    assert {type(fitted(case, "tilted").swing) for case in CASES if case.startswith("product")} == {
        Box,
        Ellipsoid,
        KDop,
    }
    assert Product.name in SHAPES


def test_kernels_take_at_most_eight_arguments():
    """What belongs together is one buffer, with names for its offsets."""
    long = [
        f"{path.stem}.{node.name}"
        for path in Path(jit.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and len(node.args.args) > 8
    ]
    assert long == []
