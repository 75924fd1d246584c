"""Poses that the page sends: what is asked about them, and their mirror images."""

from __future__ import annotations

import numpy as np

from .. import quat
from ..arrays import Quats
from ..charts.chart import mirror_rotations, reflect
from ..limit import DependentLimit, Limit
from ..model import LimitModel
from ..model.report import NEGLIGIBLE
from ..skeleton import Pose, forward, lineage, partner
from ..skeleton.names import mirror_normal
from .messages import Request, flag, rotations, row, vector, word
from .protocol.poses import Outside, PoseAnswer
from .session import Scene, Session


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


def turn_alone(scene: Scene, request: Request) -> PoseAnswer:
    """Return the pose with a joint turned as the world sees it; within its limit, if asked."""
    skeleton, pose = scene.clip.skeleton, pose_from(scene, request)
    name = word(request, "joint")
    joint = skeleton.index(name)
    _, world = forward(skeleton, pose)
    wanted = quat.normalize(row(request, "rotation", 4))
    above = int(skeleton.parents[joint])
    turns = np.array(pose.rotations)
    turns[joint] = wanted if above < 0 else quat.mul(quat.inverse(world[above]), wanted)
    turned = pose.with_rotations(turns)
    if flag(request, "limits") and name in scene.model.limits:
        own: dict[str, Limit] = {name: limit_in_pose(scene.model, name, turned)}
        turned = LimitModel(own, skeleton).project(turned)
    return _answer(scene, turned)


def _answer(scene: Scene, pose: Pose) -> PoseAnswer:
    return {
        "outsideDeg": outside_deg(scene, pose),
        "rotations": pose.rotations,
        "positions": pose.positions,
    }
