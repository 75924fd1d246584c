"""Why a joint is outside its limit, and what was observed of it: performers, clips, frames."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf
from pathlib import PurePath
from typing import Annotated

import numpy as np

from .. import learn, quat
from ..arrays import Floats, Halves, Ints, Quats, Within
from ..model import Limb, LimitModel, share_twist
from ..population.findings import JOINT_NAMES, describe_move, joint_name
from ..rigs import MEASURED_FROM, Alignment
from ..schema import Rotation
from ..skeleton import Clip, Pose, forward, lineage
from .display import bone_of
from .folder import Entry
from .human import alignment_of
from .messages import JointRequest
from .poses import (
    JointPoseRequest,
    PoseAnswer,
    limit_in_pose,
    outside_deg,
    pose_from,
    unit_rotation,
)
from .scene import Scene, same_tree
from .session import Session

SAME = float(np.radians(0.1))  # rotations that differ by less, in radians, are those of one frame


@dataclass(frozen=True, kw_only=True)
class ObservedRequest(JointRequest):
    """A request for the observed rotations of a joint, at most `most` of them."""

    most: Annotated[int, Within(1, inf)]


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Rotations that the limits kept of a joint, or some of them, and where each is from."""

    count: int
    performers: list[str]
    counts: list[int]
    """Of each performer, how many were kept."""
    clips: list[str]
    whose: Halves
    """By rotation, the index of the performer."""
    clip: Halves
    """By rotation, the index of the clip."""
    frames: Ints
    """By rotation, the frame of that clip."""
    rotations: Floats


@dataclass(frozen=True, kw_only=True)
class NearestSample:
    """What was observed that is nearest to a rotation, and how far off that is."""

    performer: str
    clip: str
    frame: int
    deg: float
    rotation: list[float]


@dataclass(frozen=True, kw_only=True)
class ObservedPoseRequest(JointPoseRequest):
    """A request for the pose in which a rotation of a joint was observed."""

    rotation: Rotation
    clip: str
    at: int
    """Frame of that clip."""


@dataclass(frozen=True, kw_only=True)
class ObservedPose(PoseAnswer):
    """A pose in which a joint is as it was observed."""

    shown: int | None
    """The frame of the clip that is shown, if it is one of that."""
    whole: bool
    """True if all of the body is as it was then, not that joint alone."""


def kept_samples(scene: Scene, name: str) -> tuple[learn.Sample, ...]:
    """Return the samples that the loaded limits have of a joint of the clip.

    There are none if the joint's limit is measured from another joint since.
    """
    if scene.source is None or name not in scene.names or name not in scene.model.limits:
        return ()
    source = scene.names[name]
    source_limit, above = scene.source.limits.get(source), scene.model.limits[name].relative_to
    if source_limit is not None and source_limit.relative_to != (above and scene.names.get(above)):
        return ()
    samples = scene.source.samples.get(source, ())
    return tuple(sample for sample in samples if len(sample.rotations))


def observed_rotations(session: Session, request: ObservedRequest) -> Observed:
    """Return at most `most` of a joint's kept rotations (n, 4), with performer, clip and frame.

    If there are more, performers get equal shares, as far as they have enough rotations.
    """
    samples = kept_samples(session.scene, request.joint)
    performers = sorted({sample.performer for sample in samples})
    clips = list(dict.fromkeys(sample.clip for sample in samples))
    lengths = [len(sample.rotations) for sample in samples]
    whose = np.repeat(
        np.array([performers.index(sample.performer) for sample in samples], int), lengths
    )
    clip = np.repeat(np.array([clips.index(sample.clip) for sample in samples], int), lengths)
    frames = np.concatenate([np.zeros(0, int), *(sample.frames for sample in samples)])
    rotations = np.concatenate([np.zeros((0, 4)), *(sample.rotations for sample in samples)])
    counts = np.bincount(whose, minlength=len(performers))
    shown = _some_of_each(whose, counts, request.most)
    return Observed(
        count=len(rotations),
        performers=performers,
        counts=counts.tolist(),
        clips=clips,
        whose=whose[shown].astype(np.uint16),
        clip=clip[shown].astype(np.uint16),
        frames=frames[shown],
        rotations=rotations[shown],
    )


