"""Requests that edit, undo, save and recover limits."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..io import limits_bytes
from ..io.files import atomic_write
from ..io.limits import SUFFIX
from ..mesh import DRAFT
from ..model import LimitModel
from ..skeleton import Skeleton, copy_limit, partner_limit
from ..skeleton.names import mirror_normal, mirrored_name
from .dependents import allow_here, detach, set_number_here
from .display import bone_of, pictures
from .limit_edits import LIMIT_EDITS, new_cone_limit, refusal
from .protocol import Download, Drawn, DrawnStep, EdgeRefusal, Exists, Refusal, Saved, State, Step
from .protocol.requests import (
    Copy,
    Draw,
    EditRequest,
    EmptyRequest,
    Mirror,
    RecoverRequest,
    Remove,
    SaveRequest,
    StepRequest,
)
from .session import Limits, Scene, Session, limit_to_edit, with_limits

WholeEdit = Callable[[Scene, Limits, str, Any], Limits]
ModelEdit = Callable[[Scene, LimitModel, str, Any], LimitModel]


def edit_limits(session: Session, request: EditRequest) -> Drawn | State | Refusal | EdgeRefusal:
    """Edit the limit of a joint, and return its pictures and the state.

    Edits of one `stroke` are undone together. A refused edit changes nothing; the answer has the
    reason, and the edge of a reach cone that is at fault.
    """
    name, edit = request.joint, request.edit
    kind = edit.edit

    def with_edit(model: LimitModel) -> LimitModel:
        if kind in MODEL_EDITS:
            return MODEL_EDITS[kind](session.scene, model, name, edit)
        limits = model.limits
        if kind in WHOLE_EDITS:
            return with_limits(model, WHOLE_EDITS[kind](session.scene, limits, name, edit))
        limit = LIMIT_EDITS[kind](limit_to_edit(limits, name), edit)
        return with_limits(model, {**limits, name: limit})

    try:
        session.edit_model(with_edit, f"{kind.replace('-', ' ')}, {name}", request.stroke)
    except ValueError as error:
        return {**refusal(error), **session.state()}
    return _edit_answer(session, name)


def undo(session: Session, request: StepRequest) -> DrawnStep | Step:
    """Undo a step, and return its label and the pictures of the picked joint."""
    return _history_answer(session, session.undo(), request)


def redo(session: Session, request: StepRequest) -> DrawnStep | Step:
    """Redo a step, and return its label and the pictures of the picked joint."""
    return _history_answer(session, session.redo(), request)


def _history_answer(session: Session, what: str, request: StepRequest) -> DrawnStep | Step:
    return {"what": what, **_edit_answer(session, request.joint)}


def _edit_answer(session: Session, name: str | None) -> Drawn | State:
    if name is None or name not in session.scene.model.limits:
        return session.state()
    return {**pictures(session.scene, name, DRAFT), **session.state()}


def add_mirrored(scene: Scene, model: LimitModel, name: str, edit: Mirror) -> LimitModel:
    """Return the model with the mirrored limit of a joint for its partner.

    If it depends on a driver, the partner depends on the driver's partner, or on the same driver
    if that is in the middle. ValueError if there is no such driver.
    """
    return mirror_joint(scene.clip.skeleton, model, name)


def mirror_joint(skeleton: Skeleton, model: LimitModel, name: str) -> LimitModel:
    """Return the model with the mirrored limit of a joint for its partner."""
    other, limit = partner_limit(skeleton, name, limit_to_edit(model.limits, name))
    kept = {each: found for each, found in model.dependents.items() if each != other}
    mirrored = model.with_limits({**model.limits, other: limit}, kept)
    each = model.dependents.get(name)
    if each is None:
        return mirrored
    try:
        driver = mirrored_name(skeleton, each.driver)
        there = replace(each.mirror(mirror_normal(skeleton), driver), limit=limit)
        return mirrored.with_limits(mirrored.limits, {**kept, other: there})
    except ValueError as error:
        raise ValueError(
            f"{name} depends on {each.driver}, which cannot be mirrored for {other}: {error}"
        ) from error


def add_copy(scene: Scene, limits: Limits, name: str, edit: Copy) -> Limits:
    """Return the limits with a copy of a joint's limit for another joint."""
    to = scene.clip.skeleton.names[scene.clip.skeleton.index(edit.to)]
    if to == name:
        raise ValueError(f"{to} has this limit already: choose another joint")
    limit = copy_limit(scene.clip.skeleton, to, limit_to_edit(limits, name))
    return {**limits, to: limit}


