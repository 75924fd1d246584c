"""Inverse kinematics within limits: pose a figure by goals, and never break a limb."""

from .arm import arm
from .control_solution import ControlSolution
from .follow import follow
from .followed import Followed
from .goals import Aim, Goal, Orient, Reach, Stay
from .look_at import look_at
from .solution import Solution
from .solve import METHODS, solve
from .solve_controls import solve_controls
from .track import track
from .watch import watch

__all__ = [
    "METHODS",
    "Aim",
    "ControlSolution",
    "Followed",
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
    "watch",
]
