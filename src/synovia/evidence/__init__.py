"""Evidence: how well families of limits serve people never seen, beside simpler regions."""

from ..leaks import Leaks, find_leaks
from .baselines import BASELINES, Baseline
from .crossvalidation import compare
from .curve import Curve, at_rejection, at_volume, uniform_rotations
from .results import Comparison, Outcome, Trial
from .tradeoff import MARGINS, curves, families

__all__ = [
    "BASELINES",
    "MARGINS",
    "Baseline",
    "Comparison",
    "Curve",
    "Leaks",
    "Outcome",
    "Trial",
    "at_rejection",
    "at_volume",
    "compare",
    "curves",
    "families",
    "find_leaks",
    "uniform_rotations",
]
