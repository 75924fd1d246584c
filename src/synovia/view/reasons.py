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
    """Return how far a joint of a pose is from the nearest legal rotation, and which way.

    The swing is how far the bone would have to go, the twist how far it would have to turn about
    itself. Words are there for the joints of a rig that is recognised as a human's, and the nearest
    rotation that was observed where the limits kept samples. A joint that is possible is compared
    with the usual limits, if there are any.
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
    """Return the model whose limit of a joint decides, and the pose as this model judges it.

    These are the possible limits, or the usual ones where the possible ones are kept.
    """
    models = [each for each in (model, model.usual) if each is not None and name in each.limits]
    if not models:
        raise ValueError(f"{name} has no limit")
    for each in models:
        judged = each.share_twist(pose)
        seen = _relative_rotation(each, name, judged)
        is_legal = limit_in_pose(each, name, judged).contains(seen)
        if not is_legal or _tight_limb(each, name, judged) is not None:
            break
    return each, judged


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
    """Return the rotation (4,) of a joint as its limit measures it."""
    relative_to = model.limits[name].relative_to
    return lineage(model.skeleton, name, relative_to).relative_rotation(pose.rotations)


def swing_and_twist(turn: Quats, axis: Quats) -> tuple[float, float]:
    """Return how far a rotation (4,) takes an axis (3,), and how far it turns about it, signed."""
    unit = axis / np.linalg.norm(axis)
    there = quat.rotate(turn, unit)
    swing = float(np.arctan2(np.linalg.norm(np.cross(unit, there)), unit @ there))
    about = 2.0 * float(np.arctan2(turn[1:] @ unit, turn[0]))
    return swing, float((about + np.pi) % (2.0 * np.pi) - np.pi)


def _held_by(model: LimitModel, name: str, seen: Quats, limit: Limit) -> str | None:
    """Return the driver of a joint that is illegal at its rotation, and else would not be."""
    each = model.dependents.get(name)
    held = each is not None and not limit.contains(seen) and each.limit.contains(seen)
    return each.driver if each is not None and held else None


def _in_words(
    scene: Scene, model: LimitModel, name: str, pose: Pose
) -> tuple[str | None, str | None]:
    """Return what people call a joint, and which way a pose is beyond its limit, if known."""
    known = alignment_of(scene.clip)
    role = None if known is None else _role_moved_by(known, name)
    if known is None or role is None:
        return None, None
    own = LimitModel({name: limit_in_pose(model, name, pose)}, scene.clip.skeleton)
    before, after = (_canonical_rotation(known, role, each) for each in (own.project(pose), pose))
    return joint_name(role), describe_move(role, before, after) or None


def _role_moved_by(known: Alignment, name: str) -> str | None:
    """Return the role of the first bone that a joint turns, seen from the bone it is measured from.

    It need not be the joint's own: an elbow may be a joint for bending and one for pronation, and
    a neck may have seven.
    """
    skeleton, roles = known.rig.skeleton, known.rig.roles
    joint = skeleton.index(name)
    found = {}
    for role, above in MEASURED_FROM.items():
        bone = role.removeprefix("left").removeprefix("right")
        if bone not in JOINT_NAMES or not {role, above} <= known.frames.keys():
            continue
        path, fixed = (skeleton.path_to_root(skeleton.index(roles[each])) for each in (role, above))
        if joint in path and joint not in fixed:
            found[role] = path.index(joint)
    return min(found, key=found.__getitem__, default=None)


def _canonical_rotation(known: Alignment, role: str, pose: Pose) -> Quats:
    """Return the rotation (4,) of a bone as the canonical human would have it.

    It is taken from the world, since what it is measured from need not be above: a sternum is not
    above a neck.
    """
    skeleton, roles = known.rig.skeleton, known.rig.roles
    turns = forward(skeleton, pose)[1]
    bone, above = (turns[skeleton.index(roles[each])] for each in (role, MEASURED_FROM[role]))
    return known.to_canonical(role, quat.mul(quat.inverse(above), bone))
