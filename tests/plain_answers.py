"""Follow every call of a kernel by its own plain Python, on copies, and compare.

    python tests/plain_answers.py

Run by a test, in a process of its own. The work is that of `benchmarks/answers.py`: limits of all
kinds fitted and asked, fields and tables built, figures posed, goals solved, clips read.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import numpy as np

from benchmarks import answers
from joints import EXAMPLES, figure, random_inputs
from oracles import random_quats
from synovia import Box, LimitModel, RotationVector, Skeleton, human, kernels, quat
from synovia.anatomy import shoulder_shao_2003
from synovia.io.packed_limits import packed_limits_bytes
from synovia.kernels import jit
from synovia.limit import DependentMargin, DependentRange, Limit
from synovia.model import Coupled, control_groups, couple, project_path
from synovia.shapes.mesh import shape_boundary

FIRST = 1  # calls of each kernel that are followed, and what share of the others
SHARE = 0.02 if os.environ.get("SYNOVIA_EXHAUSTIVE") == "1" else 0.004
LARGE = 150_000  # numbers; Python would take too long
SLACK = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}
# To 1e-9: what iterates, and what takes the arc cosine of numbers next to 1.
ROUGH = {"ik_descent.descend_each"}
ROUGH |= {"reach_cone.clearances", "controls.descend", "clamp.first_exit"}
ROUGH |= {"runtime.exits", "runtime.look_at", "runtime.two_bone", "runtime.project_pose"}
ROUGH |= {"limit.measure_gradients"}  # differences of distances
ROUGH |= {"control_group.nearest_each", "pair.search"}
# Numbers of the nearest of several, which may be as near as each other.
TIES = {("distance_field_grid.nearest_in_lines", 5)}
TIES |= {("shapes.project_directions", 2)}  # the distances are compared


def plain_kernels():
    """Return the modules of kernels, loaded a second time, without their library."""
    compiled = {name: m for name, m in sys.modules.items() if name.startswith("synovia.kernels")}
    for name in compiled:
        del sys.modules[name]
    os.environ["SYNOVIA_KERNELS"] = "plain"
    names = [path.stem for path in Path(jit.__file__).parent.glob("[!_]*.py")]
    plain = {name: importlib.import_module(f"synovia.kernels.{name}") for name in names}
    del os.environ["SYNOVIA_KERNELS"]
    for name in plain:
        del sys.modules[f"synovia.kernels.{name}"]
    sys.modules.update(compiled)
    sys.modules["synovia"].kernels = kernels
    return plain


followed, chance = set(), np.random.default_rng(1)
calls, worst, wrong = Counter(), defaultdict(float), []


def off(given, expected):
    """Return how far numbers are apart, as a share of what is allowed."""
    given, expected = np.asarray(given), np.asarray(expected)
    if given.dtype.kind != "f":
        return np.inf * float((given != expected).any()) if (given != expected).any() else 0.0
    same = (given == expected) | (np.isnan(given) & np.isnan(expected))
    with np.errstate(all="ignore"):
        apart = np.abs(given - expected) / np.maximum(1.0, np.abs(expected))
    return float(np.max(np.where(same, 0.0, apart), initial=0.0)) / SLACK[given.dtype]


def copy(value):
    if isinstance(value, np.ndarray):
        return value.copy()
    return type(value)(*map(copy, value)) if hasattr(value, "_fields") else value


def follow(key, native, plain):
    """Return a kernel that is followed by its plain Python."""

    def run(*given):
        calls[key] += 1
        large = sum(np.size(value) for value in given if isinstance(value, np.ndarray)) > LARGE
        known = key in followed
        if known and (large or (calls[key] > FIRST and chance.random() > SHARE)):
            return native(*given)
        followed.add(key)
        mine = [copy(value) for value in given]
        answer = native(*given)
        with np.errstate(all="ignore"):
            expected = plain(*mine)
        allowed = 1e3 if key in ROUGH else 1.0
        if key == "reach_cone.locate":  # a direction between two slices is in either
            same = given[2] == mine[2]
            given = (*given[:2], given[3].reshape(-1, 2)[same])
            mine = (*mine[:2], mine[3].reshape(-1, 2)[same])
        for k, (one, other) in enumerate(zip(given, mine, strict=True)):
            if isinstance(one, np.ndarray) and (key, k) not in TIES:
                check(f"{key}, argument {k}", off(one, other), allowed)
        if expected is not None:
            check(f"{key}, result", off(answer, expected), allowed)
        return answer

    return run


def check(what, share, allowed):
    worst[what.partition(",")[0]] = max(worst[what.partition(",")[0]], share)
    if not share <= allowed:
        wrong.append(f"{what} is off by {share:.3g} of what is allowed")


def use_the_runtime(rng):
    """Pack limits and ask them as other programs do."""
    cloud = quat.exp(rng.normal(size=(200, 3)) / 4)
    limits = {
        "box": Limit.fit(cloud, "box"),
        "cone": Limit.fit(cloud, "reach-cone", axis=[1.0, 0.0, 0.0], vertices=8),
        "field": Limit.fit(cloud, "distance-field", resolution=10),
        "hand": replace(Limit.fit(cloud, "kdop"), relative_to="box", margin=0.1),
    }
    skeleton = Skeleton(("root", *limits), np.arange(-1, 4), np.tile([0.2, 0.0, 0.0], (5, 1)))
    margin = DependentMargin(limits["hand"], "box", [0, 1, 0], rng.uniform(0.0, 0.1, 18))
    model = LimitModel(couple(limits, {"hand": margin}), skeleton)
    packed = np.frombuffer(packed_limits_bytes(model)).copy()
    turns, runtime = random_quats(10, rng), kernels.runtime
    for k in range(4):
        out, distances = np.empty(40), np.empty(10)
        runtime.measure(packed, k, turns.ravel(), distances)
        runtime.project(packed, k, turns.ravel(), out, distances)
        runtime.exits(packed, k, out[:12].copy(), turns[:3].ravel(), distances[:3])
        kernels.runtime.soften(packed, k, turns.ravel(), 0.2, 0.7, out, distances)
    runtime.project_pose(packed, turns[:5].flatten(), np.empty(4))
    rest, point, near = np.tile(quat.IDENTITY, 5), np.zeros(3), np.array([0.76, 0.05, 0.04])
    kernels.runtime.look_at(packed, rest, 1, 4, np.eye(6)[3], near + 0.3, np.empty(4))
    kernels.runtime.two_bone(packed, rest, 3, point, near, point, np.empty(4))


def use_ways(rng):
    """Look for the way along four members in a row, and thin out rotations."""
    first, lengths = np.array([0, 1, 3, 5, 6]), np.array([1.0, 2.0, 1.5])
    links = np.array([[1, 0], [0, 0], [2, 1], [1, 1], [3, 2], [2, 2]])
    entries, exits, ahead = np.array([[0.0, 9, 9, 9]]), np.array([[9.0, 9, 9, 0]]), np.zeros((1, 4))
    before, last = np.empty((1, 4), np.int64), np.empty(1, np.int64)
    kernels.clamp.shortest_ways(first, links, lengths, entries, exits, ahead, before, last)
    rotations = quat.exp(rng.normal(size=(20, 3)) / 9)
    kernels.clamp.thin_ways(rotations, np.array([0, 12, 20]), 0.2, np.empty(20, bool))


def use_pairs(rng):
    """Find the nearest pairs of a driver and a hinge, by directions and by rotations."""
    box = Limit(RotationVector(), Box([-0.5, -0.4, -0.3], [0.4, 0.5, 0.2], np.eye(3)))
    bend = Limit(RotationVector(), Box([0.0, 0.0, 0.0], [2.0, 0.0, 0.0], np.eye(3)))
    for nodes in (18, 16):
        high = rng.uniform(0.4, 2.0, nodes)
        ends = DependentRange(bend, "hip", [0, -1, 0], np.zeros(nodes), high, [1, 0, 0])
        rotations = quat.exp([[[0.3, 0.2, 0.1], [1.9, 0.0, 0.1]]])
        Coupled("hip", box, {"knee": ends}).project(rotations)


def use_the_rest():
    """Use what those answers leave out, or use with much data."""
    rng = np.random.default_rng(3)
    Limit.fit(quat.exp(rng.normal(size=(20, 3)) / 4), "theta-phi", cell=0.5).project(quat.IDENTITY)
    figure().pose(rng.uniform(0.0, 1.0, size=(130, 7)))
    for body in (human(), shoulder_shao_2003()):
        low, _, high = body.ranges
        body.pose(np.linspace(low, high, 5))
    for component in EXAMPLES.values():
        component(**random_inputs(component, (5,), rng))
    limit = Limit.fit(quat.exp(rng.normal(size=(200, 3)) / 3), "distance-field", resolution=10)
    shape_boundary(limit.shape, 0)
    cone = Limit.fit(quat.exp(rng.normal(size=(200, 3)) / 3), "reach-cone")
    cone.shape.distance(cone.chart.points(quat.exp(rng.normal(size=(5, 3)))))
    hinge = Limit(RotationVector(), Box([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], np.eye(3)))
    turns = np.linspace(0.0, 6.0, 40)[:, None] * np.array([1.0, 0.0, 0.0])
    project_path(hinge, quat.exp(turns), 1.0 / 30.0)
    hinge.distance_and_gradient(quat.exp(turns))
    use_the_runtime(rng)
    use_pairs(rng)
    use_ways(rng)


def use_groups():
    """Find controls of groups that poses are near to."""
    groups = {group.segments[0]: group for group in control_groups(human())}
    for name in ("LeftHand", "L5"):
        vectors = np.random.default_rng(3).normal(size=(2, len(groups[name].segments), 3))
        groups[name].nearest(quat.exp(vectors / 3))


def main():
    assert jit.COMPILED
    plain = plain_kernels()
    for name in plain:
        importlib.import_module(f"synovia.kernels.{name}")
    for module, name in jit.SIGNATURES:
        short, room = module.rpartition(".")[2], sys.modules[module]
        native = getattr(room, name)
        setattr(room, name, follow(f"{short}.{name}", native, getattr(plain[short], name)))
    warnings.simplefilter("ignore")
    answers.use_smaller_sizes()
    use_the_rest()
    record = answers.Record()
    for ask in (answers.ask_limits, answers.ask_models):
        ask(record)
    answers.ask_human(record)
    answers.ask_ik(record)
    use_groups()
    for key, share in sorted(worst.items()):
        print(f"{key:<48}{calls[key]:>6} calls, {share:.2g} of what is allowed")
    known = {f"{module.rpartition('.')[2]}.{name}" for module, name in jit.SIGNATURES}
    if known - followed:
        wrong.append(f"never followed: {', '.join(sorted(known - followed))}")
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
