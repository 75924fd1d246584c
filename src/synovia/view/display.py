"""What the page shows: the clip and its skeleton, violations over time, pictures of limits."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Vectors
from ..components import Figure
from ..edit import families, family_of, is_sculptable, label
from ..io import CLIP_FORMATS
from ..io.limits import SUFFIX
from ..learn import invented_first_frame
from ..limit import Limit
from ..limit.softening import parse_softening
from ..mesh import DRAFT, Quality, sheet_and_boundary
from ..skeleton import Clip, Pose, forward, partner
from .human import Hinge, common_names, group_joints, hinge_angle, hinge_of
from .limit_edits import ConePoints, ShapeNumber, cone_points, describe_numbers
from .messages import Differences, Empty, JointRequest, SmoothFloats, SmoothInts, State
from .poses import position_step
from .scene import Scene, Start
from .session import Session


@dataclass(frozen=True, kw_only=True)
class Control:
    """A control of a figure."""

    name: str
    low: float
    high: float
    neutral: float
    unit: str
    joints: list[int]
    """Those that its joint set moves."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The skeleton, the clip, and which joints have limits."""

    state: State
    clip: str
    names: list[str]
    parents: list[int]
    end_parents: list[int]
    partners: list[int]
    """By joint, its partner on the other side; -1 where there is none."""
    groups: list[str]
    """By joint, what part of a human it belongs to; empty for none."""
    common_names: list[str]
    """By joint, its common name, such as "left knee"; empty for none."""
    frames: int
    frame_time: float
    invented: bool
    """True if nobody performed the first frame, as the T-pose before a capture."""
    start: Start | None
    notes: list[str]
    moving: list[int]
    """The joints whose positions change, in the order of `positions`."""
    controls: list[Control]
    suffixes: list[str]
    """Ends of the names of files that can be opened."""
    up: Literal["y", "z"]
    """The world's axis that points up."""
    looker: str | None
    """The joint that looks, if one is called so."""
    look_axis: str
    """Along which of its axes it looks."""
    offsets: Floats
    end_offsets: Floats
    rotations: SmoothFloats
    positions: SmoothFloats


@dataclass(frozen=True, kw_only=True)
class Check:
    """By how many degrees limited joints are outside, by frame; negative if only unusual."""

    outside_deg: Floats


@dataclass(frozen=True, kw_only=True)
class ClampRequest:
    """How clamping softens the limit, as `synovia clamp --soften` takes it; null is hard."""

    soften: str | None = None


@dataclass(frozen=True, kw_only=True)
class Clamping:
    """Rotations of the joints that clamping changes, and what it leaves outside at most."""

    changed: list[int]
    left_deg: float
    clamped: Floats


@dataclass(frozen=True, kw_only=True)
class RegionRequest(JointRequest):
    """A request for the picture of a joint's limit."""

    draft: bool = False
    """True for a rough picture, which is there at once."""


@dataclass(frozen=True, kw_only=True)
class Picture(ConePoints):
    """A limit as it is drawn: the directions of the bone, and the boundary among rotations."""

    family: str
    label: str
    """The name of the family for people."""
    chart: str
    sculptable: bool
    """True if it can be pushed and pulled."""
    share: float
    """The share of all rotations that is legal."""
    reference: list[float]
    axis: list[float]
    numbers: list[ShapeNumber]
    hinge: Hinge | None
    """The hinge, for a joint that rotates about one axis; otherwise None."""
    directions: SmoothFloats
    faces: SmoothInts
    rim: Ints
    twist_deg: SmoothFloats
    vectors: SmoothFloats
    triangles: SmoothInts


AXES = {
    f"{sign}{name}": (-1.0 if sign else 1.0) * np.eye(3)[number]
    for number, name in enumerate("xyz")
    for sign in ("", "-")
}
"""The axes that a joint may look along, by name."""
SCREEN = Quality(float(np.radians(0.5)), 6_000)
"""Resolution of lasting pictures, which at most fill a screen."""
ROTATION_STEP = DIRECTION_STEP = 1.0 / 32767.0
VECTOR_STEP = float(np.radians(0.012))  # 16 bits hold rotation vectors beyond a whole turn
TWIST_STEP_DEG = 0.02
"""Steps to which large arrays for the page are rounded."""
SHARE_SAMPLES = 4000  # for an error of the share of all rotations of about one percent
MAX_BEARING_FRAMES = 50  # frames from which the clip's directions are estimated
WALKING_RATIO = 3.0  # minimum ratio of horizontal to vertical extent of a walking root's path
MAX_UPRIGHT_COSINE = 0.3  # between feet-to-head and right-to-left at rest, for an upright body
_HIGH, _LOW = re.compile(r"head|neck", re.IGNORECASE), re.compile(r"foot|toe|ankle", re.IGNORECASE)
_HEADS = (re.compile(r"head$", re.IGNORECASE), re.compile(r"head", re.IGNORECASE))
_LEFT = re.compile(r"[Ll]eft|LEFT|(?:^|[._ :-])[Ll](?=[A-Z._ -]|$)")
_RIGHT = re.compile(r"[Rr]ight|RIGHT|(?:^|[._ :-])[Rr](?=[A-Z._ -]|$)")


