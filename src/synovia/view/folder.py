"""The clips to choose between at the page, each with how far it is outside and who performs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np

from ..io import clip_suffix, load_clip
from ..learn import performer_of, performers_of
from ..model import LimitModel
from ..skeleton import Clip
from .files import human_source, model_for, show_clip
from .protocol import ClipRow, Clips, Refusal, State
from .protocol.requests import ChooseRequest, ClipsRequest
from .session import Session

MOST_DROPPED = 64
"""Clips that were dropped and are remembered; the oldest is forgotten for one more."""


@dataclass(frozen=True)
class Found:
    """How far a clip is outside its limits, at most and in how many of its frames; or why not."""

    worst_deg: float | None = None
    share: float | None = None
    error: str | None = None


@dataclass(frozen=True, eq=False)
class Entry:
    """A clip by its name: a file that the command line names, or one that was dropped."""

    name: str
    clip: Path | Clip
    suffix: str

    def load(self) -> Clip:
        """Return the clip."""
        return self.clip if isinstance(self.clip, Clip) else load_clip(self.clip)


class Folder:
    """Clips, checked one after the other by a thread of their own."""

    def __init__(self, paths: Sequence[Path] = (), names: Sequence[str] = ()) -> None:
        self.paths, self.names = tuple(paths), tuple(names)
        self.entries = {
            number: Entry(name, path, clip_suffix(path))
            for number, (path, name) in enumerate(zip(paths, names, strict=True))
        }
        self._next = len(self.entries)
        self._found: dict[int, Found] = {}
        self._lock = threading.Lock()
        self._checked: LimitModel | None = None
        self._thread: threading.Thread | None = None

    def add(self, clip: Clip, suffix: str) -> None:
        """Remember a clip that was dropped, in the place of one with the same name."""
        with self._lock:
            dropped = [number for number in self.entries if number >= len(self.paths)]
            same = [number for number in dropped if self.entries[number].name == clip.name]
            for number in same or dropped[: len(dropped) + 1 - MOST_DROPPED]:
                del self.entries[number]
            self.entries[self._next] = Entry(clip.name, clip, suffix)
            self._next += 1
            self._checked = None

    def number_of(self, name: str) -> int | None:
        """Return the number of the clip with a name, or else with its stem; None for none."""
        names = {number: entry.name for number, entry in self.entries.items()}
        stem = PurePath(name).stem
        exact = (number for number, each in names.items() if each == name)
        alike = (number for number, each in names.items() if PurePath(each).stem == stem)
        return next(exact, next(alike, None))

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

    def rows(self, performers: str | None = None) -> list[ClipRow]:
        """Return the clips with what is known of them, the worst first, then those to come.

        `performers` is a pattern as `learn.performers_of` takes it.
        """
        found, entries = dict(self._found), dict(self.entries)
        order = sorted(entries, key=lambda number: _rank(found.get(number)))
        names = [entries[number].name for number in order]
        who = performers_of(names, performers) if performers else map(performer_of, names)
        return [
            {
                "number": number,
                "name": entries[number].name,
                "performer": performer,
                "worstDeg": each.worst_deg,
                "share": each.share,
                "error": each.error,
            }
            for number, performer in zip(order, who, strict=True)
            for each in [found.get(number, Found())]
        ]

    def _run(self, model: LimitModel) -> None:
        source = human_source(model)
        for number, entry in dict(self.entries).items():
            try:
                clip = entry.load()
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


def list_clips(session: Session, request: ClipsRequest) -> Clips:
    """Return the clips of the list with their performers and the violations known so far.

    `performers` is a pattern for names of clips; `why` is the reason if it does not match.
    """
    folder, pattern = session.folder, request.performers
    if not isinstance(folder, Folder):
        return {"clips": [], "checking": False, "why": None}
    try:
        rows, why = folder.rows(pattern or None), None
    except ValueError as error:
        rows, why = folder.rows(), str(error)
    return {"checking": folder.check(session), "clips": rows, "why": why}


def choose_clip(session: Session, request: ChooseRequest) -> State | Refusal:
    """Show another clip of the list, by its number, and return the state."""
    folder, number = session.folder, request.number
    if not isinstance(folder, Folder) or number not in folder.entries:
        raise ValueError(f"number must be that of a clip in the list, got {number}")
    entry = folder.entries[number]
    try:
        show_clip(session, entry.load(), entry.suffix)
    except (OSError, ValueError) as error:
        return {"refused": str(error), **session.state()}
    return session.state()


def remember_clip(session: Session, clip: Clip, suffix: str) -> None:
    """Put a clip that was dropped into the list, so that it can be chosen and fitted from."""
    if not isinstance(session.folder, Folder):
        session.folder = Folder()
    session.folder.add(clip, suffix)
