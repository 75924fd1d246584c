"""A limit in other frames says of r = P · c · C⁻¹ what the limit says of c, in every chart."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import jsonschema
import numpy as np
import pytest

from families import FAMILIES, LIMITS
from oracles import placed, random_quats
from plugins import load
from synovia import (
    CHARTS,
    Inside,
    Limit,
    LimitModel,
    Pose,
    Skeleton,
    first_exit,
    forward,
    mirror_limit,
    quat,
)
from synovia.arrays import TOLERANCE, unit_vectors
from synovia.charts import DirectionTwist, RotationVector, SwingTwist
from synovia.draw.sphere import twist_widths_deg
from synovia.ik import Orient, Reach, solve
from synovia.io import limits_schema, load_limits, save_limits
from synovia.limit import mirror_rotations
from synovia.mesh import DRAFT, sheet_and_boundary
from synovia.model import project_path
from synovia.shapes import Box, as_directional
from synovia.view.limit_edits import MovePoint, cone_points

REFERENCE, BONE = placed("swing-twist").reference, placed("swing-twist").axis
ASLANT = np.array([0.9, 0.3, -0.2])
PARENT, CHILD = random_quats(2, np.random.default_rng(8))
SINGULAR = 30.0  # of the chart's stretch, beyond which rounding grows as much


def fitted(shape, chart):
    """Return a limit in the canonical frames."""
    return LIMITS[shape, chart]()


@cache
def asked(shape, chart):
    """Rotations in the canonical frames: everywhere, legal, and near those; no chart is steep."""
    limit, rng = fitted(shape, chart), np.random.default_rng(11)
    legal = limit.sample(200, rng)
    near = quat.mul(legal, quat.exp(0.3 * rng.normal(size=(200, 3))))
    rotations = np.concatenate([random_quats(400, rng), legal, near, -legal])
    return rotations[limit.chart.stretch(limit.chart.points(rotations)) < SINGULAR]


def outward(rotations, parent=PARENT, child=CHILD):
    return quat.mul(quat.mul(parent, rotations), quat.inverse(child))


@pytest.fixture(params=FAMILIES, ids=" in ".join)
def family(request):
    return request.param


@pytest.fixture
def limit(family):
    return fitted(*family)


@pytest.fixture
def there(limit):
    return limit.in_frames(PARENT, CHILD)


@pytest.fixture
def rotations(family):
    return asked(*family)


def test_every_verb_says_the_same_in_other_frames(limit, there, rotations):
    seen = outward(rotations)
    assert there.shape is limit.shape
    assert there.compiled == limit.compiled
    distance = limit.distance(rotations)
    np.testing.assert_allclose(there.distance(seen), distance, atol=1e-12)
    clear = np.abs(distance - TOLERANCE) > 1e-12
    legal = limit.contains(rotations)
    assert np.array_equal(there.contains(seen)[clear], legal[clear])
    assert 0 < legal.sum() < len(legal)
    once, moved = there.project(seen), outward(limit.project(rotations))
    assert quat.angle_between(once, moved).max() < 1e-11
    assert there.project(once).tobytes() == once.tobytes()
    assert once[there.contains(seen)].tobytes() == seen[there.contains(seen)].tobytes()
    np.testing.assert_allclose(there.correction(seen), limit.correction(rotations), atol=1e-11)
    # A search finds the nearest legal rotation; among many parts it may miss some.
    found, expected = there.violation(seen[::6]), limit.violation(rotations[::6])
    same = np.isclose(found, expected, rtol=0.02, atol=4e-3)
    assert same.mean() > 0.98
    softening = Inside(0.1)
    softened = outward(limit.soften(rotations[:50], softening))
    assert quat.angle_between(there.soften(seen[:50], softening), softened).max() < 1e-9
    np.testing.assert_allclose(there.normal(seen), limit.normal(rotations), atol=1e-6)
    assert there.volume(2000) == limit.volume(2000)
    single = there.project(seen.astype(np.float32))
    assert single.dtype == np.float32
    inside = distance < -1e-3
    assert np.array_equal(single[inside], seen.astype(np.float32)[inside])
    assert np.median(quat.angle_between(single.astype(float), moved)) < 1e-6


def test_samples_paths_and_exits_are_those_in_other_frames(limit, there, rotations):
    sample, again = (each.sample(30, np.random.default_rng(1)) for each in (limit, there))
    assert quat.angle_between(again, outward(sample)).max() < 1e-12
    exits = first_exit(limit, sample, rotations[:30])
    np.testing.assert_allclose(
        first_exit(there, outward(sample), outward(rotations[:30])), exits, atol=1e-9
    )
    turns = np.linspace(0.0, 1.0, 40)
    path = quat.slerp(sample[0], rotations[3], turns)
    clamped = outward(project_path(limit, path, 1 / 30))
    assert quat.angle_between(project_path(there, outward(path), 1 / 30), clamped).max() < 1e-9


@pytest.mark.parametrize("normal", [np.eye(3)[0], ASLANT], ids=["x", "aslant"])
def test_mirrored_twice_it_is_the_region_again(limit, there, rotations, normal):
    for each, given in ((limit, rotations), (there, outward(rotations))):
        distance, mirrored = each.distance(given), mirror_limit(each, normal)
        legal, clear = each.contains(given), np.abs(distance) > 1e-8
        shown = mirror_rotations(given, normal)
        assert np.array_equal(mirrored.contains(shown)[clear], legal[clear])
        twice = mirror_limit(mirrored, normal)
        assert type(twice.shape) is type(each.shape)
        assert np.array_equal(twice.contains(given)[clear], legal[clear])
        if each.shape.name != "distance-field":  # which measures to within a cell
            np.testing.assert_allclose(mirrored.distance(shown), distance, atol=1e-11)


def test_a_file_holds_the_frame_and_none_where_there_is_none(tmp_path):
    limit, rotations = fitted("kdop", "swing-twist"), asked("kdop", "swing-twist")
    there = limit.in_frames(PARENT, CHILD)
    skeleton = Skeleton(("Hip", "Knee"), [-1, 0], np.zeros((2, 3)))
    schema = jsonschema.Draft202012Validator(limits_schema())
    for each, given in ((limit, rotations), (there, outward(rotations))):
        save_limits(LimitModel({"Knee": each}, skeleton), tmp_path / "a.limits.json")
        document = json.loads((tmp_path / "a.limits.json").read_text())
        schema.validate(document)
        assert ("frame" in document["limits"]["Knee"]["chart"]) == (each is there)
        again = load_limits(tmp_path / "a.limits.json").limits["Knee"]
        assert again.project(given).tobytes() == each.project(given).tobytes()
    document["limits"]["Knee"]["chart"]["frame"] = [1, 0, 0]
    assert not schema.is_valid(document)


def test_pictures_are_those_in_other_frames(limit, there):
    """Directions and vectors of a picture are in the joint's frame: turned as the child's."""
    bone = np.array([0.0, 0.6, 0.8])
    sheet, boundary = sheet_and_boundary(limit, bone, DRAFT)
    turned, whole = sheet_and_boundary(there, quat.rotate(CHILD, bone), DRAFT)
    np.testing.assert_allclose(turned.axis, quat.rotate(CHILD, sheet.axis), atol=1e-12)
    assert len(whole.vertices) == len(boundary.vertices)
    np.testing.assert_allclose(whole.vertices, quat.rotate(CHILD, boundary.vertices), atol=1e-6)
    same = min(len(turned.mesh.vertices), len(sheet.mesh.vertices), 50)
    np.testing.assert_allclose(
        turned.mesh.vertices[:same], quat.rotate(CHILD, sheet.mesh.vertices[:same]), atol=1e-6
    )
    if as_directional(limit.shape) is not None:  # of others twists are searched for, to a degree
        np.testing.assert_allclose(turned.widths[:same], sheet.widths[:same], atol=1e-6)


def test_ranges_of_twist_are_drawn_where_the_bone_points(limit, there, rng):
    if limit.chart.bone is None:
        return  # z of each frame is drawn: another direction
    directions = np.concatenate([unit_vectors(rng.normal(size=(300, 3))), limit.chart.bone[None]])
    widths = twist_widths_deg(limit, directions)
    assert np.isfinite(widths).any()
    turned = twist_widths_deg(there, quat.rotate(CHILD, directions))
    np.testing.assert_allclose(turned, widths, atol=1e-6)


def test_a_conversion_keeps_the_frame():
    box = fitted("box", "rotation-vector")
    here = box.to("product", axis=BONE)
    there = box.in_frames(PARENT, CHILD).to("product", axis=quat.rotate(CHILD, BONE))
    np.testing.assert_allclose(there.limit.chart.axis, here.limit.chart.axis, atol=1e-12)
    rotations = asked("box", "rotation-vector")
    np.testing.assert_allclose(
        there.limit.distance(outward(rotations)), here.limit.distance(rotations), atol=1e-9
    )
    framed = fitted("box", "swing-twist").in_frames(PARENT, CHILD)
    assert framed.to("box").limit is framed


def test_frames_there_and_back_are_the_limit_without_a_frame():
    limit = fitted("reach-cone", "direction-twist")
    again = limit.in_frames(PARENT, CHILD).in_frames(quat.inverse(PARENT), quat.inverse(CHILD))
    assert not again.chart.is_turned
    np.testing.assert_allclose(again.chart.reference, limit.chart.reference, atol=1e-15)
    turned = limit.in_frames(PARENT, quat.IDENTITY)
    assert not turned.chart.is_turned


def test_frames_must_be_one_quaternion_each():
    limit = fitted("box", "rotation-vector")
    with pytest.raises(ValueError, match=r"child must be one unit quaternion \(4,\), got \(1, 4\)"):
        limit.in_frames(PARENT, CHILD[None])
    with pytest.raises(ValueError, match="parent must be unit quaternions"):
        limit.in_frames(2.0 * PARENT, CHILD)
    assert not RotationVector(frame=[-1.0, 0.0, 0.0, 0.0]).is_turned


def test_edits_at_the_page_are_in_the_joints_frame():
    cone = fitted("reach-cone", "direction-twist")
    there = cone.in_frames(PARENT, CHILD)
    corners = cone_points(there).corners
    np.testing.assert_allclose(corners, quat.rotate(CHILD, cone.shape.points), atol=1e-12)
    point = 1.02 * cone.shape.points[2] - 0.02 * cone.shape.visible
    request = MovePoint(edit="move-point", index=2, point=quat.rotate(CHILD, point))
    moved = request.apply(there)
    expected = replace(request, point=point).apply(cone)
    np.testing.assert_allclose(moved.shape.points, expected.shape.points, atol=1e-12)


# Inverse kinematics, on an arm whose joints have other frames.


FRAMES = random_quats(3, np.random.default_rng(9))
"""How each joint's frame is turned, of an arm that moves as the canonical one."""
OFFSETS = np.array([[0.0, 1.2, 0.0], [0.3, 0.0, 0.0], [0.25, 0.05, 0.0]])
NO_TWIST = Limit(SwingTwist(axis=BONE), Box([-0.6, -0.5, 0.0], [0.7, 0.6, 0.0], np.eye(3)))


