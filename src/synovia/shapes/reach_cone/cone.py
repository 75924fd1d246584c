"""ReachCone: a star polygon on the sphere, with limits of the twist that vary with direction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Self

import numpy as np

from ... import kernels
from ...arrays import TURN, Floats, Ints, Points, Vectors, cross, floats, own
from ...kernels.layout import CONE
from ..directional import Directional, unit_directions
from ..extent import tangent_basis
from ..region import sample_points
from .fit import fit_cone
from .star import StarError, broken_edge, slice_rows, twist_gradients, visible_point

LEAST_POINTS = 3
MOST_BUCKETS = 4096  # of azimuth, at most
LEAST_SIDE, MOST_SIDE = 4, 64  # cells along each edge of the cube that lists nearby edges


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
        visible = visible_point(points) if self.visible is None else self.visible
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "visible", unit_directions("ReachCone.visible", visible))
        for name in ("low", "high"):
            limits = floats(f"ReachCone.{name}", getattr(self, name))
            object.__setattr__(self, name, np.broadcast_to(limits, limits.shape or len(points)))
        own(self)
        for name, around in (("visible_low", self.low), ("visible_high", self.high)):
            given = getattr(self, name)
            middle = np.mean(around) if given is None else floats(f"ReachCone.{name}", given)
            object.__setattr__(self, name, float(middle))
        crossed = np.flatnonzero(self.low > self.high)
        if len(crossed):
            i = int(crossed[0])
            raise ValueError(
                f"ReachCone.low must not exceed ReachCone.high, got {self.low[i]:.6g} and "
                f"{self.high[i]:.6g} at point {i}"
            )
        if self.visible_low > self.visible_high:
            raise ValueError(
                "ReachCone.visible_low must not exceed ReachCone.visible_high, got "
                f"{self.visible_low:.6g} and {self.visible_high:.6g}"
            )
        broken = broken_edge(self.points, self.visible)
        if broken:
            rule = "ReachCone.points must make a star about the visible point"
            raise StarError(f"{rule}: {broken.why}", broken)

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
        edges, frame = edge_rows(self.points), tangent_basis(self.visible)
        buckets, most = _buckets(self.points, frame)
        planes = slice_rows(self.points, self.visible, self.low, self.high)
        planes = planes[np.arange(len(planes) + most) % len(planes)]
        layout = kernels.reach_cone.HEADER
        table = layout.SIZE + planes.shape[1] * buckets
        side = _power_of_two(2.0 * np.sqrt(len(edges)), LEAST_SIDE, MOST_SIDE)
        parts = [planes.ravel(), edges.ravel(), table, _cell_rows(edges, side)]
        begins = layout.SIZE + np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        header = layout.pack(
            size=begins[-1],
            buckets=len(table),
            most=most,
            side=side,
            slope=1.0 / np.hypot(1.0, self._steepest_twist()),
            free=float(self.is_free),
            visible=(self.visible_low, self.visible_high),
            frame=frame,
            slices=begins[0],
            edges=begins[1],
            table=begins[2],
            cells=begins[3],
            count=len(self.points),
        )
        return np.concatenate([[float(CONE)], header, *parts])

    def _steepest_twist(self) -> float:
        """Return the greatest change of the twist limits per radian of direction."""
        at_start, at_end = np.moveaxis(twist_gradients(self.points, self.visible), 1, 0)
        slopes = []
        for limits, middle in ((self.low, self.visible_low), (self.high, self.visible_high)):
            rise = (limits - middle)[:, None]
            gradient = rise * at_start + np.roll(rise, -1, axis=0) * at_end
            slopes.append(np.linalg.norm(gradient, axis=1).max())
        return float(max(slopes))

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
        return self._locate(directions)[1]

    def slices(self, directions: Vectors) -> Ints:
        """Return the index of the slice (...) that each direction is in, legal or not.

        Slice i lies between points i and i + 1, seen from the visible point.
        """
        return self._locate(directions)[0]

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

    def _locate(self, directions: Vectors) -> tuple[Ints, Floats]:
        """Return the slices (...) of directions (..., 3), and the twist limits (..., 2) there."""
        flat = np.ascontiguousarray(unit_directions("directions", directions))
        slices, limits = np.empty(flat.shape[:-1], np.int64), np.empty((*flat.shape[:-1], 2))
        kernels.reach_cone.locate(
            flat.reshape(-1), self.packed, slices.reshape(-1), limits.reshape(-1)
        )
        return slices, limits


def check_cone(name: str, value: object) -> None:
    """Raise ValueError with `name` unless `value` is a reach cone."""
    if not isinstance(value, ReachCone):
        raise ValueError(f"{name} must be a ReachCone, got {value!r:.80}")


def edge_rows(points: Vectors) -> Floats:
    """Return start, tangent, normal, cosine and sine of the length, and end of each edge."""
    following = np.roll(points, -1, axis=0)
    normal = cross(points, following - points)
    sine = np.linalg.norm(normal, axis=1, keepdims=True)
    normal = normal / sine
    cosine = np.sum(points * following, axis=1, keepdims=True)
    size = np.hypot(sine, cosine)
    rows = [points, cross(normal, points), normal, cosine / size, sine / size, following]
    return np.concatenate([*rows, np.zeros((len(points), 2))], axis=1)


def _buckets(points: Vectors, frame: Floats) -> tuple[Floats, int]:
    """Return the first slice of each bucket of azimuth, and the most vertices in a bucket.

    Azimuth is measured along a diamond instead of a circle, from 0 to 4.
    """
    u, v = points @ frame[0], points @ frame[1]
    q = v / (np.abs(u) + np.abs(v))
    diamond = 1.0 + np.where(u >= 0.0, q, 2.0 - q)
    count = _power_of_two(len(points), 4, MOST_BUCKETS)
    while True:
        bucket = np.minimum(diamond * (0.25 * count), count - 1.0).astype(np.int64)
        most = int(np.bincount(bucket).max())
        if most == 1 or count >= MOST_BUCKETS:
            break
        count *= 2
    order = np.argsort(diamond, kind="stable")
    before = np.searchsorted(bucket[order], np.arange(count)) - 1
    return order[before].astype(np.float64), most


def _power_of_two(least: float, low: int, high: int) -> int:
    """Return the smallest power of two that is at least `least`, clipped to `low` and `high`."""
    return min(max(low, 1 << int(np.ceil(np.log2(least)))), high)


def _cell_rows(edges: Floats, side: int) -> Floats:
    """Return the edges that can be nearest in each of 6 · side² cells of a cube, flat.

    First the offset of each cell's list and the distance to the boundary, then the lists.
    """
    starts = np.array([0, len(edges)], dtype=np.int64)
    items = np.arange(len(edges), dtype=np.int64)
    flat, coarse = np.ascontiguousarray(edges).ravel(), 0
    while coarse < side:
        fine = max(2 * coarse, 1)
        fine_starts = np.empty(6 * fine * fine + 1, dtype=np.int64)
        fine_items = np.empty(6 * len(items), dtype=np.int64)
        count = kernels.reach_cone.refine(flat, coarse, starts, items, fine_starts, fine_items)
        starts, items, coarse = fine_starts, fine_items[:count], fine
    clear = np.zeros(len(starts))
    kernels.reach_cone.clearances(flat, side, starts, items, clear)
    rows = np.stack([starts + 2 * len(starts), clear], axis=1)
    return np.concatenate([rows.ravel(), items])
