"""A new shape is one file and one line: a ball and a torus, in NumPy alone, do all that shapes do.

Their files are in tests/new, as if they stood in synovia/shapes; the one line is `register`.
"""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest

import test_contract
from arms import SOLVERS
from command_line import acted, result_of, run, skeleton
from oracles import EXHAUSTIVE, lengths, random_quats
from plugins import laws_of, load, register
from synovia import (
    Limit,
    LimitModel,
    Pose,
    forward,
    mirror_limit,
    quat,
    save_clip,
)
from synovia.ik import Aim, Reach, solve, two_bone
from synovia.io import limits_schema, load_clip, load_limits, save_limits
from synovia.limit import mirror_rotations
from synovia.shapes import SHAPES, Box, Offset, Turned
from synovia.shapes.mesh import shape_surface
from synovia.shapes.region import Region

Ball, Torus = load("shapes", "ball").Ball, load("shapes", "torus").Torus
RoundCone = load("shapes", "round_cone").RoundCone
KINDS = {"ball": Ball, "torus": Torus}
FAMILIES = [("ball", "swing-twist"), ("torus", "rotation-vector")]
if EXHAUSTIVE:
    FAMILIES = [(name, chart) for name, kind in KINDS.items() for chart in kind.charts]
REFERENCE = quat.exp(np.array([0.4, -0.3, 0.2]))
ASLANT = np.array([0.9, 0.3, -0.2])


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    for kind in KINDS.values():
        register(monkeypatch, SHAPES, kind)


@pytest.fixture(params=FAMILIES, ids=" in ".join)
def limit(request):
    name, chart = request.param
    return Limit.fit(cloud(), name, chart, margin=0.05, reference=REFERENCE)


@pytest.fixture
def shape(limit):
    return limit.shape


globals().update(laws_of(test_contract, "shape", "limit"))


@pytest.fixture
def points(shape, rng):
    members = shape.scatter(200, rng)
    return np.concatenate([2.0 * rng.normal(size=(400, 3)), members, members + 1e-3])


@pytest.fixture
def rotations(limit, rng):
    legal = limit.sample(200, rng)
    near = quat.mul(legal, quat.exp(0.2 * rng.normal(size=(200, 3))))
    return np.concatenate([random_quats(400, rng), legal, -legal, near])


def cloud(n=200):
    """Rotations that leave the reference alone, which is in the hole of a torus."""
    rng = np.random.default_rng(5)
    turn = rng.uniform(0.0, 2.0 * np.pi, size=n)
    vectors = np.stack([np.cos(turn), np.sin(turn), rng.uniform(-0.2, 0.2, n)], axis=1)
    return quat.mul(REFERENCE, quat.exp(vectors))


# Shapes.


def test_a_single_point_is_a_thin_shape(rng):
    point = Ball(0.0)
    assert point.measure == 0.0
    assert np.abs(point.scatter(10, rng)).max() == 0.0
    assert (point.contains(point.shrink(0.1).scatter(10, rng))).all()


def test_a_shape_grows_and_shrinks_by_what_it_says(shape, points, rng):
    assert isinstance(shape.grow(0.1), Offset)
    for r, changed in ((0.1, shape.grow(0.1)), (-0.1, shape.shrink(0.1))):
        projected = changed.project(points)
        assert changed.contains(projected).all()
        np.testing.assert_allclose(changed.distance(points), shape.distance(points) - r)
        outside = changed.distance(points) > 0.0
        move = lengths(projected - points)[outside]
        np.testing.assert_allclose(move, changed.distance(points)[outside], atol=1e-9)
        assert changed.contains(changed.scatter(100, rng)).all()
    assert shape.shrink(100.0).contains(shape.shrink(100.0).scatter(10, rng)).all()
    assert shape.contains(shape.shrink(100.0).scatter(10, rng)).all()


# Rotations.


def test_regions_beyond_half_a_turn_are_met_in_every_cover(rng):
    wide = Limit(Limit.fit(cloud(), "ball").chart, Ball(4.0))
    rotations = random_quats(300, rng)
    assert wide.contains(rotations).all()
    assert wide.project(rotations).tobytes() == rotations.tobytes()
    assert wide.volume() == pytest.approx(1.0, abs=0.02)


