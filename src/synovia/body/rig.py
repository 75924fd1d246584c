"""The body of any rig in which a human was recognised: the default human's, fitted to its bones.

Every segment of the default human goes with a joint of the rig, and is stretched to the rig's
lengths while that stands in its T-pose: limbs along their bones, the trunk from the hips to the
shoulders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import Floats, Vectors
from ..rigs import Alignment
from ..skeleton import Pose, Skeleton, forward
from .bones import Bone, Mesh, human_bones, reference_human
from .skin import human_skin

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
NARROW, WIDE = 0.72, 1.4
"""How much another shape than the default human's may be, as shares of its size."""


@dataclass(frozen=True, eq=False)
class Fitting:
    """For each segment of the default human, a joint and a matrix (3, 4), from rest to T-pose."""

    joints: Mapping[int, int]
    placings: Mapping[int, Floats]
    bind: Pose


def rig_bones(alignment: Alignment) -> tuple[tuple[Bone, ...], Pose]:
    """Return the bones of a rig, placed where they are in its T-pose, and that pose."""
    fitting = fit_human(alignment)
    found = []
    for bone in human_bones(reference_human().skeleton):
        first, second = bone.joints
        if first not in fitting.joints:
            continue
        placing = _after(fitting.placings[first], bone.placing)
        other = fitting.joints.get(second, fitting.joints[first])
        found.append(Bone(bone.kind, bone.surface, placing, (fitting.joints[first], other)))
    return tuple(found), fitting.bind


def rig_skin(alignment: Alignment) -> Mesh:
    """Return the skin of a rig."""
    fitting, skin = fit_human(alignment), human_skin()
    skeleton = reference_human().skeleton
    start, before = forward(skeleton, skin.bind)
    rest, _ = forward(skeleton, skeleton.rest_pose())
    known = np.isin(skin.joints, list(fitting.joints))
    weights = np.where(known, skin.weights, 0.0)
    total = weights.sum(axis=1)
    kept = total > 1e-6
    weights = weights / np.maximum(total, 1e-12)[:, None]
    vertices, joints = np.zeros_like(skin.vertices), np.zeros_like(skin.joints)
    back = quat.inverse(before)
    for k in range(skin.joints.shape[1]):
        joint = skin.joints[:, k]
        there = quat.rotate(back[joint], skin.vertices - start[joint]) + rest[joint]
        for each in np.unique(joint[known[:, k]]).tolist():
            some = joint == each
            matrix = fitting.placings[each]
            joints[some, k] = fitting.joints[each]
            vertices[some] += weights[some, k, None] * (
                there[some] @ matrix[:, :3].T + matrix[:, 3]
            )
    triangles = skin.triangles[kept[skin.triangles].all(axis=1)]
    whole = len(triangles) == len(skin.triangles)
    walk = skin.connectivity if whole else None
    return Mesh(vertices, triangles, joints, weights, fitting.bind, walk)


def fit_human(alignment: Alignment) -> Fitting:
    """Return how the default human's segments are fitted to a rig."""
    rig, skeleton = alignment.rig, alignment.rig.skeleton
    bind = t_pose(alignment)
    places = quat.rotate(alignment.axes, forward(skeleton, bind)[0])  # in canonical axes
    at = {role: places[skeleton.index(joint)] for role, joint in rig.starts.items()}
    ours = reference_human().skeleton
    rest = forward(ours, ours.rest_pose())[0]
    spot = {name: rest[ours.index(name)] for name in ours.names}
    trunk = _trunk(at, spot)
    size = float(trunk[2, 2])
    joints: dict[int, int] = {}
    placings: dict[int, Floats] = {}
    home = quat.to_matrix(quat.inverse(alignment.axes))
    for segment, name in enumerate(ours.names):
        fitted = _fit_segment(name, at, spot, trunk, size)
        if fitted is None:
            continue
        role, matrix = fitted
        owner = _owner(alignment, role, name, matrix, spot[name], places)
        if owner is None:
            continue
        joints[segment] = owner
        placings[segment] = home @ matrix
    return Fitting(joints, placings, bind)


def t_pose(alignment: Alignment) -> Pose:
    """Return the T-pose of a rig: all its bones are where the canonical human has them."""
    rig, skeleton = alignment.rig, alignment.rig.skeleton
    rest = skeleton.rest_pose()
    stands = {
        skeleton.index(rig.roles[role]): quat.mul(quat.inverse(alignment.axes), quat.inverse(frame))
        for role, frame in alignment.frames.items()
    }
    # Of several joints that share a role, those above go with the one that is known: what has no
    # rest pose may have its bones along any axis.
    for role, name in rig.starts.items():
        joint, first = skeleton.index(rig.roles[role]), skeleton.index(name)
        while joint != first and joint in stands:
            parent = int(skeleton.parents[joint])
            stands.setdefault(parent, quat.mul(stands[joint], quat.inverse(rest.rotations[joint])))
            joint = parent
    world = np.tile(quat.IDENTITY, (len(skeleton), 1))
    local = rest.rotations.copy()
    for joint, parent in enumerate(skeleton.parents.tolist()):
        above = world[parent] if parent >= 0 else quat.IDENTITY
        world[joint] = stands.get(joint, quat.mul(above, rest.rotations[joint]))
        local[joint] = quat.normalize(quat.mul(quat.inverse(above), world[joint]))
    return Pose(local, rest.positions)


