"""Possible limits: within published ranges, and impossible poses are refused."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import rigs
from synovia import Clip, Pose, Skeleton, quat
from synovia.population import canonical_limits, limits_for
from synovia.population.envelope import (
    EXCEPTION_DEG,
    allows,
    envelope_data,
    neutral_rotation,
    possible_limits,
    published_ranges,
    range_end,
)
from synovia.rigs import MEASURED_FROM
from synovia.shapes.mesh import contains_strictly

MODEL = canonical_limits("possible")
LIMITS = MODEL.limits
MIRROR = np.array([1.0, 1.0, -1.0, -1.0])


def turn(*vectors):
    """The product of rotations by vectors in degrees, the last applied first."""
    rotation = quat.IDENTITY
    for vector in vectors:
        rotation = quat.mul(rotation, quat.exp(np.radians(np.array(vector, float))))
    return rotation


def posed(rotations, side="left"):
    """The canonical human in a T-pose, but for rotations of the trunk and one side, by role."""
    skeleton = MODEL.skeleton
    all_rotations = np.tile(quat.IDENTITY, (len(skeleton.names), 1))
    for role, rotation in rotations.items():
        mirrored = rotation * MIRROR if side == "right" else rotation
        all_rotations[skeleton.index(role.replace("left", side))] = mirrored
    return Pose(all_rotations, skeleton.offsets)


def is_legal(rotations, side="left"):
    return bool(MODEL.contains(posed(rotations, side)).all())


@pytest.mark.parametrize("row", published_ranges(), ids=lambda row: f"{row.joint} {row.motion}")
def test_possible_ranges_end_between_mean_and_mean_plus_two_sd_plus_15_degrees(row):
    assert row.exception == 0.0 or (row.exception <= EXCEPTION_DEG and row.reason)
    assert row.status in "VSM"
    assert row.mean <= range_end(LIMITS[row.joint], row) <= row.farthest


class OnRig:
    """A limit of a rig, asked about canonical rotations of a role."""

    def __init__(self, human, role):
        rig, frames = human.alignment.rig, human.alignment.frames
        self.limit = human.model.limits[rig.roles[role]]
        self.above, self.below = frames[MEASURED_FROM[role]], quat.inverse(frames[role])

    def contains(self, rotations):
        return self.limit.contains(quat.mul(quat.mul(self.above, rotations), self.below))


ARMS_DOWN = {
    **rigs.PLACES,
    "LowerArm": (0.378, 1.252, 0.0),
    "Hand": (0.555, 1.075, 0.0),
}
"""A rest pose with the arms 45 degrees below level."""


@pytest.mark.parametrize("places", [rigs.PLACES, ARMS_DOWN], ids=["T-pose", "A-pose"])
@pytest.mark.parametrize("name", ["Mixamo", "SMPL", "VRM", "CMU", "CMU, ASF"])
def test_ranges_on_rigs_are_those_of_the_canonical_human(name, places):
    skeleton, _, _ = rigs.rig(rigs.RIGS[name], places=places)
    upright = quat.exp(np.array([0.5 * np.pi, 0.0, 0.0]))  # z up, facing −y
    offsets = quat.rotate(upright, skeleton.offsets)
    skeleton = Skeleton(skeleton.names, skeleton.parents, offsets)
    rest = Pose(np.tile(quat.IDENTITY, (1, len(skeleton), 1)), offsets[None])
    human = limits_for(Clip(skeleton, rest, 1.0), "possible")
    rows = [row for row in published_ranges() if row.joint in human.roles.values()]
    assert len(rows) >= 30
    palm_known = None not in human.alignment.palm.values()
    for row in rows:
        there, end = OnRig(human, row.joint), canonical_end(row, palm_known)
        assert allows(there, row, max(end - 3.0, 0.0)), row
        assert end > 350.0 or not allows(there, row, end + 3.0), row


@cache
def canonical_end(row, palm_known):
    limits = canonical_limits("possible", palm_known=palm_known).limits
    return range_end(limits[row.joint], row)


def test_there_are_at_least_forty_clinical_axes_with_a_source_each():
    rows = published_ranges()
    assert len({(row.joint, row.motion) for row in rows}) == len(rows) >= 40
    assert set(envelope_data()["sources"]) == {
        row["source"] for row in [*envelope_data()["published"], *envelope_data()["muscles"]]
    }


HANGING = (0, 0, -90)
ELBOW_90 = turn((0, -90, 0))
POSSIBLE = {
    "T-pose": {},
    "hanging": {"leftUpperArm": turn(HANGING)},
    "overhead": {"leftUpperArm": turn((0, 0, 85), (90, 0, 0))},
    "hand on hip": {
        "leftUpperArm": turn((0, 0, -55), (45, 0, 0)),
        "leftLowerArm": turn((0, -100, 0)),
    },
    "hand at mouth": {
        "leftUpperArm": turn((0, -60, 0), (0, 0, -45)),
        "leftLowerArm": turn((0, -140, 0)),
    },
    "sitting": {"leftUpperLeg": turn((-90, 0, 0)), "leftLowerLeg": turn((90, 0, 0))},
    "squatting": {
        "leftUpperLeg": turn((-115, 0, 0)),
        "leftLowerLeg": turn((140, 0, 0)),
        "leftFoot": turn((-35, 0, 0)),
    },
    "on tiptoe": {"leftFoot": turn((50, 0, 0)), "leftToes": turn((-60, 0, 0))},
    "look over the shoulder": {"head": turn((0, 70, 0)), "chest": turn((0, 35, 0))},
    "hand twisted, forearm still": {"leftLowerArm": ELBOW_90, "leftHand": turn((70, 0, 0))},
    "sharing twist as SMPL does": {
        "leftUpperArm": turn(HANGING, (30, 0, 0)),
        "leftLowerArm": turn((-30, 0, 0), (0, -90, 0)),
    },
    "hand behind head": {
        "leftUpperArm": turn((0, 0, 25), (-95, 0, 0)),
        "leftLowerArm": turn((0, -130, 0)),
    },
    "hand behind back": {
        "leftUpperArm": turn((35, 0, 0), (0, -75, 0), HANGING),
        "leftLowerArm": turn((0, -90, 0)),
    },
    "arms crossed": {
        "leftUpperArm": turn((-45, 0, 0), (0, -60, 0), HANGING),
        "leftLowerArm": turn((0, -90, 0)),
    },
    "kneeling": {"leftLowerLeg": turn((155, 0, 0)), "leftFoot": turn((65, 0, 0))},
    "cross-legged": {
        "leftUpperLeg": turn((0, 45, 0), (-85, 0, 0), (0, 35, 0)),
        "leftLowerLeg": turn((125, 0, 0)),
    },
    "tying a shoe": {
        "leftUpperLeg": turn((-120, 0, 0)),
        "leftLowerLeg": turn((110, 0, 0)),
        "chest": turn((60, 0, 0)),
    },
    "touching the toes": {"chest": turn((70, 0, 0)), "leftUpperLeg": turn((-70, 0, 0))},
    "lunge": {
        "leftUpperLeg": turn((25, 0, 0)),
        "leftLowerLeg": turn((90, 0, 0)),
        "leftFoot": turn((-25, 0, 0)),
        "leftToes": turn((-60, 0, 0)),
    },
    "front kick": {"leftUpperLeg": turn((-95, 0, 0)), "leftLowerLeg": turn((10, 0, 0))},
    "high front kick, knee a little bent": {
        "leftUpperLeg": turn((-115, 0, 0)),
        "leftLowerLeg": turn((25, 0, 0)),
    },
    "seated toe touch": {
        "chest": turn((60, 0, 0)),
        "leftUpperLeg": turn((-95, 0, 0)),
        "leftFoot": turn((-15, 0, 0)),
    },
    "back leg of a deep lunge": {
        "leftUpperLeg": turn((30, 0, 0)),
        "leftLowerLeg": turn((20, 0, 0)),
        "leftFoot": turn((-38, 0, 0)),
    },
    "quadriceps stretch": {"leftUpperLeg": turn((10, 0, 0)), "leftLowerLeg": turn((140, 0, 0))},
    "deep squat": {
        "leftUpperLeg": turn((-130, 0, 0)),
        "leftLowerLeg": turn((150, 0, 0)),
        "leftFoot": turn((-45, 0, 0)),
    },
    "high side kick": {"leftUpperLeg": turn((0, 0, 75), (0, 35, 0))},
    "reach across to the far shoulder": {
        "leftUpperArm": turn((0, -125, 0), (45, 0, 0)),
        "leftLowerArm": turn((0, -120, 0)),
    },
    "salute": {"leftUpperArm": turn((0, -20, 0), (-50, 0, 0)), "leftLowerArm": turn((0, -135, 0))},
    "wave": {"leftUpperArm": turn((-90, 0, 0)), "leftLowerArm": turn((0, -60, 0))},
    "push-up wrist": {"leftHand": turn((0, 0, 85))},
    "look up": {"head": turn((-70, 0, 0))},
    "ear to shoulder": {"head": turn((0, 0, 45))},
    "swimming crawl recovery": {
        "leftUpperArm": turn((0, 30, 0), (45, 0, 0)),
        "leftLowerArm": turn((0, -90, 0)),
    },
    "pitch": {"leftUpperArm": turn((0, 15, 0), (-125, 0, 0)), "leftLowerArm": turn((0, -90, 0))},
    "hand in back pocket": {
        "leftUpperArm": turn((45, 0, 0), (0, -30, 0), HANGING),
        "leftLowerArm": turn((0, -80, 0)),
    },
    "standing pigeon-toed": {"leftUpperLeg": turn((0, -30, 0)), "leftFoot": turn((0, -10, 0))},
    "ballet turnout": {"leftUpperLeg": turn((0, 50, 0)), "leftFoot": turn((0, 25, 0))},
}
IMPOSSIBLE = {
    "elbow back 20": {"leftLowerArm": turn((0, 20, 0))},
    "elbow up 45, straight": {"leftLowerArm": turn((0, 0, 45))},
    "elbow down 45, hanging": {"leftUpperArm": turn(HANGING), "leftLowerArm": turn((0, 0, -45))},
    "forearm pronated 120": {"leftLowerArm": turn((0, -90, 0), (120, 0, 0))},
    "forearm supinated 120": {"leftLowerArm": turn((0, -90, 0), (-120, 0, 0))},
    "forearm and hand pronated 115": {
        "leftLowerArm": turn((0, -90, 0), (60, 0, 0)),
        "leftHand": turn((55, 0, 0)),
    },
    "forearm and hand supinated 115": {
        "leftLowerArm": turn((0, -90, 0), (-60, 0, 0)),
        "leftHand": turn((-55, 0, 0)),
    },
    "forearm twisted 180": {"leftLowerArm": turn((0, -90, 0), (180, 0, 0))},
    "hand twisted 180": {"leftLowerArm": ELBOW_90, "leftHand": turn((180, 0, 0))},
    "wrist radial 70": {"leftHand": turn((0, -70, 0))},
    "wrist ulnar 70": {"leftHand": turn((0, 70, 0))},
    "wrist ulnar 95": {"leftHand": turn((0, 95, 0))},
    "arm straight back at 90": {"leftUpperArm": turn((0, 90, 0))},
    "arm straight back at 90, from hanging": {"leftUpperArm": turn((90, 0, 0), HANGING)},
    "arm through the back": {"leftUpperArm": turn((0, 130, 0))},
    "arm across the back, low": {"leftUpperArm": turn((0, 135, 0), (0, 0, -30))},
    "hanging, rotated outward 120": {
        "leftUpperArm": turn((0, 120, 0), HANGING),
        "leftLowerArm": ELBOW_90,
    },
    "hanging, rotated outward 147": {
        "leftUpperArm": turn((0, 147, 0), HANGING),
        "leftLowerArm": ELBOW_90,
    },
    "hanging, rotated inward 150": {
        "leftUpperArm": turn((0, -150, 0), HANGING),
        "leftLowerArm": ELBOW_90,
    },
    "knee back 20": {"leftLowerLeg": turn((-20, 0, 0))},
    "knee back 22": {"leftLowerLeg": turn((-22, 0, 0))},
    "knee out 20": {"leftLowerLeg": turn((0, 0, 20))},
    "knee in 20": {"leftLowerLeg": turn((0, 0, -20))},
    "shin rotated out 60, straight": {"leftLowerLeg": turn((0, 60, 0))},
    "shin rotated in 60, straight": {"leftLowerLeg": turn((0, -60, 0))},
    "hip extended 60": {"leftUpperLeg": turn((60, 0, 0))},
    "hip rotated out 80": {"leftUpperLeg": turn((0, 80, 0))},
    "hip rotated in 80": {"leftUpperLeg": turn((0, -80, 0))},
    "hip rotated out 80, knee bent": {
        "leftUpperLeg": turn((0, 80, 0)),
        "leftLowerLeg": turn((90, 0, 0)),
    },
    "hip rotated in 80, sitting": {
        "leftUpperLeg": turn((0, 0, 80), (-90, 0, 0)),
        "leftLowerLeg": turn((90, 0, 0)),
    },
    "hip adducted 65": {"leftUpperLeg": turn((0, 0, -65))},
    "foot turned out 60": {"leftFoot": turn((0, 60, 0))},
    "foot turned in 60": {"leftFoot": turn((0, -60, 0))},
    "foot lifted 70": {"leftFoot": turn((-70, 0, 0))},
    "foot lifted 118": {"leftFoot": turn((-118, 0, 0))},
    "foot turned in 90": {"leftFoot": turn((0, -90, 0))},
    "foot pointed 95": {"leftFoot": turn((95, 0, 0))},
    "foot on its side 75": {"leftFoot": turn((0, 0, -75))},
    "toes bent back 120": {"leftToes": turn((-120, 0, 0))},
    "toes sideways 50": {"leftToes": turn((0, 50, 0))},
    "head turned 120": {"head": turn((0, 120, 0))},
    "head turned 180": {"head": turn((0, 179, 0))},
    "head bent to the side 80": {"head": turn((0, 0, 80))},
    "chest turned 75": {"chest": turn((0, 75, 0))},
    "chest bent to the side 75": {"chest": turn((0, 0, -75))},
    "chest bent back 80": {"chest": turn((-80, 0, 0))},
    "wrist flexed 110": {"leftHand": turn((0, 0, -110))},
    "wrist back 110": {"leftHand": turn((0, 0, 110))},
    "elbow bent 175": {"leftLowerArm": turn((0, -175, 0))},
    "elbow sideways 30": {"leftLowerArm": turn((0, 0, 30))},
    "elbow bent back 90": {"leftLowerArm": turn((0, 90, 0))},
    "abducted 90, rotated out 160": {"leftUpperArm": turn((-160, 0, 0)), "leftLowerArm": ELBOW_90},
    "abducted 90, rotated in 120": {"leftUpperArm": turn((120, 0, 0)), "leftLowerArm": ELBOW_90},
    "flexed 90, rotated out 160": {
        "leftUpperArm": turn((0, 0, -70), (-90, 0, 0), HANGING),
        "leftLowerArm": ELBOW_90,
    },
    "flexed 90, rotated in 100": {
        "leftUpperArm": turn((0, 0, 190), (-90, 0, 0), HANGING),
        "leftLowerArm": ELBOW_90,
    },
    "overhead, rotated 150": {
        "leftUpperArm": turn((0, 0, 90), (60, 0, 0)),
        "leftLowerArm": ELBOW_90,
    },
    "arm down across the back": {"leftUpperArm": turn((0, 150, 0), (0, 0, -60))},
    "arm up and back 45": {"leftUpperArm": turn((-225, 0, 0), HANGING)},
    "knee bent 180": {"leftLowerLeg": turn((178, 0, 0))},
    "knee forward 60": {"leftLowerLeg": turn((-60, 0, 0))},
    "shin rotated 100, bent": {"leftLowerLeg": turn((90, 0, 0), (0, 100, 0))},
    "hip flexed 165": {"leftUpperLeg": turn((-165, 0, 0))},
    "hip abducted 90, knee forward": {"leftUpperLeg": turn((0, 0, 90))},
    "leg back and out": {"leftUpperLeg": turn((0, 60, 0), (70, 0, 0))},
    "hip turned 180": {"leftUpperLeg": turn((0, 180, 0))},
    "straight leg raised 130": {"leftUpperLeg": turn((-130, 0, 0))},
    "heel to buttock, hip extended 25": {
        "leftUpperLeg": turn((25, 0, 0)),
        "leftLowerLeg": turn((155, 0, 0)),
    },
    "foot lifted 45, knee straight": {"leftFoot": turn((-45, 0, 0))},
    "head flexed 100": {"head": turn((100, 0, 0))},
    "head back 120": {"head": turn((-120, 0, 0))},
    "head turned 85 and bent back 85": {"head": turn((0, 85, 0), (-85, 0, 0))},
    "head turned 80, tilted 60": {"head": turn((0, 80, 0), (0, 0, 60))},
    "chest flexed 140": {"chest": turn((140, 0, 0))},
    "chest turned 50 and bent 50": {"chest": turn((0, 50, 0), (0, 0, 50))},
    "collarbone lifted 80": {"leftShoulder": turn((0, 0, 80))},
    "toes curled 100": {"leftToes": turn((100, 0, 0))},
}


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", POSSIBLE)
def test_everyday_poses_are_possible(name, side):
    assert is_legal(POSSIBLE[name], side)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_poses_are_refused_and_brought_back(name, side):
    assert not is_legal(IMPOSSIBLE[name], side)
    assert MODEL.contains(MODEL.project(posed(IMPOSSIBLE[name], side))).all()


def test_findings_name_the_muscle_and_the_bend_of_the_joint_between():
    skeleton = MODEL.skeleton
    pose = posed(IMPOSSIBLE["straight leg raised 130"])
    still = Pose(np.tile(pose.rotations, (3, 1, 1)), np.tile(pose.positions, (3, 1, 1)))
    human = limits_for(Clip(skeleton, still, 1 / 30), "possible")
    report, (finding,) = human.check(Clip(skeleton, still, 1 / 30))
    assert finding.text == "left hip: 32° beyond flexion for a knee bent by 0° (hamstrings)"
    (row,) = [row for row in report.joints if row.frames]
    assert (row.held_by, row.held_frames) == ("leftLowerLeg", 3)


@pytest.mark.parametrize("role", envelope_data()["balls"])
def test_anchors_are_possible_at_their_neutral_rotation(role):
    # A thigh at 85 degrees of abduction, or as a frog's, has to be rotated outwards.
    anchors = [each for each in envelope_data()["balls"][role]["anchors"] if each["inward"] > 20]
    assert LIMITS[role].contains(np.stack([neutral_rotation(role, each) for each in anchors])).all()


def test_rotation_between_anchors_follows_the_formula():
    # The table's cells are 3 degrees wide: between their centres the error is below a degree.
    role = "leftUpperArm"
    limit, data = LIMITS[role], envelope_data()["balls"][role]
    anchors = data["anchors"]
    rows = np.stack([neutral_rotation(role, each) for each in anchors])
    neutral = limit.chart.points(rows)[:, 3]
    ends = np.stack(
        [
            neutral - np.radians([each["outward"] for each in anchors]),
            neutral + np.radians([each["inward"] for each in anchors]),
        ],
        axis=-1,
    )
    directions = np.array([each["direction"] for each in anchors], float)
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    some = limit.chart.points(limit.sample(500, np.random.default_rng(0)))[:, :3]
    weights = np.exp(8.0 * (quat.rotate(limit.chart.reference, some) @ directions.T - 1.0))
    expected = weights @ ends / weights.sum(axis=-1, keepdims=True)
    inner = contains_strictly(limit.shape, some)
    error = np.abs(limit.shape.twist_range(some) - expected)[inner]
    assert len(error) > 100
    assert np.degrees(error).max() < 1.0


def test_a_wrist_of_unknown_palm_bends_equally_far_everywhere():
    known, unknown = (possible_limits(palm_known=each)["leftHand"] for each in (True, False))
    angles = np.radians(np.arange(0.0, 360.0, 10.0))
    axes = np.stack([0.0 * angles, np.cos(angles), np.sin(angles)], axis=-1)
    assert unknown.contains(quat.exp(np.radians(97.0) * axes)).all()
    assert not unknown.contains(quat.exp(np.radians(105.0) * axes)).any()
    assert 0 < known.contains(quat.exp(np.radians(60.0) * axes)).sum() < len(axes)


def test_pronation_is_free_if_the_palm_is_unknown():
    unknown = canonical_limits("possible", palm_known=False)
    twisted = [turn((0, -90, 0), (angle, 0, 0)) for angle in range(-180, 181, 15)]
    assert all(unknown.contains(posed({"leftLowerArm": each})).all() for each in twisted)
    for name in ("elbow back 20", "elbow up 45, straight", "hanging, rotated outward 120"):
        assert not unknown.contains(posed(IMPOSSIBLE[name])).all()


def test_the_wrist_reaches_farthest_from_radial_extension_to_ulnar_flexion():
    hand = LIMITS["leftHand"]
    tilt = np.radians(26.6)
    dart = np.array([0.0, np.sin(tilt), -np.cos(tilt)])  # flexion with ulnar deviation
    across = np.array([0.0, np.sin(tilt), np.cos(tilt)])  # extension with ulnar deviation
    assert hand.contains(quat.exp(np.radians([[95.0], [-95.0]]) * dart)).all()
    assert not hand.contains(quat.exp(np.radians([[85.0], [-85.0]]) * across)).any()


def test_sides_of_the_possible_are_mirror_images():
    rotations = quat.normalize(np.random.default_rng(0).normal(size=(2000, 4)))
    for role in (role for role in LIMITS if role.startswith("left")):
        other = LIMITS[role.replace("left", "right")].contains(rotations * MIRROR)
        legal = LIMITS[role].contains(rotations)
        assert 0 < legal.sum() < len(legal)
        assert (legal == other).all(), role
