"""Exports: what an engine loads accepts what the limit says, and the loss that is told is true."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from command_line import result_of, run
from oracles import random_quats
from synovia import (
    Box,
    Ellipsoid,
    Limit,
    LimitModel,
    RotationVector,
    Skeleton,
    forward,
    human,
    human_limits,
    load_figure,
    quat,
    save_figure,
)
from synovia.export import EXPORTERS, HingedBody, export_limits, hinged_body, hinged_joint
from synovia.export.body import SEGMENT_MASSES, capsules, in_metres
from synovia.export.into import fit_given_hinges, narrow_ranges, write_into
from synovia.export.mjcf import OVERSHOOT_DEG, mjcf_text
from synovia.export.opensim import opensim_text
from synovia.export.urdf import urdf_text
from synovia.io import load_limits, save_limits
from synovia.io.ranges import read_ranges
from synovia.limit import DependentRange
from synovia.limit.node_grid import NodeGrid
from synovia.model import couple
from synovia.rigs import canonical_skeleton
from synovia.skeleton import Pose

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")

ROBOT = Path(__file__).parents[2] / "shared" / "data" / "wild" / "models" / "g1_29dof.urdf"
UPPER = Limit(
    RotationVector(quat.exp(np.array([0.3, 0.2, -0.4]))),
    Ellipsoid(np.zeros(3), np.array([1.1, 0.5, 0.7]), quat.to_matrix(quat.exp(np.ones(3) * 0.4))),
)
KNEE = Limit(RotationVector(), Box([0.0, -0.08, -0.06], [2.3, 0.08, 0.06], np.eye(3)))
SKELETON = Skeleton(
    ("Hips", "Chest", "Arm", "Fore & arm"),
    [-1, 0, 1, 2],
    [[0.0, 1.0, 0.0], [0.0, 0.4, 0.0], [0.2, 0.2, 0.0], [0.3, 0.0, 0.0]],
    end_parents=[3],
    end_offsets=[[0.25, 0.0, 0.0]],
    up="y",
    unit=1.0,
)


@pytest.fixture(scope="module")
def model():
    return LimitModel({"Arm": UPPER, "Fore & arm": KNEE}, SKELETON)


@pytest.fixture(scope="module")
def body(model):
    return hinged_body(model)


@pytest.fixture(scope="module")
def loaded(body):
    return mujoco.MjModel.from_xml_string(mjcf_text(body))


def angles(joint, rotations):
    """The hinge angles that are nearest to the joint's ranges."""
    return joint.limit.nearest_cover(rotations)


def within(loaded, data, slack=1e-9):
    """Whether all hinges and tendons of a pose are within the ranges that MuJoCo has loaded."""
    hinges = data.qpos[7:]
    low, high = loaded.jnt_range[1:].T
    inside = ((hinges >= low - slack) & (hinges <= high + slack)).all()
    low, high = loaded.tendon_range.T
    length = data.ten_length
    return bool(inside and ((length >= low - slack) & (length <= high + slack)).all())


def test_members_are_what_the_loaded_ranges_and_tendons_have(body, loaded):
    data, rng = mujoco.MjData(loaded), np.random.default_rng(0)
    joints = list(body.joints.values())
    near = [
        quat.mul(joint.limit.sample(10_000, rng), quat.exp(0.15 * rng.normal(size=(10_000, 3))))
        for joint in joints
    ]
    legal = np.all([j.limit.contains(q) for j, q in zip(joints, near, strict=True)], axis=0)
    points = np.concatenate([angles(j, q) for j, q in zip(joints, near, strict=True)], axis=1)
    assert 500 < legal.sum() < 9500
    for inside, point in zip(legal, points, strict=True):
        data.qpos[7:] = point
        mujoco.mj_fwdPosition(loaded, data)
        assert within(loaded, data) == inside


def test_bodies_are_where_forward_kinematics_has_them(body, loaded, model, rng):
    data, skeleton = mujoco.MjData(loaded), body.skeleton
    for _ in range(20):
        rotations = np.tile(quat.IDENTITY, (len(skeleton), 1))
        for joint in body.joints.values():
            rotations[skeleton.index(joint.name)] = joint.limit.sample(1, rng)[0]
            at = [loaded.joint(hinge).qposadr[0] for hinge in joint.hinge_names]
            data.qpos[at] = angles(joint, rotations[skeleton.index(joint.name)])
        data.qpos[:7] = [*skeleton.offsets[0], 1, 0, 0, 0]
        mujoco.mj_forward(loaded, data)
        places, turns = forward(skeleton, Pose(rotations, skeleton.offsets))
        for number, name in enumerate(skeleton.names):
            np.testing.assert_allclose(data.body(name).xpos, places[number], atol=1e-9)
            assert quat.angle_between(data.body(name).xquat, turns[number]) < 1e-9


