"""Models: a limit for each joint that has one, applied to poses and clips."""

from .clamp import EDGE, first_exit, project_path
from .model import LimitModel, Paths, hold_fixed, pack_limits
from .report import JointReport, Report

__all__ = [
    "EDGE",
    "JointReport",
    "LimitModel",
    "Paths",
    "Report",
    "first_exit",
    "hold_fixed",
    "pack_limits",
    "project_path",
]
