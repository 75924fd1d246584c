"""ReachCone: a star polygon on the sphere, with limits of the twist that vary with direction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Self

import numpy as np

from ... import kernels
from ...arrays import TURN, Floats, Ints, Mask, Points, Scalars, Vectors, floats, own, unit_vectors
from ...kernels.layout import CONE
from ..directional import Directional, unit_directions
from ..region import sample_points
from .fit import fit_cone
from .packing import edge_rows, pack_cone, slice_rows
from .star import StarError, broken_edge, visible_point

LEAST_POINTS = 3
SLACK = 1e-12  # how far past the end of an edge still counts as on it
AT_CORNER = 1e-10  # how far from a vertex, in radians, a crossing counts as being there
OPPOSITE = 1e-9  # chords that pass the centre closer than this have no direction there


@dataclass(frozen=True, eq=False)
class ReachCone(Directional):
    """All directions within the polygon of `points`, each with its own interval of twists.

    `points` (n, 3) are unit directions in counter-clockwise order, seen from outside. The polygon
    may be concave and larger than a hemisphere, but `visible` must see every point along a great
    circle inside; unless given it is the points' normalised sum, or one that is searched for.
    `low` and `high` are the limits of the twist at the points, in radians, `visible_low` and
    `visible_high` those at the visible point; between them they are interpolated. Unless given,
    the twist is free; at the visible point it has the points' mean limits. Intervals are
    continuous angles and may pass ±π; a width of 2π is free, one of 0 makes a universal joint.

    Examples
    --------
    >>> square = np.array([[1, 1, 2], [-1, 1, 2], [-1, -1, 2], [1, -1, 2]]) / np.sqrt(6)
    >>> cone = ReachCone(points=square, low=[-0.5] * 4, high=[0.5] * 4)
    >>> cone.contains([[0, 0, 1, 0.4], [0, 0, 1, 0.6]]).tolist()
    [True, False]
    """

    points: Annotated[Floats, "n>=3", 3]
    low: Annotated[Floats, "n"] = -np.pi  # type: ignore[assignment]
    high: Annotated[Floats, "n"] = np.pi  # type: ignore[assignment]
    visible: Annotated[Floats, 3] = None  # type: ignore[assignment]
    visible_low: float = None  # type: ignore[assignment]
    visible_high: float = None  # type: ignore[assignment]

    name: ClassVar[str] = "reach-cone"
    kernel: ClassVar[int | None] = CONE

    def __post_init__(self) -> None:
        points = unit_directions("ReachCone.points", self.points)
        if points.ndim != 2 or len(points) < LEAST_POINTS:
            raise ValueError(
                f"ReachCone.points must have shape (n, 3), n at least {LEAST_POINTS}, "
                f"got {points.shape}"
            )
        found = visible_point(points) if self.visible is None else self.visible
        visible = unit_directions("ReachCone.visible", found)
        n = len(points)
        for name, given in (("points", points), ("visible", visible)):
            object.__setattr__(self, name, given)
        for name in ("low", "high"):
            limits = floats(f"ReachCone.{name}", getattr(self, name)).astype(np.float64)
            object.__setattr__(self, name, np.full(n, limits) if limits.ndim == 0 else limits)
        own(self)
        for name, around in (("visible_low", self.low), ("visible_high", self.high)):
            given = getattr(self, name)
            middle = np.mean(around) if given is None else floats(f"ReachCone.{name}", given)
            object.__setattr__(self, name, float(middle))
        self._check_limits()
        broken = broken_edge(self.points, self.visible)
        if broken:
            rule = "ReachCone.points must make a star about the visible point"
            raise StarError(f"{rule}: {broken.why}", broken)

    def _check_limits(self) -> None:
        beyond = np.flatnonzero(self.low > self.high)
        if len(beyond):
            i = int(beyond[0])
            raise ValueError(
                f"ReachCone.low must not exceed ReachCone.high, got {self.low[i]:.6g} and "
                f"{self.high[i]:.6g} at point {i}"
            )
        if self.visible_low > self.visible_high:
            raise ValueError(
                "ReachCone.visible_low must not exceed ReachCone.visible_high, got "
                f"{self.visible_low:.6g} and {self.visible_high:.6g}"
            )

    @classmethod
    def fit(
        cls,
        points: Points,
        *,
        vertices: int = 25,
        visible: Vectors | None = None,
    ) -> Self:
        """Return a cone of so many `vertices` around `points` (n, 4).

        The boundary is the least that contains every sample, sector by sector as seen from the
        visible point, which is the mean direction unless given; sectors with few samples take the
        chord between their neighbours. The limits of the twist are the narrowest that contain
        every sample, changing smoothly around the boundary, by some 20 radians a radian at most:
        that float32 can follow. Samples in one place or on a line give a cone of at least 1e-4
        radians from the visible point to the boundary.
        """
        points = sample_points(points, (4,))
        if vertices < LEAST_POINTS:
            raise ValueError(f"vertices must be at least {LEAST_POINTS}, got {vertices}")
        points = np.column_stack([unit_directions("points to fit", points[:, :3]), points[:, 3]])
        about = None if visible is None else unit_directions("visible", visible)
        return cls(*fit_cone(points, vertices, about))

    @cached_property
    def packed(self) -> Floats:
        at_visible = (self.visible_low, self.visible_high)
        return pack_cone(self.points, self.visible, self.low, self.high, at_visible)

    @property
    def is_free(self) -> bool:
        """Whether every twist is legal in every legal direction."""
        widths = np.append(self.high - self.low, self.visible_high - self.visible_low)
        return bool(widths.min() >= TURN)

    def twist_range(self, directions: Vectors) -> Floats:
        """Return the least and greatest legal twist (..., 2), in radians, at legal directions.

        In slice i p_i is the weight of point i + 1, and -p_{i+1} that of point i: equation 6 of
        Wilhelms & Van Gelder has them the wrong way round.
        """
        return self.locate(unit_directions("directions", directions))[2]

    def slices(self, directions: Vectors, last: Ints | None = None) -> Ints:
        """Return the number of the slice (...) that each direction is in, legal or not.

        Slice i lies between points i and i + 1, seen from the visible point. With `last`, the
        slices of a moment ago, only what has left them is looked for.
        """
        directions = unit_directions("directions", directions)
        if last is None:
            return self.locate(directions)[0]
        last = np.broadcast_to(np.asarray(last), directions.shape[:-1])
        if not np.issubdtype(last.dtype, np.integer):
            raise ValueError(f"last must be numbers of slices, got {last.dtype}")
        planes = slice_rows(self.points, self.visible, self.low, self.high)[last % len(self.points)]
        into = np.sum(planes[..., 0:3] * directions, axis=-1) >= 0.0
        short = np.sum(planes[..., 3:6] * directions, axis=-1) < 0.0
        found = np.array(last % len(self.points), dtype=np.int64)
        gone = ~(into & short)
        if gone.any():
            found[gone] = self.locate(directions[gone])[0]
        return found

    def left(self, points: Points) -> Floats:
        """Return what is left to the boundary (..., 2), in radians: in direction, and in twist.

        Negative beyond it. The twist's is measured at the direction, or where that is not legal
        at the nearest legal one; it is infinite for a free twist.
        """
        flat = np.ascontiguousarray(self._checked(points), dtype=np.float64)
        angles, margins = np.empty(flat.shape[:-1]), np.empty(flat.shape[:-1])
        outputs = angles.reshape(-1), margins.reshape(-1)
        kernels.reach_cone.margins_of(flat.reshape(-1), self.packed, *outputs)
        return np.stack([angles, margins], axis=-1)

    def exit(self, start: Points, end: Points) -> Exit:
        """Return where the ways from `start` to `end` (..., 4) first leave the legal directions.

        The way is theirs: the straight chord between the two directions, seen from the
        centre, with the twist in proportion to the chord. Its share t is 1 if the boundary is not
        met and 0 if the start is not legal. Between opposite directions the chord meets the
        centre, where t is ½ unless both ends are legal.
        """
        start, end = np.broadcast_arrays(self._checked(start), self._checked(end))
        inside = self.contains_direction(start[..., :3]), self.contains_direction(end[..., :3])
        return first_crossing(self.points, start, end, *inside)

    def pull(self, points: Points, rest: Vectors | None = None) -> Points:
        """Return the points with illegal directions moved towards `rest` until they are legal.

        They go along the great circle to `rest`, a legal direction (the visible point unless
        given), and stop at the boundary; then the twist goes to the nearest legal one. Members
        stay. This is not the nearest member: see `project`.
        """
        points = self._checked(points)
        aim = self.visible if rest is None else unit_directions("rest", rest)
        if not self.contains_direction(aim):
            raise ValueError(f"rest must be a legal direction, got {aim.tolist()}")
        inside = self.contains_direction(points[..., :3])
        moved = pull_points(self.points, np.asarray(points, np.float64), aim, inside)
        lost = ~np.isfinite(moved).all(axis=-1)  # opposite to rest, or past a vertex
        moved[lost] = points[lost]
        return np.asarray(self.project(moved).astype(points.dtype))

    def mirror(self, turn: Floats, about: Points, normal: Vectors) -> ReachCone:
        across = unit_directions("normal", normal)
        points = np.vstack([self.points, self.visible])
        points = points - 2.0 * (points @ across)[:, None] * across
        # The order of the vertices is reversed, so that it stays counter-clockwise.
        return ReachCone(
            points=points[-2::-1],
            low=-self.high[::-1],
            high=-self.low[::-1],
            visible=points[-1],
            visible_low=-self.visible_high,
            visible_high=-self.visible_low,
        )

    @property
    def twist_bounds(self) -> tuple[float, float]:
        low, high = float(self.low.min()), float(self.high.max())
        return min(low, self.visible_low), max(high, self.visible_high)

    def locate(self, directions: Vectors) -> tuple[Ints, Scalars, Floats]:
        """Return the slices of unit directions (..., 3), heights, and ranges of the twist (..., 2).

        Heights (...) are those over the planes of the slices' edges: at least 0 inside.
        """
        flat = np.ascontiguousarray(directions, dtype=np.float64)
        batch = flat.shape[:-1]
        found, height = np.empty(batch, np.int64), np.empty(batch)
        limits = np.empty((*batch, 2))
        kernels.reach_cone.locate(
            flat.reshape(-1), self.packed, found.reshape(-1), height.reshape(-1), limits.reshape(-1)
        )
        return found, height, limits


def check_cone(name: str, value: object) -> None:
    """Raise ValueError, by the name of what is given, unless it is a reach cone."""
    if not isinstance(value, ReachCone):
        raise ValueError(f"{name} must be a ReachCone, got {value!r:.80}")


def nearest_on_edges(vertices: Vectors, directions: Vectors) -> tuple[Vectors, Ints]:
    """Return the point of the polygon's edges nearest to each direction, and its edge's number."""
    starts, ends = vertices, np.roll(vertices, -1, axis=0)
    normals = unit_vectors(np.cross(starts, ends))
    feet = directions[..., None, :] - (directions @ normals.T)[..., None] * normals
    on_edge = np.sum(feet * np.cross(normals, starts), axis=-1) >= 0.0
    on_edge &= np.sum(feet * np.cross(ends, normals), axis=-1) >= 0.0
    length = np.linalg.norm(feet, axis=-1, keepdims=True)
    feet = feet / np.where(length > 0.0, length, 1.0)
    corner = np.where((directions @ starts.T >= directions @ ends.T)[..., None], starts, ends)
    feet = np.where(on_edge[..., None], feet, corner)
    number = np.linalg.norm(feet - directions[..., None, :], axis=-1).argmin(axis=-1)
    return np.take_along_axis(feet, number[..., None, None], axis=-2)[..., 0, :], number


@dataclass(frozen=True, eq=False)
class Exit:
    """Where ways first leave the legal directions: `points` (..., 4), and the share `t` (...)."""

    points: Points
    t: Scalars


def first_crossing(
    vertices: Vectors, start: Points, end: Points, inside: Mask, arrives: Mask
) -> Exit:
    """Return the first places where chords from `start` to `end` leave the polygon.

    `inside` and `arrives` tell whether the starts and the ends are legal directions.
    """
    start, end = start.astype(np.float64), end.astype(np.float64)
    t = _exit_shares(vertices, start[..., :3], end[..., :3]).min(axis=-1, initial=1.0)
    opposite = np.linalg.norm(start[..., :3] + end[..., :3], axis=-1) < OPPOSITE
    t = np.where(opposite, np.where(arrives, 1.0, 0.5), t)
    t = np.where(inside, t, 0.0)
    chord = start[..., :3] + t[..., None] * (end[..., :3] - start[..., :3])
    length = np.linalg.norm(chord, axis=-1, keepdims=True)
    direction = np.where(length > OPPOSITE, chord / np.maximum(length, OPPOSITE), start[..., :3])
    direction = np.where((t == 0.0)[..., None], start[..., :3], direction)
    direction = np.where((t == 1.0)[..., None], end[..., :3], direction)
    twist = start[..., 3] + t * (end[..., 3] - start[..., 3])
    return Exit(np.concatenate([direction, twist[..., None]], axis=-1), t)


def pull_points(vertices: Vectors, points: Points, rest: Vectors, inside: Mask) -> Points:
    """Return the points with outer directions moved to where their way to `rest` enters.

    Not a number where no such place is found.
    """
    directions = points[..., :3]
    aim = np.broadcast_to(rest, directions.shape)
    t = _crossings(vertices, directions, aim, 1.0).min(axis=-1)
    found = np.isfinite(t)
    chord = directions + np.where(found, t, 0.0)[..., None] * (aim - directions)
    length = np.linalg.norm(chord, axis=-1, keepdims=True)
    found &= length[..., 0] > OPPOSITE
    chord = np.where(found[..., None], chord / np.where(found[..., None], length, 1.0), np.nan)
    moved = np.where(inside[..., None], directions, chord)
    return np.concatenate([moved, points[..., 3:]], axis=-1)


def _exit_shares(vertices: Vectors, start: Vectors, end: Vectors) -> Floats:
    """Return where chords leave the polygon over each edge (..., n); infinite if they do not.

    At a vertex that points inwards, who crosses one edge leaves only if the other is left, too.
    """
    t = _crossings(vertices, start, end, -1.0)
    before, after = np.roll(vertices, 1, axis=0), np.roll(vertices, -1, axis=0)
    inward = np.einsum("ij,ij->i", np.cross(before, vertices), after) < 0.0
    if not inward.any():
        return t
    left = (end - start) @ edge_rows(vertices)[:, 6:9].T < 0.0
    crossing = np.isfinite(t)
    place = (
        start[..., None, :] + np.where(crossing, t, 0.0)[..., None] * (end - start)[..., None, :]
    )
    place /= np.maximum(np.linalg.norm(place, axis=-1, keepdims=True), OPPOSITE)
    for corner, other in ((vertices, 1), (after, -1)):
        turned = inward if other == 1 else np.roll(inward, -1)
        at_corner = np.linalg.norm(place - corner, axis=-1) < AT_CORNER
        stays = crossing & turned & at_corner & ~np.roll(left, other, axis=-1)
        t = np.where(stays, np.inf, t)
    return t


def _crossings(vertices: Vectors, start: Vectors, end: Vectors, side: float) -> Floats:
    """Return where chords cross each edge (..., n) outward (-1) or inward (1); infinite if not."""
    edges = edge_rows(vertices)
    normals = side * edges[:, 6:9]
    before, after = start @ normals.T, end @ normals.T
    rises = after - before
    crosses = (rises > 0.0) & (before <= SLACK) & (after > 0.0)
    t = np.where(crosses, np.clip(-before / np.where(crosses, rises, 1.0), 0.0, 1.0), np.inf)
    along, across = start @ edges[:, 0:3].T, start @ edges[:, 3:6].T
    share = np.where(crosses, t, 0.0)
    along = along + share * (end @ edges[:, 0:3].T - along)
    across = across + share * (end @ edges[:, 3:6].T - across)
    short = across * edges[:, 9] - along * edges[:, 10]
    return np.where((across >= -SLACK) & (short <= SLACK), t, np.inf)
