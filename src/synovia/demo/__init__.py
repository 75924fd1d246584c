"""The default human, clips made of its controls, and how close learned limits come to its own."""

from .clips import JOINTS, WILD_JOINTS, range_of_motion, true_limits, wild
from .compare import CASES, Exam, Score, euler_ranges, largest_step, learn_limits, score_families

__all__ = [
    "CASES",
    "JOINTS",
    "WILD_JOINTS",
    "Exam",
    "Score",
    "euler_ranges",
    "largest_step",
    "learn_limits",
    "range_of_motion",
    "score_families",
    "true_limits",
    "wild",
]
