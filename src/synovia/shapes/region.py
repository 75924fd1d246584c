"""What all shapes share: the verbs that follow from the nearest member of each point."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Mask, Points, Scalars, rows, tolerance

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

    @abstractmethod
    def surface(self, detail: int = 2) -> Surface:
        """Return triangles on the boundary, finer with more `detail`."""

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
