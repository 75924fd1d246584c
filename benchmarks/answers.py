"""Record results of the library for seeded data, and compare two records bit for bit.

This proves that a refactoring changes nothing: record before and after it, then compare.

    python benchmarks/answers.py record before.npz --plain
    python benchmarks/answers.py record after.npz --plain
    python benchmarks/answers.py compare before.npz after.npz

With --plain the kernels run uncompiled, where every bit must stay the same. Compiled, an optimiser
may round differently, so that `compare --within 1e-12` allows for that in numbers, but not in
verdicts: what is legal, met or unchanged.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path

import numpy as np

if "--plain" in sys.argv:
    os.environ["SYNOVIA_KERNELS"] = "plain"

# All that is used of the library; what is not at its top level comes last.
from synovia import (
    CHARTS,
    SHAPES,
    Beyond,
    Box,
    Clip,
    DirectionTwist,
    Figure,
    Inside,
    Limit,
    LimitModel,
    Pose,
    ReachCone,
    Skeleton,
    SwingTwist,
    __version__,
    first_exit,
    forward,
    human,
    human_limits,
    load_clip,
    load_figure,
    load_limits,
    mirror_limit,
    quat,
    save_clip,
    save_figure,
    save_limits,
)
from synovia.anatomy import isb_angles
from synovia.anatomy import limits as human_limits_module
from synovia.charts import Chart
from synovia.components import COMPONENTS, Control, JointSet, Network
from synovia.ik import (
    Aim,
    Orient,
    Reach,
    SearchSettings,
    Stay,
    follow,
    look_at,
    solve,
    solve_controls,
    track,
    two_bone,
    watch,
)
from synovia.io import save_network
from synovia.learn import field_from_paths, joint_kind
from synovia.limit import convert as conversion_module
from synovia.limit import softening as softening_module
from synovia.model import project_path
from synovia.shapes import Region
from synovia.shapes import extent as extent_module
from synovia.shapes.mesh import shape_surface

# Sizes of what plain kernels would take hours for.
SMALLER = {
    conversion_module: {
        "MEMBERS": 200,
        "UNIFORM_ROTATIONS": 60,
        "CLIMBERS": 2,
        "TRIES": 2,
        "CLIMBS": 3,
    },
    human_limits_module: {"STEPS": 3, "RANDOM_POSES": 100},
    softening_module: {"NESTED": 2},
    extent_module: {"LOOKS": 500, "CELLS": 500, "CLIMBS": 5},
}
X, AXIS = np.array([1.0, 0.0, 0.0]), np.array([0.6, 0.0, 0.8])
FRAME_TIME = 1.0 / 60.0
# Every way to fit a family; fields and tables are coarse.
OPTIONS = {
    "box": [{}, {"along": "chart"}],
    "ellipsoid": [{}],
    "kdop": [{}, {"along": "chart"}],
    "product": [{}, {"swing": "box"}, {"swing": "kdop"}],
    "reach-cone": [{"vertices": 7}],
    "theta-phi": [{"cell": 0.5}],
    "distance-field": [{"resolution": 12}],
    "union": [{"vertices": 5}],
}
# Ways to learn the limits of a skeleton; tables and fields are slow, and have one joint.
ONE, FIELD = {"joints": ["Arm"]}, {"shape": "distance-field", "resolution": 12}
RECIPES = {
    "margin": {"shape": "kdop", "margin": 0.1, "keep_samples": True},
    "reject": {"shape": "ellipsoid", "reject": 0.2},
    "ancestor": {"shape": "reach-cone", "vertices": 7, "relative_to": {"Forearm": "Chest"}},
    "table": {"shape": "theta-phi", "cell": 0.5, "holes": "open", "reference": "rest", **ONE},
    "samples": {**FIELD, **ONE},
    "people": {**FIELD, "shape": "people", **ONE},
    "people-reject": {**FIELD, "shape": "people", "reject": 0.2, **ONE},
}
# What a solution says, by its name in the record.
SOLVED = {
    "errors": "errors",
    "iterations": "iterations",
    "converged": "converged",
    "further": "blocked_angle",
    "beyond": "beyond",
    "mended": "start_correction",
}


class Record:
    """Answers by name, as arrays."""

    def __init__(self) -> None:
        self.entries: dict[str, np.ndarray] = {}

    def add(self, name: str, value: object) -> None:
        """Add an array or a number; text as bytes; mappings, sequences and limits by part."""
        if isinstance(value, Limit | Chart | Region):
            parts = {each.name: getattr(value, each.name) for each in fields(value)}
            value = {"type": getattr(value, "name", "limit"), **parts}
        elif value is None:
            value = "none"
        if isinstance(value, Mapping):
            for key, each in value.items():
                self.add(f"{name}/{key}", each)
        elif isinstance(value, list | tuple):
            for number, each in enumerate(value):
                self.add(f"{name}/{number}", each)
        else:
            if isinstance(value, str | bytes):
                text = value.encode() if isinstance(value, str) else value
                value = np.frombuffer(text, np.uint8)
            if name in self.entries:
                raise ValueError(f"{name} is recorded already")
            self.entries[name] = np.array(value)

    def attempt(self, name: str, answer: Callable[[], object]) -> None:
        """Add the result of a call, or its error."""
        try:
            self.add(name, answer())
        except ValueError:
            self.add(f"{name}/refused", True)

    def file(self, name: str, save: Callable[[Path], None], load=None, suffix: str = "") -> None:
        """Add the bytes of a file without the version, and whether a round trip reproduces it."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"a{suffix}"
            save(path)
            content = path.read_bytes()
            self.add(name, content.replace(__version__.encode(), b"VERSION"))
            if load is not None:
                load(path)
                self.add(f"{name}/again", path.read_bytes() == content)


