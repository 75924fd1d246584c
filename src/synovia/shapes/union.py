"""Union: several reach cones as one shape, for what no single star polygon can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Floats, Ints, Mask, Points, Scalars, Vectors, unit_vectors
from ..kernels.layout import UNION
from .directional import Directional, unit_directions
from .reach_cone.cone import ReachCone
from .region import sample_points

ROUNDS = 20


@dataclass(frozen=True, eq=False)
class Union(Directional):
    """All points that are in any of `parts`, which are reach cones."""

    parts: tuple[ReachCone, ...]

    name: ClassVar[str] = "union"
    kernel: ClassVar[int | None] = UNION

    def __post_init__(self) -> None:
        parts = tuple(self.parts)
        if not parts or not all(isinstance(part, ReachCone) for part in parts):
            raise ValueError(f"Union.parts must be one or more reach cones, got {self.parts!r:.80}")
        object.__setattr__(self, "parts", parts)

    @classmethod
    def fit(cls, points: Points, *, parts: int = 2, **options: Any) -> Self:
        """Return up to so many cones around `points` (n, 4).

        Samples are split by direction into groups about their means; each gets a cone of its own.
        Further options go to the fit of those.
        """
        points = sample_points(points, (4,))
        if parts < 1:
            raise ValueError(f"parts must be at least 1, got {parts}")
        group = _group_directions(unit_directions("points to fit", points[:, :3]), parts)
        return cls(tuple(ReachCone.fit(points[group == k], **options) for k in np.unique(group)))

    @classmethod
    def fit_options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        return super().fit_options(given) | ReachCone.fit_options(given)

    @cached_property
    def packed(self) -> Floats:
        parts = [part.packed for part in self.parts]
        return np.concatenate([[UNION, len(parts)], *parts])

    def nearest_direction(self, directions: Vectors) -> tuple[Vectors, Scalars]:
        nearest = [part.nearest_direction(directions) for part in self.parts]
        angles = np.stack([angle for _, angle in nearest])
        best = angles.argmin(axis=0)[None]
        feet = np.take_along_axis(np.stack([foot for foot, _ in nearest]), best[..., None], 0)
        return feet[0], np.take_along_axis(angles, best, 0)[0]

    def contains_direction(self, directions: Vectors) -> Mask:
        inside = [part.contains_direction(directions) for part in self.parts]
        return np.asarray(np.any(inside, axis=0))

    def twist_range(self, directions: Vectors) -> Floats:
        """Return the least and greatest twist (..., 2) of the parts that have the direction.

        Between the intervals of two parts there may be a gap. Directions that no part has get
        the limits of all.
        """
        ranges = np.stack([part.twist_range(directions) for part in self.parts])
        legal = np.stack([part.contains_direction(directions) for part in self.parts])
        legal |= ~legal.any(axis=0)
        low = np.where(legal, ranges[..., 0], np.inf).min(axis=0)
        return np.stack([low, np.where(legal, ranges[..., 1], -np.inf).max(axis=0)], axis=-1)

    @property
    def twist_bounds(self) -> tuple[float, float]:
        ends = [part.twist_bounds for part in self.parts]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def mirror(self, turn: Floats, about: Points, normal: Vectors) -> Self:
        return type(self)(tuple(part.mirror(turn, about, normal) for part in self.parts))


def _group_directions(directions: Vectors, parts: int) -> Ints:
    """Return the group of each direction: nearest of so many means, from far-apart starts."""
    centers = directions[:1]
    for _ in range(parts - 1):
        nearest = (directions @ centers.T).max(axis=1)
        farthest = int(nearest.argmin())
        if nearest[farthest] > 1.0 - 1e-12:
            break
        centers = np.concatenate([centers, directions[farthest : farthest + 1]])
    for _ in range(ROUNDS):
        group = (directions @ centers.T).argmax(axis=1)
        sums = np.stack(
            [np.bincount(group, directions[:, k], minlength=len(centers)) for k in range(3)], axis=1
        )
        lost = np.linalg.norm(sums, axis=1) < 1e-9
        moved = np.where(lost[:, None], centers, unit_vectors(np.where(lost[:, None], 1.0, sums)))
        if np.abs(moved - centers).max() < 1e-12:
            break
        centers = moved
    return np.asarray((directions @ centers.T).argmax(axis=1))
