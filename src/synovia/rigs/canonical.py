"""The canonical human as a skeleton, and conversion of limits between it and rigs.

Its joints are those whose range of motion is measured, each relative to the bone against which it
moves: the chest to the hips whatever the number of vertebrae, the head and upper arms to the chest.
All frames are parallel in a T-pose that faces +Z, with +X to the left and +Y up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from .. import quat
from ..arrays import Vectors
from ..skeleton import Pose, Skeleton
from .human import FACE, FINGERS, PARENTS, PHALANGES, ROLES, SIDES, split_role

if TYPE_CHECKING:
    from ..limit import DependentLimit, Limit
    from .alignment import Alignment

_LIMBS_MEASURED_FROM = {
    "Shoulder": "chest",
    "UpperArm": "chest",
    "LowerArm": "UpperArm",
    "Hand": "LowerArm",
    "UpperLeg": "hips",
    "LowerLeg": "UpperLeg",
    "Foot": "LowerLeg",
    "Toes": "Foot",
}
MEASURED_FROM: Mapping[str, str] = MappingProxyType(
    {"chest": "hips", "head": "chest"}
    | {
        side + bone: above if above.islower() else side + above
        for side in SIDES
        for bone, above in _LIMBS_MEASURED_FROM.items()
    }
    | {role: str(PARENTS[role]) for role in (*FINGERS, *FACE)}
)
"""Roles with a range of motion, each with the role relative to which it is measured."""
LEFT, UP, FORWARD = np.eye(3)  # axes of the canonical world
_DOWN = np.array([0.0, -1.0, 0.0])
BONE_DIRECTIONS: Mapping[str, Vectors] = MappingProxyType(
    {
        side + bone: _DOWN if bone.endswith("Leg") else sign * LEFT
        for side, sign in zip(SIDES, (1.0, -1.0), strict=True)
        for bone in ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg")
    }
)
"""Unit directions of the bones of limbs in the T-pose."""
FINGER_DIRECTIONS: Mapping[str, Vectors] = MappingProxyType(
    {
        side + finger + phalanx: (sign * LEFT + FORWARD) / np.sqrt(2.0)
        if finger == "Thumb"
        else sign * LEFT
        for side, sign in zip(SIDES, (1.0, -1.0), strict=True)
        for finger, bones in PHALANGES.items()
        for phalanx in bones
    }
)
"""Unit directions of the bones of fingers in the T-pose: straight, palms down, thumbs apart."""
_Table = Mapping[str, tuple[float, float, float]]
_POSITIONS: _Table = {
    "hips": (0.0, 0.92, 0.0),
    "chest": (0.0, 1.25, 0.0),
    "head": (0.0, 1.50, 0.02),
    "Shoulder": (0.02, 1.38, 0.02),
    "UpperArm": (0.18, 1.38, 0.0),
    "LowerArm": (0.47, 1.38, 0.0),
    "Hand": (0.72, 1.38, 0.0),
    "UpperLeg": (0.09, 0.90, 0.0),
    "LowerLeg": (0.09, 0.48, 0.0),
    "Foot": (0.09, 0.08, 0.0),
    "Toes": (0.09, 0.02, 0.14),
    "jaw": (0.0, 1.49, 0.04),
    "Eye": (0.032, 1.55, 0.10),
    "ThumbMetacarpal": (0.745, 1.38, 0.025),
    "ThumbProximal": (0.777, 1.38, 0.057),
    "ThumbDistal": (0.799, 1.38, 0.079),
    "IndexProximal": (0.81, 1.38, 0.024),
    "IndexIntermediate": (0.85, 1.38, 0.024),
    "IndexDistal": (0.874, 1.38, 0.024),
    "MiddleProximal": (0.81, 1.38, 0.008),
    "MiddleIntermediate": (0.855, 1.38, 0.008),
    "MiddleDistal": (0.882, 1.38, 0.008),
    "RingProximal": (0.805, 1.38, -0.009),
    "RingIntermediate": (0.846, 1.38, -0.009),
    "RingDistal": (0.871, 1.38, -0.009),
    "LittleProximal": (0.797, 1.38, -0.023),
    "LittleIntermediate": (0.83, 1.38, -0.023),
    "LittleDistal": (0.849, 1.38, -0.023),
}
"""Starts of the bones in metres, left side, of a person of 1.7 m like the default human."""
_END_OFFSETS: _Table = {
    "head": (0.0, 0.2, 0.0),
    "Toes": (0.0, 0.0, 0.06),
    "jaw": (0.0, -0.06, 0.07),
    "Eye": (0.0, 0.0, 0.012),
    "ThumbDistal": (0.02, 0.0, 0.02),
    "IndexDistal": (0.02, 0.0, 0.0),
    "MiddleDistal": (0.02, 0.0, 0.0),
    "RingDistal": (0.02, 0.0, 0.0),
    "LittleDistal": (0.018, 0.0, 0.0),
}
"""Vectors in metres from the start to the end of the last bones, left side."""


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


@cache
def canonical_skeleton() -> Skeleton:
    """Return the skeleton of the canonical human, in metres, in its T-pose."""
    names = ("hips", *MEASURED_FROM)
    parents = [names.index(MEASURED_FROM[name]) if name in MEASURED_FROM else -1 for name in names]
    positions = np.array([position_of(name) for name in names])
    ends = [name for name in names if split_role(name)[1] in _END_OFFSETS]
    return Skeleton(
        names,
        np.array(parents),
        np.concatenate([positions[:1], positions[1:] - positions[parents[1:]]]),
        end_parents=np.array([names.index(name) for name in ends]),
        end_offsets=np.array([_mirrored(name, _END_OFFSETS) for name in ends]),
        up="y",
        unit=1.0,
    )


def mixamo_skeleton() -> Skeleton:
    """Return a skeleton with Mixamo's names, in a T-pose, with canonical proportions."""
    names = []
    for side, bone in map(split_role, ROLES):
        names.append(f"mixamorig:{side.capitalize()}{MIXAMO[bone]}")
    return replace(vrm_skeleton(), names=tuple(names))


