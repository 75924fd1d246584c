"""Left and right: which joint is the other one's partner, and limits from one to the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from ..arrays import Vectors
from ..limit import Limit, mirror_limit
from .ancestry import lineage, measure_from_ancestor
from .skeleton import Skeleton, forward

WORDS = ("Left", "Right"), ("left", "right"), ("LEFT", "RIGHT")
LETTERS = ("L", "R"), ("l", "r")
AXIS_TOLERANCE = np.radians(5.0)
"""A normal this near to a coordinate axis, in radians, is taken to be along it."""


def other_sides(name: str) -> Iterator[str]:
    """Yield what the partner of a joint may be called, the surest first.

    Left and right change places, then L and R that stand apart ("L_Arm", "arm.l", "Bip01 R Foot"),
    then those that a name begins or ends with ("LThumb", "lhumerus", "ArmR").
    """
    for pairs, pattern in (
        (WORDS, "{}"),
        (LETTERS, r"(?<![^\W\d_]){}(?![^\W\d_])"),
        (LETTERS, r"\b{}(?=\w)"),
        (LETTERS, r"(?<=\w){}\b"),
    ):
        for pair in pairs:
            for one, other in (pair, pair[::-1]):
                swapped = re.sub(pattern.format(one), other, name)
                if swapped != name:
                    yield swapped


def partner(name: str, names: Iterable[str]) -> str | None:
    """Return which of `names` is the joint of the other side; None if there is none."""
    known = set(names)
    return next((other for other in other_sides(name) if other in known), None)


def mirror_normal(skeleton: Skeleton) -> Vectors:
    """Return the unit normal (3,) of the plane between the sides, from the places at rest.

    It is the direction in which partners stand apart the most. Near a coordinate axis it is that:
    people are not built to the last digit, but skeletons are meant so.
    """
    places = forward(skeleton, skeleton.rest_pose())[0]
    pairs = [
        (joint, skeleton.index(other))
        for joint, name in enumerate(skeleton.names)
        if (other := partner(name, skeleton.names)) is not None
    ]
    apart = np.array([places[one] - places[other] for one, other in pairs]).reshape(-1, 3)
    if not (np.linalg.norm(apart, axis=1) > 1e-9).any():
        raise ValueError("a mirror needs a joint on either side that differ in place, got none")
    normal: Vectors = np.linalg.svd(apart)[2][0]
    axis = int(np.abs(normal).argmax())
    if np.linalg.norm(np.delete(normal, axis)) <= np.sin(AXIS_TOLERANCE):
        return np.asarray(np.eye(3)[axis])
    return normal


def partner_limit(skeleton: Skeleton, name: str, limit: Limit) -> tuple[str, Limit]:
    """Return the partner of a joint, and for it what a mirror shows of the joint's limit.

    What is measured from an ancestor is measured from that one's partner there, if it has one.
    Frames at rest are all parallel, so that one plane is the mirror for every joint.
    """
    other = partner(name, skeleton.names)
    if other is None:
        raise ValueError(f"no joint of this skeleton is called like {name} on the other side")
    above = limit.relative_to
    if above is not None:
        above = partner(above, skeleton.names) or above
    there = replace(mirror_limit(limit, mirror_normal(skeleton)), relative_to=above)
    return other, copy_limit(skeleton, other, there)


def copy_limit(skeleton: Skeleton, name: str, limit: Limit) -> Limit:
    """Return a limit as the joint of this name can have it: the same rotations are legal.

    They are measured from the same ancestor, which must be above the joint. Roots have no limits.
    """
    if skeleton.parents[skeleton.index(name)] < 0:
        raise ValueError(f"{name} is a root: nothing is above it that could limit it")
    return measure_from_ancestor(limit, lineage(skeleton, name, limit.relative_to), skeleton)
