"""USD: rigid bodies as joints of a skeleton, with limits of UsdPhysics joints; by usd-core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors
from .files import read_file
from .ranges import HingeRange, RangesFile, skeleton_at_rest

_TURNS = ("rotX", "rotY", "rotZ")


def read_usd_ranges(path: Path) -> RangesFile:
    """Return the bodies of UsdPhysics joints as joints, and the limits of their turns.

    Limits of rotX, rotY and rotZ are hinges in this order; a RevoluteJoint is one.
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
    joints = [each for each in joints if each.GetBody1Rel().GetTargets()]
    if not joints:
        raise ValueError(f"{path}: expected joints of UsdPhysics, got none")
    up = str(UsdGeom.GetStageUpAxis(stage)).lower()
    unit = float(UsdGeom.GetStageMetersPerUnit(stage))
    by_parent: dict[str, list[Any]] = {}
    for each in joints:
        above = each.GetBody0Rel().GetTargets()
        by_parent.setdefault(str(above[0]) if above else "", []).append(each)
    children = {str(each.GetBody1Rel().GetTargets()[0]) for each in joints}
    tops = [parent for parent in by_parent if parent not in children]
    places: list[str] = []
    parents: list[int] = []
    offsets: list[Vectors] = []
    rest: list[Quats] = []
    hinges: list[HingeRange] = []
    for top in tops:
        places.append(top)
        parents.append(-1)
        offsets.append(np.zeros(3))
        rest.append(quat.IDENTITY)
        stack = [(len(places) - 1, each) for each in reversed(by_parent[top])]
        while stack:
            parent, joint = stack.pop()
            around = rest[parent]
            before, after = (
                _turn(get()) for get in (joint.GetLocalRot0Attr, joint.GetLocalRot1Attr)
            )
            ahead, back = (
                np.array(get().Get() or (0.0, 0.0, 0.0), dtype=np.float64)
                for get in (joint.GetLocalPos0Attr, joint.GetLocalPos1Attr)
            )
            place = str(joint.GetBody1Rel().GetTargets()[0])
            if place in places:
                raise ValueError(f"{path}: expected a tree of bodies, got a loop at {place}")
            turn = quat.mul(before, quat.inverse(after))
            places.append(place)
            parents.append(parent)
            offsets.append(quat.rotate(around, ahead - quat.rotate(turn, back)))
            rest.append(quat.mul(around, turn))
            hinges += _hinges(joint, place, quat.mul(around, before), UsdPhysics)
            number = len(places) - 1
            stack += [(number, each) for each in reversed(by_parent.get(place, []))]
    names = tuple(place.rsplit("/", 1)[-1] or "world" for place in places)
    skeleton = skeleton_at_rest(names, parents, offsets, rest, "z" if up == "z" else "y", unit)
    return RangesFile(path, skeleton, tuple(hinges), degrees=True)


def _turn(attribute: Any) -> Quats:
    value = attribute.Get()
    if value is None:
        return quat.IDENTITY
    return quat.normalize(np.array([value.GetReal(), *value.GetImaginary()], dtype=np.float64))


def _hinges(joint: Any, place: str, frame: Quats, physics: Any) -> list[HingeRange]:
    name, prim = place.rsplit("/", 1)[-1], joint.GetPrim()
    found = []
    if prim.IsA(physics.RevoluteJoint):
        hinge = physics.RevoluteJoint(prim)
        axis = np.eye(3)["XYZ".index(str(hinge.GetAxisAttr().Get() or "X"))]
        ends = [hinge.GetLowerLimitAttr().Get(), hinge.GetUpperLimitAttr().Get()]
        low, high = (np.radians(float(end)) if end is not None else np.nan for end in ends)
        if not np.isfinite([low, high]).all():
            low, high = -np.inf, np.inf
        return [HingeRange(prim.GetName(), name, quat.rotate(frame, axis), float(low), float(high))]
    if prim.IsA(physics.FixedJoint) or prim.GetTypeName() not in ("PhysicsJoint",):
        return []
    for k, turn in enumerate(_TURNS):
        low, high = -np.inf, np.inf
        limit = physics.LimitAPI.Get(prim, turn)
        if limit and prim.HasAPI(physics.LimitAPI, turn):
            low, high = (
                float(np.radians(get().Get())) for get in (limit.GetLowAttr, limit.GetHighAttr)
            )
            if low > high:
                continue  # held still
        axis = quat.rotate(frame, np.eye(3)[k])
        found.append(HingeRange(f"{prim.GetName()}.{turn}", name, axis, low, high))
    return found