def vrm_skeleton() -> Skeleton:
    """Return a skeleton with VRM's names, in a T-pose, with canonical proportions."""
    heights = {role: (0.0, height, 0.0) for role, height in TORSO_HEIGHTS.items()}
    positions = np.array([heights[r] if r in heights else position_of(r) for r in ROLES])
    parents = [-1 if (above := PARENTS[role]) is None else ROLES.index(above) for role in ROLES]
    offsets = np.concatenate([positions[:1], positions[1:] - positions[parents[1:]]])
    return Skeleton(ROLES, np.array(parents), offsets, up="y")


def mujoco_cmu_skeleton() -> Skeleton:
    """Return the skeleton of dm_control's CMU humanoid, in metres, y up."""
    names = tuple(MUJOCO_CMU)
    parents = [-1 if above is None else names.index(above) for above, _ in MUJOCO_CMU.values()]
    offsets = np.array([offset for _, offset in MUJOCO_CMU.values()])
    return Skeleton(names, np.array(parents), offsets, up="y", unit=1.0)


def position_of(role: str) -> Vectors:
    """Return where a bone of the canonical human begins (3,), in metres."""
    return _mirrored(role, _POSITIONS)


def _mirrored(role: str, table: _Table) -> Vectors:
    """Return the vector (3,) of a role from a table of left sides."""
    side, bone = split_role(role)
    return np.asarray(table[bone]) * ([-1.0, 1.0, 1.0] if side == "right" else np.ones(3))


def limits_on_rig(limits: Mapping[str, Limit], alignment: Alignment) -> dict[str, Limit]:
    """Return limits of the canonical human, converted to a rig, by joint name.

    Roles that the rig lacks, or whose frames have too little confidence, are left out.
    """
    roles, frames = alignment.rig.roles, alignment.frames
    return {
        roles[role]: replace(
            limits[role].in_frames(alignment.anchors[role][1], frames[role]),
            relative_to=_ancestor(alignment, role),
        )
        for role in alignment.trusted
        if role in limits
    }


