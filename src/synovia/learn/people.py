"""Distance fields around what was captured: near to several people, or along paths in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Points, Quats, Scalars, Vectors, unit_quats
from ..charts import Chart
from ..limit import Limit, chart_named, unroll_paths
from ..shapes import DistanceField
from ..shapes.distance_field.grid import grid_around, node_points, redistance
from .margins import HeldOut
from .takes import Take
from .trimming import COUNTED_CELL, thin_takes

MAX_PEOPLE = 10  # nearest people that a distance averages over, at most
DEFAULT_WITHIN = np.radians(30.0)  # radians: the distance that is accepted without a rejection
MIN_WITHIN = 0.5 * COUNTED_CELL  # radians: rotations are known by cells
MAX_WITHIN = np.radians(120.0)  # radians: the greatest distance that is tried for a rejection
BLOCK = 256  # rotations that are compared at once, so that products stay in the cache
MAX_HALVINGS = 12  # of a step between frames of a path; longer ones are jumps
MAX_HELD_OUT = 32_768  # rotations tested when people are left out: as many as 32³ nodes


@dataclass(frozen=True, eq=False)
class People:
    """Estimator of a joint's limit from several people: the rotations near to many of them.

    The distance of a rotation from a person is that from the nearest of the person's frames. Of the
    nearest people, a third of all and at most `MAX_PEOPLE`, the mean over the farther half counts,
    so that one stray frame of one person is not enough. The limit is a distance field.
    """

    performers: tuple[str, ...]
    person_counts: Ints
    """How many people each performer counts for."""
    rotations_by_performer: tuple[Quats, ...]
    """One rotation a cell of each performer, (n, 4), without capture flips."""
    frame_counts: tuple[Ints, ...]
    """How many frames each rotation stands for: (n,)."""

    name: ClassVar[str] = "people"
    shape: ClassVar[str] = DistanceField.name
    """The shape of the limits that it returns."""

    @classmethod
    def of(cls, takes: Sequence[Take]) -> People:
        """Return the people of one joint's takes, without capture flips."""
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

    @classmethod
    def fit_options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of `field` that can be typed, with their types."""
        return {"resolution": int}

    def distance(self, rotations: Quats) -> Scalars:
        """Return the distance of each of the rotations (n, 4) from the people, in radians."""
        far = distances(rotations, self.rotations_by_performer)
        return combine(far, self.person_counts, self.neighbor_count)

    @property
    def neighbor_count(self) -> int:
        """The number of nearest people that a distance averages over."""
        return min(max(round(int(self.person_counts.sum()) / 3), 1), MAX_PEOPLE)

    def leave_one_out(self) -> list[HeldOut]:
        """Return the distances of each performer from all others.

        The number of nearest people is that of the whole group. Of many rotations a subset is
        tested, spread evenly over their frames.
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
        """Return the rotations at most `within` radians from the people, as a distance field.

        Regions too narrow for the grid, like a hinge's, are widened to half a cell's diagonal.

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
        values -= max(within, 0.5 * float(np.linalg.norm(spacing)), float(values.min()))
        wraps = np.asarray(framed.periods) > 0.0
        if (values > 0.0).any():
            values = redistance(values, 0.0, low, spacing, wraps)
        return Limit(framed, DistanceField(low, spacing, values, 0.0, wraps.astype(float)))


def combine(performer_distances: Floats, person_counts: Ints, neighbor_count: int) -> Scalars:
    """Return distances from people (n,), given those from each performer (n, performers)."""
    every = np.repeat(performer_distances, person_counts, axis=1)
    last = min(neighbor_count, every.shape[1])
    nearest = np.partition(every, (last // 2, last - 1), axis=1)
    return np.asarray(nearest[:, last // 2 : last].mean(axis=1))


def spread_evenly(frame_counts: Ints, most: int) -> tuple[Ints, Ints]:
    """Return indices of at most `most` cells, evenly over their frames, and their counts."""
    if len(frame_counts) <= most:
        return np.arange(len(frame_counts)), frame_counts
    ends = np.cumsum(frame_counts)
    places = (np.arange(most) + 0.5) * (ends[-1] / most)
    asked, counts = np.unique(np.searchsorted(ends, places), return_counts=True)
    return asked, counts


def distances(rotations: Quats, people: Sequence[Quats]) -> Floats:
    """Return the angle of each rotation to the nearest of each person: (n, people), radians."""
    rotations = np.asarray(rotations, dtype=np.float64)
    cosines = np.empty((len(rotations), len(people)))  # of half the angles
    for start in range(0, len(rotations), BLOCK):
        block = rotations[start : start + BLOCK]
        for column, own in enumerate(people):
            dots = block @ own.T
            nearest = np.maximum(dots.max(axis=1, initial=0.0), -dots.min(axis=1, initial=0.0))
            cosines[start : start + BLOCK, column] = nearest
    return np.asarray(2.0 * np.arccos(np.minimum(cosines, 1.0)))


def _grid(
    points: Points, within: float, resolution: int, periods: tuple[float, ...]
) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Return low, spacing and counts of a grid around all points `within` radians of some."""
    if any(periods):
        return grid_around(points, within, 2.0, resolution, periods)
    # Half a turn from the reference, distances in the chart are π/2 times the angle.
    reach = 0.5 * np.pi * within
    ends = np.stack([points.min(axis=0) - reach, points.max(axis=0) + reach])
    return grid_around(np.clip(ends, -np.pi, np.pi), 0.0, 1.0, resolution, periods)


ESTIMATORS: dict[str, type[People]] = {People.name: People}
"""Estimators of limits by name, which may be given in place of a shape."""


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

    Rotations are inserted by slerp until no step in the chart exceeds half a cell.

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
    # Inserted frames hardly change the extent, so the cell size is known before.
    coarse = unroll_paths(framed, given)
    threshold = float(options.get("threshold", 1.0))
    _, spacing, _ = grid_around(coarse, margin, threshold + 2.0, resolution, framed.periods)
    dense = [subdivide(path, framed, 0.5 * float(spacing.min())) for path in given]
    points = unroll_paths(framed, dense)
    options = {"resolution": resolution, "periods": framed.periods, **options}
    return Limit(framed, DistanceField.fit(points, margin=margin, **options))


def subdivide(path: Quats, chart: Chart, gap: float) -> Quats:
    """Return a path with frames inserted by slerp, so that no step in the chart exceeds `gap`.

    `gap` is in radians. A step through a singularity of the chart may stay longer.
    """
    if not gap > 0.0:
        raise ValueError(f"gap must be above 0 radians, got {gap}")
    for _ in range(MAX_HALVINGS):
        steps = np.linalg.norm(np.diff(chart.follow(chart.points(path)), axis=0), axis=-1)
        wide = np.flatnonzero(steps > gap)
        if len(wide) == 0:
            break
        middles = quat.slerp(path[wide], path[wide + 1], np.full(len(wide), 0.5))
        path = np.insert(path, wide + 1, middles, axis=0)
    return path
