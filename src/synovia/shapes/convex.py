"""What all convex shapes share: the verbs that follow from their packed parameters."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Mask, Points, Scalars, rows, tolerance

RIM = 1e-7  # nearer to the boundary than this, a move is too short to give a direction


@dataclass(frozen=True)
class Surface:
    """Triangles on a shape's boundary: vertices (v, 3) in the chart, corners (t, 3) by number."""

    vertices: Points
    triangles: Ints


class Convex(ABC):
    """A closed convex region of a chart, in 2 or 3 dimensions.

    A shape gives `dimension`, `packed` (its kind and parameters, for the kernels), `bounds`,
    `reach`, `facing`, `grow`, `shrink`, `surface`, `measure` and `scatter`; the verbs are here.
    """

    name: ClassVar[str]
    charts: ClassVar[tuple[str, ...]] = ("rotation-vector", "swing-twist")

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of coordinates of the shape's points."""

    @property
    @abstractmethod
    def packed(self) -> Floats:
        """The kind and the parameters, flat, as `kernels.shapes` reads them."""

    @abstractmethod
    def facing(self, points: Points) -> Points:
        """Return the outward unit normal of the part of the boundary nearest to inner points."""

    def contains(self, points: Points) -> Mask:
        """Tell which points are members."""
        points = rows("points", points, self.dimension)
        return self._nearest(points)[1] <= tolerance(points.dtype)

    def distance(self, points: Points) -> Scalars:
        """Return the length of the move to the nearest member; inside at most 0, never too deep."""
        points = rows("points", points, self.dimension)
        return self._nearest(points)[1].astype(points.dtype)

    def project(self, points: Points) -> Points:
        """Return the nearest member of each point; members come back as they are."""
        points = rows("points", points, self.dimension)
        nearest, distance = self._nearest(points)
        inside = distance <= tolerance(points.dtype)
        return np.where(inside[..., None], points, nearest.astype(points.dtype))

    def normal(self, points: Points) -> Points:
        """Return the outward unit direction: of the move beyond the boundary, else of the face."""
        points = rows("points", points, self.dimension)
        nearest, distance = self._nearest(points)
        beyond = (distance > RIM)[..., None]
        move = points - nearest
        length = np.where(beyond, np.linalg.norm(move, axis=-1, keepdims=True), 1.0)
        return np.where(beyond, move / length, self.facing(nearest)).astype(points.dtype)

    def _nearest(self, points: Points) -> tuple[Points, Scalars]:
        flat = np.zeros((*points.shape[:-1], 3))
        flat[..., : self.dimension] = points
        out, distance = np.empty_like(flat), np.empty(points.shape[:-1])
        kernels.shapes.project_points(flat.ravel(), self.packed, out.ravel(), distance.ravel())
        return out[..., : self.dimension], distance

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, with the shape's own name as `type`."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {"type": self.name, **fields}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """Return the shape that `to_dict` wrote, less its `type`."""
        return cls(**fields)


def principal_axes(points: Points) -> Floats:
    """Return the orthonormal axes (rows) along which points vary most to least, right-handed."""
    centered = points - points.mean(axis=0)
    _, vectors = np.linalg.eigh(centered.T @ centered)
    axes = vectors.T[::-1]
    # A sign of its own for each axis, so that equal data give equal axes on any machine.
    leading = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    axes = axes * np.where(leading < 0.0, -1.0, 1.0)
    if np.linalg.det(axes) < 0.0:
        axes[-1] = -axes[-1]
    return axes


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
