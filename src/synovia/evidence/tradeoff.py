"""Families of limits that can be compared, and their curves of rejection against volume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, own
from ..charts import CHARTS
from ..learn import ESTIMATORS, FitOptions
from ..limit import compared_charts, shape_named, suits
from ..shapes import SHAPES

ESTIMATOR_CHART = "rotation-vector"  # the chart in which estimators are compared


@dataclass(frozen=True, eq=False)
class TradeoffCurve:
    """Share of held-out frames rejected against share of all rotations accepted."""

    name: str
    knobs: Floats
    """(n,): the parameter that makes the region grow; margins in radians for limits."""
    rejected: Floats
    """(n,): share of held-out frames outside, as a mean over the groups held out."""
    volume: Floats
    """(n,): share of all rotations inside."""

    def __post_init__(self) -> None:
        own(self, knobs=(None,), rejected=(None,), volume=(None,))
        if not len(self.knobs) == len(self.rejected) == len(self.volume) > 0:
            raise ValueError(
                "a curve needs as many rejections and volumes as knobs, and at least one, got "
                f"{len(self.knobs)}, {len(self.rejected)} and {len(self.volume)}"
            )

    @property
    def frontier(self) -> tuple[Floats, Floats]:
        """Volumes in ascending order, and the least rejection at that volume or below it."""
        order = np.lexsort((self.rejected, self.volume))
        return self.volume[order], np.minimum.accumulate(self.rejected[order])


def at_rejection(curve: TradeoffCurve, rejected: float) -> float:
    """Return the least volume that rejects at most `rejected`; nan if the curve stays above."""
    volumes, shares = curve.frontier
    enough = np.flatnonzero(shares <= rejected)
    if len(enough) == 0:
        return float("nan")
    k = int(enough[0])
    if k == 0:
        return float(volumes[0])
    back = (shares[k - 1] - rejected) / (shares[k - 1] - shares[k])
    return float(volumes[k - 1] + back * (volumes[k] - volumes[k - 1]))


def families(shapes: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Return pairs of shape or estimator names and chart names, for `shapes` or for all.

    Charts are those of `compared_charts`.
    """
    for name in shapes or ():
        if name not in ESTIMATORS:
            shape_named(name)
    return [
        (shape, chart)
        for shape in shapes or (*SHAPES, *ESTIMATORS)
        for chart in ([ESTIMATOR_CHART] if shape in ESTIMATORS else compared_charts())
        if shape in ESTIMATORS or suits(CHARTS[chart], SHAPES[shape])
    ]


def fastest_first(chosen: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return families with convex shapes, which are the fastest, first."""
    return sorted(
        chosen, key=lambda family: family[0] not in SHAPES or not SHAPES[family[0]].convex
    )


def family_options(shape: str, chart: str) -> FitOptions:
    """Return the options that fit a family without a margin."""
    return FitOptions(shape, chart, margin=0.0)


def family_name(shape: str, chart: str) -> str:
    """Return the display name of a family: "kdop in swing-twist", or that of an estimator."""
    return shape if shape in ESTIMATORS else f"{shape} in {chart}"
