"""Two bones by a triangle: exact where legal, towards the pole, and within limits always."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import synovia
from arms import FAMILIES, arm, hinge, of_family, skeleton
from oracles import random_quats
from synovia import quat
from synovia.anatomy import limits_of
from synovia.ik import Orient, Reach, two_bone
from synovia.ik.problem import joints_between
from synovia.model import LimitModel
from synovia.skeleton import Pose, forward

CHAIN = skeleton()
ELBOW = LimitModel({"Elbow": hinge([0.0, -1.0, 0.0], 0.0, 2.6)}, CHAIN)
SHOULDER = CHAIN.offsets[:2].sum(axis=0)


def reach(model, target, **options):
    """Bring the wrist to a target from the rest pose."""
    return two_bone(model, CHAIN, CHAIN.rest_pose(), Reach("Wrist", target), **options)


def test_the_triangle_closes_without_a_step():
    """The elbow's angle is that of the law of cosines."""
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(40, 3))
    far = rng.uniform(0.2, 0.58, size=40)
    ways *= (far / np.linalg.norm(ways, axis=1))[:, None]
    found = reach(ELBOW, SHOULDER + ways)
    assert found.converged.all()
    assert found.errors.max() < 1e-9
    assert (found.iterations == 0).all()
    bend = quat.angle_between(found.pose.rotations[:, 2], quat.IDENTITY)
    np.testing.assert_allclose(far**2, 2 * 0.3**2 * (1 + np.cos(bend)), atol=1e-9)
    assert (found.pose.rotations[:, [0, 3, 4]] == CHAIN.rest_pose().rotations[[0, 3, 4]]).all()


@pytest.mark.parametrize("pole", [[0, -1, 0], [0, 1, 0.2], [0.5, 0, 1]])
def test_the_elbow_goes_towards_the_pole(pole):
    way = np.array([0.4, 0.1, 0.0])
    found = reach(ELBOW, SHOULDER + way, pole=pole)
    where, _ = forward(CHAIN, found.pose)
    axis = way / np.linalg.norm(way)
    elbow, wanted = where[2] - SHOULDER, np.asarray(pole, float)
    elbow, wanted = elbow - axis * (elbow @ axis), wanted - axis * (wanted @ axis)
    assert found.converged
    cosine = elbow @ wanted / np.linalg.norm(elbow) / np.linalg.norm(wanted)
    assert np.arccos(min(cosine, 1.0)) < np.radians(0.1)


def test_the_pole_yields_to_the_limit():
    model = arm()
    for pole in np.random.default_rng(1).normal(size=(8, 3)):
        found = reach(model, SHOULDER + np.array([0.35, 0.1, 0.1]), pole=pole)
        assert model.contains(found.pose)
        assert found.converged


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.0, 0.3, 1.0, 100.0]))
def test_it_is_legal_whatever_happens(family, seed, scale):
    model, rng = of_family(family), np.random.default_rng(seed)
    start = Pose(random_quats(5, rng), rng.normal(scale=0.3, size=(5, 3)))
    goal = Reach("Wrist", scale * rng.normal(size=3), point=rng.normal(scale=0.1, size=3))
    found = two_bone(model, CHAIN, start, goal, pole=rng.normal(size=3))
    assert model.contains(found.pose)
    assert np.isfinite(found.errors).all()


def test_targets_too_far_and_too_near():
    found = reach(ELBOW, SHOULDER + np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(found.errors[0], 1.4, atol=1e-6)
    assert "beyond the chain's reach" in found.reason(0)
    assert found.errors[1] == pytest.approx(0.6 * np.cos(1.3), abs=1e-3)  # as far as it bends
    assert list(found.blocking(1)) == ["Elbow"]


@pytest.mark.parametrize(
    ("goal", "pole", "said"),
    [
        (Orient("Hand", quat.IDENTITY), None, "two_bone takes one goal, a Reach"),
        (Reach("Shoulder", np.zeros(3)), None, "needs two joints above 'Shoulder'"),
        (Reach("Hand", np.zeros(3)), [0, 0, 0], "pole must have a direction"),
        (Reach("Hand", np.zeros(3)), np.ones((2, 3)), "pole must go with"),
        (Reach("Hand", np.zeros(3)), [0, 0, np.nan], "pole must be finite"),
    ],
)
def test_it_says_what_is_wrong(goal, pole, said):
    with pytest.raises(ValueError, match=said):
        two_bone(ELBOW, CHAIN, CHAIN.rest_pose(), goal, pole=pole)


def test_a_forearm_that_turns_about_itself_is_no_elbow():
    """The human's hand hangs from a forearm just below the elbow: the elbow is what bends."""
    body = synovia.human()
    model, start = limits_of(body), body.pose({})
    hand = body.skeleton.index("LeftHand")
    where, _ = forward(body.skeleton, start)
    goal = Reach("LeftHand", where[hand] + np.array([0.1, 0.15, 0.2]))
    found = two_bone(model, body.skeleton, start, goal)
    assert found.converged, found.reason()
    turned = np.flatnonzero(np.abs(found.pose.rotations - start.rotations).max(axis=-1) > 1e-6)
    names = {body.skeleton.names[joint] for joint in turned}
    assert names <= {"LeftUpperArm", "LeftLowerArm"} | set(joints_between(model))
    assert {"LeftUpperArm", "LeftLowerArm"} <= names


@pytest.mark.parametrize(("end", "limb"), [("LeftHand", "Arm"), ("LeftFoot", "Leg")])
def test_goals_are_met_from_a_straight_limb(end, limb):
    """A straight elbow or knee does not show in which direction it can bend."""
    body = synovia.human()
    model = limits_of(body)
    start = model.project(body.skeleton.rest_pose())
    bones = [body.skeleton.index(f"Left{bone}{limb}") for bone in ("Upper", "Lower")]
    rotations = np.tile(start.rotations, (40, 1, 1))
    rotations[:, bones] = model.sample(40, np.random.default_rng(0)).rotations[:, bones]
    legal = model.project(Pose(rotations, np.tile(start.positions, (40, 1, 1))))
    targets = forward(body.skeleton, legal)[0][:, body.skeleton.index(end)]
    found = [two_bone(model, body.skeleton, start, Reach(end, target)) for target in targets]
    assert all(each.converged for each in found)
