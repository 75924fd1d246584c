"""Session: what all pages of a server share, which is a scene whose limits are edited."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ..limit import Limit
from ..model import LimitModel
from .history import History, Version
from .protocol import State
from .scene import Scene
from .source import edited_source

Limits = Mapping[str, Limit]
REST = 0.1
"""Seconds without a change after which nobody drags."""


def limit_to_edit(limits: Limits, name: str) -> Limit:
    """Return the limit of a joint, which must have one."""
    if name not in limits:
        raise ValueError(f"{name} has no limit to edit")
    return limits[name]


class Session:
    """A scene, the history of its limits, and where they are saved.

    Pages edit it from threads of their own.
    """

    def __init__(self, scene: Scene, save_to: Path | None = None) -> None:
        self._scene = scene
        self._history = History(Version(scene.model.limits))
        self._lock = threading.Lock()
        self._opened = self._saved = scene.model.limits
        self._changes = 0
        self._changed_at = -REST
        self._written: set[Path] = set()
        self._file = save_to

    @property
    def scene(self) -> Scene:
        """The scene with its present limits."""
        return self._scene

    @property
    def file(self) -> Path | None:
        """Where the limits are saved; without it they can only be downloaded."""
        return self._file

    @property
    def unsaved(self) -> bool:
        """Whether the limits are others than those that were given, or saved last."""
        return self._scene.model.limits != self._saved

    @property
    def changes(self) -> int:
        """How often there was something new for all pages: an edit, a step back, a save."""
        return self._changes

    @property
    def model(self) -> LimitModel:
        """The limits as they were given, by their own names, with what was edited since."""
        return edited_source(self._scene, self._opened)

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

    def save(self, write: Callable[[LimitModel, Path], None], path: Path) -> None:
        """Let `write` save the limits at a path, which is where they are saved from now on.

        If it raises, they stay unsaved.
        """
        with self._lock:
            write(self.model, path)
            self._file, self._saved = path, self._scene.model.limits
            self._written.add(path)
            self._changes += 1

    def wrote(self, path: Path) -> bool:
        """Tell whether the file at a path is there because it was saved here."""
        return path in self._written

    def rest(self) -> None:
        """Return when the limits have not changed for a moment."""
        while (left := self._changed_at + REST - time.monotonic()) > 0.0:
            time.sleep(left)

    def state(self) -> State:
        """Return what pages show of it: limited joints, what can be undone, where it is saved."""
        history = self._history
        return {
            "limited": self._scene.limited,
            "measuredFrom": self._scene.measured_from,
            "undo": history.present.what if history.past else None,
            "redo": history.future[0].what if history.future else None,
            "file": None if self._file is None else str(self._file),
            "unsaved": self.unsaved,
        }

    def _turn_to(self, history: History) -> None:
        skeleton = self._scene.clip.skeleton
        self._scene = replace(self._scene, model=LimitModel(history.present.limits, skeleton))
        self._history = history
        self._changes += 1
        self._changed_at = time.monotonic()
