"""Models: a limit for each joint that has one, applied to poses and clips."""

from .clamp import EDGE, MAX_SPEED, ClampedPath, clamp_path, first_exit, project_path
from .clips import Paths
from .live import LiveClamp, LivePath
from .model import LimitModel, hold_fixed, pack_limits
from .report import ClampReport, JointReport, Report

__all__ = [
    "EDGE",
    "MAX_SPEED",
    "ClampReport",
    "ClampedPath",
    "JointReport",
    "LimitModel",
    "LiveClamp",
    "LivePath",
    "Paths",
    "Report",
    "clamp_path",
    "first_exit",
    "hold_fixed",
    "pack_limits",
    "project_path",
]