def arm(limits, frames):
    """The arm's model, and its legal pose, with each joint's frame turned by one of `frames`."""
    parents = np.array([quat.IDENTITY, *frames[:-1]])
    offsets = quat.rotate(quat.inverse(parents), OFFSETS)
    skeleton = Skeleton(("Shoulder", "Elbow", "Hand"), [-1, 0, 1], offsets)
    turned = {
        name: limit.in_frames(quat.inverse(parents[k]), quat.inverse(frames[k]))
        for k, (name, limit) in enumerate(zip(skeleton.names, limits, strict=False))
    }
    start = [limit.sample(1, np.random.default_rng(2))[0] for limit in limits]
    start = quat.mul(quat.mul(quat.inverse(parents), np.array([*start, quat.IDENTITY])), frames)
    return LimitModel(turned, skeleton), Pose(start, offsets), parents


ONE_BY_CHART = {chart: f"{shape} in {chart}" for shape, chart in FAMILIES if CHARTS[chart].kernel}


@pytest.mark.parametrize("name", [*ONE_BY_CHART.values(), "no twist"])
def test_goals_are_met_alike_in_other_frames(name):
    limit = NO_TWIST if name == "no twist" else fitted(*name.split(" in "))
    beyond = quat.mul(REFERENCE, quat.exp(np.array([0.5, -2.6, 1.0])))  # of every limit
    found = []
    for frames in (np.tile(quat.IDENTITY, (3, 1)), FRAMES):
        model, start, parents = arm([limit, limit], frames)
        turned = Orient("Shoulder", quat.mul(beyond, frames[0]))
        goals = [Reach("Hand", np.array([-0.4, 1.5, 0.1])), turned]
        solution = solve(model, model.skeleton, start, goals, free_root=True)
        assert model.contains(solution.pose)
        assert model.limits["Shoulder"].distance(solution.pose.rotations[0]) > -1e-3
        rotations = quat.mul(quat.mul(parents, solution.pose.rotations), quat.inverse(frames))
        found.append((rotations[:2], forward(model.skeleton, solution.pose)[0][-1]))
    (here, hand), (there, same_hand) = found
    np.testing.assert_allclose(same_hand, hand, atol=1e-7)
    assert quat.angle_between(here, there).max() < 1e-7


def test_a_shape_without_a_kernel_follows_too():
    middle = unit_vectors(BONE + np.array([0.0, 0.3, 0.1]))
    shape = load("shapes", "round_cone").RoundCone(middle, 0.7, 0.5)
    limit = Limit(DirectionTwist(REFERENCE, BONE), shape)
    there, rotations = limit.in_frames(PARENT, CHILD), random_quats(200, np.random.default_rng(4))
    seen = outward(rotations)
    np.testing.assert_allclose(there.distance(seen), limit.distance(rotations), atol=1e-11)
    moved = outward(limit.project(rotations))
    assert quat.angle_between(there.project(seen), moved).max() < 1e-11
    # What solvers see in its place is the same grid; of two nodes as near, either may be nearest.
    apart = np.abs(there.stand_in.distance(seen) - limit.stand_in.distance(rotations))
    assert np.median(apart) < 1e-9
