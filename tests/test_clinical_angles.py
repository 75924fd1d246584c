"""Clinical angles: definitions against positions of joints, laws over all test rigs, and bands."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import synovia
from rigs import RIGS, rig
from synovia import Clip, Pose, forward, quat
from synovia.anatomy import limits_of
from synovia.demo import wild
from synovia.model import LimitModel
from synovia.population import (
    angles_of,
    clinical_axes,
    clip_angles,
    limits_for,
    rotation_of,
)
from synovia.population.angles import ends_of, norms_of
from synovia.population.bands import ClinicalJoint, first_exit, joint_bands, links
from synovia.rigs import MEASURED_FROM, align, recognize
from twins import walker

ROLES = [role for role in MEASURED_FROM if clinical_axes(role)]
RANGES_DEG = {  # within which angles are unique and far from poles
    "UpperArm": ((-40, 120), (-20, 100), (-80, 80)),
    "UpperLeg": ((-30, 120), (-30, 60), (-50, 50)),
    "LowerArm": ((-5, 140), (-10, 10), (-80, 80)),
    "LowerLeg": ((-5, 140), (-10, 10), (-30, 30)),
}
OTHERS_DEG = ((-40, 40),) * 3
ENDS = ("rotations", "positions")


def bone_of(role):
    return role.removeprefix("left").removeprefix("right")


def aligned(name):
    skeleton = rig(RIGS[name])[0]
    rest = skeleton.rest_pose()
    clip = Clip(skeleton, Pose(rest.rotations[None], rest.positions[None]), 1 / 30)
    return align(recognize(skeleton), [clip]), clip.pose


def posed(alignment, pose, wanted):
    """Return the pose in which joints have clinical angles (3,), by role."""
    model = LimitModel({}, alignment.rig.skeleton)
    for role, some in links(model, alignment).items():
        if role in wanted:
            joint = ClinicalJoint(some[0], alignment, pose)
            pose = joint.with_angles(np.asarray(wanted[role])[None])
    return pose


def draw(rng, roles):
    return {
        role: np.radians([rng.uniform(*ends) for ends in RANGES_DEG.get(bone_of(role), OTHERS_DEG)])
        for role in roles
    }


@pytest.mark.parametrize("role", ROLES)
def test_rotations_come_back_from_their_angles(role):
    rotations = quat.normalize(np.random.default_rng(0).normal(size=(500, 4)))
    angles = angles_of(role, rotations)
    assert quat.angle_between(rotation_of(role, angles), rotations).max() < 1e-9
    low = np.array([axis.low for axis in clinical_axes(role)])
    high = np.array([axis.high for axis in clinical_axes(role)])
    assert (angles >= low - 1e-12).all()
    assert (angles <= high + 1e-12).all()


@pytest.mark.parametrize("name", RIGS)
def test_angles_of_every_rig_come_back(name):
    """Poses built from known angles have these angles, joint by joint."""
    alignment, rest = aligned(name)
    rng = np.random.default_rng(2)
    wanted = draw(rng, [role for role in alignment.trusted if clinical_axes(role)])
    assert {"leftUpperLeg", "rightLowerLeg"} <= wanted.keys()
    clip = Clip(alignment.rig.skeleton, posed(alignment, rest, wanted), 1 / 30)
    curves = clip_angles(LimitModel({}, clip.skeleton), alignment, clip).curves
    found = {(curve.role, curve.axis.name): curve.angles[0] for curve in curves}
    for role, angles in wanted.items():
        for axis, angle in zip(clinical_axes(role), angles, strict=True):
            assert found[role, axis.name] == pytest.approx(angle, abs=1e-7)


@pytest.mark.parametrize("name", RIGS)
def test_angles_are_zero_in_the_anatomical_position(name):
    """Standing, arms hanging. The arms are lowered in the world, without clinical angles."""
    alignment, pose = aligned(name)
    skeleton, roles = alignment.rig.skeleton, alignment.rig.roles
    rotations = pose.rotations.copy()
    down = np.array([0.0, -1.0, 0.0])
    for side in ("left", "right"):
        arm, elbow = (skeleton.index(roles[f"{side}{bone}"]) for bone in ("UpperArm", "LowerArm"))
        where, world = forward(skeleton, pose.with_rotations(rotations.copy()))
        bone = where[0, elbow] - where[0, arm]
        turn = quat.between(bone / np.linalg.norm(bone), down)
        parent = world[0, skeleton.parents[arm]]
        local = quat.mul(quat.inverse(parent), quat.mul(turn, world[0, arm]))
        rotations[0, arm] = local
    clip = Clip(skeleton, pose.with_rotations(rotations), 1 / 30)
    curves = clip_angles(LimitModel({}, skeleton), alignment, clip).curves
    assert len(curves) >= 24
    for curve in curves:
        # The ankles of the test rigs are behind the knees, and parts of split bones 1 mm apart.
        slack = 3.5 if bone_of(curve.role) in ("LowerLeg", "Foot", "Toes", "UpperLeg") else 0.3
        assert abs(np.degrees(curve.angles[0])) < slack, curve.name


@pytest.mark.parametrize("name", ["Mixamo", "SMPL", "CMU, ASF"])
def test_angles_are_those_between_bones(name):
    """A goniometer on the positions of joints reads the same."""
    alignment, rest = aligned(name)
    rng = np.random.default_rng(3)
    skeleton, roles = alignment.rig.skeleton, alignment.rig.roles
    for _ in range(5):
        wanted = draw(rng, [role for role in alignment.trusted if bone_of(role) in RANGES_DEG])
        wanted = {role: np.where(np.abs(a) < 0.2, 0.2, a) for role, a in wanted.items()}
        for role in wanted:  # no sideways bend
            if bone_of(role) in ("LowerArm", "LowerLeg"):
                wanted[role][:2] = abs(wanted[role][0]) + 0.2, 0.0
        where, _ = forward(skeleton, posed(alignment, rest, wanted))

        def bone(start, end, where=where):
            ends = (where[0, skeleton.index(roles[role])] for role in (end, start))
            vector = np.subtract(*ends)
            return vector / np.linalg.norm(vector)

        for side, out in (("left", 1.0), ("right", -1.0)):
            thigh = bone(f"{side}UpperLeg", f"{side}LowerLeg")
            flexion, abduction, _ = wanted[f"{side}UpperLeg"]
            assert np.arctan2(thigh[2], -thigh[1]) == pytest.approx(flexion, abs=5e-3)
            assert np.arcsin(out * thigh[0]) == pytest.approx(abduction, abs=5e-3)
            shin = bone(f"{side}LowerLeg", f"{side}Foot")
            slack = 0.06  # the shins of the test rigs lean by 3 degrees
            assert np.arccos(thigh @ shin) == pytest.approx(wanted[f"{side}LowerLeg"][0], abs=slack)
            arm = bone(f"{side}UpperArm", f"{side}LowerArm")
            elevation = np.hypot(*wanted[f"{side}UpperArm"][:2])
            assert np.arccos(-arm[1]) == pytest.approx(elevation, abs=5e-3)
            forearm = bone(f"{side}LowerArm", f"{side}Hand")
            assert np.arccos(arm @ forearm) == pytest.approx(wanted[f"{side}LowerArm"][0], abs=5e-3)


def test_rotation_is_seen_at_the_bent_elbow_and_knee():
    """With a hanging upper arm, inward rotation points the bent forearm to the body."""
    alignment, rest = aligned("Mixamo")
    skeleton, roles = alignment.rig.skeleton, alignment.rig.roles
    bent = np.radians([90.0, 0.0, 0.0])
    for degrees in (-40.0, 0.0, 50.0):
        turned = np.radians([0.0, 0.0, degrees])
        wanted = {
            f"{side}{bone}": angles
            for side in ("left", "right")
            for bone, angles in (
                ("UpperArm", turned),
                ("LowerArm", bent),
                ("UpperLeg", turned),
                ("LowerLeg", bent),
            )
        }
        where, _ = forward(skeleton, posed(alignment, rest, wanted))
        for side, out in (("left", 1.0), ("right", -1.0)):
            for start, end, ahead in (("LowerArm", "Hand", 1.0), ("LowerLeg", "Foot", -1.0)):
                first, last = (skeleton.index(roles[f"{side}{each}"]) for each in (start, end))
                bone = where[0, last] - where[0, first]
                seen = np.degrees(np.arctan2(-out * ahead * bone[0], ahead * bone[2]))
                assert seen == pytest.approx(degrees, abs=3.0)


def test_bands_end_where_brute_force_does():
    """Bands of a clip of all joints agree with legal angles tested one by one, within a step."""
    clip = walker(301)
    human = limits_for(clip)
    pose = Pose(clip.pose.rotations[::60], clip.pose.positions[::60])
    tested = 0
    for role, some in links(human.model, human.alignment).items():
        angles, bands, _ = joint_bands(some, human.alignment, pose)
        joint = ClinicalJoint(some[0], human.alignment, pose)
        for k, axis in itertools.product(range(len(angles)), range(angles.shape[1])):
            low, high = bands[k, axis]
            if np.isnan(low):
                continue
            fine = np.linspace(low, high, 200)
            tried = np.repeat(angles[[k]], len(fine), axis=0)
            tried[:, axis] = fine
            assert joint.contains(tried, np.full(len(fine), k)).all(), role
            for end, sign in ((low, -1.0), (high, 1.0)):
                if np.abs(end - ends_of(role, angles)[k, axis]).min() > 0.0:
                    beyond = angles[[k]].copy()
                    beyond[0, axis] = end + sign * np.radians(0.05)
                    assert not joint.contains(beyond, np.array([k])).any(), role
                    tested += 1
    assert tested > 100


def test_raised_arms_are_measured_by_their_smallest_angles():
    """Flexion and abduction that raise an arm by more than 180 degrees name another pose."""
    clip = walker(1)
    human = limits_for(clip)
    some = links(human.model, human.alignment)["leftUpperArm"]
    rest = ClinicalJoint(some[0], human.alignment, clip.pose)
    raised = rest.with_angles(np.radians([[-78.0, 106.0, 92.0]]))
    angles, bands, _ = joint_bands(some, human.alignment, raised)
    np.testing.assert_allclose(np.degrees(angles[0]), [-78.0, 106.0, 92.0], atol=1e-6)
    overhead = -np.sqrt(180.0**2 - 106.0**2)  # the arm is then raised by 180 degrees
    assert np.degrees(bands[0, 0, 0]) == pytest.approx(overhead, abs=1e-6)


def test_first_exit_stops_at_gaps():
    gaps = np.array([0.5, -0.7])

    def legal(rows, values):
        return np.abs(values - gaps[rows]) > 0.06

    ends = first_exit(legal, np.zeros(2), np.array([3.0, -3.0]))
    np.testing.assert_allclose(ends, [0.44, -0.64], atol=1e-3)


def test_a_hinge_is_measured_along_its_path():
    """The default human's knee also slides and rotates: its range is that of its control."""
    figure = synovia.human()
    poses = [figure.pose({"left_knee.flexion": degrees}) for degrees in (0.0, 30.0, 80.0)]
    pose = Pose(*(np.stack([getattr(each, name) for each in poses]) for name in ENDS))
    clip = Clip(figure.skeleton, pose, 1 / 30)
    alignment = align(recognize(figure.skeleton), [clip])
    some = links(limits_of(figure), alignment)["leftLowerLeg"]
    angles, bands, _ = joint_bands(some, alignment, pose)
    control = figure.controls["left_knee.flexion"]
    np.testing.assert_allclose(np.degrees(angles[:, 0]), [0.0, 30.0, 80.0], atol=1.5)
    expected = np.tile([control.low, control.high], (3, 1))
    np.testing.assert_allclose(np.degrees(bands[:, 0]), expected, atol=1.5)
    joint = ClinicalJoint(some[0], alignment, pose)
    moved = ClinicalJoint(some[0], alignment, joint.with_angle(0, np.radians([20.0, 90.0, 140.0])))
    np.testing.assert_allclose(np.degrees(moved.angles[:, 0]), [20.0, 90.0, 140.0], atol=0.2)
    world = limits_of(figure).contains(moved.pose)
    assert world.all()
    beyond = joint.with_angle(0, np.radians([-40.0, 170.0, 200.0]))
    moved = ClinicalJoint(some[0], alignment, beyond)
    np.testing.assert_allclose(np.degrees(moved.angles[:, 0]), [-40.0, 170.0, 200.0], atol=3.0)


