"""Exports loaded in their engines: ranges and forward kinematics agree."""

from __future__ import annotations

import numpy as np
import pytest

from synovia import (
    Box,
    Limit,
    LimitModel,
    RotationVector,
    Skeleton,
    forward,
    human,
    human_limits,
    quat,
)
from synovia.export import export_limits, hinged_body
from synovia.export.body import in_metres
from synovia.export.mjcf import mjcf_text
from synovia.export.opensim import opensim_text
from synovia.export.urdf import urdf_text
from synovia.export.usd import usd_text
from synovia.io import load_limits
from synovia.skeleton import Pose

SKELETON = Skeleton(
    ("Hips", "Chest", "Arm", "Forearm"),
    [-1, 0, 1, 2],
    [[0.0, 0.0, 0.0], [0.0, 0.4, 0.0], [0.2, 0.2, 0.0], [0.3, 0.0, 0.0]],
    end_parents=[3],
    end_offsets=[[0.25, 0.0, 0.0]],
    up="y",
    unit=1.0,
)
ARM = Limit(
    RotationVector(quat.exp(np.array([0.3, 0.2, -0.4]))),
    Box([-0.9, -0.5, -0.4], [1.0, 0.6, 0.7], quat.to_matrix(quat.exp(np.ones(3) * 0.4))),
)
ELBOW = Limit(RotationVector(), Box([-0.1, -0.1, 0.0], [0.1, 0.1, 2.3], np.eye(3)))


@pytest.fixture(scope="module")
def body():
    return hinged_body(LimitModel({"Arm": ARM, "Forearm": ELBOW}, SKELETON), slanted=False)


@pytest.fixture
def posed(body):
    """Hinge angles by name, and the positions of all joints; y is up."""
    rng, angles = np.random.default_rng(3), {}
    rotations = np.tile(quat.IDENTITY, (len(SKELETON), 1))
    for joint in body.joints.values():
        point = joint.limit.shape.scatter(1, rng)[0]
        rotations[SKELETON.index(joint.name)] = joint.limit.chart.rotations(point)
        angles |= dict(zip(joint.hinge_names, point, strict=True))
    return angles, forward(SKELETON, Pose(rotations, SKELETON.offsets))[0]


def ranges(body):
    return {
        name: (joint.low[k], joint.high[k])
        for joint in body.joints.values()
        for k, name in enumerate(joint.hinge_names)
    }


def z_up(positions):
    return quat.rotate(quat.exp(np.array([0.5 * np.pi, 0.0, 0.0])), positions)


def check_limits_agree(path, body):
    back = load_limits(path)
    rng = np.random.default_rng(0)
    for name, joint in body.joints.items():
        limit = back.limits[name]
        np.testing.assert_allclose(limit.shape.low, joint.low, atol=1e-6)
        np.testing.assert_allclose(limit.shape.high, joint.high, atol=1e-6)
        points = rng.uniform(joint.low - 0.3, joint.high + 0.3, size=(10_000, 3))
        clear = np.abs(joint.limit.shape.distance(points)) > 1e-5
        same = limit.shape.contains(points) == joint.limit.shape.contains(points)
        assert same[clear].all()


def test_yourdfpy_agrees_on_urdf(body, posed, tmp_path):
    yourdfpy = pytest.importorskip("yourdfpy", reason="yourdfpy is not installed")
    angles, positions = posed
    (tmp_path / "a.urdf").write_text(urdf_text(body))
    robot = yourdfpy.URDF.load(str(tmp_path / "a.urdf"), load_meshes=False, build_scene_graph=True)
    for name, (low, high) in ranges(body).items():
        limit = robot.joint_map[name].limit
        assert (limit.lower, limit.upper) == (low, high)
    robot.update_cfg(angles)
    found = robot.get_transform("Forearm", "world")[:3, 3]
    np.testing.assert_allclose(found, z_up(positions)[3], atol=1e-9)
    check_limits_agree(tmp_path / "a.urdf", body)


def test_pinocchio_agrees_on_urdf(body, posed, tmp_path):
    pinocchio = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    angles, positions = posed
    (tmp_path / "a.urdf").write_text(urdf_text(body))
    model = pinocchio.buildModelFromUrdf(str(tmp_path / "a.urdf"))
    data, pose = model.createData(), np.zeros(model.nq)
    for name, (low, high) in ranges(body).items():
        at = model.joints[model.getJointId(name)].idx_q
        assert (model.lowerPositionLimit[at], model.upperPositionLimit[at]) == (low, high)
        pose[at] = angles[name]
    pinocchio.framesForwardKinematics(model, data, pose)
    found = data.oMf[model.getFrameId("Forearm")].translation
    np.testing.assert_allclose(found, z_up(positions)[3], atol=1e-9)


