"""FABRIK: chains and trees of positions, within limits in every pass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arms import FAMILIES, X, arm, hinge, of_family, skeleton
from oracles import random_quats
from synovia import quat
from synovia.ik import Aim, Orient, Reach, Stay, solve
from synovia.model import LimitModel
from synovia.skeleton import Pose, Skeleton, forward

MODEL = arm()
CHAIN = MODEL.skeleton


def bent():
    rotations = CHAIN.rest_pose().rotations.copy()
    rotations[2] = quat.exp(np.array([0.0, -1.0, 0.0]))
    return Pose(rotations, CHAIN.offsets)


def fabrik(model, goals, start=None, **options):
    chain = model.skeleton
    start = chain.rest_pose() if start is None else start
    return solve(model, chain, start, goals, method="fabrik", **options)


def test_a_free_chain_reaches_whatever_is_within_its_length():
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(100, 3))
    ways *= (rng.uniform(0.1, 0.88, size=100) / np.linalg.norm(ways, axis=1))[:, None]
    targets = CHAIN.offsets[:2].sum(axis=0) + ways
    found = fabrik(LimitModel({}, CHAIN), [Reach("Hand", targets)], bent())
    assert found.converged.all()
    reached, _ = forward(CHAIN, found.pose)
    np.testing.assert_allclose(reached[:, -1], targets, atol=1e-3)


def test_legal_goals_are_mostly_reached():
    where, how = forward(CHAIN, MODEL.sample(200, np.random.default_rng(7)))
    found = fabrik(MODEL, [Reach("Hand", where[:, -1])], bent())
    assert MODEL.contains(found.pose).all()
    assert found.converged.mean() > 0.9
    both = fabrik(MODEL, [Reach("Wrist", where[:, 3]), Orient("Wrist", how[:, 3])], bent())
    assert MODEL.contains(both.pose).all()
    assert both.converged.mean() > 0.7
    _, turned = forward(CHAIN, both.pose)
    assert quat.angle_between(turned[:, 3], how[:, 3])[both.converged].max() < np.radians(0.2)


def test_a_straight_chain_points_at_what_is_too_far():
    found = fabrik(LimitModel({}, CHAIN), [Reach("Hand", [0.4, 3.0, 0.5])], bent())
    where, _ = forward(CHAIN, found.pose)
    assert np.linalg.norm(where[4] - where[1]) == pytest.approx(0.9, abs=2e-3)
    assert "beyond the chain's reach for Hand" in found.reason()


def test_a_tree_is_pulled_by_all_its_ends():
    """Two arms on one spine: both hands need the spine to lean over."""
    names = ("Hips", "Spine", "LeftArm", "LeftHand", "RightArm", "RightHand")
    offsets = [[0, 1, 0], [0, 0.1, 0], [0.2, 0.4, 0], [0.5, 0, 0], [-0.2, 0.4, 0], [-0.5, 0, 0]]
    body = Skeleton(names, [-1, 0, 1, 2, 1, 4], np.array(offsets, float))
    limits = {"Spine": hinge([1.0, 0.0, 0.0], -1.0, 1.0), "LeftArm": hinge([0, 0, 1.0], -1.5, 1.5)}
    model, rest = LimitModel(limits, body), body.rest_pose()
    lean = rest.rotations.copy()
    lean[1] = quat.exp(np.array([0.6, 0.0, 0.0]))
    lean[2], lean[4] = quat.exp(np.array([0.0, 0.0, -0.7])), quat.exp(np.array([0.0, 0.4, 0.8]))
    where, _ = forward(body, Pose(lean, rest.positions))
    found = fabrik(model, [Reach("LeftHand", where[3]), Reach("RightHand", where[5])])
    assert found.converged, found.reason()
    assert model.contains(found.pose)
    free = fabrik(
        model,
        [Reach("LeftHand", where[3] + [3, 0, 0]), Reach("RightHand", where[5] + [3, 0, 0])],
        free_root=True,
    )
    assert free.converged, free.reason()
    assert free.pose.positions[0, 0] > 2.0


def test_joints_that_do_not_turn_are_carried_along():
    """The forearm is one bone with a kink, where a joint is that may not move."""
    model = LimitModel({}, skeleton(6))
    kinked = model.skeleton.rest_pose().rotations.copy()
    kinked[3] = quat.exp(np.array([0.0, 0.0, 0.8]))
    start = Pose(kinked, model.skeleton.offsets)
    goals = [Reach("Hand", [0.6, 1.5, 0.2])]
    found = fabrik(model, goals, start, joints=["Shoulder", "Elbow"])
    assert found.converged
    assert (found.pose.rotations[[0, 3, 4, 5]] == kinked[[0, 3, 4, 5]]).all()


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.0, 0.3, 1.0, 100.0]))
def test_it_is_legal_whatever_happens(family, seed, scale):
    model, rng = of_family(family), np.random.default_rng(seed)
    start = Pose(random_quats(5, rng), rng.normal(scale=0.3, size=(5, 3)))
    goals = [Reach("Hand", scale * rng.normal(size=3), point=rng.normal(scale=0.1, size=3))]
    if seed % 2:
        goals += [Orient("Hand", random_quats(1, rng)[0]), Reach("Elbow", rng.normal(size=3))]
    found = fabrik(model, goals, start, iterations=8)
    assert model.contains(found.pose)
    assert np.isfinite(found.errors).all()
    expected = model.violation(Pose(quat.normalize(start.rotations), start.positions))
    np.testing.assert_allclose(found.start_correction, expected, atol=1e-12)


def test_a_batch_gives_the_same_answers_as_one_by_one():
    where, _ = forward(CHAIN, MODEL.sample(20, np.random.default_rng(9)))
    targets = where[:, -1] * np.where(np.arange(20) % 4 == 0, 1.5, 1.0)[:, None]
    many = fabrik(MODEL, [Reach("Hand", targets)], threads=3)
    for k in range(20):
        one = fabrik(MODEL, [Reach("Hand", targets[k])])
        assert one.pose.rotations.tobytes() == many.pose.rotations[k].tobytes()
        assert one.iterations == many.iterations[k]
        assert one.reason() == many.reason(k)


@pytest.mark.parametrize(
    ("goals", "got"),
    [
        ([Aim("Hand", X)], "got Aim"),
        ([Reach("Hand", X), Stay(CHAIN.rest_pose())], "got Stay"),
        ([Reach("Hand", X), Orient("Elbow", quat.IDENTITY)], "got Orient of Elbow"),
    ],
)
def test_it_says_which_goals_it_takes(goals, got):
    with pytest.raises(ValueError, match=f"fabrik takes Reach, and Orient of a joint.* {got}"):
        fabrik(MODEL, goals)
