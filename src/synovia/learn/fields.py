"""Distance fields around paths in time, without gaps between their frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors, unit_quats
from ..charts import Chart
from ..limit import Limit, chart_named, unroll_paths
from ..shapes import DistanceField
from ..shapes.distance_field.grid import grid_around

MAX_HALVINGS = 12  # of a step between frames; longer ones are jumps


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
