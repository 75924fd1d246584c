"""Why a joint is outside its limit: by swing and by twist, and, of a human, in clinical words."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from .. import quat
from ..arrays import Quats
from ..limit import Limit
from ..model import LimitModel
from ..population.findings import JOINT_NAMES, describe_move, joint_name
from ..rigs import Alignment, align, recognize
from ..skeleton import Clip, Pose, lineage
from .contents import bone_of
from .messages import Request, word
from .poses import limit_in_pose, pose_from
from .protocol.poses import Why
from .samples import nearest_sample
from .session import Scene, Session

MOST_FRAMES = 300
"""Frames that tell how a rig stands, at most."""


def explain(session: Session, request: Request) -> Why:
    """Return how far a joint of a pose is from the nearest legal rotation, and which way.

    The swing is how far the bone would have to go, the twist how far it would have to turn about
    itself. Words are there for the joints of a rig that is recognised as a human's, and the nearest
    rotation that was observed where the limits kept samples.
    """
    scene, name = session.scene, word(request, "joint")
    joint = scene.clip.skeleton.index(name)
    if name not in scene.model.limits:
        raise ValueError(f"{name} has no limit")
    pose = pose_from(scene, request)
    limit = limit_in_pose(scene, name, pose)
    way = lineage(scene.clip.skeleton, name, limit.relative_to)
    seen = way.relative_rotation(pose.rotations)
    legal = limit.project(seen)
    bone = bone_of(scene, joint)
    swing, twist = swing_and_twist(quat.mul(quat.inverse(legal), seen), bone)
    role, move = _in_words(scene, name, pose)
    return {
        "joint": name,
        "outsideDeg": float(np.degrees(limit.violation(seen))),
        "swingDeg": float(np.degrees(swing)),
        "twistDeg": float(np.degrees(twist)),
        "name": role,
        "move": move,
        "heldBy": _held_by(scene, name, seen, limit),
        "legal": legal.tolist(),
        "bone": bone.tolist(),
        "nearest": nearest_sample(scene, name, seen),
    }


def swing_and_twist(turn: Quats, axis: Quats) -> tuple[float, float]:
    """Return how far a rotation (4,) takes an axis (3,), and how far it turns about it, signed."""
    unit = axis / np.linalg.norm(axis)
    there = quat.rotate(turn, unit)
    swing = float(np.arctan2(np.linalg.norm(np.cross(unit, there)), unit @ there))
    about = 2.0 * float(np.arctan2(turn[1:] @ unit, turn[0]))
    return swing, float((about + np.pi) % (2.0 * np.pi) - np.pi)


def _held_by(scene: Scene, name: str, seen: Quats, limit: Limit) -> str | None:
    """Return the driver of a joint that is illegal at its rotation, and else would not be."""
    each = scene.model.dependents.get(name)
    held = each is not None and not limit.contains(seen) and each.limit.contains(seen)
    return each.driver if each is not None and held else None


def _in_words(scene: Scene, name: str, pose: Pose) -> tuple[str | None, str | None]:
    """Return what people call a joint, and which way a pose is beyond its limit, if known."""
    known = _alignment(scene.clip)
    roles = {} if known is None else {joint: role for role, joint in known.rig.roles.items()}
    role = roles.get(name)
    bone = "" if role is None else role.removeprefix("left").removeprefix("right")
    if known is None or role is None or bone not in JOINT_NAMES:
        return None, None
    own = LimitModel({name: limit_in_pose(scene, name, pose)}, scene.clip.skeleton)
    before = known.canonical_rotations(own.project(pose)).get(role)
    after = known.canonical_rotations(pose).get(role)
    if before is None or after is None:
        return joint_name(role), None
    return joint_name(role), describe_move(role, before, after) or None


@lru_cache(maxsize=4)
def _alignment(clip: Clip) -> Alignment | None:
    """Return how a clip's rig stands, if it is one of a human."""
    step = -(-clip.frames // MOST_FRAMES)
    some = Pose(clip.pose.rotations[::step], clip.pose.positions[::step])
    try:
        return align(recognize(clip.skeleton), [replace(clip, pose=some)])
    except ValueError:
        return None
