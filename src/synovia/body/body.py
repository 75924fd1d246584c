"""Body: bones and skin of the default human, attached to a skeleton.

Every segment moves with one joint of a rig, and is scaled to the rig's lengths in its T-pose:
limbs along their bones, the trunk from the hips to the shoulders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Mask, Vectors
from ..rigs import Alignment, Rig, align, recognize, t_pose
from ..rigs.human import SIDES
from ..skeleton import Clip, Pose, Skeleton, forward
from .asset import Mesh, load_human

WHOLE = ("Pelvis", "Head", "LeftHand", "RightHand", "LeftToes", "RightToes")
"""Segments without which the default human has no skin."""
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
SMALL_BONES = ("Patella", "Fibula")  # of rigs without joints for them, the bone above carries them
NARROW, WIDE = 0.72, 1.4  # bounds of a rig's width relative to its size, against odd proportions
Fitting = tuple[Ints, Floats]
"""The fields `joints` and `offsets` of a `Body`."""
Positions = Mapping[str, Vectors]
"""Positions (3,) by role of a rig in its T-pose, in canonical axes, or by segment at rest."""


@dataclass(frozen=True, eq=False)
class Body:
    """Bones and skin of the default human, attached to the joints of a skeleton.

    `joints` (segments,) is the joint that moves each segment, -1 for segments that the skeleton
    lacks. `offsets` (segments, 3, 4) map the meshes' coordinates to the frame of that joint.
    """

    skeleton: Skeleton
    joints: Ints
    offsets: Floats
    bones: Mesh
    skin: Mesh | None

    def owners(self, mesh: Mesh) -> Ints:
        """Return the joint (n,) with the largest weight at each vertex of a mesh."""
        return np.asarray(self.joints[mesh.owners])

    def vertices(self, mesh: Mesh, pose: Pose) -> Vectors:
        """Return the world positions (n, 3) of a mesh's vertices in one pose (linear blending)."""
        positions, rotations = forward(self.skeleton, pose)
        matrices = quat.to_matrix(rotations)[self.joints] @ self.offsets
        matrices[:, :, 3] += positions[self.joints]
        blended = np.einsum("nk,nkij->nij", mesh.weights, matrices[mesh.segments])
        moved = np.einsum("nij,nj->ni", blended[:, :, :3], mesh.vertices)
        return np.asarray(moved + blended[:, :, 3])


def body_of(skeleton: Skeleton, clip: Clip | None = None, *, skin: bool = True) -> Body | None:
    """Return the body of the default human, or of a rig in which a human is recognised.

    A clip of the skeleton helps to find the directions of its bones. Returns None where no human is
    recognised, and for rigs whose feet are not below their legs.
    """
    fitting = fit_default_human(skeleton)
    if fitting is not None:
        skin = skin and all(name in skeleton.names for name in WHOLE)
    else:
        try:
            rig = recognize(skeleton)
            legs = [side for side in SIDES if f"{side}LowerLeg" in rig.roles]
            if any(f"{side}Foot" not in rig.roles for side in legs):
                return None
            fitting = fit_rig(align(rig, [] if clip is None else [clip]))
        except ValueError:  # not a human, or its upright pose is unknown
            return None
    human = load_human()
    joints, offsets = fitting
    known = joints >= 0
    return Body(
        skeleton,
        joints,
        offsets,
        _keep_segments(human.bones, known),
        _keep_segments(human.skin, known) if skin else None,
    )


def _keep_segments(mesh: Mesh, known: Mask) -> Mesh:
    """Return the part of a mesh whose first segments are in the mask `known` (segments,).

    The first segment of skin has the largest weight. The first segment of a rib's cartilage is the
    rib, even where it moves with the sternum.
    """
    if known.all():
        return mesh
    is_kept = known[mesh.segments[:, 0]]
    weights = np.where(known[mesh.segments], mesh.weights, 0.0)
    weights[weights.sum(axis=1) < 1e-6, 0] = 1.0
    return replace(
        mesh,
        triangles=mesh.triangles[is_kept[mesh.triangles].all(axis=1)],
        weights=weights / weights.sum(axis=1, keepdims=True),
    )


