"""Region, the base class of shapes: geometry derived from `distance` and `project`."""

from __future__ import annotations

import inspect
from abc import ABC
from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from typing import (
    Any,
    ClassVar,
    Literal,
    Self,
    get_origin,
    get_type_hints,
)

import numpy as np

from .. import kernels
from ..arrays import (
    Floats,
    Mask,
    Points,
    Scalars,
    Vectors,
    rows,
    tolerance,
)
from ..kernels.layout import SHAPE_KINDS
from . import extent

THIN = 1e-9  # radians; smaller extents count as none
RIM = 1e-7  # radians; shorter moves to the boundary do not give a direction


class Region(ABC):
    """A closed region of a chart.

    A shape is a frozen dataclass with a `name`, the names of its `charts`, and `distance` and
    `project` in NumPy, and usually with `fit`. These can be plain formulas: arguments are checked
    before, `project` leaves members unchanged, and float32 stays float32. Everything else has a
    default that uses only these; a shape overrides it where it has a closed form. A shape with a
    `kernel` gives `packed` instead of the two. Points are vectors of three dimensions unless
    `dimension`, `moves` and `shift` are overridden.

    Meshes (`shapes.mesh`), edits (`synovia.edit`) and files (`io.limits`) are functions that
    dispatch on the class.
    """

    name: ClassVar[str]
    charts: ClassVar[tuple[str, ...]]
    kernel: ClassVar[int | None] = None
    """Its number in `kernels.layout`, or None for shapes in NumPy."""
    fits_margin: ClassVar[bool] = False
    """True if `fit` has a margin, and `grow` and `shrink` move faces, radii or a threshold.

    Margins of other shapes are those of limits: see `Limit.margin`.
    """
    exact_distance: ClassVar[bool] = True
    """True if the distance of points outside is that of the nearest member."""

    def __init_subclass__(cls) -> None:
        if cls.kernel is not None and cls.kernel not in SHAPE_KINDS:
            raise ValueError(f"{cls.__name__}.kernel must be in kernels.layout, got {cls.kernel}")
        for name, check in _CHECKS.items() if cls.kernel is None else ():
            if name in vars(cls):
                setattr(cls, name, check(vars(cls)[name]))

    @classmethod
    def fit(cls, points: Points, *args: Any, **options: Any) -> Self:
        """Return the shape around `points` (n, d); with `fits_margin`, `margin` radians wider."""
        raise ValueError(f"a {cls.name} cannot be fitted to points")

    @classmethod
    def fit_options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of `fit` that are text or numbers, with their types.

        Some depend on the values of other options, which are in `given`.
        """
        hints = get_type_hints(cls.fit)
        names = [name for name in inspect.signature(cls.fit).parameters if name in hints]
        plain = {name: hints[name] for name in names if name != "margin"}
        return {
            name: hint
            for name, hint in plain.items()
            if hint in (str, int, float) or get_origin(hint) is Literal
        }

    @property
    def dimension(self) -> int:
        """The number of coordinates of the shape's points."""
        return 3

    @property
    def packed(self) -> Floats:
        """The kind and the parameters, flat, as `kernels.shapes` reads them."""
        raise ValueError(f"a {self.name} has no kernel")

    @cached_property
    def bounds(self) -> Points:
        """The least and greatest coordinates of the members in the chart, or beyond: (2, d)."""
        return self._extent.bounds

    def reach(self, columns: tuple[int, ...]) -> float:
        """Return a bound on how far members are from the origin, in these coordinates alone."""
        return float(np.linalg.norm(np.abs(self.bounds).max(axis=0)[list(columns)]))

    def grow(self, r: float) -> Region:
        """Return the shape `r` radians larger: with `fits_margin`, as its fit with that margin."""
        from .derived import offset

        return offset(self, r)

    def shrink(self, r: float) -> Region:
        """Return a part of the shape, at least `r` radians inside it while members are left."""
        from .derived import Offset

        return Offset(self, -r)

    def required_margin(self, points: Points) -> Scalars:
        """Return about how much the shape must `grow`, in radians, to have each point in it."""
        return self.distance(points)

    def mirror(self, turn: Floats, about: Points, normal: Vectors) -> Region | None:
        """Return what a mirror across `normal` shows of the shape; None where it has no such form.

        Of points it makes about + turn · (x − about): see `charts.Chart.mirror`.
        """
        from .derived import Turned

        return Turned(self, turn, about)

    @property
    def measure(self) -> float:
        """The volume in the chart, 0 if thin."""
        return self._extent.volume

    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        """Return `n` members, uniform in the chart; near to that if it is thin."""
        return self._extent.scatter(n, rng)

    @property
    def deepest(self) -> Points:
        """The deepest member that is known: (d,)."""
        return self._extent.deepest

    @cached_property
    def _extent(self) -> extent.Extent:
        return extent.DirectionalExtent(self) if self.dimension == 4 else extent.Extent(self)

    def contains(self, points: Points) -> Mask:
        """Tell which points are members."""
        points = self._checked(points)
        distance = self.distance(points) if self.kernel is None else self._nearest(points)[1]
        return np.asarray(distance <= tolerance(points.dtype))

    def distance(self, points: Points) -> Scalars:
        """Return the length of the move to the nearest member; inside at most 0, never too deep."""
        points = self._checked(points)
        return self._nearest(points)[1].astype(points.dtype)

    def project(self, points: Points) -> Points:
        """Return the nearest member of each point; members come back as they are."""
        points = self._checked(points)
        nearest, distance = self._nearest(points)
        inside = distance <= tolerance(points.dtype)
        return np.where(inside[..., None], points, nearest.astype(points.dtype))

    def normal(self, points: Points) -> Points:
        """Return the outward unit direction: of the move beyond the boundary, else of the face."""
        points = self._checked(points)
        outer = points.astype(np.float64, copy=False)
        nearest, distance = self._nearest(outer)
        # From edges and corners, a step outwards shows a direction that no member lies beyond.
        step = self.shift(nearest, 2.0 * RIM * self._slope(nearest))
        outer = np.where((np.abs(distance) <= RIM)[..., None], step, outer)
        nearest, distance = self._nearest(outer)
        beyond = (distance > RIM)[..., None]
        move = -self.moves(outer, nearest)
        length = np.where(beyond, np.linalg.norm(move, axis=-1, keepdims=True), 1.0)
        return np.where(beyond, move / length, self._slope(nearest)).astype(points.dtype)

    def moves(self, start: Points, end: Points) -> Points:
        """Return the shortest moves from `start` to `end`, as seen from `start`."""
        return np.asarray(end - start)

    def shift(self, points: Points, moves: Points) -> Points:
        """Return the points after `moves`, which are as `moves` gives them."""
        return np.asarray(points + moves)

    def _slope(self, points: Points) -> Points:
        """Return the outward unit normal of the part of the boundary nearest to inner points."""
        return extent.slope(self, points)

    def _checked(self, points: Points) -> Points:
        return rows("points", points, self.dimension)

    def _nearest(self, points: Points) -> tuple[Points, Scalars]:
        """Return the nearest members and the signed distances, as the kernels find them."""
        if self.kernel is not None:
            return self._found(points, self.packed)
        if type(self).distance is Region.distance or type(self).project is Region.project:
            raise TypeError(f"{type(self).__name__} must define distance and project")
        return self.project(points), self.distance(points)

    def _found(self, points: Points, packed: Floats) -> tuple[Points, Scalars]:
        flat = np.zeros((*points.shape[:-1], 3))
        flat[..., : self.dimension] = points
        out, distance = np.empty_like(flat), np.empty(points.shape[:-1])
        kernels.shapes.project_points(flat.ravel(), packed, out.ravel(), distance.ravel())
        return out[..., : self.dimension], distance


