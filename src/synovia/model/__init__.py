"""Models: constraints on the joints of a skeleton, applied to poses and clips."""

from .clamp import MAX_SPEED
from .constraint import Constraint, JointLimit, first_exit, project_path
from .control_group import ControlGroup, control_groups
from .coupled import Coupled, couple
from .limb import ARM_SHIFTS, LEG_SHIFTS, Limb
from .live import LiveClamp, LivePath
from .model import LimitModel
from .muscle import TwoJointMuscle
from .placed import pack_limits, share_twist
from .report import ClampReport, JointReport, Report
from .retarget import joint_by_joint, limbs_on_rig, without_limbs

__all__ = [
    "ARM_SHIFTS",
    "LEG_SHIFTS",
    "MAX_SPEED",
    "ClampReport",
    "Constraint",
    "ControlGroup",
    "Coupled",
    "JointLimit",
    "JointReport",
    "Limb",
    "LimitModel",
    "LiveClamp",
    "LivePath",
    "Report",
    "TwoJointMuscle",
    "control_groups",
    "couple",
    "first_exit",
    "joint_by_joint",
    "limbs_on_rig",
    "pack_limits",
    "project_path",
    "share_twist",
    "without_limbs",
]
