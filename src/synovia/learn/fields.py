"""Distance fields of what was observed: of paths in time, of densities, and of people.

`field_from_paths` holds all that was seen, without gaps between frames.

`Density` counts, for each performer, the time spent near a rotation, weighted by a Gaussian of the
angle between the two, and capped at a second, so that nobody counts twice. The score is the mean
over performers: 1 where everybody spends a second or more. Accepted is what scores above a level. A
performer who counts for many people weighs as much as they would.

`People` measures how far a rotation is from what several people did. It is as far from a person as
from the nearest of the person's frames. Of the nearest people, a third of all and at most ten,
those nearer than the rest may be strays: the mean over the farther half counts. Accepted is what is
near enough. Level and nearness are chosen by leaving each performer out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Ints, Mask, Points, Quats, Scalars, Vectors, unit_quats
from ..charts import Chart
from ..limit import Limit, chart_named, unroll_path
from ..shapes import DistanceField
from ..shapes.distance_field.build import grid_around, node_points, redistance
from ..shapes.distance_field.packing import interpolate
from .takes import Take
from .trimming import rotation_tree

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
    framed = chart_named(chart, reference, axis)
    if bridged:
        given = [np.concatenate(given)]
    # Frames between others lie where those do, about: the first grid tells the cell.
    coarse = np.concatenate([unroll_path(framed, path) for path in given])
    threshold = float(options.get("threshold", 1.0))
    _, spacing, _ = grid_around(coarse, margin, threshold + 2.0, resolution, framed.periods)
    dense = [subdivide(path, framed, 0.5 * float(spacing.min())) for path in given]
    points = np.concatenate([unroll_path(framed, path) for path in dense])
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


DENSITY_WIDTH = np.radians(10.0)
"""Standard deviation of the Gaussian, in radians."""
DENSITY_CUTOFF = np.radians(22.0)
"""What is farther than this, in radians, does not count."""
SATURATION_TIME = 1.0
"""Seconds nearby that count in full."""
DENSITY_CELL = np.radians(2.0)
"""Frames of a performer within a cell of this size, in radians, are counted as one."""
LEVELS = 200


@dataclass(frozen=True, eq=False)
class Density:
    """Scores of one joint on a grid over `chart`: what each performer contributes at each node.

    `times` (performers, I, J, K) are from 0 to 1; node (i, j, k) is at low + spacing · (i, j, k).
    """

    chart: Chart
    low: Floats
    spacing: Floats
    performers: tuple[str, ...]
    times: Floats
    rotations_by_performer: tuple[Quats, ...]
    """The rotations of each performer, flips aside."""
    person_counts: Floats
    """How many people each performer counts for."""

    @cached_property
    def node_scores(self) -> Scalars:
        """The mean over performers at each node, from 0 to 1: (I, J, K)."""
        return np.asarray(np.average(self.times, axis=0, weights=self.person_counts))

    def field(self, level: float) -> Limit:
        """Return what scores at least `level`, as a field of true distances, in radians."""
        top = self.node_scores.max()
        if not 0.0 < level <= top:
            raise ValueError(
                f"level must be above 0 and at most the largest score, {top:.4g}, got {level}"
            )
        return field_below(level - self.node_scores, self.chart, self.low, self.spacing)

    def leave_one_out(self) -> list[Scalars]:
        """Return, for each performer, what their rotations score by all others."""
        check_two_performers(self.performers)
        counts = self.person_counts
        total, everybody = np.tensordot(counts, self.times, 1), counts.sum()
        rows = zip(self.rotations_by_performer, self.times, counts, strict=True)
        return [
            self._interpolate((total - weight * own) / (everybody - weight), rotations)
            for rotations, own, weight in rows
        ]

    def _interpolate(self, scores: Scalars, rotations: Quats) -> Scalars:
        """Return what stands on the nodes in `scores` at each rotation, 0 beyond the grid."""
        wraps = (np.asarray(self.chart.periods) > 0.0).astype(float)
        grid = DistanceField(self.low, self.spacing, np.zeros(scores.shape), 0.0, wraps)
        high = self.low + self.spacing * (np.array(scores.shape) - 1)
        points = self.chart.points(rotations)
        found = interpolate(points, grid, scores[..., None])[..., 0]
        inside = ((points >= self.low) & (points <= high)) | (wraps == 1.0)
        return np.where(inside.all(axis=-1), found, 0.0)


def field_below(values: Scalars, chart: Chart, low: Floats, spacing: Floats) -> Limit:
    """Return where `values` (I, J, K) on a grid are at most 0, as true distances, in radians."""
    wraps = np.asarray(chart.periods) > 0.0
    if (values > 0.0).any():
        values = redistance(values, 0.0, low, spacing, wraps)
    return Limit(chart, DistanceField(low, spacing, values, 0.0, wraps.astype(float)))


def density(
    takes: Sequence[Take],
    chart: str | type[Chart] = "rotation-vector",
    *,
    resolution: int = 32,
    reference: Quats | None = None,
    axis: Vectors | None = None,
) -> Density:
    """Return the saturating density of one joint's takes on a grid around all of them.

    Parameters
    ----------
    takes
        The takes of one joint, of any number of performers.
    chart
        A chart by name or class.
    resolution
        Nodes of the grid along its longest side.
    reference
        The rotation (4,) that the chart is about; the mean of all frames unless given.
    axis
        The direction (3,) of the bone, for charts that need it.
    """
    if not takes:
        raise ValueError("a density needs at least one take, got none")
    names = tuple(dict.fromkeys(take.performer for take in takes))
    frames, weights = [], []
    for name in names:
        kept = [take.subset(~take.flips()) for take in takes if take.performer == name]
        frames.append(np.concatenate([take.rotations for take in kept]))
        weights.append(np.concatenate([take.frame_time * take.frame_counts for take in kept]))
    if reference is None:
        reference = quat.mean(np.concatenate(frames))
    framed = chart_named(chart, reference, axis)
    every = np.concatenate([framed.points(rotations) for rotations in frames])
    low, spacing, count = grid_around(every, DENSITY_CUTOFF, 2.0, resolution, framed.periods)
    nodes = framed.rotations(node_points(low, spacing, count).reshape(-1, 3))
    times = np.empty((len(names), len(nodes)))
    for row, rotations, seconds in zip(times, frames, weights, strict=True):
        centers, spent = thin_with_times(rotations, seconds)
        kernels.learn.time_nearby(
            nodes, centers, spent, DENSITY_WIDTH, np.cos(0.5 * DENSITY_CUTOFF), row
        )
    np.minimum(times / SATURATION_TIME, 1.0, out=times)
    people = {take.performer: float(take.person_count) for take in takes}
    counts = np.array([people[name] for name in names])
    return Density(framed, low, spacing, names, times.reshape(-1, *count), tuple(frames), counts)


def thin_with_times(rotations: Quats, seconds: Scalars) -> tuple[Quats, Scalars]:
    """Return one rotation of each cell of `DENSITY_CELL` radians, and the seconds spent there."""
    cells = np.floor(quat.log(rotations) / DENSITY_CELL).astype(np.int64)
    _, first, cell = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    spent: Scalars = np.bincount(cell.reshape(-1), weights=seconds).astype(np.float64)
    return rotations[first], spent


def level_for(reject: float, scores: Density) -> tuple[float, float, float]:
    """Return the highest level that rejects at most a share `reject` of held-out frames.

    Returns
    -------
    level
        The lowest level there is, where none rejects so little.
    rejected
        The share that it rejects: the mean over performers, each scored by all others.
    volume
        The share of all rotations that it accepts.
    """
    check_rejection(reject)
    held_out = [np.sort(each) for each in scores.leave_one_out()]
    top = float(scores.node_scores.max())
    levels = np.geomspace(1e-4 * top, top, LEVELS)
    shares = np.mean([np.searchsorted(each, levels) / len(each) for each in held_out], axis=0)
    fine = np.flatnonzero(shares <= reject)
    best = int(fine[-1]) if len(fine) else 0
    level = float(levels[best])
    return level, float(shares[best]), scores.field(level).volume()


PEOPLE_CELL = 0.02
"""Frames of a person within a cell of this size, in radians, are taken for one."""
MANY_PAIRS = 1e9
"""From so many pairs of rotations on, trees find the nearest sooner than looking at all."""
MAX_PEOPLE = 10
"""At most so many of the nearest people matter to a distance."""


@dataclass(frozen=True, eq=False)
class People:
    """One joint of several people: what each of them did, one rotation a cell."""

    performers: tuple[str, ...]
    person_counts: Ints
    """How many people each performer counts for."""
    rotations: Quats
    """Of all performers: (n, 4)."""
    performer_indices: Ints
    """Which performer did each, by number: (n,)."""
    frame_counts: Ints
    """How many frames each stands for: (n,)."""

    @cached_property
    def performer_distances(self) -> Floats:
        """How far each rotation is from each performer, in radians: (n, performers)."""
        own = self.rotations_by_performer
        if len(self.rotations) ** 2 < MANY_PAIRS:
            return distances(self.rotations, own)
        chords = [rotation_tree(each).query(self.rotations)[0] for each in own]
        return np.asarray(4.0 * np.arcsin(np.minimum(0.5 * np.stack(chords, axis=1), 1.0)))

    @classmethod
    def of(cls, takes: Sequence[Take]) -> People:
        """Return the people of one joint's takes, capture flips aside."""
        if not takes:
            raise ValueError("people need at least one take, got none")
        names = tuple(dict.fromkeys(take.performer for take in takes))
        rotations, frames = [], []
        for name in names:
            kept = [take.subset(~take.flips()) for take in takes if take.performer == name]
            own = np.concatenate([take.rotations for take in kept])
            cells = np.floor(quat.log(own) / PEOPLE_CELL).astype(np.int64)
            _, first, cell = np.unique(cells, axis=0, return_index=True, return_inverse=True)
            counts = np.concatenate([take.frame_counts for take in kept])
            rotations.append(own[first])
            frames.append(np.bincount(cell.reshape(-1), weights=counts).astype(np.int64))
        people = {take.performer: take.person_count for take in takes}
        every = np.concatenate(rotations)
        return cls(
            performers=names,
            person_counts=np.array([people[name] for name in names]),
            rotations=every,
            performer_indices=np.repeat(np.arange(len(names)), [len(own) for own in rotations]),
            frame_counts=np.concatenate(frames),
        )

    def without(self, performer: int) -> People:
        """Return the others."""
        others = np.arange(len(self.performers)) != performer
        indices = self.performer_indices
        kept = indices != performer
        return replace(
            self,
            performers=tuple(np.array(self.performers)[others].tolist()),
            person_counts=self.person_counts[others],
            rotations=self.rotations[kept],
            performer_indices=indices[kept] - (indices[kept] > performer),
            frame_counts=self.frame_counts[kept],
        )

    @property
    def neighbor_count(self) -> int:
        """How many of the nearest people matter to a distance."""
        return min(max(round(int(self.person_counts.sum()) / 3), 1), MAX_PEOPLE)

    @cached_property
    def masks(self) -> list[Mask]:
        """Which rotations are each performer's."""
        return [self.performer_indices == k for k in range(len(self.performers))]

    @cached_property
    def rotations_by_performer(self) -> list[Quats]:
        """The rotations of each performer."""
        return [self.rotations[mask] for mask in self.masks]

    def distance(self, rotations: Quats) -> Scalars:
        """Return how far each of the rotations (n, 4) is from what people do, in radians."""
        return self._combine(distances(rotations, self.rotations_by_performer))

    def _combine(self, performer_distances: Floats) -> Scalars:
        """Return the distance from people, from those from each performer: (n, performers)."""
        nearest = np.sort(np.repeat(performer_distances, self.person_counts, axis=1), axis=1)
        count = self.neighbor_count
        return np.asarray(nearest[:, count // 2 : count].mean(axis=1))

    def leave_one_out(self) -> list[tuple[Scalars, Ints]]:
        """Return, for each performer, how far they go from all others, and in how many frames."""
        check_two_performers(self.performers)
        found = []
        for k, mask in enumerate(self.masks):
            to_others = np.delete(self.performer_distances[mask], k, axis=1)
            found.append((self.without(k)._combine(to_others), self.frame_counts[mask]))
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
        chart, resolution, reference, axis
            As `density` takes them.
        """
        if not within > 0.0:
            raise ValueError(f"within must be above 0 radians, got {within}")
        mean = quat.mean(self.rotations) if reference is None else reference
        framed = chart_named(chart, mean, axis)
        points = framed.points(self.rotations)
        low, spacing, count = _grid(points, within, resolution, framed.periods)
        nodes = framed.rotations(node_points(low, spacing, count).reshape(-1, 3))
        values = self.distance(nodes).reshape(count)
        # Between nodes around a narrow region values may be too large by half a cell's diagonal.
        narrowest = 0.5 * float(np.linalg.norm(spacing))
        return field_below(values - max(within, narrowest, values.min()), framed, low, spacing)


def within_for(reject: float, people: People) -> tuple[float, float]:
    """Return how near to people rejects at most a share `reject` of held-out frames.

    Returns
    -------
    within
        The least distance, in radians.
    rejected
        The share that it rejects: the mean over performers, each held against all others.
    """
    check_rejection(reject)
    held_out = people.leave_one_out()

    def rejected(within: float) -> float:
        shares = [
            float(np.average(distance > within, weights=frames)) for distance, frames in held_out
        ]
        return float(np.mean(shares))

    # To a fortieth of a degree.
    within = least_passing(lambda within: rejected(within) <= reject, 0.0, np.pi, halvings=13)
    return within, rejected(within)


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


# What both are chosen by: the least that passes, for a rejection of those left out.


def least_passing(
    passes: Callable[[float], bool], low: float, high: float, *, halvings: int
) -> float:
    """Return about the least number that passes, from above, where `high` and all beyond do."""
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def check_rejection(reject: float | None) -> None:
    """Raise ValueError unless `reject`, if given, is a share of frames."""
    if reject is not None and not 0.0 < reject < 1.0:
        raise ValueError(f"reject must be a share between 0 and 1, got {reject}")


def check_two_performers(performers: Sequence[str]) -> None:
    """Raise ValueError where nobody is left when one is held out."""
    if len(performers) < 2:
        raise ValueError(f"leaving one out needs two performers, got {performers}")
