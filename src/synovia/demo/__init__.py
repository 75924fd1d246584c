"""The default human, clips made of its controls, and how close learned limits come to its own."""

from .clips import WILD_JOINTS, range_of_motion, wild
from .compare import CASES, EulerBox, Exam, Score, euler_boxes, largest_step, learned
from .truth import ANCESTORS, JOINTS, near_misses, true_limits

__all__ = [
    "ANCESTORS",
    "CASES",
    "JOINTS",
    "WILD_JOINTS",
    "EulerBox",
    "Exam",
    "Score",
    "euler_boxes",
    "largest_step",
    "learned",
    "near_misses",
    "range_of_motion",
    "true_limits",
    "wild",
]