def test_the_loss_that_is_told_is_the_loss(body, model):
    everywhere = random_quats(60_000, np.random.default_rng(7))
    for joint in body.joints.values():
        old, new = model.limits[joint.name].contains(everywhere), joint.limit.contains(everywhere)
        for told, found in ((joint.loss.gained, new & ~old), (joint.loss.lost, old & ~new)):
            noise = 4.5 * np.sqrt(max(found.mean(), 1.0 / 60_000) / 60_000)
            assert told == pytest.approx(found.mean(), abs=noise + 0.05 * found.mean())
        assert f"gained {joint.loss.gained:.4%}" in mjcf_text(body).replace("&amp;", "&")


def test_half_spaces_take_less_than_ranges_alone_and_data_axes_less_than_the_bones(body):
    arm, plain = body.joints["Arm"], hinged_joint(UPPER, "Arm", slanted=False)
    assert len(arm.slants) >= 8
    assert arm.loss.gained < 0.6 * plain.loss.gained
    assert arm.loss.lost < 1e-3


def test_the_rest_pose_is_a_keyframe(body, loaded):
    data = mujoco.MjData(loaded)
    mujoco.mj_resetDataKeyframe(loaded, data, 0)
    mujoco.mj_forward(loaded, data)
    turned = quat.mul(quat.inverse(data.body("Chest").xquat), data.body("Arm").xquat)
    assert quat.angle_between(turned, UPPER.project(quat.IDENTITY)) < 0.3


def test_a_limit_of_hinges_is_exported_as_it_is(body, tmp_path):
    joint = body.joints["Arm"]
    again = hinged_joint(joint.limit, "Arm")
    np.testing.assert_allclose(again.low, joint.low, atol=1e-9)
    np.testing.assert_allclose(again.slants.axes, joint.slants.axes, atol=1e-12)
    assert again.loss.gained == again.loss.lost == 0.0
    (tmp_path / "a.xml").write_text(mjcf_text(body))
    back = load_limits(tmp_path / "a.xml").limits["Arm"]
    points = joint.limit.shape.scatter(300, np.random.default_rng(0))
    points = np.concatenate([points, points * 1.4])
    inside = joint.limit.shape.contains(points)
    np.testing.assert_array_equal(back.shape.contains(points), inside)


def test_a_dropped_ragdoll_stays_within_the_overshoot_that_is_told(rng):
    names = canonical_skeleton().names
    box = Box([-0.5, -0.3, -0.4], [0.6, 0.5, 0.3], np.eye(3))
    ball, knee = (
        hinged_joint(limit, "", slanted=True) for limit in (Limit(RotationVector(), box), KNEE)
    )
    joints = {
        name: replace(knee if name.endswith("LowerLeg") else ball, name=name) for name in names[1:]
    }
    ragdoll = HingedBody(canonical_skeleton(), joints)
    loaded = mujoco.MjModel.from_xml_string(mjcf_text(ragdoll))
    assert loaded.body_mass.sum() == pytest.approx(75.0, rel=1e-4)
    data, worst = mujoco.MjData(loaded), 0.0
    for _ in range(5):
        mujoco.mj_resetDataKeyframe(loaded, data, 0)
        data.qpos[2], data.qpos[3:7] = 1.5, random_quats(1, rng)[0]
        data.qvel[:] = 3.0 * rng.normal(size=loaded.nv)
        for _ in range(500):
            mujoco.mj_step(loaded, data)
            for (low, high), at in (
                (loaded.jnt_range[1:].T, data.qpos[7:]),
                (loaded.tendon_range.T, data.ten_length),
            ):
                worst = max(worst, np.maximum(low - at, at - high).max())
        assert np.isfinite(data.qpos).all()
        assert 0.0 < data.qpos[2] < 1.5
    assert 0.0 < np.degrees(worst) < OVERSHOOT_DEG


