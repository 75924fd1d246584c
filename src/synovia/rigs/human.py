"""Roles of joints: 22 bones of the body, 30 of the fingers, 3 of the face, named as in VRM 1.0."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

SIDES = ("left", "right")
LEG = ("UpperLeg", "LowerLeg", "Foot", "Toes")
"""Bones of a leg, from the hips outwards."""
ARM = ("Shoulder", "UpperArm", "LowerArm", "Hand")
"""Bones of an arm, from the chest outwards."""
PHALANGES = {
    "Thumb": ("Metacarpal", "Proximal", "Distal"),
    **dict.fromkeys(("Index", "Middle", "Ring", "Little"), ("Proximal", "Intermediate", "Distal")),
}
"""Bones of each finger, from the hand outwards."""
_TORSO = {
    "hips": None,
    "spine": "hips",
    "chest": "spine",
    "upperChest": "chest",
    "neck": "upperChest",
    "head": "neck",
}


def _chain(parent: str, side: str, bones: tuple[str, ...]) -> dict[str, str | None]:
    """Return the parent of each bone of a chain that begins at `parent`."""
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
"""Roles of the body, parents first."""
_FINGER_PARENTS = {
    bone: parent
    for side in SIDES
    for finger, bones in PHALANGES.items()
    for bone, parent in _chain(
        f"{side}Hand", side, tuple(finger + phalanx for phalanx in bones)
    ).items()
}
FINGERS: tuple[str, ...] = tuple(_FINGER_PARENTS)
"""Roles of the fingers, parents first."""
FACE: tuple[str, ...] = ("jaw", "leftEye", "rightEye")
"""Roles of the face, below the head."""
PARENTS: Mapping[str, str | None] = MappingProxyType(
    {**_PARENTS, **_FINGER_PARENTS, **dict.fromkeys(FACE, "head")}
)
"""Parent of each role, body first, then fingers and face; None for the hips."""


def split_role(role: str) -> tuple[str, str]:
    """Return the side of a role ("left", "right" or empty) and the role without it.

    Examples
    --------
    >>> split_role("leftUpperArm"), split_role("chest")
    (('left', 'UpperArm'), ('', 'chest'))
    """
    side = next((side for side in SIDES if role.startswith(side)), "")
    return side, role.removeprefix(side)


def parent_role(role: str, present: Collection[str]) -> str | None:
    """Return the nearest ancestor of `role` among the roles `present`; None if there is none.

    Examples
    --------
    >>> parent_role("leftUpperArm", ["hips", "chest", "leftUpperArm"])
    'chest'
    """
    above = PARENTS[role]
    while above is not None and above not in present:
        above = PARENTS[above]
    return above
