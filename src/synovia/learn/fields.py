"""Distance fields of what was observed: of paths in time, and of people.

`field_from_paths` holds all that was seen, without gaps between frames.

`People` measures how far a rotation is from what several people did. It is as far from a person as
from the nearest of the person's frames. Of the nearest people, a third of all and at most ten,
those nearer than the rest may be strays: the mean over the farther half counts. Accepted is what is
near enough; how near is chosen by leaving each performer out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Ints, Points, Quats, Scalars, Vectors, unit_quats
from ..charts import Chart
from ..limit import Limit, chart_named, unroll_paths
from ..shapes import DistanceField
from ..shapes.distance_field.build import grid_around, node_points, redistance
from .margins import HeldOut, Promise, promise
from .takes import Take
from .trimming import COUNTED_CELL, thin_takes

MAX_HALVINGS = 12  # of a step in time; then it is a jump, and stays one


def field_from_paths(
    paths: Sequence[Quats],
    chart: str | type[Chart] = "rotation-vector",
    *,
    margin: float = 0.0,
    resolution: int = 32,
    bridged: bool = False,
    reference: Quats | None = None,
    axis: Vectors | None = None,
    **options: Any,
) -> Limit:
    """Return the field around paths (frames, 4) in time, without gaps between their frames.

    Between neighbours in time rotations are added by slerp until no gap in the chart exceeds half
    a cell.

    Parameters
    ----------
    paths
        Rotations (frames, 4) of one joint, one array a path.
    chart
        A chart by name or class.
    margin
        How much wider than the paths the field is, in radians.
    resolution
        Nodes of the grid along its longest side.
    bridged
        Whether to join the last frame of each path to the first of the next.
    reference
        The rotation (4,) that the chart is about; the mean of all frames unless given.
    axis
        The direction (3,) of the bone, for charts that need it.
    **options
        Of `DistanceField.fit`.
    """
    given = [unit_quats("paths", path).astype(np.float64) for path in paths]
    given = [path for path in given if path.size]
    if not given or any(path.ndim != 2 for path in given):
        raise ValueError("paths must be a list of arrays (frames, 4), with at least one frame")
    if reference is None:
        reference = quat.mean(np.concatenate(given))
    framed = chart_named(chart, reference, axis).align(np.concatenate(given))
    if bridged:
        given = [np.concatenate(given)]
    # Frames between others lie where those do, about: the first grid tells the cell.
    coarse = unroll_paths(framed, given)
    threshold = float(options.get("threshold", 1.0))
    _, spacing, _ = grid_around(coarse, margin, threshold + 2.0, resolution, framed.periods)
    dense = [subdivide(path, framed, 0.5 * float(spacing.min())) for path in given]
    points = unroll_paths(framed, dense)
    options = {"resolution": resolution, "periods": framed.periods, **options}
    return Limit(framed, DistanceField.fit(points, margin=margin, **options))


def subdivide(path: Quats, chart: Chart, gap: float) -> Quats:
    """Return a path with slerps between its frames, so that no step in the chart exceeds `gap`.

    A step that goes through a chart's singularity stays longer than that, however often halved.
    """
    if not gap > 0.0:
        raise ValueError(f"gap must be above 0 radians, got {gap}")
    for _ in range(MAX_HALVINGS):
        steps = np.linalg.norm(np.diff(chart.unroll(path), axis=0), axis=-1)
        wide = np.flatnonzero(steps > gap)
        if len(wide) == 0:
            break
        middles = quat.slerp(path[wide], path[wide + 1], np.full(len(wide), 0.5))
        path = np.insert(path, wide + 1, middles, axis=0)
    return path


def field_below(values: Scalars, chart: Chart, low: Floats, spacing: Floats) -> Limit:
    """Return where `values` (I, J, K) on a grid are at most 0, as true distances, in radians."""
    wraps = np.asarray(chart.periods) > 0.0
    if (values > 0.0).any():
        values = redistance(values, 0.0, low, spacing, wraps)
    return Limit(chart, DistanceField(low, spacing, values, 0.0, wraps.astype(float)))


MAX_PEOPLE = 10
"""At most so many of the nearest people matter to a distance."""
MIN_WITHIN = 0.5 * COUNTED_CELL
"""The least distance from people, in radians: they are known by cells."""
MAX_WITHIN = np.radians(120.0)
"""The largest distance, in radians, that is tried for the rejection asked for."""
MAX_HELD_OUT = 32_768
"""Rotations that are held against others, at most: as many as a field of 32³ has nodes."""


@dataclass(frozen=True, eq=False)
class People:
    """One joint of several people: what each of them did, one rotation a cell."""

    performers: tuple[str, ...]
    person_counts: Ints
    """How many people each performer counts for."""
    rotations_by_performer: tuple[Quats, ...]
    """Of each performer one rotation a cell, (n, 4), capture flips aside."""
    frame_counts: tuple[Ints, ...]
    """How many frames each stands for: (n,)."""

    @classmethod
    def of(cls, takes: Sequence[Take]) -> People:
        """Return the people of one joint's takes, capture flips aside."""
        if not takes:
            raise ValueError("people need at least one take, got none")
        counted = [replace(take, counts=take.frame_counts) for take in takes]
        own = thin_takes(counted, attrgetter("performer"))
        return cls(
            performers=tuple(take.performer for take in own),
            person_counts=np.array([take.person_count for take in own]),
            rotations_by_performer=tuple(take.rotations for take in own),
            frame_counts=tuple(take.frame_counts for take in own),
        )

    def distance(self, rotations: Quats) -> Scalars:
        """Return how far each of the rotations (n, 4) is from what people do, in radians."""
        far = distances(rotations, self.rotations_by_performer)
        return combine(far, self.person_counts, self.neighbor_count)

    @property
    def neighbor_count(self) -> int:
        """How many of the nearest people matter to a distance."""
        return min(max(round(int(self.person_counts.sum()) / 3), 1), MAX_PEOPLE)

    def leave_one_out(self) -> list[HeldOut]:
        """Return, for each performer, how far they go from all others.

        As many of the nearest matter as with everybody. Of many rotations some are asked for, by
        how many frames they stand for.
        """
        if len(self.performers) < 2:
            raise ValueError(f"leaving one out needs two performers, got {self.performers}")
        most = max(MAX_HELD_OUT // len(self.performers), 1)
        found = []
        for k, (own, frames) in enumerate(
            zip(self.rotations_by_performer, self.frame_counts, strict=True)
        ):
            asked, counts = spread_evenly(frames, most)
            others = [each for j, each in enumerate(self.rotations_by_performer) if j != k]
            far = distances(own[asked], others)
            people = np.delete(self.person_counts, k)
            found.append(HeldOut(combine(far, people, self.neighbor_count), counts))
        return found

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

        Parameters
        ----------
        within
            Radians, above 0.
        chart, reference, axis
            As `field_from_paths` takes them; the reference is the mean of the cells unless given.
        resolution
            Nodes of the grid along its longest side.
        """
        if not within > 0.0:
            raise ValueError(f"within must be above 0 radians, got {within}")
        every = np.concatenate(self.rotations_by_performer)
        mean = quat.mean(every) if reference is None else reference
        framed = chart_named(chart, mean, axis).align(every)
        points = framed.points(every)
        low, spacing, count = _grid(points, within, resolution, framed.periods)
        nodes = framed.rotations(node_points(low, spacing, count).reshape(-1, 3))
        values = self.distance(nodes).reshape(count)
        # Between nodes around a narrow region values may be too large by half a cell's diagonal.
        narrowest = 0.5 * float(np.linalg.norm(spacing))
        return field_below(values - max(within, narrowest, values.min()), framed, low, spacing)


def within_for(reject: float, people: People) -> Promise:
    """Return how near to people it takes to reject a share `reject` of a newcomer's frames.

    The margin of what comes back is the distance, in radians.
    """
    return promise(reject, people.leave_one_out(), MIN_WITHIN, MAX_WITHIN)


def combine(performer_distances: Floats, person_counts: Ints, neighbor_count: int) -> Scalars:
    """Return the distance from people, from those from each performer: (n, performers)."""
    every = np.repeat(performer_distances, person_counts, axis=1)
    last = min(neighbor_count, every.shape[1])
    nearest = np.partition(every, (last // 2, last - 1), axis=1)
    return np.asarray(nearest[:, last // 2 : last].mean(axis=1))


def spread_evenly(frame_counts: Ints, most: int) -> tuple[Ints, Ints]:
    """Return at most so many cells, evenly over their frames, and what each of them counts."""
    if len(frame_counts) <= most:
        return np.arange(len(frame_counts)), frame_counts
    ends = np.cumsum(frame_counts)
    places = (np.arange(most) + 0.5) * (ends[-1] / most)
    asked, counts = np.unique(np.searchsorted(ends, places), return_counts=True)
    return asked, counts


def distances(rotations: Quats, people: Sequence[Quats]) -> Floats:
    """Return how far each rotation is from the nearest one of each person, in radians."""
    rotations = np.ascontiguousarray(rotations, dtype=np.float64)
    cosines = np.empty((len(people), len(rotations)))
    for row, own in zip(cosines, people, strict=True):
        kernels.learn.nearest_cosine(rotations, np.ascontiguousarray(own, dtype=np.float64), row)
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
