"""Inverse kinematics within limits: pose a figure by goals, and never break a limb."""

from .follow import follow
from .followed import Followed
from .goals import Aim, Goal, Orient, Reach, Stay
from .look_at import look_at
from .solution import Solution
from .solve import METHODS, solve
from .watch import watch

__all__ = [
    "METHODS",
    "Aim",
    "Followed",
    "Goal",
    "Orient",
    "Reach",
    "Solution",
    "Stay",
    "follow",
    "look_at",
    "solve",
    "watch",
]
