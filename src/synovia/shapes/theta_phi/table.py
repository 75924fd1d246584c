"""ThetaPhi: a table of legal directions, cell by cell, with the twists that belong to each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import numpy as np

from ...arrays import (
    TOLERANCE,
    TURN,
    Floats,
    Ints,
    Mask,
    Points,
    Vectors,
    Within,
    check_orthonormal,
    own,
    rows,
)
from ...kernels.layout import TABLE
from ..directional import Directional, unit_directions
from ..region import sample_points
from . import grid
from .fit import add_samples, fit_table, grid_for
from .packing import lists_for, pack_table

CELL = float(np.radians(5.0))
"""The size of a cell, in radians, unless another is given."""
SPREAD = float(np.radians(15.0))
"""How far twists count for cells around, in radians, unless told otherwise."""


@dataclass(frozen=True, eq=False)
class ThetaPhi(Directional):
    """Cells over longitude theta and latitude phi, each with evidence and a range of twists.

    `counts` (rows, columns) is the evidence for each cell: rows from the south, columns from
    theta = −π on. `low` and `high` are the range of twists there, in radians, ignored where the
    cell is not legal. `frame` holds the table's axes as rows: theta is measured from the first
    towards the second, the third is the pole. A cell is legal if it has evidence, for its area no
    less than `least` in a cell at the equator. Between the centres of cells the ends of the twists
    are interpolated.

    A table is a value: any number of limits may share one.
    """

    counts: Annotated[Floats, "n>=2", "m>=4"]
    low: Annotated[Floats, "n", "m"]
    high: Annotated[Floats, "n", "m"]
    frame: Annotated[Floats, 3, 3] = field(default_factory=lambda: np.eye(3))
    least: Annotated[float, Within(0.0, np.inf)] = 1.0

    name: ClassVar[str] = "theta-phi"
    kernel: ClassVar[int | None] = TABLE

    def __post_init__(self) -> None:
        own(self, counts=(None, None))
        n, m = self.counts.shape
        if n < 2 or m < 4:
            raise ValueError(f"ThetaPhi.counts must be at least (2, 4), got {self.counts.shape}")
        own(self)
        if (self.counts < 0.0).any():
            raise ValueError(f"ThetaPhi.counts must be at least 0, got {self.counts.min()}")
        check_orthonormal("ThetaPhi.frame", self.frame)
        least = float(self.least)
        if not 0.0 <= least < np.inf:
            raise ValueError(f"ThetaPhi.least must be at least 0, got {least}")
        object.__setattr__(self, "least", least)
        if not self.legal.any():
            raise ValueError(f"a table needs a legal cell: no evidence reaches {self.least:g}")
        crossed = self.legal & (self.low > self.high)
        if crossed.any():
            cell = tuple(np.argwhere(crossed)[0].tolist())
            raise ValueError(
                f"ThetaPhi.low must not exceed ThetaPhi.high, got {self.low[cell]} and "
                f"{self.high[cell]} in cell {list(cell)}"
            )

    @classmethod
    def fit(
        cls,
        points: Points,
        *,
        cell: float = CELL,
        holes: Literal["filled", "open"] = "filled",
        least: float = 1.0,
        spread: float = SPREAD,
    ) -> Self:
        """Return the table of the cells, at most `cell` radians wide, that `points` (n, 4) lie in.

        The pole is put where the directions are not. Holes are cells without evidence that legal
        ones enclose. With `least` at 1 every sample is a member, its twist included; with more,
        cells of less evidence are left out, and what was seen only there. Twists seen within
        `spread` radians of a cell count for it, so that ranges vary smoothly; 0 is each its own.

        Examples
        --------
        >>> seen = np.array([[0.0, np.sin(a), np.cos(a), 0.1] for a in np.linspace(0.0, 1.0, 50)])
        >>> table = ThetaPhi.fit(seen, cell=0.2)
        >>> bool(table.contains(seen).all()), bool(table.contains([0.0, 0.0, -1.0, 0.0]))
        (True, False)
        """
        points = sample_points(points, (4,))
        counts, low, high, frame = fit_table(_unit_points(points), cell, holes, least, spread)
        return cls(counts, low, high, frame, least)

    @classmethod
    def from_rows(
        cls,
        boundary: Floats,
        low: Floats | float,
        high: Floats | float,
        *,
        cell: float = CELL,
        frame: Floats | None = None,
    ) -> Self:
        """Return the table inside rows (n, 3): phi, and from which theta to which, in radians.

        A row that begins at a greater theta than it ends at runs over ±π. Between the rows given
        the ends are interpolated. `low` and `high` are twists: one number, or one for each cell.
        """
        legal = inside_rows(rows("boundary", boundary, 3), grid_for(cell))
        return cls._of(legal, low, high, np.eye(3) if frame is None else frame)

    @classmethod
    def from_outline(
        cls,
        outline: Vectors,
        inside: Vectors,
        low: Floats | float,
        high: Floats | float,
        *,
        cell: float = CELL,
        frame: Floats | None = None,
    ) -> Self:
        """Return the table inside a closed `outline` (n, 3) of directions, joined by great arcs.

        `inside` (3,) is a direction on the legal side. A cell is legal if its centre is.
        """
        axes = np.eye(3) if frame is None else np.asarray(frame, np.float64)
        around, point = rows("outline", outline, 3) @ axes.T, rows("inside", inside, 3) @ axes.T
        return cls._of(inside_outline(around, point, grid_for(cell)), low, high, axes)

    @classmethod
    def _of(cls, legal: Mask, low: Floats | float, high: Floats | float, frame: Floats) -> Self:
        low, high = np.broadcast_to(low, legal.shape), np.broadcast_to(high, legal.shape)
        return cls(legal.astype(np.float64), low, high, frame)

    @cached_property
    def legal(self) -> Mask:
        """Which cells are legal: (rows, columns)."""
        return grid.supported_cells(self.counts, self.least)

    @property
    def share(self) -> float:
        """The share of the sphere's area that the legal cells have, in [0, 1]."""
        return float(grid.areas(self.counts.shape)[self.legal].sum() / (2.0 * TURN))

    def with_evidence(self, points: Points, *, spread: float = SPREAD) -> Self:
        """Return the table with `points` (n, 4) as additional evidence, as in `fit`."""
        points = _unit_points(sample_points(points, (4,)))
        vectors = points[:, :3] @ self.frame.T
        seen = self.counts, self.low, self.high, self.least, vectors, points[:, 3]
        counts, low, high = add_samples(*seen, spread)
        return replace(self, counts=counts, low=low, high=high)

    def trimmed(self, least: float) -> Self:
        """Return the table without cells of less evidence than `least`, for their area."""
        return replace(self, least=least)

    def intersect(self, other: ThetaPhi) -> Self:
        """Return a table of what is legal in both: for a task, from the general one.

        It is within both. They must have the same cells and axes.
        """
        if not isinstance(other, type(self)):
            raise ValueError(f"only tables intersect a table, got {type(other).__name__}")
        if self.counts.shape != other.counts.shape:
            raise ValueError(
                "tables must have the same cells to intersect, "
                f"got {self.counts.shape} and {other.counts.shape}"
            )
        if np.abs(self.frame - other.frame).max() > 1e-12:
            raise ValueError("tables must have the same frame to intersect")
        both = self.legal & other.legal
        legal, low, high = intersect_tables(both, self._ends, other._ends)
        counts = np.where(legal, np.minimum(self.counts, other.counts), 0.0)
        counts[legal] = np.maximum(counts[legal], 1.0)
        return replace(self, counts=counts, low=low, high=high, least=1.0)

    __and__ = intersect

    def mirror(self, turn: Floats, about: Points, normal: Vectors) -> Self:
        # The frame turns left-handed with the mirror, so that every cell stays what it is.
        frame = self.frame - 2.0 * (self.frame @ normal)[..., None] * normal
        return replace(self, low=-self.high, high=-self.low, frame=frame)

    @cached_property
    def packed(self) -> Floats:
        return pack_table(lists_for(self.legal), *self._ends, self.frame)

    @property
    def twist_bounds(self) -> tuple[float, float]:
        return float(self.low[self.legal].min()), float(self.high[self.legal].max())

    def contains_direction(self, directions: Vectors) -> Mask:
        # By the cells within the tolerance, so that the table need not be packed for it.
        near = TOLERANCE * np.concatenate([np.zeros((1, 3)), np.eye(3), -np.eye(3)])
        around = rows("directions", directions, 3)[..., None, :] + near
        cells = grid.cells_of(around @ self.frame.T, self.legal.shape)
        return np.asarray(self.legal.ravel()[cells].any(axis=-1))

    def twist_range(self, directions: Vectors) -> Floats:
        return self._twists(rows("directions", directions, 3) @ self.frame.T)

    def walk_back(self, previous: Points, proposed: Points, steps: int = 100) -> Points:
        """Return the first member met on the way back from `proposed` to `previous`, a member.

        The way goes straight in theta, phi and twist, each the short way round, in equal steps.
        It finds where the way last enters the region, which need not be where it first leaves.
        """
        start, end = np.broadcast_arrays(self._checked(previous), self._checked(proposed))
        if not self.contains(start).all():
            raise ValueError("the previous points must be members of the table to walk back to")
        return grid.walk_back(self.contains, start, end, self.frame, steps)

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        """Low and high at the centres of all cells."""
        return grid.fill_from_nearest(self.legal, self.low, self.high)

    @cached_property
    def _padded(self) -> Floats:
        return np.stack([grid.pad(ends) for ends in self._ends])

    def _twists(self, vectors: Vectors) -> Floats:
        """Return the least and greatest twist (..., 2) at vectors of the table's frame."""
        places = grid.places_of(vectors.astype(np.float64, copy=False), self.legal.shape)
        low, high = grid.interpolate(self._padded, *places)
        return np.stack([low, np.maximum(low, high)], axis=-1)


