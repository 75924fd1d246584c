"""USD: UsdPhysics joints with limits of rotX, rotY and rotZ; ranges alone. Needs usd-core."""

from __future__ import annotations

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors
from .hinged import HingedBody, HingedJoint, loss_lines, rest_places, upright
from .mass import capsules
from .opensim import element_name

SQUARE = 1e-6
"""How far axes may be off right angles: rotX, rotY and rotZ are at right angles."""


def usd_text(body: HingedBody, *, name: str = "synovia", mass: float = 75.0) -> str:
    """Return a stage of the whole body as .usda; lengths are metres, z is up, limits degrees."""
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
    places = quat.rotate(stand, rest_places(skeleton))
    segments = capsules(skeleton, mass)
    paths = [f"{root.GetPath()}/{_identifier(title)}" for title in skeleton.names]

    def rotation(turn: Quats) -> object:
        return Gf.Quatf(float(turn[0]), Gf.Vec3f(*map(float, turn[1:])))

    def place(vector: Vectors) -> object:
        return Gf.Vec3f(*map(float, vector))

    for joint, parent in enumerate(skeleton.parents.tolist()):
        link = UsdGeom.Xform.Define(stage, paths[joint])
        link.AddTranslateOp().Set(Gf.Vec3d(*map(float, places[joint])))
        link.AddOrientOp().Set(rotation(stand))
        UsdPhysics.RigidBodyAPI.Apply(link.GetPrim())
        own = [each for each in segments if each.joint == joint]
        UsdPhysics.MassAPI.Apply(link.GetPrim()).CreateMassAttr(sum(each.mass for each in own))
        for k, each in enumerate(own):
            way = each.end - each.start
            length = float(np.linalg.norm(way))
            shape = UsdGeom.Capsule.Define(stage, f"{paths[joint]}/capsule{k + 1}")
            shape.CreateRadiusAttr(each.radius)
            shape.CreateHeightAttr(length)
            shape.CreateAxisAttr(UsdGeom.Tokens.z)
            along = way / length if length else np.array([0.0, 0.0, 1.0])
            shape.AddTranslateOp().Set(Gf.Vec3d(*map(float, each.start + 0.5 * way)))
            shape.AddOrientOp().Set(rotation(quat.between(np.array([0.0, 0.0, 1.0]), along)))
            UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
        if parent < 0:
            continue
        title = f"{paths[joint]}_joint"
        hinged = body.joints.get(skeleton.names[joint])
        kind = UsdPhysics.FixedJoint if hinged is None else UsdPhysics.Joint
        made = kind.Define(stage, title)
        made.CreateBody0Rel().SetTargets([paths[parent]])
        made.CreateBody1Rel().SetTargets([paths[joint]])
        made.CreateLocalPos0Attr(place(skeleton.offsets[joint]))
        made.CreateLocalPos1Attr(place(np.zeros(3)))
        if hinged is None:
            continue
        frame = joint_frame(hinged)
        made.CreateLocalRot0Attr(rotation(quat.mul(hinged.reference, frame)))
        made.CreateLocalRot1Attr(rotation(frame))
        for axis in ("transX", "transY", "transZ"):
            still = UsdPhysics.LimitAPI.Apply(made.GetPrim(), axis)
            still.CreateLowAttr(1.0)  # a low end above the high one holds still
            still.CreateHighAttr(-1.0)
        for axis, low, high in zip(("rotX", "rotY", "rotZ"), hinged.low, hinged.high, strict=True):
            limit = UsdPhysics.LimitAPI.Apply(made.GetPrim(), axis)
            limit.CreateLowAttr(float(np.degrees(low)))
            limit.CreateHighAttr(float(np.degrees(high)))
    return str(stage.GetRootLayer().ExportToString())


def joint_frame(joint: HingedJoint) -> Quats:
    """Return the rotation (4,) that turns x, y and z to a joint's three axes.

    ValueError where they are not at right angles, as USD's are.
    """
    if np.abs(joint.axes @ joint.axes.T - np.eye(3)).max() > SQUARE:
        raise ValueError(f"{joint.name}: USD has axes at right angles, got {joint.axes.tolist()}")
    if np.linalg.det(joint.axes) < 0.0:
        raise ValueError(f"{joint.name}: USD has right-handed axes, got {joint.axes.tolist()}")
    return quat.from_matrix(joint.axes.T)


def _identifier(name: str) -> str:
    plain = "".join(letter if letter.isalnum() else "_" for letter in element_name(name))
    return f"_{plain}" if plain[:1].isdigit() else plain
