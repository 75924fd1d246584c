"""Possible limits: within published ranges, and impossible poses are refused."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import rigs
from benchmarks.ranges import allows, range_end
from poses import IMPOSSIBLE, POSSIBLE, impossible_combinations, turn
from synovia import Clip, Pose, Skeleton, quat
from synovia.population import canonical_limits, limits_for
from synovia.population.envelope import (
    EXCEPTION_DEG,
    envelope_data,
    neutral_rotation,
    possible_limits,
    published_ranges,
)
from synovia.rigs import MEASURED_FROM

MODEL = canonical_limits("possible")
LIMITS = MODEL.limits
MIRROR = np.array([1.0, 1.0, -1.0, -1.0])


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


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", POSSIBLE)
def test_everyday_poses_are_possible(name, side):
    assert is_legal(POSSIBLE[name], side)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_poses_are_refused_and_brought_back(name, side):
    assert not is_legal(IMPOSSIBLE[name], side)
    assert MODEL.contains(MODEL.project(posed(IMPOSSIBLE[name], side))).all()


@pytest.mark.parametrize("side", ["left", "right"])
def test_impossible_joints_are_refused_in_many_postures(side):
    names, poses = zip(*impossible_combinations(), strict=True)
    rotations = np.stack([posed(pose, side).rotations for pose in poses])
    legal = MODEL.contains(Pose(rotations, np.tile(MODEL.skeleton.offsets, (len(poses), 1, 1))))
    assert len(names) > 500
    assert [names[k] for k in np.flatnonzero(legal)] == []


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
    inner = limit.shape.contains_direction(some)
    error = np.abs(limit.shape.twist_range(some) - expected)[inner]
    assert len(error) > 100
    assert np.degrees(np.quantile(error, 0.98)) < 1.0  # at the rim, ends are the nearest cell's


def test_a_wrist_of_unknown_palm_bends_equally_far_everywhere():
    known, unknown = (possible_limits(palm_known=each)["leftHand"] for each in (True, False))
    angles = np.radians(np.arange(0.0, 360.0, 10.0))
    axes = np.stack([0.0 * angles, np.cos(angles), np.sin(angles)], axis=-1)
    assert unknown.contains(quat.exp(np.radians(111.0) * axes)).all()
    assert not unknown.contains(quat.exp(np.radians(118.0) * axes)).any()
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
