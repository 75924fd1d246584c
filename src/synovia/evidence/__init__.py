"""Evidence: how well families of limits serve people never seen, beside simpler regions."""

from .baselines import BASELINES, Baseline
from .comparison import Comparison, Trial, compare
from .study import QUICK, Excerpt
from .tradeoff import TradeoffCurve, at_rejection, at_volume, curves, families

__all__ = [
    "BASELINES",
    "QUICK",
    "Baseline",
    "Comparison",
    "Excerpt",
    "TradeoffCurve",
    "Trial",
    "at_rejection",
    "at_volume",
    "compare",
    "curves",
    "families",
]
