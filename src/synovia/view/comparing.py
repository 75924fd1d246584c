"""Two limits of one joint: before and after, left and right, ours and those of another file.

Limits that depend on another joint are compared as that one is in a pose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from ..arrays import Bytes, Floats, Ints, Scalars
from ..io import load_limits
from ..io.limits import SUFFIX
from ..limit import DependentLimit, Limit, PairLimit, gained_and_lost
from ..mesh import Quality, sheet_difference
from ..mesh.difference import COMPARED
from ..model import LimitModel
from ..skeleton import Clip, Skeleton, partner, partner_limit
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
class PairShares:
    """What two limits that depend on the same joint gain and lose, as pairs with that joint."""

    gained: float
    """The share of all pairs of rotations that only the present limits allow; 0 if thin."""
    lost: float
    """The share of all pairs of rotations that only the other limits allow; 0 if thin."""
    added: float
    """The share of the pairs allowed by the present limits that the others forbid."""
    removed: float
    """The share of the pairs allowed by the other limits that the present ones forbid."""


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
    pairs: PairShares | None = None
    """Where both depend on the same joint."""
    directions: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    faces: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    gained_twists: Bytes = field(default_factory=lambda: np.zeros(0, np.uint8))
    """By direction, the share, of 255, of the twists that only the present limit allows."""
    lost_twists: Bytes = field(default_factory=lambda: np.zeros(0, np.uint8))
    rim: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    """Ends of edges, in pairs, where the directions of the other limit end."""


PAIRS = 10_000
"""Sampled pairs of rotations of either limit; the error of a share of 1 % is 0.1 points."""


def compare_limits(session: Session, request: CompareRequest) -> Comparison:
    """Return the limits that a joint's limit can be compared with, and the difference from `to`.

    Shares are of all rotations; the picture is of the directions of the bone. Limits that depend on
    another joint are compared in the pose of the request. If both depend on the same joint, the
    answer has shares of pairs with that joint, too.
    """
    scene, name, to = session.scene, request.joint, request.to
    if name not in scene.model.limits:
        raise ValueError(f"{name} has no limit to compare")
    candidates = {key: _find(session, name, key) for key in OTHERS}
    others = [
        Source(name=key, label=label, why=other if isinstance(other, str) else None)
        for key, (label, other) in candidates.items()
    ]
    other = "" if to is None else candidates[to][1]
    if isinstance(other, str):
        return Comparison(others=others)
    return replace(_compare_models(scene, other, name, request), others=others, to=to)


def _compare_models(
    scene: Scene, other: LimitModel, name: str, request: CompareRequest
) -> Comparison:
    """Return the difference of a joint's limits in another model and in the scene's."""
    bone = tuple(bone_of(scene, scene.clip.skeleton.index(name)).tolist())
    models = other, scene.model
    drivers = [model.dependents[name].driver for model in models if name in model.dependents]
    if not drivers:
        return _known_difference(other.limits[name], scene.model.limits[name], bone)
    if request.pose is None:
        raise ValueError(f"pose must be given, because {name} depends on {drivers[0]}, got null")
    pose = pose_from(scene, request.pose)
    old, new = (limit_in_pose(model, name, pose) for model in models)
    pairs = _pair_shares(*_pair_fields(other, name), *_pair_fields(scene.model, name))
    return replace(_difference(old, new, bone, HERE), drivers=sorted(set(drivers)), pairs=pairs)


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
        gained_twists=_bytes(seen.gained),
        lost_twists=_bytes(seen.lost),
        rim=points[edges].reshape(-1, 3),
    )


_known_difference = lru_cache(maxsize=16)(_difference)


def _bytes(shares: Scalars) -> Bytes:
    return np.round(255.0 * shares).astype(np.uint8)


def _pair_fields(model: LimitModel, name: str) -> tuple[Limit | None, DependentLimit | None]:
    """Return the limit of a joint's driver, and the joint's dependent limit; None without one."""
    dependent = model.dependents.get(name)
    return (None if dependent is None else model.limits.get(dependent.driver)), dependent


@lru_cache(maxsize=16)
def _pair_shares(
    old_driver: Limit | None,
    old_dependent: DependentLimit | None,
    new_driver: Limit | None,
    new_dependent: DependentLimit | None,
) -> PairShares | None:
    """Return the shares of pairs gained and lost; None if the drivers differ or are missing."""
    if (
        old_dependent is None
        or new_dependent is None
        or old_dependent.driver != new_dependent.driver
    ):
        return None
    old, new = PairLimit(old_driver, old_dependent), PairLimit(new_driver, new_dependent)
    added, removed = new.share_outside(old, PAIRS), old.share_outside(new, PAIRS)
    return PairShares(
        gained=added and new.volume(PAIRS) * added,
        lost=removed and old.volume(PAIRS) * removed,
        added=added,
        removed=removed,
    )


Candidate = tuple[str, LimitModel | str]
"""A label, and a model with a limit for the joint, or the reason why there is none."""


def _since(session: Session, name: str, before: LimitModel) -> LimitModel | str:
    present = session.scene.model
    if name not in before.limits:
        return "It had no limit then."
    same = before.limits[name] is present.limits[name]
    if same and _pair_fields(before, name) == _pair_fields(present, name):
        return "It has not changed since."
    return before


def _first(session: Session, name: str) -> Candidate:
    return "as it was opened", _since(session, name, session.first)


def _saved(session: Session, name: str) -> Candidate:
    label = "as it was saved"
    if session.saved is session.first:
        return label, "It was not saved since it was opened."
    return label, _since(session, name, session.saved)


def _mirrored(session: Session, name: str) -> Candidate:
    skeleton, model = session.scene.clip.skeleton, session.scene.model
    other = partner(name, skeleton.names)
    if other is None:
        return "the other side, mirrored", "This joint has no partner on the other side."
    label = f"{other}, mirrored"
    if other not in model.limits:
        return label, f"{other} has no limit."
    try:
        return label, _mirror(skeleton, model, other)
    except ValueError as error:
        return label, str(error)


@lru_cache(maxsize=8)
def _mirror(skeleton: Skeleton, model: LimitModel, name: str) -> LimitModel:
    """Return the model with the mirror image of a joint's limit for the joint's partner.

    If the joint's driver has a partner, that one's limit becomes the mirror image of the driver's,
    or is removed if the driver has none.
    """
    dependent = model.dependents.get(name)
    opposite = None if dependent is None else partner(dependent.driver, skeleton.names)
    if dependent is not None and opposite is not None:
        limits = {joint: limit for joint, limit in model.limits.items() if joint != opposite}
        if (driver := dependent.driver) in limits:
            limits[opposite] = partner_limit(skeleton, driver, limits[driver])[1]
        model = model.with_limits(limits, {name: dependent})
    return mirror_joint(skeleton, model, name)


def _other_file(session: Session, name: str) -> Candidate:
    if session.compared is None:
        return "another file", "Open one: it is compared with, and changes nothing."
    file, model = session.compared
    label = file.removesuffix(SUFFIX)
    clip = session.scene.clip
    try:
        ours = _for_clip(model, clip)
    except ValueError as error:
        return label, str(error)
    return label, ours if name in ours.limits else f"{label} has no limit for {name}."


@lru_cache(maxsize=2)
def _for_clip(model: LimitModel, clip: Clip) -> LimitModel:
    return model.for_skeleton(clip.skeleton, None, clip=clip.name)


OTHERS: dict[str, Callable[[Session, str], Candidate]] = {
    "opened": _first,
    "saved": _saved,
    "mirror": _mirrored,
    "file": _other_file,
}
"""Functions that return what a limit can be compared with, by name."""


def _find(session: Session, name: str, key: str) -> Candidate:
    label, other = OTHERS[key](session, name)
    above = session.scene.model.limits[name].relative_to
    if not isinstance(other, str) and other.limits[name].relative_to != above:
        return label, "It is measured from another joint."
    return label, other


def use_other(session: Session, request: FileRequest) -> Empty:
    """Compare with uploaded limits from now on; the page's limits do not change."""
    upload = session.take_upload(request.upload)
    if not upload.name.lower().endswith(SUFFIX):
        raise ValueError(f"{upload.name}: limits end in {SUFFIX}")
    session.compared = upload.name, read_upload(upload, SUFFIX, load_limits)
    return Empty()
