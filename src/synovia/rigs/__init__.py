"""Rigs: the canonical human, and which joint of a skeleton is which of its bones."""

from .human import FINGERS, PARENTS, ROLES, parent_role

__all__ = ["FINGERS", "PARENTS", "ROLES", "parent_role"]