def test_a_mirrored_limit_says_of_mirrored_rotations_the_same(limit, rotations):
    for normal in (np.eye(3)[0], ASLANT):
        there = mirror_limit(limit, normal)
        shown = there.distance(mirror_rotations(rotations, normal))
        np.testing.assert_allclose(shown, limit.distance(rotations), atol=1e-9)
        again = mirror_limit(there, normal)
        np.testing.assert_allclose(again.distance(rotations), limit.distance(rotations), atol=1e-9)
    assert isinstance(there.shape, Turned)


def test_conversion_goes_both_ways(limit):
    found = limit.to("kdop", "rotation-vector")
    assert found.limit.compiled
    assert found.lost < 0.01
    assert limit.to(limit.shape.name).limit is limit
    box = Limit(limit.chart, Box(-np.ones(3), np.ones(3), np.eye(3)))
    back = box.to(limit.shape.name)
    assert isinstance(back.limit.shape, type(limit.shape))
    assert back.lost < 1e-3


def test_a_distance_field_stands_in_where_solvers_need_a_kernel(limit, rotations):
    field = limit.stand_in
    assert field.compiled
    assert field.stand_in is field
    cell = float(field.shape.spacing.max())
    exact, near = limit.distance(rotations), field.distance(rotations)
    assert np.abs(near - exact)[exact > 0.0].max() < cell
    assert (near[exact < -cell] <= 0.0).all()


# Files.


def model_of(*limits):
    """Limits for the arm's joints, the first for the chest."""
    names = ("Chest", "UpperArm", "Forearm")
    return LimitModel(dict(zip(names, limits, strict=False)), skeleton())


def test_what_is_wrong_in_a_file_is_refused_by_schema_and_loader(limit, tmp_path):
    schema = jsonschema.Draft202012Validator(limits_schema())
    path = tmp_path / "a.limits.json"
    save_limits(model_of(limit), path)
    whole = json.loads(path.read_text())
    for change in ({"radius": "1"}, {"radius": None}, {"width": 1.0}, {"radius": [1.0]}):
        document = json.loads(json.dumps(whole))
        document["limits"]["Chest"]["shape"].update(change)
        assert not schema.is_valid(document)
        path.write_text(json.dumps(document))
        with pytest.raises(ValueError, match=r"a\.limits\.json: limits\.Chest\.shape"):
            load_limits(path)
    document = json.loads(json.dumps(whole))
    document["limits"]["Chest"]["chart"] = {"type": "euler", "reference": [1, 0, 0, 0]}
    assert not schema.is_valid(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="works in"):
        load_limits(path)


# Poses and clips.


@pytest.fixture
def model(limit):
    """A chest with the shape, an arm with a box, and a forearm measured from the chest."""
    vectors = Limit.fit(cloud(), "box", "rotation-vector", margin=0.2)
    return model_of(limit, vectors, Limit(limit.chart, limit.shape.grow(0.3), "Chest"))


@pytest.mark.parametrize("solver", SOLVERS)
def test_goals_are_met_by_legal_poses(limit, solver, rng):
    bones = skeleton()
    box = Limit.fit(quat.exp(rng.uniform(-1.0, 1.0, size=(50, 3))), "box", "rotation-vector")
    model = model_of(box, limit, box)
    start = bones.rest_pose()
    turned = np.concatenate([[quat.IDENTITY], random_quats(3, rng)])
    places, _ = forward(bones, model.project(Pose(turned, start.positions)))
    solution = solver(model, bones, start, Reach("Forearm", places[3]))
    assert model.contains(solution.pose)
    assert solution.converged or solver is two_bone
    found, _ = forward(bones, solution.pose)
    assert solution.errors[0] == pytest.approx(lengths(found[3] - places[3]), abs=1e-6)


# A shape of directions and twists.


@pytest.fixture
def cone_limit(monkeypatch, rng):
    register(monkeypatch, SHAPES, RoundCone)
    samples = quat.mul(REFERENCE, quat.exp(0.25 * rng.normal(size=(60, 3))))
    return Limit.fit(samples, "round-cone", reference=REFERENCE, margin=0.1)


