"""Kinds of joints, made up with tilted axes, offsets and noise, and from real captures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from synovia import quat
from synovia.learn import (
    JointKind,
    Take,
    joint_kind,
    performer_of,
    trim,
)

CMU = Path(__file__).parents[2] / "shared" / "data" / "cmu_bvh"
X, Y, Z = np.eye(3)
TILTED = np.array([0.6, -0.48, 0.64])


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def about(axis, angles):
    return quat.exp(np.asarray(angles)[..., None] * axis)


def angles_deg(rng, low, high, count=2000):
    """Angles in radians between bounds in degrees, which are among them."""
    return np.radians(np.concatenate([[low, high], rng.uniform(low, high, size=count - 2)]))


def noisy(rng, rotations, degrees):
    """The rotations, each turned by `degrees` at most about any axis, with signs at random."""
    wobble = rng.normal(size=(len(rotations), 3))
    wobble *= rng.uniform(0.0, np.radians(degrees), (len(rotations), 1)) / np.linalg.norm(
        wobble, axis=1, keepdims=True
    )
    return rng.choice([-1.0, 1.0], (len(rotations), 1)) * quat.mul(rotations, quat.exp(wobble))


def same_line(a, b):
    return np.degrees(np.arcsin(min(np.linalg.norm(np.cross(a, b)), 1.0)))


def test_a_joint_that_only_trembles_is_fixed(rng):
    found = joint_kind(noisy(rng, np.tile(about(TILTED, 1.0), (500, 1)), 0.8))
    assert (found.kind, found.axes.shape, found.ranges.shape) == ("fixed", (0, 3), (0, 2))
    assert np.degrees(quat.angle_between(found.mean, about(TILTED, 1.0))) < 0.2


def test_one_rotation_is_fixed_and_two_are_a_hinge():
    assert joint_kind(about(Y, [0.3])).kind == "fixed"
    assert joint_kind(about(Y, [0.3, 0.5])).kind == "hinge"


@pytest.mark.parametrize("axis", [X, TILTED])
@pytest.mark.parametrize(("low", "high"), [(-1.5, 1.5), (0, 150), (-150, 150), (-20, 280)])
@pytest.mark.parametrize("noise", [0.0, 0.8])
def test_a_hinge_is_found_with_its_axis_and_range(rng, axis, low, high, noise):
    offset = quat.exp(np.array([0.4, 2.0, -0.3]))
    angles = angles_deg(rng, low, high, count=900)
    found = joint_kind(noisy(rng, quat.mul(about(axis, angles), offset), noise))
    assert found.kind == "hinge"
    assert same_line(found.axes[0], axis) < 0.1 + 5.0 * noise
    assert np.degrees(np.ptp(found.ranges)) == pytest.approx(high - low, abs=0.01 + 2.0 * noise)
    assert found.ranges[0, 0] < 0.0 < found.ranges[0, 1]


def test_ranges_and_mean_give_the_ends_of_a_hinge(rng):
    angles = angles_deg(rng, -40, 100, count=900)
    found = joint_kind(about(TILTED, angles))
    ends = quat.mul(about(found.axes[0], found.ranges[0]), found.mean)
    if found.axes[0] @ TILTED < 0.0:
        ends = ends[::-1]
    assert quat.angle_between(ends, about(TILTED, np.radians([-40.0, 100.0]))).max() < 1e-6


@pytest.mark.parametrize("end", [300.0, -300.0])
def test_a_hinge_used_mostly_at_one_end_still_shows_300_degrees(rng, end):
    rest = np.radians(rng.normal(0.0, 2.0, size=900))
    found = joint_kind(about(X, np.concatenate([rest, np.radians(np.linspace(0, end, 90))])))
    assert found.kind == "hinge"
    np.testing.assert_allclose(np.degrees(found.ranges), [sorted([0.0, end])], atol=20.0)


def test_one_sample_in_a_thousand_does_not_change_a_hinge(rng):
    rotations = about(TILTED, angles_deg(rng, -5, 5, count=3000))
    rotations[[100, 2000]] = about(Y, [2.0, 2.5])
    found = joint_kind(rotations)
    assert found.kind == "hinge"
    assert same_line(found.axes[0], TILTED) < 0.1
    assert np.degrees(np.ptp(found.ranges)) == pytest.approx(10.0, abs=0.1)


def test_a_wobble_beyond_the_slack_is_no_hinge(rng):
    rotations = noisy(rng, about(TILTED, angles_deg(rng, -60, 60)), 2.0)
    assert joint_kind(rotations).kind == "ball"
    assert joint_kind(rotations, slack=np.radians(2.2)).kind == "hinge"


@pytest.mark.parametrize("reach", [10.0, 80.0])
def test_a_swing_without_twist_is_universal(rng, reach):
    across = np.stack([angles_deg(rng, -reach, reach), angles_deg(rng, -reach / 2, reach)], axis=1)
    plane = np.linalg.svd(TILTED[None])[2][1:]
    rotations = noisy(rng, quat.mul(quat.exp(across @ plane), about(Y, 1.0)), 0.3)
    found = joint_kind(rotations)
    assert found.kind == "universal"
    off_plane = quat.log(quat.mul(rotations, quat.inverse(found.mean))) @ np.cross(*found.axes)
    assert np.degrees(np.abs(off_plane).max()) < 1.0


@pytest.mark.parametrize("reach", [8.0, 60.0, 180.0])
def test_three_freedoms_are_a_ball(rng, reach):
    vectors = rng.normal(size=(3000, 3))
    vectors *= np.radians(reach) * rng.random((3000, 1)) / np.linalg.norm(vectors, axis=1)[:, None]
    found = joint_kind(quat.exp(vectors))
    assert (found.kind, found.axes.shape) == ("ball", (3, 3))
    np.testing.assert_allclose(found.axes @ found.axes.T, np.eye(3), atol=1e-9)
    assert np.abs(np.degrees(found.ranges)).max() <= reach + 15.0


def test_a_ball_has_ranges_along_its_principal_axes(rng):
    vectors = np.radians(rng.uniform(-1.0, 1.0, size=(3000, 3)) * [60.0, 10.0, 25.0])
    found = joint_kind(quat.exp(vectors))
    assert np.abs(found.axes).argmax(axis=1).tolist() == [0, 2, 1]
    np.testing.assert_allclose(np.degrees(np.ptp(found.ranges, axis=1)), [120, 50, 20], rtol=0.2)


def test_no_rotations_and_no_such_kind_are_errors():
    with pytest.raises(ValueError, match="at least one rotation, got none"):
        joint_kind(np.empty((0, 4)))
    with pytest.raises(ValueError, match="no kind of joint 'saddle'; there are fixed, hinge"):
        JointKind("saddle", quat.IDENTITY, np.empty((0, 3)), np.empty((0, 2)))


@pytest.fixture(scope="module")
def captures():
    if not CMU.is_dir():
        pytest.skip(f"no CMU captures at {CMU}")
    from synovia.io import load_clip

    return {path.stem: load_clip(path) for path in sorted((CMU / "rom").glob("*.bvh"))}


@pytest.mark.parametrize(
    ("joint", "kind"),
    [
        ("LHipJoint", "fixed"),
        ("LeftShoulder", "fixed"),
        ("LeftLeg", "hinge"),
        ("RightLeg", "hinge"),
        ("LeftForeArm", "hinge"),
        ("LeftUpLeg", "ball"),
        ("RightArm", "ball"),
        ("LowerBack", "ball"),
    ],
)
def test_joints_of_real_captures_have_the_kind_they_were_solved_with(captures, joint, kind):
    takes = [
        Take(clip.pose.rotations[:, clip.skeleton.names.index(joint)], clip.frame_time, name, who)
        for name, clip in captures.items()
        for who in [performer_of(name)]
    ]
    found = joint_kind(trim(takes).rotations(takes))
    assert found.kind == kind
    if joint.endswith("Leg") and kind == "hinge":
        # CMU's knees turn about an axis 20 degrees off the file's x.
        assert same_line(found.axes[0], X) == pytest.approx(20.0, abs=0.5)
        assert np.degrees(np.ptp(found.ranges)) == pytest.approx(150.0, abs=10.0)