def add_cone(scene: Scene, limits: Limits, name: str, edit: Draw) -> Limits:
    """Return the limits with a new reach cone, around the direction of the bone at a rotation."""
    skeleton = scene.clip.skeleton
    cone = new_cone_limit(edit.rotation, bone_of(scene, skeleton.index(name)))
    return {**limits, name: copy_limit(skeleton, name, cone)}


def remove_limit(scene: Scene, limits: Limits, name: str, edit: Remove) -> Limits:
    """Return the limits without that of a joint."""
    limit_to_edit(limits, name)
    return {other: limit for other, limit in limits.items() if other != name}


WHOLE_EDITS: dict[str, WholeEdit] = {
    "copy": add_copy,
    "draw": add_cone,
    "remove": remove_limit,
}
"""Edits of the limits of all joints, by the name of the request."""
MODEL_EDITS: dict[str, ModelEdit] = {
    "mirror": add_mirrored,
    "number-here": set_number_here,
    "allow-here": allow_here,
    "detach": detach,
}
"""Edits of limits and of their dependence on drivers, by the name of the request."""

MAX_NAME = 120  # characters of a file's name without its suffix
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\ud800-\udfff]')
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def save(session: Session, request: SaveRequest) -> Saved | Exists | Refusal:
    """Save the limits to the session's file, or to another name in the same directory.

    An existing file, or one that another program changed, is replaced only with `overwrite`.
    """
    try:
        path = _check_link(_save_path(session.file, request.as_))
        why = session.in_the_way(path, overwrite=request.overwrite)
        if why is not None:
            return {"exists": path.name, "changed": why == "changed", **session.state()}
        session.save(write_limits, path)
    except (OSError, ValueError) as error:
        return {"refused": _reason(error), **session.state()}
    return {"saved": path.name, **session.state()}


def write_limits(model: LimitModel, path: Path) -> None:
    """Write limits to a file, whole or not at all, and never through a link."""
    atomic_write(path, limits_bytes(model, str(path)), follow=False)


def recover(session: Session, request: RecoverRequest) -> State | Refusal:
    """Restore or delete the unsaved edits of the last session, and return the state."""
    leftover = session.leftover
    try:
        if leftover is None:
            raise ValueError("there are no edits of last time")
        if request.restore:
            session.restore(leftover)
        else:
            session.forget(leftover)
    except (OSError, ValueError) as error:
        return {"refused": _reason(error), **session.state()}
    return session.state()


def download(session: Session, request: EmptyRequest) -> Download | Refusal:
    """Return the text of the limits file, and a name for it."""
    name = f"limits{SUFFIX}" if session.file is None else session.file.name
    try:
        text = limits_bytes(session.model, name).decode()
    except ValueError as error:
        return {"refused": str(error), **session.state()}
    return {"name": name, "text": text, **session.state()}


def _save_path(file: Path | None, name: str | None) -> Path:
    if file is None:
        raise ValueError(
            f"there is no file to save to: synovia view -o FILE{SUFFIX} names one; or download it"
        )
    return file if name is None else sibling_path(file, name)


def sibling_path(file: Path, name: str) -> Path:
    """Return the limits file of this name in the directory of `file`, with its suffix.

    Names that lead to another directory, or to a device, are refused.
    """
    bare = name.strip()
    stem = bare[: -len(SUFFIX)] if bare.lower().endswith(SUFFIX) else bare
    if not 0 < len(stem) <= MAX_NAME:
        raise ValueError(f"a name must have 1 to {MAX_NAME} characters, got {len(stem)}")
    if _FORBIDDEN.search(stem) or stem[0] in ".-~ " or stem[-1] in ". ":
        raise ValueError(f"a name must be one of a file, in the same directory, got {name!r:.60}")
    if _DEVICES.fullmatch(stem):
        raise ValueError(f"a name must not be one of a device, got {name!r:.60}")
    return file.with_name(f"{stem}{SUFFIX}")


def _check_link(path: Path) -> Path:
    """Return the path; ValueError for a link, whose target the command line did not name."""
    if path.is_symlink():
        raise ValueError(f"{path.name} is a link to elsewhere, and is not followed")
    return path


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
