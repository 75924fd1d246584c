"""A human whose limits are known, clips made from them, and how close learned limits come."""

from .clips import WILD_JOINTS, range_of_motion, wild
from .compare import CASES, EulerBox, Exam, Score, euler_boxes, largest_step, learned
from .human import human, true_limits
from .truth import TrueLimit

__all__ = [
    "CASES",
    "WILD_JOINTS",
    "EulerBox",
    "Exam",
    "Score",
    "TrueLimit",
    "euler_boxes",
    "human",
    "largest_step",
    "learned",
    "range_of_motion",
    "true_limits",
    "wild",
]
