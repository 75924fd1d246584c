"""One joint at a time: the best turn by itself, stopped where it leaves the limit."""

from __future__ import annotations

import numpy as np
import pytest

from arms import FAMILIES, X, arm, cone, hinge, of_family, skeleton
from oracles import random_quats
from synovia import kernels, quat
from synovia.charts import DirectionTwist
from synovia.ik import Aim, Orient, Reach, Stay, solve
from synovia.kernels.vector import Quat
from synovia.limit import Limit
from synovia.model import EDGE, LimitModel, first_exit, pack_limits
from synovia.shapes import ReachCone, Union
from synovia.skeleton import Pose, Skeleton, forward

Y = np.array([0.0, 1.0, 0.0])
Z = np.array([0.0, 0.0, 1.0])


def exit_of_one(limit, start, end, finest, packed=None, at=0, clear=None, beyond=None):
    block, other = np.zeros(kernels.rotation.BLOCK), np.zeros(kernels.rotation.BLOCK)
    lanes = np.zeros(2 * kernels.rotation.LANES, np.int64)
    one = kernels.ik_limits
    angle = float(quat.angle_between(start, end))
    turn = one.Turn(Quat(*start), Quat(*end), angle, 2.0 * EDGE, finest, 1e-9)
    packed = limit.packed if packed is None else packed
    if clear is None:
        clear = np.array([[1.0, 0.0, 0.0, 0.0, 1.0]])  # nothing is known
    found, outside = one.exit_of_one(0, turn, packed, at, clear, block, other, lanes)
    if beyond is not None:
        beyond[:] = outside
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_the_exit_of_one_turn_is_that_of_many(family):
    """By the limit alone, and as one of a model's packed limits."""
    model, rng = of_family(family), np.random.default_rng(3)
    offsets, packed = pack_limits(list(model.limits.values()))
    limit = list(model.limits.values())[1]
    start = limit.sample(12, rng)
    end = quat.normalize(start + 0.3 * rng.normal(size=start.shape))
    expected = first_exit(limit, start, end)
    assert (expected < 1.0).any()
    for k in range(12):
        for options in ({}, {"packed": packed, "at": int(offsets[1])}):
            found = exit_of_one(limit, start[k], end[k], 3e-5, **options)
            assert found == pytest.approx(expected[k], abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_known_to_be_clear_changes_no_exit(family):
    """A walk from member to member; where a turn leaves the limit, it is led back into it."""
    limit, rng = of_family(family).limits["Shoulder"], np.random.default_rng(4)
    clear, beyond = np.array([[1.0, 0.0, 0.0, 0.0, 1.0]]), np.zeros(4)
    here, stopped = limit.sample(1, rng)[0], 0
    for _ in range(40):
        end = quat.mul(here, quat.exp(0.3 * rng.normal(size=3)))
        t = exit_of_one(limit, here, end, 3e-3, clear=clear, beyond=beyond)
        assert t == pytest.approx(exit_of_one(limit, here, end, 3e-3), abs=1e-6)
        if t < 1.0:
            stopped += 1
            assert limit.contains(beyond)
            here = beyond.copy()
        else:
            here = end
        assert limit.contains(here)
    assert 0 < stopped < 40


def test_a_joint_without_twist_goes_along_its_limit():
    """The shortest turn between two legal rotations has no twist either; nor has any move."""
    limit = cone(0.8, 0.0, 0.0)
    start, end = limit.sample(40, np.random.default_rng(1)).reshape(2, 20, 4)
    for a, b in zip(start, end, strict=True):
        assert exit_of_one(limit, a, b, 0.05) == 1.0
    model = LimitModel({"Shoulder": limit}, skeleton())
    where = quat.rotate(end, 0.9 * X) + model.skeleton.offsets[:2].sum(axis=0)
    found = solve(
        *(model, model.skeleton, model.skeleton.rest_pose(), [Reach("Hand", where)]),
        method="ccd",
        joints=["Shoulder"],
    )
    assert found.converged.all()
    assert found.iterations.max() <= 4  # stopped at once, it would take no step at all


def test_one_move_is_the_best_turn_of_a_hinge():
    """Against all angles, for goals of every kind at once."""
    chain = skeleton()
    model, rng = LimitModel({"Shoulder": hinge(Z, -3.1, 3.1)}, chain), np.random.default_rng(5)
    angles = np.linspace(-3.0, 3.0, 6001)
    turned = np.tile(chain.rest_pose().rotations, (len(angles), 1, 1))
    turned[:, 1] = quat.exp(angles[:, None] * Z)
    where, how = forward(chain, Pose(turned, np.broadcast_to(chain.offsets, (6001, 5, 3))))
    for _ in range(5):
        a, b = chain.offsets[:2].sum(axis=0) + 0.4 * rng.normal(size=(2, 3))
        wanted = random_quats(1, rng)[0]
        goals = [Reach("Hand", a), Reach("Elbow", b, weight=2.0), Orient("Wrist", wanted)]
        found = solve(
            *(model, chain, chain.rest_pose(), goals),
            method="ccd",
            joints=["Shoulder"],
            iterations=1,
            largest_step=9.0,
        )
        chord = 2.0 - 2.0 * np.cos(quat.angle_between(how[:, 3], wanted))
        cost = np.sum((where[:, 4] - a) ** 2, axis=1) + 4.0 * np.sum((where[:, 2] - b) ** 2, axis=1)
        best = angles[(cost / 0.9**2 + 0.3**2 * chord).argmin()]
        assert quat.log(found.pose.rotations[1])[2] == pytest.approx(best, abs=1e-3)


def test_a_move_stops_where_it_leaves_the_limit():
    """Two cones with a gap: the far one would be legal too, but the way there is not."""
    near, far = cone(0.4, -3.0, 3.0).shape, cone(0.3, -3.0, 3.0).shape
    far = ReachCone(quat.rotate(quat.exp(1.2 * Z), far.points), -3.0, 3.0)
    chain = skeleton()
    model = LimitModel({"Elbow": Limit(DirectionTwist(axis=X), Union((near, far)))}, chain)
    elbow = chain.offsets[:3].sum(axis=0)
    target = elbow + 0.3 * np.array([np.cos(1.2), np.sin(1.2), 0.0])
    assert model.limits["Elbow"].contains(quat.exp(1.2 * Z))
    found = solve(
        *(model, chain, chain.rest_pose(), [Reach("Wrist", target)]),
        method="ccd",
        joints=["Elbow"],
        largest_step=9.0,
    )
    assert not found.converged
    assert model.contains(found.pose)
    assert quat.angle_between(found.pose.rotations[2], quat.IDENTITY) < 0.45


def test_a_joint_slides_along_its_boundary():
    """A ball in a cone, started at its edge; the best legal place is a quarter round the edge."""
    limit = cone(0.6, -3.0, 3.0, points=36)
    model = LimitModel({"Shoulder": limit}, skeleton())
    rest = model.skeleton.rest_pose()
    start = rest.rotations.copy()
    start[1] = quat.exp(0.59 * Y)  # the arm points down the edge at -z
    origin = model.skeleton.offsets[:2].sum(axis=0)
    found = solve(
        *(model, model.skeleton, Pose(start, rest.positions)),
        [Reach("Hand", origin + 0.9 * np.array([np.cos(0.8), np.sin(0.8), 0.0]))],
        method="ccd",
        joints=["Shoulder"],
    )
    arm_way = quat.rotate(found.pose.rotations[1], X)
    assert model.contains(found.pose)
    np.testing.assert_allclose(arm_way, [np.cos(0.6), np.sin(0.6), 0.0], atol=0.03)


def test_legal_goals_are_mostly_reached():
    model = arm()
    where, how = forward(model.skeleton, model.sample(200, np.random.default_rng(7)))
    bent = model.skeleton.rest_pose().rotations.copy()
    bent[2] = quat.exp(np.array([0.0, -1.0, 0.0]))
    start = Pose(bent, model.skeleton.offsets)
    goals = [Reach("Hand", where[:, -1])]
    found = solve(model, model.skeleton, start, goals, method="ccd")
    assert model.contains(found.pose).all()
    assert found.converged.mean() > 0.9
    both = solve(model, model.skeleton, start, [*goals, Orient("Hand", how[:, -1])], method="ccd")
    assert both.converged.mean() > 0.7


def test_a_batch_gives_the_same_answers_as_one_by_one():
    model = arm()
    where, _ = forward(model.skeleton, model.sample(20, np.random.default_rng(9)))
    rest = model.skeleton.rest_pose()
    targets = where[:, -1] * np.where(np.arange(20) % 4 == 0, 1.5, 1.0)[:, None]
    many = solve(model, model.skeleton, rest, [Reach("Hand", targets)], method="ccd", threads=3)
    for k in range(20):
        one = solve(model, model.skeleton, rest, [Reach("Hand", targets[k])], method="ccd")
        assert one.pose.rotations.tobytes() == many.pose.rotations[k].tobytes()
        assert one.iterations == many.iterations[k]
        assert one.reason() == many.reason(k)


def test_it_takes_goals_of_every_kind():
    chain = skeleton()
    free, rest = LimitModel({}, chain), chain.rest_pose()
    for goal in (
        Aim("Shoulder", [-0.9, 1.0, 0.3], axis=X),
        Aim("Wrist", [0.2, 1.9, 0.3], axis=[0.5, 1.0, 0.0], point=[0.1, 0.0, 0.2]),
        Orient("Hand", random_quats(1, np.random.default_rng(2))[0]),
    ):
        found = solve(free, chain, rest, [goal], method="ccd")
        assert found.converged, found.reason()
    goals = [Reach("Hand", [0.5, 1.6, 0.2]), Stay(rest)]
    found = solve(free, chain, rest, goals, method="ccd")
    assert found.converged


def test_a_free_root_moves():
    names = ("Hips", "LeftHip", "LeftFoot", "RightHip", "RightFoot")
    offsets = np.array([[0, 0.8, 0], [0.1, 0, 0], [0, -0.8, 0], [-0.1, 0, 0], [0, -0.8, 0]])
    body = Skeleton(names, [-1, 0, 1, 0, 3], offsets)
    rest = body.rest_pose()
    goals = [Reach("LeftFoot", [2.0, 0.3, 0.0]), Reach("RightFoot", [1.7, 0.0, 0.4])]
    found = solve(LimitModel({}, body), body, rest, goals, method="ccd", free_root=True)
    assert found.converged
    assert np.linalg.norm(found.pose.positions[0] - rest.positions[0]) > 1.0
