"""Limits that depend on another joint, at the page: their numbers in a pose, their map, edits."""

from __future__ import annotations

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, unit_quats
from ..limit import DependentLimit
from ..limit.hinge import hinge_scale
from ..mesh import DRAFT, Quality, map_sheet
from ..model import LimitModel
from ..shapes import as_directional
from ..skeleton import lineage
from .display import bone_of, pictures_of
from .hinges import NARROWEST
from .poses import driver_rotations, limit_in_pose, pose_from
from .protocol import Picture
from .protocol.poses import Dependence, DependentField, DependentNumbers, RangeMap
from .protocol.requests import (
    AllowHere,
    DependentRequest,
    Detach,
    HereRequest,
    JointRequest,
    MapRequest,
    SetNumberHere,
)
from .session import Scene, Session

LABELS = {"low": "From", "high": "To", "margin": "Margin"}
"""What people call the numbers that a driver changes."""
HERE = Quality(float(np.radians(0.5)), 8_000)
"""Of pictures in a pose: it is soon another one."""


def dependent_limit(model: LimitModel, name: str) -> DependentLimit:
    """Return the limit of a joint that depends on another; ValueError where it does not."""
    model.skeleton.index(name)
    if name not in model.dependents:
        raise ValueError(f"{name} depends on no other joint")
    return model.dependents[name]


# Numbers as people see them: the ends of a hinge's arc, or those of the limit's chart.


def _fields(each: DependentLimit) -> list[str]:
    """Return the names of the numbers as they are shown, those of a hinge from low to high."""
    scale = hinge_scale(each)
    return list(each.at_nodes[::-1] if scale is not None and scale.falls else each.at_nodes)


def shown_deg(each: DependentLimit, values: Floats) -> Floats:
    """Return the numbers (..., k) of the nodes' order as they are shown, in degrees."""
    scale = hinge_scale(each)
    return np.degrees(values if scale is None else scale.angles_at(values))


def _value_of(each: DependentLimit, deg: float) -> float:
    """Return the number that is shown as so many degrees."""
    scale, angle = hinge_scale(each), float(np.radians(deg))
    if scale is None:
        return angle
    if not scale.angles[0] <= angle <= scale.angles[-1]:
        ends_deg = np.degrees(scale.angles[[0, -1]])
        raise ValueError(
            f"an end must be from {ends_deg[0]:.0f} to {ends_deg[1]:.0f} degrees, got {deg:g}"
        )
    return scale.place_of(angle)


def describe_dependence(session: Session, request: JointRequest) -> Dependence:
    """Return what a joint depends on, and its numbers in each frame of the clip, in degrees."""
    scene = session.scene
    each = dependent_limit(scene.model, request.joint)
    driver = driver_rotations(scene.model, each, scene.clip.pose.rotations)
    return {
        "driver": each.driver,
        "fields": [
            DependentField(field=name, label=LABELS[place])
            for name, place in zip(_fields(each), each.at_nodes, strict=True)
        ],
        "hinge": hinge_scale(each) is not None,
        "valuesDeg": shown_deg(each, each.values_at(driver)),
    }


def numbers_in_pose(session: Session, request: DependentRequest) -> DependentNumbers:
    """Return the numbers of a dependent limit in a pose, in degrees."""
    model, pose = session.scene.model, pose_from(session.scene, request.pose)
    each = dependent_limit(model, request.joint)
    values = each.values_at(driver_rotations(model, each, pose.rotations))
    return {"valuesDeg": shown_deg(each, values).tolist()}


def region_in_pose(session: Session, request: HereRequest) -> Picture:
    """Return the pictures of what is legal for a joint where its driver is in a pose.

    They are seen along the same bone as those of its own limit, whatever the driver does.
    """
    scene, name = session.scene, request.joint
    own = dependent_limit(scene.model, name).limit
    bone = own.chart.bone if as_directional(own.region) is not None else None
    if bone is None:
        bone = bone_of(scene, scene.clip.skeleton.index(name))
    here = limit_in_pose(scene.model, name, pose_from(scene, request.pose))
    return pictures_of(here, bone, DRAFT if request.draft else HERE)


# The map: the same numbers at every direction of the driver's bone.


