"""Poses in requests and answers: checks, mirror images, and the controls of a figure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from ..charts.chart import mirror_rotations, reflect
from ..components import Figure
from ..ik.drag import with_free_root
from ..limit import DependentLimit, Limit
from ..model import LimitModel
from ..model.report import NEGLIGIBLE
from ..schema import Numbers
from ..skeleton import Clip, Pose, lineage, partner
from ..skeleton.names import mirror_normal
from .scene import Scene
from .session import Session

PAGE_ROUNDING = 1e-4  # radians; the page's rotations of a frame differ by less from the clip's
CONTROL_TOLERANCE = 1e-5  # of controls fitted to a pose in single precision, as the page sends it


@dataclass(frozen=True, kw_only=True)
class PoseRequest:
    """A pose: rotations of all joints, at the positions of a frame."""

    frame: int
    rotations: Numbers
    positions: Numbers | None = None
    """Of all joints, in the parent's frame, if not those of the frame."""


@dataclass(frozen=True, kw_only=True)
class JointPoseRequest(PoseRequest):
    """A request about a joint in a pose, by its name."""

    joint: str


@dataclass(frozen=True, kw_only=True)
class Outside:
    """By how many degrees the limited joints are outside; negative where they are only unusual."""

    outside_deg: list[float]


@dataclass(frozen=True, kw_only=True)
class PoseAnswer(Outside):
    """A pose, and how far it is outside."""

    rotations: Floats
    positions: Floats


@dataclass(frozen=True, kw_only=True)
class ControlsRequest:
    """A request for the pose that values of controls give."""

    values: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Posed(PoseAnswer):
    """A pose of the figure, with the clamped controls and the gaps of components."""

    clamped: dict[str, float]
    gaps: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """The controls nearest to a pose, and by how many degrees it differs."""

    values: dict[str, float]
    off_deg: float


def pose_from(scene: Scene, request: PoseRequest, root: Vectors | None = None) -> Pose:
    """Return the pose of a request; `root` (3,) is the position of its first root, if given."""
    if not 0 <= request.frame < scene.clip.frames:
        raise ValueError(f"frame must be from 0 to {scene.clip.frames - 1}, got {request.frame}")
    skeleton = scene.clip.skeleton
    positions = scene.frame(request.frame).positions
    if request.positions is not None:
        if len(request.positions) != 3 * len(skeleton):
            raise ValueError(
                f"positions must be 3 numbers for each of {len(skeleton)} joints, "
                f"got {len(request.positions)}"
            )
        sent = request.positions.reshape(-1, 3)
        moved = np.abs(sent - positions).max(axis=-1) > position_step(scene.clip)
        positions = np.where(moved[:, None], sent, positions)
    if root is not None:
        positions = np.array(positions)
        positions[np.flatnonzero(skeleton.parents < 0)[0]] = root
    rotations = joint_rotations("rotations", request.rotations, len(skeleton))
    own = scene.frame(request.frame).rotations
    same = np.abs((rotations * own).sum(axis=-1)) > 1.0 - PAGE_ROUNDING**2
    return Pose(np.where(same[:, None], own, rotations), positions)


@lru_cache(maxsize=4)
def position_step(clip: Clip) -> float:
    """Return the step to which positions are rounded for the page; more than 0."""
    return float(np.abs(clip.pose.positions).max(initial=1e-6)) / 32000.0


def joint_rotations(name: str, numbers: Floats, count: int) -> Quats:
    """Return the unit rotations (count, 4) in a request's numbers (4 * count,)."""
    if len(numbers) != 4 * count:
        raise ValueError(f"{name} must be 4 numbers for each of {count} joints, got {len(numbers)}")
    return unit_rotation(name, numbers.reshape(count, 4))


def unit_rotation(name: str, rotations: Quats) -> Quats:
    """Return rotations (..., 4) of any length above 0 as unit quaternions."""
    if not (np.linalg.norm(rotations, axis=-1) > 1e-6).all():
        raise ValueError(f"{name} must be longer than 0")
    return quat.normalize(rotations)


