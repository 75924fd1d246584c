"""What all shapes share: the verbs that follow from the nearest member of each point."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Mask, Points, Scalars, rows, tolerance
from .boundary import Boundary, boundary_by_distance
from .presentation import CellMap, CrossSection, Family, Number

if TYPE_CHECKING:
    from .directional import Directional
    from .reach_cone.cone import ReachCone

RIM = 1e-7  # nearer to the boundary than this, a move is too short to give a direction


@dataclass(frozen=True)
class Surface:
    """Triangles on a shape's boundary: vertices (v, d) in the chart, corners (t, 3) by number."""

    vertices: Points
    triangles: Ints


class Region(ABC):
    """A closed region of a chart.

    A shape gives what is abstract here, and `fit`; the verbs are here. Its points live in a
    vector space unless it says otherwise with `moves` and `toward`.
    """

    name: ClassVar[str]
    charts: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of coordinates of the shape's points."""

    @property
    @abstractmethod
    def packed(self) -> Floats:
        """The kind and the parameters, flat, as `kernels.shapes` reads them."""

    @property
    @abstractmethod
    def bounds(self) -> Points:
        """The least and greatest coordinates of the members in the chart: (2, d)."""

    @abstractmethod
    def reach(self, columns: tuple[int, ...]) -> float:
        """Return a bound on how far members are from the origin, in these coordinates alone."""

    @abstractmethod
    def facing(self, points: Points) -> Points:
        """Return the outward unit normal of the part of the boundary nearest to inner points."""

    @abstractmethod
    def grow(self, r: float) -> Self:
        """Return the shape `r` radians larger all around."""

    @abstractmethod
    def shrink(self, r: float) -> Self:
        """Return the shape `r` radians smaller all around, as far as members are left."""

    @property
    @abstractmethod
    def measure(self) -> float:
        """The volume in the chart, 0 if thin."""

    @abstractmethod
    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        """Return `n` members, uniform in the chart."""

    def contains(self, points: Points) -> Mask:
        """Tell which points are members."""
        points = self._checked(points)
        return self._nearest(points)[1] <= tolerance(points.dtype)

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
        nearest, distance = self._nearest(points)
        beyond = (distance > RIM)[..., None]
        move = -self.moves(points, nearest)
        length = np.where(beyond, np.linalg.norm(move, axis=-1, keepdims=True), 1.0)
        return np.where(beyond, move / length, self.facing(nearest)).astype(points.dtype)

    def moves(self, start: Points, end: Points) -> Points:
        """Return the shortest moves from `start` to `end`, as seen from `start`."""
        return np.asarray(end - start)

    def toward(self, start: Points, end: Points, share: Scalars) -> Points:
        """Return the points a `share` of the shortest way from `start` to `end`."""
        return np.asarray(start + (end - start) * np.asarray(share)[..., None])

    def _checked(self, points: Points) -> Points:
        return rows("points", points, self.dimension)

    def _nearest(self, points: Points) -> tuple[Points, Scalars]:
        """Return the nearest members and the signed distances, as the kernels find them."""
        return self._found(points, self.packed)

    def _found(self, points: Points, packed: Floats) -> tuple[Points, Scalars]:
        flat = np.zeros((*points.shape[:-1], 3))
        flat[..., : self.dimension] = points
        out, distance = np.empty_like(flat), np.empty(points.shape[:-1])
        kernels.shapes.project_points(flat.ravel(), packed, out.ravel(), distance.ravel())
        return out[..., : self.dimension], distance

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, with the shape's own name as `type`."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {"type": self.name, **fields}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """Return the shape that `to_dict` wrote, less its `type`."""
        return cls(**fields)

    # For pictures and for editing: what a shape overrides where it can do better.

    convex: ClassVar[bool] = False
    """Whether all points between two members are members."""
    sculptable: ClassVar[bool] = False
    """Whether `push` and `brush` move the boundary."""
    counts_samples: ClassVar[bool] = False
    """Whether `add` takes in a sample that is inside already, as more evidence."""
    label: ClassVar[str] = ""
    """The shape's name in a sentence, where it is not `name`."""

    def boundary(self, detail: int = 1) -> Boundary:
        """Return triangles on the boundary whose edges can be halved on it.

        With a detail of 0 there are few, and soon; they may be a little off the boundary.
        """
        return boundary_by_distance(self, detail)

    def surface(self, detail: int = 2) -> Surface:
        """Return triangles on the boundary, finer with more `detail`."""
        if detail < 0:
            raise ValueError(f"detail must be at least 0, got {detail}")
        boundary = self.boundary(detail)
        return Surface(boundary.place(boundary.points), boundary.triangles)

    @property
    def directional(self) -> Directional | None:
        """The shape itself, if its points are a direction and a twist, else None."""
        return None

    def cell_map(self) -> CellMap | None:
        """Return the shape as cells of the sphere, if it is made of such."""
        return None

    def cross_sections(self) -> tuple[CrossSection, ...]:
        """Return signed distances in planes of the chart, if the shape is made of such."""
        return ()

    @classmethod
    def families(cls) -> tuple[Family, ...]:
        """Return what people choose between for a fit of this shape: usually one family."""
        label = cls.name.replace("-", " ")
        return (Family(cls.name, label[:1].upper() + label[1:], cls.name),)

    @property
    def family(self) -> str:
        """The name of the one of `families` that the shape is of."""
        return self.name

    def numbers(self, coordinates: Sequence[str]) -> list[Number]:
        """Return the numbers that describe the shape; `coordinates` names those of the chart."""
        return []

    def with_number(self, field: str, index: int, value: float) -> Self:
        """Return the shape with `value`, in radians, at a place of one of its fields."""
        values = np.array(getattr(self, field), dtype=np.float64)
        values.reshape(-1)[index] = value
        changed = {field: float(values) if values.ndim == 0 else values}
        return dataclasses.replace(self, **changed)  # type: ignore[type-var]

    def add(self, points: Points) -> Self:
        """Return the shape with `points` (n, d) in it too: grown, unless it has a better way."""
        points = self._checked(points)
        grown = self.grow(max(float(self.distance(points).max(initial=0.0)), 0.0))
        if not grown.contains(points).all():
            raise ValueError(f"a {self.name} cannot grow to take this in: fit it anew instead")
        return grown

    def level(self, points: Points) -> Scalars:
        """Return what is less the nearer a point is to the deepest: distances, or what is sooner.

        It tells which cover of a rotation to sculpt in.
        """
        return self.distance(points)

    def push(self, center: Points, radius: float, amount: float) -> Self:
        """Return the shape with its boundary pushed out by `amount` radians around `center`.

        The push ends `radius` radians from there; a negative amount pulls the boundary in.
        """
        raise ValueError(f"a {self.name} cannot be sculpted: make it a distance field")

    def brush(self, center: Points, radius: float, amount: float) -> Self:
        """Return nearly what `push` does, soon, for a picture; `settle` ends a series of these."""
        return self.push(center, radius, amount)

    def settle(self) -> Self:
        """Return the shape after the last of some strokes of the `brush`."""
        return self

    @property
    def cones(self) -> tuple[ReachCone, ...]:
        """The reach cones that the shape is made of, whose points can be moved."""
        return ()

    def with_cones(self, cones: Sequence[ReachCone]) -> Region:
        """Return the shape made of other cones."""
        raise ValueError(f"only reach cones have points, this limit is a {self.name}")


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


def within_slack(bounds: Scalars, slack: float, distances: Callable[[], Scalars]) -> Mask:
    """Tell which distances are at most `slack`, by bounds below them that are exact inside.

    They are asked for only where a bound, positive but no more than `slack`, leaves a doubt.
    """
    doubt = bool(((bounds > 0.0) & (bounds <= slack)).any())
    return np.asarray((distances() if doubt else bounds) <= slack)
