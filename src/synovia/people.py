"""Where people go: how far rotations are from what several people did, and the field of it.

A rotation is as far away from a person as from the nearest of the person's frames. Of the nearest
people, a third of all and at most ten, those nearer than the rest may be strays: the mean over the
farther half counts. Accepted is what is near enough; how near that is, is chosen by leaving each
person out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from . import kernels, quat
from .arrays import Floats, Ints, Mask, Points, Quats, Scalars, Vectors
from .charts import Chart
from .density import field_below, steady
from .enclosure import Enclosure
from .limit import Limit, chart_named
from .shapes.field_build import grid_around, node_points
from .takes import Take

CELL = 0.02
"""Frames of a person within a cell of this size, in radians, are taken for one."""
MOST = 10
"""So many of the nearest people are asked at most."""
STRAY = np.radians(30.0)
"""Frames count as no farther than this, in radians, from half as many others."""


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
            own = np.concatenate([steady(take) for take in takes if take.performer == name])
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
        return min(max(round(int(self.counted.sum()) / 3), 1), MOST)

    @property
    def few(self) -> int:
        """How many people are few: what fewer do may be a stray."""
        return max(self.asked // 2, 1)

    @cached_property
    def own(self) -> list[Mask]:
        """Which rotations are each performer's."""
        return [self.who == k for k in range(len(self.performers))]

    @cached_property
    def each(self) -> list[Quats]:
        """The rotations of each performer."""
        return [self.rotations[own] for own in self.own]

    @cached_property
    def enclosure(self) -> Enclosure:
        """What people did and what lies between; what few others come near is pulled inwards."""
        met = np.where(np.arange(len(self.performers)) == self.who[:, None], np.inf, self.apart)
        others = np.repeat(met, self.counted, axis=1)
        far = np.partition(others, self.few - 1, axis=1)[:, self.few - 1]
        alone = ~np.isfinite(far) | (self.counted[self.who] > 1)
        return Enclosure.around(self.rotations, np.where(alone, 0.0, np.maximum(far - STRAY, 0.0)))

    def far(self, rotations: Quats) -> Scalars:
        """Return how far each of the rotations (n, 4) is from what people do, in radians."""
        return self.nearness(distances(rotations, self.each))

    def nearness(self, apart: Floats) -> Scalars:
        """Return the same of rotations that are `apart` from each performer: (n, performers)."""
        nearest = np.sort(np.repeat(apart, self.counted, axis=1), axis=1)
        return np.asarray(nearest[:, self.asked // 2 : self.asked].mean(axis=1))

    def each_and_others(self) -> Iterator[tuple[Quats, Floats, Ints]]:
        """Yield each performer's rotations, how far they are from all others, and their frames."""
        if len(self.performers) < 2:
            raise ValueError(f"leaving one out needs two performers, got {self.performers}")
        for k, own in enumerate(self.own):
            yield self.rotations[own], np.delete(self.apart[own], k, axis=1), self.frames[own]

    def held_out(self) -> list[tuple[Scalars, Ints]]:
        """Return, for each performer, how far they go from all others, and in how many frames."""
        return [
            (self.without(k).nearness(apart), frames)
            for k, (_, apart, frames) in enumerate(self.each_and_others())
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
        return field_of(
            self.far,
            within,
            self.rotations,
            chart,
            reach=within,
            steep=1.0,
            reference=quat.mean(self.rotations) if reference is None else reference,
            resolution=resolution,
            axis=axis,
        )


class Crowd(Protocol):
    """People of whom each can be left out."""

    def held_out(self) -> list[tuple[Scalars, Ints]]:
        """Return, for each performer, how far they go from all others, and in how many frames."""


def within_for(reject: float, people: Crowd) -> tuple[float, float]:
    """Return how near to people, in radians, rejects at most `reject` of held-out frames.

    Of a panel, that is how large a region. Also the share that it rejects, the mean over
    performers, each held against all others.
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
        kernels.density.nearest_cosine(asked, np.ascontiguousarray(own, dtype=np.float64), row)
    return np.asarray(2.0 * np.arccos(np.minimum(cosines, 1.0)).T)


def field_of(
    far: Callable[[Quats], Scalars],
    within: float,
    rotations: Quats,
    chart: str | type[Chart],
    *,
    reach: float,
    steep: float,
    reference: Quats,
    resolution: int,
    axis: Vectors | None,
) -> Limit:
    """Return what is `far` by at most `within` radians, as a field of distances.

    It is `reach` radians around `rotations` at most, and `far` changes by at most `steep` times the
    angle between rotations.
    """
    framed = chart_named(chart, reference, axis)
    points = framed.points(rotations)
    low, spacing, count = _grid(points, reach, resolution, framed.periods)
    nodes = framed.rotations(node_points(low, spacing, count).reshape(-1, 3))
    values = far(nodes).reshape(count)
    # Between nodes around a narrow region values may be too large by half a cell's diagonal.
    narrowest = 0.5 * steep * float(np.linalg.norm(spacing))
    return field_below(values - max(within, narrowest, values.min()), framed, low, spacing)


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
