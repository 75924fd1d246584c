"""Limit: a shape seen through a chart, so a set of legal rotations."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from .. import kernels, quat
from ..arrays import (
    TURN,
    Floats,
    Mask,
    Points,
    Quats,
    Scalars,
    Vectors,
    rows,
    tolerance,
    unit_quats,
    unit_rounding,
    whole_number,
)
from ..charts import (
    Chart,
    DirectionTwist,
    RotationVector,
)
from ..shapes import DistanceField, Shape
from ..shapes.derived import offset
from ..shapes.region import check_margin
from .convert import (
    Conversion,
    approximate,
    chart_named,
    check_chart,
    check_shape,
    convert,
    fit_shape,
    shape_named,
    suits,
)
from .nearest import covering_rotations, nearest_by_angle
from .softening import Softening


def unroll_paths(chart: Chart, paths: Sequence[Quats]) -> Points:
    """Return the points of paths in time, concatenated: (frames, dimension).

    Each path is continuous, in the cover nearest to the reference. A path that rotates by more
    than a whole turn is not unrolled.
    """
    # All at once: thinned captures make thousands of short paths.
    points = chart.points(np.concatenate(paths))
    ends = np.cumsum([len(path) for path in paths])[:-1]
    return np.concatenate([_unroll_points(chart, path) for path in np.split(points, ends)])


def _unroll_points(chart: Chart, plain: Points) -> Points:
    """Return the points (frames, dimension) of one path, unrolled as in `unroll_paths`."""
    points = chart.follow(plain)
    if np.abs(points).max(initial=0.0) > TURN:
        return plain  # the joint rotates without limit
    if np.square(points).sum(axis=-1).max(initial=0.0) < HALF_TURN**2:
        return points  # all other covers are farther from the reference
    candidates = chart.shifts(points, 1)
    return min(candidates, key=lambda shifted: float(np.square(shifted).sum()))


HALF_TURN = 0.5 * TURN - 1e-6  # radians, or a little less
FARTHEST = 5.0 * TURN  # radians; largest distance of a member; beyond one turn members repeat
ROUNDING_SHARES = 2.0 ** np.arange(-24, 1)  # of a rotation: from rounding in float32 to all
STAND_IN_NODES, STAND_IN_MEMBERS = 24, 2000  # of the field that solvers see for another shape


def evaluate_checked(kernel: Callable[[Quats], tuple[Floats, float]], rotations: Quats) -> Floats:
    """Return the result of a kernel for `rotations` (..., 4), checked for unit length.

    The kernel also returns a bound of the squared errors of squared lengths. If this is more than
    rounding, `unit_quats` normalises the rotations or raises ValueError, and the kernel runs again.
    """
    if isinstance(rotations, np.ndarray) and rotations.dtype in (np.float64, np.float32):
        result, off_unit = kernel(rows("rotations", rotations, 4))
        if off_unit <= (2.0 * unit_rounding(rotations.dtype)) ** 2:
            return result
    return kernel(unit_quats("rotations", rotations))[0]


@dataclass(frozen=True, eq=False)
class Limit:
    """The rotations whose points in `chart`, in any cover, are within `margin` of `shape`.

    The margin is in radians, at least 0. Rotations are measured from the joint's parent, or from
    the ancestor named `relative_to`.

    Examples
    --------
    >>> from synovia import Box, SwingTwist
    >>> ring = Box(low=[-0.4, -0.4, -0.1], high=[0.4, 0.4, 0.1], axes=np.eye(3))
    >>> wrist = Limit(SwingTwist(axis=[0, 1, 0]), ring)
    >>> bool(wrist.contains([1.0, 0.0, 0.0, 0.0]))
    True
    >>> half_turn = [0.0, 1.0, 0.0, 0.0]
    >>> bool(wrist.contains(half_turn)), bool(wrist.contains(wrist.project(half_turn)))
    (False, True)
    """

    chart: Chart
    shape: Shape
    relative_to: str | None = None
    margin: float = 0.0

    def __post_init__(self) -> None:
        if self.relative_to is not None and not isinstance(self.relative_to, str):
            raise ValueError(f"relative_to must name a joint, got {self.relative_to!r}")
        object.__setattr__(self, "margin", float(check_margin(self.margin)))
        check_chart(self.shape, self.chart)
        check_shape(self.shape, self.chart)
        if not self.region.reach((0, 1, 2)) <= FARTHEST:
            raise ValueError(
                f"a limit must stay within {FARTHEST / TURN:.0f} whole turns of its reference, "
                f"got one that reaches {self.region.reach((0, 1, 2)):.6g} radians"
            )
        if self.chart.is_singular(self.region):
            warnings.warn(
                "the region contains the direction opposite the bone's axis, "
                "where the twist is not defined",
                stacklevel=3,
            )

    @classmethod
    def fit(
        cls,
        rotations: Quats | Sequence[Quats],
        shape: str | type[Shape] = "kdop",
        chart: str | type[Chart] | None = None,
        *,
        margin: float = 0.05,
        reference: Quats | None = None,
        axis: Vectors | None = None,
        **options: Any,
    ) -> Self:
        """Return the limit around `rotations`, widened by `margin` radians.

        An array (n, 4) holds samples in any order; a list of such arrays holds paths in time, which
        are followed across whole turns. The default chart is the first that the shape supports;
        the default reference is the mean of the rotations. `axis` is the direction of the bone,
        for charts that have one. Further options are passed to the shape's fit.

        Shapes with `Region.fits_margin` move their faces, radii or threshold by the margin; for all
        others it becomes `Limit.margin`. ValueError if there are no rotations, or if chart or
        options do not suit the shape.
        """
        in_time = isinstance(rotations, (list, tuple))
        paths = [
            unit_quats("rotations", path).astype(np.float64)
            for path in (rotations if in_time else [rotations])
        ]
        if any(path.ndim != 2 for path in paths):
            raise ValueError(
                "rotations must be an array (n, 4) of samples, or a list of such arrays, each a "
                f"path in time, got {'a list with one of ' * in_time}shape {paths[0].shape}"
            )
        if sum(len(path) for path in paths) == 0:
            raise ValueError("a limit needs at least one rotation to fit, got none")
        if reference is None:
            reference = quat.mean(np.concatenate(paths))
        kind = shape_named(shape)
        framed = chart_named(kind.charts[0] if chart is None else chart, reference, axis)
        check_chart(kind, framed)
        framed = framed.align(np.concatenate(paths))
        points = unroll_paths(framed, paths) if in_time else framed.gather(paths[0])
        shape_margin = {"margin": check_margin(margin)} if kind.fits_margin else {}
        try:
            fitted = fit_shape(kind, framed, points, **shape_margin, **options)
            return cls(framed, fitted, margin=0.0 if shape_margin else margin)
        except TypeError as error:
            raise ValueError(
                f"{kind.name} cannot be fitted with {', '.join(options)}: {error}"
            ) from error

    @cached_property
    def region(self) -> Shape:
        """All points of the chart within the margin of the shape."""
        return offset(self.shape, self.margin) if self.margin > 0.0 else self.shape

    def grow(self, r: float) -> Limit:
        """Return the limit widened by `r` radians, as a fit with a margin of `r` would be."""
        if self.shape.fits_margin and self.margin == 0.0:
            return replace(self, shape=self.shape.grow(r))
        return replace(self, margin=self.margin + r)

    def shrink(self, r: float) -> Limit:
        """Return the part of the limit that is at least `r` radians inside it.

        If no member is that deep, the part around the deepest member remains.
        """
        left = max(r - self.margin, 0.0)
        shape = self.shape.shrink(left) if left > 0.0 else self.shape
        with warnings.catch_warnings():  # this limit has warned about its region
            warnings.simplefilter("ignore", UserWarning)
            return replace(self, shape=shape, margin=max(self.margin - r, 0.0))

    @property
    def compiled(self) -> bool:
        """True if there are kernels for both chart and shape; otherwise NumPy is used."""
        return self.chart.kernel is not None and self.shape.kernel is not None

    @cached_property
    def packed(self) -> Floats:
        """Chart, reach, margin and shape as one flat buffer, which `kernels.limit` reads."""
        shape = self.shape.packed
        header, tail = self.chart.packed(self.region)
        size = kernels.limit.HEADER.SIZE + len(shape) + len(tail)
        first = [kernels.limit.LAYOUT, size, *header, self.margin]
        return np.concatenate([first, shape, tail])

    @cached_property
    def stand_in(self) -> Limit:
        """A limit for compiled solvers: this one, or a distance field if it is not compiled.

        The field is in the same chart if that supports fields, else in rotation vectors. Its
        boundary is inaccurate by up to about a cell, so results must be projected with this limit.
        """
        if self.compiled:
            return self
        chart = self.chart
        if chart.kernel is None or not suits(chart, DistanceField):
            chart = RotationVector(chart.reference, frame=chart.frame)
        options = {"resolution": STAND_IN_NODES}
        shape = approximate(self, DistanceField, chart, STAND_IN_MEMBERS, options)
        return Limit(chart, shape, self.relative_to)

    def precision(self, given: np.dtype[Any]) -> np.dtype[Any]:
        """Return the dtype in which rotations of dtype `given` are projected: float64 if steep.

        Near a singularity of the chart, `round_members` needs more digits than float32 has.
        """
        return np.dtype(np.float64) if self.is_steep else given

    @cached_property
    def is_steep(self) -> bool:
        """True if members rounded to float32 may be outside."""
        return self.chart.is_steep(self.region)

    def round_members(self, legal: Quats, given: np.dtype[Any]) -> Quats:
        """Return legal rotations (..., 4) rounded to the dtype `given`, legal after rounding.

        Near a singularity of the chart, a rounded rotation may be outside. It is then moved towards
        the deepest member, in growing steps and projected, until its rounded value is legal.
        """
        rounded = legal.astype(given, copy=False)
        if rounded is legal or not self.is_steep:
            return rounded
        exact, flat = legal.reshape(-1, 4), rounded.reshape(-1, 4)
        outside = np.flatnonzero(~self.contains(flat))
        for share in ROUNDING_SHARES:
            if len(outside) == 0:
                break
            deepest = self.chart.rotations(self.shape.deepest)
            inner = self.project(quat.slerp(exact[outside], deepest, share)).astype(given)
            is_member = self.contains(inner)
            flat[outside[is_member]] = inner[is_member]
            outside = outside[~is_member]
        return flat.reshape(legal.shape)

    def contains(self, rotations: Quats) -> Mask:
        """Return a mask (...) of the legal ones among rotations (..., 4)."""
        distance = self.distance(rotations)
        return np.asarray(distance <= tolerance(distance.dtype))

    def distance(self, rotations: Quats) -> Scalars:
        """Return the signed distance (...) of rotations (..., 4), radians in the chart's metric.

        It is at most 0 inside.
        """
        if not self.compiled:
            rotations = unit_quats("rotations", rotations)
            return self.nearest(rotations)[1].astype(rotations.dtype)

        def measure(given: Quats) -> tuple[Scalars, float]:
            source = np.ascontiguousarray(given, self.precision(given.dtype))
            distance = np.empty(source.shape[:-1], source.dtype)
            off_unit = kernels.limit.measure(source.reshape(-1), self.packed, distance.reshape(-1))
            return distance.astype(given.dtype, copy=False), off_unit

        return evaluate_checked(measure, rotations)

    def required_margin(self, rotations: Quats) -> Scalars:
        """Return approximately the `r` in radians for which `grow(r)` contains each rotation.

        It is at most 0 for legal rotations.
        """
        if not self.shape.fits_margin or self.margin > 0.0:
            return self.distance(rotations)
        covers = self.covers(unit_quats("rotations", rotations))
        return np.asarray(np.min([self.shape.required_margin(points) for points in covers], axis=0))

    def distance_and_gradient(self, rotations: Quats) -> tuple[Scalars, Floats]:
        """Return the signed distances (...) in radians, and their gradients (..., 4).

        Gradients are by the components of the quaternion, and orthogonal to it. They come from
        central differences, to about 1e-9. Where two feet are equally near or faces meet, the
        gradient is one of those nearby. Where the distance changes by more than
        `kernels.limit.MAX_SLOPE` radians per radian of rotation, next to a chart's
        singularities, it is the gradient of the angle to the projection instead.
        """
        rotations = unit_quats("rotations", rotations)
        if not self.compiled:
            return self._distance_and_differences(rotations)
        source = np.ascontiguousarray(rotations)
        distances, gradients = np.empty(source.shape[:-1], source.dtype), np.empty_like(source)
        outputs = distances.reshape(-1, 1), gradients.reshape(-1)
        first = np.zeros(1, np.int64)
        kernels.limit.measure_gradients(source.reshape(-1), first, self.packed, -np.inf, *outputs)
        return distances, gradients

    def _distance_and_differences(self, rotations: Quats) -> tuple[Scalars, Floats]:
        """Do the same as `distance_and_gradient`, in NumPy."""
        nudge, distances = kernels.limit.NUDGE, self.distance(rotations)
        ahead, behind = (
            [self.distance(quat.mul(rotations, quat.exp(step * axis))) for axis in np.eye(3)]
            for step in (nudge, -nudge)
        )
        slopes = (np.stack(ahead, axis=-1) - np.stack(behind, axis=-1)) / (2.0 * nudge)
        length = np.linalg.norm(slopes, axis=-1, keepdims=True)
        away = quat.log(quat.mul(quat.inverse(self.project(rotations)), rotations))
        away = np.where((distances > kernels.limit.RIM)[..., None], away, slopes)
        size = np.maximum(np.linalg.norm(away, axis=-1, keepdims=True), kernels.limit.RIM)
        slopes = np.where(length > kernels.limit.MAX_SLOPE, away / size, slopes)
        by_rotation = np.concatenate([np.zeros_like(length), 2.0 * slopes], axis=-1)
        return distances, quat.mul(rotations, by_rotation.astype(rotations.dtype))

    def project(self, rotations: Quats) -> Quats:
        """Return the legal rotations (..., 4) nearest in the chart's metric, over all covers.

        Legal rotations are returned unchanged, bit for bit.
        """
        if not self.compiled:
            return self._project_by_covers(unit_quats("rotations", rotations))

        def project(given: Quats) -> tuple[Quats, float]:
            source = np.ascontiguousarray(given, self.precision(given.dtype))
            out, slack = np.empty_like(source), tolerance(given.dtype)
            outputs = self.packed, slack, out.reshape(-1)
            off_unit = kernels.limit.project(source.reshape(-1), *outputs)
            return self.round_members(out, given.dtype), off_unit

        return evaluate_checked(project, rotations)

    def _project_by_covers(self, rotations: Quats) -> Quats:
        """Do the same as `project`, in NumPy."""
        points, distance = self.nearest(rotations)
        nearest = self.chart.rotations(self.region.project(points))
        opposite = np.sum(nearest * rotations, axis=-1, keepdims=True) < 0.0
        nearest = np.where(opposite, -nearest, nearest)
        legal = (distance <= tolerance(rotations.dtype))[..., None]
        return self.round_members(np.where(legal, rotations, nearest), rotations.dtype)

    def violation(self, rotations: Quats) -> Scalars:
        """Return the angles (...) in radians to the nearest legal rotations; 0 if legal.

        Nearest is by rotation angle, so the result is at most `correction`. It is within 1 % or 0.1
        degrees of the exact angle.
        """
        return self._angles(rotations, self.nearest_rotation)

    def correction(self, rotations: Quats) -> Scalars:
        """Return the rotation angle, in radians, by which `project` moves each rotation."""
        return self._angles(rotations, self.project)

    def _angles(self, rotations: Quats, legal: Callable[[Quats], Quats]) -> Scalars:
        """Return the angles from illegal rotations to those that `legal` returns; 0 for others."""
        rotations = unit_quats("rotations", rotations)
        angles = np.zeros(rotations.shape[:-1], rotations.dtype)
        # The kernel of a field needs an index that takes longer to build than most clips to judge.
        # Where the field's values show that all rotations are legal, it is not needed.
        by_value = self.shape.fits_margin and not self.shape.exact_distance
        if by_value and (self.required_margin(rotations) <= 0.0).all():
            return angles
        outside = ~self.contains(rotations)
        if outside.any():
            beyond = rotations[outside]
            angles[outside] = quat.angle_between(beyond, legal(beyond))
        return angles

    def nearest_rotation(self, rotations: Quats) -> Quats:
        """Return the legal rotations at the smallest rotation angle; legal ones stay as they are.

        This is a search that takes some 0.2 ms for each illegal rotation; `project` is faster.
        """
        rotations = unit_quats("rotations", rotations)
        nearest = np.array(rotations)
        outside = ~self.contains(rotations)
        given = rotations[outside].astype(np.float64)
        nearest[outside] = nearest_by_angle(
            lambda tried, _: self.project(tried), given, self.project(given), self.spread_members
        )
        return nearest

    @cached_property
    def spread_members(self) -> Quats:
        """Legal rotations (n, 4) from all of the limit: projections of `covering_rotations`."""
        return self.project(covering_rotations())

    def soften(self, rotations: Quats, softening: Softening) -> Quats:
        """Return the rotations moved towards the limit or into it; see `limit.softening`."""
        rotations = unit_quats("rotations", rotations)
        points = self.nearest_cover(rotations)
        softened = softening.soften(self.region, points)
        moved = (softened != points).any(axis=-1, keepdims=True)
        moved |= self.is_out_of_reach(rotations)[..., None]
        return np.where(moved, self.chart.rotations(softened), rotations).astype(rotations.dtype)

    def nearest_cover(self, rotations: Quats) -> Points:
        """Return the point of each rotation in the cover nearest to the region."""
        covers = self.covers(rotations)
        return covers[0] if len(covers) == 1 else self.nearest(rotations)[0]

    def nearest(self, rotations: Quats) -> tuple[Points, Scalars]:
        """Return the point of each rotation in the cover nearest to the region, and its distance.

        For a rotation out of the chart's reach, the shortfall is added to the distance.
        """
        covers = np.stack(self.covers(rotations))
        distances = self.region.distance(covers)
        best = distances.argmin(axis=0)[None]
        points = np.take_along_axis(covers, best[..., None], axis=0)[0]
        distance = np.take_along_axis(distances, best, axis=0)[0]
        beyond = self.chart.shortfall(rotations)
        if beyond is not None:
            far = self.is_out_of_reach(rotations)
            distance = np.where(far, beyond + np.maximum(distance, 0.0), distance)
        return points, distance

    def covers(self, rotations: Quats) -> list[Points]:
        """Return the points of the rotations in every cover that may be nearest to the region."""
        return self.chart.shifts(self.chart.points(np.asarray(rotations, np.float64)), self._turns)

    @property
    def _turns(self) -> int:
        """Number of whole turns, in both directions, among which the nearest cover is."""
        return 1 + int(self.region.reach((0, 1, 2)) // TURN)

    def is_out_of_reach(self, rotations: Quats) -> Mask:
        """Return a mask of rotations that no point of the chart represents: never legal."""
        beyond = self.chart.shortfall(rotations)
        if beyond is None:
            return np.zeros(np.shape(rotations)[:-1], dtype=bool)
        return np.asarray(beyond > tolerance(np.dtype(np.float64)))

    def normal(self, rotations: Quats) -> Points:
        """Return the outward unit normals (..., d) in the chart, in the nearest cover."""
        return self.region.normal(self.nearest_cover(unit_quats("rotations", rotations)))

    def sample(self, n: int, rng: np.random.Generator) -> Quats:
        """Return `n` legal rotations (n, 4), uniform among rotations.

        In a thin region, points are uniform in the chart within its lower dimension.
        """
        if n < 0:
            raise ValueError(f"n must be at least 0, got {n}")
        thin = self.region.measure == 0.0
        drawn: list[Points] = [np.empty((0, self.shape.dimension))]
        while sum(len(points) for points in drawn) < n:
            points = self.region.scatter(2 * n + 16, rng)
            if not thin:
                # Members are uniform in the chart; most of all rotations are at its origin.
                share = self.chart.density(points) / self.chart.max_density
                share = share / self._multiplicity(points)
                points = points[rng.random(len(points)) < share]
            drawn.append(points)
        return self.chart.rotations(np.concatenate(drawn)[:n])

    def volume(self, samples: int = 20_000, seed: int = 0) -> float:
        """Return the share of all rotations that is legal, in [0, 1]; 0 for a thin limit.

        It is a mean over `samples` members, with an error of about 1 % of the result. For the
        direction-twist chart, whose density is constant, it is computed without sampling.
        """
        samples = whole_number("samples", samples, least=1)
        if self.region.measure == 0.0:
            return 0.0
        if isinstance(self.chart, DirectionTwist):  # its density is constant
            return min(self.region.measure * self.chart.max_density, 1.0)
        points = self.region.scatter(samples, np.random.default_rng(seed))
        weights = self.chart.density(points) / self._multiplicity(points)
        return float(min(self.region.measure * weights.mean(), 1.0))

    def _multiplicity(self, points: Points) -> Scalars:
        """Return the number of covers (n,) in which the rotation of each member is legal."""
        if self.chart.is_injective(self.region):
            return np.ones(len(points))
        covers = np.stack(self.covers(self.chart.rotations(points)))
        return np.asarray(np.maximum(self.region.contains(covers).sum(axis=0), 1.0))

    def to(
        self,
        shape: str | type[Shape],
        chart: str | Chart | None = None,
        *,
        axis: Vectors | None = None,
        **options: Any,
    ) -> Conversion:
        """Return an approximation of this limit by another shape, with the share gained and lost.

        The chart may be a name or a chart; by default it stays the same if the shape supports it.
        Its frame is kept. `axis` is the direction of the bone in the joint's frame, for a chart
        that needs one if this chart has none. Further options are passed to the shape's fit. If
        shape and chart are the same and there are no options, the limit is returned unchanged.
        """
        return convert(self, shape, chart, axis, options)

    def in_frames(self, parent: Quats, child: Quats) -> Limit:
        """Return the limit on rotations r, of which this one accepts c = parent⁻¹ · r · child.

        `parent` and `child` are constant unit quaternions (4,): the frames of the parent's and the
        child's bone, as the skeleton of r has them, for a limit made for the frames of c. Only the
        chart changes. `relative_to` stays: rename it where joints have other names.

        Examples
        --------
        >>> from synovia import Box, Limit, RotationVector, quat
        >>> knee = Limit(RotationVector(), Box(low=[0, 0, 0], high=[2.4, 0, 0], axes=np.eye(3)))
        >>> z_to_x = quat.exp(np.array([0.0, np.pi / 2, 0.0]))
        >>> other = knee.in_frames(quat.inverse(z_to_x), quat.inverse(z_to_x))
        >>> bool(other.contains(quat.exp(np.array([0.0, 0.0, 1.2]))))  # the other bends about z
        True
        """
        for name, given in (("parent", parent), ("child", child)):
            if unit_quats(name, given).shape != (4,):
                raise ValueError(f"{name} must be one unit quaternion (4,), got {np.shape(given)}")
        parent, child = (quat.normalize(np.asarray(q, np.float64)) for q in (parent, child))
        reference = quat.mul(quat.mul(parent, self.chart.reference), quat.inverse(child))
        frame = quat.normalize(quat.mul(child, self.chart.frame))
        chart = replace(self.chart, reference=quat.normalize(reference), frame=frame)
        return replace(self, chart=chart)
