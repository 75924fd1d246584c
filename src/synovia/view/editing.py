"""Requests that edit, undo, save and recover limits."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from ..io import limits_bytes
from ..io.files import atomic_write
from ..io.limits import SUFFIX
from ..mesh import DRAFT
from ..model import LimitModel
from ..schema import FLAT, Rotation
from ..skeleton import Skeleton, copy_limit, partner_limit
from ..skeleton.names import mirror_normal, mirrored_name
from .dependents import AllowHere, Detach, SetNumberHere
from .display import Picture, bone_of, pictures
from .families import Making, Refit, describe_choice
from .limit_edits import (
    AddPoint,
    AddSample,
    Brush,
    DeletePoint,
    ModelEdit,
    MovePoint,
    MoveVisible,
    Relax,
    SetHingeEnd,
    SetNumber,
    Settle,
    Simplify,
    Smooth,
    Twist,
    new_cone_limit,
)
from .messages import Empty
from .scene import Scene, limit_to_edit, with_limits
from .session import Session


@dataclass(frozen=True, kw_only=True)
class Mirror(ModelEdit):
    """Give the joint's partner the mirrored limit.

    If it depends on a driver, the partner depends on the driver's partner, or on the same driver
    if that is in the middle. ValueError if there is no such driver.
    """

    edit: Literal["mirror"]

    def change(self, scene: Scene, model: LimitModel, name: str) -> LimitModel:
        return mirror_joint(scene.clip.skeleton, model, name)


@dataclass(frozen=True, kw_only=True)
class Copy(ModelEdit):
    """Give another joint the limit."""

    edit: Literal["copy"]
    to: str

    def change(self, scene: Scene, model: LimitModel, name: str) -> LimitModel:
        skeleton = scene.clip.skeleton
        skeleton.index(self.to)
        if self.to == name:
            raise ValueError(f"{self.to} has this limit already: choose another joint")
        limit = copy_limit(skeleton, self.to, limit_to_edit(model.limits, name))
        return with_limits(model, {**model.limits, self.to: limit})


@dataclass(frozen=True, kw_only=True)
class Draw(ModelEdit):
    """Draw a new cone around the direction of the bone at a rotation."""

    edit: Literal["draw"]
    rotation: Rotation

    def change(self, scene: Scene, model: LimitModel, name: str) -> LimitModel:
        skeleton = scene.clip.skeleton
        cone = new_cone_limit(self.rotation, bone_of(scene, skeleton.index(name)))
        return with_limits(model, {**model.limits, name: copy_limit(skeleton, name, cone)})


@dataclass(frozen=True, kw_only=True)
class Remove(ModelEdit):
    """Remove the limit."""

    edit: Literal["remove"]

    def change(self, scene: Scene, model: LimitModel, name: str) -> LimitModel:
        limit_to_edit(model.limits, name)
        kept = {other: limit for other, limit in model.limits.items() if other != name}
        return with_limits(model, kept)


Edit = (
    MovePoint
    | AddPoint
    | DeletePoint
    | MoveVisible
    | Twist
    | Smooth
    | Relax
    | Simplify
    | Brush
    | Settle
    | AddSample
    | SetNumber
    | SetHingeEnd
    | Mirror
    | Copy
    | Draw
    | Remove
    | SetNumberHere
    | AllowHere
    | Detach
    | Refit
)
"""An edit of a limit."""


@dataclass(frozen=True, kw_only=True)
class Stroke:
    """Joint and stroke of an edit; edits of one stroke are undone together."""

    joint: str
    stroke: str | None = None


@dataclass(frozen=True, kw_only=True)
class EditRequest(Stroke):
    """A request to edit the limit of a joint."""

    edit: Annotated[Edit, FLAT]


@dataclass(frozen=True, kw_only=True)
class StepRequest:
    """A request to undo or redo, and for the picture of the picked joint, if there is one."""

    joint: str | None


@dataclass(frozen=True, kw_only=True)
class Edited:
    """The limits have changed."""

    what: str
    """What was done, undone or redone."""


@dataclass(frozen=True, kw_only=True)
class EditedLimit(Edited, Picture):
    """The same, and the picture of the picked joint's limit."""