def test_an_angle_is_set_alone():
    clip = walker(301)
    human = limits_for(clip)
    pose = Pose(clip.pose.rotations[10:11], clip.pose.positions[10:11])
    link = links(human.model, human.alignment)["leftLowerLeg"][0]
    moved = ClinicalJoint(link, human.alignment, pose).with_angle(0, np.radians([80.0]))
    before = Clip(clip.skeleton, pose, 1 / 30)
    made = replace(before, pose=moved)
    read = [clip_angles(human.model, human.alignment, each).curves for each in (before, made)]
    for one, other in zip(*read, strict=True):
        moved_here = one.role == "leftLowerLeg" and one.axis.name == "flexion"
        expected = np.radians(80.0) if moved_here else one.angles[0]
        assert other.angles[0] == pytest.approx(expected, abs=1e-6)


def test_norms_have_the_direction_of_their_motion():
    """Published ends along an axis, by `about` in the data, have the sign that `Norm` gives."""
    from synovia.population.envelope import published_ranges

    checked = 0
    for row in published_ranges():
        axes = clinical_axes(row.joint)
        start = quat.IDENTITY
        for vector in row.start:
            start = quat.mul(start, quat.exp(np.radians(vector)))
        about = np.asarray(row.about) / np.linalg.norm(row.about)
        small = quat.mul(quat.exp(np.radians(2.0) * about), start)
        change = angles_of(row.joint, small) - angles_of(row.joint, start)
        for k, axis in enumerate(axes):
            for norm in norms_of(row.joint, axis):
                condition = row.motion.partition(", ")[2]
                same = (norm.mean_deg, norm.sd_deg, norm.condition) == (row.mean, row.sd, condition)
                both = row.motion in ("rotation", "bend to the side")
                if (
                    same
                    and not both
                    and row.motion.split(",")[0].startswith(
                        axis.name if norm.sign > 0 else axis.opposite
                    )
                ):
                    assert np.sign(change[k]) == norm.sign, row.motion
                    checked += 1
    assert checked >= 35


def test_tables_have_a_row_for_each_frame_and_each_axis():
    clip = walker(301)
    human = limits_for(clip)
    found = clip_angles(human.model, human.alignment, clip)
    rows = list(found.curve_rows())
    assert len(rows) == clip.frames + 1
    assert {len(row) for row in rows} == {3 + len(found.curves)}
    ranges = list(found.range_rows(human.check(clip)[0]))
    assert len(ranges) == len(found.curves)
    for curve, row in zip(found.curves, ranges, strict=True):
        assert row[5] == pytest.approx(np.degrees(curve.angles.min()))
        assert np.degrees(curve.angles[row[8]]) == pytest.approx(row[7])


def test_curves_have_the_angles_of_findings():
    """Limits may see the twist of a limb elsewhere; angles are those of the clip."""
    clip = wild()
    human = limits_for(clip)
    _, findings = human.check(clip)
    for finding in findings:
        for curve in clip_angles(human.model, human.alignment, clip, roles=[finding.role]).curves:
            angle = finding.angles[curve.axis.name]
            assert curve.angles[finding.frame] == pytest.approx(angle, abs=1e-6)
    assert len(findings) > 5
