"""Limits made of limits: of another family, and what that costs; of the other side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Mask, Points, Quats, Scalars, Vectors, unit_quats
from ..charts import Chart, FramedChart, RotationVector
from ..charts.chart import unit_normal
from ..shapes import SHAPES, DistanceField, Shape
from ..shapes.mesh import shape_surface
from .chart_support import align, approximate_shape, gather, suits
from .limit import Limit, chart_for, chart_named, check_chart, frame_of, has_axis, shape_named

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
        name, limit.chart.reference, bone if has_axis(name) else None, frame=frame_of(limit.chart)
    )
    members = limit.region.scatter(ALIGNED, np.random.default_rng(0))
    return align(framed, limit.chart.rotations(members))


def approximate(
    limit: Limit, kind: type[Shape], chart: Chart, members: int, options: dict[str, Any]
) -> Shape:
    """Return the region of a limit as another shape in `chart`, about the same reference.

    It is made of so many of its members, of some on its boundary, and of its distances.
    """
    points, same = _members(limit, members), _same_chart(chart, limit.chart)
    if not same:
        points = gather(chart, limit.chart.rotations(points))

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
             quat.angle_between(frame_of(one), frame_of(other))]  # fmt: skip
    for name in ("axis", "axes"):
        apart.append(np.abs(getattr(one, name, 0.0) - getattr(other, name, 0.0)).max())
    return bool(max(apart) < 1e-9)


def _members(limit: Limit, n: int) -> Points:
    """Return members all over the limit and on its boundary, as points of its chart."""
    rng = np.random.default_rng(0)
    scattered = limit.region.scatter(n, rng)
    return np.concatenate([scattered, shape_surface(limit.region, DETAIL).vertices])


def _compare(old: Limit | SeenLimit, new: Limit) -> Conversion:
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


def _gained_and_lost(old: Limit | SeenLimit, new: Limit, rotations: Quats) -> tuple[float, float]:
    was, now = old.contains(rotations), new.contains(rotations)
    return float((now & ~was).mean()), float((was & ~now).mean())


def _worst(
    judge: Limit | SeenLimit,
    other: Limit | SeenLimit,
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


# Limits in other frames: of the same joint, on a skeleton whose bones have other axes.


@dataclass(frozen=True, eq=False)
class SeenLimit:
    """The rotations r whose c = parent⁻¹ · r · child a limit accepts, as verbs on r."""

    limit: Limit
    parent: Quats
    child: Quats

    def inward(self, rotations: Quats) -> Quats:
        """Return the rotations c (..., 4) that the limit is about, of rotations r."""
        return quat.mul(quat.mul(quat.inverse(self.parent), rotations), self.child)

    def outward(self, rotations: Quats) -> Quats:
        """Return the rotations r (..., 4) of rotations c."""
        return quat.mul(quat.mul(self.parent, rotations), quat.inverse(self.child))

    def contains(self, rotations: Quats) -> Mask:
        """Tell which rotations are legal."""
        return self.limit.contains(self.inward(rotations))

    def distance(self, rotations: Quats) -> Scalars:
        """Return the limit's distances, in its chart's metric."""
        return self.limit.distance(self.inward(rotations))

    def project(self, rotations: Quats) -> Quats:
        """Return the legal rotations that are nearest in the limit's chart."""
        return self.outward(self.limit.project(self.inward(rotations)))

    def correction(self, rotations: Quats) -> Scalars:
        """Return the angles, in radians, between rotations and their projections."""
        return self.limit.correction(self.inward(rotations))


def change_frames(limit: Limit, parent: Quats, child: Quats) -> Conversion:
    """Return the limit on rotations r, of which `limit` accepts c = parent⁻¹ · r · child.

    `parent` and `child` are constant unit quaternions (4,): the frames of the parent's and of the
    child's bone, as the skeleton of r has them, for a limit that was made for the frames of c. The
    shape stays as it is, and the chart gets another reference and `frame`: nothing is gained or
    lost. A chart that takes no frame, as one's own may, is about the turned reference and bone
    instead; its shape is fitted anew, or else is a distance field of rotation vectors, and the
    conversion says how far it is off. `relative_to` stays: rename it where joints have other names.

    Examples
    --------
    >>> from synovia import Box, Limit, RotationVector, quat
    >>> knee = Limit(RotationVector(), Box(low=[0, 0, 0], high=[2.4, 0, 0], axes=np.eye(3)))
    >>> z_to_x = quat.exp(np.array([0.0, np.pi / 2, 0.0]))
    >>> there = change_frames(knee, quat.inverse(z_to_x), quat.inverse(z_to_x)).limit
    >>> bool(there.contains(quat.exp(np.array([0.0, 0.0, 1.2]))))  # it bends about z there
    True
    """
    parent, child = (
        quat.normalize(unit_quats(name, given).astype(np.float64))
        for name, given in (("parent", parent), ("child", child))
    )
    for name, given in (("parent", parent), ("child", child)):
        if given.shape != (4,):
            raise ValueError(f"{name} must be one unit quaternion (4,), got {given.shape}")
    chart, seen = limit.chart, SeenLimit(limit, parent, child)
    reference = quat.normalize(seen.outward(chart.reference))
    if isinstance(chart, FramedChart):
        frame = quat.normalize(quat.mul(child, chart.frame))
        there: Chart = replace(chart, reference=reference, frame=frame)
        return Conversion(replace(limit, chart=there), gained=0.0, lost=0.0, error=0.0)
    if not child[1:].any():  # points are from the reference: with it they stay what they are
        made = replace(limit, chart=replace(chart, reference=reference))
        return Conversion(made, gained=0.0, lost=0.0, error=0.0)
    bone = {} if chart.bone is None else {"axis": quat.rotate(child, chart.bone)}
    there, kind = replace(chart, reference=reference, **bone), type(limit.shape)
    if kind not in SHAPES.values():
        there, kind = RotationVector(reference), DistanceField
    points = there.points(seen.outward(chart.rotations(_members(limit, MEMBERS))))
    shape = approximate_shape(
        kind, there, points, lambda points: seen.distance(there.rotations(points)), exact=False
    )
    return _compare(seen, replace(limit, chart=there, shape=shape, margin=0.0))


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
