"""What the page knows of a human: bones by name, alignment, clinical joints, and the body."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from .. import quat
from ..arrays import Bytes, Floats, Vectors
from ..body import body_of
from ..body.asset import Mesh, load_human
from ..io.gltf import mesh_of
from ..limit import Limit
from ..limit.hinge import hinge_path
from ..model import LimitModel
from ..population import recognize_clip
from ..population.bands import ClinicalJoint, Link, links
from ..population.findings import JOINT_NAMES, joint_name
from ..rigs import Alignment, Rig, align, recognize
from ..rigs.human import split_role
from ..skeleton import Clip, Pose, Skeleton
from .messages import Differences, Empty, SmoothFloats, SmoothInts
from .scene import Scene
from .session import Session

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
"""The limb of a role without its side; joints below a hand form a group of their own."""


@lru_cache(maxsize=4)
def _rig_of(skeleton: Skeleton) -> Rig | None:
    """Return the rig of a human; None where none is recognised."""
    try:
        return recognize(skeleton)
    except ValueError:
        return None


def group_joints(skeleton: Skeleton) -> list[str]:
    """Return by joint the group it is in, "" for none; all "" where no human is recognised."""
    rig = _rig_of(skeleton)
    if rig is None:
        return [""] * len(skeleton)
    roles = {skeleton.index(joint): role for role, joint in rig.starts.items()}
    top = next(role for role in ("head", "neck", "chest", "spine", "hips") if role in rig.roles)
    column = set(skeleton.path_to_root(skeleton.index(rig.roles[top])))
    groups: list[str] = []
    for joint, parent in enumerate(skeleton.parents.tolist()):
        above = groups[parent] if parent >= 0 else ""
        side, bone = split_role(roles.get(joint, ""))
        if side and bone in LIMBS:
            groups.append(f"{side.capitalize()} {LIMBS[bone]}")
        elif parent >= 0 and roles.get(parent, "").endswith("Hand"):
            groups.append(f"{above.split()[0]} hand")
        elif joint in column:
            groups.append("Spine" if parent >= 0 else "")
        else:
            groups.append("Cage" if above in ("Spine", "Cage") else above)
    return groups


def common_names(skeleton: Skeleton) -> list[str]:
    """Return the common name of each joint, such as "left knee"; "" for none."""
    rig = _rig_of(skeleton)
    names = {
        joint: joint_name(role)
        for role, joint in (rig.roles if rig else {}).items()
        if split_role(role)[1] in JOINT_NAMES
    }
    return [names.get(joint, "") for joint in skeleton.names]


@dataclass(frozen=True, kw_only=True)
class HingeAngle:
    """The clinical angle of a hinge: `sign` times its angle in degrees, plus `offset_deg`."""

    name: str
    sign: float
    offset_deg: float


@dataclass(frozen=True, kw_only=True)
class Hinge:
    """The axis and the range of a joint with one axis, in the frame of its parent."""

    axis: list[float]
    zero: list[float]
    """The bone's direction at angle 0, the limit's reference; perpendicular to the axis."""
    low_deg: float
    high_deg: float
    clinical: HingeAngle | None = None
    """The conversion to clinical angles, if there is one."""


def hinge_of(limit: Limit, bone: Vectors) -> Hinge | None:
    """Return the hinge of a limit for a bone direction (3,); None if the limit is not a hinge."""
    path = hinge_path(limit)
    if path is None:
        return None
    return Hinge(
        axis=path.axis.tolist(),
        zero=_across(quat.rotate(path.base, bone), path.axis).tolist(),
        low_deg=float(np.degrees(path.low)),
        high_deg=float(np.degrees(path.high)),
    )


def _across(direction: Vectors, axis: Vectors) -> Vectors:
    """Return the unit component of a direction perpendicular to an axis.

    It is any perpendicular direction if they are nearly parallel.
    """
    part = direction - (direction @ axis) * axis
    if np.linalg.norm(part) < 0.2:
        part = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    return np.asarray(part / np.linalg.norm(part))


STRAIGHT = np.radians(0.5)  # largest difference between a hinge's angle and a clinical one
_alignments = WeakKeyDictionary[Clip, Alignment | None]()


def remember_alignment(clip: Clip, alignment: Alignment) -> None:
    """Use an alignment for a clip, such as one with roles that the user mapped."""
    _alignments[clip] = alignment


def alignment_of(clip: Clip) -> Alignment | None:
    """Return the alignment of a clip's rig with a human; None for other rigs."""
    if clip not in _alignments:
        try:
            _alignments[clip] = align(recognize_clip(clip), [clip])
        except ValueError:
            _alignments[clip] = None
    return _alignments[clip]


