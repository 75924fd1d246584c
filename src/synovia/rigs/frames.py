"""Frames of bones from evidence: hinges in motion, gravity, medians and knuckles."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise, product

import numpy as np

from .. import quat
from ..arrays import Quats, Scalars, Vectors, cross, evenly_spaced, unit_vectors
from ..skeleton import Pose
from .alignment import Alignment, Draft
from .canonical import BONE_DIRECTIONS, FINGER_DIRECTIONS, FORWARD, UP
from .human import FACE, PHALANGES, SIDES
from .stance import Stance, angle_between

MIN_FRAMES = 30  # least number for a hinge, a mode or a median
TRUNK = ("hips", "chest")
"""Bones that gravity aligns only without a rest pose."""
ENDS = ("head", "leftFoot", "rightFoot")
"""Bones that gravity always aligns."""
MAX_LEAN = np.radians(35.0)  # of a bone where it stands most often
MAX_FOOT_TURN = np.radians(15.0)  # largest correction of a foot by gravity; ground may slope
MAX_FOOT_ZERO = np.radians([30.0, 25.0])  # of a foot's zero: lift and rotation of its median
LEAN_WIDTH = np.radians(6.0)  # bandwidth of the mode of directions
STILL = np.radians(0.5)  # rotations below this are noise of a held pose
MODE_STARTS, MODE_STEPS = 100, 50  # mean shift converges in a few steps from the best start
SETTLED = 0.6  # of ends without a rest pose that gravity, a median or knuckles align
SCAPULA = 0.3  # confidence of a shoulder blade in the role of a collarbone, which rotates less
LEANING = 0.35  # of a head or foot that leans too far for gravity to align it
HINGE_BONES = {"elbow": ("UpperArm", "LowerArm"), "knee": ("UpperLeg", "LowerLeg")}
BENT = np.radians([25.0, 155.0])  # elbows and knees in this range show their axis
MAX_HINGE = np.radians(120.0)  # hinges farther off bend the wrong way: exchanged sides
MAX_TWIST = {"elbow": np.radians(100.0), "knee": np.radians(60.0)}
"""Largest twist of limbs at rest; hinges farther off are errors of the motion."""
MAX_OFF = np.radians(60.0)  # two hinges farther off: the rest pose does not show the limbs
MIN_CONCENTRATION = 0.85  # of at least `MIN_FRAMES` that show a hinge's axis
FEW_FRAMES, HIGH_CONCENTRATION = 8, 0.98  # fewer frames suffice if they agree better
NO_END = 0.3  # of a limb's bone whose end is unknown
CONTRADICTED = 0.2  # of limbs whose hinges contradict the rest pose
UNSEEN_TWIST = 0.2  # of limbs without a rest pose whose twist no motion shows
AT_REST, IN_MOTION = {"hinge": 1.0, "no hinge": 0.7}, {"hinge": 0.8, "no hinge": UNSEEN_TWIST}
"""Of limbs whose hinge axis is seen, and not seen, with and without a rest pose."""
KNUCKLES = tuple(f"{finger}Proximal" for finger in PHALANGES if finger != "Thumb")
BACKWARDS = np.cos(np.radians(120.0))  # the end of a last bone that points so is an error
MIN_WIDTH = 0.1  # of a hand's length; closer knuckles do not show where the palm faces
MIN_ACROSS = 0.3  # of a unit direction; one with a smaller part across the hand lies along it

T_POSE = np.radians(35.0)  # of upper arms from level in a T-pose, whose palms are down
PALMS_DOWN = frozenset({"Mixamo", "SMPL", "VRM", "VRoid", "Synovia"})
"""Conventions whose T-poses have the palms down; those of CMU, for example, do not agree."""
PALMS_AT_THIGHS = frozenset({"Synovia"})
"""Conventions that rest with hanging arms, the palms at the thighs: down in a T-pose."""


def observe_hinge(
    stance: Stance, frames: Mapping[str, Quats], side: str, joint: str
) -> tuple[int, complex]:
    """Return the number of poses in which an elbow or knee is bent, and how it bends in them.

    That is the mean of exp(i · azimuth), with the azimuth of the lower bone about the upper one, 0
    in the expected direction.
    """
    upper, lower = (f"{side}{bone}" for bone in HINGE_BONES[joint])
    above, below = (quat.mul(stance.rotations[role], frames[role]) for role in (upper, lower))
    bone, ahead = BONE_DIRECTIONS[upper], FORWARD if joint == "elbow" else -FORWARD
    lower_bone = quat.rotate(quat.mul(quat.inverse(above), below), bone)
    bend = angle_between(lower_bone, bone)
    bent = lower_bone[(bend > BENT[0]) & (bend < BENT[1])]
    azimuth = np.arctan2(cross(ahead, bent) @ bone, bent @ ahead)
    return len(azimuth), complex(np.exp(1j * azimuth).mean()) if len(azimuth) else 0j


def align_hinges(draft: Draft, motion: Stance) -> None:
    """Twist limbs so that elbows bend forwards and knees backwards, if the motion shows their axes.

    Hands keep their frames: an elbow's axis does not show where the palm faces. If two or more
    hinges contradict a rest pose by more than `MAX_OFF`, limbs lose confidence.
    """
    frames, confidence, steps = draft.frames, draft.confidence, draft.steps
    twists: dict[str, float] = {}
    hinge_confidence = AT_REST if draft.at_rest else IN_MOTION
    for side, joint in product(SIDES, HINGE_BONES):
        name, roles = f"{side} {joint}", [f"{side}{bone}" for bone in HINGE_BONES[joint]]
        if not all(role in frames and confidence[role] > NO_END for role in roles):
            continue
        count, mean = observe_hinge(motion, frames, side, joint)
        concentration, twist = abs(mean), float(np.angle(mean))
        evidence = f"{count} frames, concentration {concentration:.2f}"
        needed = MIN_CONCENTRATION if count >= MIN_FRAMES else HIGH_CONCENTRATION
        if count < FEW_FRAMES or concentration <= needed:
            confidence.update(dict.fromkeys(roles, hinge_confidence["no hinge"]))
            steps.append(f"{name}: it bends too seldom or too variously ({evidence})")
            continue
        twists[name] = twist
        twist_deg = np.degrees(twist)
        if draft.at_rest and abs(twist) > MAX_TWIST[joint]:
            steps.append(f"{name}: bends {twist_deg:.0f} degrees off, left alone ({evidence})")
            continue
        for role in roles:
            draft.rotate_frame(role, quat.exp(twist * BONE_DIRECTIONS[roles[0]]))
        confidence.update(dict.fromkeys(roles, hinge_confidence["hinge"]))
        steps.append(f"{name}: twisted by {round(twist_deg)} degrees, as it bends ({evidence})")
    if len(twists) > 1 and all(abs(twist) > MAX_HINGE for twist in twists.values()):
        raise ValueError(
            "elbows and knees all bend the wrong way: left and right seem to be exchanged in the "
            "names, which a map of joints to roles can set right"
        )
    contradicting = [name for name, twist in twists.items() if abs(twist) > MAX_OFF]
    if draft.at_rest and len(contradicting) > 1:
        limbs = [role for role in frames if role.endswith(("Arm", "Hand", "Leg", "Foot", "Toes"))]
        confidence.update(dict.fromkeys(limbs, CONTRADICTED))
        steps.append(
            f"{' and '.join(contradicting)} bend more than {np.degrees(MAX_OFF):.0f} degrees away "
            "from where the rest pose says: no verdict on limbs"
        )


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
