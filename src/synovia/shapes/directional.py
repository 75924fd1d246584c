"""What shapes of directions and twists share: points are a unit direction and a twist beside it.

The metric is the great circle, then the twist: a move is as long as √(angle² + twist²). A twist
and its whole turns are the same; an interval of twists may pass ±π, and one of 2π is free.
"""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import numpy as np

from .. import kernels
from ..arrays import (
    TOLERANCE,
    TURN,
    Floats,
    Ints,
    Mask,
    Points,
    Scalars,
    Vectors,
    rows,
    unit_vectors,
)
from .boundary import (
    Boundary,
    Midpoint,
    cut_off,
    drop_unused_points,
    edges_of,
    midpoint_on_sphere,
    rim_of,
    split_edges,
    unit_sphere,
)
from .extent import tangent_pair
from .region import Region, Surface

OFF_UNIT = 1e-3  # how far a direction's length may be off 1
TWIST_STEP = TURN / 64.0  # in which the end of the legal twists is looked for


class Directional(Region):
    """A closed region of directions (3 numbers), each with an interval of twists.

    `project` goes to the nearest legal direction, then to the nearest legal twist there.
    """

    charts: ClassVar[tuple[str, ...]] = ("direction-twist",)

    @property
    def dimension(self) -> int:
        return 4

    def contains_direction(self, directions: Vectors) -> Mask:
        """Tell which unit directions (..., 3) are legal with some twist."""
        directions = rows("directions", directions, 3)
        return np.asarray(angle_between(self._at(directions)[..., :3], directions) <= TOLERANCE)

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
    def exact_distance(self) -> bool:  # that of the nearest direction, then the nearest twist
        return False

    def offset(self, r: float) -> Region:
        from .derived import DirectionalOffset

        return DirectionalOffset(self, r)

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

    def tangents(self, points: Points) -> Points:
        across = np.zeros((*points.shape[:-1], 3, 4))
        across[..., :2, :3], across[..., 2, 3] = tangent_pair(points[..., :3]), 1.0
        return across

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

    # For pictures and for editing.

    @property
    def directional(self) -> Directional:
        return self

    def contains_strictly(self, directions: Vectors) -> Mask:
        """As `contains_direction`, if possible without the tolerance, to find where legal ends."""
        return self.contains_direction(directions)

    @property
    def pieces(self) -> tuple[Directional, ...]:
        """The shapes whose union this is, each with a boundary of its own."""
        return (self,)

    def boundary(self, detail: int = 1) -> Boundary:
        """Return legal directions at either end of the twist, and a wall where they end.

        Its own coordinates are a direction (3 numbers), the share of the way from the least to
        the greatest twist there, and 1 where the legal directions end, else 0.
        """
        sphere = unit_sphere(FIRST_DETAIL + detail)
        return cut_boundary(self, sphere.points, sphere.triangles, detail)

    def surface(self, detail: int = 2) -> Surface:
        """Return the wall and, unless the twist is free, the sheets of least and greatest twist.

        Vertices are directions with a twist. Where a twist is free it has no ends.
        """
        if detail < 0:
            raise ValueError(f"detail must be at least 0, got {detail}")
        boundary = self.boundary(detail)
        triangles = boundary.triangles[~self.free_ends(boundary.points, boundary.triangles)]
        kept, triangles = drop_unused_points(triangles, len(boundary.points))
        return Surface(boundary.place(boundary.points[kept]), triangles)

    def free_ends(self, points: Floats, triangles: Ints) -> Mask:
        """Tell which triangles between points of the boundary are at the end of a free twist."""
        low, high = np.moveaxis(self.twist_range(points[:, :3]), -1, 0)
        free, share = high - low >= TURN - FREE, points[:, SHARE]
        at_end = [(share == end)[triangles].all(axis=1) for end in (0.0, 1.0)]
        return np.asarray(free[triangles].any(axis=1) & np.any(at_end, axis=0))


# The boundary of a shape of directions: a sheet at either end of the twist, and a wall.


SHARE, ON_RIM = 3, 4
"""Among the boundary's own coordinates: the share of the twist, and the rim's flag."""
FREE = 1e-9
HIGHEST_ROW = 0.5 * np.pi
"""Of the rows that a wall is cut into at least, in radians."""
FIRST_DETAIL = 3
"""How often the edges of an octahedron are halved for the first directions."""
HALVINGS, DRAFT_HALVINGS = 36, 8
"""How often edges of the first triangles are halved where legal directions end."""
RIM_HALVINGS = 12
"""How often the way to the rim is halved, from beside it."""
ACROSS = np.outer([0.0625, 0.25, 1.0, 2.0], [1.0, -1.0]).ravel()
"""How far beside the middle of an edge the rim is looked for, in lengths of half the edge."""
HASH = np.array([1.0, np.sqrt(2.0), np.sqrt(3.0)])
"""What tells directions apart by one number."""


def cut_boundary(
    shape: Directional, directions: Vectors, triangles: Ints, detail: int, *, kinked: bool = False
) -> Boundary:
    """Return the boundary over what is legal of triangles that cover the legal directions.

    Unless the detail is 0, those that the rim goes through are first made smaller.
    """
    legal = shape.contains_direction(directions)
    if detail > 0:
        corners = legal[triangles]
        edges, sides = edges_of(triangles)
        cut = np.zeros(len(edges), dtype=bool)
        cut[sides[corners.any(axis=1) & ~corners.all(axis=1)]] = True
        middles = midpoint_on_sphere(*np.moveaxis(directions[edges[cut]], 1, 0))
        number = np.where(cut, len(directions) + np.cumsum(cut) - 1, -1)
        triangles = split_edges(triangles, number[sides])
        directions = np.concatenate([directions, middles])
        legal = np.concatenate([legal, shape.contains_direction(middles)])

    def hidden(directions: Vectors) -> Mask:
        return ~shape.contains_strictly(directions)

    halvings = HALVINGS if detail > 0 else DRAFT_HALVINGS
    directions, triangles = cut_off(
        directions, triangles, midpoint_on_sphere, hidden, halvings, ~legal
    )
    kept, triangles = drop_unused_points(triangles, len(directions))
    return extrude_twists(
        shape,
        directions[kept],
        triangles,
        rim_of(triangles),
        1,
        lambda start, end: _midpoint_on_rim(shape, start, end),
        kinked=kinked,
    )