OPPOSITE = 0.99
"""The cosine of how nearly opposite a cell is for the way to it to go over a third place."""


def _unit_points(points: Points) -> Points:
    """Return points (n, 4) with directions of length 1, which they nearly have."""
    return np.column_stack([unit_directions("directions", points[:, :3]), points[:, 3]])


def inside_rows(boundary: Floats, shape: tuple[int, int]) -> Mask:
    """Return the cells between the ends of each row of `boundary`: phi, theta from, theta to.

    A row whose theta goes down runs over ±π. Rows of cells in between take ends in between; a row
    of cells that no two given rows enclose, but one lies in, takes that one's. At least the cell
    in the middle is inside.
    """
    if boundary.ndim != 2 or len(boundary) == 0:
        raise ValueError(f"boundary must have shape (n, 3), n > 0, got {boundary.shape}")
    order = np.argsort(boundary[:, 0], kind="stable")
    phi, start, end = boundary[order].T
    width = np.where(end >= start, end - start, end - start + TURN)
    middle = np.unwrap(start + 0.5 * width)
    rows, columns = shape
    inside = np.zeros(shape, dtype=bool)
    given = np.clip(((phi / np.pi + 0.5) * rows).astype(np.int64), 0, rows - 1)
    for row in range(given.min(), given.max() + 1):
        here = np.clip(((row + 0.5) / rows - 0.5) * np.pi, phi[0], phi[-1])
        centre, half = np.interp(here, phi, middle), 0.5 * np.interp(here, phi, width)
        theta = (np.arange(columns) + 0.5) * TURN / columns - np.pi
        off = np.remainder(theta - centre + np.pi, TURN) - np.pi
        inside[row] = np.abs(off) <= half + 1e-12
        inside[row, np.abs(off).argmin()] = True
    return inside


