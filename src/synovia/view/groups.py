"""Names of a human's joints in the page's list, and their groups: spine, cage, arms, legs."""

from __future__ import annotations

from functools import lru_cache

from ..population.findings import JOINT_NAMES, joint_name
from ..rigs import Rig, recognize
from ..rigs.human import split_role
from ..skeleton import Skeleton

LIMBS = {
    "Shoulder": "arm",
    "UpperArm": "arm",
    "LowerArm": "arm",
    "Hand": "arm",
    "UpperLeg": "leg",
    "LowerLeg": "leg",
    "Foot": "leg",
    "Toes": "leg",
}
"""By role without its side. What hangs on a hand is the hand's."""


@lru_cache(maxsize=4)
def group_joints(skeleton: Skeleton) -> tuple[str, ...]:
    """Return by joint the group it is in, "" for none; all "" where no human is recognised."""
    try:
        rig = recognize(skeleton)
    except ValueError:
        return ("",) * len(skeleton)
    first = {skeleton.index(joint): role for role, joint in rig.starts.items()}
    column = set(_column(rig))
    groups: list[str] = []
    for joint, parent in enumerate(skeleton.parents.tolist()):
        above = groups[parent] if parent >= 0 else ""
        role = first.get(joint, "")
        side = next((each for each in ("left", "right") if role.startswith(each)), "")
        limb = LIMBS.get(role.removeprefix(side)) if side else None
        if limb is not None:
            groups.append(f"{side.capitalize()} {limb}")
        elif parent >= 0 and first.get(parent, "").endswith("Hand"):
            groups.append(f"{above.split()[0]} hand")
        elif joint in column:
            groups.append("Spine" if parent >= 0 else "")
        else:
            groups.append("Cage" if above in ("Spine", "Cage") else above)
    return tuple(groups)


@lru_cache(maxsize=4)
def common_names(skeleton: Skeleton) -> tuple[str, ...]:
    """Return the common name of each joint, such as "left knee"; "" for none."""
    try:
        roles = recognize(skeleton).roles
    except ValueError:
        return ("",) * len(skeleton)
    names = {
        joint: joint_name(role)
        for role, joint in roles.items()
        if split_role(role)[1] in JOINT_NAMES
    }
    return tuple(names.get(joint, "") for joint in skeleton.names)


def _column(rig: Rig) -> tuple[int, ...]:
    """Return the joints from the root to the head, or to what is highest of the trunk."""
    top = next(role for role in ("head", "neck", "chest", "spine", "hips") if role in rig.roles)
    return tuple(rig.skeleton.path_to_root(rig.skeleton.index(rig.roles[top])))
