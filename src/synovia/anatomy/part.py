"""Parts of a figure, built one by one, and how they are joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Vectors
from ..components import Figure, JointSet
from ..skeleton import Skeleton

ACROSS = np.array([1.0, 0.0, 0.0])
"""To the person's left: the normal of the plane between the sides."""


@dataclass(frozen=True, eq=False)
class Part:
    """Segments of a figure, by name, and the joint sets that move them.

    `parents` name each segment's parent, of this or another part, or None for a root. `offsets`
    are where a segment's frame is in its parent's at rest, `ends` the tips of its bone in its own
    frame; both in metres.
    """

    parents: Mapping[str, str | None]
    offsets: Mapping[str, ArrayLike]
    joint_sets: Mapping[str, JointSet]
    ends: Mapping[str, Sequence[ArrayLike]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, names in (("offsets", self.offsets), ("ends", self.ends)):
            odd = set(names) - set(self.parents)
            if what == "offsets":
                odd |= set(self.parents) - set(names)
            if odd:
                raise ValueError(
                    f"Part.{what} must be for the part's segments, "
                    f"{', '.join(self.parents)}, got {', '.join(sorted(odd))}"
                )

    def mirrored(self) -> Part:
        """Return the part of the other side: Left and Right, left and right change places."""
        return Part(
            {
                other_side(name): None if parent is None else other_side(parent)
                for name, parent in self.parents.items()
            },
            {other_side(name): mirrored(offset) for name, offset in self.offsets.items()},
            {other_side(name): _mirrored_set(each) for name, each in self.joint_sets.items()},
            {other_side(name): [mirrored(end) for end in ends] for name, ends in self.ends.items()},
        )


def join(*parts: Part, name: str = "") -> Figure:
    """Return the figure of all parts; each segment is followed by all that hangs on it."""
    parents: dict[str, str | None] = {}
    offsets: dict[str, ArrayLike] = {}
    joint_sets: dict[str, JointSet] = {}
    for part in parts:
        for known, new in ((parents, part.parents), (joint_sets, part.joint_sets)):
            twice = sorted(set(known) & set(new))
            if twice:
                raise ValueError(f"parts must differ in their names, got {twice[0]!r} twice")
        parents |= part.parents
        offsets |= part.offsets
        joint_sets |= part.joint_sets
    for segment, parent in parents.items():
        if parent is not None and parent not in parents:
            raise ValueError(f"the parent of {segment!r} must be in a part, got {parent!r}")
    names = _depth_first(parents)
    ends = [(owner, end) for part in parts for owner in part.ends for end in part.ends[owner]]
    places = {segment: place for place, segment in enumerate(names)}
    skeleton = Skeleton(
        names,
        np.array([places.get(parents[each] or "", -1) for each in names]),
        np.array([np.asarray(offsets[each], dtype=float) for each in names]),
        end_parents=np.array([places[owner] for owner, _ in ends], np.int64),
        end_offsets=np.array([np.asarray(end, dtype=float) for _, end in ends]).reshape(-1, 3),
    )
    return Figure(skeleton, joint_sets, name)


def other_side(name: str) -> str:
    """Return a name with Left and Right, left and right exchanged."""
    for left, right in (("Left", "Right"), ("left", "right")):
        if left in name:
            return name.replace(left, right)
        if right in name:
            return name.replace(right, left)
    return name


def mirrored(point: ArrayLike) -> Vectors:
    """Return a point or a direction (..., 3) of the other side."""
    return np.asarray(np.asarray(point, dtype=float) * (1.0 - 2.0 * ACROSS))


def _mirrored_set(joint_set: JointSet) -> JointSet:
    network = joint_set.network
    names = {name: other_side(name) for name in network.outputs}
    return JointSet(network.mirrored(ACROSS, names), joint_set.controls)


def _depth_first(parents: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the names, each followed by all that hangs on it, as files have them."""
    children: dict[str | None, list[str]] = {}
    for segment, parent in parents.items():
        children.setdefault(parent, []).append(segment)
    names: list[str] = []
    waiting = children.get(None, [])[::-1]
    while waiting:
        names.append(waiting.pop())
        waiting += children.get(names[-1], [])[::-1]
    if len(names) < len(parents):
        lost = next(segment for segment in parents if segment not in names)
        raise ValueError(f"every segment must hang on a root, got {lost!r} on a ring of parents")
    return tuple(names)