@dataclass(frozen=True, kw_only=True)
class Refitted(EditedLimit, Making):
    """The same of a limit that was fitted or converted."""


def edit_limits(session: Session, request: EditRequest) -> Edited | EditedLimit | Refitted:
    """Edit the limit of a joint, and return its picture."""
    name, edit = request.joint, request.edit
    label = edit.label(name)
    session.edit(lambda model: edit.change(session.scene, model, name), label, request.stroke)
    answer = _describe_edit(session, name, label)
    if not isinstance(edit, Refit):
        return answer
    return Refitted(**vars(answer), **vars(describe_choice(session.scene, name)))


def undo(session: Session, request: StepRequest) -> Edited | EditedLimit:
    """Undo a step, and return its label and the picture of the picked joint."""
    return _describe_edit(session, request.joint, session.undo())


def redo(session: Session, request: StepRequest) -> Edited | EditedLimit:
    """Redo a step, and return its label and the picture of the picked joint."""
    return _describe_edit(session, request.joint, session.redo())


def _describe_edit(session: Session, name: str | None, what: str) -> Edited | EditedLimit:
    if name is None or name not in session.scene.model.limits:
        return Edited(what=what)
    return EditedLimit(what=what, **vars(pictures(session.scene, name, DRAFT)))


def mirror_joint(skeleton: Skeleton, model: LimitModel, name: str) -> LimitModel:
    """Return the model with the mirrored limit of a joint for its partner."""
    other, limit = partner_limit(skeleton, name, limit_to_edit(model.limits, name))
    dependents = {joint: value for joint, value in model.dependents.items() if joint != other}
    limits = {**model.limits, other: limit}
    dependent = model.dependents.get(name)
    if dependent is None:
        return model.with_limits(limits, dependents)
    try:
        driver = mirrored_name(skeleton, dependent.driver)
        mirrored = replace(dependent.mirror(mirror_normal(skeleton), driver), limit=limit)
        return model.with_limits(limits, {**dependents, other: mirrored})
    except ValueError as error:
        raise ValueError(
            f"{name} depends on {dependent.driver}, which cannot be mirrored for {other}: {error}"
        ) from error


MAX_NAME = 120  # characters of a file's name without its suffix
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\ud800-\udfff]')
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class SaveRequest:
    """A request to save: to a name beside the file, or to the file itself."""

    as_: str | None
    overwrite: bool


@dataclass(frozen=True, kw_only=True)
class Saved:
    """The name under which limits were saved, or that of the file that is in the way."""

    saved: str | None = None
    exists: str | None = None
    """A file of this name that was not replaced."""
    changed: bool = False
    """True if others have changed that file since."""


def save(session: Session, request: SaveRequest) -> Saved:
    """Save the limits to the session's file, or to another name in the same directory.

    An existing file, or one that another program changed, is replaced only with `overwrite`.
    """
    if session.file is None:
        raise ValueError(
            f"there is no file to save to: synovia view -o FILE{SUFFIX} names one; or download it"
        )
    path = session.file if request.as_ is None else sibling_path(session.file, request.as_)
    if path.is_symlink():
        raise ValueError(f"{path.name} is a link to elsewhere, and is not followed")
    why = session.in_the_way(path, overwrite=request.overwrite)
    if why is not None:
        return Saved(exists=path.name, changed=why == "changed")
    session.save(write_limits, path)
    return Saved(saved=path.name)


def write_limits(model: LimitModel, path: Path) -> None:
    """Write limits to a file, whole or not at all, and never through a link."""
    atomic_write(path, limits_bytes(model, str(path)), follow=False)


@dataclass(frozen=True, kw_only=True)
class RecoverRequest:
    """A request to restore the unsaved edits of the last session, or to delete them."""

    restore: bool


def recover(session: Session, request: RecoverRequest) -> Empty:
    """Restore or delete the unsaved edits of the last session."""
    session.recover(restore=request.restore)
    return Empty()


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
