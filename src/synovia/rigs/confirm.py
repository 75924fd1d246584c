"""Checks of recognised roles against the rest pose: lengths, sides, and whether it stands upright.

Rest poses of captures are often not poses of a body, so only clear contradictions count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from ..arrays import Vectors
from .human import SIDES
from .stance import Stance

_UPRIGHT_COSINE = np.cos(np.radians(45.0))  # legs closer to the line of the torso stand
_LEVEL_COSINE = np.cos(np.radians(55.0))  # a torso farther from the line of the legs is level
_SIDEWAYS_COSINE = 0.7  # two directions to the left beyond -0.7 (134 degrees) contradict
_SAME_HEADING_COSINE = 0.5  # feet that point more than 60 degrees apart show no heading
_SAME_HEIGHT = 0.2  # of a leg's length; hands closer to the height of the feet are on the ground
_MIN_FOOT = 0.08  # of a leg's length; shorter feet have no direction
_END_BONES = {"Arm": "Hand", "Leg": "Foot"}
# Ratios of lengths beyond which bones are doubted, with the factor of their confidence.
_SIDES_RATIO, _SIDES_FACTOR = 1.3, 0.8  # left and right
_BONES_RATIO, _BONES_FACTOR = 3.0, 0.7  # upper and lower
_LIMBS_RATIO, _LIMBS_FACTOR = 2.5, 0.8  # arms and legs
_NO_LENGTH_FACTOR = 0.5


def _cosine(one: Vectors, other: Vectors) -> float:
    """Return the cosine of the angle between two vectors; 0 if one has no length."""
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / length if length > 0.0 else 0.0


def _torso(rest: Stance) -> Vectors | None:
    """Return the unit direction (3,) from the hips to the chest, or else to the head."""
    direction = rest.between("hips", "chest")
    return rest.between("hips", "head") if direction is None else direction


def _limb(rest: Stance, side: str, limb: str) -> Vectors | None:
    """Return the vector (3,) along an arm or a leg to hand or foot, or to its last joint."""
    end = side + _END_BONES[limb]
    return rest.vector(f"{side}Upper{limb}", end if end in rest.starts else f"{side}Lower{limb}")


def upright(rest: Stance) -> bool:
    """Return True if both legs point away from the torso at rest."""
    torso = _torso(rest)
    legs = [_limb(rest, side, "Leg") for side in SIDES]
    return torso is not None and all(
        leg is not None and _cosine(torso, -leg) > _UPRIGHT_COSINE for leg in legs
    )


def on_all_fours(rest: Stance) -> bool:
    """Return True if at rest the torso is level and the hands are at the height of the feet."""
    torso = _torso(rest)
    if torso is None:
        return False
    for side in SIDES:
        leg, arm = _limb(rest, side, "Leg"), _limb(rest, side, "Arm")
        between = rest.vector(f"{side}UpperLeg", f"{side}UpperArm")
        if leg is None or arm is None or between is None or not leg.any():
            return False
        height = float((between + arm - leg) @ leg) / float(np.linalg.norm(leg)) ** 2
        level = abs(_cosine(torso, leg)) < _LEVEL_COSINE
        if not (level and _cosine(arm, leg) > _UPRIGHT_COSINE and abs(height) < _SAME_HEIGHT):
            return False
    return True


def opposite_limbs(rest: Stance) -> bool:
    """Return True if left arm and left leg are on opposite sides of an upright body."""
    arms, legs = rest.line("UpperArm"), rest.line("UpperLeg")
    if arms is None or legs is None or not upright(rest):
        return False
    return _cosine(arms, legs) < -_SIDEWAYS_COSINE


def exchanged_sides(rest: Stance, feet: Mapping[str, Vectors]) -> bool:
    """Return True if the feet of an upright body show that left and right are exchanged.

    `feet` are vectors (3,) from the ankles to the toes, by side.
    """
    up, legs = _torso(rest), rest.line("UpperLeg")
    if up is None or legs is None or not upright(rest):
        return False
    headings = []
    for side in SIDES:
        leg = _limb(rest, side, "Leg")
        if side not in feet or leg is None:
            return False
        foot = feet[side]
        level = foot - (foot @ up) * up
        if np.linalg.norm(level) < _MIN_FOOT * np.linalg.norm(leg):
            return False
        headings.append(level / np.linalg.norm(level))
    if _cosine(*headings) < _SAME_HEADING_COSINE:
        return False
    return _cosine(np.cross(up, headings[0] + headings[1]), legs) < -_SIDEWAYS_COSINE


def limb_doubts(rest: Stance) -> Iterator[tuple[list[str], float, str]]:
    """Yield roles of bones with unlikely lengths, the factor of their confidence, and a note."""
    lengths: dict[str, float] = {}
    for limb, end in _END_BONES.items():
        for side in SIDES:
            upper, lower = f"{side}Upper{limb}", f"{side}Lower{limb}"
            for start, stop in pairwise((upper, lower, side + end)):
                vector = rest.vector(start, stop)
                if vector is not None:
                    lengths[start] = float(np.linalg.norm(vector))
            if upper in lengths and lower in lengths:
                if not lengths[upper] or not lengths[lower]:
                    empty = upper if not lengths[upper] else lower
                    yield [empty], _NO_LENGTH_FACTOR, f"{empty} has no length"
                elif _ratio(lengths[upper], lengths[lower]) > _BONES_RATIO:
                    note = f"{upper} and {lower} differ much in length"
                    yield [upper, lower], _BONES_FACTOR, note
    for left in [name for name in lengths if name.startswith("left")]:
        right = left.replace("left", "right", 1)
        if _ratio(lengths[left], lengths.get(right, 0.0)) > _SIDES_RATIO:
            yield [left, right], _SIDES_FACTOR, f"{left} and {right} differ in length"
    arms, legs = (
        sum(
            lengths.get(f"{side}{part}{limb}", 0.0) for side in SIDES for part in ("Upper", "Lower")
        )
        for limb in _END_BONES
    )
    if _ratio(arms, legs) > _LIMBS_RATIO:
        roles = [f"{side}Upper{limb}" for side in SIDES for limb in _END_BONES]
        yield roles, _LIMBS_FACTOR, "arms and legs differ much in length"


def _ratio(one: float, other: float) -> float:
    """Return the ratio of the longer to the shorter length; 1 if one of them is 0."""
    return max(one / other, other / one) if one and other else 1.0
