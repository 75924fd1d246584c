"""What shapes of directions and twists share: points are a unit direction and a twist beside it.

The metric is the great circle, then the twist: a move is as long as √(angle² + twist²). A twist
and its whole turns are the same; an interval of twists may pass ±π, and one of 2π is free.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from .. import kernels
from ..arrays import (
    TOLERANCE,
    TURN,
    Floats,
    Mask,
    Points,
    Scalars,
    Vectors,
    rows,
)
from .region import Region

OFF_UNIT = 1e-3  # how far a direction's length may be off 1
TWIST_STEP = TURN / 64.0  # in which the end of the legal twists is looked for


class Directional(Region):
    """A closed region of directions (3 numbers), each with an interval of twists.

    `project` goes to the nearest legal direction, then to the nearest legal twist there.
    """

    charts: ClassVar[tuple[str, ...]] = ("direction-twist",)
    exact_distance: ClassVar[bool] = False  # it is that of the nearest direction, then twist

    @property
    def dimension(self) -> int:
        return 4

    def nearest_direction(self, directions: Vectors) -> tuple[Vectors, Scalars]:
        """Return the nearest legal directions (..., 3), and the angles to them in radians."""
        directions = rows("directions", directions, 3)
        nearest = self._at(directions)[..., :3]
        return nearest, angle_between(directions, nearest)

    def contains_direction(self, directions: Vectors) -> Mask:
        """Return a mask of the unit directions (..., 3) that are legal with some twist."""
        return np.asarray(self.nearest_direction(directions)[1] <= TOLERANCE)

    def twist_range(self, directions: Vectors) -> Floats:
        """Return the least and greatest twist (..., 2), in radians, at legal directions."""
        start = self._at(rows("directions", directions, 3))
        ends = [self._last_twist(start, step) for step in (-TWIST_STEP, TWIST_STEP)]
        return np.stack(ends, axis=-1)

    def _at(self, directions: Vectors) -> Points:
        """Return members at directions (..., 3), if legal, with the twist nearest to 0."""
        without = np.zeros_like(directions[..., :1])
        return self.project(np.concatenate([directions, without], axis=-1))

    def _last_twist(self, start: Points, step: float) -> Scalars:
        """Return the last twist that is legal from members on, in steps; half a turn if all are."""
        steps = step * np.arange(1, round(TURN / TWIST_STEP) + 1)
        ahead = np.repeat(start[..., None, :], len(steps), axis=-2)
        ahead[..., 3] += steps
        legal = self.contains(ahead)
        first = legal.argmin(axis=-1)[..., None, None]
        beyond = np.take_along_axis(ahead, first, axis=-2)[..., 0, :]
        end = beyond[..., 3] + self.moves(beyond, self.project(beyond))[..., 3]
        return np.where(legal.all(axis=-1), np.copysign(np.pi, step), end)

    @property
    def twist_bounds(self) -> tuple[float, float]:
        """A range of angles that holds all legal twists, in radians."""
        return -np.pi, np.pi

    @cached_property
    def bounds(self) -> Points:
        """The least and greatest coordinates of legal directions, and `twist_bounds`: (2, 4)."""
        axes = np.concatenate([-np.eye(3), np.eye(3)])
        most = np.cos(self.nearest_direction(axes)[1])
        low, high = self.twist_bounds
        return np.array([[*-most[:3], low], [*most[3:], high]])

    def reach(self, columns: tuple[int, ...]) -> float:
        # Directions and twists have no covers that a reach could spare.
        return np.pi

    def moves(self, start: Points, end: Points) -> Points:
        """Return the tangent from `start` along the great circle to `end`, and the twist's turn."""
        tangent = _tangent(start[..., :3], end[..., :3])
        turn = end[..., 3:] - start[..., 3:]
        return np.concatenate([tangent, turn - TURN * np.rint(turn / TURN)], axis=-1)

    def shift(self, points: Points, moves: Points) -> Points:
        start = points[..., :3]
        angle = np.linalg.norm(moves[..., :3], axis=-1, keepdims=True)
        direction = np.cos(angle) * start + np.sinc(angle / np.pi) * moves[..., :3]
        direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
        direction = np.where(angle > 0.0, direction, start)
        return np.concatenate([direction, points[..., 3:] + moves[..., 3:]], axis=-1)

    def _checked(self, points: Points) -> Points:
        points = rows("points", points, 4)
        length = np.linalg.norm(points[..., :3], axis=-1, keepdims=True)
        off = np.abs(length - 1.0)
        if off.max(initial=0.0) > OFF_UNIT:
            where = np.unravel_index(int(off.argmax()), off.shape)
            raise ValueError(
                f"directions must be unit to within {OFF_UNIT}, got length {length[where]:.6g} "
                f"at {[int(i) for i in where[:-1]]}"
            )
        return points

    def _found(self, points: Points, packed: Floats) -> tuple[Points, Scalars]:
        flat = np.ascontiguousarray(points, dtype=np.float64)
        out, distance = np.empty_like(flat), np.empty(points.shape[:-1])
        kernels.shapes.project_directions(flat.ravel(), packed, out.ravel(), distance.ravel())
        return out, distance


def as_directional(shape: Region) -> Directional | None:
    """Return the shape if its points are directions and twists, else None."""
    return shape if isinstance(shape, Directional) else None


def _tangent(start: Vectors, end: Vectors) -> Vectors:
    """Return vectors across `start`, as long as the angle to `end` and pointing there."""
    across = end - np.sum(start * end, axis=-1, keepdims=True) * start
    size = np.linalg.norm(across, axis=-1, keepdims=True)
    angle = angle_between(start, end)[..., None]
    return np.asarray(across * np.divide(angle, size, out=np.zeros_like(size), where=size > 0.0))


def unit_directions(name: str, directions: Vectors) -> Vectors:
    """Return directions of length 1, float64; those off by more than rounding are normalised."""
    directions = rows(name, directions, 3).astype(np.float64)
    length = np.sqrt(np.einsum("...i,...i->...", directions, directions))[..., None]
    off = np.abs(length - 1.0)
    if off.max(initial=0.0) > OFF_UNIT:
        raise ValueError(
            f"{name} must be unit directions to within {OFF_UNIT}, got length "
            f"{float(length.ravel()[int(off.argmax())]):.6g}"
        )
    if off.max(initial=0.0) <= 1e-12:
        return directions
    return np.where(off > 1e-12, directions / np.where(length > 0.0, length, 1.0), directions)


def angle_between(a: Vectors, b: Vectors) -> Scalars:
    """Return the angle between unit vectors (..., 3), in radians, accurate at 0 and at π."""
    apart, together = np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1)
    return np.asarray(2.0 * np.arctan2(apart, together))
