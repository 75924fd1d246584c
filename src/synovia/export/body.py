"""A skeleton as a physical body: lengths in metres, capsules and masses of its segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from ..rigs import NotHumanError, recognize
from ..rigs.human import split_role
from ..skeleton import Skeleton, forward

HUMAN_HEIGHT = 1.7  # metres between the lowest and the highest joint, if the unit is not known
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
THICKNESS, LIMB_THICKNESS = {"head": 0.09, "trunk": 0.08}, 0.04
"""Radii of capsules in metres; those of short bones are smaller."""
MIN_RADIUS, MAX_RADIUS = 0.015, 0.4  # metres; share of the capsule's length
NEIGHBOUR_GAP = 0.02  # metres: segments closer than this at rest do not collide


def in_metres(skeleton: Skeleton) -> Skeleton:
    """Return a skeleton with lengths in metres and an up axis.

    Without a known unit it becomes as tall as a human; without a known up axis, y is up.
    """
    up = skeleton.up or "y"
    if skeleton.unit == 1.0:
        return skeleton if skeleton.up else replace(skeleton, up=up)
    scale = skeleton.unit
    if not scale:
        positions = rest_positions(skeleton)
        tips = positions[skeleton.end_parents] + skeleton.end_offsets
        height = np.ptp(np.concatenate([positions, tips])[:, "xyz".index(up)])
        scale = HUMAN_HEIGHT / float(height) if height > 0.0 else 1.0
    return replace(
        skeleton,
        offsets=scale * skeleton.offsets,
        end_offsets=scale * skeleton.end_offsets,
        up=up,
        unit=1.0,
    )


def rest_positions(skeleton: Skeleton) -> Floats:
    """Return the positions (J, 3) of the joints at rest, in the skeleton's unit."""
    return forward(skeleton, skeleton.rest_pose())[0]


def upright(skeleton: Skeleton) -> Quats:
    """Return the rotation (4,) from the skeleton's up axis to z."""
    return quat.between(np.eye(3)["xyz".index(skeleton.up)], np.array([0.0, 0.0, 1.0]))


@dataclass(frozen=True, eq=False)
class BodyCapsule:
    """A capsule of a joint's segment, from the joint to `end` (3,): metres in its frame."""

    end: Vectors
    radius: float
    mass: float = 0.0

    @property
    def length(self) -> float:
        """Metres without the hemispheres."""
        return float(np.linalg.norm(self.end))

    @property
    def center(self) -> Vectors:
        """Center of mass (3,), in metres."""
        return 0.5 * self.end

    @property
    def axis(self) -> Vectors:
        """Unit vector (3,) towards the end; z for a sphere."""
        return self.end / self.length if self.length else np.array([0.0, 0.0, 1.0])

    @property
    def volume(self) -> float:
        """Cubic metres."""
        return float(np.pi * self.radius**2 * (self.length + 4.0 / 3.0 * self.radius))

    @property
    def inertia(self) -> Floats:
        """Inertia (3, 3) about the center of mass, in kg·m², of a solid of uniform density.

        It is the sum of a cylinder and two hemispheres, whose centers of mass are 3/8 of the radius
        outside of the cylinder's ends.
        """
        length, radius = self.length, self.radius
        ends = self.mass * (4.0 / 3.0 * radius) / (length + 4.0 / 3.0 * radius)
        shaft = self.mass - ends
        along = (0.5 * shaft + 0.4 * ends) * radius**2
        across = shaft * (3.0 * radius**2 + length**2) / 12.0
        across += ends * (0.4 * radius**2 + 0.25 * length**2 + 0.375 * length * radius)
        return across * np.eye(3) + (along - across) * np.outer(self.axis, self.axis)


Segments = list[list[BodyCapsule]]
"""The capsules of each joint, at least one."""


class RigidMass(NamedTuple):
    """Mass in kilograms, its center (3,) in metres, and the inertia (3, 3) about it in kg·m²."""

    mass: float
    center: Vectors
    inertia: Floats


def total_mass(segments: Sequence[BodyCapsule]) -> RigidMass:
    """Return the mass, center and inertia of capsules that move together (parallel axes)."""
    mass = sum(capsule.mass for capsule in segments)
    center = sum((capsule.mass * capsule.center for capsule in segments), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for capsule in segments:
        offset = capsule.center - center
        inertia += capsule.inertia
        inertia += capsule.mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    return RigidMass(mass, center, inertia)


def capsules(skeleton: Skeleton, mass: float) -> Segments:
    """Return the capsules of a skeleton in metres, `mass` kilograms in all.

    The mass of a human is distributed among segments as in de Leva (1996), and within a segment by
    volume. Any other body has a uniform density.
    """
    segments = _segments(skeleton)
    groups: Segments = []
    volumes: dict[str, float] = {}
    for joint, segment in enumerate(segments):
        bones = [skeleton.offsets[child] for child in skeleton.children(joint)]
        bones += list(skeleton.end_offsets[skeleton.end_parents == joint])
        lengths = [float(np.linalg.norm(bone)) for bone in bones]
        thickness = THICKNESS.get(segment, LIMB_THICKNESS)
        group = [
            BodyCapsule(bone, max(min(thickness, MAX_RADIUS * length), MIN_RADIUS))
            for bone, length in zip(bones, lengths, strict=True)
            if length > 2.0 * MIN_RADIUS
        ]
        groups.append(group or [BodyCapsule(np.zeros(3), MIN_RADIUS)])
        volume = sum(capsule.volume for capsule in groups[joint])
        volumes[segment] = volumes.get(segment, 0.0) + volume
    shares = {name: SEGMENT_MASSES.get(split_role(name)[1], 1.0) for name in volumes}
    densities = {
        name: mass * share / sum(shares.values()) / volumes[name] for name, share in shares.items()
    }
    return [
        [replace(capsule, mass=densities[segment] * capsule.volume) for capsule in group]
        for segment, group in zip(segments, groups, strict=True)
    ]


def _segments(skeleton: Skeleton) -> list[str]:
    """Return the segment of each joint; one without a role has its parent's. "" if not a human."""
    try:
        roles = recognize(skeleton).roles
    except NotHumanError:
        return [""] * len(skeleton)
    by_joint = {joint: role for role, joint in roles.items()}
    segments: list[str] = []
    for joint, name in enumerate(skeleton.names):
        parent, role = int(skeleton.parents[joint]), by_joint.get(name)
        inherited = segments[parent] if parent >= 0 else "trunk"
        segments.append(_segment_of(role) if role else inherited)
    return segments


def _segment_of(role: str) -> str:
    side, bone = split_role(role)
    if bone in ("neck", "head"):
        return "head"
    if not side or bone == "Shoulder":
        return "trunk"
    bone = "Foot" if bone == "Toes" else bone
    return side + (bone if bone in SEGMENT_MASSES else "Hand")


def touching(skeleton: Skeleton, segments: Segments) -> list[tuple[int, int]]:
    """Return pairs of joints whose segments touch or nearly do at rest, except neighbours."""
    positions, shares = rest_positions(skeleton), np.linspace(0.0, 1.0, 9)[:, None]
    lines = [
        (joint, positions[joint] + shares * capsule.end, capsule.radius)
        for joint, group in enumerate(segments)
        for capsule in group
    ]
    pairs = set()
    for (one, points, radius), (other, others, other_radius) in combinations(lines, 2):
        gap = np.linalg.norm(points[:, None] - others, axis=-1).min()
        if one != other and gap < radius + other_radius + NEIGHBOUR_GAP:
            pairs.add((one, other))
    return sorted(pair for pair in pairs if skeleton.parents[pair[1]] != pair[0])
