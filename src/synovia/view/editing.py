"""Edits of limits at the page: made by pure functions, kept in a history, refused with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..io import limits_bytes
from ..io.files import atomic_write
from ..io.limits import SUFFIX
from ..mesh import DRAFT
from ..model import LimitModel
from ..skeleton import Skeleton, copy_limit, partner_limit
from ..skeleton.names import mirror_normal, mirrored_name
from .contents import bone_of, pictures
from .dependents import allow_here, detach, set_number_here
from .limit_edits import LIMIT_EDITS, new_cone_limit, refusal
from .messages import Request, flag, row
from .protocol import Download, Drawn, DrawnStep, EdgeRefusal, Exists, Refusal, Saved, State, Step
from .session import Limits, Scene, Session, limit_to_edit, with_limits

WholeEdit = Callable[[Scene, Limits, Request], Limits]
ModelEdit = Callable[[Scene, LimitModel, Request], LimitModel]


def edit_limits(session: Session, request: Request) -> Drawn | State | Refusal | EdgeRefusal:
    """Return the pictures of a joint's limit after an edit, and what can be undone.

    `edit` names one of `LIMIT_EDITS`, `WHOLE_EDITS` or `MODEL_EDITS`; edits of one `stroke` are
    undone together. Where an edit is not allowed the limit stays as it is, and the answer is the
    reason, `refused`, with the `edge` of a cone that is at fault.
    """
    name, kind, stroke = request["joint"], request["edit"], request.get("stroke")
    if kind not in {*LIMIT_EDITS, *WHOLE_EDITS, *MODEL_EDITS}:
        known = ", ".join([*LIMIT_EDITS, *WHOLE_EDITS, *MODEL_EDITS])
        raise ValueError(f"edit must be one of {known}, got {kind!r:.60}")

    def with_edit(model: LimitModel) -> LimitModel:
        if kind in MODEL_EDITS:
            return MODEL_EDITS[kind](session.scene, model, request)
        limits = model.limits
        if kind in WHOLE_EDITS:
            return with_limits(model, WHOLE_EDITS[kind](session.scene, limits, request))
        limit = LIMIT_EDITS[kind](limit_to_edit(limits, request["joint"]), request)
        return with_limits(model, {**limits, name: limit})

    try:
        session.edit_model(with_edit, f"{kind.replace('-', ' ')}, {name}", stroke)
    except ValueError as error:
        return {**refusal(error), **session.state()}
    return _edit_answer(session, name)


def undo(session: Session, request: Request) -> DrawnStep | Step:
    """Return what was undone, and the pictures of the joint that the page has picked."""
    return _history_answer(session, session.undo(), request)


def redo(session: Session, request: Request) -> DrawnStep | Step:
    """Return what was done again, and the pictures of the joint that the page has picked."""
    return _history_answer(session, session.redo(), request)


def _history_answer(session: Session, what: str, request: Request) -> DrawnStep | Step:
    return {"what": what, **_edit_answer(session, request["joint"])}


def _edit_answer(session: Session, name: str | None) -> Drawn | State:
    if name is None or name not in session.scene.model.limits:
        return session.state()
    return {**pictures(session.scene, name, DRAFT), **session.state()}


def add_mirrored(scene: Scene, model: LimitModel, request: Request) -> LimitModel:
    """Return the model with a joint's limit on the other side, too, as a mirror shows it.

    What it depends on is mirrored with it: the other joint depends on the driver's partner, or on
    the same driver where that is in the middle. ValueError where there is no such driver.
    """
    return mirror_joint(scene.clip.skeleton, model, request["joint"])


def mirror_joint(skeleton: Skeleton, model: LimitModel, name: str) -> LimitModel:
    """Return the model with the limit of a joint's partner as a mirror shows that of the joint."""
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


def add_copy(scene: Scene, limits: Limits, request: Request) -> Limits:
    """Return the limits with that of a joint for the joint `to`, too."""
    to = scene.clip.skeleton.names[scene.clip.skeleton.index(request["to"])]
    if to == request["joint"]:
        raise ValueError(f"{to} has this limit already: choose another joint")
    limit = copy_limit(scene.clip.skeleton, to, limit_to_edit(limits, request["joint"]))
    return {**limits, to: limit}


