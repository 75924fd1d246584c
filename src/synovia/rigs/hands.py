"""Frames of hands, fingers and face, from the directions of their bones.

They need no rest pose: the knuckles show where the palm faces, and the offsets of the joints where
a bone points. Straight fingers along the hand are zero, whatever the fingers do at rest.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .. import quat
from ..arrays import Vectors, cross, unit_vectors
from .alignment import Draft
from .canonical import BONE_DIRECTIONS, FINGER_DIRECTIONS, FORWARD, UP
from .human import FACE, PHALANGES, SIDES
from .stance import Stance, angle_between

KNUCKLES = tuple(f"{finger}Proximal" for finger in PHALANGES if finger != "Thumb")
BACKWARDS = np.cos(np.radians(120.0))  # the end of a last bone that points so is an error
MIN_WIDTH = 0.1  # of a hand's length; closer knuckles do not show where the palm faces
MIN_ACROSS = 0.3  # of a unit direction; one with a smaller part across the hand lies along it

T_POSE = np.radians(35.0)  # of upper arms from level in a T-pose, whose palms are down
PALMS_DOWN = frozenset({"Mixamo", "SMPL", "VRM", "VRoid", "Synovia"})
"""Conventions whose T-poses have the palms down; those of CMU, for example, do not agree."""
PALMS_AT_THIGHS = frozenset({"Synovia"})
"""Conventions that rest with hanging arms, the palms at the thighs: down in a T-pose."""


def hand_axes(stance: Stance, side: str) -> Vectors | None:
    """Return the canonical axes of a hand in the world of one pose, as columns (3, 3).

    They are along the hand, from the palm to its back, and along the line of the knuckles. None
    without two knuckles.
    """
    wrist = stance.starts.get(f"{side}Hand")
    knuckles = [stance.starts[f"{side}{k}"] for k in KNUCKLES if f"{side}{k}" in stance.starts]
    if wrist is None or len(knuckles) < 2:
        return None
    along, across = np.mean(knuckles, axis=0) - wrist, knuckles[0] - knuckles[-1]
    length = float(np.linalg.norm(along))
    if not length:
        return None
    along = along / length
    across = across - (across @ along) * along
    if np.linalg.norm(across) < MIN_WIDTH * length:
        return None
    x = along if side == "left" else -along
    z = unit_vectors(across)
    return np.stack([x, cross(z, x), z], axis=-1)


def align_hands(draft: Draft) -> dict[str, str]:
    """Set the frames of hands with two knuckles or more, of fingers, jaw and eyes.

    Returns reasons, by role, why bones have no frame that can be trusted.
    """
    frames, reasons = draft.frames, dict[str, str]()
    for side in SIDES:
        axes = hand_axes(draft.reference, side)
        hand = f"{side}Hand"
        if axes is not None:
            draft.set_rotation(hand, quat.from_matrix(axes))
        for finger, phalanges in PHALANGES.items():
            bones = [side + finger + phalanx for phalanx in phalanges]
            unsure = [bone for bone in bones if bone in frames]
            if axes is None:
                reason = "where the palm faces is not known without two knuckles"
            elif len(unsure) < len(bones):
                reason = f"the finger has {len(unsure)} of {len(bones)} bones"
            else:
                without_end = _align_finger(draft, [hand, *bones])
                unsure = [] if draft.at_rest else without_end
                reason = "where the bone ends is not known, nor how it is at rest"
            reasons |= dict.fromkeys(unsure, reason)
    for role in FACE:
        if role in frames and "head" in frames:
            frames[role] = frames["head"]  # at rest they look ahead with the head
            draft.confidence[role] = 1.0
    draft.confidence |= dict.fromkeys(reasons, 0.0)
    return reasons


def _align_finger(draft: Draft, bones: list[str]) -> list[str]:
    """Set the frames of a finger's bones; the first of `bones` is the hand.

    A bone is rotated from its parent by the shortest arc to its own direction. Returns the bones
    without a known direction, which are taken to be straight at rest.
    """
    unknown = []
    for above, bone in pairwise(bones):
        axes, direction = draft.rotation(above), draft.reference.direction(bone)
        straight = quat.rotate(axes, FINGER_DIRECTIONS[bone])
        if direction is None or (bone == bones[-1] and straight @ direction < BACKWARDS):
            draft.frames[bone], draft.confidence[bone] = draft.frames[above], 1.0
            unknown.append(bone)
        else:
            draft.set_rotation(bone, quat.mul(quat.between(straight, direction), axes))
    return unknown


def align_palms(draft: Draft) -> dict[str, str | None]:
    """Return what shows where each palm faces: "fingers", "thumb", "convention" or None.

    With the palm down in the T-pose, the knuckles of index and little finger lie along the forward
    axis, and the thumb's base is in front of the hand's bone. The hand's frame is twisted about its
    bone until they do. Without fingers, the palms are down if the rig rests in a T-pose and follows
    a convention of `PALMS_DOWN`, or with hanging arms and one of `PALMS_AT_THIGHS`.
    """
    stance, shown_by = draft.reference, dict[str, str | None]()
    for side in SIDES:
        hand = f"{side}Hand"
        if hand not in draft.frames:
            continue
        bone, shown_by[side] = BONE_DIRECTIONS[hand], None
        thumb = stance.between(hand, f"{side}ThumbProximal")
        if thumb is None:
            thumb = stance.between(hand, f"{side}ThumbMetacarpal")
        across = stance.between(f"{side}LittleProximal", f"{side}IndexProximal")
        for shown, direction in (("fingers", across), ("thumb", thumb)):
            if direction is None:
                continue
            across_hand = quat.rotate(quat.inverse(draft.rotation(hand)), direction)
            across_hand = across_hand - (across_hand @ bone) * bone
            if np.linalg.norm(across_hand) > MIN_ACROSS:
                twist = np.arctan2(np.cross(FORWARD, across_hand) @ bone, across_hand @ FORWARD)
                draft.rotate_frame(hand, quat.exp(twist * bone))
                shown_by[side] = shown
                break
        arm = stance.direction(f"{side}UpperArm")
        if shown_by[side] is None and draft.at_rest and arm is not None:
            lift = 0.5 * np.pi - angle_between(quat.rotate(draft.axes, arm), UP)
            conventions = PALMS_DOWN if abs(lift) < T_POSE else PALMS_AT_THIGHS
            if draft.rig.convention in conventions:
                shown_by[side] = "convention"
    return shown_by
