"""Learning: from the takes of many performers to a limit for each joint."""

from .calibration import MAX_OFFSET, Calibration, OffsetObjective, calibrate, offset_of, turn_bones
from .density import CUTOFF, SATURATION_TIME, WIDTH, Density, density, level_for
from .duplicates import Duplicates, find_duplicates, join_groups, same_bones
from .fitting import (
    DEFAULT_WITHIN,
    FIELD_SOURCES,
    MAX_MARGIN,
    Recipe,
    Sample,
    field_from_paths,
    fit_joint,
    invented_first_frame,
    people_field,
    subdivide,
)
from .joint_kind import MAX_ROTATIONS, JointKind, joint_kind
from .learning import Progress, bone_axes, kinds_of, learn, performer_in, takes_of, wanted_joints
from .people import CELL, MAX_PEOPLE, People, within_for
from .population import OWN_PEOPLE, Population
from .takes import Take, performer_of
from .trimming import (
    MAX_DROPPED,
    RADIUS,
    TrimResult,
    confirmations,
    distance_to_others,
    flips,
    isolated_frames,
    thin,
    trim,
)

__all__ = [
    "CELL",
    "CUTOFF",
    "DEFAULT_WITHIN",
    "FIELD_SOURCES",
    "MAX_DROPPED",
    "MAX_MARGIN",
    "MAX_OFFSET",
    "MAX_PEOPLE",
    "MAX_ROTATIONS",
    "OWN_PEOPLE",
    "RADIUS",
    "SATURATION_TIME",
    "WIDTH",
    "Calibration",
    "Density",
    "Duplicates",
    "JointKind",
    "OffsetObjective",
    "People",
    "Population",
    "Progress",
    "Recipe",
    "Sample",
    "Take",
    "TrimResult",
    "bone_axes",
    "calibrate",
    "confirmations",
    "density",
    "distance_to_others",
    "field_from_paths",
    "find_duplicates",
    "fit_joint",
    "flips",
    "invented_first_frame",
    "isolated_frames",
    "join_groups",
    "joint_kind",
    "kinds_of",
    "learn",
    "level_for",
    "offset_of",
    "people_field",
    "performer_in",
    "performer_of",
    "same_bones",
    "subdivide",
    "takes_of",
    "thin",
    "trim",
    "turn_bones",
    "wanted_joints",
    "within_for",
]
