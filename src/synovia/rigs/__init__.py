"""Rigs: roles of joints, their recognition in skeletons, and the canonical human."""

from .alignment import Alignment
from .canonical import (
    MEASURED_FROM,
    canonical_skeleton,
    dependents_from_rig,
    dependents_on_rig,
    limits_from_rig,
    limits_on_rig,
    t_pose,
)
from .human import FACE, FINGERS, PARENTS, ROLES, parent_role
from .recognize import NotHumanError, Rig, recognize
from .reference import align
from .stance import thin_clip
from .suggest import suggest_roles

__all__ = [
    "FACE",
    "FINGERS",
    "MEASURED_FROM",
    "PARENTS",
    "ROLES",
    "Alignment",
    "NotHumanError",
    "Rig",
    "align",
    "canonical_skeleton",
    "dependents_from_rig",
    "dependents_on_rig",
    "limits_from_rig",
    "limits_on_rig",
    "parent_role",
    "recognize",
    "suggest_roles",
    "t_pose",
    "thin_clip",
]