def _check_distance(distance: Callable[[Any, Points], Scalars]) -> Callable[[Any, Points], Scalars]:
    @wraps(distance)
    def checked(self: Region, points: Points) -> Scalars:
        points = self._checked(points)
        return np.asarray(distance(self, points.astype(np.float64, copy=False)), points.dtype)

    return checked


def _check_project(project: Callable[[Any, Points], Points]) -> Callable[[Any, Points], Points]:
    @wraps(project)
    def checked(self: Region, points: Points) -> Points:
        points = self._checked(points)
        inside = self.distance(points) <= tolerance(points.dtype)
        found = project(self, points.astype(np.float64, copy=False))
        return np.where(inside[..., None], points, found.astype(points.dtype))

    return checked


def _check_fit(fit: Any) -> Any:
    def checked(cls: Any, points: Points, **options: Any) -> Any:
        check_margin(options.get("margin", 0.0))
        return fit.__func__(cls, sample_points(points, (2, 3, 4)), **options)

    wrapped: Any = wraps(fit.__func__)(checked)
    return classmethod(wrapped)


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "distance": _check_distance,
    "project": _check_project,
    "fit": _check_fit,
}


class Convex(Region):
    """A closed convex region of a vector space, in 2 or 3 dimensions."""

    charts: ClassVar[tuple[str, ...]] = ("rotation-vector", "swing-twist")
    fits_margin: ClassVar[bool] = True

    def mirror(self, turn: Floats, about: Points, normal: Vectors) -> Region | None:
        return super().mirror(turn, about, normal) if about.any() else self.turn(turn)

    def turn(self, turn: Floats) -> Region:
        """Return the shape rotated or mirrored about the origin, by an orthogonal `turn` (d, d)."""
        from .derived import Turned

        return Turned(self, turn, np.zeros(self.dimension))


def interpolate(shape: Region, start: Points, end: Points, share: Scalars) -> Points:
    """Return the points at a `share` of the shortest moves from `start` to `end`."""
    return shape.shift(start, shape.moves(start, end) * np.asarray(share)[..., None])


def sample_points(points: Points, dimension: tuple[int, ...] = (2, 3)) -> Points:
    """Return the samples of a fit as (n, d) float64, at least one."""
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] not in dimension:
        wanted = " or ".join(f"(n, {d})" for d in dimension)
        raise ValueError(f"points to fit must have shape {wanted}, got {array.shape}")
    if len(array) == 0:
        raise ValueError("a shape needs at least one point to fit, got none")
    return rows("points", array, array.shape[1])


def check_margin(margin: float) -> float:
    """Return `margin` (radians) if it is finite and at least 0."""
    if not 0.0 <= margin < np.inf:
        raise ValueError(f"margin must be at least 0 radians, got {margin}")
    return margin
