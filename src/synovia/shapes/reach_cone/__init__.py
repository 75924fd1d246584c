"""Reach cones: star polygons on the sphere with twist limits (Wilhelms & Van Gelder, 2001)."""

from .cone import ReachCone

__all__ = ["ReachCone"]
