"""What was observed of a joint: by whom, in which clip and frame, and what is nearest to a pose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf
from pathlib import PurePath
from typing import Annotated

import numpy as np

from .. import learn, quat
from ..arrays import Floats, Halves, Ints, Quats, Within
from ..schema import Rotation
from ..skeleton import Clip, lineage
from .folder import Entry
from .messages import JointRequest
from .poses import PoseAnswer, PoseRequest, outside_deg, pose_from, unit_rotation
from .session import Scene, Session, same_tree

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
class ObservedPoseRequest(PoseRequest):
    """A request for the pose in which a rotation of a joint was observed."""

    joint: str
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
    given, above = scene.source.limits.get(source), scene.model.limits[name].relative_to
    if given is not None and given.relative_to != (above and scene.names.get(above)):
        return ()
    samples = scene.source.samples.get(source, ())
    return tuple(sample for sample in samples if len(sample.rotations))


def observed_rotations(session: Session, request: ObservedRequest) -> Observed:
    """Return at most `most` of a joint's kept rotations (n, 4), with performer, clip and frame.

    If there are more, performers get equal shares, as far as they have enough rotations.
    """
    kept = kept_samples(session.scene, request.joint)
    performers = sorted({sample.performer for sample in kept})
    clips = list(dict.fromkeys(sample.clip for sample in kept))
    lengths = [len(each.rotations) for each in kept]
    whose = np.repeat(np.array([performers.index(each.performer) for each in kept], int), lengths)
    clip = np.repeat(np.array([clips.index(each.clip) for each in kept], int), lengths)
    frames = np.concatenate([np.zeros(0, int), *(each.frames for each in kept)])
    rotations = np.concatenate([np.zeros((0, 4)), *(each.rotations for each in kept)])
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
    kept = kept_samples(scene, name)
    if not kept:
        return None
    indices = [int(np.abs(sample.rotations @ rotation).argmax()) for sample in kept]
    angles = [
        float(quat.angle_between(rotation, sample.rotations[index]))
        for sample, index in zip(kept, indices, strict=True)
    ]
    best = int(np.argmin(angles))
    sample, index = kept[best], indices[best]
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
        seen = path.relative_rotation(clip.pose.rotations[at])
        return float(quat.angle_between(seen, rotation)) < SAME

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
