"""Inverse kinematics within limits: pose a figure by goals, and never break a limb."""

from .goals import Aim, Goal, Orient, Reach, Stay
from .look_at import look_at
from .solution import Solution
from .solve import METHODS, solve
from .track import track

__all__ = [
    "METHODS",
    "Aim",
    "Goal",
    "Orient",
    "Reach",
    "Solution",
    "Stay",
    "look_at",
    "solve",
    "track",
]
