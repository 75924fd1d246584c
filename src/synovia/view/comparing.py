"""Two limits of one joint: before and after, left and right, ours and those of another file.

Limits that depend on another joint are compared as that one is in a pose.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ..arrays import Bytes, Scalars
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
from .files import read_upload
from .poses import limit_in_pose, pose_from
from .protocol import Comparison, Other, PairShares, Refusal, State
from .protocol.requests import CompareRequest, FileRequest
from .session import Scene, Session

NO_COMPARISON: Comparison = {
    "others": [],
    "to": None,
    "gained": 0.0,
    "lost": 0.0,
    "drivers": [],
    "pairs": None,
    "directions": np.zeros((0, 3)),
    "faces": np.zeros((0, 3), np.int64),
    "gainedTwists": np.zeros(0, np.uint8),
    "lostTwists": np.zeros(0, np.uint8),
    "rim": np.zeros((0, 3)),
}
PAIRS = 10_000
"""Pairs of either side that are looked at: a share of 1 % is known to 0.1 points."""


def compare_limits(session: Session, request: CompareRequest) -> Comparison:
    """Return what a joint's limit can be compared with, and what is gained and lost beside one.

    That is the one that `to` names, or none. Shares are of all rotations; the picture is of the
    directions of the bone. Where a limit depends on another joint, both are what they are in the
    pose of the request; if both depend on the same one, shares of pairs are told as well.
    """
    scene, name, to = session.scene, request.joint, request.to
    if name not in scene.model.limits:
        raise ValueError(f"{name} has no limit to compare")
    found = {key: _find(session, name, key) for key in OTHERS}
    others: list[Other] = [
        {"name": key, "label": label, "why": other if isinstance(other, str) else None}
        for key, (label, other) in found.items()
    ]
    if to is None:
        return {**NO_COMPARISON, "others": others}
    other = found[to][1]
    if isinstance(other, str):
        return {**NO_COMPARISON, "others": others}
    return {**_compare_models(scene, other, name, request), "others": others, "to": to}


def _compare_models(
    scene: Scene, other: LimitModel, name: str, request: CompareRequest
) -> Comparison:
    """Return how a joint's limit differs from the one that another model has for it."""
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
    return {
        **_difference(old, new, bone, HERE),
        "drivers": sorted(set(drivers)),
        "pairs": pairs,
    }


def _difference(
    old: Limit, new: Limit, bone: tuple[float, ...], quality: Quality = COMPARED
) -> Comparison:
    gained, lost = gained_and_lost(old, new)
    seen = sheet_difference(old, new, np.array(bone), quality)
    points, edges = seen.old_rim
    return {
        **NO_COMPARISON,
        "gained": gained,
        "lost": lost,
        "directions": seen.mesh.vertices,
        "faces": seen.mesh.triangles,
        "gainedTwists": _bytes(seen.gained),
        "lostTwists": _bytes(seen.lost),
        "rim": points[edges].reshape(-1, 3),
    }


_known_difference = lru_cache(maxsize=16)(_difference)


def _bytes(shares: Scalars) -> Bytes:
    return np.round(255.0 * shares).astype(np.uint8)


# Pairs with the joint that both limits depend on.


def _pair_fields(model: LimitModel, name: str) -> tuple[Limit | None, DependentLimit | None]:
    """Return the limit of a joint's driver, and the joint's own that depends on it, if it does."""
    each = model.dependents.get(name)
    return (None if each is None else model.limits.get(each.driver)), each


@lru_cache(maxsize=16)
def _pair_shares(
    old_driver: Limit | None,
    old_dependent: DependentLimit | None,
    new_driver: Limit | None,
    new_dependent: DependentLimit | None,
) -> PairShares | None:
    """Return what pairs gain and lose; None where they do not depend on one joint."""
    if (
        old_dependent is None
        or new_dependent is None
        or old_dependent.driver != new_dependent.driver
    ):
        return None
    old, new = PairLimit(old_driver, old_dependent), PairLimit(new_driver, new_dependent)
    added, removed = new.share_outside(old, PAIRS), old.share_outside(new, PAIRS)
    return {
        "gained": added and new.volume(PAIRS) * added,
        "lost": removed and old.volume(PAIRS) * removed,
        "added": added,
        "removed": removed,
    }


# What to compare with: each a label, and a model with a limit for the joint, or the reason why
# there is none.


Found = tuple[str, LimitModel | str]


def _since(session: Session, name: str, before: LimitModel) -> LimitModel | str:
    present = session.scene.model
    if name not in before.limits:
        return "It had no limit then."
    same = before.limits[name] is present.limits[name]
    if same and _pair_fields(before, name) == _pair_fields(present, name):
        return "It has not changed since."
    return before


def _first(session: Session, name: str) -> Found:
    return "as it was opened", _since(session, name, session.first)


def _saved(session: Session, name: str) -> Found:
    label = "as it was saved"
    if session.saved is session.first:
        return label, "It was not saved since it was opened."
    return label, _since(session, name, session.saved)


def _mirrored(session: Session, name: str) -> Found:
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
    """Return the model with the limit of a joint's partner as a mirror shows the joint's.

    Its driver is mirrored, too, if it has a partner, which then has no limit where it has none.
    """
    each = model.dependents.get(name)
    beside = None if each is None else partner(each.driver, skeleton.names)
    if each is not None and beside is not None:
        limits = {joint: limit for joint, limit in model.limits.items() if joint != beside}
        if each.driver in limits:
            limits[beside] = partner_limit(skeleton, each.driver, limits[each.driver])[1]
        model = model.with_limits(limits, {name: each})
    return mirror_joint(skeleton, model, name)


def _other_file(session: Session, name: str) -> Found:
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


OTHERS: dict[str, Callable[[Session, str], Found]] = {
    "opened": _first,
    "saved": _saved,
    "mirror": _mirrored,
    "file": _other_file,
}
"""What a limit can be compared with, by name."""


def _find(session: Session, name: str, key: str) -> Found:
    label, other = OTHERS[key](session, name)
    above = session.scene.model.limits[name].relative_to
    if not isinstance(other, str) and other.limits[name].relative_to != above:
        return label, "It is measured from another joint."
    return label, other


def use_other(session: Session, request: FileRequest) -> State | Refusal:
    """Return the state, with limits that were sent to be compared with; nothing else changes."""
    upload = session.uploads.take(request.upload)
    try:
        if not upload.name.lower().endswith(SUFFIX):
            raise ValueError(f"{upload.name}: limits end in {SUFFIX}")
        session.compared = upload.name, read_upload(upload, SUFFIX, load_limits)
    except (OSError, ValueError) as error:
        return {"refused": str(error), **session.state()}
    return session.state()
