"""Why a joint is outside its limit: by swing and by twist, and, of a human, in clinical words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import Quats
from ..limit import Limit
from ..model import Limb, LimitModel
from ..population.findings import JOINT_NAMES, describe_move, joint_name
from ..rigs import MEASURED_FROM, Alignment
from ..skeleton import Pose, forward, lineage
from .clinical import alignment_of
from .display import bone_of
from .poses import PoseRequest, limit_in_pose, pose_from
from .samples import NearestSample, nearest_sample
from .session import Scene, Session


@dataclass(frozen=True, kw_only=True)
class WhyRequest(PoseRequest):
    """A request for the reason why a joint of a pose is outside."""

    joint: str


@dataclass(frozen=True, kw_only=True)
class Why:
    """How far a joint is from the nearest legal rotation, and which way."""

    joint: str
    outside_deg: float
    swing_deg: float
    twist_deg: float
    name: str | None
    """The common name of the joint, in a rig that is recognised as a human's."""
    move: str | None
    """The direction in which it is beyond, in clinical terms."""
    held_by: str | None
    """The joint that it depends on, if it could be as it is while that one were elsewhere."""
    legal: list[float]
    """The nearest legal rotation, as the limit measures it."""
    bone: list[float]
    """The direction of the bone, in the joint's own frame."""
    nearest: NearestSample | None
    """What was observed nearest to it, where the limits kept samples."""


def explain(session: Session, request: WhyRequest) -> Why:
    """Return the rotation from the nearest legal rotation of a joint to its rotation in a pose.

    The swing is the angle of the bone's direction, the twist the angle about the bone. Joints of
    recognised human rigs have a name and a clinical movement, too; limits with samples have the
    nearest observed rotation. If the joint is possible, it is compared with the usual limits, if
    there are any.
    """
    scene, name = session.scene, request.joint
    joint = scene.clip.skeleton.index(name)
    model, pose = _deciding(scene.model, name, pose_from(scene, request))
    limit = limit_in_pose(model, name, pose)
    seen = _relative_rotation(model, name, pose)
    legal, outside = limit.nearest_rotation(seen), limit.violation(seen)
    held_by = _held_by(model, name, seen, limit)
    tight = _tight_limb(model, name, pose)
    if tight is not None:
        limb, limbs = tight
        legal = limb.project_each(limbs, limbs[:, 1])[0, limb.joints.index(name)]
        outside, held_by = quat.angle_between(legal, seen), limb.joints[1]
    bone = bone_of(scene, joint)
    swing, twist = swing_and_twist(quat.mul(quat.inverse(legal), seen), bone)
    role, move = _in_words(scene, model, name, pose)
    return Why(
        joint=name,
        outside_deg=float(np.degrees(outside)),
        swing_deg=float(np.degrees(swing)),
        twist_deg=float(np.degrees(twist)),
        name=role,
        move=move,
        held_by=held_by,
        legal=legal.tolist(),
        bone=bone.tolist(),
        nearest=nearest_sample(scene, name, seen),
    )


def _deciding(model: LimitModel, name: str, pose: Pose) -> tuple[LimitModel, Pose]:
    """Return the model that a joint violates, and the pose with twists shared as by this model.

    It is the model of possible limits; if the joint is possible, that of usual limits, if any.
    """
    models = [limits for limits in (model, model.usual) if limits and name in limits.limits]
    if not models:
        raise ValueError(f"{name} has no limit")
    for candidate in models:
        shared = candidate.share_twist(pose)
        rotation = _relative_rotation(candidate, name, shared)
        is_legal = limit_in_pose(candidate, name, shared).contains(rotation)
        if not is_legal or _tight_limb(candidate, name, shared) is not None:
            break
    return candidate, shared


def _tight_limb(model: LimitModel, name: str, pose: Pose) -> tuple[Limb, Quats] | None:
    """Return the limb with a muscle that is too tight at a joint, and its rotations (1, 3, 4)."""
    for placed in model.placed:
        limb = placed.constraint
        if isinstance(limb, Limb) and name in limb.joints:
            rotations = placed.relative(pose.rotations)[None]
            if limb.tight_muscle(name, rotations) is not None:
                return limb, rotations
    return None


def _relative_rotation(model: LimitModel, name: str, pose: Pose) -> Quats:
    """Return the rotation (4,) of a joint relative to the joint that its limit is measured from."""
    relative_to = model.limits[name].relative_to
    return lineage(model.skeleton, name, relative_to).relative_rotation(pose.rotations)


def swing_and_twist(rotation: Quats, axis: Quats) -> tuple[float, float]:
    """Return the swing of an axis (3,) by a rotation (4,) and its signed twist, in radians."""
    unit = axis / np.linalg.norm(axis)
    rotated = quat.rotate(rotation, unit)
    swing = float(np.arctan2(np.linalg.norm(np.cross(unit, rotated)), unit @ rotated))
    twist = 2.0 * float(np.arctan2(rotation[1:] @ unit, rotation[0]))
    return swing, float((twist + np.pi) % (2.0 * np.pi) - np.pi)


def _held_by(model: LimitModel, name: str, seen: Quats, limit: Limit) -> str | None:
    """Return the joint's driver if another rotation of the driver would make the joint legal."""
    dependent = model.dependents.get(name)
    if dependent is None or limit.contains(seen) or not dependent.limit.contains(seen):
        return None
    return dependent.driver


def _in_words(
    scene: Scene, model: LimitModel, name: str, pose: Pose
) -> tuple[str | None, str | None]:
    """Return the common name of a joint, and its clinical movement beyond the limit, if known."""
    known = alignment_of(scene.clip)
    role = None if known is None else _role_moved_by(known, name)
    if known is None or role is None:
        return None, None
    joint_model = LimitModel({name: limit_in_pose(model, name, pose)}, scene.clip.skeleton)
    legal = _canonical_rotation(known, role, joint_model.project(pose))
    return joint_name(role), describe_move(
        role, legal, _canonical_rotation(known, role, pose)
    ) or None


def _role_moved_by(known: Alignment, name: str) -> str | None:
    """Return the role of the nearest bone below a joint whose clinical angles the joint changes.

    Several joints may change the angles of one bone: an elbow may have a joint for flexion and one
    for pronation, and a neck may have seven.
    """
    skeleton, roles = known.rig.skeleton, known.rig.roles
    joint = skeleton.index(name)
    distances = {}
    for role, above in MEASURED_FROM.items():
        bone = role.removeprefix("left").removeprefix("right")
        if bone not in JOINT_NAMES or not {role, above} <= known.frames.keys():
            continue
        path, fixed = (skeleton.path_to_root(skeleton.index(roles[each])) for each in (role, above))
        if joint in path and joint not in fixed:
            distances[role] = path.index(joint)
    return min(distances, key=distances.__getitem__, default=None)


def _canonical_rotation(known: Alignment, role: str, pose: Pose) -> Quats:
    """Return the rotation (4,) of a bone in the frames of the canonical human.

    It is computed from world rotations, because the bone that it is measured from need not be an
    ancestor: a sternum is not an ancestor of a neck.
    """
    skeleton, roles = known.rig.skeleton, known.rig.roles
    rotations = forward(skeleton, pose)[1]
    bone = rotations[skeleton.index(roles[role])]
    above = rotations[skeleton.index(roles[MEASURED_FROM[role]])]
    return known.to_canonical(role, quat.mul(quat.inverse(above), bone))
