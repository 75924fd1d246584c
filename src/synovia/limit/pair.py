"""Pairs of a joint and its driver: which are legal together, and the nearest that are.

A pair is as far from another as √(α² + β²), α and β how far the two joints are, each in the metric
of its own limit's chart. The nearest legal pair has the driver somewhere near, and the joint at the
nearest rotation that is legal there: so it is looked for among rotations of the driver alone. Where
the driver can go to its own nearest legal rotation and the joint is legal there, that is the
nearest pair. Else a fan of turns of the driver is tried, then ever shorter ones from the best of
them.

A kernel does that, where the driver's limit has one; the same in NumPy is its oracle, and serves
drivers in the chart of hinges and shapes without a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .. import kernels, quat
from ..arrays import TOLERANCE, Floats, Ints, Mask, Quats, Scalars, Vectors, tolerance, unit_quats
from ..kernels.kinds import HINGES
from .dependent import DependentLimit
from .limit import Limit

BASINS = 2
"""How many of the first turns are followed."""
EDGE = 0.5 * TOLERANCE
MIN_STEP = 5e-4  # radians; the shortest step of `first_exit`
LAST_HALVINGS = 45  # of its last step
DRAWS = 60  # times as many pairs as asked for are drawn at most, before a sample is given up
VOLUME_DRAWS = 20_000

Dependents = Sequence[tuple[DependentLimit, Quats]]
"""Joints that depend on one driver, with their rotations (n, 4)."""


def nearest_together(
    driver: Limit | None, rotations: Quats, dependents: Dependents
) -> tuple[Quats, list[Quats], Scalars]:
    """Return the nearest legal rotations of a driver and of what depends on it, and how far.

    Parameters
    ----------
    driver
        The driver's own limit; None where it has none.
    rotations
        The driver's rotations (n, 4).
    dependents
        One joint or more that depend on it, each with its rotations (n, 4).

    Returns
    -------
    rotations
        The driver's, (n, 4).
    others
        Those of each dependent, (n, 4).
    distances
        How far away they are, (n,), in radians. At most 0 for members, which come back as they
        are; how deep inside at least.
    """
    source = np.asarray(rotations, np.float64)
    search = _Search(driver, source, tuple((each, each.measure(own)) for each, own in dependents))
    distance = search.depths(source)
    found, outside = np.array(source), distance > tolerance(rotations.dtype)
    if outside.any():
        here = search.subset(outside)
        known = here.driver is None or has_kernel(here.driver)
        nearest = here.nearest_by_kernel() if known else here.nearest()
        found[outside], distance[outside] = nearest
        found *= np.where(np.sum(found * source, axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
    moved = [each.project(own, found) for each, own in dependents]
    kept = np.where((found == source).all(axis=-1, keepdims=True), rotations, found)
    for row, (_, own) in zip(moved, dependents, strict=True):
        row[~outside] = own[~outside]
    return kept.astype(rotations.dtype), moved, np.asarray(distance, rotations.dtype)


def has_kernel(driver: Limit) -> bool:
    """Tell whether the kernel knows the chart and the shape of a driver's limit."""
    return driver.compiled and int(driver.packed[kernels.limit.HEADER.chart]) != HINGES


