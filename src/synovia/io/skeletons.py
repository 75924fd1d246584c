"""Skeletons and clips in files: a skeleton as JSON, order, and bounds on what a file may hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np

from ..arrays import EachWithin, Floats, Ints, Vectors, Within
from ..skeleton import Clip, Skeleton

MAX_JOINTS = 20_000  # of a skeleton in a file
MAX_LENGTH = 1e9  # in the file's unit: larger lengths are taken for mistakes
MIN_FRAME_TIME, MAX_FRAME_TIME = 1e-6, 1e4  # seconds
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)
Channel = Literal["Xposition", "Yposition", "Zposition", "Zrotation", "Xrotation", "Yrotation"]


@dataclass(frozen=True, eq=False)
class StoredSkeleton:
    """A skeleton."""

    names: tuple[str, ...]
    """Names of the joints, all different."""
    parents: Annotated[Ints, "n", EachWithin(-1, math.inf)]
    """Index of each joint's parent, which comes before it; -1 for a root."""
    offsets: Annotated[Vectors, "n", 3]
    """From the parent to the joint, in the unit of the clips."""
    channels: tuple[tuple[Channel, ...], ...] = ()
    """Channels of each joint, as in BVH."""
    end_parents: Annotated[Ints, "e", EachWithin(0, math.inf)] = field(
        default_factory=lambda: np.zeros(0, np.int64)
    )
    """The joint of each end site."""
    end_offsets: Annotated[Vectors, "e", 3] = field(default_factory=lambda: np.zeros((0, 3)))
    """From that joint to the end site."""
    up: Literal["x", "y", "z"] | None = None
    """The axis that is up; missing if unknown."""
    unit: Annotated[float, Within(0, math.inf)] = 0.0
    """Metres of a unit of length; missing if unknown."""

    @classmethod
    def of(cls, skeleton: Skeleton, **others: Any) -> Self:
        """Return a skeleton as it is stored, with the fields that a subclass adds."""
        names = {field.name for field in fields(cls)} - others.keys()
        stored = {name: getattr(skeleton, name) for name in names}
        return cls(**stored | {"up": skeleton.up or None}, **others)

    def skeleton(self) -> Skeleton:
        """Return the skeleton; ValueError if its parts do not fit together."""
        names = {field.name for field in fields(self)} & {field.name for field in fields(Skeleton)}
        return Skeleton(**{name: getattr(self, name) for name in names} | {"up": self.up or ""})


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return lists of items with the same key, in order."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def depth_first(
    roots: Sequence[Item], children: Callable[[Item], Sequence[Item]]
) -> Iterator[Item]:
    """Yield items of trees depth first; `children` is called after its item is yielded."""
    stack = [*reversed(roots)]
    while stack:
        item = stack.pop()
        yield item
        stack += reversed(children(item))


def check_numbers(what: str, values: Floats, limit: float) -> None:
    """Raise ValueError unless all numbers are finite and at most `limit`."""
    fine = np.abs(values) <= limit
    if not fine.all():
        where = np.argwhere(~fine)[0].tolist()
        raise ValueError(
            f"{what}: expected finite numbers of at most {limit:.4g}, "
            f"got {values[tuple(where)]} at {where}"
        )


def check_skeleton(skeleton: Skeleton, limit: float = MAX_LENGTH) -> None:
    """Raise ValueError for too many joints, or offsets beyond `limit`, in the file's unit."""
    if len(skeleton) > MAX_JOINTS:
        raise ValueError(f"expected at most {MAX_JOINTS} joints, got {len(skeleton)}")
    check_numbers("offsets of joints", skeleton.offsets, limit)
    check_numbers("offsets of end sites", skeleton.end_offsets, limit)


def check_clip(clip: Clip) -> None:
    """Raise ValueError for implausible lengths, positions, or times from frame to frame."""
    check_skeleton(clip.skeleton)
    check_frame_time(clip.frame_time)
    fine = np.abs(clip.pose.positions) <= MAX_LENGTH
    if not fine.all():
        frame, joint, axis = np.argwhere(~fine)[0].tolist()
        raise ValueError(
            f"expected positions of at most {MAX_LENGTH:g}, got "
            f"{clip.pose.positions[frame, joint, axis]} for {clip.skeleton.names[joint]:.60} in "
            f"frame {frame}"
        )


def check_frame_time(seconds: float) -> float:
    """Return `seconds`; ValueError unless it is a plausible time from frame to frame."""
    if not MIN_FRAME_TIME <= seconds <= MAX_FRAME_TIME:
        raise ValueError(
            f"expected {MIN_FRAME_TIME:g} to {MAX_FRAME_TIME:g} seconds from frame to frame, "
            f"got {seconds:g}"
        )
    return seconds
