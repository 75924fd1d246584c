# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles of bones that the user assigns: a row for each role, stored in the object.

Other roles follow from the bones' names. Rows that agree with the names change nothing; rows that
differ take precedence.
"""

from __future__ import annotations

import re
from typing import Any

from synovia import Skeleton
from synovia.rigs import ROLES, NotHumanError, recognize, suggest_roles

SHOWN = tuple(role for role in ROLES if role != "upperChest")
"""The roles of rows. Recognised rigs have one chest, from which the arms branch."""


def title(role: str) -> str:
    """Return a role as words, such as "Left Upper Arm"."""
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", role)
    return words[:1].upper() + words[1:]


def recognised_roles(skeleton: Skeleton) -> dict[str, str]:
    """Return the roles that follow from names, by joint; none if the rig is not a human."""
    try:
        return {joint: role for role, joint in recognize(skeleton).roles.items()}
    except NotHumanError:
        return {}


def assigned_roles(armature: Any, skeleton: Skeleton) -> dict[str, str]:
    """Return the roles by bone in which an armature object's rows differ from recognised ones.

    A bone that was removed from its row has the role "". ValueError if a bone has two roles.
    """
    rows = {row.name: row.bone for row in armature.synovia.roles}
    if not rows:
        return {}
    recognised = recognised_roles(skeleton)
    assigned: dict[str, str] = {}
    for role, bone in rows.items():
        if bone and bone in assigned:
            raise ValueError(
                f"{bone} must have one role, got {title(assigned[bone])} and {title(role)}"
            )
        if bone:
            assigned[bone] = role
    removed = {b: "" for b, role in recognised.items() if role in rows and b not in assigned}
    return {**removed, **{b: role for b, role in assigned.items() if recognised.get(b) != role}}


def suggest(armature: Any, skeleton: Skeleton) -> int:
    """Add missing rows, and suggest bones for empty ones; return how many were filled."""
    rows = armature.synovia.roles
    assigned = {bone: role for bone, role in assigned_roles(armature, skeleton).items() if role}
    for role in SHOWN:
        if role not in rows:
            rows.add().name = role
    likely = {role: bone for bone, role in suggest_roles(skeleton, assigned).items()}
    taken = {row.bone for row in rows if row.bone}
    filled = 0
    for row in rows:
        bone = likely.get(row.name, "")
        if not row.bone and bone and bone not in taken:
            row.bone, filled = bone, filled + 1
    return filled
