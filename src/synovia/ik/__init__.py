"""Inverse kinematics within limits: pose a figure by goals, and never break a limb."""

from .controls import solve_controls
from .drag import ControlDrag, Drag, JointDrag, PullStep
from .follow import follow, track, watch
from .goals import GOALS, Aim, Comfort, Goal, JointGoal, Orient, Reach, Stay
from .look_at import look_at
from .search import SearchSettings
from .solution import ClipSolution, ControlSolution, Solution
from .solve import solve
from .two_bone import arm, two_bone

__all__ = [
    "GOALS",
    "Aim",
    "ClipSolution",
    "Comfort",
    "ControlDrag",
    "ControlSolution",
    "Drag",
    "Goal",
    "JointDrag",
    "JointGoal",
    "Orient",
    "PullStep",
    "Reach",
    "SearchSettings",
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
