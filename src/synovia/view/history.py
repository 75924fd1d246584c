"""History: the versions that the limits went through at the page, to go back to and on again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from ..limit import Limit

MOST = 200
"""Steps that can be undone; older ones are forgotten."""


@dataclass(frozen=True, eq=False)
class Version:
    """All limits by joint, what made them so, and in which stroke of the mouse or keyboard."""

    limits: Mapping[str, Limit]
    what: str = ""
    stroke: str | None = None


@dataclass(frozen=True, eq=False)
class History:
    """The present version, those before it, oldest first, and those undone, the next one first."""

    present: Version
    past: tuple[Version, ...] = ()
    future: tuple[Version, ...] = ()

    def done(self, version: Version) -> Self:
        """Return the history with a new version; one of the same stroke replaces the last.

        The stroke goes by the name of its first edit.
        """
        if version.stroke is not None and version.stroke == self.present.stroke:
            same = replace(version, what=self.present.what)
            return replace(self, present=same, future=())
        return replace(self, present=version, past=(*self.past, self.present)[-MOST:], future=())

    def undone(self) -> Self:
        """Return the history one step back."""
        if not self.past:
            raise ValueError("there is nothing to undo")
        *past, last = self.past
        return replace(self, present=last, past=tuple(past), future=(self.present, *self.future))

    def redone(self) -> Self:
        """Return the history one step on again."""
        if not self.future:
            raise ValueError("there is nothing to redo")
        following, *future = self.future
        return replace(
            self, present=following, past=(*self.past, self.present), future=tuple(future)
        )