@lru_cache(maxsize=4)
def _links(model: LimitModel, alignment: Alignment) -> dict[str, list[Link]]:
    return links(model, alignment)


def links_of(scene: Scene, name: str) -> tuple[Alignment, list[Link]] | None:
    """Return the alignment, and the links of the clinical joint of a joint; None without one."""
    alignment, joint = alignment_of(scene.clip), scene.clip.skeleton.index(name)
    if alignment is None:
        return None
    for links_of_role in _links(scene.model, alignment).values():
        if any(joint in (link.moving, link.bone) for link in links_of_role):
            return alignment, links_of_role
    return None


def hinge_angle(scene: Scene, name: str) -> HingeAngle | None:
    """Return sign and offset that convert angles along a hinge to angles of a clinical axis.

    None if they differ by more than that, or if the joint has no clinical axes.
    """
    linked = links_of(scene, name)
    if linked is None:
        return None
    alignment, joint_links = linked
    skeleton, joint = scene.clip.skeleton, scene.clip.skeleton.index(name)
    link = next((link for link in joint_links if link.moving == joint and link.placed), None)
    if link is None or link.placed is None:
        return None
    rest = skeleton.rest_pose()
    clinical = ClinicalJoint(link, alignment, Pose(rest.rotations[None], rest.positions[None]))
    hinge = clinical.hinge
    if hinge is None:
        return None
    sign = float(np.sign(hinge.along[-1] - hinge.along[0]))
    offset = hinge.angles[0] - sign * hinge.along
    if np.ptp(offset) > STRAIGHT:
        return None
    degrees = float(np.degrees(offset.mean()))
    return HingeAngle(name=clinical.axes[hinge.axis].name, sign=sign, offset_deg=degrees)


@dataclass(frozen=True, kw_only=True)
class BodyShape:
    """The default human's meshes, and how they attach to a skeleton; empty without a human.

    Each mesh has vertices, triangles, and the four segments that move each vertex, with weights.
    """

    bones_vertices: SmoothFloats
    bones_triangles: SmoothInts
    bones_segments: SmoothInts
    bones_weights: SmoothInts
    """In 255ths."""
    skin_vertices: SmoothFloats
    skin_triangles: SmoothInts
    skin_segments: SmoothInts
    skin_weights: SmoothInts
    joints: list[int]
    """The joint that moves each segment, -1 where there is none."""
    offsets: Floats
    """For each segment, a matrix of three rows and four columns, from the meshes' coordinates to
    the frame of its joint."""
    skin: bool
    """True if the skin is to be shown."""


@dataclass(frozen=True, kw_only=True)
class OwnMesh:
    """The glTF file that a clip was read from; empty if it has no meshes of its own."""

    content: Bytes
    nodes: list[int]
    """The node of each joint, by its index in the file."""


def body_shape(session: Session, request: Empty) -> BodyShape:
    """Return the default human's meshes, and how they attach to the clip's skeleton."""
    return _shape(session.scene.clip)


def own_mesh(session: Session, request: Empty) -> OwnMesh:
    """Return the glTF file that the clip was read from, if it has meshes; see `OwnMesh`."""
    content, nodes = mesh_of(session.scene.clip) or (b"", ())
    return OwnMesh(content=np.frombuffer(content, np.uint8), nodes=list(nodes))


@lru_cache(maxsize=4)
def _shape(clip: Clip) -> BodyShape:
    body = body_of(clip.skeleton, clip)
    nothing = np.zeros((0, 4), np.int64)
    empty = Mesh(np.zeros((0, 3)), nothing[:, :3], nothing, nothing.astype(float))
    human = None if body is None else load_human()
    bones, skin = (empty, empty) if human is None else (human.bones, human.skin)
    return BodyShape(
        bones_vertices=Differences(bones.vertices, 1.0),
        bones_triangles=Differences(bones.triangles.ravel()),
        bones_segments=Differences(bones.segments),
        bones_weights=_weights(bones),
        skin_vertices=Differences(skin.vertices, 1.0),
        skin_triangles=Differences(skin.triangles.ravel()),
        skin_segments=Differences(skin.segments),
        skin_weights=_weights(skin),
        joints=[] if body is None else body.joints.tolist(),
        offsets=np.zeros((0, 12)) if body is None else body.offsets.reshape(-1, 12),
        skin=body is not None and body.skin is not None,
    )


def _weights(mesh: Mesh) -> Differences:
    """Return the weights in 255ths, as the file has them."""
    return Differences(np.rint(255.0 * mesh.weights).astype(np.int64))
