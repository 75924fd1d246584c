"""Rigs: the canonical human, and which joint of a skeleton is which of its bones."""

from .human import FINGERS, PARENTS, ROLES, parent_role
from .recognize import NotHumanError, Rig, recognize

__all__ = ["FINGERS", "PARENTS", "ROLES", "NotHumanError", "Rig", "parent_role", "recognize"]
