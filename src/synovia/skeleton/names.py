"""Names of joints: which joint of one skeleton is which of another, and left and right."""

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

MAX_BONE_ANGLE = np.radians(35.0)
"""Bones whose directions at rest differ by more than this, in radians, are said to differ.

People on one rig differ by up to 31 degrees (CMU), arms of a T-pose and an A-pose by 40 or more.
"""


@dataclass(frozen=True, eq=False)
class Match:
    """What a skeleton has of the joints that are wanted."""

    joints: dict[str, int]
    """The wanted joints that are there, and their numbers in the skeleton."""
    missing: tuple[str, ...]
    """The wanted joints that are not."""
    extra: tuple[str, ...]
    """The joints of the skeleton, but for roots, that the other one does not have."""
    bone_angles: dict[str, float]
    """Joints whose bone points another way at rest, and by how much, in radians."""
    theirs: Skeleton
    """The skeleton whose names are wanted."""
    skeleton: Skeleton
    """The skeleton in which they were found."""
    names: Mapping[str, str]
    """What the skeleton calls some joints, and what the other one does."""

    def warnings(self) -> list[str]:
        """Return a sentence for each thing that a user should know."""
        found = []
        if self.missing:
            found.append(f"has no {list_names(self.missing)}")
        if self.extra:
            found.append(
                f"joints that are not known here, and left alone: {list_names(self.extra)}"
            )
        if self.bone_angles:
            worst = np.degrees(max(self.bone_angles.values()))
            found.append(
                f"bones that point another way at rest than those they are matched with, by up to "
                f"{worst:.0f} degrees, so that limits may not fit: {list_names(self.bone_angles)}"
            )
        return found

    def warn(self, clip: str) -> None:
        """Issue the warnings, each naming the clip."""
        for message in self.warnings():
            warnings.warn(f"{clip or 'clip'}: {message}", stacklevel=3)

    def only(self, some: Collection[str]) -> Match:
        """Return what there is of some of the joints."""
        joints = {name: joint for name, joint in self.joints.items() if name in some}
        return replace(self, joints=joints)

    def lineages(self, ancestors: Mapping[str, str], clip: str = "") -> dict[str, Lineage]:
        """Return the lineage of each joint that was found.

        `ancestors` name what some are measured from, as the other skeleton names them. A joint
        whose ancestor is not above it here is warned about, naming the clip, and left out.
        """
        wanted = {ancestors[name] for name in self.joints if name in ancestors}
        tops = match(wanted, self.theirs, self.skeleton, self.names).joints
        found = {}
        for name, joint in self.joints.items():
            between: tuple[int, ...] | None = ()
            if name in ancestors:
                between = path_between(self.skeleton, joint, tops.get(ancestors[name], -1))
            if between is None:
                warnings.warn(
                    f"{clip or 'clip'}: {name} is measured from {ancestors[name]}, which is not "
                    "above it here, so that it is left alone",
                    stacklevel=3,
                )
            else:
                found[name] = Lineage(joint, between)
        return found


def match(
    wanted: Iterable[str],
    theirs: Skeleton,
    skeleton: Skeleton,
    names: Mapping[str, str] | None = None,
) -> Match:
    """Return where `skeleton` has the joints `wanted`, which are named as in `theirs`.

    `names` maps names of `skeleton` to those of `theirs`. Other names match as they are, then
    without what stands before the last colon or bar, as in "mixamorig:LeftArm".
    """
    wanted, names = dict.fromkeys(wanted), names or {}
    unknown = sorted(set(names) - set(skeleton.names))
    if unknown:
        raise ValueError(f"the map names joints that the clip does not have: {list_names(unknown)}")
    found: dict[str, int] = {}
    taken: set[int] = set()
    for rename in (names.get, str, bare_name):
        for joint, name in enumerate(skeleton.names):
            meant = rename(name)
            if meant in wanted and meant not in found and joint not in taken:
                found[meant] = joint
                taken.add(joint)
    known = {*theirs.names, *names}
    return Match(
        joints={name: found[name] for name in wanted if name in found},
        missing=tuple(name for name in wanted if name not in found),
        extra=tuple(
            name
            for joint, name in enumerate(skeleton.names)
            if skeleton.parents[joint] >= 0  # roots are not joints
            and joint not in taken
            and not known.intersection((name, bare_name(name)))
        ),
        bone_angles=_differing_bones(found, theirs, skeleton),
        theirs=theirs,
        skeleton=skeleton,
        names=names,
    )


