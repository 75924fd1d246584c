"""Skeletons, poses and clips."""

from .ancestry import Lineage, copy_limit, lineage, measure_from_ancestor
from .names import Match, bare_name, list_names, match, names_in, other_side, partner, partner_limit
from .skeleton import (
    CHANNELS,
    POSITIONS,
    ROTATIONS,
    Axis,
    Clip,
    Pose,
    Skeleton,
    check_joints,
    end_positions,
    forward,
    resample,
    with_unit,
    with_up,
)

__all__ = [
    "CHANNELS",
    "POSITIONS",
    "ROTATIONS",
    "Axis",
    "Clip",
    "Lineage",
    "Match",
    "Pose",
    "Skeleton",
    "bare_name",
    "check_joints",
    "copy_limit",
    "end_positions",
    "forward",
    "lineage",
    "list_names",
    "match",
    "measure_from_ancestor",
    "names_in",
    "other_side",
    "partner",
    "partner_limit",
    "resample",
    "with_unit",
    "with_up",
]
