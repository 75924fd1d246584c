"""Joint names: matching between skeletons, and left and right partners."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Vectors
from .ancestry import Lineage, copy_limit, path_between
from .skeleton import Skeleton, forward

if TYPE_CHECKING:
    from ..limit import Limit

# Radians. People on one rig differ by up to 31 degrees (CMU), T-pose and A-pose by 40 or more.
MAX_BONE_ANGLE = np.radians(35.0)
MAX_LISTED = 6  # names in a message
SIDE_WORDS = ("Left", "Right"), ("left", "right"), ("LEFT", "RIGHT")
SIDE_LETTERS = ("L", "R"), ("l", "r")
AXIS_TOLERANCE = np.radians(5.0)  # radians; closer normals mean the coordinate axis
MIDDLE_SHARE = 0.05  # of the widest pair's distance; joints closer to the mirror plane are in it


@dataclass(frozen=True, eq=False)
class Match:
    """The joints of a skeleton that correspond to wanted joints of another."""

    joints: dict[str, int]
    """Indices in the skeleton, by wanted name."""
    missing: tuple[str, ...]
    """Wanted names without a joint."""
    extra: tuple[str, ...]
    """Joints of the skeleton, without roots, that the other one does not have."""
    bone_angles: dict[str, float]
    """Angles in radians between bones at rest, by name, if above `MAX_BONE_ANGLE`."""
    theirs: Skeleton
    """The skeleton with the wanted names."""
    skeleton: Skeleton
    """The skeleton that was searched."""
    names: Mapping[str, str]
    """Names of the other skeleton by name of this one, where they differ."""

    def warnings(self) -> list[str]:
        """Return a sentence for each problem."""
        sentences = []
        if self.missing:
            sentences.append(f"has no {list_names(self.missing)}")
        if self.extra:
            sentences.append(
                f"joints that are not known here, and left alone: {list_names(self.extra)}"
            )
        if self.bone_angles:
            worst_deg = np.degrees(max(self.bone_angles.values()))
            sentences.append(
                f"bones that point another way at rest than those they are matched with, by up to "
                f"{worst_deg:.0f} degrees, so that limits may not fit: "
                f"{list_names(self.bone_angles)}"
            )
        return sentences

    def warn(self, clip: str) -> None:
        """Issue the warnings, each with the name of the clip."""
        for message in self.warnings():
            warnings.warn(f"{clip or 'clip'}: {message}", stacklevel=3)

    def only(self, some: Collection[str]) -> Match:
        """Return the match restricted to some names."""
        joints = {name: joint for name, joint in self.joints.items() if name in some}
        return replace(self, joints=joints)

    def lineages(self, ancestors: Mapping[str, str], clip: str = "") -> dict[str, Lineage]:
        """Return the lineage of each joint that was found, by name.

        `ancestors` are the joints from which some are measured, in names of the other skeleton. If
        an ancestor is not above its joint here, the joint is left out with a warning that names
        the clip.
        """
        wanted = {ancestors[name] for name in self.joints if name in ancestors}
        tops = match(wanted, self.theirs, self.skeleton, self.names).joints
        lineages = {}
        for name, joint in self.joints.items():
            between: tuple[int, ...] | None = ()
            if name in ancestors:
                between = path_between(self.skeleton, joint, tops.get(ancestors[name], -1))
            if between is not None:
                lineages[name] = Lineage(joint, between)
                continue
            warnings.warn(
                f"{clip or 'clip'}: {name} is measured from {ancestors[name]}, which is not above "
                "it here, so that it is left alone",
                stacklevel=3,
            )
        return lineages


def match(
    wanted: Iterable[str],
    theirs: Skeleton,
    skeleton: Skeleton,
    names: Mapping[str, str] | None = None,
) -> Match:
    """Return the joints of `skeleton` that correspond to the `wanted` joints of `theirs`.

    `names` maps names of `skeleton` to those of `theirs`. Other names match as they are, then
    without their namespace, as in "mixamorig:LeftArm".
    """
    wanted, names = dict.fromkeys(wanted), names or {}
    unknown = sorted(set(names) - set(skeleton.names))
    if unknown:
        raise ValueError(f"the map names joints that the clip does not have: {list_names(unknown)}")
    joints: dict[str, int] = {}
    for rename in (names.get, str, bare_name):
        for joint, name in enumerate(skeleton.names):
            their_name = rename(name)
            if their_name in wanted and their_name not in joints and joint not in joints.values():
                joints[their_name] = joint
    known = {*theirs.names, *names}
    ours = skeleton.rest_directions[list(joints.values())].reshape(-1, 3)
    others = theirs.rest_directions[[theirs.index(name) for name in joints]].reshape(-1, 3)
    sines = np.linalg.norm(np.cross(ours, others), axis=1)
    angles = np.arctan2(sines, np.einsum("ij,ij->i", ours, others))
    angles[~(ours.any(axis=1) & others.any(axis=1))] = 0.0
    return Match(
        joints={name: joints[name] for name in wanted if name in joints},
        missing=tuple(name for name in wanted if name not in joints),
        extra=tuple(
            name
            for joint, name in enumerate(skeleton.names)
            if skeleton.parents[joint] >= 0
            and joint not in joints.values()
            and not known.intersection((name, bare_name(name)))
        ),
        bone_angles={
            name: angle
            for name, angle in zip(joints, angles.tolist(), strict=True)
            if angle > MAX_BONE_ANGLE
        },
        theirs=theirs,
        skeleton=skeleton,
        names=names,
    )


def names_in(names: Mapping[str, str] | None, skeleton: Skeleton) -> dict[str, str]:
    """Return the entries of a map of names whose keys are joints of this skeleton."""
    return {name: to for name, to in (names or {}).items() if name in skeleton.names}


def bare_name(name: str) -> str:
    """Return a name without its namespace, which ends with the last colon or bar."""
    return re.split(r"[:|]", name)[-1]


def list_names(names: Iterable[str], most: int = MAX_LISTED) -> str:
    """Return the first names, separated by commas, and the number of the others."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def other_side(name: str) -> str:
    """Return a name with the words left and right exchanged; unchanged if it has neither."""
    return next(_exchange(name, SIDE_WORDS, "{}"), name)