def up_axis(clip: Clip) -> Literal["y", "z"]:
    """Return the axis of the world, "y" or "z", that points up in the clip.

    It is the axis nearest to the direction from feet to head, if joints have such names. Otherwise,
    if the root walks far along one of the two axes, it is the other one; else the axis along
    which the body is longer.
    """
    positions, _ = forward(clip.skeleton, _some_frames(clip))
    rise = _mean_offset(clip, positions, _LOW, _HIGH)
    extent = np.ptp(positions, axis=1).mean(axis=0)
    _, walk_y, walk_z = np.ptp(positions[:, 0], axis=0)
    if rise is None and max(walk_y, walk_z) > max(
        extent.max(), WALKING_RATIO * min(walk_y, walk_z)
    ):
        return "z" if walk_y > walk_z else "y"
    _, y, z = extent if rise is None else rise.mean(axis=0)
    return "z" if z > abs(y) else "y"


def head_joint(clip: Clip) -> str | None:
    """Return the name of the head, or None if no joint but the root has such a name."""
    joints = zip(clip.skeleton.names, clip.skeleton.parents, strict=True)
    names = [name for name, parent in joints if parent >= 0]
    return next((name for head in _HEADS for name in names if head.search(name)), None)


def look_axis(clip: Clip, joint: str) -> str:
    """Return the axis of a joint, such as "-z", that points to where the body faces.

    The body faces along the cross product of right-to-left and feet-to-head: in the rest pose if
    the body is upright there, otherwise on average over the clip. If joints have no such names,
    the result is "z", or "-y" if z is up.
    """
    rest = clip.skeleton.rest_pose()
    rest_frame = Pose(rest.rotations[None], rest.positions[None])
    for pose, max_cosine in ((rest_frame, MAX_UPRIGHT_COSINE), (_some_frames(clip), 1.0)):
        positions, rotations = forward(clip.skeleton, pose)
        across = _mean_offset(clip, positions, _RIGHT, _LEFT)
        rise = _mean_offset(clip, positions, _LOW, _HIGH)
        if across is None or rise is None:
            break
        lengths = np.linalg.norm(across, axis=-1) * np.linalg.norm(rise, axis=-1)
        if (np.abs((across * rise).sum(axis=-1)) <= max_cosine * lengths).all():
            to_joint = quat.inverse(rotations[:, clip.skeleton.index(joint)])
            ahead = quat.rotate(to_joint, np.cross(across, rise)).mean(axis=0)
            return max(AXES, key=lambda name: float(AXES[name] @ ahead))
    return "z" if up_axis(clip) == "y" else "-y"