def test_masses_are_the_published_shares():
    assert sum(
        share * (1 if name in ("head", "trunk") else 2) for name, share in SEGMENT_MASSES.items()
    ) == pytest.approx(1.0)
    skeleton = canonical_skeleton()
    masses = [sum(capsule.mass for capsule in group) for group in capsules(skeleton, 80.0)]
    assert masses[skeleton.index("leftUpperLeg")] == pytest.approx(80.0 * 0.1416)
    assert sum(masses) == pytest.approx(80.0)


# URDF.


def test_urdf_has_the_same_ranges_and_places_in_mujoco(ranged, rng):
    body = ranged
    loaded = mujoco.MjModel.from_xml_string(
        urdf_text(body).replace(
            "</robot>", "<mujoco><compiler fusestatic='false'/></mujoco></robot>"
        )
    )
    data, skeleton = mujoco.MjData(loaded), body.skeleton
    for joint in body.joints.values():
        for k, hinge in enumerate(joint.hinge_names):
            np.testing.assert_allclose(loaded.joint(hinge).range, [joint.low[k], joint.high[k]])
    rotations = np.tile(quat.IDENTITY, (len(skeleton), 1))
    for joint in body.joints.values():
        rotations[skeleton.index(joint.name)] = joint.limit.sample(1, rng)[0]
        at = [loaded.joint(hinge).qposadr[0] for hinge in joint.hinge_names]
        data.qpos[at] = angles(joint, rotations[skeleton.index(joint.name)])
    mujoco.mj_forward(loaded, data)
    offsets = skeleton.offsets.copy()
    offsets[0] = 0.0
    rotations[0] = quat.exp(np.array([0.5 * np.pi, 0.0, 0.0]))  # y up becomes z up
    places, _ = forward(skeleton, Pose(rotations, offsets))
    np.testing.assert_allclose(data.body("Fore & arm").xpos, places[3], atol=1e-9)


def test_mujoco_loads_a_urdf_of_any_bones_with_the_inertia_of_the_mjcf(rng):
    knee = hinged_joint(KNEE, "Bone")
    for _ in range(40):
        ends = rng.integers(0, 4)
        lengths = 10.0 ** rng.uniform(-3.0, 1.0, size=(ends, 1))
        stick = Skeleton(
            ("Root", "Bone"),
            [-1, 0],
            [np.zeros(3), [0.3, 0.0, 0.0]],
            end_parents=[1] * ends,
            end_offsets=lengths * rng.normal(size=(ends, 3)),
            up="z",
            unit=1.0,
        )
        bare = HingedBody(stick, {"Bone": knee})
        mass = 10.0 ** rng.uniform(-2.0, 2.0)
        keep = "<mujoco><compiler fusestatic='false'/></mujoco></robot>"
        urdf = urdf_text(bare, mass=mass).replace("</robot>", keep)
        one = mujoco.MjModel.from_xml_string(urdf).body("Bone")
        other = mujoco.MjModel.from_xml_string(mjcf_text(bare, mass=mass)).body("Bone")
        np.testing.assert_allclose(one.mass, other.mass, rtol=1e-4)
        np.testing.assert_allclose(one.inertia, other.inertia, rtol=1e-4)


@pytest.mark.parametrize(("name", "write"), [("a.urdf", urdf_text), ("a.osim", opensim_text)])
def test_what_is_read_again_has_the_limits(name, write, ranged, tmp_path, rng):
    (tmp_path / name).write_text(write(ranged))
    back = load_limits(tmp_path / name)
    for (title, joint), limit in zip(ranged.joints.items(), back.limits.values(), strict=True):
        np.testing.assert_allclose(limit.shape.low, joint.low, atol=1e-12)
        np.testing.assert_allclose(limit.shape.high, joint.high, atol=1e-12)
        # It stands otherwise at rest there: in the middle of the ranges.
        rotations = quat.mul(quat.inverse(joint.reference), joint.limit.sample(50, rng))
        frame = back.skeleton.rest_rotations[back.skeleton.index(back_name(title, name))]
        turned = quat.mul(quat.mul(frame, rotations), quat.inverse(frame))
        assert limit.contains(turned).all()


def back_name(title, name):
    return title if name.endswith("urdf") else title.replace(" & ", "___")


@pytest.fixture(scope="module")
def ranged(model):
    return hinged_body(model, slanted=False)


# Into a model that exists.

