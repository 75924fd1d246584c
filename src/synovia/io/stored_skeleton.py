"""A skeleton as JSON, in limits files and in tables of motion."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, Self

import numpy as np

from ..arrays import EachWithin, Ints, Quats, Vectors, Within
from ..skeleton import Skeleton

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


@dataclass(frozen=True, eq=False, kw_only=True)
class TableHead(StoredSkeleton):
    """The first line of a table of motion: the skeleton, and what columns do not hold."""

    rest_rotations: Annotated[Quats, "n", 4] = field(default_factory=lambda: np.zeros((0, 4)))
    """World rotations of the joints' own frames at rest."""
    frame_time: float
    """Seconds from frame to frame."""
    float32: tuple[Literal["rotations", "positions"], ...] = ()
    """Arrays that had single precision."""
