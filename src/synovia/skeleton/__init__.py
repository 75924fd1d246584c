"""Skeletons, poses and clips: names, parents, ancestors, left and right."""

from .ancestry import Lineage, lineage, lineages, measure_from_ancestor
from .clip import Clip
from .names import Match, match
from .sides import copy_limit, mirror_normal, partner, partner_limit
from .skeleton import (
    CHANNELS,
    POSITIONS,
    ROTATIONS,
    Pose,
    Skeleton,
    check_joints,
    end_positions,
    forward,
)

__all__ = [
    "CHANNELS",
    "POSITIONS",
    "ROTATIONS",
    "Clip",
    "Lineage",
    "Match",
    "Pose",
    "Skeleton",
    "check_joints",
    "copy_limit",
    "end_positions",
    "forward",
    "lineage",
    "lineages",
    "match",
    "measure_from_ancestor",
    "mirror_normal",
    "partner",
    "partner_limit",
]