def test_newton_agrees_on_mjcf(body, posed, tmp_path):
    newton = pytest.importorskip("newton", reason="Newton is not installed")
    angles, positions = posed
    (tmp_path / "a.xml").write_text(mjcf_text(body))
    builder = newton.ModelBuilder()
    builder.add_mjcf(str(tmp_path / "a.xml"))
    model = builder.finalize(device="cpu")
    names = [hinge for joint in body.joints.values() for hinge in joint.hinge_names]
    # The root has six degrees of freedom, and seven coordinates; all is in single precision.
    ends = np.stack([model.joint_limit_lower.numpy(), model.joint_limit_upper.numpy()], axis=1)[6:]
    np.testing.assert_allclose(ends, [ranges(body)[name] for name in names], atol=1e-6)
    pose = model.joint_q.numpy()
    pose[:7] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0
    pose[7:] = [angles[name] for name in names]
    model.joint_q.assign(pose)
    state = model.state()
    newton.eval_fk(model, model.joint_q, model.joint_qd, state)
    label = next(k for k, name in enumerate(model.body_label) if name.endswith("/Forearm"))
    np.testing.assert_allclose(state.body_q.numpy()[label, :3], positions[3], atol=1e-5)


def test_opensim_agrees_on_osim(body, posed, tmp_path):
    opensim = pytest.importorskip("opensim", reason="OpenSim is not installed")
    angles, positions = posed
    (tmp_path / "a.osim").write_text(opensim_text(body))
    check_limits_agree(tmp_path / "a.osim", body)
    model = opensim.Model(str(tmp_path / "a.osim"))
    state = model.initSystem()
    for name, (low, high) in ranges(body).items():
        coordinate = model.getCoordinateSet().get(name)
        assert coordinate.getRangeMin() == pytest.approx(low, abs=1e-12)
        assert coordinate.getRangeMax() == pytest.approx(high, abs=1e-12)
        assert coordinate.getClamped(state)
        coordinate.setValue(state, high + 1.0)
        assert coordinate.getValue(state) == pytest.approx(high, abs=1e-12)
        coordinate.setValue(state, float(angles[name]))
    model.realizePosition(state)
    found = model.getBodySet().get("Forearm").getPositionInGround(state)
    np.testing.assert_allclose([found.get(k) for k in range(3)], positions[3], atol=1e-9)


def test_opensim_moves_the_knee_of_a_figure(tmp_path):
    """Tibia, patella and fibula follow one coordinate as in the figure."""
    opensim = pytest.importorskip("opensim", reason="OpenSim is not installed")
    figure, ours = human(), human_limits()
    limited = LimitModel({"LeftLowerLeg": ours.limits["LeftLowerLeg"]}, ours.skeleton)
    (tmp_path / "a.osim").write_bytes(export_limits(limited, "opensim", figure=figure).content)
    model = opensim.Model(str(tmp_path / "a.osim"))
    model.set_assembly_accuracy(1e-12)  # kneecap and fibula are constrained to the tibia's flexion
    state = model.initSystem()
    coordinate = model.getCoordinateSet().get("left_knee.flexion")
    span = figure.joint_sets["left_knee"].controls["flexion"]
    assert np.degrees(coordinate.getRangeMin()) == pytest.approx(span.low)
    assert np.degrees(coordinate.getRangeMax()) == pytest.approx(span.high)
    skeleton = figure.skeleton
    thigh = skeleton.index("LeftUpperLeg")
    scale = np.linalg.norm(in_metres(skeleton).offsets[thigh + 1])
    scale /= np.linalg.norm(skeleton.offsets[thigh + 1])
    above = model.getBodySet().get("LeftUpperLeg")
    for flexion in np.linspace(span.low, span.high, 40):
        coordinate.setValue(state, float(np.radians(flexion)))
        model.assemble(state)
        value = np.degrees(coordinate.getValue(state))  # after assembly
        assert value == pytest.approx(flexion, abs=1e-3)
        where, how = forward(skeleton, figure.pose({"left_knee.flexion": value}))
        # Looser tolerance for bodies that OpenSim's assembly solves for.
        for name, atol in (("LeftLowerLeg", 1e-6), ("LeftPatella", 1e-5), ("LeftFibula", 1e-5)):
            found = model.getBodySet().get(name).findTransformBetween(state, above)
            k, back = skeleton.index(name), quat.inverse(how[thigh])
            there = quat.rotate(back, where[k] - where[thigh])
            np.testing.assert_allclose(vector(found.p()), scale * there, atol=atol)
            turned = quat.to_matrix(quat.mul(back, how[k]))
            matrix = [[found.R().get(row, column) for column in range(3)] for row in range(3)]
            np.testing.assert_allclose(matrix, turned, atol=atol)


def vector(found):
    return [found.get(k) for k in range(3)]


def test_usd_agrees(body, tmp_path):
    pytest.importorskip("pxr", reason="usd-core is not installed")
    from pxr import Usd, UsdPhysics

    (tmp_path / "a.usda").write_text(usd_text(body))
    stage = Usd.Stage.Open(str(tmp_path / "a.usda"))
    arm = body.joints["Arm"]
    prim = stage.GetPrimAtPath("/synovia/Arm_joint")
    for k, axis in enumerate(("rotX", "rotY", "rotZ")):
        limit = UsdPhysics.LimitAPI.Get(prim, axis)
        assert limit.GetLowAttr().Get() == pytest.approx(np.degrees(arm.low[k]), rel=1e-6)
        assert limit.GetHighAttr().Get() == pytest.approx(np.degrees(arm.high[k]), rel=1e-6)