def limits_from_rig(limits: Mapping[str, Limit], alignment: Alignment) -> dict[str, Limit]:
    """Return limits of a rig, converted to the canonical human, by role.

    Only limits that are measured from the bone of `MEASURED_FROM` are converted.
    """
    roles, frames = alignment.rig.roles, alignment.frames
    converted = {}
    for role in alignment.trusted:
        limit = limits.get(roles[role])
        if limit is not None and limit.relative_to == _ancestor(alignment, role):
            ends = alignment.anchors[role][1], frames[role]
            canonical = limit.in_frames(*(quat.inverse(frame) for frame in ends))
            converted[role] = replace(canonical, relative_to=None)
    return converted


def dependents_on_rig(
    dependents: Mapping[str, DependentLimit], limits: Mapping[str, Limit], alignment: Alignment
) -> dict[str, DependentLimit]:
    """Return dependent limits of the canonical human, converted to a rig, by joint name.

    `limits` is the result of `limits_on_rig`. Those whose driver the rig lacks are left out.
    """
    roles, frames, trusted = alignment.rig.roles, alignment.frames, alignment.trusted
    converted = {}
    for role, dependent in dependents.items():
        driver = dependent.driver
        if driver not in trusted or role not in trusted or roles[role] not in limits:
            continue
        if roles[driver] in limits or _ancestor(alignment, driver) is None:
            moved = dependent.in_frames(alignment.anchors[driver][1], frames[driver])
            converted[roles[role]] = replace(moved, limit=limits[roles[role]], driver=roles[driver])
    return converted


def dependents_from_rig(
    dependents: Mapping[str, DependentLimit], limits: Mapping[str, Limit], alignment: Alignment
) -> dict[str, DependentLimit]:
    """Return dependent limits of a rig, converted to the canonical human, by role.

    `limits` is the result of `limits_from_rig`. Drivers must be measured as in `MEASURED_FROM`.
    """
    frames, trusted = alignment.frames, alignment.trusted
    role_of = {joint: role for role, joint in alignment.rig.roles.items()}
    converted = {}
    for joint, dependent in dependents.items():
        role, driver = role_of.get(joint), role_of.get(dependent.driver)
        if role is None or driver is None or role not in limits or driver not in trusted:
            continue
        if driver in limits or _ancestor(alignment, driver) is None:
            ends = alignment.anchors[driver][1], frames[driver]
            moved = dependent.in_frames(*(quat.inverse(frame) for frame in ends))
            converted[role] = replace(moved, limit=limits[role], driver=driver)
    return converted


def _ancestor(alignment: Alignment, role: str) -> str | None:
    """Return the joint from which a role is measured on a rig; None if it is the parent."""
    skeleton, roles = alignment.rig.skeleton, alignment.rig.roles
    anchor, _ = alignment.anchors[role]
    parent = skeleton.parents[skeleton.index(roles[role])]
    return None if parent == skeleton.index(anchor) else anchor


def t_pose(alignment: Alignment) -> Pose:
    """Return the T-pose of a rig, in which all its bones point as the canonical human's do."""
    rig, skeleton = alignment.rig, alignment.rig.skeleton
    rest = skeleton.rest_pose()
    posed = {
        skeleton.index(rig.roles[role]): quat.mul(quat.inverse(alignment.axes), quat.inverse(frame))
        for role, frame in alignment.frames.items()
    }
    # Only the last of several joints that share a role has a frame. Those above it keep their rest
    # rotation relative to it, because a rig without a rest pose may have bones along any axis.
    for role, name in rig.starts.items():
        joint, first = skeleton.index(rig.roles[role]), skeleton.index(name)
        while joint != first and joint in posed:
            parent = int(skeleton.parents[joint])
            posed.setdefault(parent, quat.mul(posed[joint], quat.inverse(rest.rotations[joint])))
            joint = parent
    world = np.tile(quat.IDENTITY, (len(skeleton), 1))
    local = rest.rotations.copy()
    for joint, parent in enumerate(skeleton.parents.tolist()):
        above = world[parent] if parent >= 0 else quat.IDENTITY
        world[joint] = posed.get(joint, quat.mul(above, rest.rotations[joint]))
        local[joint] = quat.normalize(quat.mul(quat.inverse(above), world[joint]))
    return Pose(local, rest.positions)
