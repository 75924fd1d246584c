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
from .limit_edits import MIN_RANGE, ModelEdit
from .messages import JointRequest
from .poses import PoseRequest, driver_rotations, limit_in_pose, pose_from
from .scene import Scene
from .session import Session

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
    """A request for the picture of the limit that a dependent joint has in a pose."""

    draft: bool
    """True for a coarse picture, for example while the driver moves."""


@dataclass(frozen=True, kw_only=True)
class MapRequest:
    """A request for the map of a dependent limit, at the driver's twist in a pose, if given."""

    joint: str
    pose: PoseRequest | None


@dataclass(frozen=True, kw_only=True)
class RangeMap:
    """The numbers of a dependent limit at all legal directions of the driver's bone."""

    driver: str
    twists: bool
    """True if the map depends on the driver's twist."""
    reference: list[float]
    """The reference rotation of the driver, relative to which directions are given."""
    axis: list[float]
    """The bone's direction in the driver's frame."""
    directions: Floats
    faces: Ints
    rim: Floats
    """Pairs of ends of the edges at the boundary of the directions."""
    values_deg: Floats
    """By direction, the number of each field."""


def dependent_limit(model: LimitModel, name: str) -> DependentLimit:
    """Return the dependent limit of a joint; ValueError if it does not depend on another joint."""
    model.skeleton.index(name)
    if name not in model.dependents:
        raise ValueError(f"{name} depends on no other joint")
    return model.dependents[name]


def _fields(dependent: DependentLimit) -> list[str]:
    """Return the names of the numbers in the order of the page: of a hinge, low before high."""
    scale = hinge_scale(dependent)
    return list(
        dependent.at_nodes[::-1] if scale is not None and scale.falls else dependent.at_nodes
    )


def shown_deg(dependent: DependentLimit, values: Floats) -> Floats:
    """Convert numbers (..., k) in radians to degrees; of a hinge, to angles about its axis."""
    scale = hinge_scale(dependent)
    return np.degrees(values if scale is None else scale.angles_at(values))


def _value_of(dependent: DependentLimit, deg: float) -> float:
    """Return the number that the page shows as `deg`; the inverse of `shown_deg`."""
    scale, angle = hinge_scale(dependent), float(np.radians(deg))
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
    dependent = dependent_limit(scene.model, request.joint)
    driver = driver_rotations(scene.model, dependent, scene.clip.pose.rotations)
    fields = [
        DependentField(field=name, label=LABELS[place])
        for name, place in zip(_fields(dependent), dependent.at_nodes, strict=True)
    ]
    return Dependence(
        driver=dependent.driver,
        fields=fields,
        hinge=hinge_scale(dependent) is not None,
        values_deg=shown_deg(dependent, dependent.values_at(driver)),
    )


def numbers_in_pose(session: Session, request: DependentRequest) -> DependentNumbers:
    """Return the numbers of a dependent limit in a pose, in degrees."""
    model, pose = session.scene.model, pose_from(session.scene, request.pose)
    dependent = dependent_limit(model, request.joint)
    values = dependent.values_at(driver_rotations(model, dependent, pose.rotations))
    return DependentNumbers(values_deg=shown_deg(dependent, values).tolist())


def region_in_pose(session: Session, request: HereRequest) -> Picture:
    """Return the pictures of a dependent joint's limit in a pose.

    The bone is the same as in the pictures of the limit over all rotations of the driver.
    """
    scene, name = session.scene, request.joint
    own = dependent_limit(scene.model, name).limit
    bone = own.chart.bone if as_directional(own.region) is not None else None
    if bone is None:
        bone = bone_of(scene, scene.clip.skeleton.index(name))
    here = limit_in_pose(scene.model, name, pose_from(scene, request.pose))
    return pictures_of(here, bone, DRAFT if request.draft else HERE)


