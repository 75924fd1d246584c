"""Frames of hands, fingers and face, from the directions of their bones.

They need no rest pose: the knuckles show where the palm faces, and the offsets of the joints where
a bone points. Straight fingers along the hand are zero, whatever the fingers do at rest.
"""

from __future__ import annotations

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors, cross, unit_vectors
from .canonical import BONE_DIRECTIONS, FINGER_DIRECTIONS, FORWARD, UP
from .human import FACE, PHALANGES, SIDES
from .recognize import Rig
from .stance import Stance, angle_between, unit_or_none

_KNUCKLES = tuple(finger for finger in PHALANGES if finger != "Thumb")
_BACKWARDS = np.cos(np.radians(120.0))  # the end of a last bone that points so is an error
_MIN_WIDTH = 0.1  # of a hand's length; closer knuckles do not show where the palm faces

T_POSE = np.radians(35.0)  # of upper arms from level in a T-pose, whose palms are down
PALMS_DOWN = frozenset({"Mixamo", "SMPL", "VRM", "VRoid", "Synovia"})
"""Conventions whose T-poses have the palms down; those of CMU, for example, do not agree."""
PALMS_AT_THIGHS = frozenset({"Synovia"})
"""Conventions that rest with hanging arms, the palms at the thighs: down in a T-pose."""


def palm_normal(stance: Stance, side: str, *, thumb: bool = True) -> Vectors | None:
    """Return the unit direction (3,) in which a palm faces in one pose; None if unknown.

    It is square to the line of the knuckles and the hand; with fewer than two knuckles and with
    `thumb`, square to the thumb and the hand.
    """
    axes = _hand_axes(stance, side, thumb=thumb)
    return None if axes is None else -axes[:, 1]


def _hand_axes(stance: Stance, side: str, *, thumb: bool) -> Vectors | None:
    """Return the canonical axes of a hand in the world of one pose, as columns (3, 3)."""
    wrist = stance.starts.get(f"{side}Hand")
    names = [f"{side}{finger}Proximal" for finger in _KNUCKLES]
    knuckles = [stance.starts[name] for name in names if name in stance.starts]
    if wrist is None:
        return None
    if len(knuckles) > 1:
        along, across = np.mean(knuckles, axis=0) - wrist, knuckles[0] - knuckles[-1]
    elif thumb and f"{side}ThumbMetacarpal" in stance.starts:
        ends = [f"{side}Thumb{bone}" for bone in PHALANGES["Thumb"]]
        end = [stance.starts[name] for name in ends if name in stance.starts][-1]
        along = stance.tips.get(f"{side}Hand", wrist) - wrist
        across = end - wrist
    else:
        return None
    length = float(np.linalg.norm(along))
    if not length:
        return None
    along = along / length
    across = across - (across @ along) * along
    if np.linalg.norm(across) < _MIN_WIDTH * length:
        return None
    x = along if side == "left" else -along
    z = unit_vectors(across)
    return np.stack([x, cross(z, x), z], axis=-1)


def align_hands(
    rig: Rig,
    stance: Stance,
    frames: dict[str, Quats],
    confidence: dict[str, float],
    *,
    at_rest: bool,
) -> dict[str, str]:
    """Set the frames of hands with two knuckles or more, of fingers, jaw and eyes.

    Changes `frames` and `confidence` in place; `at_rest` if the stance is the rest pose. Returns
    reasons, by role, why bones have no frame that can be trusted.
    """
    reasons: dict[str, str] = {}
    for side in SIDES:
        axes = _hand_axes(stance, side, thumb=False)
        hand = f"{side}Hand"
        if axes is not None:
            _set_frame(hand, quat.from_matrix(axes), stance, frames, confidence)
        for finger, phalanges in PHALANGES.items():
            bones = [side + finger + phalanx for phalanx in phalanges]
            present = [bone for bone in bones if bone in frames]
            if axes is None:
                reason = "where the palm faces is not known without two knuckles"
            elif len(present) < len(bones):
                reason = f"the finger has {len(present)} of {len(bones)} bones"
            else:
                without_tip = _align_finger(rig, stance, [hand, *bones], frames, confidence)
                present = [] if at_rest else without_tip
                reason = "where the bone ends is not known, nor how it is at rest"
            reasons |= dict.fromkeys(present, reason)
    for role in FACE:
        if role in frames and "head" in frames:
            frames[role] = frames["head"]  # at rest they look ahead with the head
            confidence[role] = 1.0
    confidence |= dict.fromkeys(reasons, 0.0)
    return reasons


