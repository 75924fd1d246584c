"""Partners by name, the plane between the sides, and limits carried from joint to joint."""

from __future__ import annotations

import numpy as np
import pytest

from synovia import Box, DistanceField, Limit, LimitModel, RotationVector, Skeleton, human, quat
from synovia.limit import mirror_rotations
from synovia.skeleton import copy_limit, other_side, partner, partner_limit
from synovia.skeleton.names import mirror_normal

PAIRS = [
    ("LeftArm", "RightArm"),
    ("left_arm", "right_arm"),
    ("LEFTARM", "RIGHTARM"),
    ("mixamorig:LeftHandIndex1", "mixamorig:RightHandIndex1"),
    ("L_Arm", "R_Arm"),
    ("upper_arm.L", "upper_arm.R"),
    ("hand_l", "hand_r"),
    ("Bip01 L UpperArm", "Bip01 R UpperArm"),
    ("rig:l_knee", "rig:r_knee"),
    ("LThumb", "RThumb"),
    ("lhumerus", "rhumerus"),
    ("ShoulderL", "ShoulderR"),
]
BOX = Box([-0.4, -0.2, 0.0], [0.1, 0.3, 0.6], np.eye(3))


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_partners_by_name(one, other):
    names = [*(name for pair in PAIRS for name in pair), "LowerBack", "Root", "L5", "Clavicle"]
    assert partner(one, names) == other
    assert partner(other, names) == one


@pytest.mark.parametrize("name", ["Hips", "LowerBack", "L5", "LeftTail", "Larynx"])
def test_a_joint_of_the_middle_has_no_partner(name):
    assert partner(name, [name, "Hips", "LowerBack", "RightLeg"]) is None


@pytest.mark.parametrize(
    ("name", "other"),
    [("LeftArm", "RightArm"), ("right_knee", "left_knee"), ("L5", "L5"), ("Hips", "Hips")],
)
def test_names_are_exchanged_by_words_alone(name, other):
    assert other_side(name) == other


def body(tilt=0.0):
    """Hips, chest and an arm on either side, turned by `tilt` radians about the vertical."""
    names = ("Hips", "Chest", "LeftArm", "LeftHand", "RightArm", "RightHand")
    offsets = np.array(
        [[0, 1, 0], [0, 0.4, 0], [0.2, 0, 0], [0.3, 0, 0], [-0.2, 0, 0], [-0.3, 0, 0]]
    )
    turned = quat.rotate(quat.exp(np.array([0.0, tilt, 0.0])), offsets)
    return Skeleton(names, [-1, 0, 1, 2, 1, 4], turned)


def test_the_plane_is_between_the_sides():
    assert np.array_equal(mirror_normal(body()), [1.0, 0.0, 0.0])
    assert np.array_equal(mirror_normal(body(0.05)), [1.0, 0.0, 0.0])
    aside = mirror_normal(body(0.5))
    np.testing.assert_allclose(np.abs(aside), [np.cos(0.5), 0.0, np.sin(0.5)], atol=1e-12)
    assert np.array_equal(mirror_normal(human().skeleton), [1.0, 0.0, 0.0])


def test_a_skeleton_without_sides_has_no_plane():
    with pytest.raises(ValueError, match="a joint on either side that differ in place, got none"):
        mirror_normal(Skeleton(("Hips", "Head"), [-1, 0], np.zeros((2, 3))))


def test_a_limit_goes_to_the_partner_as_a_mirror_shows_it():
    rng = np.random.default_rng(0)
    limit = Limit(RotationVector(quat.exp(np.array([0.1, 0.5, -0.2]))), BOX)
    other, there = partner_limit(body(), "LeftArm", limit)
    assert other == "RightArm"
    rotations = quat.normalize(rng.normal(size=(500, 4)) * [3.0, 1.0, 1.0, 1.0])
    shown = mirror_rotations(rotations, np.array([1.0, 0.0, 0.0]))
    assert np.array_equal(there.contains(shown), limit.contains(rotations))
    LimitModel({"LeftArm": limit, other: there}, body())


@pytest.mark.parametrize(
    ("ancestor", "there"), [("LeftArm", None), ("Chest", "Chest"), ("Hips", "Hips")]
)
def test_what_is_measured_from_an_ancestor_stays_so(ancestor, there):
    hand = Limit(RotationVector(), BOX, relative_to=ancestor)
    assert partner_limit(body(), "LeftHand", hand)[1].relative_to == there


def test_an_ancestor_of_one_side_becomes_that_of_the_other():
    names = (*body().names[:4], "LeftTip", *body().names[4:], "RightTip")
    longer = Skeleton(names, [-1, 0, 1, 2, 3, 1, 5, 6], np.eye(8, 3) - np.eye(8, 3, -5))
    tip = Limit(RotationVector(), BOX, relative_to="LeftArm")
    assert partner_limit(longer, "LeftTip", tip)[1].relative_to == "RightArm"


def test_what_cannot_be_is_said():
    limit = Limit(RotationVector(), BOX)
    with pytest.raises(ValueError, match="is called like Chest on the other side"):
        partner_limit(body(), "Chest", limit)
    with pytest.raises(ValueError, match="Hips is a root"):
        copy_limit(body(), "Hips", limit)
    with pytest.raises(ValueError, match="no joint 'Tail'"):
        copy_limit(body(), "Tail", limit)
    with pytest.raises(ValueError, match="RightHand must be measured from a joint above it"):
        copy_limit(body(), "RightHand", Limit(RotationVector(), BOX, relative_to="LeftArm"))


def test_a_field_gets_a_partner_whatever_the_plane():
    field = Limit(RotationVector(), DistanceField.fit(np.zeros((1, 3)), margin=0.3, resolution=12))
    name, there = partner_limit(body(0.5), "LeftArm", field)
    assert name == "RightArm"
    assert there.chart.is_turned
    assert there.volume() == pytest.approx(field.volume(), rel=0.02)


def test_a_copy_has_the_same_rotations():
    limit = Limit(RotationVector(), BOX, relative_to="Hips")
    assert copy_limit(body(), "LeftHand", limit) is limit
    assert copy_limit(body(), "Chest", limit).relative_to is None
