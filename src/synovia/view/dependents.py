"""Limits that depend on another joint, at the page: their numbers in a pose, their map, edits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Quats, Within, unit_quats
from ..limit import DependentLimit
from ..limit.hinge import hinge_scale
from ..mesh import DRAFT, Quality, map_sheet
from ..model import LimitModel
from ..shapes import as_directional
from ..skeleton import lineage
from .display import Picture, bone_of, pictures_of
from .hinges import MIN_RANGE
from .limit_edits import ModelEdit
from .messages import JointRequest
from .poses import PoseRequest, driver_rotations, limit_in_pose, pose_from
from .session import Scene, Session

LABELS = {"low": "From", "high": "To", "margin": "Margin"}
"""Labels of the numbers that a driver changes."""
HERE = Quality(float(np.radians(0.5)), 8_000)
"""Resolution of pictures in a pose, which soon changes."""


@dataclass(frozen=True, kw_only=True)
class DependentField:
    """A number that the driver changes: the end of a range, or a margin."""

    field: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Dependence:
    """The driver of a joint, and the numbers of its limit in each frame of the clip."""

    driver: str
    fields: list[DependentField]
    hinge: bool
    """True if they are the two ends of the hinge's arc, in degrees from its reference."""
    values_deg: Floats
    """By frame, the number of each field."""


@dataclass(frozen=True, kw_only=True)
class DependentRequest:
    """A request about a joint whose limit depends on another, in a pose."""

    joint: str
    pose: PoseRequest


@dataclass(frozen=True, kw_only=True)
class DependentNumbers:
    """The numbers of a dependent limit in a pose, in the order of its fields."""

    values_deg: list[float]


@dataclass(frozen=True, kw_only=True)
class HereRequest(DependentRequest):
    """A request for the region that is legal for such a joint in a pose."""

    draft: bool
    """True for a rough picture, as while the driver moves."""


@dataclass(frozen=True, kw_only=True)
class MapRequest:
    """A request for the map of a dependent limit: by the driver's twist in a pose, or null."""

    joint: str
    pose: PoseRequest | None


@dataclass(frozen=True, kw_only=True)
class RangeMap:
    """The numbers of a dependent limit, all over where the driver's bone may point."""

    driver: str
    twists: bool
    """True if it is another map where the driver is twisted otherwise."""
    reference: list[float]
    """Of the driver: directions are seen from it."""
    axis: list[float]
    """What points there: a direction in the driver's own frame."""
    directions: Floats
    faces: Ints
    rim: Floats
    """Ends of edges, in pairs, where the driver's directions end."""
    values_deg: Floats
    """By direction, the number of each field."""


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
    fields = [
        DependentField(field=name, label=LABELS[place])
        for name, place in zip(_fields(each), each.at_nodes, strict=True)
    ]
    return Dependence(
        driver=each.driver,
        fields=fields,
        hinge=hinge_scale(each) is not None,
        values_deg=shown_deg(each, each.values_at(driver)),
    )


def numbers_in_pose(session: Session, request: DependentRequest) -> DependentNumbers:
    """Return the numbers of a dependent limit in a pose, in degrees."""
    model, pose = session.scene.model, pose_from(session.scene, request.pose)
    each = dependent_limit(model, request.joint)
    values = each.values_at(driver_rotations(model, each, pose.rotations))
    return DependentNumbers(values_deg=shown_deg(each, values).tolist())


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
    return RangeMap(
        driver=each.driver,
        twists=each.by_rotation,
        reference=reference.tolist(),
        axis=bone.tolist(),
        directions=mesh.vertices,
        faces=mesh.triangles,
        rim=rim,
        values_deg=shown_deg(each, values),
    )


# Edits, where the driver is in a pose.


@dataclass(frozen=True, kw_only=True)
class SetNumberHere(ModelEdit):
    """Set a number at the driver's rotation in a pose, and nodes within the radius with it.

    An end beyond the joint's own limit widens that, too; elsewhere nothing changes.
    """

    edit: Literal["number-here"]
    field: str
    deg: float
    radius_deg: Annotated[float, Within(0, 180)]
    pose: PoseRequest

    def change(self, scene: Scene, model: LimitModel, name: str) -> LimitModel:
        """Return the model with another number of a joint's limit."""
        each, field = dependent_limit(model, name), self.field
        if field not in each.at_nodes:
            raise ValueError(f"field must be one of {', '.join(each.at_nodes)}, got {field!r:.20}")
        value = _value_of(each, self.deg)
        driver = driver_rotations(model, each, pose_from(scene, self.pose).rotations)
        numbers = dict(zip(each.at_nodes, each.values_at(driver).tolist(), strict=True))
        return _with_numbers(model, name, driver, numbers | {field: value}, self.radius_deg)


@dataclass(frozen=True, kw_only=True)
class AllowHere(ModelEdit):
    """Make the joint's rotation in a pose legal at the driver's rotation in that pose.

    Its numbers change as little as possible.
    """

    edit: Literal["allow-here"]
    radius_deg: Annotated[float, Within(0, 180)]
    pose: PoseRequest

    def change(self, scene: Scene, model: LimitModel, name: str) -> LimitModel:
        """Return the model in which the pose is legal."""
        pose = pose_from(scene, self.pose)
        each = dependent_limit(model, name)
        driver = driver_rotations(model, each, pose.rotations)
        path = lineage(model.skeleton, name, each.limit.relative_to)
        rotation = unit_quats("rotation", path.relative_rotation(pose.rotations))
        if each.contains(rotation, driver):
            raise ValueError("this pose is inside already")
        if not each.limit.contains(rotation):
            each = each.including(rotation)
        numbers, wide = each.values_for(rotation, driver), _with_dependent(model, name, each)
        return _with_numbers(wide, name, driver, numbers, self.radius_deg)


@dataclass(frozen=True, kw_only=True)
class Detach(ModelEdit):
    """Make the limit independent of other joints."""

    edit: Literal["detach"]

    def change(self, scene: Scene, model: LimitModel, name: str) -> LimitModel:
        """Return the model with a joint whose limit depends on no other joint."""
        dependent_limit(model, name)
        kept = {other: each for other, each in model.dependents.items() if other != name}
        return model.with_limits(model.limits, kept)


def _with_numbers(
    model: LimitModel, name: str, driver: Quats, numbers: dict[str, float], radius_deg: float
) -> LimitModel:
    """Return the model with other numbers of a joint at one rotation (4,) of its driver."""
    each = model.dependents[name]
    if {"low", "high"} <= numbers.keys() and numbers["high"] - numbers["low"] < MIN_RANGE:
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
