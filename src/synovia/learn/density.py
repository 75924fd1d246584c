"""Where many people go: a saturating density of their rotations, and the field of what it accepts.

For each performer the time spent near a rotation is counted, weighted by a Gaussian of the angle
between the two, and capped at a second, so that nobody counts twice. The score is the mean over
performers: 1 where everybody spends a second or more. Accepted is what scores above a level.
A performer who counts for many people weighs as much as they would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Quats, Scalars, Vectors
from ..charts import AnyChart, Chart
from ..limit import Limit, chart_named
from ..shapes import DistanceField
from ..shapes.distance_field.build import grid_around, node_points, redistance
from ..shapes.distance_field.packing import interpolate
from .takes import Take
from .trimming import flips

WIDTH = np.radians(10.0)
"""Standard deviation of the Gaussian, in radians."""
CUTOFF = np.radians(22.0)
"""What is farther than this, in radians, does not count."""
SATURATION_TIME = 1.0
"""Seconds nearby that count in full."""
CELL = np.radians(2.0)
"""Frames of a performer within a cell of this size, in radians, are counted as one."""
LEVELS = 200


@dataclass(frozen=True, eq=False)
class Density:
    """Scores of one joint on a grid over `chart`: what each performer contributes at each node.

    `times` (performers, I, J, K) are from 0 to 1; node (i, j, k) is at low + spacing · (i, j, k).
    """

    chart: AnyChart
    low: Floats
    spacing: Floats
    performers: tuple[str, ...]
    times: Floats
    frames: tuple[Quats, ...]
    """The frames of each performer, flips aside."""
    people: Floats
    """How many people each performer counts for."""

    @cached_property
    def score(self) -> Scalars:
        """The mean over performers at each node, from 0 to 1: (I, J, K)."""
        return np.asarray(np.average(self.times, axis=0, weights=self.people))

    def of(self, rotations: Quats) -> Scalars:
        """Return the score of each rotation (n, 4); 0 beyond the grid."""
        return self._looked_up(self.score, rotations)

    def field(self, level: float) -> Limit:
        """Return what scores at least `level`, as a field of true distances, in radians."""
        if not 0.0 < level <= self.score.max():
            raise ValueError(
                f"level must be above 0 and at most the largest score, {self.score.max():.4g}, "
                f"got {level}"
            )
        return field_below(level - self.score, self.chart, self.low, self.spacing)

    def held_out(self) -> list[Scalars]:
        """Return, for each performer, what their frames score by all others."""
        if len(self.performers) < 2:
            raise ValueError(f"leaving one out needs two performers, got {self.performers}")
        total, everybody = np.tensordot(self.people, self.times, 1), self.people.sum()
        return [
            self._looked_up((total - weight * own) / (everybody - weight), frames)
            for frames, own, weight in zip(self.frames, self.times, self.people, strict=True)
        ]

    def _looked_up(self, scores: Scalars, rotations: Quats) -> Scalars:
        """Return what stands on the nodes in `scores` at each rotation, 0 beyond the grid."""
        wraps = (np.asarray(self.chart.periods) > 0.0).astype(float)
        grid = DistanceField(self.low, self.spacing, np.zeros(scores.shape), 0.0, wraps)
        high = self.low + self.spacing * (np.array(scores.shape) - 1)
        points = self.chart.points(rotations)
        found = interpolate(points, grid, scores[..., None])[..., 0]
        inside = ((points >= self.low) & (points <= high)) | (wraps == 1.0)
        return np.where(inside.all(axis=-1), found, 0.0)


def field_below(values: Scalars, chart: AnyChart, low: Floats, spacing: Floats) -> Limit:
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
    """Return the saturating density of one joint's takes on a grid around all of them."""
    if not takes:
        raise ValueError("a density needs at least one take, got none")
    names = tuple(dict.fromkeys(take.performer for take in takes))
    frames, weights = [], []
    for name in names:
        kept = [(drop_flips(take), take.frame_time) for take in takes if take.performer == name]
        frames.append(np.concatenate([rotations for rotations, _ in kept]))
        weights.append(np.concatenate([np.full(len(r), seconds) for r, seconds in kept]))
    if reference is None:
        reference = quat.mean(np.concatenate(frames))
    framed = chart_named(chart, reference, axis)
    every = np.concatenate([framed.points(rotations) for rotations in frames])
    low, spacing, count = grid_around(every, CUTOFF, 2.0, resolution, framed.periods)
    nodes = framed.rotations(node_points(low, spacing, count).reshape(-1, 3))
    times = np.empty((len(names), len(nodes)))
    for row, rotations, seconds in zip(times, frames, weights, strict=True):
        centers, spent = thin_with_times(rotations, seconds)
        kernels.learn.time_nearby(nodes, centers, spent, WIDTH, np.cos(0.5 * CUTOFF), row)
    np.minimum(times / SATURATION_TIME, 1.0, out=times)
    people = {take.performer: float(take.people) for take in takes}
    counted = np.array([people[name] for name in names])
    return Density(framed, low, spacing, names, times.reshape(-1, *count), tuple(frames), counted)


def drop_flips(take: Take) -> Quats:
    """Return the rotations of a take without capture flips; of thinned ones nobody can tell."""
    if take.thinned:
        return take.rotations
    return take.rotations[~flips(take.rotations, take.frame_time)]


def thin_with_times(rotations: Quats, seconds: Scalars) -> tuple[Quats, Scalars]:
    """Return one rotation of each cell of `CELL` radians, and the seconds spent in the cell."""
    cells = np.floor(quat.log(rotations) / CELL).astype(np.int64)
    _, first, cell = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    spent: Scalars = np.bincount(cell.reshape(-1), weights=seconds).astype(np.float64)
    return rotations[first], spent


def level_for(reject: float, scores: Density) -> tuple[float, float, float]:
    """Return the highest level that rejects at most `reject` of held-out frames.

    Also the share that it rejects, the mean over performers, each scored by all others; and the
    volume, the share of all rotations that it accepts.
    """
    if not 0.0 < reject < 1.0:
        raise ValueError(f"reject must be a share between 0 and 1, got {reject}")
    held = [np.sort(each) for each in scores.held_out()]
    top = float(scores.score.max())
    levels = np.geomspace(1e-4 * top, top, LEVELS)
    shares = np.mean([np.searchsorted(each, levels) / len(each) for each in held], axis=0)
    fine = np.flatnonzero(shares <= reject)
    best = int(fine[-1]) if len(fine) else 0
    level = float(levels[best])
    return level, float(shares[best]), scores.field(level).volume()