def extrude_twists(
    shape: Directional,
    directions: Vectors,
    triangles: Ints,
    rim: Ints,
    rows: int,
    midpoint: Midpoint | None = None,
    *,
    kinked: bool = False,
) -> Boundary:
    """Return legal directions at both ends of the twist, with the wall over the edges of `rim`.

    It has at least so many rows. Unless `midpoint` is given, edges are arcs of great circles.
    """
    on_rim = np.unique(rim)
    low, high = shape.twist_range(directions[on_rim]).T
    widest = float(np.minimum(high - low, TURN).max(initial=0.0))
    rows = max(rows, int(np.ceil(widest / HIGHEST_ROW)))
    n = len(directions)
    flags = np.zeros(n)
    flags[on_rim] = 1.0
    place = np.zeros(n, dtype=np.int64)
    place[on_rim] = np.arange(len(on_rim))
    shares = np.linspace(0.0, 1.0, rows + 1)
    points = [_coordinates(directions, share, flags) for share in (0.0, 1.0)]
    points += [_coordinates(directions[on_rim], share, flags[on_rim]) for share in shares[1:-1]]
    ring = [on_rim, *(2 * n + k * len(on_rim) + np.arange(len(on_rim)) for k in range(rows - 1))]
    ring.append(on_rim + n)
    parts = [triangles[:, ::-1], triangles + n]
    for below, above in pairwise(ring):
        a, b = below[place[rim]].T
        d, c = above[place[rim]].T
        parts += [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]

    def placed(points: Floats) -> Points:
        low, high = shape.twist_range(points[:, :3]).T
        twist = low + points[:, SHARE] * np.minimum(high - low, TURN)
        return np.column_stack([points[:, :3], twist])

    return Boundary(
        np.concatenate(points),
        np.concatenate(parts),
        midpoint_on_arc if midpoint is None else midpoint,
        placed,
        kinked,
    )


def _coordinates(directions: Vectors, share: float, flags: Scalars) -> Floats:
    return np.column_stack([directions, np.full(len(directions), share), flags])


def midpoint_on_arc(start: Floats, end: Floats) -> Floats:
    """Return points half way: directions along the great circle, all else by its mean."""
    middle = 0.5 * (start + end)
    middle[:, :3] /= np.linalg.norm(middle[:, :3], axis=1, keepdims=True)
    return middle


def _midpoint_on_rim(shape: Directional, start: Floats, end: Floats) -> Floats:
    """Return points half way; between two on the rim, where legal directions end beside it.

    Another edge may lead over what is not legal, where the rim bends inwards: then it is halved
    at the nearest legal direction.
    """
    middle = midpoint_on_arc(start, end)
    apart = (start[:, :3] != end[:, :3]).any(axis=1)
    edges = np.flatnonzero((middle[:, ON_RIM] == 1.0) & apart)
    # The rows of a wall have the same directions, one over the other.
    here, across = middle[edges, :3], np.cross(start[edges, :3], end[edges, :3])
    _, first, number = np.unique(here @ HASH, return_index=True, return_inverse=True)
    middle[edges, :3] = _nearby_rim(shape, here[first], 0.5 * across[first])[number.ravel()]
    lost = np.flatnonzero(~shape.contains_direction(middle[:, :3]))
    if len(lost):
        twisted = np.column_stack([middle[lost, :3], shape.twist_range(middle[lost, :3])[:, 0]])
        middle[lost, :3] = shape.project(twisted)[:, :3]
    return middle


def _nearby_rim(shape: Directional, directions: Vectors, across: Vectors) -> Vectors:
    """Return where legal directions end near to others (n, 3), looked for `across` to either side.

    Vectors across are about as long as it is looked for.
    """
    legal = shape.contains_strictly(directions)
    beside = unit_vectors(directions[:, None] + ACROSS[:, None] * across[:, None])
    changed = shape.contains_strictly(beside) != legal[:, None]
    found = np.flatnonzero(changed.any(axis=1))
    same, other = directions[found], beside[found, changed[found].argmax(axis=1)]
    for _ in range(RIM_HALVINGS):
        between = unit_vectors(same + other)
        still = (shape.contains_strictly(between) == legal[found])[:, None]
        same, other = np.where(still, between, same), np.where(still, other, between)
    rim = np.array(directions)
    rim[found] = np.where(legal[found, None], same, other)
    return rim


def _tangent(start: Vectors, end: Vectors) -> Vectors:
    """Return vectors across `start`, as long as the angle to `end` and pointing there."""
    across = end - np.sum(start * end, axis=-1, keepdims=True) * start
    size = np.linalg.norm(across, axis=-1, keepdims=True)
    angle = angle_between(start, end)[..., None]
    return np.asarray(across * np.divide(angle, size, out=np.zeros_like(size), where=size > 0.0))


def angle_between(a: Vectors, b: Vectors) -> Scalars:
    """Return the angle between unit vectors (..., 3), in radians, accurate at 0 and at π."""
    apart, together = np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1)
    return np.asarray(2.0 * np.arctan2(apart, together))
