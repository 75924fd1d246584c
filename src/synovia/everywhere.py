"""Rotations everywhere: spread evenly over all of them, or more densely where others are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from . import quat
from .arrays import Floats, Quats, Scalars, own

DENSE, SPARSE = 8_000, 4_000
"""How many are drawn near the others, and how many from all, of which those near do not count."""
AROUND = np.radians(30.0)
"""So far around others, in radians, rotations are drawn densely."""


def uniform_rotations(n: int, seed: int = 0) -> Quats:
    """Return `n` rotations (n, 4) spread evenly over all of them: the same for the same seed."""
    return quat.normalize(np.random.default_rng(seed).normal(size=(n, 4)))


@dataclass(frozen=True, eq=False)
class Everywhere:
    """Rotations (n, 4) anywhere, each of which stands for a share of all: `weights` (n,)."""

    rotations: Quats
    weights: Floats

    def __post_init__(self) -> None:
        own(self, rotations=(None, 4), weights=(None,))

    @classmethod
    def around(cls, others: Quats) -> Self:
        """Return rotations that are dense around `others`, so that few of all can be told apart."""
        reference = quat.mean(others)
        vectors = quat.log(quat.mul(quat.inverse(reference), others))
        low = np.maximum(vectors.min(axis=0) - AROUND, -np.pi)
        high = np.minimum(vectors.max(axis=0) + AROUND, np.pi)
        drawn = np.random.default_rng(0).uniform(low, high, size=(DENSE, 3))
        angle = np.linalg.norm(drawn, axis=1)
        # In a ball of rotation vectors all rotations are once, more densely towards its middle.
        share = np.sinc(0.5 * angle / np.pi) ** 2 / (8.0 * np.pi**2)
        share *= np.prod(high - low) / DENSE
        near = quat.mul(reference, quat.exp(drawn[angle <= np.pi]))
        every = uniform_rotations(SPARSE, seed=1)
        vectors = quat.log(quat.mul(quat.inverse(reference), every))
        beyond = ((vectors < low) | (vectors > high)).any(axis=1)
        weights = np.concatenate([share[angle <= np.pi], np.full(beyond.sum(), 1.0 / SPARSE)])
        return cls(np.concatenate([near, every[beyond]]), weights / weights.sum())

    def shares(self, found: Scalars, asked: Scalars) -> Scalars:
        """Return the share of all rotations where less is `found` than what is `asked`, above 0.

        `found` is at the rotations here. What is least of all stands for half of one of them.
        """
        order = np.argsort(found)
        below = np.concatenate([[0.0], np.cumsum(self.weights[order])])
        shares = below[np.searchsorted(found[order], asked)]
        return np.asarray(np.maximum(shares, 0.5 * self.weights.min()))
