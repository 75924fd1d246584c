"""Extent, volume, deepest point and samples of any region, from `distance` and `project` alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import TURN, Floats, Points, Scalars, Vectors, cross, unit_vectors

if TYPE_CHECKING:
    from .region import Region

FAR = 1e6  # radians; the member nearest to a point so far away is the farthest in its direction
ROUNDING = 1e-7  # radians, of a projection from so far away; also the smallest cell
STEP = 1e-6  # radians; half the base of central differences of the distance
CELLS = 20_000  # cells around a region; its boundary is then known to about 3 % of its size
LOOKS = 30_000  # points whose distances give the volume, to about half a percent
SLIM = 0.005  # share of legal proposals below which samples are projected instead
CLIMBS, CLIMB_STEPS = 100, 64  # iterations of the search for the deepest member, steps in each


@dataclass(frozen=True, eq=False)
class Extent:
    """Properties of a region of vectors, found by evaluating distances."""

    region: Region
    cells: tuple[Points, Floats] | None = None
    """Centres and half sides of cells that contain all members, if known: see `_cells`."""

    @property
    def bounds(self) -> Points:
        """The least and greatest coordinates of members, at most a little beyond: (2, d).

        Of all members y the one nearest to t·u, x, has |x|² − 2t u·x least: so u·y is at most
        u·x + |y|²/2t, which is next to nothing for a large t.
        """
        axes = np.eye(self.region.dimension)
        directions = np.concatenate([-axes, axes])
        nearest = self.region.project(FAR * directions)
        size = self.region.dimension * np.abs(nearest).max() ** 2
        most = np.sum(nearest * directions, axis=-1) + size / FAR + ROUNDING
        low, high = np.split(most, 2)
        return np.stack([-low, high])

    @cached_property
    def _cells(self) -> tuple[Points, Points]:
        """Centres (n, d) of equal cells that hold all members, and half their sides (d,).

        Cells are halved along all axes, and those without members dropped, until there are many.
        """
        if self.cells is not None:
            return self.cells
        low, high = self.region.bounds
        signs = np.array(list(product((-1.0, 1.0), repeat=len(low))))
        centers, half = 0.5 * (low + high)[None], 0.5 * (high - low)
        while len(centers) < CELLS and half.max() > ROUNDING:
            half = 0.5 * half
            centers = (centers[:, None] + signs * half).reshape(-1, len(low))
            distance = self.region.distance(centers)
            # At least one is kept, even of a region that is a point up to rounding.
            centers = centers[distance <= max(np.linalg.norm(half), distance.min())]
        return centers, half

    @property
    def _space(self) -> float:
        """The volume that `_propose` covers."""
        centers, half = self._cells
        return float(len(centers) * np.prod(2.0 * half))

    def _propose(self, n: int, rng: np.random.Generator) -> Points:
        """Return `n` points, uniform in a space that holds all members."""
        centers, half = self._cells
        chosen = centers[rng.integers(len(centers), size=n)]
        return np.asarray(chosen + half * rng.uniform(-1.0, 1.0, size=(n, len(half))))

    @cached_property
    def _looked(self) -> tuple[Points, Scalars]:
        """Proposed points and their distances."""
        points = self._propose(LOOKS, np.random.default_rng(0))
        return points, self.region.distance(points)

    @property
    def _legal_share(self) -> float:
        return float((self._looked[1] <= 0.0).mean())

    @cached_property
    def deepest(self) -> Points:
        """The deepest member found (d,), by random steps that become ever shorter."""
        points, distances = self._looked
        deepest, size, rng = points[distances.argmin()], 0.5, np.random.default_rng(0)
        for _ in range(CLIMBS):
            basis = tangents(self.region, deepest)
            steps = size * unit_vectors(rng.normal(size=(CLIMB_STEPS, len(basis)))) @ basis
            tried = np.concatenate([deepest[None], self.region.shift(deepest, steps)])
            best = int(self.region.distance(tried).argmin())
            deepest, size = tried[best], size if best else 0.5 * size
        return np.asarray(self.region.project(deepest))

    @cached_property
    def volume(self) -> float:
        """The volume in the chart, 0 if thin."""
        return self._space * self._legal_share

    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        """Return `n` uniform members; of a thin region, projections of points around it."""
        slim = self._legal_share < SLIM
        members: list[Points] = [np.empty((0, self.region.dimension))]
        while sum(map(len, members)) < n:
            points = self._propose(2 * n + 64, rng)
            legal = self.region.distance(points) <= 0.0
            members.append(self.region.project(points) if slim else points[legal])
        return np.concatenate(members)[:n]


@dataclass(frozen=True, eq=False)
class DirectionalExtent(Extent):
    """Properties of a region of directions and twists; its volume is at most 8π²."""

    @cached_property
    def _cap(self) -> tuple[Vectors, float]:
        """The middle (3,) of a spherical cap that holds all legal directions, and its angle."""
        from .directional import Directional

        if not isinstance(self.region, Directional):
            return np.eye(3)[2], np.pi
        middle = self.region.nearest_direction(spread_directions(256))[0].mean(axis=0)
        middle = unit_vectors(middle) if np.linalg.norm(middle) > STEP else np.eye(3)[2]
        # The member nearest to the opposite direction is the one farthest from the middle.
        away = float(self.region.nearest_direction(-middle)[1])
        return middle, min(np.pi - away + STEP, np.pi)

    @property
    def bounds(self) -> Points:
        """The bounds of all directions and twists: (2, 4)."""
        most = np.array([1.0, 1.0, 1.0, np.pi])
        return np.stack([-most, most])

    @property
    def _twists(self) -> tuple[float, float]:
        low, high = self.region.bounds[:, 3].tolist()
        return low, min(high, low + TURN)

    @property
    def _space(self) -> float:
        low, high = self._twists
        return TURN * (1.0 - float(np.cos(self._cap[1]))) * (high - low)

    def _propose(self, n: int, rng: np.random.Generator) -> Points:
        # By Archimedes' theorem, equal heights along an axis have equal areas of the sphere.
        middle, angle = self._cap
        height, azimuth = rng.uniform(np.cos(angle), 1.0, n), rng.uniform(0.0, TURN, n)
        ring = np.sqrt(1.0 - height**2)
        around = np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1) @ tangent_basis(middle)
        directions = unit_vectors(height[:, None] * middle + ring[:, None] * around)
        return np.column_stack([directions, rng.uniform(*self._twists, n)])


def spread_directions(n: int) -> Vectors:
    """Return `n` unit directions (n, 3), spread evenly over the sphere (Fibonacci lattice)."""
    azimuth = TURN * 0.5 * (np.sqrt(5.0) - 1.0) * np.arange(n)
    height = 1.0 - (2.0 * np.arange(n) + 1.0) / n
    ring = np.sqrt(1.0 - height**2)
    return np.stack([ring * np.cos(azimuth), ring * np.sin(azimuth), height], axis=1)


def slope(region: Region, points: Points) -> Points:
    """Return the unit move along which distances rise most, by central differences.

    On a thin region, where they rise on both sides, it is the axis along which they rise most.
    """
    basis, here = tangents(region, points), points[..., None, :]
    ahead, behind = (region.distance(region.shift(here, step * basis)) for step in (STEP, -STEP))
    rise = ahead - behind
    steepest = np.eye(rise.shape[-1])[(ahead + behind).argmax(axis=-1)]
    flat = np.linalg.norm(rise, axis=-1, keepdims=True) <= 1e-3 * STEP
    rise = np.where(flat, steepest, rise)
    return np.asarray((unit_vectors(rise)[..., None, :] @ basis)[..., 0, :])


def tangents(region: Region, points: Points) -> Points:
    """Return orthonormal moves from points that span all moves: (..., k, d) or (k, d)."""
    if region.dimension != 4:
        return np.eye(region.dimension)
    across = np.zeros((*points.shape[:-1], 3, 4))
    across[..., :2, :3], across[..., 2, 3] = tangent_basis(points[..., :3]), 1.0
    return across


def tangent_basis(direction: Vectors) -> Floats:
    """Return two unit directions (..., 2, 3) across unit ones: right-handed, with them third."""
    helper = np.eye(3)[np.abs(direction).argmin(axis=-1)]
    first = unit_vectors(cross(helper, direction))
    return np.stack([first, cross(direction, first)], axis=-2)
