"""A kernel for a new shape: the steps of CONTRIBUTING.md, carried out on a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

import synovia
from synovia.native.build import find_compiler

ROOT = Path(__file__).parents[1]
PACKAGE = Path(synovia.__file__).parent
pytestmark = pytest.mark.skipif(not find_compiler(), reason="there is no C compiler")

SHAPE = """
from ..kernels.layout import BALL
from .. import kernels
from functools import cached_property
from ..arrays import Floats
"""

CHECK = """
import numpy as np
from synovia import LimitModel, RotationVector, Skeleton, kernels, quat
from synovia.io.packed_limits import packed_limits_bytes
from synovia.kernels import jit
from synovia.limit import Limit

from synovia.shapes import SHAPES
from synovia.shapes.ball import Ball

assert jit.COMPILED
SHAPES["ball"] = Ball
rng = np.random.default_rng(1)
limit, points = Limit(RotationVector(), Ball(0.8)), rng.normal(size=(500, 3))
length = np.linalg.norm(points, axis=1)
assert 0 < (length <= 0.8).sum() < 500
np.testing.assert_allclose(limit.shape.distance(points), length - 0.8, atol=1e-12)
nearest = points * np.minimum(1.0, 0.8 / length)[:, None]
np.testing.assert_allclose(limit.shape.project(points), nearest, atol=1e-12)
turned = quat.exp(points)  # at most \u03c0 is the nearest cover of a ball
away = np.linalg.norm(quat.log(turned), axis=1) - 0.8
np.testing.assert_allclose(limit.distance(turned), away, atol=1e-9)
assert limit.contains(limit.project(turned)).all()
skeleton = Skeleton(("root", "arm"), np.array([-1, 0]), np.zeros((2, 3)))
packed = np.frombuffer(packed_limits_bytes(LimitModel({"arm": limit}, skeleton))).copy()
assert kernels.runtime_file.check_file(packed) == kernels.runtime_file.WHOLE_FILE
"""


def blocks(section):
    """Return the code blocks of a section of CONTRIBUTING.md, each after the file it belongs to."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    path = ""
    for match in re.finditer(r"`src/synovia/([\w/]+\.py)`|```(\w+)\n(.*?)```", text, re.DOTALL):
        path = match[1] or path
        if match[2]:
            yield path, match[2], match[3]


def change(source, diff):
    """Replace the lines that a diff marks with - by those that it marks with +, once."""
    old, new = (
        "".join(f"{line[1:]}\n" for line in diff.splitlines() if line[0] == sign) for sign in "-+"
    )
    assert source.count(old) == 1, old
    return source.replace(old, new)


def test_the_description_of_a_kernel_is_complete(tmp_path):
    package = tmp_path / "src" / "synovia"
    ignored = shutil.ignore_patterns("__pycache__", "_native.*", "page")
    shutil.copytree(PACKAGE, package, ignore=ignored)
    (tmp_path / "pyproject.toml").touch()
    objects = PACKAGE.parents[1] / "build"
    if (objects / "kernels").exists():  # compiled files that are the same are not compiled again
        (tmp_path / "build").symlink_to(objects, target_is_directory=True)
    *steps, (_, _, members) = blocks("Add a kernel")
    for path, language, code in steps:
        file = package / path
        file.write_text(code if language == "python" else change(file.read_text("utf-8"), code))
    ball = (ROOT / "tests" / "new" / "ball.py").read_text(encoding="utf-8")
    ball = ball.partition("    def distance(")[0] + indent(members, "    ")
    first = "import numpy as np\n"
    (package / "shapes" / "ball.py").write_text(ball.replace(first, first + SHAPE))
    env = {**os.environ, "PYTHONPATH": str(package.parent)}
    env.pop("SYNOVIA_KERNELS", None)
    for command in (["-m", "synovia.native.build"], ["-c", CHECK]):
        done = subprocess.run(
            [sys.executable, *command],
            capture_output=True, text=True, check=False, env=env, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
