"""Without numba the same kernels run as plain Python, and give the same answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arms import arm
from joints import EXAMPLES, figure, random_inputs
from oracles import SEEN, fitted, placed, random_quats
from synovia.ik import Reach, solve
from synovia.kernels import jit
from synovia.limit import Limit

KINDS = ("tilted", "beyond", "plane")


def answers():
    """A few answers of every shape in every chart, by name."""
    rotations = random_quats(12, np.random.default_rng(4))
    points = 1.5 * np.random.default_rng(5).normal(size=(12, 3))
    found = {}
    for case, chart in SEEN:
        for kind in KINDS:
            limit = Limit(placed(chart), fitted(case, kind))
            legal = limit.chart.rotations(limit.shape.scatter(4, np.random.default_rng(6)))
            given = np.concatenate([rotations, legal, -legal])
            name = f"{case} {chart} {kind}"
            found[f"{name} distance"] = limit.distance(given)
            found[f"{name} project"] = limit.project(given)
            found[f"{name} single"] = limit.project(given.astype(np.float32)).astype(float)
            found[f"{name} points"] = limit.shape.project(points)
            found[f"{name} unroll"] = limit.chart.unroll(given)
            assert limit.project(legal).tobytes() == legal.tobytes()
            assert limit.contains(limit.project(given)).all()
    return {**found, **answers_of_components(), **answers_of_solvers()}


def answers_of_components():
    """A few answers of every component, and of a network of them."""
    found = {}
    for name, component in EXAMPLES.items():
        inputs = random_inputs(component, (5,), np.random.default_rng(7))
        for port, value in component(**inputs).items():
            found[f"{name} {port}"] = value
    controls = np.random.default_rng(8).uniform(0.0, 1.0, size=(4, 7))
    posed = figure().pose(controls)
    return {**found, "figure rotations": posed.rotations, "figure positions": posed.positions}


def answers_of_solvers():
    """A few poses by goals, met and not."""
    model = arm()
    targets = np.array([[0.9, 1.5, 0.2], [0.5, 1.1, 0.4], [3.0, 1.2, 0.0]])
    found = {}
    for method in ("least-squares", "ccd", "fabrik"):
        rest, goals = model.skeleton.rest_pose(), [Reach("Hand", targets)]
        solved = solve(model, model.skeleton, rest, goals, method=method, iterations=6, restarts=0)
        assert model.contains(solved.pose).all()
        found[f"{method} error"] = solved.errors
    return found


SCRIPT = """
import sys, warnings
sys.modules["numba"] = None
sys.path.insert(0, {tests!r})
import numpy as np
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from test_without_numba import answers, jit
    found = answers()
assert jit.numba is None
said = [w for w in caught if issubclass(w.category, RuntimeWarning)]
assert len(said) == 1, [str(w.message) for w in said]
assert "numba is not installed" in str(said[0].message)
np.savez({out!r}, **found)
"""


@pytest.mark.skipif(jit.numba is None, reason="numba is not installed, so there is no other way")
def test_plain_python_gives_the_same_answers(tmp_path):
    out = str(tmp_path / "answers.npz")
    code = SCRIPT.format(tests=str(Path(__file__).parent), out=out)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    compiled = answers()
    with np.load(out) as plain:
        assert set(plain.files) == set(compiled)
        for name, expected in compiled.items():
            slack = 1e-6 if name.endswith("single") else 1e-12
            assert np.abs(plain[name] - expected).max() <= slack, name