def test_a_cone_of_its_own_tells_directions_and_twists(cone_limit, rng):
    cone = cone_limit.shape
    directions = rng.normal(size=(300, 3))
    directions /= lengths(directions)[:, None]
    legal = np.arccos(directions @ cone.axis) <= cone.angle
    assert np.array_equal(cone.contains_direction(directions), legal)
    np.testing.assert_allclose(
        cone.twist_range(directions[legal]), [[-cone.twist, cone.twist]] * legal.sum(), atol=1e-9
    )
    area = 2.0 * np.pi * (1.0 - np.cos(cone.angle))
    assert cone.measure == pytest.approx(2.0 * cone.twist * area, rel=0.02)
    members = cone.scatter(1000, rng)
    assert cone.contains(members).all()
    assert np.abs(members[:, 3].std() - cone.twist / np.sqrt(3.0)) < 0.05
    surface = shape_surface(cone)
    assert np.abs(cone.distance(surface.vertices)).max() < 1e-8
    for changed in (cone.grow(0.1), cone.shrink(0.1)):
        assert changed.contains(changed.project(members)).all()
        surface = shape_surface(changed)
        assert len(surface.triangles) > 100
        assert np.abs(changed.distance(surface.vertices)).max() < 1e-8
    assert RoundCone(cone.axis, 0.01, 0.0).measure == 0.0


def test_a_limit_of_such_a_cone_does_what_limits_do(cone_limit, tmp_path, rng):
    rotations = random_quats(300, rng)
    once = cone_limit.project(rotations)
    assert cone_limit.contains(once).all()
    assert cone_limit.project(once).tobytes() == once.tobytes()
    there = mirror_limit(cone_limit, ASLANT)
    shown = there.distance(mirror_rotations(rotations, ASLANT))
    np.testing.assert_allclose(shown, cone_limit.distance(rotations), atol=1e-8)
    everywhere = random_quats(20_000, rng)
    share = float(cone_limit.contains(everywhere).mean())
    assert cone_limit.volume() == pytest.approx(share, rel=0.1)
    grown = Limit(cone_limit.chart, cone_limit.shape.grow(0.1))
    for limit in (cone_limit, grown) if EXHAUSTIVE else (grown,):
        converted = limit.to("reach-cone")
        assert max(converted.lost, converted.gained) < 0.01
    model = model_of(cone_limit)
    save_limits(model, tmp_path / "a.limits.json")
    again = load_limits(tmp_path / "a.limits.json").limits["Chest"]
    assert again.project(rotations).tobytes() == once.tobytes()
    goal = Aim("Chest", np.array([3.0, 9.0, 1.0]), [0, 1, 0])
    assert model.contains(solve(model, skeleton(), skeleton().rest_pose(), [goal]).pose)
    assert model.check(model.project(acted(4, size=2.0))).violation.max() < 1e-8


# The command line.


@pytest.mark.parametrize("name", KINDS)
def test_the_command_line_takes_the_shape(name, tmp_path):
    save_clip(acted(0), tmp_path / "ann_1.bvh")
    save_clip(acted(1), tmp_path / "bob_1.bvh")
    save_clip(acted(9, size=1.6), tmp_path / "wild.bvh")
    clips = (tmp_path / "ann_1.bvh", tmp_path / "bob_1.bvh")
    limits, clamped = tmp_path / "a.limits.json", tmp_path / "clamped.bvh"
    fit = ("fit", *clips, "-s", name, "-c", "rotation-vector", "-o", limits, "--trim", "0")
    run(*fit, *(("--with", "around=y") if name == "torus" else ()))
    assert f"{name} in rotation-vector" in run("info", limits)
    run("check", clips[0], "-l", limits)
    run("check", tmp_path / "wild.bvh", "-l", limits, code=1)
    run("clamp", tmp_path / "wild.bvh", "-l", limits, "-o", clamped)
    run("check", clamped, "-l", limits)
    assert load_clip(clamped).frames == acted(9).frames
    failed = result_of(*fit, "--force", "--with", "colour=red", code=2)
    assert f"{name} takes {'around=x|y|z' if name == 'torus' else 'no options'}" in failed.stderr


# What is not a shape, or not whole, is refused.


def test_an_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match=r"kernel must be in kernels\.layout, got 99"):

        class Unknown(Region):
            kernel = 99


def test_a_shape_without_its_two_verbs_says_so():
    class Empty(Region):
        name = "empty"
        charts = ("rotation-vector",)

    with pytest.raises(TypeError, match="Empty must define distance and project"):
        Empty().contains(np.zeros(3))
    with pytest.raises(ValueError, match="a empty has no kernel"):
        Empty().packed  # noqa: B018
    with pytest.raises(ValueError, match="cannot be fitted"):
        Empty.fit(np.zeros((1, 3)))
