"""Evidence: how well families of limits hold for performers who were not fitted to."""

from .comparison import Comparison, Trial, compare
from .study import QUICK, Excerpt
from .tradeoff import TradeoffCurve, at_rejection, families

__all__ = [
    "QUICK",
    "Comparison",
    "Excerpt",
    "TradeoffCurve",
    "Trial",
    "at_rejection",
    "compare",
    "families",
]
