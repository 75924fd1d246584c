"""Reach cones: star polygons on the sphere with twist limits (Wilhelms & Van Gelder, 2001)."""

from .cone import ReachCone
from .exits import Exit, exit_along_chord, pull_to_rest

__all__ = ["Exit", "ReachCone", "exit_along_chord", "pull_to_rest"]