# Seeded data.


def waves(frames: int, size, seed: int) -> np.ndarray:
    """Return smooth curves (frames, ...) within ±`size` radians; `size` may be an array."""
    rng, size = np.random.default_rng(seed), np.asarray(size, float)
    t = np.linspace(0.0, 2.0 * np.pi, frames).reshape(-1, *(1,) * size.ndim)
    return size * np.sin(rng.uniform(1.0, 3.0, size.shape) * t + rng.uniform(0.0, 6.0, size.shape))


def rotations_of(kind: str):
    """Return 50 rotations to fit to: unordered samples, or a path in time."""
    rng = np.random.default_rng(7)
    normal = rng.normal(size=(50, 3))
    if kind == "turning":  # across half a turn and beyond
        return [quat.exp(waves(50, [0.3, 0.2, 3.6], 1))]
    spread = {"tilted": [0.5, 0.2, 0.3], "plane": [0.5, 0.2, 0.0]}[kind]
    tilt = quat.normalize(rng.normal(size=4))
    return quat.mul(tilt, quat.exp(normal * spread))


def clip_of(person: int, frames: int = 40, size: float = 0.5) -> Clip:
    """Return a clip of a chain: two ball joints, a hinge, and a hand at rest."""
    names = ("Hips", "Chest", "Arm", "Forearm", "Hand")
    offsets = np.array([[0, 1, 0], [0, 0.3, 0], [0.2, 0.2, 0], [0.3, 0, 0], [0.25, 0, 0]])
    bones = Skeleton(
        names, np.arange(-1, 4), (1.0 + 0.05 * person) * offsets, (), [4], [[0.1, 0.0, 0.0]]
    )
    sizes = size * np.array([[0, 0, 0], [0.4, 0.2, 0.4], [1, 1, 1], [0, 1, 0], [0, 0, 0]])
    rotations = quat.exp(waves(frames, sizes, person))
    pose = Pose(rotations, np.tile(bones.offsets, (frames, 1, 1)))
    return Clip(bones, pose, FRAME_TIME, f"p{person}_1")


def arm() -> LimitModel:
    """Return limits of an arm: a cone, a hinge and a cone without twist."""
    names = ("Chest", "Shoulder", "Elbow", "Wrist", "Hand")
    offsets = [[0.1, 1.2, 0.0], *[[0.3, 0.0, 0.0]] * 4]

    def cone(radius: float, low: float, high: float) -> Limit:
        around = 2.0 * np.pi * np.arange(9) / 9
        ring = np.sin(radius) * np.array([np.cos(around), np.sin(around)])
        points = np.stack([np.full(9, np.cos(radius)), *ring], axis=1)
        return Limit(DirectionTwist(axis=X), ReachCone(points, low, high))

    hinge = SwingTwist(axis=[0.0, -1.0, 0.0])
    limits = {
        "Shoulder": cone(1.2, -1.0, 0.8),
        "Elbow": Limit(hinge, Box([0.0, 0.0, 0.0], [0.0, 0.0, 2.6], np.eye(3))),
        "Wrist": cone(0.8, 0.0, 0.0),
    }
    return LimitModel(limits, Skeleton(names, np.arange(5) - 1, offsets))