def fit_default_human(skeleton: Skeleton) -> Fitting | None:
    """Return the fitting of a default human of any size, or of a part of it.

    Returns None for other skeletons. A skeleton is the default human if at least half of its joints
    have the names and parents of the human's segments, and all of these have similar directions.
    Where it has no joint for a patella or a fibula, the bone above carries it.
    """
    human = load_human()
    asset_skeleton = human.skeleton
    sizes, cosines = [], []
    for joint, name in enumerate(skeleton.names):
        parent = int(skeleton.parents[joint])
        if name not in asset_skeleton.names or parent < 0:
            continue
        segment = asset_skeleton.index(name)
        above = int(asset_skeleton.parents[segment])
        if above < 0 or asset_skeleton.names[above] != skeleton.names[parent]:
            continue
        offset, asset_offset = skeleton.offsets[joint], asset_skeleton.offsets[segment]
        lengths = float(np.linalg.norm(offset)), float(np.linalg.norm(asset_offset))
        sizes.append(lengths[0] / lengths[1])
        cosines.append(float(offset @ asset_offset) / max(lengths[0] * lengths[1], 1e-30))
    if len(sizes) < 4 or len(sizes) < 0.5 * (len(skeleton) - 1) or min(cosines) < 0.8:
        return None
    carriers = np.array(
        [
            asset_skeleton.parents[segment]
            if name.endswith(SMALL_BONES) and name not in skeleton.names
            else segment
            for segment, name in enumerate(asset_skeleton.names)
        ]
    )
    names = [asset_skeleton.names[carrier] for carrier in carriers]
    joints = [skeleton.index(name) if name in skeleton.names else -1 for name in names]
    return np.array(joints), float(np.median(sizes)) * human.inverses[carriers]


def fit_rig(alignment: Alignment) -> Fitting:
    """Return the fitting of an aligned rig.

    Raises ValueError for a rig without a trunk, such as a hand.
    """
    rig, skeleton = alignment.rig, alignment.rig.skeleton
    human = load_human()
    positions, rotations = forward(skeleton, t_pose(alignment))
    upright = quat.rotate(alignment.axes, positions)
    roles = {role: upright[skeleton.index(joint)] for role, joint in rig.starts.items()}
    asset_skeleton = human.skeleton
    rest, rest_rotations = forward(asset_skeleton, asset_skeleton.rest_pose())
    segments = dict(zip(asset_skeleton.names, rest, strict=True))
    trunk = _trunk(roles, segments)
    to_world = _affine(quat.to_matrix(quat.inverse(alignment.axes)), np.zeros(3))
    joints, offsets = np.full(len(asset_skeleton), -1), np.zeros((len(asset_skeleton), 3, 4))
    for segment, name in enumerate(asset_skeleton.names):
        role, matrix = _fit_segment(name, roles, segments, trunk)
        if matrix is None:
            continue
        joint = _joint_of(rig, role, _apply(matrix, rest[segment]), upright)
        if joint is None:
            continue
        joints[segment] = joint
        at_rest = _affine(quat.to_matrix(rest_rotations[segment]), rest[segment])
        from_asset = _affine(human.inverses[segment][:, :3], human.inverses[segment][:, 3])
        to_joint = quat.to_matrix(quat.inverse(rotations[joint]))
        into_joint = _affine(to_joint, -to_joint @ positions[joint])
        offsets[segment] = (into_joint @ to_world @ matrix @ at_rest @ from_asset)[:3]
    return joints, offsets


def _trunk(roles: Positions, segments: Positions) -> Floats:
    """Return the matrix (4, 4) of the trunk: hips to hips, shoulders to shoulders.

    Its diagonal has the ratios of width, height and depth of the rig and the default human.
    """
    hips, shoulders = _middle(roles, "UpperLeg", "hips"), _middle(roles, "UpperArm", "chest")
    low = segments["Pelvis"]
    rise = 0.5 * (segments["LeftUpperArm"] + segments["RightUpperArm"]) - low
    size = float((shoulders - hips)[1] / rise[1])
    matrix = np.diag([_width(roles, segments, "UpperArm", size, size), size, size])
    matrix[2, 1] = ((shoulders - hips)[2] - size * rise[2]) / rise[1]
    return _affine(matrix, hips - matrix @ low)


def _width(
    roles: Positions, segments: Positions, bone: str, size: float, otherwise: float
) -> float:
    """Return how much farther apart left and right bone are than in the default human.

    The ratio is at least `NARROW` and at most `WIDE` times `size`; `otherwise` without both bones.
    """
    if not {f"left{bone}", f"right{bone}"} <= roles.keys():
        return otherwise
    distance = abs(roles[f"left{bone}"][0] - roles[f"right{bone}"][0])
    return float(np.clip(distance / (2.0 * segments[f"Left{bone}"][0]), NARROW * size, WIDE * size))


