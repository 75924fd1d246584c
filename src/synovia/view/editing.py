"""Edits of limits at the page: made by pure functions, kept in a history, refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..limit import Limit
from ..shapes import ReachCone
from ..shapes.cone_edit import move_point
from .messages import Answer, Request
from .numbers import NUMBERED
from .sculpting import SCULPTED
from .session import Limits, Session
from .showing import pictures

Edit = Callable[[Limit, Request], Limit]


def edited(session: Session, asked: Request) -> Answer:
    """Return the pictures of a joint's limit after an edit, and what can be undone.

    `edit` names one of `EDITS`; edits of one `stroke` are undone together. Where an edit is not
    allowed the limit stays as it is, and the answer is the reason, `refused`.
    """
    name, kind, stroke = asked["joint"], asked["edit"], asked.get("stroke")
    if kind not in EDITS:
        raise ValueError(f"edit must be one of {', '.join(EDITS)}, got {kind!r:.60}")
    if stroke is not None and not isinstance(stroke, str):
        raise ValueError(f"stroke must be a word or null, got {stroke!r:.60}")

    def with_edit(limits: Limits) -> Limits:
        if name not in limits:
            raise ValueError(f"{name} has no limit to edit")
        return {**limits, name: EDITS[kind](limits[name], asked)}

    try:
        session.edit(with_edit, f"{kind} of {name}", stroke)
    except ValueError as error:
        return {"refused": str(error), **session.state()}, {}
    return _told(session, name)


def undone(session: Session, asked: Request) -> Answer:
    """Return what was undone, and the pictures of the joint that the page has picked."""
    return _stepped(session, session.undo(), asked)


def redone(session: Session, asked: Request) -> Answer:
    """Return what was done again, and the pictures of the joint that the page has picked."""
    return _stepped(session, session.redo(), asked)


def _stepped(session: Session, what: str, asked: Request) -> Answer:
    name = asked["joint"]
    if name is None or name not in session.scene.model.limits:
        return {"what": what, **session.state()}, {}
    header, arrays = _told(session, name)
    return {"what": what, **header}, arrays


def _told(session: Session, name: str) -> Answer:
    header, arrays = pictures(session.scene, name)
    return {**header, **session.state()}, arrays


def _cone(limit: Limit) -> ReachCone:
    if not isinstance(limit.shape, ReachCone):
        raise ValueError(f"only a reach cone has points, got {limit.shape.name}")
    return limit.shape


def moved_point(limit: Limit, asked: Request) -> Limit:
    """Return the cone with point `index` in the direction `point`, as the reference sees it."""
    return replace(limit, shape=move_point(_cone(limit), asked["index"], np.array(asked["point"])))


EDITS: dict[str, Edit] = {"move-point": moved_point, **SCULPTED, **NUMBERED}
"""What can be done to a limit, by name."""

EDITED = {"edit": edited, "undo": undone, "redo": redone}
"""What may be asked for, by name."""
