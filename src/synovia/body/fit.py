"""Attach the default human's segments to a skeleton: to its own segments, or to a rig's joints.

Every segment moves with one joint of the rig, and is scaled to the rig's lengths in its T-pose:
limbs along their bones, the trunk from the hips to the shoulders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Vectors
from ..rigs import Alignment, t_pose
from ..skeleton import Skeleton, forward
from .asset import load_human

LIMBS = {
    "UpperArm": ("UpperArm", "LowerArm", "UpperArm"),
    "LowerArm": ("LowerArm", "Hand", "LowerArm"),
    "Forearm": ("LowerArm", "Hand", "LowerArm"),
    "Hand": ("Hand", "", "Hand"),
    "UpperLeg": ("UpperLeg", "LowerLeg", "UpperLeg"),
    "Patella": ("UpperLeg", "LowerLeg", "UpperLeg"),
    "LowerLeg": ("LowerLeg", "Foot", "LowerLeg"),
    "Fibula": ("LowerLeg", "Foot", "LowerLeg"),
    "Foot": ("Foot", "Toes", "Foot"),
    "Toes": ("Toes", "", "Toes"),
}
"""By segment without its side: its role, the next role, and the segment where both start."""
NARROW, WIDE = 0.72, 1.4  # bounds of a rig's width relative to its size, against odd proportions


@dataclass(frozen=True, eq=False)
class Fitting:
    """The joint of each segment (segments,), -1 for none, and the matrices of `Body.offsets`."""

    joints: Ints
    offsets: Floats


def fit_default_human(skeleton: Skeleton) -> Fitting | None:
    """Return how the default human, or a part of it, of any size carries its segments.

    Returns None for other skeletons. It is the default human if at least half of its joints have
    the names, parents and directions of the human's segments.
    """
    human = load_human()
    ours = human.skeleton
    sizes, cosines = [], []
    for joint, name in enumerate(skeleton.names):
        parent = int(skeleton.parents[joint])
        if name not in ours.names or parent < 0:
            continue
        segment = ours.index(name)
        above = int(ours.parents[segment])
        if above < 0 or ours.names[above] != skeleton.names[parent]:
            continue
        a, b = skeleton.offsets[joint], ours.offsets[segment]
        lengths = float(np.linalg.norm(a)), float(np.linalg.norm(b))
        sizes.append(lengths[0] / lengths[1])
        cosines.append(float(a @ b) / max(lengths[0] * lengths[1], 1e-30))
    if len(sizes) < 4 or len(sizes) < 0.5 * (len(skeleton) - 1) or min(cosines) < 0.8:
        return None
    joints = [skeleton.index(name) if name in skeleton.names else -1 for name in ours.names]
    return Fitting(np.array(joints), float(np.median(sizes)) * human.inverses)


def fit_rig(alignment: Alignment) -> Fitting:
    """Return how a rig carries the segments of the default human."""
    rig, skeleton = alignment.rig, alignment.rig.skeleton
    human = load_human()
    bind = t_pose(alignment)
    positions, rotations = forward(skeleton, bind)
    upright = quat.rotate(alignment.axes, positions)  # in canonical axes
    role_positions = {role: upright[skeleton.index(joint)] for role, joint in rig.starts.items()}
    ours = human.skeleton
    rest, rest_rotations = forward(ours, ours.rest_pose())
    segment_positions = {name: rest[ours.index(name)] for name in ours.names}
    trunk = _trunk(role_positions, segment_positions)
    size = float(trunk[2, 2])
    to_world = quat.to_matrix(quat.inverse(alignment.axes))
    joints, offsets = np.full(len(ours), -1), np.zeros((len(ours), 3, 4))
    for segment, name in enumerate(ours.names):
        fitted = _fit_segment(name, role_positions, segment_positions, trunk, size)
        if fitted is None:
            continue
        role, matrix = fitted
        joint = _joint_of(alignment, role, matrix, segment_positions[name], upright)
        if joint is None:
            continue
        joints[segment] = joint
        at_rest = _join(quat.to_matrix(rest_rotations[segment]), rest[segment])
        back = quat.to_matrix(quat.inverse(rotations[joint]))
        into_joint = _join(back, -back @ positions[joint])
        placed = _after(to_world @ matrix, _after(at_rest, human.inverses[segment]))
        offsets[segment] = _after(into_joint, placed)
    return Fitting(joints, offsets)


def _trunk(
    role_positions: Mapping[str, Vectors], segment_positions: Mapping[str, Vectors]
) -> Floats:
    """Return the matrix (3, 4) of the trunk: hips to hips, shoulders to shoulders."""
    hips = _middle(role_positions, "UpperLeg", "hips")
    tops = _middle(role_positions, "UpperArm", "chest")
    rise = float(tops[1] - hips[1])
    ours_low, ours_high = segment_positions["Pelvis"], _both(segment_positions, "UpperArm")
    high = rise / float(ours_high[1] - ours_low[1])
    wide = high
    if "leftUpperArm" in role_positions and "rightUpperArm" in role_positions:
        across = float(
            np.abs(role_positions["leftUpperArm"][0] - role_positions["rightUpperArm"][0])
        )
        wide = across / (2.0 * float(segment_positions["LeftUpperArm"][0]))
    wide = float(np.clip(wide, NARROW * high, WIDE * high))
    lean = (tops - hips)[2] - high * (ours_high - ours_low)[2]
    matrix = np.diag([wide, high, high])
    matrix[2, 1] = lean / float(ours_high[1] - ours_low[1])
    return np.column_stack([matrix, hips - matrix @ ours_low])


def _fit_segment(
    name: str,
    role_positions: Mapping[str, Vectors],
    segment_positions: Mapping[str, Vectors],
    trunk: Floats,
    size: float,
) -> tuple[str, Floats] | None:
    """Return the role that a segment goes with, and its matrix (3, 4); None if there is none."""
    side = "left" if name.startswith("Left") else "right" if name.startswith("Right") else ""
    bare = name.removeprefix("Left").removeprefix("Right") if side else name
    if side and bare in LIMBS:
        role, after, first = LIMBS[bare]
        if side + role not in role_positions:
            if bare != "Toes" or side + "Foot" not in role_positions:
                return None
            role, after, first = LIMBS["Foot"]
        begin = segment_positions[side.capitalize() + first]
        length = size
        if after and side + after in role_positions:
            ours = np.linalg.norm(segment_positions[side.capitalize() + after] - begin)
            length = float(
                np.linalg.norm(role_positions[side + after] - role_positions[side + role]) / ours
            )
            length = length if 0.4 * size < length < 2.5 * size else size
        thick = 0.5 * size + 0.5 * float(np.clip(length, NARROW * size, WIDE * size))
        scale = np.diag([thick, length, thick])
        if role in ("Foot", "Toes", "Hand"):
            scale = np.diag([size, size, size])
        rotation: Floats = np.eye(3)
        if role.endswith(("Arm", "Hand")):
            rotation = quat.to_matrix(
                quat.exp(np.array([0.0, 0.0, 0.5 * np.pi if side == "left" else -0.5 * np.pi]))
            )
        matrix = rotation @ scale
        return side + role, np.column_stack([matrix, role_positions[side + role] - matrix @ begin])
    if name == "Pelvis":
        wide = trunk[0, 0]
        if "leftUpperLeg" in role_positions and "rightUpperLeg" in role_positions:
            across = float(
                np.abs(role_positions["leftUpperLeg"][0] - role_positions["rightUpperLeg"][0])
            )
            wide = np.clip(
                across / (2.0 * segment_positions["LeftUpperLeg"][0]), NARROW * size, WIDE * size
            )
        stretched = trunk[:, :3].copy()
        stretched[0, 0] = wide
        return "hips", np.column_stack([stretched, trunk[:, 3]])
    if name == "Head" or (name.startswith("C") and name[1:].isdigit()):
        if "head" not in role_positions:
            return None
        same = size * np.eye(3)
        low, high = segment_positions["T1"], segment_positions["Head"]
        share = float(np.clip((segment_positions[name] - low)[1] / (high - low)[1], 0.0, 1.0))
        there = (1.0 - share) * (trunk[:, :3] @ low + trunk[:, 3]) + share * role_positions["head"]
        return ("head" if name == "Head" else "neck"), np.column_stack(
            [same, there - same @ segment_positions[name]]
        )
    if side:
        return side + "Shoulder", trunk
    return ("chest" if name[0] != "L" else "spine"), trunk


def _joint_of(
    alignment: Alignment, role: str, matrix: Floats, origin: Vectors, upright: Vectors
) -> int | None:
    """Return the joint of a rig that carries a segment whose rest position is `origin`.

    `upright` are the positions (joints, 3) of the rig's joints in its T-pose, in canonical axes.
    """
    rig, skeleton = alignment.rig, alignment.rig.skeleton
    position = matrix[:, :3] @ origin + matrix[:, 3]
    if role in ("spine", "neck"):
        line = _between(
            rig.skeleton, rig.roles, *(("hips", "chest") if role == "spine" else ("chest", "head"))
        )
        below = [joint for joint in line if upright[joint][1] <= position[1]]
        if role == "neck" and below and len(line) > 2 and below[-1] == line[0]:
            below = line[1:2]
        return below[-1] if below else (line[0] if line else None)
    if role.endswith("Shoulder") and role not in rig.roles:
        role = "chest"
    if role not in rig.roles:
        role = "chest" if role in ("head", "chest") and "chest" in rig.roles else "hips"
    return skeleton.index(rig.roles[role]) if role in rig.roles else None


def _between(skeleton: Skeleton, roles: Mapping[str, str], low: str, high: str) -> list[int]:
    """Return the joints from one role up to another, both included."""
    if low not in roles or high not in roles:
        return [skeleton.index(roles[each]) for each in (low, high) if each in roles]
    path = skeleton.path_to_root(skeleton.index(roles[high]))
    bottom = skeleton.index(roles[low])
    line = list(path[: list(path).index(bottom) + 1]) if bottom in path else list(path[:1])
    return [int(each) for each in reversed(line)]


def _middle(role_positions: Mapping[str, Vectors], bone: str, other: str) -> Vectors:
    both = [
        role_positions[f"{side}{bone}"]
        for side in ("left", "right")
        if f"{side}{bone}" in role_positions
    ]
    return np.asarray(np.mean(both, axis=0)) if len(both) == 2 else role_positions[other]


def _both(segment_positions: Mapping[str, Vectors], bone: str) -> Vectors:
    return np.asarray(0.5 * (segment_positions[f"Left{bone}"] + segment_positions[f"Right{bone}"]))


def _join(linear: Floats, translation: Floats) -> Floats:
    return np.column_stack([linear, translation])


def _after(second: Floats, first: Floats) -> Floats:
    """Return the composition (3, 4) of two affine maps, `first` applied first."""
    return _join(second[:, :3] @ first[:, :3], second[:, :3] @ first[:, 3] + second[:, 3])
