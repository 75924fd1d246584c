"""VRM Animation: the bones of a human as VRM names them, at rest in the T-pose that faces +z."""

from __future__ import annotations

import numpy as np

from ...arrays import Quats, Vectors
from ...quat import IDENTITY, inverse, mul, normalize, rotate
from ...rigs import Alignment, NotHumanError, align, parent_role, recognize
from ...rigs.canonical import BONE_DIRECTIONS
from ...rigs.human import FACE, FINGERS, ROLES, split_role
from ...skeleton import Clip, Pose, Skeleton, forward, with_up
from .read import Origin, humanoid

AS_IN_T_POSE = (
    1e-9  # 1 − cos of the largest angle: of bones that are in the T-pose but for rounding
)
EXTENSION = "VRMC_vrm_animation"
REQUIRED = (
    *("hips", "spine", "head"),
    *(
        f"{side}{bone}"
        for side in ("left", "right")
        for bone in ("UpperLeg", "LowerLeg", "Foot", "UpperArm", "LowerArm", "Hand")
    ),
)
"""The bones that every humanoid of VRM 1.0 has."""


def joints_left_out(clip: Clip) -> list[str]:
    """Return the joints of a human's clip whose rotations turn no bone of VRM."""
    skeleton = clip.skeleton
    roles = recognize(skeleton, humanoid=humanoid(clip) or None).roles.values()
    used = {joint for name in roles for joint in skeleton.path_to_root(skeleton.index(name))}
    return [name for joint, name in enumerate(skeleton.names) if joint not in used]


def comes_from_vrma(clip: Clip) -> bool:
    """Return whether a clip was read from a VRMA file."""
    if not isinstance(clip.origin, Origin):
        return False
    return EXTENSION in clip.origin.document.gltf.extensions


def to_vrm_bones(clip: Clip) -> Clip:
    """Return a human's motion on a skeleton of VRM's bones, whose rest pose is the T-pose.

    Joints are called by bone, and only the hips move. With B of `rigs.alignment`, a bone that has
    the rotation R in a world with y up has R · B here. A clip of a VRMA file, or one that this
    function has returned, is returned as it is.
    Raises ValueError where the rig is no human, or lacks a bone that VRM requires.
    """
    if comes_from_vrma(clip) or _has_vrm_bones(clip.skeleton):
        return clip
    try:
        rig = recognize(clip.skeleton, humanoid=humanoid(clip) or None)
    except NotHumanError as error:
        raise ValueError(f"a VRMA file holds the motion of a human: {error}") from None
    alignment = align(rig, [clip])
    bones = list(rig.roles)
    missing = [bone for bone in REQUIRED if bone not in bones]
    if missing:
        raise ValueError(f"a VRMA file needs all bones of VRM, got none for {', '.join(missing)}")
    names, upright = clip.skeleton.names, with_up(clip, "y")
    positions, rotations = forward(upright.skeleton, upright.pose)
    world = {
        bone: mul(rotations[:, names.index(rig.roles[bone])], alignment.frames[bone])
        for bone in bones
    }
    above = {bone: parent_role(bone, bones) for bone in bones}
    rest_positions = _t_pose_positions(alignment)
    skeleton = Skeleton(
        tuple(bones),
        np.array([-1 if parent is None else bones.index(parent) for parent in above.values()]),
        np.array(
            [
                rest_positions[b] - (0.0 if up is None else rest_positions[up])
                for b, up in above.items()
            ]
        ),
        up="y",
        unit=clip.skeleton.unit,
    )
    local = [
        world[bone] if parent is None else mul(inverse(world[parent]), world[bone])
        for bone, parent in above.items()
    ]
    moved = np.tile(skeleton.offsets, (clip.frames, 1, 1))
    moved[:, 0] = positions[:, names.index(rig.starts["hips"])]
    pose = Pose(normalize(np.stack(local, axis=1)), moved)
    return Clip(skeleton, pose, clip.frame_time, clip.name)


def _has_vrm_bones(skeleton: Skeleton) -> bool:
    """Return True if all joints are bones of VRM, and limbs point as in the T-pose at rest."""
    names = skeleton.names
    if (
        skeleton.up != "y"
        or not {*REQUIRED} <= {*names}
        or not {*names} <= {*ROLES, *FINGERS, *FACE}
    ):
        return False
    for name, parent, offset in zip(names, skeleton.parents, skeleton.offsets, strict=True):
        above = BONE_DIRECTIONS.get(names[parent])
        follows = split_role(name)[1] in ("LowerArm", "Hand", "LowerLeg", "Foot")
        length = float(np.linalg.norm(offset))
        if follows and above is not None and offset @ above < (1.0 - AS_IN_T_POSE) * length:
            return False
    return True


def _t_pose_positions(alignment: Alignment) -> dict[str, Vectors]:
    """Return where each bone begins (3,) in the T-pose; the lowest joint or end site is at y = 0.

    A joint that is no bone keeps its parent's rotation; all joints of a split bone have one.
    """
    rig, axes = alignment.rig, alignment.axes
    skeleton = rig.skeleton
    world_rotations: dict[int, Quats] = {}
    for bone, frame in alignment.frames.items():
        first, last = (skeleton.index(names[bone]) for names in (rig.starts, rig.roles))
        path = skeleton.path_to_root(last)
        for joint in path[: path.index(first) + 1]:
            world_rotations.setdefault(joint, mul(inverse(axes), inverse(frame)))
    world = np.tile(IDENTITY, (len(skeleton) + 1, 1))  # the last row is what roots hang on
    rotations = np.empty((len(skeleton), 4))
    for joint, parent in enumerate(skeleton.parents.tolist()):
        world[joint] = world_rotations.get(joint, world[parent])
        rotations[joint] = mul(inverse(world[parent]), world[joint])
    positions, turned = forward(skeleton, Pose(normalize(rotations), skeleton.offsets))
    ends = positions[skeleton.end_parents] + rotate(
        turned[skeleton.end_parents], skeleton.end_offsets
    )
    upright = rotate(axes, np.concatenate([positions, ends]))
    hips = upright[skeleton.index(rig.starts["hips"])]
    origin = np.array([hips[0], upright[:, 1].min(), hips[2]])
    return {bone: upright[skeleton.index(name)] - origin for bone, name in rig.starts.items()}