def add_cone(scene: Scene, limits: Limits, request: Request) -> Limits:
    """Return the limits with a new cone for a joint, around where its bone is at `rotation`."""
    skeleton, name = scene.clip.skeleton, request["joint"]
    cone = new_cone_limit(row(request, "rotation", 4), bone_of(scene, skeleton.index(name)))
    return {**limits, name: copy_limit(skeleton, name, cone)}


def remove_limit(scene: Scene, limits: Limits, request: Request) -> Limits:
    """Return the limits without that of a joint."""
    limit_to_edit(limits, request["joint"])
    return {name: limit for name, limit in limits.items() if name != request["joint"]}


WHOLE_EDITS: dict[str, WholeEdit] = {
    "copy": add_copy,
    "draw": add_cone,
    "remove": remove_limit,
}
"""What can be done to the limits of all joints, by name."""
MODEL_EDITS: dict[str, ModelEdit] = {
    "mirror": add_mirrored,
    "number-here": set_number_here,
    "allow-here": allow_here,
    "detach": detach,
}
"""What can be done to limits and to what they depend on, by name."""


# Saving at the page: where the command line says, or beside it, and nowhere else.


LONGEST_NAME = 120
"""Characters of a file's name, its suffix not counted."""
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\ud800-\udfff]')
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def save(session: Session, request: Request) -> Saved | Exists | Refusal:
    """Return that the limits are saved, or `exists` or `refused`: what is in the way.

    `as` is a name beside the present file, or null for that file itself. A file that was there
    before, or that somebody else has changed since, is replaced only with `overwrite`.
    """
    overwrite = flag(request, "overwrite")
    try:
        path = _check_link(_save_path(session.file, request["as"]))
        why = session.in_the_way(path, overwrite=overwrite)
        if why is not None:
            return {"exists": path.name, "changed": why == "changed", **session.state()}
        session.save(write_limits, path)
    except (OSError, ValueError) as error:
        return {"refused": _reason(error), **session.state()}
    return {"saved": path.name, **session.state()}


def write_limits(model: LimitModel, path: Path) -> None:
    """Write limits to a file, whole or not at all, and never through a link."""
    atomic_write(path, limits_bytes(model, str(path)), follow=False)


def recover(session: Session, request: Request) -> State | Refusal:
    """Return whether limits are saved, after edits of last time were brought back or removed."""
    restore, leftover = flag(request, "restore"), session.leftover
    try:
        if leftover is None:
            raise ValueError("there are no edits of last time")
        if restore:
            session.restore(leftover)
        else:
            session.forget(leftover)
    except (OSError, ValueError) as error:
        return {"refused": _reason(error), **session.state()}
    return session.state()


def download(session: Session, request: Request) -> Download | Refusal:
    """Return the text of the limits file that would be saved, and a name for it."""
    name = f"limits{SUFFIX}" if session.file is None else session.file.name
    try:
        text = limits_bytes(session.model, name).decode()
    except ValueError as error:
        return {"refused": str(error), **session.state()}
    return {"name": name, "text": text, **session.state()}


def _save_path(file: Path | None, name: object) -> Path:
    if file is None:
        raise ValueError(
            f"there is no file to save to: synovia view -o FILE{SUFFIX} names one; or download it"
        )
    return file if name is None else sibling_path(file, name)


def sibling_path(file: Path, name: object) -> Path:
    """Return the limits file of this name in the directory of `file`, with its suffix.

    A name is a name: what could lead to another directory, or to a device, is refused.
    """
    if not isinstance(name, str):
        raise ValueError(f"a name must be text, got {name!r:.60}")
    bare = name.strip()
    stem = bare[: -len(SUFFIX)] if bare.lower().endswith(SUFFIX) else bare
    if not 0 < len(stem) <= LONGEST_NAME:
        raise ValueError(f"a name must have 1 to {LONGEST_NAME} characters, got {len(stem)}")
    if _FORBIDDEN.search(stem) or stem[0] in ".-~ " or stem[-1] in ". ":
        raise ValueError(f"a name must be one of a file, in the same directory, got {name!r:.60}")
    if _DEVICES.fullmatch(stem):
        raise ValueError(f"a name must not be one of a device, got {name!r:.60}")
    return file.with_name(f"{stem}{SUFFIX}")


def _check_link(path: Path) -> Path:
    """Return a path that is no link: where one leads was not said on the command line."""
    if path.is_symlink():
        raise ValueError(f"{path.name} is a link to elsewhere, and is not followed")
    return path


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