def arm_of(family: str) -> LimitModel:
    """Return the arm with a fitted limit of one family at the shoulder."""
    turns = np.random.default_rng(0).normal([0.0, 0.3, -0.2], [0.1, 0.2, 0.2], (60, 3))
    axis = {"axis": X} if has_axis(SHAPES[family].charts[0]) else {}
    shoulder = Limit.fit(quat.exp(turns), family, **axis, **OPTIONS[family][0])
    return LimitModel({**arm().limits, "Shoulder": shoulder}, arm().skeleton)


def has_axis(chart: str) -> bool:
    """Return True if a chart has a bone axis."""
    return hasattr(CHARTS[chart](), "axis")


# What is asked.


def ask_charts(record: Record) -> None:
    rotations = quat.normalize(np.random.default_rng(1).normal(size=(12, 4)))
    path = quat.exp(waves(20, [0.3, 0.5, 4.0], 2))
    for name, kind in CHARTS.items():
        chart = kind(rotations[0], AXIS) if has_axis(name) else kind(rotations[0])
        points = chart.points(rotations)
        record.add(f"chart/{name}/points", points)
        record.add(f"chart/{name}/rotations", chart.rotations(points))
        record.add(f"chart/{name}/covers", chart.shifts(points, 2))
        record.add(f"chart/{name}/unroll", chart.follow(chart.points(path)))
        record.add(f"chart/{name}/density", chart.density(points))
        record.add(f"chart/{name}/stretch", chart.stretch(points))


def ask_limits(record: Record) -> None:
    for family, shape in SHAPES.items():
        for chart in shape.charts:
            for options in OPTIONS[family]:
                for kind in ("tilted", "plane", "turning"):
                    words = ["limit", family, chart, *map(str, options.values()), kind]
                    axis = {"axis": AXIS} if has_axis(chart) else {}
                    given = rotations_of(kind)
                    limit = Limit.fit(given, family, chart, margin=0.05, **axis, **options)
                    ask_limit(record, "/".join(words), limit, given)


def ask_limit(record: Record, name: str, limit: Limit, seen) -> None:
    """Record the results of all methods of a limit and its shape."""
    rng, shape = np.random.default_rng(4), limit.shape
    record.add(f"{name}/fit", limit)
    sampled = limit.sample(4, rng)
    record.add(f"{name}/sample", sampled)
    record.add(f"{name}/volume", limit.volume(100))
    far = quat.normalize(rng.normal(size=(8, 4)))
    beside = quat.mul(sampled, quat.exp(0.2 * rng.normal(size=(4, 3))))
    fitted = np.concatenate(seen)[:4] if isinstance(seen, list) else seen[:4]
    given = np.concatenate([far, sampled, -sampled, beside, fitted])
    for kind in (np.float64, np.float32):
        rotations, at = given.astype(kind), f"{name}/{np.dtype(kind)}"
        projected = limit.project(rotations)
        record.add(f"{at}/project", projected)
        record.add(f"{at}/unchanged", (projected == rotations).all(axis=-1))
        record.add(f"{at}/contains", limit.contains(rotations))
        record.add(f"{at}/distance", limit.distance(rotations))
    record.add(f"{name}/violation", limit.violation(given))
    record.add(f"{name}/normal", limit.normal(given))
    record.add(f"{name}/inside", limit.soften(given[:12], Inside(0.1)))
    record.add(f"{name}/beyond", limit.soften(given, Beyond(0.1)))
    record.add(f"{name}/first_exit", first_exit(limit, sampled, far[:4]))
    path = quat.mul(sampled[0], quat.exp(waves(10, [0.8, 0.8, 1.2], 3)))
    record.add(f"{name}/path", project_path(limit, path, 0.05))
    for side, normal in (("x", X), ("slanted", AXIS)):
        record.attempt(f"{name}/mirror/{side}", lambda n=normal: mirror_limit(limit, n))
    points = np.concatenate([limit.chart.points(far), shape.scatter(6, rng)])
    for verb in ("project", "contains", "distance", "normal"):
        record.add(f"{name}/shape/{verb}", getattr(shape, verb)(points))
    record.add(f"{name}/shape/bounds", shape.bounds)
    record.add(f"{name}/shape/measure", shape.measure)
    record.add(f"{name}/shape/reach", [shape.reach((0, 1)), shape.reach((2,))])
    surface = shape_surface(shape, 1)
    record.add(f"{name}/shape/surface", [surface.vertices, surface.triangles])
    record.add(f"{name}/shape/grow", shape.grow(0.1))
    record.add(f"{name}/shape/shrink", shape.shrink(0.05))


