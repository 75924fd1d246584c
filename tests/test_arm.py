"""An arm led by its wrist: bent by distance, its shoulder within its table, frame by frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arms import FAMILIES, X, hinge, of_family, skeleton
from synovia import quat
from synovia.charts import DirectionTwist
from synovia.ik import arm
from synovia.limit import Limit
from synovia.model import LimitModel
from synovia.shapes import ThetaPhi
from synovia.skeleton import Pose, forward

CHAIN = skeleton()
SHOULDER = CHAIN.offsets[:2].sum(axis=0)


def tabled(width=1.0, height=1.0):
    """A shoulder with a table, so wide and so high to both sides in radians, and an elbow."""
    lat = np.array([-height, 0.0, height])
    table = ThetaPhi.from_rows(np.column_stack([lat, 0 * lat - width, 0 * lat + width]), -1.5, 1.5)
    limits = {
        "Shoulder": Limit(DirectionTwist(axis=X), table),
        "Elbow": hinge([0.0, -1.0, 0.0], 0.0, 2.6),
    }
    return LimitModel(limits, CHAIN)


def circle(radius, frames=120, at=(0.42, 0.0, 0.1)):
    t = np.linspace(0.0, 2.0 * np.pi, frames)
    return SHOULDER + at + radius * np.stack([0.0 * t, np.cos(t), np.sin(t)], axis=1)


def largest_turn(found):
    rotations = found.pose.rotations
    return quat.angle_between(rotations[1:], rotations[:-1]).max()


def test_the_wrist_goes_along_its_path():
    model, path = tabled(), circle(0.15)
    found = arm(model, CHAIN, CHAIN.rest_pose(), "Shoulder", "Wrist", path)
    assert found.converged.all()
    assert model.contains(found.pose).all()
    where, _ = forward(CHAIN, found.pose)
    np.testing.assert_allclose(where[:, 3], path, atol=1e-9)
    far = np.linalg.norm(path - SHOULDER, axis=1)
    bend = quat.angle_between(found.pose.rotations[:, 2], quat.IDENTITY)
    np.testing.assert_allclose(far**2, 2 * 0.3**2 * (1 + np.cos(bend)), atol=1e-9)
    assert largest_turn(found) < np.radians(6.0)
    kept = [0, 3, 4]
    assert (found.pose.rotations[:, kept] == CHAIN.rest_pose().rotations[kept]).all()


def test_where_the_table_ends_the_arm_waits_and_says_so():
    """The path swings out far to the side, where the upper arm may not go, and comes back."""
    model = tabled(0.5, 0.6)
    turn = 1.6 * np.sin(np.linspace(0.0, np.pi, 120))
    way = np.stack([np.cos(turn), np.sin(turn), 0.0 * turn], axis=1)
    path = SHOULDER + 0.55 * way
    found = arm(model, CHAIN, CHAIN.rest_pose(), "Shoulder", "Wrist", path)
    assert model.contains(found.pose).all()
    assert found.converged[:10].all()
    assert found.converged[-10:].all()
    missed = np.flatnonzero(~found.converged)
    assert 20 < len(missed) < 110
    where, _ = forward(CHAIN, found.pose)
    np.testing.assert_allclose(
        found.errors[:, 0], np.linalg.norm(where[:, 3] - path, axis=1), atol=1e-12
    )
    middle = int(missed[len(missed) // 2])
    assert "held by the limit of Shoulder" in found.reason(middle)
    assert largest_turn(found) <= 0.2 + 1e-9


def test_the_arm_swivels_where_that_is_legal():
    """The elbow would leave the table; turned about the line to the wrist it need not."""
    model = tabled(0.8, 0.8)
    path = SHOULDER + [0.40, 0.0, 0.0] + np.linspace(0.0, 1.0, 60)[:, None] * [0.0, 0.2, -0.1]
    found = arm(model, CHAIN, CHAIN.rest_pose(), "Shoulder", "Wrist", path)
    assert found.converged.all()
    free = LimitModel({"Elbow": model.limits["Elbow"]}, CHAIN)
    unlimited = arm(free, CHAIN, CHAIN.rest_pose(), "Shoulder", "Wrist", path)
    assert not model.contains(unlimited.pose).all()
    assert model.contains(found.pose).all()


def test_a_moving_body_carries_its_arm():
    model, path = tabled(), circle(0.1, 30)
    rest = CHAIN.rest_pose()
    moved = np.tile(rest.positions, (30, 1, 1))
    moved[:, 0, 0] += np.linspace(0.0, 0.05, 30)
    body = Pose(np.tile(rest.rotations, (30, 1, 1)), moved)
    found = arm(model, CHAIN, body, "Shoulder", "Wrist", path)
    assert found.converged.all()
    assert (found.pose.positions == moved).all()


def test_a_joint_between_elbow_and_wrist_is_carried_along():
    names = ("Shoulder", "Elbow", "Forearm", "Wrist")
    chain = skeleton(4)
    chain = type(chain)(names, chain.parents, chain.offsets)
    kinked = chain.rest_pose().rotations.copy()
    kinked[2] = quat.exp(np.array([0.0, 0.0, 0.4]))
    path = chain.offsets[0] + np.array([[0.6, 0.2, 0.1], [0.6, 0.22, 0.1]])
    found = arm(
        *(LimitModel({}, chain), chain, Pose(kinked, chain.offsets)), "Shoulder", "Wrist", path
    )
    assert found.converged.all()
    assert (found.pose.rotations[:, 2] == kinked[2]).all()


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=5)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.0, 0.3, 3.0]))
def test_it_is_legal_whatever_the_path(family, seed, scale):
    model, rng = of_family(family), np.random.default_rng(seed)
    path = SHOULDER + scale * np.cumsum(rng.normal(size=(8, 3)), axis=0)
    found = arm(model, CHAIN, CHAIN.rest_pose(), "Shoulder", "Wrist", path)
    assert model.contains(found.pose).all()
    assert np.isfinite(found.errors).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shoulder": "Sholder"}, "no joint 'Sholder'; did you mean Shoulder"),
        ({"shoulder": "Hand"}, "Wrist must be below Hand with an elbow between"),
        ({"shoulder": "Elbow"}, "Wrist must be below Elbow with an elbow between"),
        ({"path": np.zeros((0, 3))}, "path must have shape"),
        ({"path": np.zeros(3)}, "path must have shape"),
        ({"path": [[0.0, np.nan, 0.0]]}, "path must be finite, got nan"),
        ({"largest_step": 0.0}, "largest_step must be above 0"),
    ],
)
def test_it_says_what_is_wrong(change, said):
    given = {"shoulder": "Shoulder", "path": circle(0.1, 4), "largest_step": 0.2, **change}
    with pytest.raises(ValueError, match=said):
        arm(
            *(tabled(), CHAIN, CHAIN.rest_pose(), given["shoulder"], "Wrist", given["path"]),
            largest_step=given["largest_step"],
        )


def test_poses_that_are_not_the_paths_frames_are_refused():
    rest = CHAIN.rest_pose()
    body = Pose(np.tile(rest.rotations, (3, 1, 1)), np.tile(rest.positions, (3, 1, 1)))
    with pytest.raises(ValueError, match="pose must be one, or 4 like the path"):
        arm(tabled(), CHAIN, body, "Shoulder", "Wrist", circle(0.1, 4))


def test_an_illegal_start_is_made_legal_and_said():
    rotations = CHAIN.rest_pose().rotations.copy()
    rotations[2] = quat.exp(np.array([0.0, 0.5, 0.0]))  # the elbow bends backwards
    model = tabled()
    found = arm(model, CHAIN, Pose(rotations, CHAIN.offsets), "Shoulder", "Wrist", circle(0.1, 4))
    assert model.contains(found.pose).all()
    assert found.start_correction.shape == (4, 5)
    np.testing.assert_allclose(found.start_correction[:, 2], 0.5, atol=1e-9)


def test_a_shoulder_is_held_as_its_ancestor_sees_it():
    """The clavicle rotates from frame to frame, and the path leaves the table of the shoulder."""
    chain = skeleton(5)
    table = replace(tabled(0.5, 0.6).limits["Shoulder"], relative_to="Chest")
    model = LimitModel({"Elbow": table}, chain)
    rotations = np.tile(chain.rest_pose().rotations, (30, 1, 1))
    rotations[:, 1] = quat.exp(np.linspace(0.0, 0.4, 30)[:, None] * [0.0, 0.0, 1.0])
    body = Pose(rotations, np.tile(chain.offsets, (30, 1, 1)))
    path = forward(chain, body)[0][:, 2] + circle(0.15, 30, (0.5, 0.0, 0.0)) - SHOULDER
    found = arm(model, chain, body, "Elbow", "Hand", path)
    assert model.contains(found.pose).all()
    assert 2 < found.converged.sum() < 28
    assert (found.pose.rotations[:, 1] == rotations[:, 1]).all()
