"""Two limits of one joint: before and after, left and right, ours and those of another file."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ..arrays import Bytes, Scalars
from ..io import load_limits
from ..io.limits import SUFFIX
from ..limit import Limit, gained_and_lost
from ..mesh import sheet_difference
from ..skeleton import Skeleton, partner, partner_limit
from .contents import bone_of
from .files import read_upload
from .messages import Request, word
from .protocol import Comparison, Other, Refusal, State
from .session import Session

NO_COMPARISON: Comparison = {
    "others": [],
    "to": None,
    "gained": 0.0,
    "lost": 0.0,
    "directions": np.zeros((0, 3)),
    "faces": np.zeros((0, 3), np.int64),
    "gainedTwists": np.zeros(0, np.uint8),
    "lostTwists": np.zeros(0, np.uint8),
    "rim": np.zeros((0, 3)),
}


def compare_limits(session: Session, request: Request) -> Comparison:
    """Return what a joint's limit can be compared with, and what is gained and lost beside one.

    That is the one that `to` names, or none. Shares are of all rotations; the picture is of the
    directions of the bone.
    """
    name, to = word(request, "joint"), request["to"]
    limits = session.scene.model.limits
    if name not in limits:
        raise ValueError(f"{name} has no limit to compare")
    found = {key: _find(session, name, key) for key in OTHERS}
    others: list[Other] = [
        {"name": key, "label": label, "why": None if isinstance(other, Limit) else other}
        for key, (label, other) in found.items()
    ]
    if to is None:
        return {**NO_COMPARISON, "others": others}
    if to not in found:
        raise ValueError(f"to must be one of {', '.join(found)}, got {to!r:.60}")
    other = found[to][1]
    if not isinstance(other, Limit):
        return {**NO_COMPARISON, "others": others}
    bone = bone_of(session.scene, session.scene.clip.skeleton.index(name))
    return {**_compare(other, limits[name], tuple(bone.tolist())), "others": others, "to": to}


@lru_cache(maxsize=16)
def _compare(old: Limit, new: Limit, bone: tuple[float, ...]) -> Comparison:
    gained, lost = gained_and_lost(old, new)
    seen = sheet_difference(old, new, np.array(bone))
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


def _bytes(shares: Scalars) -> Bytes:
    return np.round(255.0 * shares).astype(np.uint8)


# What to compare with: each a label, and a limit for the joint or the reason why there is none.


Found = tuple[str, Limit | str]


def _first(session: Session, name: str) -> Found:
    label, limit = "as it was opened", session.first.get(name)
    if limit is session.scene.model.limits[name]:
        return label, "It has not changed since."
    return label, limit or "It had no limit then."


def _saved(session: Session, name: str) -> Found:
    label, limit = "as it was saved", session.saved.get(name)
    if session.saved is session.first:
        return label, "It was not saved since it was opened."
    if limit is session.scene.model.limits[name]:
        return label, "It has not changed since."
    return label, limit or "It had no limit then."


def _mirrored(session: Session, name: str) -> Found:
    skeleton = session.scene.clip.skeleton
    other, limits = partner(name, skeleton.names), session.scene.model.limits
    if other is None:
        return "the other side, mirrored", "This joint has no partner on the other side."
    label = f"{other}, mirrored"
    if other not in limits:
        return label, f"{other} has no limit."
    try:
        return label, _mirror(skeleton, other, limits[other])
    except ValueError as error:
        return label, str(error)


@lru_cache(maxsize=16)
def _mirror(skeleton: Skeleton, name: str, limit: Limit) -> Limit:
    return partner_limit(skeleton, name, limit)[1]


def _other_file(session: Session, name: str) -> Found:
    if session.compared is None:
        return "another file", "Open one: it is compared with, and changes nothing."
    file, model = session.compared
    label = file.removesuffix(SUFFIX)
    clip = session.scene.clip
    try:
        limit = model.for_skeleton(clip.skeleton, None, clip=clip.name).limits.get(name)
    except ValueError as error:
        return label, str(error)
    return label, limit or f"{label} has no limit for {name}."


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
    if isinstance(other, Limit) and other.relative_to != above:
        return label, "It is measured from another joint."
    return label, other


def use_other(session: Session, request: Request) -> State | Refusal:
    """Return the state, with limits that were sent to be compared with; nothing else changes."""
    upload = session.uploads.take(word(request, "upload"))
    try:
        if not upload.name.lower().endswith(SUFFIX):
            raise ValueError(f"{upload.name}: limits end in {SUFFIX}")
        session.compared = upload.name, read_upload(upload, SUFFIX, load_limits)
    except (OSError, ValueError) as error:
        return {"refused": str(error), **session.state()}
    return session.state()
