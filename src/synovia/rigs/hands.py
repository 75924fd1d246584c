"""Frames of hands, fingers and face, from the directions of their bones.

They need no rest pose: the knuckles show where the palm faces, and the offsets of the joints where
a bone points. Straight fingers along the hand are zero, whatever the fingers do at rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors, cross, unit_vectors
from .canonical import FINGER_DIRECTIONS
from .human import FACE, PHALANGES, SIDES

if TYPE_CHECKING:
    from .recognize import Rig
    from .reference import Stance

_KNUCKLES = tuple(finger for finger in PHALANGES if finger != "Thumb")
_BACKWARDS = np.cos(np.radians(120.0))  # the end of a last bone that points so is an error
_MIN_WIDTH = 0.1  # of a hand's length; closer knuckles do not show where the palm faces


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
        ends = [skeleton.offsets[child] for child in skeleton.children(joint)]
        ends += list(skeleton.end_offsets[skeleton.end_parents == joint])
        end = np.mean(ends, axis=0) if ends else np.zeros(3)
        vector = np.asarray(quat.rotate(stance.rotations[bone], end))
    length = float(np.linalg.norm(vector))
    return vector / length if length else None


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