@dataclass(frozen=True, eq=False)
class _Search:
    """Rotations of a driver (n, 4), and all that is to be known of those that depend on it."""

    driver: Limit | None
    source: Quats
    dependents: tuple[tuple[DependentLimit, Floats], ...]

    def subset(self, rows: Mask) -> _Search:
        """Return the search for some of the pairs."""
        own = tuple((each, measured[rows]) for each, measured in self.dependents)
        return replace(self, source=self.source[rows], dependents=own)

    def depths(self, rotations: Quats) -> Scalars:
        """Return how far outside pairs are at least, or how deep inside, (n,)."""
        outside = np.full(len(rotations), -np.inf)
        if self.driver is not None:
            outside = self.driver.distance(rotations)
        for each, measured in self.dependents:
            gap = each.gap(measured, each.values_at(rotations))
            # With the driver's turn, ends move by their steepness.
            gap = np.where(gap > 0.0, gap, gap / np.hypot(1.0, each.steepness))
            outside = np.maximum(outside, gap)
        return outside

    def squares(self, tried: Quats) -> Scalars:
        """Return the squared distances of pairs with legal rotations (n, t, 4) of the driver."""
        total = self._moves(tried) ** 2
        for each, measured in self.dependents:
            gap = each.gap(measured[:, None], each.values_at(tried))
            total = total + np.where(gap > EDGE, gap, 0.0) ** 2
        return np.asarray(total)

    def _moves(self, tried: Quats) -> Scalars:
        """Return how far rotations (n, t, 4) are from the driver's own, in its limit's chart."""
        source = self.source[:, None]
        if self.driver is None:
            return quat.angle_between(np.broadcast_to(source, tried.shape), tried)
        chart, shape = self.driver.chart, self.driver.shape
        here, there = chart.points(source), chart.points(tried)
        near = np.linalg.norm(shape.moves(here, there), axis=-1)
        if near.max(initial=0.0) > np.pi:  # a whole turn away there may be a nearer way
            ways = [shape.moves(here, each) for each in chart.shifts(there, 1)]
            near = np.min([np.linalg.norm(way, axis=-1) for way in ways], axis=0)
        return np.asarray(near)

    def legal(self, rotations: Quats) -> Quats:
        """Return the driver's own nearest legal rotations."""
        return rotations if self.driver is None else self.driver.project(rotations)

    def nearest(self) -> tuple[Quats, Scalars]:
        """Return the driver's rotations (n, 4) of the nearest legal pairs, and how far they are."""
        best = np.array(self.legal(self.source))
        square = self.squares(best[:, None])[:, 0]
        left = square > self._moves(best[:, None])[:, 0] ** 2 + kernels.pair.STEP_BACK
        if left.any():
            here = self.subset(left)
            best[left], square[left] = here._nearest_from(best[left], square[left])
        return best, np.sqrt(square)

    def nearest_by_kernel(self) -> tuple[Quats, Scalars]:
        """Return what `nearest` does, by a kernel."""
        rows = [measured.reshape(len(measured), -1) for _, measured in self.dependents]
        found, squares = np.empty_like(self.source), np.empty(len(self.source))
        kernels.pair.search(
            np.ascontiguousarray(self.source),
            np.empty(0) if self.driver is None else self.driver.packed,
            np.concatenate([each.packed for each, _ in self.dependents]),
            np.ascontiguousarray(np.hstack(rows)),
            np.array([row.shape[1] for row in rows]),
            found,
            squares,
        )
        return found, np.sqrt(squares)

    def _nearest_from(self, start: Quats, square: Scalars) -> tuple[Quats, Scalars]:
        """Return better rotations of the driver than `start`, and the squared distances."""
        room = np.sqrt(square) + self._moves(start[:, None])[:, 0]
        tried = self.legal(quat.mul(_fan(self, start, room), start[:, None]))
        squares = self.squares(tried)
        order = np.argsort(squares, axis=1)[:, : BASINS - 1]
        starts = np.concatenate(
            [start[:, None], np.take_along_axis(tried, order[..., None], axis=1)], axis=1
        )
        found, squares = self._refine(starts, room)
        best = squares.argmin(axis=1)
        rows = np.arange(len(best))
        return found[rows, best], squares[rows, best]

    def _refine(self, start: Quats, room: Scalars) -> tuple[Quats, Scalars]:
        """Return where short turns lead from rotations (n, b, 4), while they make pairs nearer."""
        best, square, steps = start, self.squares(start), kernels.pair
        step = np.repeat(steps.FIRST_STEP * room[:, None], start.shape[1], axis=1)
        least = step * steps.LEAST_STEP
        for compass in steps.AROUND.reshape(steps.MOST_STEPS, -1, 3):
            turns = quat.exp(step[..., None, None] * compass)
            tried = self.legal(quat.mul(turns, best[:, :, None]))
            flat = tried.reshape(len(best), -1, 4)
            squares = self.squares(flat).reshape(*best.shape[:2], -1)
            chosen = squares.argmin(axis=-1)[..., None]
            there = np.take_along_axis(squares, chosen, axis=-1)[..., 0]
            better = (there < square - steps.STEP_BACK) & (step >= least)
            moved = np.take_along_axis(tried, chosen[..., None], axis=2)[:, :, 0]
            best, square = np.where(better[..., None], moved, best), np.where(better, there, square)
            step = np.where(better, step, 0.5 * step)
            if (step < least).all():
                break
        return best, square