def _trunk(at: Mapping[str, Vectors], spot: Mapping[str, Vectors]) -> Floats:
    """Return the matrix (3, 4) of the trunk: hips to hips, shoulders to shoulders."""
    hips = _middle(at, "UpperLeg", "hips")
    tops = _middle(at, "UpperArm", "chest")
    rise = float(tops[1] - hips[1])
    ours_low, ours_high = spot["Pelvis"], _both(spot, "UpperArm")
    high = rise / float(ours_high[1] - ours_low[1])
    wide = high
    if "leftUpperArm" in at and "rightUpperArm" in at:
        across = float(np.abs(at["leftUpperArm"][0] - at["rightUpperArm"][0]))
        wide = across / (2.0 * float(spot["LeftUpperArm"][0]))
    wide = float(np.clip(wide, NARROW * high, WIDE * high))
    lean = (tops - hips)[2] - high * (ours_high - ours_low)[2]
    matrix = np.diag([wide, high, high])
    matrix[2, 1] = lean / float(ours_high[1] - ours_low[1])
    return np.column_stack([matrix, hips - matrix @ ours_low])


def _fit_segment(
    name: str,
    at: Mapping[str, Vectors],
    spot: Mapping[str, Vectors],
    trunk: Floats,
    size: float,
) -> tuple[str, Floats] | None:
    """Return the role that a segment goes with, and its matrix (3, 4); None if there is none."""
    side = "left" if name.startswith("Left") else "right" if name.startswith("Right") else ""
    bare = name.removeprefix("Left").removeprefix("Right") if side else name
    if side and bare in LIMBS:
        role, after, first = LIMBS[bare]
        if side + role not in at:
            if bare != "Toes" or side + "Foot" not in at:
                return None
            role, after, first = LIMBS["Foot"]
        begin = spot[side.capitalize() + first]
        length = size
        if after and side + after in at:
            ours = np.linalg.norm(spot[side.capitalize() + after] - begin)
            length = float(np.linalg.norm(at[side + after] - at[side + role]) / ours)
            length = length if 0.4 * size < length < 2.5 * size else size
        thick = 0.5 * size + 0.5 * float(np.clip(length, NARROW * size, WIDE * size))
        scale = np.diag([thick, length, thick])
        if role in ("Foot", "Toes", "Hand"):
            scale = np.diag([size, size, size])
        turn: Floats = np.eye(3)
        if role.endswith(("Arm", "Hand")):
            turn = quat.to_matrix(
                quat.exp(np.array([0.0, 0.0, 0.5 * np.pi if side == "left" else -0.5 * np.pi]))
            )
        matrix = turn @ scale
        return side + role, np.column_stack([matrix, at[side + role] - matrix @ begin])
    if name == "Pelvis":
        wide = trunk[0, 0]
        if "leftUpperLeg" in at and "rightUpperLeg" in at:
            across = float(np.abs(at["leftUpperLeg"][0] - at["rightUpperLeg"][0]))
            wide = np.clip(across / (2.0 * spot["LeftUpperLeg"][0]), NARROW * size, WIDE * size)
        stretched = trunk[:, :3].copy()
        stretched[0, 0] = wide
        return "hips", np.column_stack([stretched, trunk[:, 3]])
    if name == "Head" or (name.startswith("C") and name[1:].isdigit()):
        if "head" not in at:
            return None
        same = size * np.eye(3)
        low, high = spot["T1"], spot["Head"]
        share = float(np.clip((spot[name] - low)[1] / (high - low)[1], 0.0, 1.0))
        there = (1.0 - share) * (trunk[:, :3] @ low + trunk[:, 3]) + share * at["head"]
        return ("head" if name == "Head" else "neck"), np.column_stack(
            [same, there - same @ spot[name]]
        )
    if side:
        return side + "Shoulder", trunk
    return ("chest" if name[0] != "L" else "spine"), trunk


def _owner(
    alignment: Alignment,
    role: str,
    name: str,
    matrix: Floats,
    place: Vectors,
    places: Vectors,
) -> int | None:
    """Return the joint of a rig that a segment goes with."""
    rig, skeleton = alignment.rig, alignment.rig.skeleton
    here = matrix[:, :3] @ place + matrix[:, 3]
    if role in ("spine", "neck"):
        line = _between(
            rig.skeleton, rig.roles, *(("hips", "chest") if role == "spine" else ("chest", "head"))
        )
        below = [joint for joint in line if places[joint][1] <= here[1]]
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


def _middle(at: Mapping[str, Vectors], bone: str, other: str) -> Vectors:
    both = [at[f"{side}{bone}"] for side in ("left", "right") if f"{side}{bone}" in at]
    return np.asarray(np.mean(both, axis=0)) if len(both) == 2 else at[other]


def _both(spot: Mapping[str, Vectors], bone: str) -> Vectors:
    return np.asarray(0.5 * (spot[f"Left{bone}"] + spot[f"Right{bone}"]))


def _after(second: Floats, first: Floats) -> Floats:
    """Return one matrix (3, 4) after another."""
    return np.column_stack(
        [second[:, :3] @ first[:, :3], second[:, :3] @ first[:, 3] + second[:, 3]]
    )