def ask_conversions(record: Record) -> None:
    for family in SHAPES:
        limit = Limit.fit(rotations_of("tilted"), family, **OPTIONS[family][0])
        for other in SHAPES:
            made = limit.to(other, **OPTIONS[other][0])
            record.add(f"to/{family}/{other}/limit", made.limit)
            record.add(f"to/{family}/{other}/losses", [made.gained, made.lost, made.error])
    field = field_from_paths(rotations_of("turning"), resolution=12)
    record.add("field_from_paths", field)


def ask_models(record: Record) -> None:
    clips, wild = [clip_of(person) for person in range(4)], clip_of(9, 12, 0.8)
    models = {name: LimitModel.fit(clips, **options) for name, options in RECIPES.items()}
    blend = LimitModel.fit(clips[:1], shape="kdop", blend=models["margin"])
    for name, model in {**models, "blend": blend}.items():
        at = f"model/{name}"
        save_and_load(record, f"{at}/file", model)
        ask_model(record, at, model, wild)
    record.file("file/bvh", lambda path: save_clip(wild, path), saver(load_clip, save_clip), ".bvh")
    for number, joint in enumerate(wild.skeleton.names):
        kind = joint_kind(wild.pose.rotations[:, number])
        record.add(f"joint_kind/{joint}", [kind.kind, kind.mean, kind.axes, kind.ranges])


def saver(load, save):
    """Return a function that reads a file and writes it again."""
    return lambda path: save(load(path), path)


def save_and_load(record: Record, name: str, model: LimitModel) -> None:
    again = saver(load_limits, save_limits)
    record.file(name, lambda path: save_limits(model, path), again, ".limits.json")


def ask_model(record: Record, name: str, model: LimitModel, clip: Clip) -> None:
    rng, pose = np.random.default_rng(5), clip.pose
    record.add(f"{name}/clip", model.project(clip).pose.rotations)
    for softening in (Inside(0.1), Beyond(0.1)):
        soft = model.project(Pose(pose.rotations[:4], pose.positions[:4]), softening=softening)
        record.add(f"{name}/{type(softening).__name__.lower()}", soft.rotations)
    record.add(f"{name}/check", json.dumps(model.check(clip).to_dict(), indent=1))
    record.add(f"{name}/project", model.project(pose).rotations)
    record.add(f"{name}/contains", model.contains(pose))
    record.add(f"{name}/distance", model.distance(pose))
    record.add(f"{name}/violation", model.violation(pose))
    sampled = model.sample(3, rng)
    record.add(f"{name}/sample", sampled.rotations)
    if not model.ancestors:  # whose joints between must keep still
        other = Pose(sampled.rotations[::-1], sampled.positions)
        record.add(f"{name}/first_exit", model.first_exit(sampled, other))


def ask_human(record: Record) -> None:
    body = human()
    low, high = np.array([(each.low, each.high) for each in body.controls.values()]).T
    shares = np.random.default_rng(6).uniform(-0.1, 1.1, size=(6, len(low)))
    posed = body.pose(low + (high - low) * shares)
    record.add("human/rotations", posed.rotations)
    record.add("human/positions", posed.positions)
    record.add("human/controls", posed.controls)
    record.add("human/clamped", posed.clamped)
    record.add("human/gaps", posed.gaps)
    record.add("human/rest", body.pose({}).rotations)
    for joint in ("lumbar", "left_shoulder", "right_knee"):
        record.add(f"human/isb/{joint}", isb_angles(body.skeleton, posed, joint))
    record.file("file/figure", lambda path: save_figure(body, path), None, ".xml")
    again = saver(load_figure, save_figure)
    record.file("file/figure/small", lambda path: save_figure(swing(), path), again, ".xml")
    network = next(iter(body.joint_sets.values())).network
    record.file("file/network", lambda path: save_network(network, path), None, ".xml")
    model = human_limits()
    save_and_load(record, "human/limits/file", model)
    pose = Pose(posed.rotations[:3], posed.positions[:3])
    record.add("human/limits/contains", model.contains(pose))
    record.add("human/limits/distance", model.distance(pose))
    record.add("human/limits/project", model.project(pose).rotations)


