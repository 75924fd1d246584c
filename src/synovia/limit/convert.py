"""Limits made of limits: of another family, and what that costs; of the other side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Points, Quats, Scalars, Vectors
from ..charts import Chart
from ..charts.chart import unit_normal
from ..shapes import Shape
from ..shapes.mesh import shape_surface
from .families import (
    approximate_shape,
    chart_for,
    chart_named,
    check_chart,
    has_axis,
    shape_named,
    suits,
)
from .limit import Limit

ALIGNED = 4000  # members that axes are chosen by
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
    """The largest correction that was found, in radians, of what one accepts by the other."""


def convert(
    limit: Limit,
    shape: str | type[Shape],
    chart: str | Chart | None,
    axis: Vectors | None,
    options: dict[str, Any],
) -> Conversion:
    """Return `limit` as another shape; `Limit.to` says what the arguments mean."""
    kind = shape_named(shape)
    framed = chart if isinstance(chart, Chart) else _chart_for(limit, kind, chart, axis)
    check_chart(kind, framed)
    if isinstance(limit.shape, kind) and not options and _same_chart(framed, limit.chart):
        return Conversion(limit, gained=0.0, lost=0.0, error=0.0)
    try:
        made = approximate(limit, kind, framed, MEMBERS, options)
    except TypeError as error:
        raise ValueError(
            f"{kind.name} cannot be made with {', '.join(options)}: {error}"
        ) from error
    return _compare(limit, Limit(framed, made, limit.relative_to))


def _chart_for(limit: Limit, kind: type[Shape], name: str | None, axis: Vectors | None) -> Chart:
    """Return the chart of this name for the limit; its own where it has that name already."""
    own = limit.chart.name if suits(limit.chart, kind) else chart_for(kind.name, None)
    name = name or own
    if name == limit.chart.name and axis is None:
        return limit.chart
    bone = limit.chart.bone if axis is None else axis
    framed = chart_named(
        name, limit.chart.reference, bone if has_axis(name) else None, frame=limit.chart.frame
    )
    members = limit.region.scatter(ALIGNED, np.random.default_rng(0))
    return framed.align(limit.chart.rotations(members))


def approximate(
    limit: Limit, kind: type[Shape], chart: Chart, members: int, options: dict[str, Any]
) -> Shape:
    """Return the region of a limit as another shape in `chart`, about the same reference.

    It is made of so many of its members, of some on its boundary, and of its distances.
    """
    points, same = _members(limit, members), _same_chart(chart, limit.chart)
    if not same:
        points = chart.gather(limit.chart.rotations(points))

    def distance(points: Points) -> Scalars:
        return limit.region.distance(points) if same else limit.distance(chart.rotations(points))

    return approximate_shape(kind, chart, points, distance, exact=same, **options)


def _same_chart(one: Chart, other: Chart) -> bool:
    """Tell whether two charts are the same, but for rounding."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    apart = [quat.angle_between(one.reference, other.reference),
             quat.angle_between(one.frame, other.frame)]  # fmt: skip
    for name in ("axis", "axes"):
        apart.append(np.abs(getattr(one, name, 0.0) - getattr(other, name, 0.0)).max())
    return bool(max(apart) < 1e-9)


def _members(limit: Limit, n: int) -> Points:
    """Return members all over the limit and on its boundary, as points of its chart."""
    rng = np.random.default_rng(0)
    scattered = limit.region.scatter(n, rng)
    return np.concatenate([scattered, shape_surface(limit.region, DETAIL).vertices])


def _compare(old: Limit, new: Limit) -> Conversion:
    rng = np.random.default_rng(1)
    rotations = quat.normalize(rng.normal(size=(UNIFORM_ROTATIONS, 4)))
    gained, lost = _gained_and_lost(old, new, rotations)
    corrections = [_worst(old, new, rotations, rng), _worst(new, old, rotations, rng)]
    return Conversion(new, gained=gained, lost=lost, error=max(corrections))


def gained_and_lost(old: Limit, new: Limit) -> tuple[float, float]:
    """Return the shares of all rotations that only the new limit accepts, and only the old one.

    Of 100,000 uniform rotations, so that a share of 1 % is known to 0.03 points.
    """
    rng = np.random.default_rng(1)
    return _gained_and_lost(old, new, quat.normalize(rng.normal(size=(UNIFORM_ROTATIONS, 4))))


def _gained_and_lost(old: Limit, new: Limit, rotations: Quats) -> tuple[float, float]:
    was, now = old.contains(rotations), new.contains(rotations)
    return float((now & ~was).mean()), float((was & ~now).mean())


def _worst(
    judge: Limit,
    other: Limit,
    rotations: Quats,
    rng: np.random.Generator,
) -> float:
    """Return how far outside by `judge` what `other` accepts is at most, in radians, as found.

    That lies on a boundary. From the worst of many rotations the search goes uphill, by ever
    smaller steps.
    """
    legal = other.project(rotations)
    far = judge.correction(legal)
    worst = np.argsort(far)[-CLIMBERS:]
    legal, far, step = legal[worst], far[worst], FIRST_STEP
    each = np.arange(len(worst))
    for _ in range(CLIMBS):
        turns = quat.exp(step * rng.normal(size=(len(worst), TRIES, 3)))
        tried = other.project(quat.mul(legal[:, None], turns))
        found = judge.correction(tried)
        best = found.argmax(axis=1)
        better = found[each, best] > far
        legal = np.where(better[:, None], tried[each, best], legal)
        far = np.where(better, found[each, best], far)
        step *= SHORTER
    return float(far.max())


def mirror_limit(limit: Limit, normal: Vectors) -> Limit:
    """Return the limit of the other side: it contains what a mirror shows of legal rotations.

    The plane is across `normal` (3,), of any length, as the one sees it that the limit is measured
    from. Family and chart stay. A distance field has a grid along the axes of its chart: across
    other normals than these, the chart gets a frame in which they are. In a chart that takes no
    frame it cannot be mirrored exactly, and ValueError says so.

    Examples
    --------
    >>> from synovia import Box, Limit, RotationVector
    >>> box = Box(low=[0, -0.1, -0.1], high=[1, 0.1, 0.3], axes=np.eye(3))
    >>> right = mirror_limit(Limit(RotationVector(), box), [1, 0, 0])
    >>> bool(right.contains([np.cos(0.1), 0.0, 0.0, -np.sin(0.1)]))
    True
    """
    for there in limit.chart.mirror(normal):
        shape = limit.shape.mirror(there.turn, there.about, there.normal)
        if shape is not None:
            return replace(limit, chart=there.chart, shape=shape)
    raise ValueError(
        f"a {limit.shape.name} in {limit.chart.name} lies along the axes of its chart, and can be "
        "mirrored only in a plane across one of them, got the normal "
        f"{np.round(unit_normal(normal), 4).tolist()}"
    )
