"""Inverse kinematics within limits: pose a figure by goals, and never break a limb."""

from .arm import arm
from .controls import ControlSolution, solve_controls
from .follow import follow, track
from .goals import Aim, Comfort, Goal, Orient, Reach, Stay
from .look_at import look_at, watch
from .solution import ClipSolution, Solution
from .solve import solve
from .two_bone import two_bone

__all__ = [
    "Aim",
    "ClipSolution",
    "Comfort",
    "ControlSolution",
    "Goal",
    "Orient",
    "Reach",
    "Solution",
    "Stay",
    "arm",
    "follow",
    "look_at",
    "solve",
    "solve_controls",
    "track",
    "two_bone",
    "watch",
]
