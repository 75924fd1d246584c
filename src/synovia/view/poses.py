"""Requests of the page about poses: checks, mirror images, and the controls of a figure."""

from __future__ import annotations

import numpy as np

from .. import quat
from ..arrays import Floats, Quats
from ..charts.chart import mirror_rotations, reflect
from ..components import Figure
from ..ik.drag import with_free_root
from ..limit import DependentLimit, Limit
from ..model import LimitModel
from ..model.report import NEGLIGIBLE
from ..skeleton import Pose, forward, lineage, partner
from ..skeleton.names import mirror_normal
from .messages import Request, flag, numbers, rotations, row, vector, word
from .protocol.poses import Fitted, Outside, PoseAnswer, Posed
from .session import Scene, Session

CONTROL_TOLERANCE = 1e-5  # of controls fitted to a pose in single precision, as the page sends it


def pose_from(scene: Scene, request: Request) -> Pose:
    """Return the pose that a request sends: rotations, at the positions of one of the frames.

    Its root, the first one, is elsewhere if the request says where; or all joints are.
    """
    number = request["frame"]
    if type(number) is not int or not 0 <= number < scene.clip.frames:
        raise ValueError(f"frame must be from 0 to {scene.clip.frames - 1}, got {number!r:.60}")
    skeleton = scene.clip.skeleton
    positions = scene.frame(number).positions
    if request.get("positions") is not None:
        positions = row(request, "positions", 3 * len(skeleton)).reshape(-1, 3)
    if request.get("root") is not None:
        first = int(np.flatnonzero(skeleton.parents < 0)[0])
        positions = np.array(positions)
        positions[first] = vector(request, "root")
    return Pose(rotations(request, len(skeleton)), positions)


def driver_rotations(model: LimitModel, each: DependentLimit, rotations: Quats) -> Quats:
    """Return the driver's rotations (..., 4), as it is measured, in those of all joints."""
    way = lineage(model.skeleton, each.driver, model.ancestors.get(each.driver))
    return way.relative_rotation(rotations)


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


def check_pose(session: Session, request: Request) -> Outside:
    """Return how far a pose is outside the limits, by limited joint, in degrees."""
    scene = session.scene
    return {"outsideDeg": outside_deg(scene, pose_from(scene, request))}


def mirror_pose(session: Session, request: Request) -> PoseAnswer:
    """Return what a mirror between the sides shows of a pose, whose root stays in its place."""
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
    return _answer(scene, mirrored)


def rotate_alone(scene: Scene, request: Request) -> PoseAnswer:
    """Return the pose with one joint rotated as the world sees it; within its limit, if asked."""
    skeleton, pose = scene.clip.skeleton, pose_from(scene, request)
    name = word(request, "joint")
    joint = skeleton.index(name)
    _, world = forward(skeleton, pose)
    target = quat.normalize(row(request, "rotation", 4))
    parent = int(skeleton.parents[joint])
    local = np.array(pose.rotations)
    local[joint] = target if parent < 0 else quat.mul(quat.inverse(world[parent]), target)
    rotated = pose.with_rotations(local)
    if flag(request, "limits") and name in scene.model.limits:
        limit = limit_in_pose(scene.model, name, rotated)
        rotated = LimitModel({name: limit}, skeleton).project(rotated)
    return _answer(scene, rotated)


def figure_of(scene: Scene) -> Figure:
    """Return the scene's figure with a free root; raise ValueError if there is none."""
    if scene.figure is None:
        raise ValueError("there is no figure here, so there are no controls")
    return with_free_root(scene.figure)


def pose_figure(session: Session, request: Request) -> Posed:
    """Return the pose that controls give, with the clamped controls and the gaps of components."""
    pose = figure_of(session.scene).pose(numbers(request, "values"))
    return {
        "clamped": {name: float(excess) for name, excess in pose.clamped.items()},
        "gaps": {name: float(gap) for name, gap in pose.gaps.items()},
        **_answer(session.scene, pose),
    }


def fit_figure(session: Session, request: Request) -> Fitted:
    """Return the controls whose pose is nearest to a pose, and by how many degrees it differs."""
    figure = figure_of(session.scene)
    pose = pose_from(session.scene, request)
    fitted = figure.controls_for(pose, tolerance=CONTROL_TOLERANCE)
    return {
        "values": controls_by_name(figure, fitted.controls),
        "offDeg": float(np.degrees(fitted.angle)),
    }


def controls_by_name(figure: Figure, controls: Floats) -> dict[str, float]:
    """Return controls (C,) by name."""
    return {name: float(value) for name, value in zip(figure.controls, controls, strict=True)}


def _answer(scene: Scene, pose: Pose) -> PoseAnswer:
    return {
        "outsideDeg": outside_deg(scene, pose),
        "rotations": pose.rotations,
        "positions": pose.positions,
    }
