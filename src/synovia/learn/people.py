"""Where people go: how far rotations are from what several people did, and the field of it.

A rotation is as far away from a person as from the nearest of the person's frames. Of the nearest
people, a third of all and at most ten, those nearer than the rest may be strays: the mean over the
farther half counts. Accepted is what is near enough; how near that is, is chosen by leaving each
person out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Ints, Mask, Points, Quats, Scalars, Vectors
from ..charts import Chart
from ..limit import Limit, chart_named
from ..shapes.distance_field.build import grid_around, node_points
from .density import drop_flips, field_below
from .takes import Take

CELL = 0.02
"""Frames of a person within a cell of this size, in radians, are taken for one."""
MAX_PEOPLE = 10
"""So many of the nearest people are asked at most."""


@dataclass(frozen=True, eq=False)
class People:
    """One joint of several people: `rotations` (n, 4), `who` did each, and in how many `frames`."""

    performers: tuple[str, ...]
    counted: Ints
    """How many people each performer counts for."""
    rotations: Quats
    who: Ints
    frames: Ints
    apart: Floats
    """How far each rotation is from each performer, in radians: (n, performers)."""

    @classmethod
    def of(cls, takes: Sequence[Take]) -> People:
        """Return the people of one joint's takes, capture flips aside."""
        if not takes:
            raise ValueError("people need at least one take, got none")
        names = tuple(dict.fromkeys(take.performer for take in takes))
        rotations, frames = [], []
        for name in names:
            own = np.concatenate([drop_flips(take) for take in takes if take.performer == name])
            cells = np.floor(quat.log(own) / CELL).astype(np.int64)
            _, first, count = np.unique(cells, axis=0, return_index=True, return_counts=True)
            rotations.append(own[first])
            frames.append(count)
        counts = {take.performer: take.people for take in takes}
        every = np.concatenate(rotations)
        return cls(
            performers=names,
            counted=np.array([counts[name] for name in names]),
            rotations=every,
            who=np.repeat(np.arange(len(names)), [len(own) for own in rotations]),
            frames=np.concatenate(frames),
            apart=distances(every, rotations),
        )

    def without(self, performer: int) -> People:
        """Return the others."""
        others = np.arange(len(self.performers)) != performer
        kept = self.who != performer
        return replace(
            self,
            performers=tuple(np.array(self.performers)[others].tolist()),
            counted=self.counted[others],
            rotations=self.rotations[kept],
            who=self.who[kept] - (self.who[kept] > performer),
            frames=self.frames[kept],
            apart=self.apart[np.ix_(kept, others)],
        )

    @property
    def asked(self) -> int:
        """How many of the nearest people are asked."""
        return min(max(round(int(self.counted.sum()) / 3), 1), MAX_PEOPLE)

    @cached_property
    def own(self) -> list[Mask]:
        """Which rotations are each performer's."""
        return [self.who == k for k in range(len(self.performers))]

    @cached_property
    def each(self) -> list[Quats]:
        """The rotations of each performer."""
        return [self.rotations[own] for own in self.own]

    def far(self, rotations: Quats) -> Scalars:
        """Return how far each of the rotations (n, 4) is from what people do, in radians."""
        return self.nearness(distances(rotations, self.each))

    def nearness(self, apart: Floats) -> Scalars:
        """Return the same of rotations that are `apart` from each performer: (n, performers)."""
        nearest = np.sort(np.repeat(apart, self.counted, axis=1), axis=1)
        return np.asarray(nearest[:, self.asked // 2 : self.asked].mean(axis=1))

    def held_out(self) -> list[tuple[Scalars, Ints]]:
        """Return, for each performer, how far they go from all others, and in how many frames."""
        if len(self.performers) < 2:
            raise ValueError(f"leaving one out needs two performers, got {self.performers}")
        return [
            (self.without(k).nearness(np.delete(self.apart[own], k, axis=1)), self.frames[own])
            for k, own in enumerate(self.own)
        ]

    def field(
        self,
        within: float,
        chart: str | type[Chart] = "rotation-vector",
        *,
        resolution: int = 32,
        reference: Quats | None = None,
        axis: Vectors | None = None,
    ) -> Limit:
        """Return what is at most `within` radians from what people do, as a field of distances.

        Regions narrower than the grid tells, as a hinge's, are as wide as it takes to hold them.
        """
        if not within > 0.0:
            raise ValueError(f"within must be above 0 radians, got {within}")
        mean = quat.mean(self.rotations) if reference is None else reference
        framed = chart_named(chart, mean, axis)
        points = framed.points(self.rotations)
        low, spacing, count = _grid(points, within, resolution, framed.periods)
        nodes = framed.rotations(node_points(low, spacing, count).reshape(-1, 3))
        values = self.far(nodes).reshape(count)
        # Between nodes around a narrow region values may be too large by half a cell's diagonal.
        narrowest = 0.5 * float(np.linalg.norm(spacing))
        return field_below(values - max(within, narrowest, values.min()), framed, low, spacing)


def within_for(reject: float, people: People) -> tuple[float, float]:
    """Return how near to people, in radians, rejects at most `reject` of held-out frames.

    Also the share that it rejects, the mean over performers, each held against all others.
    """
    if not 0.0 < reject < 1.0:
        raise ValueError(f"reject must be a share between 0 and 1, got {reject}")
    held = people.held_out()

    def rejected(within: float) -> float:
        shares = [float(np.average(far > within, weights=frames)) for far, frames in held]
        return float(np.mean(shares))

    low, high = 0.0, np.pi
    for _ in range(13):  # to a fortieth of a degree
        middle = 0.5 * (low + high)
        low, high = (low, middle) if rejected(middle) <= reject else (middle, high)
    return high, rejected(high)


def distances(rotations: Quats, people: Sequence[Quats]) -> Floats:
    """Return how far each rotation is from the nearest one of each person, in radians."""
    asked = np.ascontiguousarray(rotations, dtype=np.float64)
    cosines = np.empty((len(people), len(asked)))
    for row, own in zip(cosines, people, strict=True):
        kernels.learn.nearest_cosine(asked, np.ascontiguousarray(own, dtype=np.float64), row)
    return np.asarray(2.0 * np.arccos(np.minimum(cosines, 1.0)).T)


def _grid(
    points: Points, within: float, resolution: int, periods: tuple[float, ...]
) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Return low, spacing and counts of a grid around all that is `within` radians of points."""
    if any(periods):
        return grid_around(points, within, 2.0, resolution, periods)
    # Half a turn from the reference, an angle is π/2 times as long in the chart; none is beyond.
    reach = 0.5 * np.pi * within
    ends = np.stack([points.min(axis=0) - reach, points.max(axis=0) + reach])
    return grid_around(np.clip(ends, -np.pi, np.pi), 0.0, 1.0, resolution, periods)
