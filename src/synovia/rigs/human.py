"""The canonical human: 22 roles and 30 bones of the fingers, called as in VRM 1.0."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

SIDES = ("left", "right")
LEG = ("UpperLeg", "LowerLeg", "Foot", "Toes")
"""The bones of a leg, from the hips outward."""
ARM = ("Shoulder", "UpperArm", "LowerArm", "Hand")
"""The bones of an arm, from the chest outward."""
PHALANGES = {
    "Thumb": ("Metacarpal", "Proximal", "Distal"),
    "Index": ("Proximal", "Intermediate", "Distal"),
    "Middle": ("Proximal", "Intermediate", "Distal"),
    "Ring": ("Proximal", "Intermediate", "Distal"),
    "Little": ("Proximal", "Intermediate", "Distal"),
}
"""The bones of each finger, from the hand outward."""
_TORSO = {
    "hips": None,
    "spine": "hips",
    "chest": "spine",
    "upperChest": "chest",
    "neck": "upperChest",
    "head": "neck",
}


def _chain(parent: str, side: str, bones: tuple[str, ...]) -> dict[str, str | None]:
    names = [side + bone for bone in bones]
    return dict(zip(names, [parent, *names], strict=False))


_PARENTS: dict[str, str | None] = {
    **_TORSO,
    **_chain("upperChest", "left", ARM),
    **_chain("upperChest", "right", ARM),
    **_chain("hips", "left", LEG),
    **_chain("hips", "right", LEG),
}
ROLES: tuple[str, ...] = tuple(_PARENTS)
"""The roles of joints in the body, parents first."""
_FINGER_PARENTS = {
    bone: parent
    for side in SIDES
    for finger, bones in PHALANGES.items()
    for bone, parent in _chain(
        f"{side}Hand", side, tuple(finger + phalanx for phalanx in bones)
    ).items()
}
FINGERS: tuple[str, ...] = tuple(_FINGER_PARENTS)
"""The roles of joints in the fingers, parents first."""
PARENTS: Mapping[str, str | None] = MappingProxyType({**_PARENTS, **_FINGER_PARENTS})
"""The role above each, of the body and then of the fingers; None above the hips."""


def parent_role(role: str, present: Collection[str]) -> str | None:
    """Return the nearest role above `role` that is among those `present`; None if there is none.

    Examples
    --------
    >>> parent_role("leftUpperArm", ["hips", "chest", "leftUpperArm"])
    'chest'
    """
    above = PARENTS[role]
    while above is not None and above not in present:
        above = PARENTS[above]
    return above