def range_map(session: Session, request: MapRequest) -> RangeMap:
    """Return the numbers of a dependent limit at all legal directions of its driver's bone.

    The driver swings to each direction by the shortest rotation from the pose, or from the
    reference of its limit if there is no pose.
    """
    scene = session.scene
    dependent = dependent_limit(scene.model, request.joint)
    limit = scene.model.limits.get(dependent.driver)
    reference = quat.IDENTITY if limit is None else limit.chart.reference
    start = reference
    if request.pose is not None:
        start = driver_rotations(scene.model, dependent, pose_from(scene, request.pose).rotations)
    mesh, rim, bone = map_sheet(limit, dependent.axis)
    swings = quat.between(quat.rotate(start, bone), quat.rotate(reference, mesh.vertices))
    values = dependent.values_at(quat.mul(swings, start))
    return RangeMap(
        driver=dependent.driver,
        twists=dependent.by_rotation,
        reference=reference.tolist(),
        axis=bone.tolist(),
        directions=mesh.vertices,
        faces=mesh.triangles,
        rim=rim,
        values_deg=shown_deg(dependent, values),
    )


@dataclass(frozen=True, kw_only=True)
class SetNumberHere(ModelEdit):
    """Set a number at the driver's rotation in a pose; nodes within the radius change with it.

    An end outside the joint's limit over all rotations of the driver widens that limit, too.
    """

    edit: Literal["number-here"]
    field: str
    deg: float
    radius_deg: Annotated[float, Within(0, 180)]
    pose: PoseRequest

    def change(self, scene: Scene, model: LimitModel, name: str) -> LimitModel:
        dependent, field = dependent_limit(model, name), self.field
        if field not in dependent.at_nodes:
            raise ValueError(
                f"field must be one of {', '.join(dependent.at_nodes)}, got {field!r:.20}"
            )
        value = _value_of(dependent, self.deg)
        driver = driver_rotations(model, dependent, pose_from(scene, self.pose).rotations)
        numbers = dict(zip(dependent.at_nodes, dependent.values_at(driver).tolist(), strict=True))
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
        pose = pose_from(scene, self.pose)
        dependent = dependent_limit(model, name)
        driver = driver_rotations(model, dependent, pose.rotations)
        path = lineage(model.skeleton, name, dependent.limit.relative_to)
        rotation = unit_quats("rotation", path.relative_rotation(pose.rotations))
        if dependent.contains(rotation, driver):
            raise ValueError("this pose is inside already")
        if not dependent.limit.contains(rotation):
            dependent = dependent.including(rotation)
        numbers = dependent.values_for(rotation, driver)
        wide = _with_dependent(model, name, dependent)
        return _with_numbers(wide, name, driver, numbers, self.radius_deg)


@dataclass(frozen=True, kw_only=True)
class Detach(ModelEdit):
    """Make the limit independent of other joints."""

    edit: Literal["detach"]

    def change(self, scene: Scene, model: LimitModel, name: str) -> LimitModel:
        dependent_limit(model, name)
        kept = {other: dependent for other, dependent in model.dependents.items() if other != name}
        return model.with_limits(model.limits, kept)


def _with_numbers(
    model: LimitModel, name: str, driver: Quats, numbers: dict[str, float], radius_deg: float
) -> LimitModel:
    """Return the model with other numbers of a joint at one rotation (4,) of its driver."""
    dependent = model.dependents[name]
    if {"low", "high"} <= numbers.keys() and numbers["high"] - numbers["low"] < MIN_RANGE:
        ends_deg = sorted(shown_deg(dependent, np.array([numbers[n] for n in dependent.at_nodes])))
        raise ValueError(
            f"a range must not end before it starts: {ends_deg[0]:.6g} to {ends_deg[1]:.6g} degrees"
        )
    present = dict(zip(dependent.at_nodes, dependent.values_at(driver).tolist(), strict=True))
    radius = float(np.radians(radius_deg))
    for field, value in numbers.items():
        if value != present[field]:
            dependent = dependent.with_value_at(driver, field, value, radius=radius)
    return _with_dependent(model, name, dependent)


def _with_dependent(model: LimitModel, name: str, dependent: DependentLimit) -> LimitModel:
    limits = {**model.limits, name: dependent.limit}
    return model.with_limits(limits, {**model.dependents, name: dependent})