def range_map(session: Session, request: MapRequest) -> RangeMap:
    """Return the numbers of a dependent limit all over where its driver's bone may point.

    The driver comes there by the shortest swing: from the pose, if there is one, else from the
    reference of its limit.
    """
    scene = session.scene
    each = dependent_limit(scene.model, request.joint)
    limit = scene.model.limits.get(each.driver)
    reference = quat.IDENTITY if limit is None else limit.chart.reference
    start = reference
    if request.pose is not None:
        start = driver_rotations(scene.model, each, pose_from(scene, request.pose).rotations)
    mesh, rim, bone = map_sheet(limit, each.axis)
    swings = quat.between(quat.rotate(start, bone), quat.rotate(reference, mesh.vertices))
    values = each.values_at(quat.mul(swings, start))
    return {
        "driver": each.driver,
        "twists": each.by_rotation,
        "reference": reference.tolist(),
        "axis": bone.tolist(),
        "directions": mesh.vertices,
        "faces": mesh.triangles,
        "rim": rim,
        "valuesDeg": shown_deg(each, values),
    }


# Edits, where the driver is in a pose.


def set_number_here(scene: Scene, model: LimitModel, name: str, edit: SetNumberHere) -> LimitModel:
    """Return the model with another number of a joint's limit, at its driver's rotation in a pose.

    An end beyond the joint's own limit widens that, too; elsewhere nothing changes.
    """
    each, field = dependent_limit(model, name), edit.field
    if field not in each.at_nodes:
        raise ValueError(f"field must be one of {', '.join(each.at_nodes)}, got {field!r:.20}")
    value = _value_of(each, edit.deg)
    driver = driver_rotations(model, each, pose_from(scene, edit.pose).rotations)
    numbers = dict(zip(each.at_nodes, each.values_at(driver).tolist(), strict=True))
    return _with_numbers(model, name, driver, numbers | {field: value}, edit.radius_deg)


def allow_here(scene: Scene, model: LimitModel, name: str, edit: AllowHere) -> LimitModel:
    """Return the model with the least change of a joint's numbers that makes a pose legal."""
    pose = pose_from(scene, edit.pose)
    each = dependent_limit(model, name)
    driver = driver_rotations(model, each, pose.rotations)
    way = lineage(model.skeleton, name, each.limit.relative_to)
    rotation = unit_quats("rotation", way.relative_rotation(pose.rotations))
    if each.contains(rotation, driver):
        raise ValueError("this pose is inside already")
    if not each.limit.contains(rotation):
        each = each.including(rotation)
    numbers, wide = each.values_for(rotation, driver), _with_dependent(model, name, each)
    return _with_numbers(wide, name, driver, numbers, edit.radius_deg)


def _with_numbers(
    model: LimitModel, name: str, driver: Quats, numbers: dict[str, float], radius_deg: float
) -> LimitModel:
    """Return the model with other numbers of a joint at one rotation (4,) of its driver."""
    each = model.dependents[name]
    if {"low", "high"} <= numbers.keys() and numbers["high"] - numbers["low"] < NARROWEST:
        ends_deg = sorted(shown_deg(each, np.array([numbers[n] for n in each.at_nodes])))
        raise ValueError(
            f"a range must not end before it starts: {ends_deg[0]:.6g} to {ends_deg[1]:.6g} degrees"
        )
    present = dict(zip(each.at_nodes, each.values_at(driver).tolist(), strict=True))
    radius = float(np.radians(radius_deg))
    for field, value in numbers.items():
        if value != present[field]:
            each = each.with_value_at(driver, field, value, radius=radius)
    return _with_dependent(model, name, each)


def _with_dependent(model: LimitModel, name: str, each: DependentLimit) -> LimitModel:
    limits = {**model.limits, name: each.limit}
    return model.with_limits(limits, {**model.dependents, name: each})


def detach(scene: Scene, model: LimitModel, name: str, edit: Detach) -> LimitModel:
    """Return the model with a joint whose limit depends on no other joint."""
    dependent_limit(model, name)
    kept = {other: each for other, each in model.dependents.items() if other != name}
    return model.with_limits(model.limits, kept)