def _fit_segment(
    name: str, roles: Positions, segments: Positions, trunk: Floats
) -> tuple[str, Floats | None]:
    """Return the role whose joint carries a segment, and its matrix (4, 4) or None."""
    size = float(trunk[2, 2])
    side = next((side for side in ("Left", "Right") if name.startswith(side)), "")
    bone = name.removeprefix(side)
    if side and bone in LIMBS:
        return _fit_limb(side, bone, roles, segments, size)
    if side:
        return f"{side.lower()}Shoulder", trunk
    if name == "Pelvis":
        matrix = trunk.copy()
        matrix[0, 0] = _width(roles, segments, "UpperLeg", size, trunk[0, 0])
        return "hips", matrix
    if name == "Head" or (name.startswith("C") and name[1:].isdigit()):
        if "head" not in roles:
            return "head", None
        low, high, origin = segments["T1"], segments["Head"], segments[name]
        share = float(np.clip((origin - low)[1] / (high - low)[1], 0.0, 1.0))
        target = (1.0 - share) * _apply(trunk, low) + share * roles["head"]
        matrix = _affine(size * np.eye(3), target - size * origin)
        return ("head" if name == "Head" else "neck"), matrix
    return ("spine" if name.startswith("L") else "chest"), trunk


def _fit_limb(
    side: str, bone: str, roles: Positions, segments: Positions, size: float
) -> tuple[str, Floats | None]:
    """Return the role and the matrix (4, 4) of a limb's segment; see `_fit_segment`.

    The segment is scaled to the length of the rig's bone, but for hands and feet.
    """
    lower = side.lower()
    if bone == "Toes" and f"{lower}Toes" not in roles:
        bone = "Foot"
    role, after, first = LIMBS[bone]
    if lower + role not in roles:
        return role, None
    start, length = segments[side + first], size
    if after and lower + after in roles:
        bone_length = np.linalg.norm(roles[lower + after] - roles[lower + role])
        ratio = float(bone_length / np.linalg.norm(segments[side + after] - start))
        length = ratio if 0.4 * size < ratio < 2.5 * size else size
    thickness = 0.5 * size + 0.5 * float(np.clip(length, NARROW * size, WIDE * size))
    if role in ("Foot", "Toes", "Hand"):
        thickness = length = size
    matrix = np.diag([thickness, length, thickness])
    if role.endswith(("Arm", "Hand")):  # from hanging arms to the T-pose
        quarter = 0.5 * np.pi if side == "Left" else -0.5 * np.pi
        matrix = quat.to_matrix(quat.exp(np.array([0.0, 0.0, quarter]))) @ matrix
    return lower + role, _affine(matrix, roles[lower + role] - matrix @ start)


def _joint_of(rig: Rig, role: str, position: Vectors, upright: Vectors) -> int | None:
    """Return the joint of a rig that carries a segment of a role, at a position in canonical axes.

    `upright` are the positions (joints, 3) of the rig's joints in its T-pose, in canonical axes.
    """
    skeleton = rig.skeleton
    if role in ("spine", "neck"):
        ends = ("hips", "chest") if role == "spine" else ("chest", "head")
        names = (rig.torso if role == "spine" else rig.neck) or tuple(
            rig.roles[end] for end in ends if end in rig.roles
        )
        line = [skeleton.index(name) for name in names]
        below = [joint for joint in line if upright[joint][1] <= position[1]]
        if role == "neck" and below and len(line) > 2 and below[-1] == line[0]:
            below = line[1:2]
        return below[-1] if below else (line[0] if line else None)
    if role.endswith("Shoulder") and role not in rig.roles:
        role = "chest"
    if role not in rig.roles:
        role = "chest" if role in ("head", "chest") and "chest" in rig.roles else "hips"
    return skeleton.index(rig.roles[role]) if role in rig.roles else None


def _middle(roles: Positions, bone: str, otherwise: str) -> Vectors:
    """Return the midpoint (3,) between left and right bone, or else the start of another role."""
    if {f"left{bone}", f"right{bone}"} <= roles.keys():
        return np.asarray(0.5 * (roles[f"left{bone}"] + roles[f"right{bone}"]))
    if otherwise not in roles:
        raise ValueError(f"a body needs a joint of the {otherwise}")
    return roles[otherwise]


def _affine(linear: Floats, translation: Vectors) -> Floats:
    """Return the matrix (4, 4) of an affine map."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = linear, translation
    return matrix


def _apply(matrix: Floats, point: Vectors) -> Vectors:
    """Return the image (3,) of a point under an affine map (4, 4)."""
    return np.asarray(matrix[:3, :3] @ point + matrix[:3, 3])
