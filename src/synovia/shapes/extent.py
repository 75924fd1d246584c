"""The extent of any region, by its `distance` and `project` alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import TURN, Mask, Points, Scalars, Vectors, unit_vectors

if TYPE_CHECKING:
    from .region import Region

FAR = 1e6  # radians; from there the nearest member is the one that goes farthest that way
NUDGE = 1e-6  # radians, to see how distances change
CELLS, FINEST = 20_000, 1e-7  # that the boundary goes through, and the least size of one, radians
CLIMBS, CLIMB_WAYS = 100, 64  # steps to the deepest member, and ways that each tries
PER_CELL = 8  # points looked at in each
SLIM = 0.01  # of its cells' volume: less, and members are found by projecting
DIRECTIONS = (0, 2, 256, 4096)  # of a line, a plane and of space, that are looked along
BETWEEN = 1.002  # times as far, at most, go members in a direction between two of these


@dataclass(frozen=True, eq=False)
class Extent:
    """How far a region goes, where it is deepest, how large it is, and members at random."""

    region: Region

    @cached_property
    def bounds(self) -> Points:
        """The least and greatest coordinates of members, at most a little beyond: (2, d)."""
        axes = np.eye(self.region.dimension)
        low, high = self._farthest(-axes), self._farthest(axes)
        return np.stack([-low, high])

    @cached_property
    def _reaches(self) -> dict[tuple[int, ...], float]:
        return {(): 0.0}

    def reach(self, columns: tuple[int, ...]) -> float:
        """Return a bound on how far members are from the origin, in these coordinates alone."""
        if columns not in self._reaches:
            corner = np.linalg.norm(np.abs(self.bounds).max(axis=0)[list(columns)])
            along = np.zeros((DIRECTIONS[len(columns)], self.region.dimension))
            along[:, list(columns)] = _directions(len(columns))
            most = BETWEEN * self._farthest(along).max()
            self._reaches[columns] = float(min(corner, max(most, 0.0)))
        return self._reaches[columns]

    def _farthest(self, directions: Vectors) -> Scalars:
        """Return a bound on how far members go along unit directions (n, d).

        Of all members y the one nearest to t·u, x, has |x|² − 2t u·x least: so u·y is at most
        u·x + |y|²/2t, which with this t is next to nothing.
        """
        nearest = self.region.project(FAR * directions)
        size = self.region.dimension * np.abs(nearest).max() ** 2
        return np.asarray(np.sum(nearest * directions, axis=-1) + size / FAR + FINEST)

    @cached_property
    def _cells(self) -> tuple[Points, Points, Mask]:
        """Cells that hold all members: centres (n, d), half their sides, and which are full.

        Cells that the boundary may go through are cut in halves, all ways, until there are many.
        """
        low, high = self.bounds
        signs = np.array(list(product((-1.0, 1.0), repeat=len(low))))
        center, half = 0.5 * (low + high)[None], 0.5 * (high - low)
        full: list[tuple[Points, Points]] = []
        while len(center) < CELLS and half.max() > FINEST:
            half = 0.5 * half
            center = (center[:, None] + signs * half).reshape(-1, len(low))
            distance, radius = self.region.distance(center), np.linalg.norm(half)
            inner = center[distance <= -radius]
            full.append((inner, np.broadcast_to(half, inner.shape)))
            center = center[np.abs(distance) <= radius]
        parts = [*full, (center, np.broadcast_to(half, center.shape))]
        whole = np.repeat([True, False], [sum(len(inner) for inner, _ in full), len(center)])
        return *(np.concatenate(each) for each in zip(*parts, strict=True)), whole  # type: ignore[return-value]

    @cached_property
    def _looked(self) -> tuple[Points, Scalars]:
        """Points in the cells that are not full, some in each, and their distances."""
        center, half, whole = self._cells
        rng = np.random.default_rng(0)
        at = rng.uniform(-1.0, 1.0, size=(PER_CELL, int((~whole).sum()), center.shape[1]))
        points = (center[~whole] + at * half[~whole]).reshape(-1, center.shape[1])
        return points, self.region.distance(points)

    @cached_property
    def deepest(self) -> Points:
        """The deepest member that was found, from the cells on by ever shorter steps: (d,)."""
        points = np.concatenate([self._cells[0], self._looked[0]])
        deepest = points[self.region.distance(points).argmin()]
        size, rng = 0.5, np.random.default_rng(0)
        for _ in range(CLIMBS):  # all ways: where sides meet, few of them lead on
            steps = size * unit_vectors(rng.normal(size=(CLIMB_WAYS, len(deepest))))
            tried = np.concatenate([deepest[None], deepest + steps])
            best = int(self.region.distance(tried).argmin())
            deepest, size = tried[best], size if best else 0.5 * size
        return np.asarray(self.region.project(deepest))

    @cached_property
    def volume(self) -> float:
        """The volume, 0 if thin."""
        _, half, whole = self._cells
        sizes = np.prod(2.0 * half, axis=-1)
        share = float((self._looked[1] <= 0.0).mean()) if len(self._looked[1]) else 0.0
        return float(sizes[whole].sum() + share * sizes[~whole].sum())

    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        """Return `n` uniform members; for a thin region, projections of points around it."""
        center, half, _ = self._cells
        sizes = np.prod(2.0 * half, axis=-1)
        slim = self.volume < SLIM * sizes.sum()
        kept: list[Points] = [np.empty((0, center.shape[1]))]
        while sum(map(len, kept)) < n:
            chosen = rng.choice(len(center), size=2 * n + 64, p=sizes / sizes.sum())
            points = center[chosen] + rng.uniform(-1.0, 1.0, size=half[chosen].shape) * half[chosen]
            kept.append(
                self.region.project(points) if slim else points[self.region.distance(points) <= 0.0]
            )
        return np.concatenate(kept)[:n]


def _directions(d: int) -> Vectors:
    """Return unit directions of d dimensions, 1 to 3, spread evenly."""
    if d == 1:
        return np.array([[1.0], [-1.0]])
    if d == 2:
        turn = TURN * np.arange(DIRECTIONS[2]) / DIRECTIONS[2]
        return np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return spread_directions(DIRECTIONS[3])


def spread_directions(n: int) -> Vectors:
    """Return `n` unit directions (n, 3), spread evenly over the sphere."""
    turn = TURN * np.arange(n)
    height = 1.0 - (2.0 * np.arange(n) + 1.0) / n
    turn = turn * 0.5 * (np.sqrt(5.0) - 1.0)  # by the golden ratio
    ring = np.sqrt(1.0 - height**2)
    return np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)


def slope(region: Region, points: Points) -> Points:
    """Return the unit move along which distances rise most; any where they do not."""
    ways, here = tangents(region, points), points[..., None, :]
    ahead, behind = (region.distance(region.shift(here, step * ways)) for step in (NUDGE, -NUDGE))
    rise = ahead - behind
    length = np.linalg.norm(rise, axis=-1, keepdims=True)
    rise = np.where(length > NUDGE * NUDGE, rise, np.eye(rise.shape[-1])[0])
    return np.asarray((unit_vectors(rise)[..., None, :] @ ways)[..., 0, :])


def tangents(region: Region, points: Points) -> Points:
    """Return orthonormal moves from points that span all moves: (..., k, d) or (k, d)."""
    if region.dimension != 4:
        return np.eye(region.dimension)
    across = np.zeros((*points.shape[:-1], 3, 4))
    across[..., :2, :3], across[..., 2, 3] = tangent_pair(points[..., :3]), 1.0
    return across


def tangent_pair(direction: Vectors) -> Vectors:
    """Return two unit vectors (..., 2, 3) at right angles to unit directions and to each other."""
    least = np.eye(3)[np.abs(direction).argmin(axis=-1)]
    first = unit_vectors(np.cross(direction, least))
    return np.stack([first, np.cross(direction, first)], axis=-2)


LOOKS = 200_000  # at directions and twists
FIRST_CLIMB = 0.05  # radians: a few times as far as those are apart


@dataclass(frozen=True, eq=False)
class SampledExtent:
    """The extent of any region of directions and twists, by samples within its bounds."""

    region: Region

    @property
    def bounds(self) -> Points:
        """The bounds of all directions and twists: (2, 4)."""
        most = np.array([1.0, 1.0, 1.0, np.pi])
        return np.stack([-most, most])

    def reach(self, columns: tuple[int, ...]) -> float:
        """Return a bound on angles; directions and twists have no covers that one could spare."""
        return np.pi

    @cached_property
    def _band(self) -> tuple[int, Points]:
        """The coordinate of directions with the narrowest bounds; these, and those of the twist."""
        low, high = self.region.bounds
        axis = int((high - low)[:3].argmin())
        found = np.stack([low, high])[:, [axis, 3]]
        found[1, 1] = min(found[1, 1], found[0, 1] + TURN)
        return axis, found

    def _propose(self, n: int, rng: np.random.Generator) -> Points:
        """Return directions with twists (n, 4), uniform in the band.

        By Archimedes' theorem, equal heights along an axis have equal areas of the sphere.
        """
        axis, (low, high) = self._band
        height, twist = rng.uniform(low, high, size=(n, 2)).T
        turn, ring = rng.uniform(0.0, TURN, n), np.sqrt(np.maximum(1.0 - height**2, 0.0))
        directions = np.stack([height, ring * np.cos(turn), ring * np.sin(turn)], axis=1)
        return np.column_stack([np.roll(directions, axis, axis=1), twist])

    @property
    def _band_volume(self) -> float:
        low, high = self._band[1]
        return float(TURN * np.prod(high - low))

    @cached_property
    def _looked(self) -> tuple[Points, Scalars]:
        """Points all over the band, and their distances."""
        points = self._propose(LOOKS, np.random.default_rng(0))
        return points, self.region.distance(points)

    @cached_property
    def deepest(self) -> Points:
        """The deepest member that was found, from those looked at by ever shorter steps: (4,)."""
        points, distance = self._looked
        deepest, size, rng = points[distance.argmin()], FIRST_CLIMB, np.random.default_rng(0)
        for _ in range(CLIMBS):
            steps = size * unit_vectors(rng.normal(size=(CLIMB_WAYS, 3)))
            moved = self.region.shift(deepest, steps @ tangents(self.region, deepest))
            tried = np.concatenate([deepest[None], moved])
            best = int(self.region.distance(tried).argmin())
            deepest, size = tried[best], size if best else 0.5 * size
        return np.asarray(self.region.project(deepest))

    @cached_property
    def volume(self) -> float:
        """The volume, of 8π² in all; 0 if thin."""
        return self._band_volume * float((self._looked[1] <= 0.0).mean())

    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        """Return `n` uniform members; for a thin region, projections of points around it."""
        slim = self.volume < self._band_volume * SLIM / 10.0
        kept: list[Points] = [np.empty((0, 4))]
        while sum(map(len, kept)) < n:
            points = self._propose(max(2 * n, 4096), rng)
            kept.append(
                self.region.project(points) if slim else points[self.region.distance(points) <= 0.0]
            )
        return np.concatenate(kept)[:n]