EXISTING = """<mujoco>
  <!-- somebody's own -->
  <compiler angle="degree"/>
  <default><joint range="-170 170"/></default>
  <worldbody>
    <body name="Hips" euler="90 0 0"><freejoint/>
      <geom size="0.1"/>
      <body name="Chest" pos="0 0.4 0"><geom size="0.1"/>
        <body name="Arm" pos="0.2 0.2 0"><geom size="0.1"/>
          <joint name="arm_z" axis="0 0 1"/>
          <joint name='arm_y' axis='0 1 0'/>
          <joint name="arm_x" axis="1 0 0" ref="5"/>
          <body name="Fore &amp; arm" pos="0.3 0 0"><geom size="0.1" pos="0.2 0 0"/>
            <joint name="bend" axis="1 0 0" ref="10" range="0 170"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def test_ranges_are_written_into_a_model_and_nothing_else_changes(model, tmp_path):
    path = tmp_path / "own.xml"
    path.write_text(EXISTING)
    turned = LimitModel(dict(model.limits), read_ranges(path).skeleton)
    exported = write_into(turned, path)
    text = exported.content.decode()
    added = ("<!--", "<joint name", "tendon>", "<fixed", "<joint joint", "</fixed")
    kept = [line for line in text.splitlines() if not any(each in line for each in added)]
    assert text.count("<fixed") >= 3
    assert kept == [
        line for line in EXISTING.splitlines() if "<!--" not in line and "<joint name" not in line
    ]
    loaded = mujoco.MjModel.from_xml_string(text)
    # The bend is about x of the world at rest, and the file's own angle is 10 degrees more.
    bend = loaded.joint("bend").range
    np.testing.assert_allclose(np.degrees(bend), [10.0, 10.0 + np.degrees(2.3)], atol=0.2)
    (tmp_path / "new.xml").write_text(text)
    back = load_limits(tmp_path / "new.xml").limits["Arm"]
    assert back.contains(UPPER.sample(500, np.random.default_rng(0))).mean() > 0.99
    assert back.volume() < 0.9 * replace(back, shape=Box(*back.shape.bounds, np.eye(3))).volume()
    assert exported.losses["Arm"].gained > 0.0
    again = write_into(turned, tmp_path / "new.xml").content.decode()
    assert again.count("<fixed") == text.count("<fixed") == text.count('<fixed name="Arm_slant')
    assert mujoco.MjModel.from_xml_string(again).ntendon >= 3
    assert again.count("Ranges by Synovia") == 1
    lines, before = ([line for line in each.splitlines() if "<!--" not in line]
                     for each in (again, text))  # fmt: skip
    assert lines == before  # what was written before is replaced


def test_ranges_of_a_model_never_become_wider(model, tmp_path):
    path = tmp_path / "own.xml"
    narrow = EXISTING.replace('ref="10" range="0 170"', 'ref="10" range="3.14159265358979 40"')
    path.write_text(narrow.replace("-170 170", "-20 170"))
    before = read_ranges(path)
    exported = write_into(LimitModel(dict(model.limits), before.skeleton), path)
    path.write_bytes(exported.content)
    after = read_ranges(path)
    for old, new in zip(before.hinges, after.hinges, strict=True):
        assert old.low - 1e-12 <= new.low < new.high <= old.high + 1e-12
    widths = [sum(hinge.high - hinge.low for hinge in file.hinges) for file in (before, after)]
    assert widths[1] < 0.7 * widths[0]
    # At rest the angle is 10°: the limit starts there, and the model's own range ends at 40°.
    bend = exported.losses["Fore & arm"]
    assert bend.share == pytest.approx(30.0 / (40.0 - 3.14159), abs=0.02)
    assert bend.gained + bend.lost < 0.01
    assert exported.losses["Arm"].gained > 0.0


@pytest.mark.skipif(not ROBOT.is_file(), reason="the shared model of Unitree's G1 is not here")
def test_a_humans_limits_do_not_widen_the_ranges_of_a_robot(tmp_path):
    run("export", "human", "--into", ROBOT, "-o", tmp_path / "limited.urdf")
    before, after = (
        np.array([(hinge.low, hinge.high) for hinge in read_ranges(path).hinges])
        for path in (ROBOT, tmp_path / "limited.urdf")
    )
    assert (after[:, 0] >= before[:, 0]).all()
    assert (after[:, 1] <= before[:, 1]).all()
    assert np.abs(after - before).max() > 1.0


def test_a_range_that_does_not_overlap_with_the_limit_is_left(model, tmp_path):
    path = tmp_path / "own.xml"
    path.write_text(EXISTING.replace('ref="10" range="0 170"', 'ref="10" range="-60 -30"'))
    exported = write_into(LimitModel(dict(model.limits), read_ranges(path).skeleton), path)
    assert b'ref="10" range="-60 -30"/>' in exported.content
    note = "left as they are, the limit allows nothing of their ranges: bend"
    assert exported.notes["Fore & arm"] == note
    assert exported.losses["Fore & arm"].gained == 1.0  # all of the model's own range is illegal


def test_ranges_in_a_corner_that_half_spaces_cut_off_are_left(tmp_path):
    path = tmp_path / "own.xml"
    path.write_text(EXISTING)
    hinges = read_ranges(path).by_joint()["Arm"]
    fitted = fit_given_hinges(UPPER, "Arm", hinges, slanted=True)
    corner = [
        replace(hinge, low=high - 0.05, high=high + 0.1)
        for hinge, high in zip(hinges, fitted.high, strict=True)
    ]
    joint, disjoint = narrow_ranges(UPPER, "Arm", corner, slanted=True)
    assert disjoint == [hinge.name for hinge in hinges]
    np.testing.assert_array_equal(joint.high, [hinge.high for hinge in corner])
    assert joint.loss.gained == 1.0


def test_a_single_hinge_gains_what_its_limit_forbids(tmp_path):
    path = tmp_path / "own.urdf"
    path.write_text(
        """<robot name="leg"><link name="thigh"/><link name="shin"/>
  <joint name="knee" type="revolute"><parent link="thigh"/><child link="shin"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    )
    limit = Limit(RotationVector(), Box([-0.1, -2.0, 0.3], [0.1, 2.0, 0.5], np.eye(3)))
    save_limits(LimitModel({"shin": limit}, read_ranges(path).skeleton), tmp_path / "a.limits.json")
    command = ["export", tmp_path / "a.limits.json", "--into", path, "-o", tmp_path / "b.urdf"]
    assert "shin gain more than 5.0%" in result_of(*command, "--max-gain", "5%", code=1).output
    assert not (tmp_path / "b.urdf").exists()
    run(*command)
    assert 'lower="-1" upper="1"' in (tmp_path / "b.urdf").read_text()


