"""A new chart is one file and one line: modified Rodrigues parameters, in NumPy alone.

Its file is in tests/new, as if it were in synovia/charts; the one line is `register`. The laws of
`test_charts` run on it; here is what limits, files and commands do with a chart without a kernel.
"""

from __future__ import annotations

import inspect
import json

import jsonschema
import numpy as np
import pytest

import test_charts
from command_line import acted, run, skeleton
from oracles import random_quats
from plugins import load, register
from synovia import CHARTS, Limit, LimitModel, first_exit, mirror_limit, quat, save_clip
from synovia.arrays import TOLERANCE
from synovia.ik import Reach, solve
from synovia.io import limits_schema, load_limits, save_limits
from synovia.limit import charts_of, mirror_rotations

ModifiedRodrigues = load("charts", "modified_rodrigues").ModifiedRodrigues
NAME = ModifiedRodrigues.name
REFERENCE = quat.exp(np.array([0.4, -0.3, 0.2]))
SHAPES = ("box", "ellipsoid", "kdop", "distance-field")
globals().update(
    {
        name: law
        for name, law in vars(test_charts).items()
        if name == "rotations"
        or (name.startswith("test_") and "chart" in inspect.signature(law).parameters)
    }
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    register(monkeypatch, CHARTS, ModifiedRodrigues)


@pytest.fixture
def chart():
    return ModifiedRodrigues(REFERENCE)


@pytest.fixture(params=SHAPES)
def limit(request):
    return fitted(request.param)


@pytest.fixture
def asked(limit, rng):
    legal = limit.sample(200, rng)
    return np.concatenate([random_quats(400, rng), legal, -legal])


def fitted(shape):
    rng = np.random.default_rng(5)
    samples = quat.mul(REFERENCE, quat.exp(rng.normal(size=(60, 3)) * [0.5, 0.3, 0.2]))
    return Limit.fit(samples, shape, NAME, margin=0.05, reference=REFERENCE)


def test_the_laws_of_charts_run():
    assert "test_rotations_come_back_from_their_points" in globals()


def test_the_chart_is_offered_to_every_shape_of_vectors():
    assert charts_of("box") == ["rotation-vector", "swing-twist", "hinges", NAME]
    assert charts_of("product") == ["swing-twist"]
    with pytest.raises(ValueError, match="has no axis"):
        Limit.fit(random_quats(9, np.random.default_rng(0)), "box", NAME, axis=np.eye(3)[0])


def test_projected_rotations_are_nearest_members_and_stay(limit, asked, rng):
    assert not limit.compiled
    once = limit.project(asked)
    assert limit.contains(once).all()
    assert limit.project(once).tobytes() == once.tobytes()
    legal = asked[limit.contains(asked)]
    assert len(legal) >= 400
    assert limit.project(legal).tobytes() == legal.tobytes()
    members, distance = limit.shape.scatter(500, rng), limit.distance(asked)
    half = getattr(limit.shape, "half_diagonal", 0.0)  # a field's promise
    for cover in limit.covers(asked):
        nearest = np.linalg.norm(cover[:, None] - members, axis=-1).min(axis=1)
        assert (nearest >= distance - half - TOLERANCE).all()


def test_volume_and_sample_agree_with_uniform_rotations(limit, rng):
    everywhere = random_quats(100_000, rng)
    legal = everywhere[limit.contains(everywhere)]
    assert limit.volume() == pytest.approx(len(legal) / len(everywhere), rel=0.1)
    sample = limit.sample(4000, rng)
    a, b = (quat.angle_between(each, REFERENCE) for each in (legal, sample))
    assert abs(a.mean() - b.mean()) < 4.5 * np.sqrt(a.var() / len(a) + b.var() / len(b))


def test_the_first_exit_is_where_a_fine_walk_leaves(limit, rng):
    start, end = limit.sample(10, rng), random_quats(10, rng)
    walk = np.linspace(0.0, 1.0, 2001)
    for one, other, found in zip(start, end, first_exit(limit, start, end), strict=True):
        on = limit.distance(quat.slerp(one, other, walk)) <= TOLERANCE
        assert abs(found - (1.0 if on.all() else walk[on.argmin() - 1])) < 1e-3


def test_limits_are_mirrored_and_converted(rng):
    rotations, normal = random_quats(300, rng), np.array([0.9, 0.3, -0.2])
    for shape in ("box", "ellipsoid", "kdop"):
        limit = fitted(shape)
        shown = mirror_limit(limit, normal).distance(mirror_rotations(rotations, normal))
        np.testing.assert_allclose(shown, limit.distance(rotations), atol=1e-8)
    field = fitted("distance-field")
    assert mirror_limit(field, np.eye(3)[1]).shape.values.shape == field.shape.values.shape
    with pytest.raises(ValueError, match="only in a plane across one of them, got the normal"):
        mirror_limit(field, normal)
    there = fitted("box").to("kdop", "rotation-vector")
    back = there.limit.to("box", NAME)
    assert isinstance(back.limit.chart, ModifiedRodrigues)
    assert max(there.lost, there.gained, back.lost, back.gained) < 0.05


def test_limits_are_saved_loaded_and_valid(limit, asked, tmp_path):
    model = LimitModel({"Chest": limit}, skeleton())
    save_limits(model, tmp_path / "a.limits.json")
    document = json.loads((tmp_path / "a.limits.json").read_text())
    schema = jsonschema.Draft202012Validator(limits_schema())
    schema.validate(document)
    again = load_limits(tmp_path / "a.limits.json").limits["Chest"]
    assert again.project(asked).tobytes() == limit.project(asked).tobytes()
    document["limits"]["Chest"]["chart"]["axis"] = [0, 0, 1]
    assert not schema.is_valid(document)


def test_a_clip_is_clamped_and_a_goal_met(limit):
    model, clip = LimitModel({"UpperArm": limit}, skeleton()), acted(4, size=2.0)
    assert model.check(clip).violation.max() > 0.1
    assert model.check(model.project(clip)).violation.max() < 1e-8
    goal = Reach("Forearm", np.array([3.0, 5.0, 1.0]))
    solution = solve(model, skeleton(), skeleton().rest_pose(), [goal])
    assert model.contains(solution.pose)


def test_the_command_line_takes_the_chart(tmp_path):
    save_clip(acted(0), tmp_path / "ann_1.bvh")
    save_clip(acted(9, size=1.6), tmp_path / "wild.bvh")
    limits, clamped = tmp_path / "a.limits.json", tmp_path / "clamped.bvh"
    run("fit", tmp_path / "ann_1.bvh", "-s", "box", "-c", NAME, "-o", limits, "--trim", "0")
    assert f"box in {NAME}" in run("info", limits)
    run("check", tmp_path / "wild.bvh", "-l", limits, code=1)
    run("clamp", tmp_path / "wild.bvh", "-l", limits, "-o", clamped)
    run("check", clamped, "-l", limits)
