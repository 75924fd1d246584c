"""Evidence: how well families of limits hold for performers who were not fitted to."""

from .comparison import Comparison, TradeoffCurve, Trial, at_rejection, compare
from .study import families

__all__ = [
    "Comparison",
    "TradeoffCurve",
    "Trial",
    "at_rejection",
    "compare",
    "families",
]
