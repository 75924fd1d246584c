"""USD: rigid bodies as joints of a skeleton, with limits of UsdPhysics joints; by usd-core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Quats
from .files import read_file
from .ranges import RangesBuilder, RangesFile, group_by

_ROTATIONS = ("rotX", "rotY", "rotZ")


def read_usd_ranges(path: Path) -> RangesFile:
    """Return the bodies of UsdPhysics joints as joints, and the limits of their rotations.

    Limits of rotX, rotY and rotZ are hinges in this order; a RevoluteJoint is one hinge.
    """
    try:
        from pxr import Tf, Usd, UsdGeom, UsdPhysics
    except ImportError:
        raise ValueError(
            f"{path}: usd-core reads USD, and is not installed: pip install 'synovia[usd]'"
        ) from None
    read_file(path)
    try:
        stage = Usd.Stage.Open(str(path))
    except Tf.ErrorException as error:
        raise ValueError(f"{path}: usd-core cannot read it: {error}") from None
    joints = [UsdPhysics.Joint(prim) for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)]
    joints = [joint for joint in joints if _body(joint.GetBody1Rel())]
    if not joints:
        raise ValueError(f"{path}: expected joints of UsdPhysics, got none")
    by_parent = group_by(joints, lambda joint: _body(joint.GetBody0Rel()))
    children = {_body(joint.GetBody1Rel()) for joint in joints}
    builder = RangesBuilder()
    visited: set[str] = set()
    for top in [parent for parent in by_parent if parent not in children]:
        root = builder.add_joint(_name(top), -1, np.zeros(3), quat.IDENTITY)
        stack = [(root, joint) for joint in reversed(by_parent[top])]
        while stack:
            parent, joint = stack.pop()
            body = _body(joint.GetBody1Rel())
            if body in visited:
                raise ValueError(f"{path}: expected a tree of bodies, got a loop at {body}")
            visited.add(body)
            before, after = (
                _rotation(get()) for get in (joint.GetLocalRot0Attr, joint.GetLocalRot1Attr)
            )
            in_parent, in_child = (
                np.array(get().Get() or (0.0, 0.0, 0.0), dtype=np.float64)
                for get in (joint.GetLocalPos0Attr, joint.GetLocalPos1Attr)
            )
            rotation = quat.mul(before, quat.inverse(after))
            position = in_parent - quat.rotate(rotation, in_child)
            index = builder.add_joint(_name(body), parent, position, rotation)
            _add_hinges(builder, joint, quat.mul(builder.rest[parent], before), UsdPhysics)
            stack += [(index, below) for below in reversed(by_parent.get(body, []))]
    is_z_up = str(UsdGeom.GetStageUpAxis(stage)).lower() == "z"
    unit = float(UsdGeom.GetStageMetersPerUnit(stage))
    skeleton = builder.skeleton("z" if is_z_up else "y", unit)
    return RangesFile(path, skeleton, tuple(builder.hinges), degrees=True)


def _body(relationship: Any) -> str:
    """Return the path of the body that a relationship names, "" for the world."""
    targets = relationship.GetTargets()
    return str(targets[0]) if targets else ""


def _name(body: str) -> str:
    return body.rsplit("/", 1)[-1] or "world"


def _rotation(attribute: Any) -> Quats:
    value = attribute.Get()
    if value is None:
        return quat.IDENTITY
    return quat.normalize(np.array([value.GetReal(), *value.GetImaginary()], dtype=np.float64))


def _add_hinges(builder: RangesBuilder, joint: Any, frame: Quats, physics: Any) -> None:
    """Add the hinges of a joint, whose frame has the rotation `frame` (4,) at rest."""
    prim = joint.GetPrim()
    if prim.IsA(physics.RevoluteJoint):
        hinge = physics.RevoluteJoint(prim)
        axis = np.eye(3)["XYZ".index(str(hinge.GetAxisAttr().Get() or "X"))]
        ends = [hinge.GetLowerLimitAttr().Get(), hinge.GetUpperLimitAttr().Get()]
        low, high = (np.radians(float(end)) if end is not None else np.nan for end in ends)
        if not np.isfinite([low, high]).all():
            low, high = -np.inf, np.inf
        builder.add_hinge(prim.GetName(), axis, frame, float(low), float(high))
    elif prim.GetTypeName() == "PhysicsJoint":
        for k, rotation in enumerate(_ROTATIONS):
            low, high = -np.inf, np.inf
            limit = physics.LimitAPI.Get(prim, rotation)
            if limit and prim.HasAPI(physics.LimitAPI, rotation):
                low, high = (
                    float(np.radians(get().Get())) for get in (limit.GetLowAttr, limit.GetHighAttr)
                )
                if low > high:
                    continue  # a locked axis
            builder.add_hinge(f"{prim.GetName()}.{rotation}", np.eye(3)[k], frame, low, high)
