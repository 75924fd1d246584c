"""A new chart is one file and one line: modified Rodrigues parameters, in NumPy alone.

Its file is in tests/new, as if it were in synovia/charts; the one line is `register`. The laws of
`test_charts` and `test_contract` run on it, and here are files and commands.
"""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest

import test_charts
import test_contract
from command_line import acted, run, skeleton
from families import asked_of
from oracles import random_quats
from plugins import laws_of, load, register
from synovia import CHARTS, Limit, LimitModel, mirror_limit, quat, save_clip
from synovia.ik import Reach, solve
from synovia.io import limits_schema, load_limits, save_limits
from synovia.limit import charts_of, mirror_rotations

ModifiedRodrigues = load("charts", "modified_rodrigues").ModifiedRodrigues
NAME = ModifiedRodrigues.name
REFERENCE = quat.exp(np.array([0.4, -0.3, 0.2]))
SHAPES = ("box", "ellipsoid", "kdop", "distance-field")
regular = test_charts.regular
globals().update(laws_of(test_charts, "chart") | laws_of(test_contract, "limit"))


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
def rotations(limit):
    return asked_of(limit)


def fitted(shape):
    rng = np.random.default_rng(5)
    samples = quat.mul(REFERENCE, quat.exp(rng.normal(size=(60, 3)) * [0.5, 0.3, 0.2]))
    return Limit.fit(samples, shape, NAME, margin=0.05, reference=REFERENCE)


def test_the_chart_is_offered_to_every_shape_of_vectors():
    assert charts_of("box") == ["rotation-vector", "swing-twist", "hinges", NAME]
    assert charts_of("product") == ["swing-twist"]
    with pytest.raises(ValueError, match="has no axis"):
        Limit.fit(random_quats(9, np.random.default_rng(0)), "box", NAME, axis=np.eye(3)[0])


def test_limits_are_mirrored_and_converted(rng):
    given, normal = random_quats(300, rng), np.array([0.9, 0.3, -0.2])
    for shape in ("box", "ellipsoid", "kdop"):
        limit = fitted(shape)
        shown = mirror_limit(limit, normal).distance(mirror_rotations(given, normal))
        np.testing.assert_allclose(shown, limit.distance(given), atol=1e-8)
    field = fitted("distance-field")
    assert mirror_limit(field, np.eye(3)[1]).shape.values.shape == field.shape.values.shape
    given = quat.mul(field.sample(100, rng), quat.exp(0.3 * rng.normal(size=(100, 3))))
    legal = field.contains(given)
    assert 0 < legal.sum() < len(legal)
    assert (mirror_limit(field, normal).contains(mirror_rotations(given, normal)) == legal).all()
    there = fitted("box").to("kdop", "rotation-vector")
    back = there.limit.to("box", NAME)
    assert isinstance(back.limit.chart, ModifiedRodrigues)
    assert max(there.lost, there.gained, back.lost, back.gained) < 0.05


def test_limits_are_saved_loaded_and_valid(limit, rotations, tmp_path):
    model = LimitModel({"Chest": limit}, skeleton())
    save_limits(model, tmp_path / "a.limits.json")
    document = json.loads((tmp_path / "a.limits.json").read_text())
    schema = jsonschema.Draft202012Validator(limits_schema())
    schema.validate(document)
    again = load_limits(tmp_path / "a.limits.json").limits["Chest"]
    assert again.project(rotations).tobytes() == limit.project(rotations).tobytes()
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