def inside_outline(outline: Vectors, inside: Vectors, shape: tuple[int, int]) -> Mask:
    """Return the cells whose centres the closed `outline` (n, 3) has on the side of `inside` (3,).

    All in the table's frame. A great circle from there to the centre crosses an even number of
    the outline's arcs; to what is opposite there are many, and the way goes over a third place.
    """
    if outline.ndim != 2 or len(outline) < 3 or inside.ndim != 1:
        raise ValueError(
            f"an outline must have shape (n, 3), n > 2, and one direction be inside, got "
            f"{outline.shape} and {inside.shape}"
        )
    outline, inside = unit_directions("outline", outline), unit_directions("inside", inside)
    points = grid.centres(shape).reshape(-1, 3)
    crossings = _crossings(outline, inside[None], points)
    behind = points @ inside < -OPPOSITE
    if behind.any():
        # Somewhere across, where hardly an outline has a corner in the way.
        third = np.cross(inside, [0.3, -0.8, 0.53])
        third /= np.linalg.norm(third)
        there = _crossings(outline, inside[None], third[None])
        crossings[behind] = there + _crossings(outline, third[None], points[behind])
    mask = crossings % 2 == 0
    mask[grid.cells_of(inside[None], shape)] = True
    return np.asarray(mask.reshape(shape))


