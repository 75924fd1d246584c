"""Families of limits: charts and shapes by name, and what a limit is in another family.

A family is a shape in a chart. The last part converts reach cones whose twist is measured in the
Euler angles of their source.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Points, Quats, Scalars, Vectors, rows, unit_quats
from ..charts import CHARTS, Chart, Hinges, SwingTwist, takes_axis
from ..charts.chart import unit_normal
from ..shapes import SHAPES, DistanceField, Shape
from ..shapes.mesh import shape_surface
from ..shapes.reach_cone.cone import ReachCone
from ..shapes.reach_cone.star import from_polar, polar

if TYPE_CHECKING:
    from .limit import Limit

SAME_PERIOD = 1e-9  # radians; largest difference of equal periods
ALIGNED = 4000  # members from which axes are computed
MEMBERS = 20_000  # members to fit to, beside those on the boundary
UNIFORM_ROTATIONS = 100_000  # uniform rotations; losses are shares of these
CLIMBERS, TRIES, CLIMBS = 64, 16, 16  # starts, candidates and steps of the search for the worst
FIRST_STEP, SHORTER = 0.1, 0.7  # radians, and the factor of each next step
DETAIL = 3  # of the boundary
LOCKED = 1e-9  # cos θy below which only a sum of θx and θz is known
RINGS, AROUND = 64, 8  # samples of the error of a converted cone: outwards, and along each edge


def chart_named(
    chart: str | type[Chart],
    reference: Quats,
    axis: Vectors | None,
    *,
    frame: Quats = quat.IDENTITY,
) -> Chart:
    """Return the chart of this name or class, about `reference`, in `frame`.

    `axis` is the bone's direction in the joint's own frame.
    """
    kind = CHARTS.get(chart) if isinstance(chart, str) else chart
    if kind is None or kind not in CHARTS.values():
        raise ValueError(f"chart must be one of {', '.join(CHARTS)}, got {chart!r}")
    if axis is None:
        return kind(reference, frame=frame)
    if not takes_axis(kind):
        raise ValueError(f"the chart {kind.name} has no axis, got {axis!r}")
    if frame[1:].any():
        axis = quat.rotate(quat.inverse(frame), np.asarray(axis, np.float64))
    fields: dict[str, Any] = {"reference": reference, "frame": frame, "axis": axis}
    return kind(**fields)


def has_axis(chart: str) -> bool:
    """Tell whether the chart of this name is about a bone's axis."""
    return chart in CHARTS and takes_axis(CHARTS[chart])


def charts_of(shape: str) -> list[str]:
    """Return the names of the charts that a shape works in, its own first."""
    kind = shape_named(shape)
    others = [name for name, chart in CHARTS.items() if suits(chart, kind)]
    return list(dict.fromkeys([*kind.charts, *others]))


def chart_for(shape: str, chart: str | None) -> str:
    """Return `chart`; where none is given, swing-twist, or what the shape works in."""
    charts = shape_named(shape).charts
    return chart or (SwingTwist.name if SwingTwist.name in charts else charts[0])


def shape_named(shape: str | type[Shape]) -> type[Shape]:
    """Return the class of the shape of this name; a class is passed through."""
    kind = SHAPES.get(shape) if isinstance(shape, str) else shape
    if kind is None or kind not in SHAPES.values():
        raise ValueError(f"shape must be one of {', '.join(SHAPES)}, got {shape!r}")
    return kind


def check_chart(shape: Shape | type[Shape], chart: Chart) -> None:
    """Raise ValueError if the shape does not work in the chart."""
    if not suits(chart, shape):
        raise ValueError(
            f"a {shape.name} works in {' or '.join(shape.charts)}, got the chart {chart.name}"
        )


def suits(chart: Chart | type[Chart], shape: Any) -> bool:
    """Tell whether a shape, or all of its class, works in a chart."""
    return chart.name in shape.charts or chart.like in shape.charts


def compared_charts() -> list[str]:
    """Return the names of the charts whose families are compared by default.

    These have kernels. `Hinges` is left out: it serves export, and other charts are tighter.
    """
    return [
        name for name, chart in CHARTS.items() if chart.kernel is not None and chart is not Hinges
    ]


@singledispatch
def check_shape(shape: Shape, chart: Chart) -> None:
    """Raise ValueError if the shape, as it is, does not fit the chart."""
    if shape.dimension != chart.dimension:
        raise ValueError(f"a limit needs a shape of space, got one of {shape.dimension}-D")


@check_shape.register
def _(shape: DistanceField, chart: Chart) -> None:
    if np.abs(shape.periods - chart.periods).max() > SAME_PERIOD:
        raise ValueError(
            f"a field in the chart {chart.name} must have the periods {chart.periods}, got "
            f"{shape.periods.tolist()}"
        )
    low = shape.low[1]
    high = low + shape.spacing[1] * (shape.values.shape[1] - 1)
    if any(chart.periods) and not (low >= -SAME_PERIOD and high <= np.pi + SAME_PERIOD):
        raise ValueError(f"a field of Euler angles must have ψ from 0 to π, got {low} to {high}")


