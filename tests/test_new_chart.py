"""A new chart is one file and one line: modified Rodrigues parameters, in NumPy alone.

Its file is in tests/new, as if it stood in synovia/charts; the one line is `register`.
"""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest

from command_line import acted, run, skeleton
from oracles import random_quats
from plugins import load, register
from synovia import CHARTS, Limit, LimitModel, first_exit, mirror_limit, quat, save_clip
from synovia.arrays import TOLERANCE
from synovia.charts.chart import Chart
from synovia.ik import Reach, solve
from synovia.io import limits_schema, load_limits, save_limits
from synovia.limit import charts_of, mirror_rotations

ModifiedRodrigues = load("charts", "modified_rodrigues").ModifiedRodrigues
NAME = ModifiedRodrigues.name
REFERENCE = quat.exp(np.array([0.4, -0.3, 0.2]))
SHAPES = ("box", "ellipsoid", "kdop", "distance-field")


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
def rotations(limit, rng):
    legal = limit.sample(200, rng)
    return np.concatenate([random_quats(400, rng), legal, -legal])


def fitted(shape):
    rng = np.random.default_rng(5)
    samples = quat.mul(REFERENCE, quat.exp(rng.normal(size=(60, 3)) * [0.5, 0.3, 0.2]))
    return Limit.fit(samples, shape, NAME, margin=0.05, reference=REFERENCE)


# What follows from `points`, `rotations` and `shifts`.


def test_points_and_rotations_are_inverse_in_every_cover(chart, rng):
    rotations = random_quats(300, rng)
    for points in chart.shifts(chart.points(rotations), 1):
        assert quat.angle_between(chart.rotations(points), rotations).max() < 1e-7


def test_the_density_is_that_of_the_closed_form(chart, rng):
    points = chart.points(random_quats(200, rng))
    square = np.sum(np.square(0.25 * points), axis=1)
    np.testing.assert_allclose(
        chart.density(points), (1.0 + square) ** -3 / (8.0 * np.pi**2), rtol=1e-6
    )
    np.testing.assert_allclose(chart.stretch(points), 1.0 + square, rtol=1e-6)
    assert 8.0 * np.pi**2 * 0.85 < chart.dense_volume < 8.0 * np.pi**2


def test_a_path_is_followed_across_half_a_turn(chart):
    turns = np.linspace(0.0, 1.4 * np.pi, 100)[:, None] * [0.0, 0.6, 0.8]
    path = chart.unroll(quat.mul(REFERENCE, quat.exp(turns)))
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() < 0.3
    assert np.abs(chart.points(chart.rotations(path)) - path).max() > 1.0


def test_the_chart_is_offered_to_every_shape_of_vectors():
    assert charts_of("box") == ["rotation-vector", "swing-twist", "hinges", NAME]
    assert charts_of("product") == ["swing-twist"]
    assert not ModifiedRodrigues.takes_axis()
    with pytest.raises(ValueError, match="has no axis"):
        Limit.fit(random_quats(9, np.random.default_rng(0)), "box", NAME, axis=np.eye(3)[0])


# Limits.


def test_projected_rotations_are_legal_and_stay(limit, rotations):
    assert not limit.compiled
    once = limit.project(rotations)
    assert limit.contains(once).all()
    assert limit.project(once).tobytes() == once.tobytes()
    legal = rotations[limit.contains(rotations)]
    assert len(legal) >= 400
    assert limit.project(legal).tobytes() == legal.tobytes()


def test_no_member_is_nearer_in_any_cover(limit, rotations, rng):
    members = limit.shape.scatter(500, rng)
    distance = limit.distance(rotations)
    half = getattr(limit.shape, "half_diagonal", 0.0)  # a field's promise
    covers = limit.covers(rotations)
    assert len(covers) == 2
    for cover in covers:
        nearest = np.linalg.norm(cover[:, None] - members, axis=-1).min(axis=1)
        assert (nearest >= distance - half - TOLERANCE).all()
    np.testing.assert_allclose(limit.distance(-rotations), distance, atol=1e-12)


def test_volume_and_sample_agree_with_uniform_rotations(limit, rng):
    everywhere = random_quats(100_000, rng)
    legal = everywhere[limit.contains(everywhere)]
    assert limit.volume() == pytest.approx(len(legal) / len(everywhere), rel=0.1)
    sample = limit.sample(4000, rng)
    a, b = (quat.angle_between(each, REFERENCE) for each in (legal, sample))
    assert abs(a.mean() - b.mean()) < 4.5 * np.sqrt(a.var() / len(a) + b.var() / len(b))


def test_the_first_exit_is_where_a_fine_walk_leaves(limit, rng):
    start, end = limit.sample(10, rng), random_quats(10, rng)
    exits = first_exit(limit, start, end)
    walk = np.linspace(0.0, 1.0, 2001)
    for k in range(len(start)):
        on = limit.distance(quat.slerp(start[k], end[k], walk)) <= TOLERANCE
        first = 1.0 if on.all() else walk[on.argmin() - 1]
        assert abs(exits[k] - first) < 1e-3


@pytest.mark.parametrize("shape", ["box", "ellipsoid", "kdop"])
def test_a_mirrored_limit_says_of_mirrored_rotations_the_same(shape, rng):
    limit, rotations = fitted(shape), random_quats(300, rng)
    for normal in (np.eye(3)[0], np.array([0.9, 0.3, -0.2])):
        there = mirror_limit(limit, normal)
        shown = there.distance(mirror_rotations(rotations, normal))
        np.testing.assert_allclose(shown, limit.distance(rotations), atol=1e-8)


def test_a_field_is_mirrored_across_an_axis_and_refused_across_others():
    field = fitted("distance-field")
    assert mirror_limit(field, np.eye(3)[1]).shape.values.shape == field.shape.values.shape
    with pytest.raises(ValueError, match="only in a plane across one of them, got the normal"):
        mirror_limit(field, np.array([0.9, 0.3, -0.2]))


def test_a_limit_is_converted_from_and_to_the_chart():
    box = fitted("box")
    there = box.to("kdop", "rotation-vector")
    assert max(there.lost, there.gained) < 0.01
    back = there.limit.to("box", NAME)
    assert isinstance(back.limit.chart, ModifiedRodrigues)
    assert max(back.lost, back.gained) < 0.05


# Files, clips, goals and the command line.


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


def test_a_clip_is_checked_and_clamped_and_a_goal_met(limit):
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


def test_an_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match=r"kernel must be in kernels\.kinds, got 99"):

        class Unknown(Chart):
            kernel = 99
