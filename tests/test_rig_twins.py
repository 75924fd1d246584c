"""The same motion on other rigs is the same motion of the canonical human."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from synovia import LimitModel, Pose, load_clip, quat
from synovia.population import canonical_limits, limits_on
from synovia.rigs import (
    align,
    canonical_skeleton,
    limits_from_rig,
    limits_on_rig,
    recognize,
)
from twins import (
    arms_down,
    renamed,
    scaled,
    turned_world,
    walker,
    with_joints_between,
    with_rest,
)

DATA = Path(__file__).parents[2] / "shared" / "data"
WALK = walker()
Z_UP = quat.exp(np.array([np.pi / 2, 0.0, 0.0]))
FREE_ROLL = {"leftLowerArm", "rightLowerArm", "leftHand", "rightHand"}
"""How these are rolled at rest no motion shows, and no limit asks for it."""


def about(axis, degrees):
    return quat.exp(np.radians(degrees) * np.array(axis, float))


def apart(clip, twin, **options):
    """By role, the median angle between canonical rotations, and whether there is a verdict."""
    before = align(recognize(clip.skeleton), [clip]).canonical_rotations(clip.pose)
    alignment = align(recognize(twin.skeleton), [twin], **options)
    after = alignment.canonical_rotations(twin.pose)
    assert set(before) == set(after)
    return {
        role: (
            float(np.degrees(np.median(quat.angle_between(before[role], after[role])))),
            role in alignment.trusted,
        )
        for role in before
    }


def bones(side):
    return {bone: f"mixamorig:{side}{bone}" for bone in ("Arm", "ForeArm", "UpLeg", "Leg", "Foot")}


TWINS = {
    "arms at 45 degrees": lambda clip: with_rest(clip, arms_down(45.0)),
    "arms hanging": lambda clip: with_rest(clip, arms_down(80.0)),
    "legs apart": lambda clip: with_rest(
        clip,
        {
            bones("Left")["UpLeg"]: about((0, 0, 1), 20),
            bones("Right")["UpLeg"]: about((0, 0, 1), -20),
        },
    ),
    "elbows and knees bent at rest": lambda clip: with_rest(
        clip,
        {
            bones("Left")["ForeArm"]: about((0, 1, 0), -20),
            bones("Right")["ForeArm"]: about((0, 1, 0), 20),
            bones("Left")["Leg"]: about((1, 0, 0), 15),
            bones("Right")["Leg"]: about((1, 0, 0), 15),
        },
    ),
    "arms twisted at rest": lambda clip: with_rest(
        clip,
        {bones("Left")["Arm"]: about((1, 0, 0), 50), bones("Right")["Arm"]: about((1, 0, 0), -40)},
    ),
    "inches": lambda clip: scaled(clip, 39.37),
    "z up": lambda clip: turned_world(clip, Z_UP, "z"),
    "z up, unsaid": lambda clip: turned_world(clip, Z_UP),
    "x up and turned away": lambda clip: turned_world(
        clip, quat.mul(about((0, 0, 1), -90), about((0, 1, 0), 90)), "x"
    ),
    "a spine of 24": lambda clip: with_joints_between(clip, "mixamorig:Spine1", 21, 0.9),
    "a neck of 7": lambda clip: with_joints_between(clip, "mixamorig:Head", 5, 0.8),
}


@pytest.mark.parametrize("name", TWINS)
def test_twins_move_alike_to_two_degrees(name):
    for role, (angle, _) in apart(WALK, TWINS[name](WALK)).items():
        if role not in FREE_ROLL or name != "arms twisted at rest":
            assert angle < 2.0, role


def test_without_a_rest_pose_verdicts_are_right_or_missing():
    rng = np.random.default_rng(1)
    lost = with_rest(
        WALK, {name: quat.normalize(rng.normal(size=4)) for name in WALK.skeleton.names}
    )
    found = apart(WALK, lost)
    assert all(angle < 10.0 for angle, verdict in found.values() if verdict)
    judged = {role for role, (_, verdict) in found.items() if verdict}
    assert {"chest", "leftUpperArm", "rightUpperArm", "leftUpperLeg", "rightLowerLeg"} <= judged
    assert "leftHand" not in judged


def test_a_reference_can_be_given_by_hand():
    standing = WALK.skeleton.rest_pose()
    at_rest = with_rest(WALK, {})
    one = Pose(standing.rotations[None], standing.positions[None])
    rig = recognize(WALK.skeleton)
    given = align(rig, [WALK], reference=type(WALK)(WALK.skeleton, one, 1.0))
    assert "given" in given.steps[0]
    free = align(rig, [WALK]).canonical_rotations(WALK.pose)
    for role, seen in given.canonical_rotations(at_rest.pose).items():
        assert np.degrees(quat.angle_between(seen, free[role])).max() < 1e-6
    crouched = quat.exp(np.array([-2.0, 0.0, 0.0]))
    bent = np.array(one.rotations)
    bent[0, WALK.skeleton.index("mixamorig:LeftUpLeg")] = crouched
    with pytest.raises(ValueError, match="left thigh points 115 degrees away from down"):
        align(rig, [WALK], reference=type(WALK)(WALK.skeleton, Pose(bent, one.positions), 1.0))


def test_sides_that_are_exchanged_are_found_out():
    names = WALK.skeleton.names
    other = {
        name: name.replace("Left", "?").replace("Right", "Left").replace("?", "Right")
        for name in names
    }
    wrong = renamed(WALK, other)
    rig = recognize(wrong.skeleton)
    with pytest.raises(ValueError, match="left and right"):
        align(rig, [wrong])  # by how elbows and knees bend
    assert set(align(rig).trusted) == {"chest", "head"}  # by the feet, sides are doubted


def test_one_frame_is_enough_and_what_it_cannot_show_is_said():
    one = Pose(WALK.pose.rotations[:1], WALK.pose.positions[:1])
    clip = type(WALK)(WALK.skeleton, one, 1.0)
    alignment = align(recognize(clip.skeleton), [clip])
    assert any("too seldom" in step for step in alignment.steps)
    assert alignment.confidence["leftUpperArm"] < 1.0
    assert "leftUpperArm" in alignment.trusted


def test_somebody_who_lies_is_understood_all_the_same():
    lying = WALK.pose.rotations.copy()
    lying[:, 0] = quat.mul(about((1, 0, 0), -90), lying[:, 0])
    clip = type(WALK)(WALK.skeleton, Pose(lying, WALK.pose.positions), WALK.frame_time)
    alignment = align(recognize(clip.skeleton), [clip])
    assert any("gravity does not show" in step for step in alignment.steps)
    assert {"head", "leftFoot"} <= alignment.trusted.keys()
    before = align(recognize(WALK.skeleton), [WALK], gravity=False).canonical_rotations(WALK.pose)
    for role in ("chest", "leftUpperArm", "leftUpperLeg", "leftLowerLeg"):
        seen = alignment.canonical_rotations(clip.pose)[role]
        assert np.degrees(quat.angle_between(seen, before[role])).max() < 2.0


def test_limits_go_to_a_rig_and_back():
    twin = turned_world(with_rest(WALK, arms_down(60.0)), Z_UP, "z")
    alignment = align(recognize(twin.skeleton), [twin])
    limits = canonical_limits("human").limits
    there = limits_on_rig(limits, alignment)
    model = LimitModel(there, twin.skeleton)
    seen = alignment.canonical_rotations(twin.pose)
    report = model.check(twin)
    for name, angles in zip(report.names, report.violation.T, strict=True):
        role = next(role for role, joint in alignment.rig.roles.items() if joint == name)
        np.testing.assert_allclose(angles, limits[role].violation(seen[role]), atol=1e-9)
    back = limits_from_rig(there, alignment)
    assert set(back) == set(alignment.trusted) & set(limits)
    rotations = quat.normalize(np.random.default_rng(0).normal(size=(2000, 4)))
    for role, limit in back.items():
        np.testing.assert_array_equal(limit.contains(rotations), limits[role].contains(rotations))


def test_a_model_is_put_on_another_rig():
    learned = LimitModel.fit(
        [WALK],
        "box",
        margin=0.1,
        relative_to={
            "mixamorig:LeftArm": "mixamorig:Spine2",
            "mixamorig:RightArm": "mixamorig:Spine2",
        },
    )
    twin = renamed(
        with_rest(WALK, arms_down(45.0)),
        {name: name.replace("mixamorig:", "") for name in WALK.skeleton.names},
    )
    with pytest.warns(UserWarning, match="not carried over"):  # vertebrae, which roles do without
        moved = learned.on(twin.skeleton)
    assert moved.limits["LeftArm"].relative_to == "Spine2"
    assert moved.limits["LeftForeArm"].relative_to is None
    assert moved.check(twin).ok
    assert canonical_limits("people").on(twin.skeleton).limits.keys() >= {"LeftArm", "RightUpLeg"}


@pytest.mark.parametrize("name", ["07_05", "131_04"])
@pytest.mark.skipif(not DATA.is_dir(), reason="no captures beside the project")
def test_amc_and_bvh_of_one_capture_are_the_same_human(name):
    folder = DATA / "cmu_asfamc"
    bvh = load_clip(folder / f"{name}.bvh")
    amc = load_clip(next(folder.glob(f"{name}-*.amc")))
    bvh = type(bvh)(
        bvh.skeleton, Pose(bvh.pose.rotations[1:], bvh.pose.positions[1:]), bvh.frame_time
    )
    one, other = (align(recognize(clip.skeleton), [clip]) for clip in (bvh, amc))
    seen = one.canonical_rotations(bvh.pose)
    twins = other.canonical_rotations(amc.pose)
    shared = seen.keys() & twins.keys()
    assert len(shared) >= 16
    for role in shared:
        assert np.degrees(quat.angle_between(seen[role], twins[role])).max() < 0.1, role
    reports = [limits_on(each).check(clip)[0] for each, clip in ((one, bvh), (other, amc))]
    for name, role in limits_on(one).roles.items():
        if role in shared:
            k, j = reports[0].names.index(name), reports[1].names.index(other.rig.roles[role])
            far = [
                report.violation[:, at] > 0.01 for report, at in zip(reports, (k, j), strict=True)
            ]
            assert (far[0] == far[1]).mean() > 0.99


def test_the_canonical_skeleton_is_its_own_canonical_human():
    skeleton = canonical_skeleton()
    alignment = align(recognize(skeleton))
    for role, frame in alignment.frames.items():
        assert quat.angle_between(frame, quat.IDENTITY) < 1e-7, role
