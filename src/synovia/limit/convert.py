"""From one family of limits to another, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Points, Quats, Vectors
from ..charts import AnyChart
from ..shapes import DistanceField, Shape
from ..shapes.distance_field.build import grid_around, node_points, redistance
from .limit import Limit, chart_for, chart_named, check_chart, has_axis, shape_named

MEMBERS = 20_000  # to fit to, beside those on the boundary
UNIFORM_ROTATIONS = 100_000  # rotations, uniform over all, of which the losses are shares
CLIMBERS, TRIES, CLIMBS = 64, 16, 16  # that look for the worst: from where, how often, how long
FIRST_STEP, SHORTER = 0.1, 0.7  # radians, and what each next one is of it
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
    """The largest violation that was found, in radians, of what one accepts by the other."""


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
    if isinstance(limit.shape, kind) and not options and _same_chart(framed, limit.chart):
        return Conversion(limit, gained=0.0, lost=0.0, error=0.0)
    points = _members(limit)
    if not _same_chart(framed, limit.chart):
        points = framed.points(limit.chart.rotations(points))
    try:
        if issubclass(kind, DistanceField):
            made: Shape = _field(limit, framed, points, **options)
        else:
            made = kind.fit(points, **options)
    except TypeError as error:
        raise ValueError(
            f"{kind.name} cannot be made with {', '.join(options)}: {error}"
        ) from error
    return _compare(limit, Limit(framed, made, limit.relative_to))


def _same_chart(one: AnyChart, other: AnyChart) -> bool:
    """Tell whether two charts of the same reference are the same."""
    axes = [getattr(chart, "axis", np.zeros(3)) for chart in (one, other)]
    return one.name == other.name and bool(np.abs(axes[0] - axes[1]).max() < 1e-9)


def _members(limit: Limit) -> Points:
    """Return members all over the limit and on its boundary, as points of its chart."""
    rng = np.random.default_rng(0)
    scattered = limit.shape.scatter(MEMBERS, rng)
    return np.concatenate([scattered, limit.shape.surface(DETAIL).vertices])


def _field(
    limit: Limit, chart: AnyChart, members: Points, *, resolution: int = 32
) -> DistanceField:
    """Return the field of the limit's distances in `chart`, at the nodes around its members."""
    low, spacing, count = grid_around(members, 0.0, 2.0, resolution, chart.periods)
    nodes = node_points(low, spacing, count)
    wraps = np.asarray(chart.periods) > 0.0
    if _same_chart(chart, limit.chart):
        values = limit.shape.distance(nodes)
    else:
        values = limit.distance(chart.rotations(nodes))
        if (values <= 0.0).any() and (values > 0.0).any():
            values = redistance(values, 0.0, low, spacing, wraps)  # in the new chart's metric
    # A region thinner than a cell may miss every node: the nearest counts.
    level = max(0.0, float(values.min()))
    return DistanceField(low, spacing, values, level, wraps.astype(float))


def _compare(old: Limit, new: Limit) -> Conversion:
    rng = np.random.default_rng(1)
    rotations = quat.normalize(rng.normal(size=(UNIFORM_ROTATIONS, 4)))
    was, now = old.contains(rotations), new.contains(rotations)
    violations = [_worst(*pair, rotations, rng) for pair in ((old, new), (new, old))]
    return Conversion(
        new,
        gained=float((now & ~was).mean()),
        lost=float((was & ~now).mean()),
        error=max(violations),
    )


def _worst(judge: Limit, other: Limit, rotations: Quats, rng: np.random.Generator) -> float:
    """Return how far outside by `judge` what `other` accepts is at most, in radians, as found.

    That lies on a boundary. From the worst of many rotations the search goes uphill, by ever
    smaller steps.
    """
    legal = other.project(rotations)
    far = judge.violation(legal)
    worst = np.argsort(far)[-CLIMBERS:]
    legal, far, step = legal[worst], far[worst], FIRST_STEP
    each = np.arange(len(worst))
    for _ in range(CLIMBS):
        turns = quat.exp(step * rng.normal(size=(len(worst), TRIES, 3)))
        tried = other.project(quat.mul(legal[:, None], turns))
        found = judge.violation(tried)
        best = found.argmax(axis=1)
        better = found[each, best] > far
        legal = np.where(better[:, None], tried[each, best], legal)
        far = np.where(better, found[each, best], far)
        step *= SHORTER
    return float(far.max())