def driver_rotations(model: LimitModel, each: DependentLimit, rotations: Quats) -> Quats:
    """Return the driver's rotations (..., 4), as it is measured, in those of all joints."""
    path = lineage(model.skeleton, each.driver, model.ancestors.get(each.driver))
    return path.relative_rotation(rotations)


def limit_in_pose(model: LimitModel, name: str, pose: Pose) -> Limit:
    """Return what is legal for a joint in a pose: its limit, at the rotation of its driver."""
    each = model.dependents.get(name)
    if each is None:
        return model.limits[name]
    return each.limit_at(driver_rotations(model, each, pose.rotations))


def outside_deg(scene: Scene, pose: Pose) -> list[float]:
    """Return by how many degrees limited joints are outside, in the order of the model.

    Angles are negative where a joint is only unusual.
    """
    violation = scene.model.violation(pose)
    if scene.model.usual is not None:
        unusual = -scene.model.usual.violation(pose)
        violation = np.where(violation > NEGLIGIBLE, violation, unusual)
    return [float(angle) for angle in np.degrees(violation[scene.limited])]


def check_pose(session: Session, request: PoseRequest) -> Outside:
    """Return how far a pose is outside the limits, by limited joint, in degrees."""
    scene = session.scene
    return Outside(outside_deg=outside_deg(scene, pose_from(scene, request)))


def mirror_pose(session: Session, request: PoseRequest) -> PoseAnswer:
    """Return the mirror image of a pose, with its root at the same position."""
    scene = session.scene
    skeleton, pose = scene.clip.skeleton, pose_from(scene, request)
    normal = mirror_normal(skeleton)
    others = [partner(name, skeleton.names) or name for name in skeleton.names]
    order = [skeleton.index(name) for name in others]
    shifts = reflect(pose.positions - skeleton.offsets, normal)[order]
    positions = skeleton.offsets + shifts
    roots = skeleton.parents < 0
    positions[roots] = pose.positions[roots]
    mirrored = Pose(mirror_rotations(pose.rotations, normal)[order], positions)
    return pose_answer(scene, mirrored)


def figure_of(scene: Scene) -> Figure:
    """Return the scene's figure with a free root; raise ValueError if there is none."""
    if scene.figure is None:
        raise ValueError("there is no figure here, so there are no controls")
    return with_free_root(scene.figure)


def pose_figure(session: Session, request: ControlsRequest) -> Posed:
    """Return the pose that controls give, with the clamped controls and the gaps of components."""
    pose = figure_of(session.scene).pose(request.values)
    return Posed(
        clamped={name: float(excess) for name, excess in pose.clamped.items()},
        gaps={name: float(gap) for name, gap in pose.gaps.items()},
        outside_deg=outside_deg(session.scene, pose),
        rotations=pose.rotations,
        positions=pose.positions,
    )


def fit_figure(session: Session, request: PoseRequest) -> Fitted:
    """Return the controls whose pose is nearest to a pose, and by how many degrees it differs."""
    figure = figure_of(session.scene)
    pose = pose_from(session.scene, request)
    fitted = figure.controls_for(pose, tolerance=CONTROL_TOLERANCE)
    values = controls_by_name(figure, fitted.controls)
    return Fitted(values=values, off_deg=float(np.degrees(fitted.angle)))


def controls_by_name(figure: Figure, controls: Floats) -> dict[str, float]:
    """Return controls (C,) by name."""
    return {name: float(value) for name, value in zip(figure.controls, controls, strict=True)}


def pose_answer(scene: Scene, pose: Pose) -> PoseAnswer:
    """Return a pose with how far it is outside."""
    return PoseAnswer(
        outside_deg=outside_deg(scene, pose), rotations=pose.rotations, positions=pose.positions
    )
