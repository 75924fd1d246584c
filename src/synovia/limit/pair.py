"""Pairs of a joint and its driver: the legal ones, and the nearest legal pair.

The distance between two pairs is √(α² + β²), with α and β the distances of the two joints in the
metrics of their limits' charts. At a given rotation of the driver, the best rotation of the joint
is the nearest one that is legal there. So the search is over rotations of the driver alone. If the
joint is legal at the driver's own nearest legal rotation, that is the nearest pair. Otherwise
`kernels.pair` tries a fan of rotations of the driver, then a pattern search from the best of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Mask, Quats, Scalars, tolerance, unit_quats
from .dependent import DependentLimit
from .limit import Limit

MAX_DRAWS = 60  # pairs drawn for each one requested, before a sample is given up
VOLUME_DRAWS = 20_000

Dependents = Sequence[tuple[DependentLimit, Quats]]
"""Joints that depend on one driver, with their rotations (n, 4)."""


def nearest_together(
    driver: Limit | None, rotations: Quats, dependents: Dependents
) -> tuple[Quats, list[Quats], Scalars]:
    """Return the nearest legal rotations of a driver and of its dependents, and the distances.

    Parameters
    ----------
    driver
        The driver's own limit, or None. One without a kernel is searched by its stand-in.
    rotations
        The driver's rotations (n, 4).
    dependents
        One joint or more that depend on the driver, each with its rotations (n, 4).

    Returns
    -------
    rotations
        The driver's legal rotations (n, 4).
    others
        The legal rotations (n, 4) of each dependent.
    distances
        Distances (n,) in radians. At most 0 for members, which come back unchanged: a lower bound
        of their depth.
    """
    source = np.asarray(rotations, np.float64)
    measured = [(each, each.measure(own)) for each, own in dependents]
    distance = np.full(len(source), -np.inf) if driver is None else driver.distance(source)
    for each, numbers in measured:
        gap = each.gap(numbers, each.values_at(source))
        # As the driver rotates, the ends of ranges move by at most the steepness.
        gap = np.where(gap > 0.0, gap, gap / np.hypot(1.0, each.steepness))
        distance = np.maximum(distance, gap)
    legal, outside = np.array(source), distance > tolerance(rotations.dtype)
    if outside.any():
        rows = [(each, numbers[outside]) for each, numbers in measured]
        nearest, distance[outside] = _search(driver, source[outside], rows)
        opposite = np.sum(nearest * source[outside], axis=-1, keepdims=True) < 0.0
        legal[outside] = np.where(opposite, -nearest, nearest)
    others = [each.project(own, legal) for each, own in dependents]
    for other, (_, own) in zip(others, dependents, strict=True):
        other[~outside] = own[~outside]
    legal = np.where((legal == source).all(axis=-1, keepdims=True), rotations, legal)
    return legal.astype(rotations.dtype), others, np.asarray(distance, rotations.dtype)


def _search(
    driver: Limit | None, source: Quats, measured: Sequence[tuple[DependentLimit, Floats]]
) -> tuple[Quats, Scalars]:
    """Return the driver's rotations (n, 4) of the nearest legal pairs, and the distances (n,)."""
    rows = [numbers.reshape(len(numbers), -1) for _, numbers in measured]
    found, squares = np.empty_like(source), np.empty(len(source))
    kernels.pair.search(
        np.ascontiguousarray(source),
        np.empty(0) if driver is None else driver.stand_in.packed,
        np.concatenate([each.packed for each, _ in measured]),
        np.ascontiguousarray(np.hstack(rows)),
        np.array([row.shape[1] for row in rows]),
        found,
        squares,
    )
    if driver is None or driver.compiled:
        return found, np.sqrt(squares)
    found = driver.project(found)
    gaps = [np.maximum(each.gap(numbers, each.values_at(found)), 0.0) for each, numbers in measured]
    return found, np.linalg.norm([quat.angle_between(source, found), *gaps], axis=0)


def sample_together(
    driver: Limit | None, dependents: Sequence[DependentLimit], n: int, rng: np.random.Generator
) -> tuple[Quats, list[Quats]]:
    """Return `n` legal rotations of a driver and of its dependents, uniformly distributed."""
    kept: list[list[Quats]] = [[np.empty((0, 4))] for _ in range(1 + len(dependents))]
    drawn = 0
    while sum(map(len, kept[0])) < n:
        if drawn > MAX_DRAWS * max(n, VOLUME_DRAWS):
            raise ValueError("hardly any rotations are legal together: none are drawn at random")
        first, others = _draw(driver, dependents, 2 * n + 64, rng)
        pairs = zip(dependents, others, strict=True)
        legal = np.all([each.contains(own, first) for each, own in pairs], axis=0)
        for rows, drawn_rows in zip(kept, (first, *others), strict=True):
            rows.append(drawn_rows[legal])
        drawn += len(legal)
    first, *others = (np.concatenate(rows)[:n] for rows in kept)
    return first, others


def _draw(
    driver: Limit | None, dependents: Sequence[DependentLimit], n: int, rng: np.random.Generator
) -> tuple[Quats, list[Quats]]:
    """Return `n` rotations of each joint, legal by its own limit and uniformly distributed."""
    free = quat.normalize(rng.normal(size=(n, 4))) if driver is None else driver.sample(n, rng)
    return free, [each.limit.sample(n, rng) for each in dependents]


@dataclass(frozen=True, eq=False)
class PairLimit:
    """Legal pairs of rotations: a driver's within its own limit, and those of a dependent joint.

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
        """Return True for legal pairs of the driver's rotations and the joint's."""
        driver, rotations = self._checked(driver, rotations)
        slack = tolerance(np.result_type(driver, rotations))
        legal = self.dependent.distance(rotations, driver) <= slack
        return np.asarray(legal if self.driver is None else legal & self.driver.contains(driver))

    def distance(self, driver: Quats, rotations: Quats) -> Scalars:
        """Return the distance to the nearest legal pair, in radians; at most 0 inside."""
        return self._nearest(driver, rotations)[2]

    def project(self, driver: Quats, rotations: Quats) -> tuple[Quats, Quats]:
        """Return the nearest legal pairs: the driver's rotations, and the joint's.

        The sum of squared distances of both, each in its chart, is least. Legal pairs come back
        bit for bit. Others are at most 2 % and a tenth of a degree farther than the nearest, if
        the driver's limit has a kernel and the families' own projections are exact.
        """
        found, moved, _ = self._nearest(driver, rotations)
        return found, moved

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

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Quats, Quats]:
        """Return `n` legal pairs, uniformly distributed."""
        driver, (rotations,) = sample_together(self.driver, [self.dependent], n, rng)
        return driver, rotations

    def share_of_product(self, samples: int = VOLUME_DRAWS, seed: int = 0) -> float:
        """Return the share of legal pairs among pairs of rotations that are each legal alone."""
        rng = np.random.default_rng(seed)
        driver, (rotations,) = _draw(self.driver, [self.dependent], samples, rng)
        return float(self.contains(driver, rotations).mean())
