"""The default human: whatever the controls say, the pose is one that its joints can take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synovia import (
    Clip,
    forward,
    human,
    human_limits,
    load_clip,
    load_figure,
    load_limits,
    quat,
    save_clip,
    save_figure,
    save_limits,
)
from synovia.anatomy import isb_angles
from synovia.shapes import KDop, ReachCone

BODY = human()
RANGES = np.array([(each.low, each.high) for each in BODY.controls.values()])
NAMES = list(BODY.controls)
ONE_WAY = [name for name in NAMES if "shoulder" not in name]  # that has rhythms of its own


def anywhere(n, seed):
    """Return poses all over the ranges, many controls at their ends."""
    shares = np.random.default_rng(seed).uniform(-0.4, 1.4, size=(n, len(RANGES)))
    return BODY.pose(RANGES[:, 0] + shares * (RANGES[:, 1] - RANGES[:, 0]))


def test_it_has_all_bones_and_controls():
    names = set(BODY.skeleton.names)
    trunk = {f"L{k}" for k in range(1, 6)} | {f"T{k}" for k in range(1, 13)}
    trunk |= {f"C{k}" for k in range(1, 8)} | {"Pelvis", "Sternum", "Head"}
    sides = ("Left", "Right")
    ribs = {f"Rib{k}{side}" for k in range(1, 13) for side in sides}
    limbs = "Clavicle Scapula UpperArm LowerArm Forearm Hand UpperLeg LowerLeg Patella Fibula Foot"
    assert names == trunk | ribs | {
        f"{side}{bone}" for side in sides for bone in f"{limbs} Toes".split()
    }
    for name in ("lumbar.flexion", "left_hip.twist", "right_knee.flexion", "left_wrist.deviation"):
        assert name in BODY.controls
    assert {each.unit for each in BODY.controls.values()} == {"degrees"}


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(NAMES), st.floats(-1e9, 1e9), max_size=12))
def test_no_control_however_large_leads_outside(controls):
    posed = BODY.pose(controls)
    assert human_limits().contains(posed)
    low, high = RANGES.T
    assert ((low <= posed.controls) & (posed.controls <= high)).all()
    assert set(posed.clamped) == {
        name
        for name, value in controls.items()
        if not BODY.controls[name].low <= value <= BODY.controls[name].high
    }


def test_what_a_joint_cannot_do_is_outside():
    rest = BODY.pose()

    def bent(segment, angles_deg, order):
        rotations = rest.rotations.copy()
        turn = quat.from_euler(np.radians(angles_deg), order)
        rotations[BODY.skeleton.index(segment)] = turn
        return rest.with_rotations(rotations)

    for segment, angles, order in (
        ("LeftLowerLeg", [-20.0], "x"),  # a knee that bends forward
        ("RightLowerLeg", [20.0], "z"),
        ("LeftLowerArm", [20.0], "x"),
        ("LeftUpperLeg", [75.0], "z"),
        ("RightUpperLeg", [70.0], "y"),
        ("LeftHand", [-60.0], "x"),
        ("LeftFoot", [50.0], "y"),
        ("T6", [10.0], "x"),
        ("Head", [40.0], "y"),
    ):
        assert not human_limits().contains(bent(segment, angles, order)), segment


def test_limits_are_cones_and_hinges_and_survive_a_file(tmp_path):
    moved = {name for each in BODY.joint_sets.values() for name in each.network.outputs}
    assert set(human_limits().limits) == moved
    for bone in ("UpperLeg", "Hand", "Foot", "UpperArm"):
        assert isinstance(human_limits().limits[f"Left{bone}"].shape, ReachCone)
    assert isinstance(human_limits().limits["T4"].shape, KDop)
    save_limits(human_limits(), tmp_path / "human.limits.json")
    again = load_limits(tmp_path / "human.limits.json")
    posed = anywhere(200, seed=3)
    assert np.array_equal(again.distance(posed), human_limits().distance(posed))


def test_the_arm_is_measured_from_the_sternum_as_tightly_as_its_joint_set_keeps_it():
    network = BODY.joint_sets["left_shoulder"].network
    assert human_limits().ancestors == {"LeftUpperArm": "Sternum", "RightUpperArm": "Sternum"}
    limit = human_limits().limits["LeftUpperArm"]
    assert np.array_equal(limit.shape.packed, network.components["arm_cone"].cone.packed)
    assert limit.volume() < 0.35
    rest = BODY.pose().rotations.copy()
    raised = rest.copy()
    raised[BODY.skeleton.index("LeftClavicle")] = quat.from_euler(np.radians([25.0]), "z")
    back = raised.copy()
    back[BODY.skeleton.index("LeftUpperArm")] = quat.from_euler(np.radians([85.0]), "x")
    alone = rest.copy()
    alone[BODY.skeleton.index("LeftUpperArm")] = quat.from_euler(np.radians([85.0]), "x")
    for rotations, legal in ((rest, True), (raised, True), (back, False), (alone, False)):
        distance = human_limits().distance(BODY.pose().with_rotations(rotations))
        assert (distance[BODY.skeleton.index("LeftUpperArm")] <= 1e-9) == legal


@pytest.mark.parametrize("name", ONE_WAY)
def test_a_control_moves_bones_one_way_only(name):
    limits = BODY.controls[name]
    segments = BODY.joint_sets[name.split(".")[0]].network.outputs
    for end in (limits.low, limits.high):
        posed = BODY.pose({name: np.linspace(limits.neutral, end, 41)})
        path = posed.rotations[:, [BODY.skeleton.index(segment) for segment in segments]]
        away = quat.angle_between(path[:1], path)
        assert (np.diff(away, axis=0) > -1e-7).all()
        assert end == limits.neutral or away[-1].max() > 0.5 * np.radians(abs(end)) / len(segments)


@pytest.mark.parametrize("name", ONE_WAY)
def test_alone_a_control_reaches_both_its_ends(name):
    """Cones do not cut off what the ranges promise: the ends differ from what is just before."""
    limits = BODY.controls[name]
    for end in (limits.low, limits.high):
        if end == limits.neutral:
            continue
        before = end + 0.02 * (limits.neutral - end)
        posed = BODY.pose({name: np.array([before, end])})
        steps = quat.angle_between(posed.rotations[0], posed.rotations[1])
        assert np.degrees(steps.max()) > 1e-3 * abs(end)


def test_it_survives_xml_and_bvh(tmp_path):
    save_figure(BODY, tmp_path / "human.xml")
    again = load_figure(tmp_path / "human.xml")
    posed = anywhere(20, seed=4)
    assert np.array_equal(again.pose(posed.controls).rotations, posed.rotations)
    with pytest.warns(UserWarning, match="added the channels"):
        save_clip(Clip(BODY.skeleton, posed, 0.02), tmp_path / "human.bvh")
    clip = load_clip(tmp_path / "human.bvh")
    assert clip.skeleton.names == BODY.skeleton.names
    there, here = (forward(BODY.skeleton, each)[0] for each in (clip.pose, posed))
    assert np.abs(there - here).max() < 1e-4


def isb_deg(joint, **controls):
    named = {name.replace("__", "."): value for name, value in controls.items()}
    return np.degrees(isb_angles(BODY.skeleton, BODY.pose(named), joint))


def test_angles_of_the_isb_have_its_signs():
    assert isb_deg("right_shoulder") == pytest.approx([0, 0, 0], abs=1e-6)
    for side in ("left", "right"):
        shoulder = f"{side}_shoulder"
        plane, elevation, _ = isb_deg(shoulder, **{f"{shoulder}__abduction": 60})
        assert (abs(plane), elevation) == pytest.approx((0.0, -60.0), abs=6.0)
        plane, elevation, _ = isb_deg(shoulder, **{f"{shoulder}__flexion": 60})
        assert (plane, elevation) == pytest.approx((90.0, -60.0), abs=6.0)
        hip = f"{side}_hip"
        assert isb_deg(hip, **{f"{hip}__flexion": 50}) == pytest.approx([50, 0, 0], abs=1e-6)
        assert isb_deg(hip, **{f"{hip}__abduction": 20}) == pytest.approx([0, -20, 0], abs=1e-6)
        assert isb_deg(hip, **{f"{hip}__twist": 20}) == pytest.approx([0, 0, -20], abs=1e-6)
        knee = f"{side}_knee"
        assert isb_deg(knee, **{f"{knee}__flexion": 80}) == pytest.approx(
            [-80, 1.08, 14.55], abs=1e-6
        )
    assert isb_deg("lumbar", lumbar__flexion=20) == pytest.approx([-20, 0, 0], abs=1e-6)
    with pytest.raises(ValueError, match="no joint 'tail'; there are lumbar"):
        isb_angles(BODY.skeleton, BODY.pose(), "tail")


@settings(max_examples=30)
@given(st.floats(-60, 140), st.floats(-20, 100), st.floats(-60, 60))
def test_angles_of_the_isb_are_the_rotation(flexion, abduction, twist):
    """The three turns, one after the other, in their axes, are the rotation against the sternum."""
    controls = {
        "right_shoulder.flexion": flexion,
        "right_shoulder.abduction": abduction,
        "right_shoulder.twist": twist,
    }
    posed = BODY.pose(controls)
    angles = isb_angles(BODY.skeleton, posed, "right_shoulder")
    assert -np.pi <= angles[1] <= 0.0
    _, turns = forward(BODY.skeleton, posed)
    near, far = (turns[BODY.skeleton.index(name)] for name in ("Sternum", "RightUpperArm"))
    axes = quat.to_matrix(quat.from_euler(angles, "yxy"))
    change = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    there = quat.to_matrix(quat.mul(quat.inverse(near), far))
    assert np.abs(change @ there @ change.T - axes).max() < 1e-8
