"""Limits in C: the header gives Python's answers, and no file makes it read outside."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import synovia
from arms import arm
from command_line import run
from oracles import directions, fitted, placed, random_quats
from synovia import (
    Box,
    Hinges,
    Limit,
    LimitModel,
    Pose,
    RotationVector,
    Skeleton,
    load_limits,
    quat,
    save_limits,
)
from synovia.arrays import TOLERANCE
from synovia.io import packed_limits
from synovia.io.packed_limits import packed_limits_bytes
from synovia.kernels import dependent, runtime
from synovia.kernels import limit as limit_kernels
from synovia.kernels import runtime_file as layout
from synovia.kernels.distance_field import HEADER as SHAPE_HEADER  # the longest of all shapes
from synovia.kernels.hinges import TAIL
from synovia.kernels.layout import BOX, CONE, ELLIPSOID, HINGES, KDOP, MAX_AXES, MAX_REACH, UNION
from synovia.kernels.limit import HEADER as LIMIT_HEADER
from synovia.kernels.rotation import BLOCK, W0
from synovia.kernels.vector import Quat
from synovia.limit import DependentMargin, DependentRange
from synovia.limit.softening import Beyond
from synovia.model import couple, first_exit
from synovia.model.constraint import EDGE, MIN_STEP
from synovia.native.build import zig_compiler
from synovia.native.entries import header_text
from synovia.shapes import KDop, Union

HERE = Path(__file__).parent
ROOT = HERE.parent
CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
WATCHED = ["-Og", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
COMPILERS = {
    "system": [CC, "-O1"] if CC else [],
    "sanitizers": [CC, *WATCHED] if CC else [],
    "zig": [*zig_compiler(), "-O2"] if zig_compiler() else [],
}
EXHAUSTIVE = os.environ.get("SYNOVIA_EXHAUSTIVE") == "1"


def model_of(limits, offsets=0.1):
    """A chain with one joint for each limit, the first of which has none."""
    names = ("root", *limits)
    skeleton = Skeleton(names, np.arange(-1, len(limits)), np.full((len(names), 3), offsets))
    return LimitModel(limits, skeleton)


def small_limits():
    """A limit of every kind that has a kernel, in each of its charts, with little in it."""
    rng = np.random.default_rng(3)
    cloud = quat.exp(rng.uniform(-0.5, 0.5, size=(300, 3)) * (1.0, 0.7, 0.5))
    found = {}
    for case in ("box", "ellipsoid", "kdop"):
        for chart in ("rotation-vector", "swing-twist"):
            found[f"{case} {chart}"] = Limit(placed(chart), fitted(case, "tilted"))
    skew = Hinges(placed("hinges").reference, [[1.0, 0.2, 0.1], [0.1, 1.0, 0.4], [0.3, -0.2, 1.0]])
    found["kdop hinges"] = Limit(placed("hinges"), fitted("kdop", "tilted"))
    found["box skew hinges"] = Limit(skew, fitted("box", "tilted"))
    found["product"] = Limit(placed("swing-twist"), fitted("product", "tilted"))
    axis = [0.6, 0.0, 0.8]
    cone = Limit.fit(cloud, "reach-cone", axis=axis, vertices=12)
    other = Limit.fit(quat.mul(quat.exp([0.0, 0.0, 1.2]), cloud), "reach-cone", axis=axis,
                      reference=cone.chart.reference, vertices=8)  # fmt: skip
    found["cone"] = cone
    found["union"] = Limit(cone.chart, Union((cone.shape, other.shape)))
    found["table"] = Limit.fit(cloud, "theta-phi", axis=axis, cell=np.radians(12.0))
    for chart in ("rotation-vector", "swing-twist", "euler"):
        options = {"axis": axis} if chart == "swing-twist" else {}
        found[f"field {chart}"] = Limit.fit(
            cloud, "distance-field", chart, resolution=10, **options
        )
    base = Limit(placed("swing-twist"), fitted("box", "tilted"), relative_to="cone")
    return {**found, "of an ancestor": base}


def cube(half, margin=0.0):
    """A limit of rotation vectors within a cube."""
    return Limit(RotationVector(), Box([-half] * 3, [half] * 3, np.eye(3)), margin=margin)


def pair_model():
    """Joints that depend on others: two on one driver, by directions and rotations, ancestors.

    The thumb is measured from the palm, across the wrist that it depends on.
    """
    rng, limits = np.random.default_rng(6), small_limits()
    bend = Limit(RotationVector(), Box([0.0, 0, 0], [2.2, 0, 0], np.eye(3)))
    names = ("root", "hip", "knee", "foot", "spine", "collar", "arm", "free", "toe")
    names += ("palm", "wrist", "thumb")
    skeleton = Skeleton(names, np.arange(-1, 11), np.full((len(names), 3), 0.1))
    arm = replace(limits["cone"], relative_to="spine", margin=0.3)
    ankle = replace(limits["ellipsoid swing-twist"], margin=0.2)
    own = {
        "hip": limits["box swing-twist"], "knee": bend, "foot": ankle,
        "spine": limits["kdop rotation-vector"], "collar": limits["product"], "arm": arm,
        "toe": bend, "wrist": cube(0.5), "thumb": replace(cube(0.6), relative_to="palm"),
    }  # fmt: skip
    down, high = [0, -1.0, 0], rng.uniform(0.5, 2.2, (2, 18))
    foot, hand = rng.uniform(0.0, 0.2, 66), rng.uniform(0.0, 0.3, 16)
    dependents = {
        "knee": DependentRange(bend, "hip", down, np.zeros(18), high[0], [1, 0, 0]),
        "arm": DependentMargin(arm, "spine", down, hand),
        "foot": DependentMargin(own["foot"], "hip", down, foot),
        "toe": DependentRange(bend, "free", down, np.zeros(18), high[1], [1, 0, 0]),
        "thumb": DependentRange(
            own["thumb"], "wrist", down, np.full(18, -0.6), rng.uniform(-0.5, 0.6, 18), [1, 0, 0]
        ),
    }
    return LimitModel(couple(own, dependents), skeleton)


@pytest.fixture(scope="module")
def header():
    """The text of the header, which takes a moment to translate."""
    return header_text()


@pytest.fixture(scope="module")
def built(header, tmp_path_factory):
    """The header in a folder, with a function that compiles a program there."""
    folder = tmp_path_factory.mktemp("runtime")
    (folder / "synovia.h").write_text(header, encoding="utf-8")

    @cache
    def compile_with(compiler, *sources):
        program = folder / f"{Path(sources[0]).stem}-{len(compiler)}"
        strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{folder}"]
        command = [*compiler, *strict, *map(str, sources), "-lm", "-o", program]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:2000]
        return program

    return compile_with


def answers(run, model, rotations, folder):
    """What a program answers for all limits of a model: by limit, and for eight poses."""
    limits, given, out = (folder / name for name in ("a.limits.bin", "rotations", "out"))
    save_limits(model, limits)
    rotations.tofile(given)
    done = subprocess.run([*run, limits, given, out], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    n, numbers = len(rotations), np.fromfile(out)
    limited, joints = len(model.limits), len(model.skeleton.names)
    sizes = 6 * n * limited, 32 * joints, 32 * limited
    each, poses, soft, solved = np.split(numbers, np.cumsum(sizes))
    return (
        each.reshape(limited, 6 * n),
        poses.reshape(8, joints, 4),
        soft.reshape(limited, 8, 4),
        solved.reshape(8, 2, 1 + 4 * joints),
    )


def check_answers(run, folder, count):
    rng = np.random.default_rng(0)
    model = model_of(small_limits())
    rotations = random_quats(count, rng)
    rotations[:100] = quat.exp(0.2 * rng.normal(size=(100, 3)))
    each, poses, soft, solved = answers(run, model, rotations, folder)
    for (name, limit), found in zip(model.limits.items(), each, strict=True):
        projected, distances, exits = np.split(found, [4 * count, 5 * count])
        projected, here = projected.reshape(-1, 4), limit.project(rotations)
        still = (here == rotations).all(axis=1)
        np.testing.assert_array_equal(projected[still], rotations[still], err_msg=name)
        np.testing.assert_allclose(projected, here, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(distances, limit.distance(rotations), atol=1e-9, err_msg=name)
        before = np.concatenate([projected[:1], projected[:-1]])
        sample = slice(0, 200)
        np.testing.assert_allclose(
            exits[sample], first_exit(limit, before[sample], rotations[sample]), atol=1e-6
        )
    joints = len(model.skeleton.names)
    given = np.resize(rotations, (8, joints, 4))
    wanted = model.project(Pose(given, np.zeros((8, joints, 3)))).rotations
    np.testing.assert_allclose(poses, wanted, atol=1e-9)
    for limit, found in zip(model.limits.values(), soft, strict=True):
        wanted = limit.soften(rotations[:8], Beyond(0.2, 0.7))
        side = np.sign((wanted * rotations[:8]).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(found, side * wanted, atol=1e-9)
    check_solved(solved, model)
    model = arm()
    *_, solved = answers(run, model, rotations[:50], folder)
    assert check_solved(solved, model) >= 4
    model, joints = pair_model(), len(pair_model().skeleton.names)
    some = np.concatenate([rotations[100:150], quat.exp(0.1 * rng.normal(size=(50, 3)))])
    _, poses, _, solved = answers(run, model, some, folder)
    given = Pose(np.resize(some, (8, joints, 4)), np.zeros((8, joints, 3)))
    np.testing.assert_allclose(poses, model.project(given).rotations, atol=1e-9)
    check_solved(solved, model)


def check_solved(solved, model):
    """Hold what a program solved against the library; return how many goals of two bones it met."""
    here = solve_here(model)
    np.testing.assert_allclose(solved[:, 0], here[:, 0], atol=1e-7)
    met = here[:, 1, 0] < 1e-6  # else a choice between what is equally bad hangs on a last digit
    np.testing.assert_allclose(solved[met, 1], here[met, 1], atol=1e-7)
    np.testing.assert_allclose(solved[:, 1, 0], here[:, 1, 0], rtol=0.01, atol=1e-7)
    return met.sum()


def solve_here(model):
    """What `runtime/answers.c` solves, by the library: what is left, and the pose."""
    packed, joints = np.frombuffer(packed_limits_bytes(model)), len(model.skeleton.names)
    point, pole, away = np.array([0.1, 0, 0]), np.array([0, 1.0, 0]), np.empty(len(model.limits))
    found = []
    for k in range(8):
        target = np.array([1.0, 0.25 * k, 0.5])
        pose = np.tile([1.0, 0.0, 0.0, 0.0], joints)
        aim = np.array([0, 0, 0, 0, 0, 1.0])
        left = runtime.look_at(packed, pose, 1, joints - 1, aim, target, away)
        looking, end = [left, *pose], 2 + k % 3
        near = model.skeleton.offsets[: end + 1].sum(axis=0)
        near += 0.03, 0.02, -0.01 * k
        pose = np.tile([1.0, 0.0, 0.0, 0.0], joints)
        left = runtime.two_bone(packed, pose, end, point, near, (k % 2) * pole, away)
        found.append([looking, [left, *pose]])
    return np.array(found)


@pytest.mark.parametrize("compiler", [name for name in COMPILERS if EXHAUSTIVE or name != "system"])
def test_a_c_program_gives_the_same_answers(compiler, built, tmp_path):
    if not COMPILERS[compiler]:
        pytest.skip(f"no C compiler of the {compiler}")
    program = built(tuple(COMPILERS[compiler]), HERE / "runtime" / "answers.c")
    check_answers([program], tmp_path, 100_000 if EXHAUSTIVE else 300)


@pytest.mark.skipif(not CC, reason="no C compiler")
@pytest.mark.parametrize("model", [lambda: model_of(small_limits()), pair_model])
def test_no_mutated_file_reads_outside(model, built, tmp_path):
    program = built(tuple(COMPILERS["sanitizers"]), HERE / "runtime" / "answers.c")
    save_limits(model(), tmp_path / "a.limits.bin")
    count = 10_000 if EXHAUSTIVE else 100
    done = subprocess.run(
        [program, tmp_path / "a.limits.bin", str(count)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[:3000]
    assert 0 < int(done.stdout) < count  # some changes are legal, some are not


def header_changes(packed):
    """Extreme values for each number of a packed file's headers: (n, 2), position and value.

    Headers are of the file, rows, limits and their shapes, and pairs. In a file with pairs, limits
    are left out.
    """
    parts, limits = [(0, layout.FILE.SIZE, len(packed))], []
    for k in range(int(packed[layout.FILE.limits])):
        row = layout.row_at(packed, k)
        parts.append((row, layout.ROW.SIZE, len(packed)))
        limits.append(int(packed[row + layout.ROW.limit]))
    for k in range(int(packed[layout.FILE.pairs])):
        row = layout.pair_at(packed, k)
        parts.append((row, layout.PAIR.SIZE, len(packed)))
        parts.append((int(packed[row + layout.PAIR.numbers]), dependent.NODES.SIZE, len(packed)))
    for at in [] if packed[layout.FILE.pairs] else limits:
        size, shape = int(packed[at + LIMIT_HEADER.size]), at + LIMIT_HEADER.SIZE + 1
        parts.append((at, LIMIT_HEADER.SIZE + 1, size))
        tail = TAIL.SIZE if packed[at + LIMIT_HEADER.chart] == HINGES else 0
        room = size - LIMIT_HEADER.SIZE - 1 - tail  # what the shape's own numbers fill
        parts.append((shape, min(SHAPE_HEADER.SIZE, room), room))
        parts.append((at + size - tail, tail, tail))
    return np.array(
        [
            (position, value)
            for start, count, size in parts
            for position in range(start, start + count)
            for value in {*EXTREME, *changed(packed[position]), 0.5 * size, size - 1.0, size}
        ]
    )


EXTREME = (0.0, 1.0, -1.0, 2.0, 32.0, 1e9, 1e12, 1e300, -1e300, np.nan, np.inf, -np.inf)


# Every shape and every kind of tail; the others with SYNOVIA_EXHAUSTIVE=1.
SWEPT = [
    *("box swing-twist", "ellipsoid rotation-vector", "kdop hinges", "product", "cone", "union"),
    *("table", "field euler", "of an ancestor", "pairs"),
]
if EXHAUSTIVE:
    SWEPT = [*small_limits(), "pairs"]


def changed(value):
    """Return numbers near to one of a header."""
    return value - 1.0, value + 1.0, value + 0.5, 2.0 * value, -value


def swept_model(name):
    """A small model of which all headers are swept."""
    if name == "pairs":
        return pair_model()
    limits = small_limits()
    above = limits[name].relative_to
    return model_of({each: limits[each] for each in (above, name) if each is not None})


@pytest.mark.skipif(not CC, reason="no C compiler")
@pytest.mark.parametrize("name", SWEPT)
def test_extreme_numbers_in_headers_are_refused_or_harmless(name, built, tmp_path):
    program = built(tuple(COMPILERS["sanitizers"]), HERE / "runtime" / "answers.c")
    save_limits(swept_model(name), tmp_path / "a.limits.bin")
    header_changes(np.fromfile(tmp_path / "a.limits.bin")).tofile(tmp_path / "changes")
    command = [program, tmp_path / "a.limits.bin", "sweep", tmp_path / "changes"]
    # Seconds, unless some file takes covers without end.
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[:3000]
    made, loaded = map(int, done.stdout.split())
    assert 0 < loaded < made


def test_covers_are_bounded_whatever_a_file_says(monkeypatch):
    """A shape that is not within its reach is far from every cover."""
    packed = Limit(placed("swing-twist"), fitted("box", "tilted")).packed.copy()
    assert layout.check_limit(packed, 0)
    packed[[LIMIT_HEADER.reach, LIMIT_HEADER.reach_twist]] = MAX_REACH
    middle = LIMIT_HEADER.SIZE + 1 + 9  # after kind and axes
    packed[middle : middle + 3] = 1e9
    assert layout.check_limit(packed, 0)
    looked = []
    monkeypatch.setattr(limit_kernels, "take_nearest", lambda *given: looked.append(given[-1]))
    block = np.zeros(BLOCK)
    block[W0] = 1.0
    limit_kernels.enter(packed, 0, block, 1)
    limit_kernels.nearest(packed, 0, block, 1)
    assert 0 < sum(looked) < 3000
    packed[LIMIT_HEADER.reach] *= 1.01
    assert not layout.check_limit(packed, 0)


def test_tolerances_of_the_runtime_are_those_of_the_library():
    assert runtime.TOLERANCE == TOLERANCE
    assert (runtime.FINEST, runtime.EDGE) == (MIN_STEP, EDGE)


def test_a_kdop_has_no_more_axes_in_a_file_than_in_python():
    axes = directions(MAX_AXES, np.random.default_rng(0))
    packed = Limit(RotationVector(), KDop(axes, -np.ones(MAX_AXES), np.ones(MAX_AXES))).packed
    assert layout.check_limit(packed, 0)
    more = np.concatenate([packed, np.ones(5)])
    more[[LIMIT_HEADER.size, LIMIT_HEADER.SIZE + 1]] += (
        5,
        1,
    )  # its size, and the number of axes after the kind
    assert not layout.check_limit(more, 0)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda p: p[:5], layout.NO_LIMITS),
        (lambda p: np.append(p, 0.0), layout.CUT),
        (lambda p: p[:-1], layout.CUT),
        (lambda p: np.where(np.arange(len(p)) == len(p) - 1, 0.5, p), layout.DAMAGED),
        (lambda p: np.where(np.arange(len(p)) == layout.FILE.version, 99.0, p), 2),
    ],
)
def test_damage_is_told(change, code):
    packed = np.frombuffer(packed_limits_bytes(model_of({"a": small_limits()["product"]})))
    assert layout.check_file(packed) == layout.WHOLE_FILE
    assert layout.check_file(np.ascontiguousarray(change(packed))) == code


def test_pairs_are_packed_and_answered_as_by_the_model():
    model = pair_model()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        packed = np.frombuffer(packed_limits_bytes(model)).copy()
    assert packed[layout.FILE.pairs] == 5
    rng, joints = np.random.default_rng(4), len(model.skeleton.names)
    some = quat.exp(rng.uniform(0.05, 1.0, (60, 1, 1)) * rng.normal(size=(60, joints, 3)))
    some[:20] = model.sample(20, rng).rotations
    pose = Pose(some, np.zeros((60, joints, 3)))
    found, away = some.copy(), np.empty((60, len(model.limits)))
    for k in range(60):
        runtime.project_pose(packed, found[k].reshape(-1), away[k])
        again = found[k].copy()
        runtime.project_pose(packed, again.reshape(-1), np.empty(len(model.limits)))
        np.testing.assert_array_equal(again, found[k])
    np.testing.assert_array_equal(found[:20], some[:20])
    np.testing.assert_allclose(found, model.project(pose).rotations, atol=1e-9)
    order = sorted(map(model.skeleton.index, model.limits))
    own = [k for k, joint in enumerate(order) if model.skeleton.names[joint] != "arm"]
    outside = model.distance(pose)[:, order]  # the arm is looked at when the collar is legal
    np.testing.assert_allclose(
        np.maximum(away, 0.0)[:, own], np.maximum(outside, 0.0)[:, own], atol=1e-9
    )


def test_pairs_that_cannot_be_packed_are_named():
    limits = small_limits()
    foot = replace(limits["ellipsoid swing-twist"], margin=0.1)
    own = {"hip": limits["kdop hinges"], "foot": foot}
    foot = DependentMargin(own["foot"], "hip", [0, -1, 0], np.full(6, 0.01))
    model = model_of(own).with_limits(own, {"foot": foot})
    with pytest.warns(UserWarning, match="the runtime does not know that foot depend on other"):
        packed = np.frombuffer(packed_limits_bytes(model))
    assert packed[layout.FILE.pairs] == 0


def test_more_pairs_than_a_file_may_have_are_named_and_refused(monkeypatch):
    most, one, names = layout.MAX_PAIRS, cube(0.5, 0.1), []
    for k in range(most + 1):
        names += [f"hip {k}", f"knee {k}"]
    flat = Skeleton(
        ("root", *names), np.array([-1] + [0] * len(names)), [[0.1] * 3] * (2 * most + 3)
    )
    knee = DependentMargin(one, "hip", [0, -1, 0], np.full(6, 0.01))
    dependents = {f"knee {k}": replace(knee, driver=f"hip {k}") for k in range(most + 1)}
    model = LimitModel(couple(dict.fromkeys(names, one), dependents), flat)
    with pytest.warns(UserWarning, match=f"the runtime does not know that knee {most} depend on"):
        packed = np.frombuffer(packed_limits_bytes(model))
    assert packed[layout.FILE.pairs] == most
    lenient = SimpleNamespace(**{**vars(layout), "MAX_PAIRS": most + 1})
    monkeypatch.setattr(packed_limits, "layout", lenient)
    with pytest.raises(ValueError, match="this model cannot be packed"):
        packed_limits_bytes(model)


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("joint", ["knee", "arm"])  # by directions, and by rotations
def test_a_driver_that_is_no_rotation_finds_numbers_that_are_there(joint, number):
    packed = pair_model().dependents[joint].packed
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = dependent.values_at(packed, 0, Quat(number, number, 0.0, 0.0))
    assert low in packed[dependent.NODES.SIZE :]
    assert high in [0.0, *packed[dependent.NODES.SIZE :]]


def verdict(packed):
    """What is wrong with a packed file that has the right checksum."""
    packed[layout.FILE.checksum] = layout.checksum(packed)
    return layout.check_file(packed)


HOSTILE = {  # by row of pairs, of b and c that depend on a, and of e that depends on d
    "a chain": {2: [4, 2, 1]},
    "a cycle": {0: [1, 5, 4], 2: [4, 2, 1]},
    "no limit of a driver": {0: [1, 1, -1], 1: [2, 1, -1]},
    "a driver apart": {1: [4, 4, 3], 2: [2, 1, 0]},
    "a driver below": {2: [3, 5, 4]},
    "the same joint": {2: [2, 4, 3]},
}


@pytest.mark.parametrize("rows", HOSTILE.values(), ids=HOSTILE)
def test_rows_of_pairs_that_no_model_has_are_refused(rows):
    packed = small_pairs()
    for k, row in rows.items():
        at = layout.pair_at(packed, k)
        packed[at : at + 3] = row
    assert verdict(packed) == layout.BAD_LIMIT


def test_places_out_of_order_are_refused():
    """Many rows could point to one limit, and each would check all of it."""
    packed = small_pairs()
    at = layout.row_at(packed, 0) + layout.ROW.limit
    packed[at + layout.ROW.SIZE] = packed[at]
    assert verdict(packed) == layout.BAD_LIMIT
    packed = small_pairs()
    packed[layout.FILE.pairs] = packed[layout.FILE.pair_rows] = 0.0
    assert verdict(packed) == layout.BAD_SKELETON


def small_pairs():
    """A packed chain a to e in which b and c depend on a, and e on d."""
    one = cube(0.5, 0.1)
    knee = DependentMargin(one, "a", [0, -1, 0], np.full(6, 0.01))
    dependents = {"b": knee, "c": knee, "e": replace(knee, driver="d")}
    model = model_of(dict.fromkeys("abcde", one))
    model = model.with_limits(model.limits, dependents)
    return np.frombuffer(packed_limits_bytes(model)).copy()


def test_what_cannot_be_packed_is_named(monkeypatch):
    far = KDop([*np.eye(3), [0.6, 0.8, 0]], [-0.5] * 3 + [-1e13], [0.5] * 3 + [1e13])
    model = model_of({"hip": cube(0.5), "knee": Limit(RotationVector(), far)})
    with pytest.raises(ValueError, match="the limit of knee cannot be packed: a number of it is"):
        packed_limits_bytes(model)
    with pytest.raises(ValueError, match="the offset of root cannot be packed"):
        packed_limits_bytes(model_of({"hip": cube(0.5)}, 1e13))
    knee = DependentMargin(cube(0.5, 0.1), "hip", [0, -1, 0], np.full(6, 0.01))
    model = model_of({"hip": cube(0.5), "knee": knee.limit})
    model = model.with_limits(model.limits, {"knee": knee})
    monkeypatch.setattr(DependentMargin, "packed", np.append(replace(knee).packed[:-1], 1e13))
    with pytest.raises(ValueError, match="the dependence of knee on hip cannot be packed"):
        packed_limits_bytes(model)


@pytest.mark.parametrize("name", ["kdop swing-twist", "kdop hinges", "union"])
@pytest.mark.parametrize("count", [-1, +1, 10_000])
def test_a_count_that_its_limit_has_no_numbers_for_is_refused(name, count):
    packed = np.frombuffer(packed_limits_bytes(model_of({"a": small_limits()[name]}))).copy()
    at = int(packed[layout.row_at(packed, 0) + layout.ROW.limit]) + LIMIT_HEADER.SIZE + 1
    packed[at] = packed[at] + count if abs(count) == 1 else count
    assert verdict(packed) == layout.BAD_LIMIT


@pytest.mark.parametrize("kind", [BOX, ELLIPSOID, KDOP, CONE, UNION])
def test_a_field_by_another_name_is_refused(kind):
    """What is read as a k-DOP of thousands of planes would take minutes to project to."""
    field = small_limits()["field swing-twist"]
    packed = np.frombuffer(packed_limits_bytes(model_of({"a": field}))).copy()
    at = int(packed[layout.row_at(packed, 0) + layout.ROW.limit]) + LIMIT_HEADER.SIZE
    packed[at : at + 2] = kind, 3.0
    assert verdict(packed) == layout.BAD_LIMIT


def test_a_chain_measured_from_its_root_is_walked_in_bounds(monkeypatch):
    model = model_of(dict.fromkeys(map(str, range(30)), replace(cube(0.5), relative_to="root")))
    numbers = np.frombuffer(packed_limits_bytes(model))
    for most in (29 * 30 // 2, 29 * 30 // 2 - 1):
        monkeypatch.setattr(layout, "MAX_BETWEEN", most)
        assert layout.check_skeleton(numbers) == (most == 29 * 30 // 2)
    with pytest.raises(ValueError, match="more than 434 joints between"):
        packed_limits_bytes(model)
    for ancestor in (-1.0, 0.5, 7.0, 30.0, np.nan):  # of which none is above the third joint
        changed = numbers.copy()
        changed[layout.row_at(numbers, 2) + layout.ROW.ancestor] = ancestor
        assert verdict(changed) == layout.BAD_SKELETON


def test_a_limit_without_a_kernel_is_refused_by_name(tmp_path, monkeypatch):
    limit = small_limits()["box swing-twist"]
    monkeypatch.setattr(type(limit.shape), "kernel", None)
    with pytest.raises(ValueError, match="the limit of elbow cannot be packed: a box in the chart"):
        save_limits(model_of({"elbow": limit}), tmp_path / "a.limits.bin")
    with pytest.raises(ValueError, match=r"packed limits are for other programs"):
        load_limits(tmp_path / "a.limits.bin")


@pytest.mark.skipif(not CC, reason="no C compiler")
def test_examples_run(built, tmp_path):
    examples = ROOT / "examples" / "runtime"
    if not examples.exists():
        pytest.skip("examples come with a checkout")
    limit = small_limits()["box swing-twist"]
    save_limits(model_of({"arm": limit, "hand": limit}), tmp_path / "a.limits.bin")
    clamp = built((CC,), examples / "clamp.c")
    turn = quat.exp([1.9, 0.3, 0.1])
    command = [clamp, tmp_path / "a.limits.bin", "arm", *map(repr, turn.tolist())]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    np.testing.assert_allclose(np.array(done.stdout.split(), float), limit.project(turn), atol=1e-9)
    loop = built((CC,), examples / "game_loop.c", examples / "synovia.c")
    done = subprocess.run([loop, tmp_path / "a.limits.bin"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.endswith(" 0 left outside\n")


def test_the_command_writes_header_and_limits(header, tmp_path):
    save_limits(model_of({"arm": small_limits()["product"]}), tmp_path / "arm.limits.json")
    run("runtime", "-o", tmp_path / "out", "--limits", tmp_path / "arm.limits.json")
    assert (tmp_path / "out" / "synovia.h").read_text(encoding="utf-8") == header
    assert layout.check_file(np.fromfile(tmp_path / "out" / "arm.limits.bin")) == layout.WHOLE_FILE


def test_the_header_does_not_depend_on_where_the_package_is(header, tmp_path):
    source = Path(synovia.__file__).parent
    leave = shutil.ignore_patterns("__pycache__", "_native*", "page", "demo", "body", "population")
    shutil.copytree(source, tmp_path / "elsewhere" / "synovia", ignore=leave)
    code = "import sys; from synovia.native.entries import header_text as h; sys.stdout.write(h())"
    elsewhere = {"PYTHONPATH": str(tmp_path / "elsewhere"), "SYNOVIA_KERNELS": "plain"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=tmp_path,
        env={**os.environ, **elsewhere, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.stdout == header, done.stderr
