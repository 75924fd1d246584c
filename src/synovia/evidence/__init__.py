"""Evidence: how well families of limits serve people never seen, beside simpler regions."""

from .baselines import BASELINES, Baseline
from .comparison import Comparison, Outcome, Trial, compare
from .study import Study, uniform_rotations
from .tradeoff import MARGINS, TradeoffCurve, at_rejection, at_volume, curves, families

__all__ = [
    "BASELINES",
    "MARGINS",
    "Baseline",
    "Comparison",
    "Outcome",
    "Study",
    "TradeoffCurve",
    "Trial",
    "at_rejection",
    "at_volume",
    "compare",
    "curves",
    "families",
    "uniform_rotations",
]