def _align_finger(
    rig: Rig,
    stance: Stance,
    bones: list[str],
    frames: dict[str, Quats],
    confidence: dict[str, float],
) -> list[str]:
    """Set the frames of a finger's bones, in place; the first of `bones` is the hand.

    A bone is rotated from its parent by the shortest arc to its own direction. Returns the bones
    without a known direction, which are taken to be straight at rest.
    """
    unknown = []
    for above, bone, after in zip(bones, bones[1:], [*bones[2:], None], strict=False):
        direction = _direction(rig, stance, bone, after)
        axes = quat.mul(stance.rotations[above], frames[above])
        straight = quat.rotate(axes, FINGER_DIRECTIONS[bone])
        if direction is None or (after is None and straight @ direction < _BACKWARDS):
            frames[bone], confidence[bone] = frames[above], 1.0
            unknown.append(bone)
            continue
        arc = quat.between(straight, direction)
        _set_frame(bone, quat.mul(arc, axes), stance, frames, confidence)
    return unknown


def _direction(rig: Rig, stance: Stance, bone: str, after: str | None) -> Vectors | None:
    """Return the unit direction (3,) of a finger's bone; None if its end is unknown."""
    skeleton, joint = rig.skeleton, rig.skeleton.index(rig.roles[bone])
    if after is not None:
        vector = np.asarray(stance.starts[after] - stance.starts[bone])
    else:
        ends = skeleton.ends_of(joint)
        end = ends.mean(axis=0) if len(ends) else np.zeros(3)
        vector = np.asarray(quat.rotate(stance.rotations[bone], end))
    return unit_or_none(vector)


def _set_frame(
    role: str,
    rotation: Quats,
    stance: Stance,
    frames: dict[str, Quats],
    confidence: dict[str, float],
) -> None:
    """Set a frame, in place, by which a bone has this rotation of canonical axes in the stance."""
    frames[role] = quat.normalize(quat.mul(quat.inverse(stance.rotations[role]), rotation))
    confidence[role] = 1.0


def align_palms(
    rig: Rig, stance: Stance, at_rest: bool, axes: Quats, frames: dict[str, Quats]
) -> dict[str, str | None]:
    """Return what shows where each palm faces: "fingers", "thumb", "convention" or None.

    With the palm down in the T-pose, the knuckles of index and little finger lie along the forward
    axis, and the thumb's base is in front of the hand's bone. The hand's frame is twisted about its
    bone until they do. Without fingers, the palms are down if the rig rests in a T-pose and follows
    a convention of `PALMS_DOWN`, or with hanging arms and one of `PALMS_AT_THIGHS`. Changes
    `frames` in place.
    """
    found: dict[str, str | None] = {}
    for side in SIDES:
        hand, arm = f"{side}Hand", f"{side}UpperArm"
        if hand not in frames:
            continue
        base, bone = stance.starts[hand], BONE_DIRECTIONS[hand]
        across = {
            "fingers": _between(stance, f"{side}LittleProximal", f"{side}IndexProximal"),
            "thumb": _thumb(stance, side, base),
        }
        found[side] = None
        for shown, direction in across.items():
            if direction is None:
                continue
            posed = quat.mul(stance.rotations[hand], frames[hand])
            seen = quat.rotate(quat.inverse(posed), direction)
            seen = seen - (seen @ bone) * bone
            if np.linalg.norm(seen) > 0.3:  # of a unit vector; else it lies along the hand
                twist = np.arctan2(np.cross(FORWARD, seen) @ bone, seen @ FORWARD)
                frames[hand] = quat.mul(frames[hand], quat.exp(twist * bone))
                found[side] = shown
                break
        level = stance.direction(arm)
        if found[side] is None and at_rest and level is not None:
            lift = 0.5 * np.pi - angle_between(quat.rotate(axes, level), UP)
            conventions = PALMS_DOWN if abs(lift) < T_POSE else PALMS_AT_THIGHS
            if rig.convention in conventions:
                found[side] = "convention"
    return found


def _between(stance: Stance, start: str, end: str) -> Vectors | None:
    """Return the unit direction (3,) from the start of one bone to another's; None if unknown."""
    if not {start, end} <= stance.starts.keys():
        return None
    return unit_or_none(stance.starts[end] - stance.starts[start])


def _thumb(stance: Stance, side: str, base: Vectors) -> Vectors | None:
    """Return the unit direction (3,) from the wrist to the thumb; None if unknown."""
    for bone in ("Proximal", "Metacarpal"):
        role = f"{side}Thumb{bone}"
        if role in stance.starts and np.linalg.norm(stance.starts[role] - base) > 0.0:
            return unit_or_none(stance.starts[role] - base)
    return None