def _fan(search: _Search, start: Quats, room: Scalars) -> Quats:
    """Return turns (n, t, 4) of the driver that take its bone all ways, as far as may pay.

    Where its twist counts, it is turned about the bone as well.
    """
    along = quat.rotate(start, search.dependents[0][0].axis)
    least = np.eye(3)[np.abs(along).argmin(axis=-1)]
    one = np.cross(along, least)
    one /= np.linalg.norm(one, axis=-1, keepdims=True)
    two = np.cross(along, one)
    angle = 2.0 * np.pi * np.arange(kernels.pair.WAYS) / kernels.pair.WAYS
    about = np.cos(angle)[:, None] * one[:, None] + np.sin(angle)[:, None] * two[:, None]
    if any(each.by_rotation for each, _ in search.dependents):
        twists = np.stack([along, -along], axis=1)
        tilted = np.concatenate([about[:, ::4] + twists[:, [k]] for k in (0, 1)], axis=1)
        about = np.concatenate([about, twists, np.sqrt(0.5) * tilted], axis=1)
    far = np.minimum(room, np.pi)[:, None] * kernels.pair.RADII
    turns = far[:, :, None, None] * about[:, None]
    return quat.exp(turns.reshape(len(start), -1, 3))


def sample_together(
    driver: Limit | None, dependents: Sequence[DependentLimit], n: int, rng: np.random.Generator
) -> tuple[Quats, list[Quats]]:
    """Return `n` legal rotations of a driver and of what depends on it, uniform among all."""
    kept: list[list[Quats]] = [[np.empty((0, 4))] for _ in range(1 + len(dependents))]
    count, drawn = 0, 0
    while count < n:
        if drawn > DRAWS * max(n, VOLUME_DRAWS):
            raise ValueError("hardly any rotations are legal together: none are drawn at random")
        first, others = _draw(driver, dependents, 2 * n + 64, rng)
        legal = np.ones(len(first), dtype=bool)
        for each, own in zip(dependents, others, strict=True):
            legal &= each.contains(own, first)
        for rows, drawn_rows in zip(kept, (first, *others), strict=True):
            rows.append(drawn_rows[legal])
        count, drawn = count + int(legal.sum()), drawn + len(legal)
    first, *others = (np.concatenate(rows)[:n] for rows in kept)
    return first, others


def _draw(
    driver: Limit | None, dependents: Sequence[DependentLimit], n: int, rng: np.random.Generator
) -> tuple[Quats, list[Quats]]:
    """Return rotations that are legal each for itself, uniform."""
    free = quat.normalize(rng.normal(size=(n, 4))) if driver is None else driver.sample(n, rng)
    return free, [each.limit.sample(n, rng) for each in dependents]


