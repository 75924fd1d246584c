"""USD: UsdPhysics joints with limits of rotX, rotY and rotZ. Needs usd-core."""

from __future__ import annotations

from functools import partial

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors
from .body import capsules, rest_positions, upright
from .hinged import HingedBody, HingedJoint, export_body, loss_lines
from .opensim import element_name

MAX_SKEW = 1e-6  # tolerance of the orthonormality of axes: rotX, rotY, rotZ are orthogonal


def usd_text(body: HingedBody, *, name: str = "synovia", mass: float = 75.0) -> str:
    """Return a stage of the whole body as .usda: metres, z up, limits in degrees."""
    try:
        from pxr import Gf, Usd, UsdGeom, UsdPhysics
    except ImportError:
        raise ValueError(
            "USD is written by usd-core, which is not installed: pip install 'synovia[usd]'"
        ) from None
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    about = ["Joint limits by Synovia. Shares are of all rotations."]
    stage.GetRootLayer().comment = "\n".join([*about, *loss_lines(body.losses, body.notes)])
    root = UsdGeom.Xform.Define(stage, f"/{_identifier(name)}")
    stage.SetDefaultPrim(root.GetPrim())
    skeleton, stand = body.skeleton, upright(body.skeleton)
    positions = quat.rotate(stand, rest_positions(skeleton))
    segments = capsules(skeleton, mass)
    paths = [f"{root.GetPath()}/{_identifier(title)}" for title in skeleton.names]

    def rotation(quaternion: Quats) -> object:
        return Gf.Quatf(float(quaternion[0]), Gf.Vec3f(*map(float, quaternion[1:])))

    def vector(values: Vectors) -> object:
        return Gf.Vec3f(*map(float, values))

    for joint, parent in enumerate(skeleton.parents.tolist()):
        link = UsdGeom.Xform.Define(stage, paths[joint])
        link.AddTranslateOp().Set(Gf.Vec3d(*map(float, positions[joint])))
        link.AddOrientOp().Set(rotation(stand))
        UsdPhysics.RigidBodyAPI.Apply(link.GetPrim())
        UsdPhysics.MassAPI.Apply(link.GetPrim()).CreateMassAttr(
            sum(capsule.mass for capsule in segments[joint])
        )
        for k, capsule in enumerate(segments[joint]):
            shape = UsdGeom.Capsule.Define(stage, f"{paths[joint]}/capsule{k + 1}")
            shape.CreateRadiusAttr(capsule.radius)
            shape.CreateHeightAttr(capsule.length)
            shape.CreateAxisAttr(UsdGeom.Tokens.z)
            shape.AddTranslateOp().Set(Gf.Vec3d(*map(float, capsule.center)))
            shape.AddOrientOp().Set(rotation(quat.between(np.array([0.0, 0.0, 1.0]), capsule.axis)))
            UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
        if parent < 0:
            continue
        title = f"{paths[joint]}_joint"
        hinged = body.joints.get(skeleton.names[joint])
        kind = UsdPhysics.FixedJoint if hinged is None else UsdPhysics.Joint
        physics_joint = kind.Define(stage, title)
        physics_joint.CreateBody0Rel().SetTargets([paths[parent]])
        physics_joint.CreateBody1Rel().SetTargets([paths[joint]])
        physics_joint.CreateLocalPos0Attr(vector(skeleton.offsets[joint]))
        physics_joint.CreateLocalPos1Attr(vector(np.zeros(3)))
        if hinged is None:
            continue
        frame = joint_frame(hinged)
        physics_joint.CreateLocalRot0Attr(rotation(quat.mul(hinged.reference, frame)))
        physics_joint.CreateLocalRot1Attr(rotation(frame))
        for axis in ("transX", "transY", "transZ"):
            locked = UsdPhysics.LimitAPI.Apply(physics_joint.GetPrim(), axis)
            locked.CreateLowAttr(1.0)  # low above high locks the axis
            locked.CreateHighAttr(-1.0)
        for axis, low, high in zip(("rotX", "rotY", "rotZ"), hinged.low, hinged.high, strict=True):
            limit = UsdPhysics.LimitAPI.Apply(physics_joint.GetPrim(), axis)
            limit.CreateLowAttr(float(np.degrees(low)))
            limit.CreateHighAttr(float(np.degrees(high)))
    return str(stage.GetRootLayer().ExportToString())


def joint_frame(joint: HingedJoint) -> Quats:
    """Return the rotation (4,) from x, y and z to a joint's three axes.

    Raises ValueError unless they are orthogonal and right-handed, as USD requires.
    """
    if np.abs(joint.axes @ joint.axes.T - np.eye(3)).max() > MAX_SKEW:
        raise ValueError(f"{joint.name}: USD has axes at right angles, got {joint.axes.tolist()}")
    if np.linalg.det(joint.axes) < 0.0:
        raise ValueError(f"{joint.name}: USD has right-handed axes, got {joint.axes.tolist()}")
    return quat.from_matrix(joint.axes.T)


def _identifier(name: str) -> str:
    plain = "".join(letter if letter.isalnum() else "_" for letter in element_name(name))
    return f"_{plain}" if plain[:1].isdigit() else plain


write_usd = partial(export_body, usd_text, False)
