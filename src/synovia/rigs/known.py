"""Skeletons of common rigs, for limits that are needed before there is a clip."""

from __future__ import annotations

import numpy as np

from ..skeleton import Skeleton
from .canonical import position_of
from .human import PARENTS, ROLES, split_role

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
"""Names of Mixamo by role without its side; a prefix Left or Right is added."""
TORSO_HEIGHTS = {"spine": 1.02, "chest": 1.12, "upperChest": 1.25, "neck": 1.43}
"""Heights in metres of roles that the canonical skeleton lacks or has elsewhere."""

MUJOCO_CMU: dict[str, tuple[str | None, tuple[float, float, float]]] = {
    "root": (None, (0.0000, 0.0000, 0.0000)),
    "lhipjoint": ("root", (0.0000, 0.0000, 0.0000)),
    "lfemur": ("lhipjoint", (0.1019, -0.0918, 0.0494)),
    "ltibia": ("lfemur", (0.1385, -0.3805, 0.0000)),
    "lfoot": ("ltibia", (0.1422, -0.3906, 0.0000)),
    "ltoes": ("lfoot", (0.0078, -0.0214, 0.1564)),
    "rhipjoint": ("root", (0.0000, 0.0000, 0.0000)),
    "rfemur": ("rhipjoint", (-0.1019, -0.0918, 0.0494)),
    "rtibia": ("rfemur", (-0.1385, -0.3805, 0.0000)),
    "rfoot": ("rtibia", (-0.1422, -0.3906, 0.0000)),
    "rtoes": ("rfoot", (-0.0078, -0.0214, 0.1564)),
    "lowerback": ("root", (0.0000, 0.0000, 0.0000)),
    "upperback": ("lowerback", (0.0006, 0.1132, -0.0081)),
    "thorax": ("upperback", (0.0005, 0.1136, 0.0009)),
    "lowerneck": ("thorax", (0.0000, 0.1139, 0.0047)),
    "upperneck": ("lowerneck", (-0.0033, 0.0905, 0.0107)),
    "head": ("upperneck", (0.0010, 0.1300, -0.0045)),
    "lclavicle": ("thorax", (0.0000, 0.1139, 0.0047)),
    "lhumerus": ("lclavicle", (0.1800, 0.0900, 0.0107)),
    "lradius": ("lhumerus", (0.2768, 0.0000, 0.0000)),
    "lwrist": ("lradius", (0.1815, 0.0000, 0.0000)),
    "lhand": ("lwrist", (0.0908, 0.0000, 0.0000)),
    "lfingers": ("lhand", (0.0750, 0.0000, 0.0000)),
    "lthumb": ("lhand", (0.0000, 0.0000, 0.0250)),
    "rclavicle": ("thorax", (0.0000, 0.1139, 0.0047)),
    "rhumerus": ("rclavicle", (-0.1800, 0.0900, 0.0107)),
    "rradius": ("rhumerus", (-0.2768, 0.0000, 0.0000)),
    "rwrist": ("rradius", (-0.1815, 0.0000, 0.0000)),
    "rhand": ("rwrist", (-0.0908, 0.0000, 0.0000)),
    "rfingers": ("rhand", (-0.0750, 0.0000, 0.0000)),
    "rthumb": ("rhand", (0.0000, 0.0000, 0.0250)),
}
"""Bodies of dm_control's CMU humanoid (2020): parent, and offset from it at rest in metres."""


def mixamo_skeleton() -> Skeleton:
    """Return a skeleton with Mixamo's names, in a T-pose, with canonical proportions."""
    names = {}
    for role in ROLES:
        side, bone = split_role(role)
        names[role] = f"mixamorig:{side.capitalize()}{MIXAMO[bone]}"
    return _canonical_skeleton_named(names)


def vrm_skeleton() -> Skeleton:
    """Return a skeleton with VRM's names, in a T-pose, with canonical proportions."""
    return _canonical_skeleton_named({role: role for role in ROLES})


def mujoco_cmu_skeleton() -> Skeleton:
    """Return the skeleton of dm_control's CMU humanoid, in metres, y up."""
    names = tuple(MUJOCO_CMU)
    parents = [-1 if above is None else names.index(above) for above, _ in MUJOCO_CMU.values()]
    offsets = np.array([offset for _, offset in MUJOCO_CMU.values()])
    return Skeleton(names, np.array(parents), offsets, up="y", unit=1.0)


def _canonical_skeleton_named(names: dict[str, str]) -> Skeleton:
    """Return a skeleton of all roles in the canonical human's T-pose; `names` are by role."""
    heights = {role: (0.0, height, 0.0) for role, height in TORSO_HEIGHTS.items()}
    positions = np.array([heights[r] if r in heights else position_of(r) for r in ROLES])
    parents = [-1 if (above := PARENTS[role]) is None else ROLES.index(above) for role in ROLES]
    offsets = np.concatenate([positions[:1], positions[1:] - positions[parents[1:]]])
    return Skeleton(tuple(names[role] for role in ROLES), np.array(parents), offsets, up="y")
