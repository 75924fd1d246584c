"""From one family of limits to another, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Points, Vectors
from ..shapes import Shape
from .limit import Limit
from .names import chart_for, chart_named, check_chart, has_axis, shape_named

MEMBERS = 20_000  # to fit to, beside those on the boundary
ASKED = 100_000  # rotations, uniform over all, of which the losses are shares
DETAIL = 3  # of the boundary


@dataclass(frozen=True, eq=False)
class Conversion:
    """A limit of another family, and how it differs from the one that it stands for."""

    limit: Limit
    gained: float
    """The share of all rotations that only the new limit accepts."""
    lost: float
    """The share of all rotations that only the old limit accepts."""
    error: float
    """The largest violation, in radians, of what one accepts by the other."""


def convert(
    limit: Limit,
    shape: str | type[Shape],
    chart: str | None,
    axis: Vectors | None,
    options: dict[str, Any],
) -> Conversion:
    """Return `limit` as another shape; `Limit.to` says what the arguments mean."""
    kind = shape_named(shape)
    same = limit.chart.name in kind.charts
    name = chart or (limit.chart.name if same else chart_for(kind.name, None))
    if axis is None:
        axis = getattr(limit.chart, "axis", None)
    framed = chart_named(name, limit.chart.reference, axis if has_axis(name) else None)
    check_chart(kind, framed)
    members = _members(limit)
    points = members if name == limit.chart.name else framed.points(limit.chart.rotations(members))
    return _compared(limit, Limit(framed, kind.fit(points, **options)))


def _members(limit: Limit) -> Points:
    """Return members all over the limit and on its boundary, as points of its chart."""
    rng = np.random.default_rng(0)
    scattered = limit.shape.scatter(MEMBERS, rng)
    return np.concatenate([scattered, limit.shape.surface(DETAIL).vertices])


def _compared(old: Limit, new: Limit) -> Conversion:
    rng = np.random.default_rng(1)
    rotations = quat.normalize(rng.normal(size=(ASKED, 4)))
    was, now = old.contains(rotations), new.contains(rotations)
    gained, lost = rotations[now & ~was], rotations[was & ~now]
    violations = [old.violation(gained), new.violation(lost)]
    return Conversion(
        new,
        gained=len(gained) / ASKED,
        lost=len(lost) / ASKED,
        error=float(np.concatenate(violations).max(initial=0.0)),
    )
