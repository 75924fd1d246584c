"""Person: masses, capsules and soles of a human skeleton, and the whole-body goals made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Quats, Scalars, Vectors
from ..rigs import NotHumanError, Rig, align, recognize, t_pose
from ..rigs.stance import unit_or_none
from ..shapes.extent import tangent_basis
from ..skeleton import Skeleton, forward
from .goals import World

HEIGHT = 1.75  # metres, of the human whose dimensions the tables below have
HIPS, SHOULDERS, ANKLES = 0.928, 1.432, 0.068  # heights of its joints in metres
LIMBS = {
    "UpperArm": ("LowerArm", 0.045, 0.0271),
    "LowerArm": ("Hand", 0.034, 0.0162),
    "UpperLeg": ("LowerLeg", 0.07, 0.1416),
    "LowerLeg": ("Foot", 0.05, 0.0433),
}
"""By bone: the bone below it, the radius in metres, and the share of the body's mass.

Masses here and below are those of men in de Leva (1996), J. Biomech. 29, Table 4.
"""
HAND = (0.02, 0.15, 0.028, 0.0061)  # start and end beyond the wrist, radius; share of the mass
FOOT = (0.03, 0.0137)  # radius; share of the mass
TRUNK = {
    "pelvis": (0.96, 0.075, -0.015, 0.095, 0.1117),
    "abdomen": (1.13, 0.035, 0.005, 0.095, 0.1633),
    "lowerChest": (1.26, 0.045, -0.02, 0.11, 0.0798),
    "upperChest": (1.37, 0.05, -0.025, 0.11, 0.0798),
}
"""Capsules from side to side: height, half width, offset to the front, radius; share of mass."""
HEAD = (0.01, 0.065, 0.005, 0.09, 0.0694)  # start, end above its joint, to the front, radius; mass
SOLE = ((-0.04, -0.06), (0.04, -0.06), (-0.045, 0.17), (0.045, 0.17))
"""Corners of a sole relative to the ankle, metres to the side and to the front."""
SOLE_DEPTH = 0.075  # metres from the ankle down to the sole

SIDES = ("left", "right")
PARTS = {
    **dict.fromkeys(("Shoulder", "UpperArm", "LowerArm", "Hand"), "Arm"),
    **dict.fromkeys(("UpperLeg", "LowerLeg", "Foot", "Toes"), "Leg"),
    **dict.fromkeys(("neck", "head"), "head"),
    **dict.fromkeys(("hips", "spine", "chest"), "trunk"),
}
"""By bone that a pull rotates, the part of the body; those of a side are named after it."""
FLEXIONS = {"LowerArm": (0.0, -1.0, 0.0), "LowerLeg": (1.0, 0.0, 0.0)}  # axes in a T-pose, left
MOVING = ("LowerArm", "Hand")  # capsules that are kept out of `OBSTACLES`
OBSTACLES = ("pelvis", "abdomen", "lowerChest", "upperChest", "head", "UpperLeg")
CLEARANCE = 0.015  # metres between capsules below which residuals begin
SUPPORT = 0.7  # share of the support polygon, about its centre, that holds the centre of mass
SUPPORT_SIDES = 16  # directions in which it is measured; between them it is at most 2 % larger
STANDING = 0.06  # metres: soles at most this far above the floor carry the body

Lines = tuple[Vectors, Vectors]
"""Starts and ends (..., n, 3) of the capsules of a person in the world."""


class Term(NamedTuple):
    """A term of a pull: residuals (..., rows) that depend on where capsules are."""

    residual: Callable[[Lines], Floats]
    one_sided: bool = False
    """True if residuals count only where they are above 0."""


class Capsule(NamedTuple):
    """A capsule of a T-pose: ends (3,) in the world, radius in metres, share of the mass."""

    name: str
    joint: int
    start: Vectors
    end: Vectors
    radius: float
    mass: float


@dataclass(frozen=True, eq=False)
class Person:
    """Segments of a human skeleton as capsules with masses, fixed to its joints."""

    skeleton: Skeleton
    rig: Rig
    names: tuple[str, ...]
    """Of capsules: roles of limbs, keys of `TRUNK`, and "head"."""
    joints: Ints
    """(n,): the joint that each is fixed to."""
    starts: Vectors
    """(n, 3) in the frames of the joints."""
    ends: Vectors
    radii: Scalars
    masses: Scalars
    """(n,): shares of the body's mass."""
    soles: Mapping[str, Vectors]
    """By side, the corners (4, 3) of the sole in the frame of the foot."""
    up: Vectors
    size: float
    """Lengths in the skeleton's unit, for 1 metre of a human as tall as `HEIGHT`."""
    hinges: Mapping[int, tuple[Vectors, Vectors]]
    """By joint of an elbow or knee, bone and axis of flexion (3,), unit vectors in its frame."""
    groups: tuple[str, ...]
    """By joint: "leftArm", "rightArm", "leftLeg", "rightLeg", "head", "trunk" or "root"."""
    movers: frozenset[int]
    """Joints that a pull rotates: bones, without fingers and faces."""

    def foot(self, side: str) -> str:
        """Return the name of the joint whose rotation is that of a foot."""
        return self.rig.roles[f"{side}Foot"]

    def lines(self, world: World) -> Lines:
        """Return the ends of all capsules in the world."""
        positions, rotations = (array[..., self.joints, :] for array in world)
        matrices = quat.to_matrix(rotations)
        starts, ends = (
            positions + (matrices @ points[..., None])[..., 0]
            for points in (self.starts, self.ends)
        )
        return starts, ends

    def center_of_mass(self, lines: Lines) -> Vectors:
        """Return the centre of mass (..., 3) in the world."""
        starts, ends = lines
        return np.asarray((0.5 * (starts + ends) * self.masses[:, None]).sum(axis=-2))

    def sole(self, world: World, side: str) -> Vectors:
        """Return the corners (4, 3) of a sole in the world."""
        joint = self.skeleton.index(self.foot(side))
        return np.asarray(world[0][joint] + quat.rotate(world[1][joint], self.soles[side]))