def _differing_bones(
    found: dict[str, int], theirs: Skeleton, skeleton: Skeleton
) -> dict[str, float]:
    if not found:
        return {}
    a = skeleton.rest_directions[list(found.values())]
    index = {name: joint for joint, name in enumerate(theirs.names)}
    b = theirs.rest_directions[[index[name] for name in found]]
    angles = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.einsum("ij,ij->i", a, b))
    differ = a.any(axis=1) & b.any(axis=1) & (angles > MAX_BONE_ANGLE)
    each = zip(found, angles.tolist(), differ.tolist(), strict=True)
    return {name: angle for name, angle, apart in each if apart}


def names_in(names: Mapping[str, str] | None, skeleton: Skeleton) -> dict[str, str]:
    """Return the part of a map of names that is about joints of this skeleton."""
    return {name: to for name, to in (names or {}).items() if name in skeleton.names}


def bare_name(name: str) -> str:
    """Return a name without what stands before the last colon or bar."""
    return re.split(r"[:|]", name)[-1]


def list_names(names: Iterable[str], most: int = 6) -> str:
    """Return the first of `names`, with commas between, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# Left and right: which joint is the other one's partner, and limits from one to the other.


WORDS = ("Left", "Right"), ("left", "right"), ("LEFT", "RIGHT")
LETTERS = ("L", "R"), ("l", "r")
AXIS_TOLERANCE = np.radians(5.0)
"""A normal this near to a coordinate axis, in radians, is taken to be along it."""
MIDDLE_SHARE = 0.05
"""Joints so near to the plane between the sides, by the widest pair's distance, are in it."""


def other_side(name: str) -> str:
    """Return a name with the words left and right exchanged; itself where it has neither."""
    return next(_exchange(name, WORDS, "{}"), name)


def other_sides(name: str) -> Iterator[str]:
    """Yield what the partner of a joint may be called, the surest first.

    Left and right change places, then L and R that stand apart ("L_Arm", "arm.l", "Bip01 R Foot"),
    then those that a name begins or ends with ("LThumb", "lhumerus", "ArmR").
    """
    yield from _exchange(name, WORDS, "{}")
    for pattern in (r"(?<![^\W\d_]){}(?![^\W\d_])", r"\b{}(?=\w)", r"(?<=\w){}\b"):
        yield from _exchange(name, LETTERS, pattern)


def _exchange(name: str, pairs: Iterable[tuple[str, str]], pattern: str) -> Iterator[str]:
    for pair in pairs:
        for one, other in (pair, pair[::-1]):
            exchanged = re.sub(pattern.format(one), other, name)
            if exchanged != name:
                yield exchanged


def partner(name: str, names: Iterable[str]) -> str | None:
    """Return which of `names` is the joint of the other side; None if there is none."""
    known = set(names)
    return next((other for other in other_sides(name) if other in known), None)


def mirror_normal(skeleton: Skeleton) -> Vectors:
    """Return the unit normal (3,) of the plane between the sides, from the places at rest.

    It is the direction in which partners stand apart the most. Near a coordinate axis it is that:
    people are not built to the last digit, but skeletons are meant so.
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
    """Return the places (n, 3) of joints that have partners, and those of the partners."""
    places = forward(skeleton, skeleton.rest_pose())[0]
    pairs = [
        (joint, skeleton.index(other))
        for joint, name in enumerate(skeleton.names)
        if (other := partner(name, skeleton.names)) is not None
    ]
    ones, others = np.array(pairs, np.int64).reshape(-1, 2).T
    return places[ones], places[others]


def mirrored_name(skeleton: Skeleton, name: str) -> str:
    """Return the joint that a mirror shows a joint as: its partner, or itself in the middle.

    ValueError where it is on one side, by its name or its place at rest, and has no partner.
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
    """Return the partner of a joint, and for it what a mirror shows of the joint's limit.

    What is measured from an ancestor is measured from that one's partner there, if it has one.
    Frames at rest are all parallel, so that one plane is the mirror for every joint.
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
