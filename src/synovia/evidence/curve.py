"""A curve of rejection against volume, and where it passes a given rejection or volume."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, own


@dataclass(frozen=True, eq=False)
class TradeoffCurve:
    """How often newcomers are rejected, for how many rotations accepted, while a knob is turned."""

    name: str
    knobs: Floats
    rejected: Floats
    """The share of held-out frames outside, as a mean over those who were held out."""
    volume: Floats
    """The share of all rotations inside."""

    def __post_init__(self) -> None:
        own(self, knobs=(None,), rejected=(None,), volume=(None,))
        if not len(self.knobs) == len(self.rejected) == len(self.volume) > 0:
            raise ValueError(
                "a curve needs as many rejections and volumes as knobs, and at least one, got "
                f"{len(self.knobs)}, {len(self.rejected)} and {len(self.volume)}"
            )

    @property
    def frontier(self) -> tuple[Floats, Floats]:
        """Volumes that grow and the rejections there, which never do: the best so far at each."""
        order = np.lexsort((self.rejected, self.volume))
        return self.volume[order], np.minimum.accumulate(self.rejected[order])


def uniform_rotations(n: int, seed: int = 0) -> Quats:
    """Return `n` rotations (n, 4) spread evenly over all of them: the same for the same seed."""
    return quat.normalize(np.random.default_rng(seed).normal(size=(n, 4)))


def at_volume(curve: TradeoffCurve, volume: float) -> float:
    """Return the share rejected where `volume` is accepted; nan below the least volume tried."""
    volumes, rejected = curve.frontier
    if volume < volumes[0]:
        return float("nan")
    return float(np.interp(volume, volumes, rejected))


def at_rejection(curve: TradeoffCurve, rejected: float) -> float:
    """Return the least volume where at most `rejected` is; nan where the curve stays above."""
    volumes, shares = curve.frontier
    reached = np.flatnonzero(shares <= rejected)
    if len(reached) == 0:
        return float("nan")
    k = int(reached[0])
    if k == 0:
        return float(volumes[0])
    back = (shares[k - 1] - rejected) / (shares[k - 1] - shares[k])
    return float(volumes[k - 1] + back * (volumes[k] - volumes[k - 1]))
