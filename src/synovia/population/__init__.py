"""Ready-made human limits for any rig."""

from .angles import ClinicalAxis, angles_of, clinical_axes, rotation_of
from .clamping import clamp, clamp_until_clean, describe_spans
from .findings import (
    Finding,
    clinical_angles,
    describe_move,
    describe_posture,
    join_sides,
    joint_name,
)
from .limits import (
    SOURCES,
    HumanLimits,
    Source,
    canonical_limits,
    check,
    human_limits,
    limits_for,
    limits_on,
    people_near,
    recognize_clip,
)
from .motion import AngleCurve, ClipAngles, clip_angles

__all__ = [
    "SOURCES",
    "AngleCurve",
    "ClinicalAxis",
    "ClipAngles",
    "Finding",
    "HumanLimits",
    "Source",
    "angles_of",
    "canonical_limits",
    "check",
    "clamp",
    "clamp_until_clean",
    "clinical_angles",
    "clinical_axes",
    "clip_angles",
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
    "rotation_of",
]