def _some_of_each(whose: Ints, counts: Ints, most: int) -> Ints:
    """Return indices of at most `most` samples, with equal shares of performers if possible."""
    share, left, room = 0, sorted(counts.tolist()), most
    while left and left[0] - share <= room // len(left):
        room -= (left[0] - share) * len(left)
        share = left.pop(0)
    share += room // len(left) if left else 0
    picked = [
        indices[np.linspace(0, len(indices) - 1, min(len(indices), share)).astype(np.int64)]
        for indices in (np.flatnonzero(whose == number) for number in range(len(counts)))
    ]
    return np.sort(np.concatenate([np.zeros(0, np.int64), *picked]))


def nearest_sample(scene: Scene, name: str, rotation: Quats) -> NearestSample | None:
    """Return the kept sample of a joint nearest to a rotation (4,); None without samples."""
    samples = kept_samples(scene, name)
    if not samples:
        return None
    indices = [int(np.abs(sample.rotations @ rotation).argmax()) for sample in samples]
    angles = [
        float(quat.angle_between(rotation, sample.rotations[index]))
        for sample, index in zip(samples, indices, strict=True)
    ]
    best = int(np.argmin(angles))
    sample, index = samples[best], indices[best]
    return NearestSample(
        performer=sample.performer,
        clip=sample.clip,
        frame=int(sample.frames[index]),
        deg=float(np.degrees(angles[best])),
        rotation=sample.rotations[index].tolist(),
    )


def observed_pose(session: Session, request: ObservedPoseRequest) -> ObservedPose:
    """Return a pose in which a joint has a `rotation` that was observed in frame `at` of a clip.

    If that clip can be read, it is the pose of the whole body in that frame; `shown` is the frame
    if it is the clip on the page. Otherwise only the joint is rotated.
    """
    scene, name = session.scene, request.joint
    skeleton, pose = scene.clip.skeleton, pose_from(scene, request)
    limit = scene.model.limits.get(name)
    path = lineage(skeleton, name, None if limit is None else limit.relative_to)
    rotation = unit_rotation("rotation", request.rotation)
    at = request.at

    def has(clip: Clip) -> bool:
        if not (0 <= at < clip.frames and same_tree(clip.skeleton, skeleton)):
            return False
        relative = path.relative_rotation(clip.pose.rotations[at])
        return float(quat.angle_between(relative, rotation)) < SAME

    shown = PurePath(scene.clip.name).stem == PurePath(request.clip).stem
    shown = shown and has(scene.clip)
    clip = scene.clip if shown else _clip_named(session, request.clip)
    whole = shown or (clip is not None and has(clip))
    rotations = np.array(clip.pose.rotations[at] if clip is not None and whole else pose.rotations)
    if not whole:
        path.set_relative_rotation(rotations, rotation)
    observed = pose.with_rotations(rotations)
    return ObservedPose(
        shown=at if shown else None,
        whole=whole,
        outside_deg=outside_deg(scene, observed),
        rotations=observed.rotations,
        positions=observed.positions,
    )


def _clip_named(session: Session, name: str) -> Clip | None:
    """Return a clip of the list by its name; None if there is none or it cannot be read."""
    entry = None if session.folder is None else session.folder.entry_of(name)
    try:
        return None if entry is None else _load(entry)
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=2)
def _load(entry: Entry) -> Clip:
    return entry.load()


@dataclass(frozen=True, kw_only=True)
class Why:
    """How far a joint is from the nearest legal rotation, and which way."""

    joint: str
    outside_deg: float
    swing_deg: float
    twist_deg: float
    name: str | None
    """The common name of the joint, in a rig that is recognised as a human's."""
    move: str | None
    """The direction in which it is beyond, in clinical terms."""
    held_by: str | None
    """The joint that it depends on, if it could be as it is while that one were elsewhere."""
    legal: list[float]
    """The nearest legal rotation, as the limit measures it."""
    bone: list[float]
    """The direction of the bone, in the joint's own frame."""
    nearest: NearestSample | None
    """What was observed nearest to it, where the limits kept samples."""