@lru_cache(maxsize=8)
def person_of(skeleton: Skeleton) -> Person | None:
    """Return the person of a skeleton in which a human is recognised; None for others."""
    try:
        alignment = align(recognize(skeleton), [])
    except (NotHumanError, ValueError):
        return None
    rig, axes = alignment.rig, alignment.axes
    needed = [
        "hips",
        "chest",
        *(side + bone for side in SIDES for bone in (*LIMBS, "Hand", "Foot")),
    ]
    if any(role not in rig.roles for role in needed):
        return None
    positions, rotations = forward(skeleton, t_pose(alignment))
    # x to the left, y up, z to the front
    positions, rotations = quat.rotate(axes, positions), quat.mul(axes, rotations)
    starts = {role: positions[skeleton.index(name)] for role, name in rig.starts.items()}
    hips, shoulders, ankles = (
        0.5 * (starts[f"left{bone}"] + starts[f"right{bone}"])
        for bone in ("UpperLeg", "UpperArm", "Foot")
    )
    size = float(shoulders[1] - ankles[1]) / (SHOULDERS - ANKLES)
    torso = [skeleton.index(name) for name in rig.torso] or [skeleton.index(rig.roles["chest"])]
    capsules: list[Capsule] = []
    for name, (height, width, front, radius, mass) in TRUNK.items():
        share = (height - HIPS) / (SHOULDERS - HIPS)
        center = hips + share * (shoulders - hips) + size * np.array([0.0, 0.0, front])
        across = np.array([size * width, 0.0, 0.0])
        below = [joint for joint in torso if positions[joint][1] <= center[1]]
        joint = max(below or torso[:1], key=lambda joint: float(positions[joint][1]))
        capsules.append(Capsule(name, joint, center - across, center + across, radius, mass))
    if "head" in rig.roles:
        low, high, front, radius, mass = HEAD
        first, last = (starts["head"] + size * np.array([0.0, y, front]) for y in (low, high))
        joint = skeleton.index(rig.roles["head"])
        capsules.append(Capsule("head", joint, first, last, radius, mass))
    soles, hinges = {}, {}
    for side in SIDES:
        for bone, (below_bone, radius, mass) in LIMBS.items():
            role, joint = side + bone, skeleton.index(rig.starts[side + bone])
            ends = starts[role], starts[side + below_bone]
            capsules.append(Capsule(role, joint, *ends, radius, mass))
            along = unit_or_none(ends[1] - ends[0])
            if bone in FLEXIONS and along is not None:
                x, y, z = FLEXIONS[bone]
                axis = np.array([x, y if side == "left" else -y, z])
                into = quat.inverse(rotations[joint])
                hinges[joint] = quat.rotate(into, along), quat.rotate(into, axis)
        wrist, ankle = starts[f"{side}Hand"], starts[f"{side}Foot"]
        along = wrist - starts[f"{side}LowerArm"]
        along = size * along / max(float(np.linalg.norm(along)), 1e-9)
        joint = skeleton.index(rig.roles[f"{side}Hand"])
        ends = wrist + HAND[0] * along, wrist + HAND[1] * along
        capsules.append(Capsule(f"{side}Hand", joint, *ends, *HAND[2:]))
        radius, mass = FOOT
        toes = ankle + size * np.array([0.0, radius - SOLE_DEPTH, SOLE[-1][1]])
        joint = skeleton.index(rig.roles[f"{side}Foot"])
        capsules.append(Capsule(f"{side}Foot", joint, ankle, toes, radius, mass))
        corners = ankle + size * np.array([[x, -SOLE_DEPTH, z] for x, z in SOLE])
        soles[side] = _into(corners, positions[joint], rotations[joint])
    names, joints, first_ends, last_ends, radii, masses = zip(*capsules, strict=True)
    frames = positions[list(joints)], rotations[list(joints)]
    groups, movers = _groups(rig)
    return Person(
        skeleton=skeleton,
        rig=rig,
        names=names,
        joints=np.array(joints),
        starts=_into(np.array(first_ends), *frames),
        ends=_into(np.array(last_ends), *frames),
        radii=size * np.array(radii),
        masses=np.array(masses) / sum(masses),
        soles=soles,
        up=np.asarray(quat.rotate(quat.inverse(axes), np.array([0.0, 1.0, 0.0]))),
        size=size,
        hinges=hinges,
        groups=groups,
        movers=movers,
    )


