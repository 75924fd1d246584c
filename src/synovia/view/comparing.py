"""Two limits of one joint: before and after, left and right, ours and those of another file.

Limits that depend on another joint are compared as that one is in a pose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from ..arrays import Bytes, Floats, Ints
from ..io import load_limits
from ..io.limits import SUFFIX
from ..limit import Limit, gained_and_lost
from ..mesh import Quality, sheet_difference
from ..mesh.region import COMPARED
from ..model import LimitModel
from ..skeleton import Clip, partner
from .dependents import HERE
from .display import bone_of
from .editing import mirror_joint
from .families import Source
from .files import FileRequest, read_upload
from .messages import Empty, JointRequest
from .poses import PoseRequest, limit_in_pose, pose_from
from .scene import Scene
from .session import Session

ComparedLimits = Literal["opened", "saved", "mirror", "file"]
"""What a limit is compared with: itself before, its partner, or another file."""


@dataclass(frozen=True, kw_only=True)
class CompareRequest(JointRequest):
    """A request to compare a joint's limit with another, by its name; null for none."""

    to: ComparedLimits | None
    pose: PoseRequest | None = None
    """The pose of drivers, if one of the limits depends on another joint."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two limits on one sphere, as the reference of the present one sees it."""

    others: list[Source] = field(default_factory=list)
    """What the limit can be compared with."""
    to: str | None = None
    gained: float = 0.0
    """The share of all rotations that only the present limit allows."""
    lost: float = 0.0
    """The share of all rotations that only the other limit allows."""
    drivers: list[str] = field(default_factory=list)
    """The joints that the limits depend on: both are compared as these are in the pose."""
    directions: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    faces: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    gained_twists: Bytes = field(default_factory=lambda: np.zeros(0, np.uint8))
    """By direction, the share, of 255, of the twists that only the present limit allows."""
    lost_twists: Bytes = field(default_factory=lambda: np.zeros(0, np.uint8))
    rim: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    """Ends of edges, in pairs, where the directions of the other limit end."""


def compare_limits(session: Session, request: CompareRequest) -> Comparison:
    """Return the limits that a joint's limit can be compared with, and the difference from `to`.

    Shares are of all rotations; the picture is of the directions of the bone. Limits that depend on
    another joint are compared in the pose of the request.
    """
    scene, name, to = session.scene, request.joint, request.to
    if name not in scene.model.limits:
        raise ValueError(f"{name} has no limit to compare")
    candidates = {key: _find(session, name, key) for key in OTHERS}
    others = [source for source, _ in candidates.values()]
    other = None if to is None else candidates[to][1]
    if other is None:
        return Comparison(others=others)
    return replace(_compare_models(scene, other, request), others=others, to=to)


def _compare_models(scene: Scene, other: LimitModel, request: CompareRequest) -> Comparison:
    """Return the difference of a joint's limits in another model and in the scene's."""
    name, models = request.joint, (other, scene.model)
    bone = tuple(bone_of(scene, scene.clip.skeleton.index(name)).tolist())
    drivers = [model.dependents[name].driver for model in models if name in model.dependents]
    if not drivers:
        return _known_difference(other.limits[name], scene.model.limits[name], bone)
    if request.pose is None:
        raise ValueError(f"pose must be given, because {name} depends on {drivers[0]}, got null")
    pose = pose_from(scene, request.pose)
    old, new = (limit_in_pose(model, name, pose) for model in models)
    return replace(_difference(old, new, bone, HERE), drivers=sorted(set(drivers)))


def _difference(
    old: Limit, new: Limit, bone: tuple[float, ...], quality: Quality = COMPARED
) -> Comparison:
    gained, lost = gained_and_lost(old, new)
    seen = sheet_difference(old, new, np.array(bone), quality)
    points, edges = seen.old_rim
    return Comparison(
        gained=gained,
        lost=lost,
        directions=seen.mesh.vertices,
        faces=seen.mesh.triangles,
        gained_twists=np.round(255.0 * seen.gained).astype(np.uint8),
        lost_twists=np.round(255.0 * seen.lost).astype(np.uint8),
        rim=points[edges].reshape(-1, 3),
    )


_known_difference = lru_cache(maxsize=16)(_difference)


def _since(session: Session, name: str, before: LimitModel) -> LimitModel:
    """Return the limits of an earlier state; ValueError if the joint's limit is the same."""
    present = session.scene.model
    if name not in before.limits:
        raise ValueError("It had no limit then.")
    same = before.limits[name] is present.limits[name]
    if same and before.dependents.get(name) == present.dependents.get(name):
        raise ValueError("It has not changed since.")
    return before


def _saved(session: Session, name: str) -> LimitModel:
    if session.saved is session.first:
        raise ValueError("It was not saved since it was opened.")
    return _since(session, name, session.saved)


def _mirrored(session: Session, name: str) -> LimitModel:
    """Return the model with the mirror image of the partner's limit for the joint."""
    skeleton, model = session.scene.clip.skeleton, session.scene.model
    other = partner(name, skeleton.names)
    if other is None:
        raise ValueError("This joint has no partner on the other side.")
    if other not in model.limits:
        raise ValueError(f"{other} has no limit.")
    return _mirror(skeleton, model, other)


_mirror = lru_cache(maxsize=8)(mirror_joint)


def _other_file(session: Session, name: str) -> LimitModel:
    if session.compared is None:
        raise ValueError("Open one: it is compared with, and changes nothing.")
    model = _for_clip(session.compared[1], session.scene.clip)
    if name not in model.limits:
        raise ValueError(f"{_file_label(session)} has no limit for {name}.")
    return model


@lru_cache(maxsize=2)
def _for_clip(model: LimitModel, clip: Clip) -> LimitModel:
    return model.for_skeleton(clip.skeleton, None, clip=clip.name)


def _file_label(session: Session) -> str:
    return "another file" if session.compared is None else session.compared[0].removesuffix(SUFFIX)


OTHERS: dict[str, Callable[[Session, str], LimitModel]] = {
    "opened": lambda session, name: _since(session, name, session.first),
    "saved": _saved,
    "mirror": _mirrored,
    "file": _other_file,
}
"""Functions that return a model to compare a joint's limit with, or raise the reason why not."""


def _find(session: Session, name: str, key: str) -> tuple[Source, LimitModel | None]:
    """Return a model to compare with, None if there is none, and its description."""
    other = partner(name, session.scene.clip.skeleton.names) or "the other side"
    labels = {
        "opened": "as it was opened",
        "saved": "as it was saved",
        "mirror": f"{other}, mirrored",
        "file": _file_label(session),
    }
    model, why = None, None
    try:
        model = OTHERS[key](session, name)
        above = session.scene.model.limits[name].relative_to
        if model.limits[name].relative_to != above:
            raise ValueError("It is measured from another joint.")
    except ValueError as error:
        model, why = None, str(error)
    return Source(name=key, label=labels[key], why=why), model


def use_other(session: Session, request: FileRequest) -> Empty:
    """Compare with uploaded limits from now on; the page's limits do not change."""
    upload = session.take_upload(request.upload)
    if not upload.name.lower().endswith(SUFFIX):
        raise ValueError(f"{upload.name}: limits end in {SUFFIX}")
    session.compared = upload.name, read_upload(upload, SUFFIX, load_limits)
    return Empty()