def other_sides(name: str) -> Iterator[str]:
    """Yield possible names of a joint's partner, ordered from most to least certain.

    Left and right are exchanged, then separate letters L and R ("L_Arm", "arm.l", "Bip01 R Foot"),
    then those at the beginning or end of a name ("LThumb", "lhumerus", "ArmR").
    """
    yield from _exchange(name, SIDE_WORDS, "{}")
    for pattern in (r"(?<![^\W\d_]){}(?![^\W\d_])", r"\b{}(?=\w)", r"(?<=\w){}\b"):
        yield from _exchange(name, SIDE_LETTERS, pattern)


def _exchange(name: str, pairs: Iterable[tuple[str, str]], pattern: str) -> Iterator[str]:
    for pair in pairs:
        for one, other in (pair, pair[::-1]):
            exchanged = re.sub(pattern.format(one), other, name)
            if exchanged != name:
                yield exchanged


def partner(name: str, names: Iterable[str]) -> str | None:
    """Return the name among `names` of the joint on the other side; None if there is none."""
    known = set(names)
    return next((other for other in other_sides(name) if other in known), None)


def mirror_normal(skeleton: Skeleton) -> Vectors:
    """Return the unit normal (3,) of the mirror plane between the sides, at rest.

    It is the principal direction between partners, or a coordinate axis close to it, because
    captured skeletons are only approximately symmetric.
    """
    ones, others = _partners_at_rest(skeleton)
    apart = ones - others
    if not (np.linalg.norm(apart, axis=1) > 1e-9).any():
        raise ValueError("a mirror needs a joint on either side that differ in place, got none")
    normal: Vectors = np.linalg.svd(apart)[2][0]
    axis = int(np.abs(normal).argmax())
    if np.linalg.norm(np.delete(normal, axis)) <= np.sin(AXIS_TOLERANCE):
        return np.asarray(np.eye(3)[axis])
    return normal


def _partners_at_rest(skeleton: Skeleton) -> tuple[Vectors, Vectors]:
    """Return the positions (n, 3) of joints that have partners, and of the partners."""
    positions = forward(skeleton, skeleton.rest_pose())[0]
    pairs = [
        (joint, skeleton.index(other))
        for joint, name in enumerate(skeleton.names)
        if (other := partner(name, skeleton.names)) is not None
    ]
    ones, others = np.array(pairs, np.int64).reshape(-1, 2).T
    return positions[ones], positions[others]


def mirrored_name(skeleton: Skeleton, name: str) -> str:
    """Return the mirror image of a joint: its partner, or itself if it is in the middle.

    Raises ValueError if its name or position is on one side and it has no partner.
    """
    other = partner(name, skeleton.names)
    if other is not None:
        return other
    normal, (ones, others) = mirror_normal(skeleton), _partners_at_rest(skeleton)
    middle, widest = (0.5 * (ones + others) @ normal).mean(), np.abs((ones - others) @ normal).max()
    place = forward(skeleton, skeleton.rest_pose())[0][skeleton.index(name)] @ normal
    if other_side(name) != name or abs(place - middle) > MIDDLE_SHARE * widest:
        raise ValueError(f"{name} is on one side, and has no partner on the other")
    return name


def partner_limit(skeleton: Skeleton, name: str, limit: Limit) -> tuple[str, Limit]:
    """Return the partner of a joint, and the mirrored limit for it.

    A limit measured from an ancestor is measured from the ancestor's partner, if there is one.
    Frames at rest are parallel, so one mirror plane serves every joint.
    """
    from ..limit import mirror_limit

    other = partner(name, skeleton.names)
    if other is None:
        raise ValueError(f"no joint of this skeleton is called like {name} on the other side")
    above = limit.relative_to
    if above is not None:
        above = partner(above, skeleton.names) or above
    there = replace(mirror_limit(limit, mirror_normal(skeleton)), relative_to=above)
    return other, copy_limit(skeleton, other, there)