def test_a_joint_that_depends_on_another_has_its_widest_ranges(tmp_path):
    """An elbow that bends less, the farther back the arm points."""
    high = 1.4 + 0.8 * NodeGrid(3, 4).nodes[:, 2]
    down, bend = np.array([0.0, -1.0, 0.0]), np.eye(3)[0]
    bends = DependentRange(KNEE, "Arm", down, np.zeros(66), high, bend)
    limits = couple({"Arm": UPPER, "Fore & arm": KNEE}, {"Fore & arm": bends})
    message = "does not know that Fore & arm depend on other joints"
    with pytest.warns(UserWarning, match=message):
        exported = export_limits(LimitModel(limits, SKELETON), "mjcf")
    assert set(exported.losses) == {"Arm", "Fore & arm"}
    path = tmp_path / "own.xml"
    path.write_text(EXISTING)
    with pytest.warns(UserWarning, match=message):
        write_into(LimitModel(limits, read_ranges(path).skeleton), path)


# Every target, and the command line.


@pytest.mark.parametrize(
    "target", [name for name in EXPORTERS if name not in ("mjcf", "urdf", "opensim", "usd")]
)
def test_tables_accept_what_is_legal_and_say_the_loss(target, model):
    exported = export_limits(model, target)
    document = json.loads(exported.content)
    for name in model.limits:
        loss = document["joints"][name]["loss"]
        assert loss["gained"] == exported.losses[name].gained >= 0.0
        assert loss["lost"] < 0.05 * loss["share"] + 1e-4


def test_the_command_line_exports_and_refuses(model, tmp_path):
    save_limits(model, tmp_path / "a.limits.json")
    said = run("export", tmp_path / "a.limits.json", "-o", tmp_path / "a.urdf", "--unit", "m")
    assert "2 joints as urdf; wrote" in said
    assert (tmp_path / "a.urdf").read_text().count("<limit") == 6
    assert "limits for 2 of 5 joints, box in hinges" in run("info", tmp_path / "a.urdf")
    target = tmp_path / "b.godot.json"
    run("export", tmp_path / "a.limits.json", "-o", target, "--max-gain", "1%", code=1)
    assert not target.exists()
    run("export", tmp_path / "a.limits.json", "-o", tmp_path / "a.txt", code=2)


