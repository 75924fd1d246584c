"""Learning of joint limits from clips of many performers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_getattr
from .kinds import JointKind, joint_kind, joint_kinds
from .margins import Promise, check_rejection
from .population import Calibration, Population, calibrate
from .takes import (
    Duplicates,
    Fold,
    Performers,
    Progress,
    Sample,
    Take,
    bone_axes,
    find_duplicates,
    flips,
    invented_first_frame,
    join_groups,
    joints_to_fit,
    leave_one_out,
    performer_of,
    performers_of,
    same_bones,
    takes_of,
)
from .trimming import MAX_DROPPED, TrimResult, thin, trim

if TYPE_CHECKING:
    from .fitting import (
        MAX_MARGIN,
        FitOptions,
        fit_joint,
        learn,
        learn_from_takes,
        measure_from,
        people_field,
    )
    from .people import DEFAULT_WITHIN, ESTIMATORS, People, field_from_paths

# Names that need charts and shapes.
__getattr__ = lazy_getattr(
    __name__,
    {
        "people": ("DEFAULT_WITHIN", "ESTIMATORS", "People", "field_from_paths"),
        "fitting": (
            *("MAX_MARGIN", "FitOptions", "fit_joint"),
            *("learn", "learn_from_takes", "measure_from", "people_field"),
        ),
    },
)


__all__ = [
    "DEFAULT_WITHIN",
    "ESTIMATORS",
    "MAX_DROPPED",
    "MAX_MARGIN",
    "Calibration",
    "Duplicates",
    "FitOptions",
    "Fold",
    "JointKind",
    "People",
    "Performers",
    "Population",
    "Progress",
    "Promise",
    "Sample",
    "Take",
    "TrimResult",
    "bone_axes",
    "calibrate",
    "check_rejection",
    "field_from_paths",
    "find_duplicates",
    "fit_joint",
    "flips",
    "invented_first_frame",
    "join_groups",
    "joint_kind",
    "joint_kinds",
    "joints_to_fit",
    "learn",
    "learn_from_takes",
    "leave_one_out",
    "measure_from",
    "people_field",
    "performer_of",
    "performers_of",
    "same_bones",
    "takes_of",
    "thin",
    "trim",
]
