"""Edits of limits at the page: made by pure functions, kept in a history, refused with a reason."""

from __future__ import annotations

from collections.abc import Callable

from ..limit import Limit
from ..sides import copied_to, mirrored_over
from .cone_edits import CONE_EDITS, drawn, refusal
from .given import row
from .messages import Request
from .numbers import NUMBERED
from .protocol import Drawn, DrawnStep, EdgeRefusal, Refusal, State, Step
from .region import DRAFT
from .scene import Scene
from .sculpting import SCULPTED
from .session import Limits, Session, limit_to_edit
from .showing import bone_of, pictures

Edit = Callable[[Limit, Request], Limit]
WholeEdit = Callable[[Scene, Limits, Request], Limits]


def edited(session: Session, asked: Request) -> Drawn | State | Refusal | EdgeRefusal:
    """Return the pictures of a joint's limit after an edit, and what can be undone.

    `edit` names one of `EDITS` or `WHOLE_EDITS`; edits of one `stroke` are undone together. Where
    an edit is not allowed the limit stays as it is, and the answer is the reason, `refused`, with
    the `edge` of a cone that is at fault.
    """
    name, kind, stroke = asked["joint"], asked["edit"], asked.get("stroke")
    if kind not in EDITS and kind not in WHOLE_EDITS:
        known = ", ".join([*EDITS, *WHOLE_EDITS])
        raise ValueError(f"edit must be one of {known}, got {kind!r:.60}")

    def with_edit(limits: Limits) -> Limits:
        if kind in WHOLE_EDITS:
            return WHOLE_EDITS[kind](session.scene, limits, asked)
        return {**limits, name: EDITS[kind](limit_to_edit(limits, asked["joint"]), asked)}

    try:
        session.edit(with_edit, f"{kind.replace('-', ' ')}, {name}", stroke)
    except ValueError as error:
        return {**refusal(error), **session.state()}
    return _told(session, name)


def undone(session: Session, asked: Request) -> DrawnStep | Step:
    """Return what was undone, and the pictures of the joint that the page has picked."""
    return _stepped(session, session.undo(), asked)


def redone(session: Session, asked: Request) -> DrawnStep | Step:
    """Return what was done again, and the pictures of the joint that the page has picked."""
    return _stepped(session, session.redo(), asked)


def _stepped(session: Session, what: str, asked: Request) -> DrawnStep | Step:
    return {"what": what, **_told(session, asked["joint"])}


def _told(session: Session, name: str | None) -> Drawn | State:
    if name is None or name not in session.scene.model.limits:
        return session.state()
    return {**pictures(session.scene, name, DRAFT), **session.state()}


def mirrored(scene: Scene, limits: Limits, asked: Request) -> Limits:
    """Return the limits with that of a joint on the other side, too, as a mirror shows it."""
    other, limit = mirrored_over(
        scene.clip.skeleton, asked["joint"], limit_to_edit(limits, asked["joint"])
    )
    return {**limits, other: limit}


def copied(scene: Scene, limits: Limits, asked: Request) -> Limits:
    """Return the limits with that of a joint for the joint `to`, too."""
    to = scene.clip.skeleton.names[scene.clip.skeleton.index(asked["to"])]
    if to == asked["joint"]:
        raise ValueError(f"{to} has this limit already: choose another joint")
    limit = copied_to(scene.clip.skeleton, to, limit_to_edit(limits, asked["joint"]))
    return {**limits, to: limit}


def with_cone(scene: Scene, limits: Limits, asked: Request) -> Limits:
    """Return the limits with a new cone for a joint, around where its bone is at `rotation`."""
    skeleton, name = scene.clip.skeleton, asked["joint"]
    cone = drawn(row(asked, "rotation", 4), bone_of(scene, skeleton.index(name)))
    return {**limits, name: copied_to(skeleton, name, cone)}


def removed(scene: Scene, limits: Limits, asked: Request) -> Limits:
    """Return the limits without that of a joint."""
    limit_to_edit(limits, asked["joint"])
    return {name: limit for name, limit in limits.items() if name != asked["joint"]}


EDITS: dict[str, Edit] = {**CONE_EDITS, **SCULPTED, **NUMBERED}
"""What can be done to a limit, by name."""

WHOLE_EDITS: dict[str, WholeEdit] = {
    "mirror": mirrored,
    "copy": copied,
    "draw": with_cone,
    "remove": removed,
}
"""What can be done to the limits of all joints, by name."""

EDITED = {"edit": edited, "undo": undone, "redo": redone}
"""What may be asked for, by name."""