def fit_shape(kind: type[Shape], chart: Chart, points: Points, **options: Any) -> Shape:
    """Return the shape around `points` (n, d) of the chart; options go to its `fit`.

    A `fit` with a parameter `periods` gets those of the chart.
    """
    if "periods" in inspect.signature(kind.fit).parameters:
        options = {"periods": chart.periods, **options}
    return kind.fit(points, **options)


def approximate_shape(
    kind: type[Shape],
    chart: Chart,
    points: Points,
    distance: Callable[[Points], Scalars],
    *,
    exact: bool,
    **options: Any,
) -> Shape:
    """Return a shape of class `kind` close to a region with members `points` (n, d).

    Members must be dense on its boundary. `distance` returns signed distances from the region,
    `exact` in the chart's metric or else in another one. Only fields use it; others are fitted.
    """
    sample = getattr(kind, "from_distances", None)
    if sample is None:
        return fit_shape(kind, chart, points, **options)
    made: Shape = sample(points, distance, exact=exact, periods=chart.periods, **options)
    return made


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
    """Return `limit` as another shape; see `Limit.to` for the arguments."""
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
    converted = replace(limit, chart=framed, shape=made, margin=0.0)
    gained, lost = gained_and_lost(limit, converted)
    rng = np.random.default_rng(1)
    rotations = quat.normalize(rng.normal(size=(UNIFORM_ROTATIONS, 4)))
    pairs = (limit, converted), (converted, limit)
    worst = max(_worst(*pair, rotations, rng) for pair in pairs)
    return Conversion(converted, gained, lost, worst)


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

    It is made of `members` members, of some on its boundary, and of its distances.
    """
    scattered = limit.region.scatter(members, np.random.default_rng(0))
    points = np.concatenate([scattered, shape_surface(limit.region, DETAIL).vertices])
    same = _same_chart(chart, limit.chart)
    if not same:
        points = chart.gather(limit.chart.rotations(points))

    def distance(points: Points) -> Scalars:
        return limit.region.distance(points) if same else limit.distance(chart.rotations(points))

    return approximate_shape(kind, chart, points, distance, exact=same, **options)


def _same_chart(one: Chart, other: Chart) -> bool:
    """Return True if two charts are the same, but for rounding."""
    if type(one) is not type(other):
        return False
    apart = [quat.angle_between(one.reference, other.reference),
             quat.angle_between(one.frame, other.frame)]  # fmt: skip
    for name in ("axis", "axes"):
        apart.append(np.abs(getattr(one, name, 0.0) - getattr(other, name, 0.0)).max())
    return bool(max(apart) < 1e-9)


def gained_and_lost(old: Limit, new: Limit) -> tuple[float, float]:
    """Return the shares of all rotations that only the new limit accepts, and only the old one.

    Of 100,000 uniform rotations, so that a share of 1 % is known to 0.03 points.
    """
    rng = np.random.default_rng(1)
    rotations = quat.normalize(rng.normal(size=(UNIFORM_ROTATIONS, 4)))
    was, now = old.contains(rotations), new.contains(rotations)
    return float((now & ~was).mean()), float((was & ~now).mean())


def _worst(judge: Limit, other: Limit, rotations: Quats, rng: np.random.Generator) -> float:
    """Return the largest correction by `judge`, in radians, of rotations that `other` accepts.

    It is on a boundary, and found by hill climbing from the worst of projected `rotations` (n, 4).
    """
    legal = other.project(rotations)
    corrections = judge.correction(legal)
    worst = np.argsort(corrections)[-CLIMBERS:]
    legal, corrections, each = legal[worst], corrections[worst], np.arange(len(worst))
    for step in FIRST_STEP * SHORTER ** np.arange(CLIMBS):
        moves = quat.exp(step * rng.normal(size=(len(worst), TRIES, 3)))
        candidates = other.project(quat.mul(legal[:, None], moves))
        tried = judge.correction(candidates)
        best = tried.argmax(axis=1)
        better = tried[each, best] > corrections
        legal = np.where(better[:, None], candidates[each, best], legal)
        corrections = np.where(better, tried[each, best], corrections)
    return float(corrections.max())


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
    for mirrored in limit.chart.mirror(normal):
        shape = limit.shape.mirror(mirrored.turn, mirrored.about, mirrored.normal)
        if shape is not None:
            return replace(limit, chart=mirrored.chart, shape=shape)
    raise ValueError(
        f"a {limit.shape.name} in {limit.chart.name} lies along the axes of its chart, and can be "
        "mirrored only in a plane across one of them, got the normal "
        f"{np.round(unit_normal(normal), 4).tolist()}"
    )


def to_xyz_euler(rotations: Quats, old: Floats | None = None) -> Floats:
    """Return (θx, θy, θz) of rotations (..., 4), in radians: of both branches the one nearer `old`.

    Near by the sum of squares, whole turns allowed; `old` is 0 unless given. Where cos θy is 0
    only θx + θz or θx − θz is known: θx stays as it was.
    """
    matrix = quat.to_matrix(unit_quats("rotations", rotations)).astype(np.float64)
    return matrix_to_xyz_euler(matrix, old)


def matrix_to_xyz_euler(matrices: Floats, old: Floats | None = None) -> Floats:
    """Return (θx, θy, θz) of matrices (..., 3, 3) for column vectors; see `to_xyz_euler`."""
    m = np.asarray(matrices, np.float64)
    if m.shape[-2:] != (3, 3) or not np.isfinite(m).all():
        raise ValueError(f"matrices must be finite, of shape (..., 3, 3), got {m.shape}")
    before = np.zeros(3) if old is None else rows("old", old, 3)
    before = np.broadcast_to(before, (*m.shape[:-2], 3))
    cosine = np.hypot(m[..., 0, 0], m[..., 0, 1])
    y = np.arctan2(m[..., 0, 2], cosine)
    x = np.arctan2(-m[..., 1, 2], m[..., 2, 2])
    z = np.arctan2(-m[..., 0, 1], m[..., 0, 0])
    locked = cosine < LOCKED
    side = np.where(m[..., 0, 2] > 0.0, 1.0, -1.0)
    both = np.arctan2(m[..., 1, 0], m[..., 1, 1])  # θz ± θx
    x = np.where(locked, before[..., 0], x)
    z = np.where(locked, both - side * x, z)
    first = np.stack([x, y, z], axis=-1)
    second = np.stack([x + np.pi, np.pi - y, z + np.pi], axis=-1)
    second = np.where(locked[..., None], first, second)
    branches = [near + TURN * np.rint((before - near) / TURN) for near in (first, second)]
    far = [np.square(branch - before).sum(axis=-1) for branch in branches]
    return np.where((far[1] < far[0])[..., None], branches[1], branches[0])


def from_xyz_euler(angles: Floats) -> Quats:
    """Return the rotations (..., 4) of angles (θx, θy, θz), in radians."""
    angles = rows("angles", angles, 3)
    x, y, z = (quat.exp(angles[..., k, None] * np.eye(3)[k]) for k in range(3))
    return quat.mul(quat.mul(x, y), z)


@dataclass(frozen=True, eq=False)
class ConvertedCone:
    """A cone with limits of the twist of swing and twist, and the largest `error` in radians."""

    cone: ReachCone
    error: float


def from_euler_cone(cone: ReachCone) -> ConvertedCone:
    """Return a cone whose limits are Wilhelms & Van Gelder's θz, cos θy >= 0, as limits of twist.

    The two differ by an angle that depends on the direction. It is added at every vertex and at
    the visible point; between them it is not linear, and the `error` says by how much. It winds
    around x, −x and −z, so a cone that has one of these is refused: there is no such cone.
    """
    for name, direction in (("x", [1, 0, 0]), ("-x", [-1, 0, 0]), ("-z", [0, 0, -1])):
        if cone.contains_direction(np.array(direction, float)):
            raise ValueError(
                f"the cone contains the direction {name}, around which that twist winds: "
                "its limits cannot be converted; convert rotation by rotation"
            )
    n, edges = len(cone.points), np.roll(cone.points, -1, axis=0)
    share = (np.arange(AROUND) / AROUND)[:, None]
    rim = (cone.points[:, None] + share * (edges - cone.points)[:, None]).reshape(-1, 3)
    azimuth, angle = polar(rim / np.linalg.norm(rim, axis=1, keepdims=True), cone.visible)
    out = np.linspace(0.0, 1.0, RINGS + 1)[:, None]
    fan = from_polar(np.broadcast_to(azimuth, (RINGS + 1, n * AROUND)), out * angle, cone.visible)
    offset = np.unwrap(_twist_offset(fan), axis=0)  # along rays from the visible point
    corner, middle = offset[-1, ::AROUND], float(offset[0, 0])
    shifted = ReachCone(cone.points, corner, corner, cone.visible, middle, middle)
    error = np.abs(shifted.twist_range(fan)[..., 0] - offset).max()
    converted = replace(
        cone,
        low=cone.low + corner,
        high=cone.high + corner,
        visible_low=cone.visible_low + middle,
        visible_high=cone.visible_high + middle,
    )
    return ConvertedCone(converted, float(error))


def _twist_offset(directions: Vectors) -> Scalars:
    """Return by how much the twist exceeds θz, at directions off ±x and −z."""
    x, y, z = np.moveaxis(directions, -1, 0)
    turned = np.stack([np.arctan2(-y, z), np.arctan2(x, np.hypot(y, z)), np.zeros_like(x)], axis=-1)
    swing = quat.between(np.array([0.0, 0.0, 1.0]), directions)
    rest = quat.mul(quat.inverse(swing), from_xyz_euler(turned))
    return np.asarray(2.0 * np.arctan2(rest[..., 3], rest[..., 0]))
