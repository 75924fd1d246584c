"""Skeletons of rigs that everybody has, for limits that are ready before there is a clip."""

from __future__ import annotations

import numpy as np

from ..skeleton import Skeleton
from .canonical import place_of
from .human import PARENTS, ROLES, SIDES

MIXAMO = {
    "hips": "Hips",
    "spine": "Spine",
    "chest": "Spine1",
    "upperChest": "Spine2",
    "neck": "Neck",
    "head": "Head",
    "Shoulder": "Shoulder",
    "UpperArm": "Arm",
    "LowerArm": "ForeArm",
    "Hand": "Hand",
    "UpperLeg": "UpLeg",
    "LowerLeg": "Leg",
    "Foot": "Foot",
    "Toes": "ToeBase",
}
"""What Mixamo calls the roles; sides are called Left and Right."""
TORSO_HEIGHTS = {"spine": 1.02, "chest": 1.12, "upperChest": 1.25, "neck": 1.43}
"""In metres, of the roles that the canonical skeleton does without, or has elsewhere."""


def mixamo_skeleton() -> Skeleton:
    """Return a skeleton with Mixamo's names, in its T-pose, with the canonical proportions."""
    return _named({role: f"mixamorig:{_mixamo_name(role)}" for role in ROLES})


def vrm_skeleton() -> Skeleton:
    """Return a skeleton with VRM's names, in its T-pose, with the canonical proportions."""
    return _named({role: role for role in ROLES})


def _mixamo_name(role: str) -> str:
    for side in SIDES:
        if role.startswith(side):
            return side.capitalize() + MIXAMO[role.removeprefix(side)]
    return MIXAMO[role]


def _named(names: dict[str, str]) -> Skeleton:
    places = np.array(
        [
            [0.0, TORSO_HEIGHTS[role], 0.0] if role in TORSO_HEIGHTS else place_of(role)
            for role in ROLES
        ]
    )
    parents = [-1 if (above := PARENTS[role]) is None else ROLES.index(above) for role in ROLES]
    offsets = np.concatenate([places[:1], places[1:] - places[parents[1:]]])
    return Skeleton(tuple(names[role] for role in ROLES), np.array(parents), offsets, up="y")