def explain(session: Session, request: JointPoseRequest) -> Why:
    """Return the rotation from the nearest legal rotation of a joint to its rotation in a pose.

    The swing is the angle of the bone's direction, the twist the angle about the bone. Joints of
    recognised human rigs have a name and a clinical movement, too; limits with samples have the
    nearest observed rotation. If the joint is possible, it is compared with the usual limits, if
    there are any.
    """
    scene, name = session.scene, request.joint
    model, pose = _deciding(scene.model, name, pose_from(scene, request))
    path = lineage(model.skeleton, name, model.limits[name].relative_to)
    limit, relative = limit_in_pose(model, name, pose), path.relative_rotation(pose.rotations)
    legal, outside, held_by = limit.nearest_rotation(relative), limit.violation(relative), None
    dependent = model.dependents.get(name)
    if (
        dependent is not None
        and not limit.contains(relative)
        and dependent.limit.contains(relative)
    ):
        held_by = dependent.driver  # another rotation of that would make the joint legal
    placed = _limb_of(model, name, pose)
    if placed is not None:
        limb, limbs = placed
        legal = limb.project_each(limbs, limbs[:, 1])[0, limb.joints.index(name)]
        outside = quat.angle_between(legal, relative)
        if limb.tight_muscle(name, limbs) is not None:
            held_by = limb.joints[1]
    bone = bone_of(scene, scene.clip.skeleton.index(name))
    swing, twist = quat.swing_twist(quat.mul(quat.inverse(legal), relative), bone)
    rotations = np.array(pose.rotations)
    path.set_relative_rotation(rotations, legal)
    words, move = _in_words(scene, name, pose.with_rotations(rotations), pose)
    return Why(
        joint=name,
        outside_deg=float(np.degrees(outside)),
        swing_deg=float(np.degrees(np.linalg.norm(quat.log(swing)))),
        twist_deg=float(np.degrees(quat.log(twist) @ bone)),
        name=words,
        move=move,
        held_by=held_by,
        legal=legal.tolist(),
        bone=bone.tolist(),
        nearest=nearest_sample(scene, name, relative),
    )


def _deciding(model: LimitModel, name: str, pose: Pose) -> tuple[LimitModel, Pose]:
    """Return the model that a joint violates, and the pose with twists shared as by this model.

    It is the model of possible limits; if the joint is possible, that of usual limits, if any.
    """
    models = [limits for limits in (model, model.usual) if limits and name in limits.limits]
    if not models:
        raise ValueError(f"{name} has no limit")
    for candidate in models:
        shared = share_twist(candidate, pose)
        path = lineage(model.skeleton, name, candidate.limits[name].relative_to)
        rotation = path.relative_rotation(shared.rotations)
        placed = _limb_of(candidate, name, shared)
        is_tight = placed is not None and placed[0].tight_muscle(name, placed[1]) is not None
        if is_tight or not limit_in_pose(candidate, name, shared).contains(rotation):
            break
    return candidate, shared


def _limb_of(model: LimitModel, name: str, pose: Pose) -> tuple[Limb, Quats] | None:
    """Return the limb that a joint belongs to, and its rotations (1, k, 4); None without one."""
    for placed in model.placed:
        if isinstance(placed.constraint, Limb) and name in placed.constraint.joints:
            return placed.constraint, placed.relative(pose.rotations)[None]
    return None


def _in_words(scene: Scene, name: str, legal: Pose, pose: Pose) -> tuple[str | None, str | None]:
    """Return the common name of a joint, and how it moves from one pose to another, if known."""
    alignment = alignment_of(scene.clip)
    role = None if alignment is None else _role_moved_by(alignment, name)
    if alignment is None or role is None:
        return None, None
    start, end = (_canonical_rotation(alignment, role, rotated) for rotated in (legal, pose))
    return joint_name(role), describe_move(role, start, end) or None


def _role_moved_by(alignment: Alignment, name: str) -> str | None:
    """Return the role of the nearest bone below a joint whose clinical angles the joint changes.

    Several joints may change the angles of one bone: an elbow may have a joint for flexion and one
    for pronation, and a neck may have seven.
    """
    skeleton, roles = alignment.rig.skeleton, alignment.rig.roles
    joint = skeleton.index(name)
    distances = {}
    for role, above in MEASURED_FROM.items():
        bone = role.removeprefix("left").removeprefix("right")
        if bone not in JOINT_NAMES or not {role, above} <= alignment.frames.keys():
            continue
        path, fixed = (skeleton.path_to_root(skeleton.index(roles[end])) for end in (role, above))
        if joint in path and joint not in fixed:
            distances[role] = path.index(joint)
    return min(distances, key=distances.__getitem__, default=None)


def _canonical_rotation(alignment: Alignment, role: str, pose: Pose) -> Quats:
    """Return the rotation (4,) of a bone in the frames of the canonical human.

    It is computed from world rotations, because the bone that it is measured from need not be an
    ancestor: a sternum is not an ancestor of a neck.
    """
    skeleton, roles = alignment.rig.skeleton, alignment.rig.roles
    rotations = forward(skeleton, pose)[1]
    bone = rotations[skeleton.index(roles[role])]
    above = rotations[skeleton.index(roles[MEASURED_FROM[role]])]
    return alignment.to_canonical(role, quat.mul(quat.inverse(above), bone))
