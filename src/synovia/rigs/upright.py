"""The lean of heads, feet and trunk by gravity, and zeros by the median of the motion."""

from __future__ import annotations

import numpy as np

from .. import quat
from ..arrays import Quats, Scalars, Vectors, evenly_spaced, unit_vectors
from ..skeleton import Pose
from .alignment import Alignment, Draft
from .canonical import UP
from .human import SIDES
from .stance import Stance, angle_between

MIN_FRAMES = 30  # least number for a mode or a median
TRUNK = ("hips", "chest")
"""Bones that gravity aligns only without a rest pose."""
ENDS = ("head", "leftFoot", "rightFoot")
"""Bones that gravity always aligns."""
MAX_LEAN = np.radians(35.0)  # of a bone where it stands most often
MAX_FOOT_TURN = np.radians(15.0)  # by which gravity rotates a foot; ground may slope, heels lift
MAX_FOOT_ZERO = np.radians([30.0, 25.0])  # of a foot's zero: lift and rotation of its median
LEAN_WIDTH = np.radians(6.0)  # bandwidth of the mode of directions
STILL = np.radians(0.5)  # rotations below this are noise of a held pose
MODE_STARTS, MODE_STEPS = 100, 50  # mean shift converges in a few steps from the best start
SETTLED = 0.6  # of ends without a rest pose that gravity, a median or knuckles align
SCAPULA = 0.3  # of a shoulder blade in the role of a collarbone, which rotates less
LEANING = 0.35  # of a head or foot that leans too far for gravity to align it


def align_upright(draft: Draft, motion: Stance, up: Vectors) -> None:
    """Rotate bones so that their most frequent orientation is upright; toes follow the foot.

    `up` is the unit up direction (3,) of the rig's world. These bones are head and feet, and
    without a rest pose hips and chest. A head or foot that mostly leans far loses confidence. If
    hips or chest lean as far in a rig with a rest pose, the body lies or crawls and nothing is
    changed.
    """

    def up_in_frame(role: str) -> Vectors:
        rotations = quat.mul(motion.rotations[role], draft.frames[role])
        return quat.rotate(quat.inverse(rotations), up)

    for role in TRUNK if draft.at_rest else ():
        if role in draft.frames:
            # `np.median` imports masked arrays.
            lean = float(np.quantile(angle_between(up_in_frame(role), UP), 0.5))
            if lean > MAX_LEAN:
                draft.steps.append(
                    f"{role}: {np.degrees(lean):.0f} degrees from upright in half of the frames, "
                    "so that gravity does not show how head and feet stand"
                )
                return
    for role in ENDS if draft.at_rest else (*TRUNK, *ENDS):
        if role not in draft.frames:
            continue
        mode = most_common_direction(up_in_frame(role))
        lean = float(angle_between(mode, UP))
        if lean > MAX_LEAN:
            if role in ENDS:
                draft.confidence[role] = LEANING
            draft.steps.append(
                f"{role}: stands {np.degrees(lean):.0f} degrees from upright most often, left alone"
            )
            continue
        turn = quat.log(quat.between(UP, mode))
        if role.endswith("Foot") and lean > MAX_FOOT_TURN:
            turn *= MAX_FOOT_TURN / lean
        draft.rotate_frame(role, quat.exp(turn))
        if role == "head":
            draft.confidence[role] = max(draft.confidence[role], SETTLED)
        draft.steps.append(f"{role}: set upright by {np.degrees(np.linalg.norm(turn)):.0f} degrees")


def align_medians(draft: Draft, pose: Pose) -> None:
    """Take the zero of collarbones and feet from the median of the motion.

    Rest poses show neither: collarbones rest at any height, and feet stand on heels or on tiptoe.
    A collarbone's median becomes its zero. A foot's median Rx(lift) · Rz(tilt) · Ry(rotation)
    loses lift and rotation, up to `MAX_FOOT_ZERO`; toes follow the foot.
    """
    confidence = draft.confidence
    alignment = Alignment(draft.rig, quat.IDENTITY, dict(draft.frames), confidence, ())
    rotations = alignment.canonical_rotations(pose)
    for role in (f"{side}{bone}" for side in SIDES for bone in ("Shoulder", "Foot")):
        if role not in rotations:
            continue
        median = median_rotation(rotations[role])
        if role.endswith("Shoulder"):
            change = quat.inverse(median)
            size_deg = np.degrees(quat.angle_between(quat.IDENTITY, median))
            amount = f"by {size_deg:.0f} degrees"
            if confidence[role] != SCAPULA:
                confidence[role] = confidence["chest"]
        elif is_held(rotations[role], median):
            continue
        else:
            lift, tilt, rotation = quat.to_euler(median, "xzy")
            removed = np.clip([lift, rotation], -MAX_FOOT_ZERO, MAX_FOOT_ZERO)
            remaining = np.array([lift - removed[0], tilt, rotation - removed[1]])
            change = quat.mul(quat.inverse(median), quat.from_euler(remaining, "xzy"))
            amount = "by {:.0f} degrees of lift and {:.0f} of rotation".format(*np.degrees(removed))
            if confidence[role] > LEANING:
                confidence[role] = max(confidence[role], SETTLED)
        draft.rotate_frame(role, change)
        draft.steps.append(f"{role}: zero moved to the median of the motion, {amount}")


def median_rotation(rotations: Quats) -> Quats:
    """Return the component-wise median (4,) of rotations (n, 4), about their mean."""
    mean = quat.mean(rotations)
    vectors = quat.log(quat.mul(quat.inverse(mean), rotations))
    middle = np.quantile(vectors, 0.5, axis=0)  # `median` imports masked arrays
    return quat.mul(mean, quat.exp(middle))


def is_held(rotations: Quats, median: Quats) -> bool:
    """Return True if a joint does not move, so that its median shows nothing about its frame."""
    return bool(quat.angle_between(median, rotations).max() <= STILL)


def most_common_direction(directions: Vectors) -> Vectors:
    """Return the mode (3,) of unit `directions` (n, 3), by mean shift."""
    starts = directions[evenly_spaced(len(directions), MODE_STARTS)]

    def weights(centre: Vectors) -> Scalars:
        return np.asarray(np.exp((np.clip(centre @ directions.T, -1.0, 1.0) - 1.0) / LEAN_WIDTH**2))

    mode = starts[weights(starts).sum(axis=1).argmax()]
    for _ in range(MODE_STEPS):
        moved = unit_vectors(weights(mode) @ directions)
        if angle_between(moved, mode) < 1e-6:
            break
        mode = moved
    return np.asarray(mode)
