"""The clips of a folder, each with how far it is outside, to choose between at the page."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..io import clip_suffix, load_clip
from ..model import LimitModel
from .files import human_source, model_for, show_clip
from .messages import Request, whole_number
from .protocol import ClipRow, Clips, Refusal, State
from .session import Session


@dataclass(frozen=True)
class Found:
    """How far a clip is outside its limits, at most and in how many of its frames; or why not."""

    worst_deg: float | None = None
    share: float | None = None
    error: str | None = None


class Folder:
    """Clips that the command line names, checked one after the other by a thread of its own."""

    def __init__(self, paths: Sequence[Path], names: Sequence[str]) -> None:
        self.paths, self.names = tuple(paths), tuple(names)
        self._found: dict[int, Found] = {}
        self._lock = threading.Lock()
        self._checked: LimitModel | None = None
        self._thread: threading.Thread | None = None

    def check(self, session: Session) -> bool:
        """Check the clips against the limits as they are now, unless that was done; tell if so."""
        with self._lock:
            running = self._thread is not None and self._thread.is_alive()
            if running or self._checked is session.scene.model:
                return running
            self._checked = session.scene.model
            self._found.clear()
            self._thread = threading.Thread(target=self._run, args=(session.model,), daemon=True)
            self._thread.start()
            return True

    def rows(self) -> list[ClipRow]:
        """Return the clips with what is known of them, the worst first, then those to come."""
        found = dict(self._found)
        order = sorted(range(len(self.paths)), key=lambda number: _rank(found.get(number)))
        return [
            {
                "number": number,
                "name": self.names[number],
                "worstDeg": each.worst_deg,
                "share": each.share,
                "error": each.error,
            }
            for number in order
            for each in [found.get(number, Found())]
        ]

    def _run(self, model: LimitModel) -> None:
        source = human_source(model)
        for number, path in enumerate(self.paths):
            try:
                clip = load_clip(path)
                report = model_for(clip, model, source).check(clip)
            except (OSError, ValueError) as error:
                self._found[number] = Found(error=str(error))
                continue
            worst = float(np.degrees(report.violation.max(initial=0.0)))
            self._found[number] = Found(worst, float(report.outside.any(axis=1).mean()))


def _rank(found: Found | None) -> tuple[int, float]:
    if found is None:
        return 1, 0.0
    return (2, 0.0) if found.worst_deg is None else (0, -found.worst_deg)


def list_clips(session: Session, request: Request) -> Clips:
    """Return the clips of the folder that the command line names, as far as they are checked."""
    folder = session.folder
    if not isinstance(folder, Folder):
        return {"clips": [], "checking": False}
    return {"checking": folder.check(session), "clips": folder.rows()}


def choose_clip(session: Session, request: Request) -> State | Refusal:
    """Return the state with another clip of the folder, by its `number`."""
    folder, number = session.folder, whole_number(request, "number")
    if not isinstance(folder, Folder) or not 0 <= number < len(folder.paths):
        raise ValueError(f"number must be that of a clip in the list, got {number}")
    path = folder.paths[number]
    try:
        show_clip(session, load_clip(path), clip_suffix(path))
    except (OSError, ValueError) as error:
        return {"refused": str(error), **session.state()}
    return session.state()