def swing() -> Figure:
    """Return a figure of an upper arm and a forearm, with two controls."""
    bones = Skeleton(
        ("Chest", "Arm", "Forearm", "Hand"), [-1, 0, 1, 2], [[0, 1, 0], *[[0.3, 0, 0]] * 3]
    )
    sets = {}
    for segment, axis, ends in (("Arm", [0, 1, 0.2], (-1.0, 1.5)), ("Forearm", [0, 0, 1], (0, 2))):
        turn = COMPONENTS["rotation"](axis)
        network = Network({"turn": turn}, {"turn.angle": "angle"}, {segment: "turn.matrix"})
        sets[segment.lower()] = JointSet(network, {"angle": Control(*ends)})
    return Figure(bones, sets, "swing")


def ask_ik(record: Record) -> None:
    model = arm()
    skeleton, rest = model.skeleton, model.skeleton.rest_pose()
    goals = np.array([[0.9, 1.5, 0.2], [0.5, 1.1, 0.4], [3.0, 1.2, 0.0]])
    turns = quat.exp(np.random.default_rng(2).normal(scale=0.4, size=(3, 3)))
    reach = [Reach("Hand", goals)]

    def solved(name: str, found) -> None:
        record.add(f"ik/{name}/rotations", found.pose.rotations)
        record.add(f"ik/{name}/positions", found.pose.positions)
        for field, attribute in SOLVED.items():
            record.add(f"ik/{name}/{field}", getattr(found, attribute))
        record.add(f"ik/{name}/reasons", [found.reason(item) for item in range(len(goals))])

    solved(
        "least-squares", solve(model, skeleton, rest, reach, settings=SearchSettings(iterations=12))
    )
    found = two_bone(model, skeleton, rest, reach[0], settings=SearchSettings(iterations=12))
    solved("two-bone", found)
    both = [*reach, Orient("Wrist", turns), Stay(rest)]
    solved("orient", solve(model, skeleton, rest, both, settings=SearchSettings(1, 12)))
    first = [Aim("Wrist", goals, X, priority=1), Reach("Elbow", goals)]
    free = {"pinned": ["Hand"], "free_root": True}
    solved("pinned", solve(model, skeleton, rest, first, settings=SearchSettings(1, 12), **free))
    solved("track", track(model, skeleton, found.pose, [Reach("Hand", goals + 0.02)]))
    joints = ("Shoulder", "Elbow", "Wrist")
    solved("look_at", look_at(model, skeleton, rest, goals[:, ::-1], joints, axis=X))
    for family in SHAPES:
        found = solve(arm_of(family), skeleton, rest, reach, settings=SearchSettings(0, 8))
        solved(f"family/{family}", found)

    turned = quat.exp(waves(6, 0.3 * np.array([[0, 0, 0], *[[1, 1, 1]] * 4]), 8))
    clip = Clip(skeleton, Pose(turned, np.tile(rest.positions, (6, 1, 1))), FRAME_TIME)
    place = forward(skeleton, clip.pose)[0][:, -1] + waves(6, [0.03, 0.03, 0.03], 9)
    driven = follow(model, clip, [Reach("Hand", place)])
    seen = watch(model, clip, place[:, ::-1], joints, axis=X)
    for name, found in (("follow", driven), ("watch", seen)):
        solved(name, found.solution)
        record.add(f"ik/{name}/late", found.late)

    figure = swing()
    met = forward(figure.skeleton, figure.pose([0.7, 1.1]))[0][-1]
    found = solve_controls(figure, (), [Reach("Hand", [met, [0.3, 0.9, 0.8]])])
    body = human()
    wrist = forward(body.skeleton, body.pose({}))[0][body.skeleton.index("LeftHand")]
    near = solve_controls(
        body, (), [Reach("LeftHand", np.add(wrist, [0.02, 0.03, 0.1]))], only=["left_elbow.flexion"]
    )
    for name, each in (("swing", found), ("human", near)):
        for field in ("controls", "errors", "iterations", "converged", "ends", "wanted"):
            record.add(f"ik/controls/{name}/{field}", getattr(each, field))
        record.add(f"ik/controls/{name}/rotations", each.pose.rotations)


