"""Distance fields from paths in time, without gaps between their frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import quat
from .arrays import Points, Quats, Vectors, unit_quats
from .charts import AnyChart, Chart
from .limit import Limit, chart_named, unrolled
from .shapes import DistanceField
from .shapes.field_build import grid_around

MOST_HALVINGS = 12  # of a step in time; then it is a jump, and stays one


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
    a cell. Paths stay apart, unless `bridged`: then the last frame of each is joined to the first
    of the next. Further options go to `DistanceField.fit`.
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
    coarse = np.concatenate([unrolled(framed, path) for path in given])
    threshold = float(options.get("threshold", 1.0))
    _, spacing, _ = grid_around(coarse, margin, threshold + 2.0, resolution, framed.periods)
    dense = [subdivided(path, framed, 0.5 * float(spacing.min())) for path in given]
    points = np.concatenate([unrolled(framed, path) for path in dense])
    options = {"resolution": resolution, "periods": framed.periods, **options}
    return Limit(framed, DistanceField.fit(points, margin=margin, **options))


def subdivided(path: Quats, chart: AnyChart, gap: float) -> Quats:
    """Return a path with slerps between its frames, so that no step in the chart exceeds `gap`.

    A step that goes through a chart's singularity stays longer than that, however often halved.
    """
    if not gap > 0.0:
        raise ValueError(f"gap must be above 0 radians, got {gap}")
    for _ in range(MOST_HALVINGS):
        wide = np.flatnonzero(_steps(chart, path) > gap)
        if len(wide) == 0:
            break
        middles = quat.slerp(path[wide], path[wide + 1], np.full(len(wide), 0.5))
        path = np.insert(path, wide + 1, middles, axis=0)
    return path


def _steps(chart: AnyChart, path: Quats) -> Points:
    return np.asarray(np.linalg.norm(np.diff(chart.unroll(path), axis=0), axis=-1))