def _groups(rig: Rig) -> tuple[tuple[str, ...], frozenset[int]]:
    """Return `Person.groups` and `Person.movers`."""
    skeleton, groups = rig.skeleton, list[str]()
    bones = {joint: role for names in (rig.starts, rig.roles) for role, joint in names.items()}
    bones |= dict.fromkeys(rig.torso, "spine") | dict.fromkeys(rig.neck, "neck")
    bones[rig.roles["hips"]] = "hips"
    inner = skeleton.path_to_root(skeleton.index(rig.roles["hips"]))
    movers = set[int]()
    for joint, name in enumerate(skeleton.names):
        parent, role = int(skeleton.parents[joint]), bones.get(name, "")
        side = next((side for side in SIDES if role.startswith(side)), "")
        bare = role.removeprefix(side)
        if joint in inner or parent < 0:
            groups.append("root")
        else:
            groups.append(side + PARTS[bare] if bare in PARTS else groups[parent])
        if bare in PARTS:
            movers.add(joint)
    # Joints between two bones, such as those that share a twist, move with them.
    for joint in sorted(movers):
        path = skeleton.path_to_root(joint)
        above = next((k for k, other in enumerate(path[1:], 1) if other in movers), 0)
        movers.update(path[1:above])
    return tuple(groups), frozenset(movers)


def _into(points: Vectors, position: Vectors, rotation: Quats) -> Vectors:
    """Return points of the world in the frame of a joint."""
    return np.asarray(quat.rotate(quat.inverse(rotation), points - position))


def keep_apart(person: Person) -> Term:
    """Return the term that keeps hands and forearms out of trunk, head and thighs.

    Residuals are lengths by which pairs of capsules are closer than their radii and `CLEARANCE`.
    """
    bare = [name.removeprefix("left").removeprefix("right") for name in person.names]
    pairs = np.array(
        [
            (a, b)
            for a, moving in enumerate(bare)
            for b, obstacle in enumerate(bare)
            if moving in MOVING and obstacle in OBSTACLES
        ]
    )
    first, second = pairs.T
    reach = person.radii[first] + person.radii[second] + person.size * CLEARANCE

    def residual(lines: Lines) -> Floats:
        starts, ends = lines
        gaps = segment_distances(
            *(starts[..., first, :], ends[..., first, :]),
            *(starts[..., second, :], ends[..., second, :]),
        )
        return np.asarray(reach - gaps)

    return Term(residual, one_sided=True)