QUESTIONS = (ask_charts, ask_limits, ask_conversions, ask_models, ask_human, ask_ik)


def use_smaller_sizes() -> None:
    """Reduce sample counts and trials of the library in this process."""
    for module, sizes in SMALLER.items():
        for name, size in sizes.items():
            if not hasattr(module, name):
                raise SystemExit(f"{module.__name__} has no {name} to make smaller")
            setattr(module, name, size)


def record_answers(out: Path) -> None:
    """Write all results to `out`."""
    use_smaller_sizes()
    warnings.simplefilter("ignore")
    record = Record()
    for ask in QUESTIONS:
        before, start = len(record.entries), time.process_time()
        ask(record)
        taken = time.process_time() - start
        print(f"{ask.__name__:<16} {len(record.entries) - before:>6} {taken:>7.1f} s", flush=True)
    np.savez_compressed(out, **record.entries)
    print(f"{len(record.entries)} entries")


# Comparing.


def compare(one: Path, other: Path, within: float, every: bool) -> bool:
    """Print the entries that differ; return True if none does."""
    with np.load(one) as a, np.load(other) as b:
        names = [*a.files, *(name for name in b.files if name not in a)]
        said = {name: difference(a.get(name), b.get(name), within) for name in names}
    for name, text in said.items():
        if text or every:
            print(f"{text or 'identical':<32} {name}")
    close = sum(text.startswith("close") for text in said.values())
    differ = sum(bool(text) for text in said.values()) - close
    same = len(said) - close - differ
    print(f"{len(said)} entries: {same} identical, {close} close, {differ} different")
    return differ == 0


def difference(a: np.ndarray | None, b: np.ndarray | None, within: float) -> str:
    """Return a description of the difference of two arrays; empty if they are equal bit for bit."""
    if a is None or b is None:
        return f"only in the {'second' if a is None else 'first'}"
    if a.dtype == b.dtype == np.uint8 and within > 0.0 and not np.array_equal(a, b):
        (words, a), (others, b) = parts_of(a.tobytes()), parts_of(b.tobytes())
        if words != others:
            return "other text"
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype} {a.shape} became {b.dtype} {b.shape}"
    if a.tobytes() == b.tobytes():
        return ""
    if a.dtype in (np.bool_, np.uint8):
        return f"{np.count_nonzero(a != b)} of {a.size} differ"
    with np.errstate(invalid="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    most = float(np.max(np.where(np.isnan(apart), np.inf, apart), initial=0.0))
    slack = 1e6 * within if a.dtype == np.float32 else within
    return f"{'close' if within > 0.0 and most <= slack else 'differs'}: {most:.3g} at most"


def parts_of(text: bytes) -> tuple[list[bytes], np.ndarray]:
    """Return the words of a file and its numbers, including numbers in base64.

    Words are without spaces: where lines break depends on how long numbers are.
    """
    numbers: list[float] = []

    def decoded(found: re.Match[bytes]) -> bytes:
        numbers.extend(np.frombuffer(base64.b64decode(found[2])).tolist())
        return found[1]

    text = re.sub(rb'("float64"[^{}]*?"base64": *)"([^"]*)"', decoded, text)
    number = rb"-?\b\d+\.?\d*(?:[eE][-+]?\d+)?\b"
    numbers += map(float, re.findall(number, text))
    return [b"".join(word.split()) for word in re.split(number, text)], np.array(numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("record", help="write all answers to a file")
    one.add_argument("out", type=Path)
    one.add_argument("--plain", action="store_true", help="run the kernels uncompiled")
    two = commands.add_parser("compare", help="exit with 1 unless two records are the same")
    two.add_argument("records", type=Path, nargs=2)
    two.add_argument("--within", type=float, default=0.0, help="how far numbers may be apart")
    two.add_argument("--all", action="store_true", help="name identical entries, too")
    given = parser.parse_args()
    if given.command == "record":
        record_answers(given.out)
    elif not compare(*given.records, given.within, given.all):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
