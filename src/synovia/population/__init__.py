"""Ready-made human limits for any rig."""

from .clamping import clamp, clamp_until_clean
from .findings import (
    Finding,
    clinical_angles,
    describe_move,
    describe_posture,
    join_sides,
    joint_name,
)
from .limits import (
    HumanLimits,
    canonical_limits,
    check,
    human_limits,
    limits_for,
    limits_on,
    people_near,
    recognize_clip,
)
from .palms import describe_spans
from .sources import SOURCES, Source

__all__ = [
    "SOURCES",
    "Finding",
    "HumanLimits",
    "Source",
    "canonical_limits",
    "check",
    "clamp",
    "clamp_until_clean",
    "clinical_angles",
    "describe_move",
    "describe_posture",
    "describe_spans",
    "human_limits",
    "join_sides",
    "joint_name",
    "limits_for",
    "limits_on",
    "people_near",
    "recognize_clip",
]
