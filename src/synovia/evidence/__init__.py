"""Evidence: how well families of limits serve people never seen, beside simpler regions."""

from ..learn import Duplicates, find_duplicates
from .baselines import BASELINES, Baseline
from .crossvalidation import compare
from .curve import TradeoffCurve, at_rejection, at_volume, uniform_rotations
from .results import Comparison, Outcome, Trial
from .tradeoff import MARGINS, curves, families

__all__ = [
    "BASELINES",
    "MARGINS",
    "Baseline",
    "Comparison",
    "Duplicates",
    "Outcome",
    "TradeoffCurve",
    "Trial",
    "at_rejection",
    "at_volume",
    "compare",
    "curves",
    "families",
    "find_duplicates",
    "uniform_rotations",
]
