"""What the rest pose says to names: lengths, sides, and whether it stands as people do.

Rest poses of captures are often no pose of a body, so that only what is certain counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..arrays import Vectors
from ..skeleton import Skeleton, forward
from .human import SIDES

_UPRIGHT_COSINE = np.cos(np.radians(45.0))
"""Legs this near to the line of the torso stand."""
_SIDEWAYS_COSINE = 0.7
"""The left is known to be on the right of the body beyond this cosine."""
_LEVEL_COSINE = np.cos(np.radians(55.0))
"""A torso farther than this from the line of the legs is level."""
_SAME_HEIGHT = 0.2
"""Hands within this share of a leg's length of the feet stand on the ground."""
_SHORTEST_FOOT = 0.08
"""A foot is at least this share of a leg, to point anywhere."""
_SIDES_RATIO = 1.3
_LONG_RATIO = 3.0
_LIMBS_RATIO = 2.5


class Build:
    """Where the bones of a skeleton are at rest."""

    def __init__(
        self, skeleton: Skeleton, starts: Mapping[str, int], roles: Mapping[str, int]
    ) -> None:
        self.skeleton, self.starts, self.roles = skeleton, starts, roles

    @cached_property
    def positions(self) -> Vectors:
        """Where the joints are (J, 3)."""
        return forward(self.skeleton, self.skeleton.rest_pose())[0]

    def distance(self, one: int, other: int) -> float:
        """Return how far two joints are apart."""
        return float(np.linalg.norm(self.positions[one] - self.positions[other]))

    def way(self, one: str, other: str) -> Vectors | None:
        """Return the way (3,) between two roles; None if one is missing."""
        if one not in self.starts or other not in self.starts:
            return None
        return np.asarray(self.positions[self.starts[other]] - self.positions[self.starts[one]])

    @property
    def torso(self) -> Vectors | None:
        """The way (3,) up the torso; None where that is not known."""
        ways = (self.way("hips", end) for end in ("chest", "head"))
        return next((way for way in ways if way is not None and way.any()), None)

    def limb(self, side: str, limb: str) -> Vectors | None:
        """Return the way (3,) along an arm or a leg, to hand or foot, or else to its last joint."""
        ends = {"Arm": "Hand", "Leg": "Foot"}
        end = ends[limb] if side + ends[limb] in self.starts else f"Lower{limb}"
        return self.way(f"{side}Upper{limb}", side + end)

    def lateral(self, bone: str) -> Vectors | None:
        """Return the way (3,) from the right bone to the left."""
        return self.way(f"right{bone}", f"left{bone}")

    def foot(self, side: str) -> Vectors | None:
        """Return the way (3,) from an ankle to its toes, or to the end of the foot."""
        toes = self.way(f"{side}Foot", f"{side}Toes")
        if toes is not None or f"{side}Foot" not in self.roles:
            return toes
        ends = np.flatnonzero(self.skeleton.end_parents == self.roles[f"{side}Foot"])
        return np.asarray(self.skeleton.end_offsets[ends].mean(axis=0)) if len(ends) else None


def _cosine(one: Vectors, other: Vectors) -> float:
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / length if length > 0.0 else 0.0


def upright(build: Build) -> bool:
    """Return whether both legs point away from the torso at rest, as those of people do."""
    torso = build.torso
    legs = [build.limb(side, "Leg") for side in SIDES]
    return torso is not None and all(
        leg is not None and _cosine(torso, -leg) > _UPRIGHT_COSINE for leg in legs
    )


def on_all_fours(build: Build) -> bool:
    """Return whether the torso is level at rest, and the hands are as low as the feet."""
    torso = build.torso
    if torso is None:
        return False
    for side in SIDES:
        leg, arm = build.limb(side, "Leg"), build.limb(side, "Arm")
        between = build.way(f"{side}UpperLeg", f"{side}UpperArm")
        if leg is None or arm is None or between is None or not leg.any():
            return False
        length = float(np.linalg.norm(leg))
        height = float((between + arm - leg) @ leg) / length**2
        level = abs(_cosine(torso, leg)) < _LEVEL_COSINE
        if not (level and _cosine(arm, leg) > _UPRIGHT_COSINE and abs(height) < _SAME_HEIGHT):
            return False
    return True


def opposite_limbs(build: Build) -> bool:
    """Return whether left arm and left leg are on opposite sides of one that stands upright."""
    arms, legs = build.lateral("UpperArm"), build.lateral("UpperLeg")
    if arms is None or legs is None or not upright(build):
        return False
    return _cosine(arms, legs) < -_SIDEWAYS_COSINE


def exchanged_sides(build: Build) -> bool:
    """Return whether what is called left is certainly on the right, by where the feet point."""
    torso, legs = build.torso, build.lateral("UpperLeg")
    if torso is None or legs is None or not upright(build):
        return False
    up = torso / np.linalg.norm(torso)
    ahead = []
    for side in SIDES:
        foot, leg = build.foot(side), build.limb(side, "Leg")
        if foot is None or leg is None:
            return False
        flat = foot - (foot @ up) * up
        if np.linalg.norm(flat) < _SHORTEST_FOOT * np.linalg.norm(leg):
            return False
        ahead.append(flat / np.linalg.norm(flat))
    if _cosine(*ahead) < 0.5:
        return False
    return _cosine(np.cross(up, ahead[0] + ahead[1]), legs) < -_SIDEWAYS_COSINE


def limb_doubts(build: Build) -> Iterator[tuple[list[str], float, str]]:
    """Yield roles whose bones have odd lengths, a factor for the confidence in them, and why."""
    lengths: dict[str, float] = {}
    for limb, end in (("Arm", "Hand"), ("Leg", "Foot")):
        for side in SIDES:
            names = [f"{side}Upper{limb}", f"{side}Lower{limb}", side + end]
            for upper, lower in pairwise(names):
                way = build.way(upper, lower)
                if way is not None:
                    lengths[upper] = float(np.linalg.norm(way))
            if all(name in lengths for name in names[:2]):
                one, other = lengths[names[0]], lengths[names[1]]
                if not one or not other:
                    empty = names[0] if not one else names[1]
                    yield [empty], 0.5, f"{empty} has no length"
                elif max(one / other, other / one) > _LONG_RATIO:
                    yield names[:2], 0.7, f"{names[0]} and {names[1]} differ much in length"
    for left in [name for name in lengths if name.startswith("left")]:
        right = left.replace("left", "right", 1)
        one, other = lengths[left], lengths.get(right, 0.0)
        if one and other and max(one / other, other / one) > _SIDES_RATIO:
            yield [left, right], 0.8, f"{left} and {right} differ in length"
    arms, legs = (
        sum(
            lengths.get(f"{side}{part}{limb}", 0.0) for side in SIDES for part in ("Upper", "Lower")
        )
        for limb in ("Arm", "Leg")
    )
    if arms and legs and max(arms / legs, legs / arms) > _LIMBS_RATIO:
        roles = [f"{side}Upper{limb}" for side in SIDES for limb in ("Arm", "Leg")]
        yield roles, 0.8, "arms and legs differ much in length"