@dataclass(frozen=True, eq=False)
class PairLimit:
    """The legal pairs of rotations: of a driver, within its own limit, and of what depends on it.

    Examples
    --------
    >>> from synovia import Box, RotationVector
    >>> from synovia.limit import DependentRange, Limit, PairLimit
    >>> hip = Limit(RotationVector(), Box(low=[-1, -1, -1], high=[1, 1, 1], axes=np.eye(3)))
    >>> bend = Limit(RotationVector(), Box(low=[0, 0, 0], high=[2.4, 0, 0], axes=np.eye(3)))
    >>> # Nodes are -x, -y, -z, z, y and x: a leg that hangs down bends less than one forward.
    >>> high = [2.0, 1.4, 2.0, 2.4, 2.0, 2.0]
    >>> knee = DependentRange(bend, "Hip", [0, -1, 0], [0] * 6, high, [1, 0, 0])
    >>> pair = PairLimit(hip, knee)
    >>> straight, bent = [1.0, 0.0, 0.0, 0.0], [np.cos(1.0), np.sin(1.0), 0.0, 0.0]
    >>> bool(pair.contains(straight, straight)), bool(pair.contains(straight, bent))
    (True, False)
    """

    driver: Limit | None
    dependent: DependentLimit

    def contains(self, driver: Quats, rotations: Quats) -> Mask:
        """Tell which pairs are legal: the driver's rotations, and the joint's."""
        driver, rotations = self._checked(driver, rotations)
        slack = tolerance(np.result_type(driver, rotations))
        legal = self.dependent.distance(rotations, driver) <= slack
        return np.asarray(legal if self.driver is None else legal & self.driver.contains(driver))

    def distance(self, driver: Quats, rotations: Quats) -> Scalars:
        """Return how far pairs are from the nearest legal one, in radians; at most 0 inside."""
        return self._nearest(driver, rotations)[2]

    def project(self, driver: Quats, rotations: Quats) -> tuple[Quats, Quats]:
        """Return the nearest legal pairs: the driver's rotations, and the joint's.

        Nearest is meant in the sum of squared angles of both, each in its chart. Legal pairs come
        back bit for bit. Others are at most 2 % and a tenth of a degree farther than the nearest,
        where the families' own projections are exact.
        """
        found, moved, _ = self._nearest(driver, rotations)
        return found, moved

    def violation(self, driver: Quats, rotations: Quats) -> Scalars:
        """Return √(α² + β²) of the true angles to the projections of both, in radians."""
        driver, rotations = self._checked(driver, rotations)
        moves = zip((driver, rotations), self.project(driver, rotations), strict=True)
        angles = [
            np.where((one != other).any(axis=-1), quat.angle_between(one, other), 0.0)
            for one, other in moves
        ]
        return np.hypot(*angles)

    def _nearest(self, driver: Quats, rotations: Quats) -> tuple[Quats, Quats, Scalars]:
        driver, rotations = self._checked(driver, rotations)
        pairs = [(self.dependent, rotations.reshape(-1, 4))]
        found, (moved,), distance = nearest_together(self.driver, driver.reshape(-1, 4), pairs)
        shape = driver.shape
        return found.reshape(shape), moved.reshape(shape), distance.reshape(shape[:-1])

    def _checked(self, driver: Quats, rotations: Quats) -> tuple[Quats, Quats]:
        one, other = np.broadcast_arrays(
            unit_quats("driver", driver), unit_quats("rotations", rotations)
        )
        return one, other

    def first_exit(self, previous: tuple[Quats, Quats], proposed: tuple[Quats, Quats]) -> Scalars:
        """Return the largest t in [0, 1] with both joints' shortest turns legal before it.

        Pairs are the driver's rotations and the joint's. Steps are half of what is proved legal,
        or 5e-4 radians: only a gap narrower than that is passed.
        """
        start = [each.reshape(-1, 4).astype(np.float64) for each in self._checked(*previous)]
        shape = self._checked(*previous)[0].shape[:-1]
        end = [each.reshape(-1, 4).astype(np.float64) for each in self._checked(*proposed)]
        angles = [quat.angle_between(*each) for each in zip(start, end, strict=True)]
        last, here = np.full(len(start[0]), -1.0), np.zeros(len(start[0]))
        going = np.arange(len(here))

        def between(rows: Ints, share: Scalars) -> list[Quats]:
            return [quat.slerp(a[rows], b[rows], share) for a, b in zip(start, end, strict=True)]

        while len(going):
            turned = between(going, here[going])
            legal, step = self._safe_share(*turned, *(angle[going] for angle in angles))
            last[going[legal]] = here[going[legal]]
            on = legal & (here[going] < 1.0)
            going, step = going[on], step[on]
            here[going] = np.minimum(here[going] + step, 1.0)
        rows = np.arange(len(here))
        for _ in range(LAST_HALVINGS):
            middle = 0.5 * (last + here)
            legal = self._depth(*between(rows, np.maximum(middle, 0.0))) <= EDGE
            last, here = np.where(legal, middle, last), np.where(legal, here, middle)
        return np.asarray(np.maximum(last, 0.0)).reshape(shape)

    def _depth(self, driver: Quats, rotations: Quats) -> Scalars:
        """Return how deep inside pairs (n, 4) are at least, below 0; above it outside."""
        measured = self.dependent.measure(rotations)
        return _Search(self.driver, driver, ((self.dependent, measured),)).depths(driver)

    def _safe_share(
        self, driver: Quats, rotations: Quats, driver_angle: Scalars, angle: Scalars
    ) -> tuple[Mask, Scalars]:
        """Return which pairs (n, 4) are legal, and what share of the way on is safe from there.

        The whole turns are by so many radians. While the driver turns, the joint's ends move by
        their steepness at most.
        """
        chart, depth = self.dependent.limit.chart, self.dependent.distance(rotations, driver)
        speed = angle * chart.stretch(chart.points(rotations))
        speed += self.dependent.steepness * driver_angle
        legal, safe = depth <= EDGE, -depth / np.maximum(speed, 1e-300)
        if self.driver is not None:
            own, depth = self.driver.chart, self.driver.distance(driver)
            speed = driver_angle * own.stretch(own.points(driver))
            legal = legal & (depth <= EDGE)
            safe = np.minimum(safe, -depth / np.maximum(speed, 1e-300))
        least = MIN_STEP / np.maximum(np.maximum(driver_angle, angle), 1e-300)
        return legal, np.maximum(0.5 * safe, least)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Quats, Quats]:
        """Return `n` legal pairs, uniform among all of them."""
        driver, (rotations,) = sample_together(self.driver, [self.dependent], n, rng)
        return driver, rotations

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Quats, Quats]:
        driver, (rotations,) = _draw(self.driver, [self.dependent], n, rng)
        return driver, rotations

    def share_of_product(self, samples: int = VOLUME_DRAWS, seed: int = 0) -> float:
        """Return which share of the pairs that are legal each for itself is legal together."""
        return float(self.contains(*self._draw(samples, np.random.default_rng(seed))).mean())

    def volume(self, samples: int = VOLUME_DRAWS, seed: int = 0) -> float:
        """Return the share of all pairs of rotations that is legal, in [0, 1]; 0 if thin."""
        both = self.dependent.limit.volume(samples, seed)
        both *= 1.0 if self.driver is None else self.driver.volume(samples, seed)
        return both and both * self.share_of_product(samples, seed)

    def share_outside(self, other: PairLimit, samples: int = VOLUME_DRAWS, seed: int = 0) -> float:
        """Return which share of the legal pairs is not legal by `other`, for the same joints.

        Times `volume` it is a share of all pairs.
        """
        pairs = self.sample(samples, np.random.default_rng(seed))
        return float((~other.contains(*pairs)).mean())

    def mirror(self, normal: Vectors, driver: str, driver_normal: Vectors | None = None) -> Self:
        """Return the pairs of the other side; see `DependentLimit.mirror`."""
        from .convert import mirror_limit

        across = normal if driver_normal is None else driver_normal
        own = None if self.driver is None else mirror_limit(self.driver, across)
        return replace(self, driver=own, dependent=self.dependent.mirror(normal, driver, across))
