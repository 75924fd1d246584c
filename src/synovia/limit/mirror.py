"""Limits of the other side: what a mirror shows of a limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Vectors
from ..charts.chart import mirror_rotations, unit_normal
from .limit import Limit

__all__ = ["mirror_limit", "mirror_rotations"]


def mirror_limit(limit: Limit, normal: Vectors) -> Limit:
    """Return the limit of the other side: it contains what a mirror shows of legal rotations.

    The plane is across `normal` (3,), of any length, as the one sees it that the limit is measured
    from. Family and chart stay. A distance field has a grid along the axes of its chart: across
    other normals than these it cannot be mirrored exactly, and ValueError says so.

    Examples
    --------
    >>> from synovia import Box, Limit, RotationVector
    >>> box = Box(low=[0, -0.1, -0.1], high=[1, 0.1, 0.3], axes=np.eye(3))
    >>> right = mirror_limit(Limit(RotationVector(), box), [1, 0, 0])
    >>> bool(right.contains([np.cos(0.1), 0.0, 0.0, -np.sin(0.1)]))
    True
    """
    for chart, turn, about in limit.chart.mirror(normal):
        shape = limit.shape.mirror(turn, about, unit_normal(normal))
        if shape is not None:
            return replace(limit, chart=chart, shape=shape)
    raise ValueError(
        f"a {limit.shape.name} in {limit.chart.name} lies along the axes of its chart, and can be "
        "mirrored only in a plane across one of them, got the normal "
        f"{np.round(unit_normal(normal), 4).tolist()}"
    )