def _some_frames(clip: Clip) -> Pose:
    """Return poses of frames at equal steps through the clip."""
    step = max(clip.frames // MAX_BEARING_FRAMES, 1)
    return Pose(clip.pose.rotations[::step], clip.pose.positions[::step])


def _mean_offset(
    clip: Clip, positions: Vectors, start: re.Pattern[str], end: re.Pattern[str]
) -> Vectors | None:
    """Return the offsets (frames, 3) between mean positions of joints whose names match patterns.

    None if no name matches one of the patterns.
    """
    starts, ends = (
        [joint for joint, name in enumerate(clip.skeleton.names) if pattern.search(name)]
        for pattern in (start, end)
    )
    if not starts or not ends:
        return None
    return np.asarray(positions[:, ends].mean(axis=1) - positions[:, starts].mean(axis=1))


def open_scene(session: Session, request: Empty) -> Opening:
    """Return the skeleton, the clip, which joints have limits, and the figure's controls."""
    scene = session.scene
    clip, skeleton = scene.clip, scene.clip.skeleton
    moving = np.flatnonzero((clip.pose.positions != skeleton.offsets).any(axis=(0, 2)))
    partners = (partner(name, skeleton.names) for name in skeleton.names)
    looker = head_joint(clip)
    return Opening(
        state=session.state(),
        clip=clip.name,
        names=list(skeleton.names),
        parents=skeleton.parents.tolist(),
        end_parents=skeleton.end_parents.tolist(),
        partners=[-1 if name is None else skeleton.index(name) for name in partners],
        groups=group_joints(skeleton),
        common_names=common_names(skeleton),
        frames=clip.frames,
        frame_time=clip.frame_time,
        invented=invented_first_frame(clip),
        start=scene.start,
        notes=list(scene.notes),
        moving=moving.tolist(),
        controls=_controls(scene.figure),
        suffixes=[*CLIP_FORMATS, SUFFIX],
        up=up_axis(clip),
        looker=looker,
        look_axis=look_axis(clip, skeleton.names[-1] if looker is None else looker),
        offsets=skeleton.offsets,
        end_offsets=skeleton.end_offsets,
        rotations=Differences(clip.pose.rotations, ROTATION_STEP),
        positions=Differences(clip.pose.positions[:, moving], position_step(clip)),
    )


def _controls(figure: Figure | None) -> list[Control]:
    if figure is None:
        return []
    index = figure.skeleton.index
    moved = {
        f"{name}.{control}": [index(segment) for segment in joint_set.network.outputs]
        for name, joint_set in figure.joint_sets.items()
        for control in joint_set.controls
    }
    return [
        Control(
            name=name,
            low=control.low,
            high=control.high,
            neutral=control.neutral,
            unit=control.unit,
            joints=moved[name],
        )
        for name, control in figure.controls.items()
    ]


def check_clip(session: Session, request: Empty) -> Check:
    """Return how far each limited joint is outside in each frame (frames, L), in degrees.

    Angles are negative where a joint is only unusual.
    """
    report = session.scene.model.check(session.scene.clip)
    return Check(outside_deg=np.degrees(report.signed_violation))


def clamp_clip(session: Session, request: ClampRequest) -> Clamping:
    """Return the clamped rotations of the joints that clamping changes.

    Soft clamping leaves joints outside; the answer has their largest violation.
    """
    scene, softening = session.scene, parse_softening(request.soften)
    clamped = scene.model.project(scene.clip, softening=softening)
    left = 0.0 if softening is None else scene.model.check(clamped).violation.max(initial=0.0)
    rotations = clamped.pose.rotations
    changed = np.flatnonzero((rotations != scene.clip.pose.rotations).any(axis=(0, 2)))
    return Clamping(
        changed=changed.tolist(),
        left_deg=float(np.degrees(left)),
        clamped=rotations[:, changed],
    )


def region_pictures(session: Session, request: RegionRequest) -> Picture:
    """Return the pictures of a joint's limit: of directions with twists, and of rotations."""
    return pictures(session.scene, request.joint, DRAFT if request.draft else SCREEN)


def pictures(scene: Scene, name: str, quality: Quality = SCREEN) -> Picture:
    """Return the pictures of the limit of the joint `name`, in a given quality."""
    joint = scene.clip.skeleton.index(name)
    if name not in scene.model.limits:
        raise ValueError(f"{name} has no limit")
    bone = tuple(bone_of(scene, joint).tolist())
    picture = _known_pictures(scene.model.limits[name], bone, quality)
    if picture.hinge is None:
        return picture
    return replace(picture, hinge=replace(picture.hinge, clinical=hinge_angle(scene, name)))


def bone_of(scene: Scene, joint: int) -> Vectors:
    """Return the direction (3,) of a joint's bone in the joint's frame; z if it has no bone."""
    bone: Vectors = scene.clip.skeleton.rest_directions[joint]
    return bone if bone.any() else np.array([0.0, 0.0, 1.0])


@lru_cache(maxsize=64)
def _known_pictures(limit: Limit, bone: tuple[float, ...], quality: Quality) -> Picture:
    return pictures_of(limit, np.array(bone), quality)


def pictures_of(limit: Limit, bone: Vectors, quality: Quality) -> Picture:
    """Return the pictures of a limit of a joint with the bone direction `bone` (3,)."""
    directions, whole = sheet_and_boundary(limit, bone, quality)
    return Picture(
        family=limit.shape.name,
        label=_label(limit),
        chart=limit.chart.name,
        sculptable=is_sculptable(type(limit.shape)),
        share=limit.volume(SHARE_SAMPLES),
        reference=limit.chart.reference.tolist(),
        axis=directions.axis.tolist(),
        numbers=describe_numbers(limit),
        hinge=hinge_of(limit, bone),
        directions=Differences(directions.mesh.vertices, DIRECTION_STEP),
        faces=Differences(directions.mesh.triangles.ravel()),
        rim=directions.rim,
        twist_deg=Differences(np.degrees(directions.widths), TWIST_STEP_DEG),
        vectors=Differences(whole.vertices, VECTOR_STEP),
        triangles=Differences(whole.triangles.ravel()),
        **vars(cone_points(limit)),
    )


def _label(limit: Limit) -> str:
    """Return the label of the limit's family, as in the list of families."""
    shape = limit.shape
    labels = {family.name: family.label for family in families(shape)}
    return labels.get(family_of(shape)) or label(shape)