# Joints that one control of a figure moves.


def test_a_knee_goes_along_the_figures_curves(rng):
    """Read by the curves that are OpenSim's own splines: the same places and rotations."""
    from xml.etree import ElementTree

    from synovia.components import Curve

    figure, ours = human(), human_limits()
    model = LimitModel({"LeftLowerLeg": ours.limits["LeftLowerLeg"]}, ours.skeleton)
    exported = export_limits(model, "opensim", figure=figure)
    loss = exported.losses["LeftLowerLeg"]
    assert loss.gained == 0.0
    assert loss.lost == loss.share == pytest.approx(model.limits["LeftLowerLeg"].volume())
    assert loss.gained_angle == 0.0
    assert np.radians(4.0) < loss.lost_angle < np.radians(12.0)
    root = ElementTree.fromstring(exported.content)
    flexion = rng.uniform(*(figure.joint_sets["left_knee"].controls["flexion"].low, 140.0), 200)
    pose = figure.pose({"left_knee.flexion": flexion})
    scale = exported_scale(model)
    for name in ("LeftLowerLeg", "LeftPatella", "LeftFibula"):
        joint = root.find(f".//CustomJoint[@name='{name}_joint']")
        rotations, shifts = quat.IDENTITY, np.zeros((200, 3))
        for axis in joint.iter("TransformAxis"):
            direction = np.array(axis.findtext("axis").split(), dtype=float)
            x, y = (np.array(axis.findtext(f"SimmSpline/{k}").split(), dtype=float) for k in "xy")
            value = Curve(x, y, "spline")(np.radians(flexion))[:, None] * direction
            if axis.get("name").startswith("rotation"):
                rotations = quat.mul(rotations, quat.exp(value))
            else:
                shifts = shifts + value
        above = joint.find(".//PhysicalOffsetFrame[@name='above']")
        place, turn = (
            np.array(above.findtext(k).split(), dtype=float) for k in ("translation", "orientation")
        )
        reference = quat.from_euler(turn, "XYZ")
        k = figure.skeleton.index(name)
        off = quat.angle_between(quat.mul(reference, rotations), pose.rotations[:, k])
        assert off.max() < 1e-6, name
        there = place + quat.rotate(reference, shifts)
        np.testing.assert_allclose(there, scale * pose.positions[:, k], atol=1e-6)
    coupled = root.findall(".//CoordinateCouplerConstraint")
    assert {each.findtext("independent_coordinate_names") for each in coupled} == {
        "left_knee.flexion",
        "right_knee.flexion",
    }
    assert len(coupled) == 4  # kneecaps and fibulae


def exported_scale(model):
    skeleton = in_metres(model.skeleton)
    return np.linalg.norm(skeleton.offsets[5]) / np.linalg.norm(model.skeleton.offsets[5])


def test_humans_are_exported_in_metres_as_tall_as_they_are(tmp_path):
    save_limits(human_limits(1.5), tmp_path / "a.limits.json")
    save_figure(human(1.5), tmp_path / "a.xml")
    for skeleton in (
        human_limits().skeleton,
        human_limits(source="human").skeleton,
        load_limits(tmp_path / "a.limits.json").skeleton,
        load_figure(tmp_path / "a.xml").skeleton,
    ):
        assert (skeleton.up, skeleton.unit) == ("y", 1.0)
        assert in_metres(skeleton) is skeleton


def test_curves_are_refused_where_they_make_no_sense(model):
    with pytest.raises(ValueError, match="curves of a figure are for opensim, got the target mjcf"):
        export_limits(model, "mjcf", figure=human())
    with pytest.raises(ValueError, match="of no joint that one control of the figure"):
        export_limits(model, "opensim", figure=human())
    ours = human_limits()
    skeleton = ours.skeleton
    offsets = skeleton.offsets.copy()
    offsets[skeleton.index("LeftLowerLeg")] = [0.4, 0.0, 0.0]
    turned = LimitModel(ours.limits, replace(skeleton, offsets=offsets))
    with pytest.raises(ValueError, match="LeftLowerLeg must lie in the same direction from LeftUp"):
        export_limits(turned, "opensim", figure=human())
