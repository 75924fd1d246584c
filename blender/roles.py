# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bones are those of a human, where a user says so: a row for each role, kept in the object.

What names tell is understood without. Rows that say the same leave it as it is understood, split
bones too; others come before it.
"""

from __future__ import annotations

import re
from typing import Any

from synovia import Skeleton
from synovia.rigs import ROLES, NotHumanError, recognize, suggest_roles

SHOWN = tuple(role for role in ROLES if role != "upperChest")
"""The roles of rows. Recognised rigs have a chest, from which the arms branch, and none above."""


def title(role: str) -> str:
    """Return a role in words: Left Upper Arm."""
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", role)
    return words[:1].upper() + words[1:]


def understood(skeleton: Skeleton) -> dict[str, str]:
    """Return the roles of joints, by joint, that are recognised without a user's help."""
    try:
        return {joint: role for role, joint in recognize(skeleton).roles.items()}
    except NotHumanError:
        return {}


def said_roles(thing: Any, skeleton: Skeleton) -> dict[str, str]:
    """Return what the rows of an armature object say beyond what is understood: roles by bone.

    A bone that a row was emptied of has the role "", none. ValueError where a bone has two roles.
    """
    rows = {row.name: row.bone for row in thing.synovia.roles}
    if not rows:
        return {}
    known = understood(skeleton)
    said: dict[str, str] = {}
    for role, bone in rows.items():
        if bone and bone in said:
            raise ValueError(
                f"{bone} must have one role, got {title(said[bone])} and {title(role)}"
            )
        if bone:
            said[bone] = role
    emptied = {bone: "" for bone, role in known.items() if role in rows and bone not in said}
    return {**emptied, **{b: role for b, role in said.items() if known.get(b) != role}}


def fill(thing: Any, skeleton: Skeleton) -> int:
    """Give each role a row, and rows without a bone one that is likely; return how many got one."""
    rows = thing.synovia.roles
    said = {bone: role for bone, role in said_roles(thing, skeleton).items() if role}
    for role in SHOWN:
        if role not in rows:
            rows.add().name = role
    likely = {role: bone for bone, role in suggest_roles(skeleton, said).items()}
    taken = {row.bone for row in rows if row.bone}
    filled = 0
    for row in rows:
        bone = likely.get(row.name, "")
        if not row.bone and bone and bone not in taken:
            row.bone, filled = bone, filled + 1
    return filled