def penetration(person: Person, world: World) -> Scalars:
    """Return the largest depth (...) of a hand or forearm in trunk, head or thighs; 0 for none."""
    deepest = keep_apart(person).residual(person.lines(world)).max(axis=-1)
    deepest -= person.size * CLEARANCE
    return np.asarray(np.maximum(deepest, 0.0))


def segment_distances(a: Vectors, b: Vectors, c: Vectors, d: Vectors) -> Scalars:
    """Return the distances (...) between segments ab and cd (Ericson, §5.1.9)."""
    u, v, w = b - a, d - c, a - c
    uu, vv, uv = _dot(u, u), _dot(v, v), _dot(u, v)
    uw, vw = _dot(u, w), _dot(v, w)
    tiny = 1e-12
    s = np.clip((uv * vw - uw * vv) / np.maximum(uu * vv - uv * uv, tiny), 0.0, 1.0)
    t = np.clip((uv * s + vw) / np.maximum(vv, tiny), 0.0, 1.0)
    s = np.clip((uv * t - uw) / np.maximum(uu, tiny), 0.0, 1.0)
    difference = w + s[..., None] * u - t[..., None] * v
    return np.asarray(np.sqrt(_dot(difference, difference)))


def _dot(a: Vectors, b: Vectors) -> Scalars:
    product = a * b
    return np.asarray(product[..., 0] + product[..., 1] + product[..., 2])


def keep_above(person: Person, floor: float, resting: Sequence[str]) -> Term:
    """Return the term that keeps capsules above the floor, except those named in `resting`.

    Residuals are depths below the floor; `floor` is its height along `Person.up`.
    """
    rows = np.array([row for row, name in enumerate(person.names) if name not in resting])
    lowest = floor + person.radii[rows]

    def residual(lines: Lines) -> Floats:
        heights = [line[..., rows, :] @ person.up for line in lines]
        return np.concatenate([lowest - height for height in heights], axis=-1)

    return Term(residual, one_sided=True)


def balance(person: Person, corners: Vectors) -> Term:
    """Return the term that keeps the centre of mass above the soles, whose corners are (n, 3).

    Residuals are distances beyond the corners in `SUPPORT_SIDES` horizontal directions, after the
    corners are moved to their centre by 1 − `SUPPORT`.
    """
    angles = 2.0 * np.pi * np.arange(SUPPORT_SIDES) / SUPPORT_SIDES
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ tangent_basis(person.up)
    center = corners.mean(axis=0)
    reach = directions @ center + SUPPORT * ((corners - center) @ directions.T).max(axis=0)

    def residual(lines: Lines) -> Floats:
        return np.asarray(person.center_of_mass(lines) @ directions.T - reach)

    return Term(residual, one_sided=True)


def hang(person: Person, home: Lines, side: str) -> Term:
    """Return the term that keeps the directions of an arm's bones as in the pose `home`.

    Residuals (..., 6) are differences of unit vectors in the world.
    """
    rows = [person.names.index(side + bone) for bone in ("UpperArm", "LowerArm")]

    def directions(lines: Lines) -> Vectors:
        starts, ends = (line[..., rows, :] for line in lines)
        along = ends - starts
        lengths = np.linalg.norm(along, axis=-1, keepdims=True)
        return np.asarray(along / np.maximum(lengths, 1e-300))  # a bone without length has none

    wanted = directions(home)

    def residual(lines: Lines) -> Floats:
        deviation = wanted - directions(lines)
        return np.asarray(deviation.reshape(*deviation.shape[:-2], 6))

    return Term(residual)


def level(person: Person, home: Lines) -> Term:
    """Return the term that keeps the sideways lean of the pelvis as in the pose `home`.

    The residual (..., 1) is a difference of sines.
    """
    row = person.names.index("pelvis")

    def lean(lines: Lines) -> Floats:
        starts, ends = (line[..., row, :] for line in lines)
        across = ends - starts
        return np.asarray(across @ person.up / np.linalg.norm(across, axis=-1))

    wanted = lean(home)
    return Term(lambda lines: (lean(lines) - wanted)[..., None])
