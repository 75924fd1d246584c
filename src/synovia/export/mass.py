"""Capsules and masses of a skeleton's segments, for bodies that fall as bodies do."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats, Vectors
from ..rigs import NotHumanError, recognize
from ..skeleton import Skeleton
from .hinged import rest_places

SEGMENT_MASSES = {
    "head": 0.0694,
    "trunk": 0.4346,
    "UpperArm": 0.0271,
    "LowerArm": 0.0162,
    "Hand": 0.0061,
    "UpperLeg": 0.1416,
    "LowerLeg": 0.0433,
    "Foot": 0.0137,
}
"""Shares of the body's mass, men: de Leva (1996), J. Biomech. 29, Table 4; limbs of one side."""
_SEGMENTS = {"neck": "head", "head": "head", "Toes": "Foot"}
THICKNESS = {"head": 0.09, "trunk": 0.08, "UpperLeg": 0.07, "LowerLeg": 0.05, "UpperArm": 0.045,
             "LowerArm": 0.035, "Hand": 0.025, "Foot": 0.03}  # fmt: skip
"""Radii of capsules in metres, where they are not too short for them."""
SLIMMEST, SHARE = 0.015, 0.4
"""The least radius in metres, and the most in lengths of the capsule."""
DENSITY = 1000.0
"""Kilograms of a cubic metre of what is no human."""
NEAR = 0.02
"""Metres between capsules of different bodies at rest up to which they do not collide."""


@dataclass(frozen=True, eq=False)
class Capsule:
    """A capsule of a joint's segment: from `start` to `end` (3,), metres in the joint's frame."""

    joint: int
    start: Vectors
    end: Vectors
    radius: float
    mass: float = 0.0

    @property
    def volume(self) -> float:
        """Cubic metres."""
        length = float(np.linalg.norm(self.end - self.start))
        return float(np.pi * self.radius**2 * (length + 4.0 / 3.0 * self.radius))

    @property
    def inertia(self) -> Floats:
        """Inertia (3, 3) about the centre of mass, in kg·m², of a solid of uniform density.

        It is the sum of a cylinder and two hemispheres, whose centres of mass are 3/8 of the radius
        outside of the cylinder's ends.
        """
        segment, radius = self.end - self.start, self.radius
        length = float(np.linalg.norm(segment))
        ends = self.mass * (4.0 / 3.0 * radius) / (length + 4.0 / 3.0 * radius)
        shaft = self.mass - ends
        along = (0.5 * shaft + 0.4 * ends) * radius**2
        across = shaft * (3.0 * radius**2 + length**2) / 12.0
        across += ends * (0.4 * radius**2 + 0.25 * length**2 + 0.375 * length * radius)
        axis = segment / length if length else np.array([0.0, 0.0, 1.0])
        return across * np.eye(3) + (along - across) * np.outer(axis, axis)


def capsules(skeleton: Skeleton, mass: float) -> list[Capsule]:
    """Return the segments of a skeleton in metres, at least one a joint, `mass` kilograms in all.

    The mass of a human is shared among segments as de Leva (1996) has it, and within a segment by
    volume; of what is no human, by volume alone.
    """
    segments = _segments(skeleton)
    found: list[Capsule] = []
    for joint in range(len(skeleton)):
        ways = [skeleton.offsets[child] for child in skeleton.children(joint)]
        ways += list(skeleton.end_offsets[skeleton.end_parents == joint])
        thick = THICKNESS.get(segments[joint], 0.04)
        long = [way for way in ways if np.linalg.norm(way) > 2.0 * SLIMMEST]
        for way in long:
            radius = max(min(thick, SHARE * float(np.linalg.norm(way))), SLIMMEST)
            found.append(Capsule(joint, np.zeros(3), way, radius))
        if not long:
            found.append(Capsule(joint, np.zeros(3), np.zeros(3), SLIMMEST))
    return _with_masses(found, segments, mass)


def _with_masses(found: list[Capsule], segments: list[str], mass: float) -> list[Capsule]:
    volumes: dict[str, float] = {}
    for each in found:
        segment = segments[each.joint] or "all"
        volumes[segment] = volumes.get(segment, 0.0) + each.volume
    shares = {name: _share_of(name, segments) for name in volumes}
    total = sum(shares.values())
    return [
        replace(each, mass=mass * shares[name] / total * each.volume / volumes[name])
        for each in found
        for name in [segments[each.joint] or "all"]
    ]


def _share_of(segment: str, segments: list[str]) -> float:
    bare = segment.removeprefix("left").removeprefix("right")
    return SEGMENT_MASSES.get(bare, 1.0)


def _segments(skeleton: Skeleton) -> list[str]:
    """Return the segment of each joint, that of the joint above where it has no role of its own."""
    try:
        roles = recognize(skeleton).roles
    except NotHumanError:
        return [""] * len(skeleton)
    by_joint = {joint: role for role, joint in roles.items()}
    found: list[str] = []
    for joint, name in enumerate(skeleton.names):
        parent = int(skeleton.parents[joint])
        role = by_joint.get(name)
        found.append(_segment_of(role) if role else found[parent] if parent >= 0 else "trunk")
    return found


def _segment_of(role: str) -> str:
    side = next((each for each in ("left", "right") if role.startswith(each)), "")
    bare = role.removeprefix(side)
    bare = _SEGMENTS.get(bare, bare)
    if bare == "head":
        return "head"
    if not side or bare == "Shoulder":
        return "trunk"
    return side + (bare if bare in SEGMENT_MASSES else "Hand")


def touching(skeleton: Skeleton, segments: list[Capsule]) -> list[tuple[int, int]]:
    """Return pairs of joints whose segments touch or nearly do at rest, besides neighbours."""
    places = rest_places(skeleton)
    share = np.linspace(0.0, 1.0, 9)[:, None]
    lines = [each.start + share * (each.end - each.start) + places[each.joint] for each in segments]
    found = set()
    for k, one in enumerate(segments):
        for other, line in zip(segments[k + 1 :], lines[k + 1 :], strict=True):
            pair = (min(one.joint, other.joint), max(one.joint, other.joint))
            gap = np.linalg.norm(lines[k][:, None] - line, axis=-1).min()
            if pair[0] != pair[1] and gap < one.radius + other.radius + NEAR:
                found.add(pair)
    parents = skeleton.parents
    return sorted(pair for pair in found if parents[pair[1]] != pair[0])