def _crossings(outline: Vectors, start: Vectors, end: Vectors) -> Ints:
    """Return how many arcs of a closed outline the great arcs from `start` to `end` cross: (n,).

    A vertex on the great circle from `start` to `end` counts as left of it for both of its arcs,
    so that an arc through a vertex has the same parity as one just beside it.
    """
    following = np.roll(outline, -1, axis=0)
    across, way = np.cross(outline, following), np.cross(start, end)
    apart = (start @ across.T >= 0.0) != (end @ across.T >= 0.0)
    sides = way @ outline.T >= 0.0
    ends_apart = sides != np.roll(sides, -1, axis=1)
    # Both great circles cross at two opposite points: on the arcs it must be the same one.
    meet = np.cross(way[:, None], across[None])
    towards = np.einsum("ijk,ijk->ij", meet, (start + end)[:, None])
    same = towards * np.einsum("ijk,jk->ij", meet, outline + following) > 0.0
    return np.asarray((apart & ends_apart & same).sum(axis=1))


def intersect_tables(
    legal: Mask,
    ours: tuple[Floats, Floats],
    theirs: tuple[Floats, Floats],
) -> tuple[Mask, Floats, Floats]:
    """Return the cells of `legal` in which both have twists in common, and these ranges.

    `ours` and `theirs` are low and high at all centres. Of two ranges on a circle that meet twice,
    the part about the middles that are nearest is taken. ValueError if nothing is in common.
    """
    middle, other = 0.5 * (ours[0] + ours[1]), 0.5 * (theirs[0] + theirs[1])
    turns = TURN * np.rint((middle - other) / TURN)
    low = np.maximum(ours[0], theirs[0] + turns)
    high = np.minimum(ours[1], theirs[1] + turns)
    kept, least, most = restrict_ranges(legal, low, high)
    if not kept.any():
        raise ValueError("the tables have nothing in common")
    return kept, least, most


def restrict_ranges(legal: Mask, low: Floats, high: Floats) -> tuple[Mask, Floats, Floats]:
    """Return cells and ranges such that, interpolated, they stay within `low` and `high`.

    These are given at all centres. Where a cell is not legal, the range of the nearest legal one
    stands, so that must be within the range given there, too. Cells that are left without any twist
    are dropped, and all is done again.
    """
    while legal.any():
        needed = grid.touching(legal).ravel()
        source = grid.nearest_legal(legal).ravel()
        least, most = low.copy(), high.copy()
        np.maximum.at(least.reshape(-1), source[needed], low.ravel()[needed])
        np.minimum.at(most.reshape(-1), source[needed], high.ravel()[needed])
        kept = legal & (least <= most)
        if np.array_equal(kept, legal):
            return legal, np.where(legal, least, 0.0), np.where(legal, most, 0.0)
        legal = kept
    return legal, low, high
