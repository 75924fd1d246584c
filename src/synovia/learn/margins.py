"""Margins of limits for a rejection, from the margins that people left out need.

`promise` returns the margin at which people who were not captured (newcomers) are rejected as often
as requested. The least margin that rejects few enough of the people left out depends on chance,
because a few people cause most rejections. So the tail of the required margins is smoothed, and
the uncertainty of its estimate is included.

Let u be the margin that 5 % of the frames of people left out exceed, and let the excess over u be
exponentially distributed with an unknown mean σ. If k people exceed u by X₁ … X_k, the next one
exceeds c · ΣX with probability (1 + c)^−k for every σ, because ΣX / σ has a gamma distribution,
over which exp(−c ΣX / σ) has that mean. So if a share p exceeds u by x on average, the margin
u + k · x · ((p / reject)^(1/k) − 1) rejects `reject` on average over the people captured. Frames of
one person are alike, so k is an effective number of people, (Σe)² / Σe² of the shares e that
exceed u, and at least 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Ints, Scalars

DEFAULT_REJECT = 0.01
"""Default share of a newcomer's frames that may be outside."""
TAIL_SHARE = 0.05
"""Share of frames outside at which the tail begins, unless a larger rejection is requested."""
MIN_TAIL_PEOPLE = 3.0
"""Smallest effective number of people of a tail; that of one person alone would hardly end."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Margins in radians that one person left out needs, (n,), and their numbers of frames (n,)."""

    required: Scalars
    counts: Ints

    def share_beyond(self, margin: float) -> float:
        """Return the share of frames that need more than this margin."""
        return float(np.average(self.required > margin, weights=self.counts))

    def mean_excess(self, margin: float) -> float:
        """Return the mean over all frames of the excess over this margin, in radians."""
        return float(np.average(np.maximum(self.required - margin, 0.0), weights=self.counts))


@dataclass(frozen=True)
class Promise:
    """A margin, and the rejections to expect from it."""

    margin: float
    """In radians."""
    held_out: float
    """Share of frames outside, as a mean over the people left out."""
    rejected: float
    """Expected share of a newcomer; above the requested one if no margin meets that."""


def promise(reject: float, held_out: Sequence[HeldOut], low: float, high: float) -> Promise:
    """Return the margin at which a share `reject` of a newcomer's frames is outside, on average.

    `held_out` has the margins that each person left out needs. The result is between `low` and
    `high`, in radians.
    """
    check_rejection(reject)
    tail = Tail.of(held_out, least_for(max(TAIL_SHARE, reject), held_out))
    wanted = max(tail.margin_for(reject), least_for(reject, held_out))
    margin = float(np.clip(wanted, low, high))
    left = float(np.mean([each.share_beyond(margin) for each in held_out]))
    return Promise(margin, left, max(tail.share_beyond(margin), left))


@dataclass(frozen=True)
class Tail:
    """Distribution of the margins that newcomers' frames need, beyond a start."""

    start: float
    """Margin in radians at which the tail begins."""
    share: float
    people: float
    """Effective number of people from whom it is estimated."""
    excess: float
    """Mean excess of the frames in the tail, in radians."""

    @classmethod
    def of(cls, held_out: Sequence[HeldOut], start: float) -> Tail:
        """Return the tail beyond `start`, from the margins that people left out need."""
        shares = np.array([each.share_beyond(start) for each in held_out])
        if not shares.any():
            return cls(start, 0.0, MIN_TAIL_PEOPLE, 0.0)
        excess = sum(each.mean_excess(start) for each in held_out)
        people = max(shares.sum() ** 2 / np.square(shares).sum(), MIN_TAIL_PEOPLE)
        return cls(start, float(shares.mean()), float(people), float(excess / shares.sum()))

    def margin_for(self, share: float) -> float:
        """Return the margin, in radians, that a share of newcomers' frames exceeds.

        It is the start of the tail for larger shares than that of the tail.
        """
        if self.share <= share:
            return self.start
        further = float((self.share / share) ** (1.0 / self.people)) - 1.0
        return self.start + self.people * self.excess * further

    def share_beyond(self, margin: float) -> float:
        """Return the share of newcomers' frames that need more than a margin from the start on."""
        if self.excess == 0.0:
            return self.share
        further = max(margin - self.start, 0.0) / (self.people * self.excess)
        return float(self.share * (1.0 + further) ** -self.people)


def least_for(share: float, held_out: Sequence[HeldOut]) -> float:
    """Return the least margin, in radians, that at most a share of the frames exceeds.

    It is the margin that some frame needs. Everybody held out has the same weight.
    """
    required = np.concatenate([each.required for each in held_out])
    weights = np.concatenate([each.counts / each.counts.sum() for each in held_out])
    order = np.argsort(-required, kind="stable")
    beyond = np.cumsum(weights[order]) / len(held_out)
    enough = int(np.searchsorted(beyond, share * (1.0 + 1e-9), side="right"))
    return float(required[order[min(enough, len(order) - 1)]])


def check_rejection(reject: float | None) -> None:
    """Raise ValueError unless `reject`, if given, is a share of frames."""
    if reject is not None and not 0.0 < reject < 1.0:
        raise ValueError(f"reject must be a share between 0 and 1, got {reject}")
