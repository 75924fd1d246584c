"""The default human, clips made of its controls, and how close learned limits come to its own."""

from .clips import ANCESTORS, JOINTS, WILD_JOINTS, near_misses, range_of_motion, true_limits, wild
from .compare import CASES, EulerRanges, Exam, Score, euler_ranges, largest_step, learn_limits

__all__ = [
    "ANCESTORS",
    "CASES",
    "JOINTS",
    "WILD_JOINTS",
    "EulerRanges",
    "Exam",
    "Score",
    "euler_ranges",
    "largest_step",
    "learn_limits",
    "near_misses",
    "range_of_motion",
    "true_limits",
    "wild",
]
