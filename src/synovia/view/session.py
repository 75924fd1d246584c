"""Session: what all pages of a server share, which is a scene whose limits are edited."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..limit import Limit
from ..model import LimitModel
from .history import History, Version
from .scene import Scene

Limits = Mapping[str, Limit]


class Session:
    """A scene, and the history of its limits. Pages edit it from threads of their own."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._history = History(Version(scene.model.limits))
        self._lock = threading.Lock()

    @property
    def scene(self) -> Scene:
        """The scene with its present limits."""
        return self._scene

    def edit(self, edited: Callable[[Limits], Limits], what: str, stroke: str | None) -> None:
        """Let a pure function make new limits of the present ones; if it raises, nothing changed.

        Edits of one `stroke`, such as a drag, are undone together.
        """
        with self._lock:
            limits = edited(self._history.present.limits)
            self._turn_to(self._history.done(Version(limits, what, stroke)))

    def undo(self) -> str:
        """Go back one step, and return what it was."""
        with self._lock:
            what = self._history.present.what
            self._turn_to(self._history.undone())
            return what

    def redo(self) -> str:
        """Go on one step that was undone, and return what it is."""
        with self._lock:
            self._turn_to(self._history.redone())
            return self._history.present.what

    def state(self) -> dict[str, Any]:
        """Return what pages show of it: which joints have limits, and what can be undone."""
        history = self._history
        return {
            "limited": self._scene.limited,
            "measuredFrom": self._scene.measured_from,
            "undo": history.present.what if history.past else None,
            "redo": history.future[0].what if history.future else None,
        }

    def _turn_to(self, history: History) -> None:
        skeleton = self._scene.clip.skeleton
        self._scene = replace(self._scene, model=LimitModel(history.present.limits, skeleton))
        self._history = history
