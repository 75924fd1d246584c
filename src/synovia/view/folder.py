"""The list of clips on the page, with their violations and performers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np

from ..arrays import Scalars
from ..io import clip_suffix, load_clip, split_clip
from ..learn import performer_of, performers_of
from ..model import LimitModel, Report
from ..skeleton import Clip
from .files import human_source, model_for, show_clip
from .protocol import ClipRow, Clips, Refusal, State
from .protocol.requests import ChooseRequest, ClipsRequest
from .session import Session

MOST_DROPPED = 256
"""Dropped clips that are kept; another one replaces the oldest."""


STRIP_COLUMNS = 48
"""Columns of the small picture of a clip over time."""


@dataclass(frozen=True)
class Verdict:
    """The largest violation of a clip, or the error of reading or checking it."""

    worst_deg: float | None = None
    """The largest angle outside; negative if joints are only unusual."""
    joint: str = ""
    """The joint of that angle."""
    share: float | None = None
    """The share of frames in which a joint is outside."""
    strip: tuple[int, ...] = ()
    """The worst angle of each part of the clip, likewise."""
    error: str | None = None

    @classmethod
    def of(cls, report: Report) -> Verdict:
        """Return the verdict of a report."""
        signed = np.degrees(report.signed_violation)
        worst = _worst(signed, axis=0)
        if not len(worst) or not worst.any():
            return cls(0.0, "", 0.0)
        column = int(np.argmax(_badness(worst)))
        parts = np.array_split(_worst(signed, axis=1), min(STRIP_COLUMNS, len(signed)))
        strip = tuple(int(np.rint(_worst(part, axis=0))) for part in parts)
        share = float((signed > 0.0).any(axis=1).mean())
        return cls(float(worst[column]), report.names[column], share, strip)


def _badness(signed: Scalars) -> Scalars:
    """Return sort keys of signed angles: impossible ones are above all unusual ones."""
    return np.where(signed > 0.0, signed + 360.0, -signed)


def _worst(signed: Scalars, axis: int) -> Scalars:
    """Return the worst of signed angles along an axis."""
    index = np.expand_dims(_badness(signed).argmax(axis=axis), axis)
    return np.asarray(np.take_along_axis(signed, index, axis).squeeze(axis))


@dataclass(frozen=True, eq=False)
class Entry:
    """A clip of the list: a file from the command line, or a clip that was dropped."""

    name: str
    clip: Path | Clip
    suffix: str

    def load(self) -> Clip:
        """Return the clip."""
        return self.clip if isinstance(self.clip, Clip) else load_clip(self.clip)


class Folder:
    """A list of clips, which a thread checks one after the other."""

    shown: int | None = None
    """The number of the clip on the page."""

    def __init__(self, paths: Sequence[Path] = (), names: Sequence[str] = ()) -> None:
        self.paths, self.names = tuple(paths), tuple(names)
        self.entries = {
            number: Entry(name, path, clip_suffix(split_clip(path)[0]))
            for number, (path, name) in enumerate(zip(paths, names, strict=True))
        }
        self._next = len(self.entries)
        self._verdicts: dict[int, Verdict] = {}
        self._lock = threading.Lock()
        self._checked: LimitModel | None = None
        self._thread: threading.Thread | None = None

    def add(self, clip: Clip, suffix: str) -> int:
        """Add a dropped clip, which replaces one of the same name; return its number."""
        with self._lock:
            dropped = [number for number in self.entries if number >= len(self.paths)]
            same = [number for number in dropped if self.entries[number].name == clip.name]
            for number in same or dropped[: len(dropped) + 1 - MOST_DROPPED]:
                del self.entries[number]
            self.entries[self._next] = Entry(clip.name, clip, suffix)
            self._next += 1
            self._checked = None
            return self._next - 1

    def number_of(self, name: str) -> int | None:
        """Return the number of the clip with this name, else with this stem; None without one."""
        names = {number: entry.name for number, entry in self.entries.items()}
        stem = PurePath(name).stem
        exact = (number for number, each in names.items() if each == name)
        alike = (number for number, each in names.items() if PurePath(each).stem == stem)
        return next(exact, next(alike, None))

    def check(self, model: LimitModel) -> bool:
        """Start a thread that checks the clips, unless they are checked; return True if it runs."""
        with self._lock:
            running = self._thread is not None and self._thread.is_alive()
            if running or self._checked is model:
                return running
            self._checked = model
            self._verdicts.clear()
            self._thread = threading.Thread(target=self._run, args=(model,), daemon=True)
            self._thread.start()
            return True

    def worst(self, seconds: float) -> int:
        """Return the number of the worst clip among those checked after `seconds` at most."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self.rows()[0]["number"]

    def rows(self, performers: str | None = None) -> list[ClipRow]:
        """Return a row for each clip: checked ones, worst first, then the others.

        `performers` is a pattern as `learn.performers_of` takes it.
        """
        verdicts, entries = dict(self._verdicts), dict(self.entries)
        order = sorted(entries, key=lambda number: _rank(verdicts.get(number)))
        names = [entries[number].name for number in order]
        who = performers_of(names, performers) if performers else map(performer_of, names)
        return [
            {
                "number": number,
                "name": entries[number].name,
                "performer": performer,
                "worstDeg": each.worst_deg,
                "joint": each.joint,
                "share": each.share,
                "strip": list(each.strip),
                "error": each.error,
            }
            for number, performer in zip(order, who, strict=True)
            for each in [verdicts.get(number, Verdict())]
        ]

    def _run(self, model: LimitModel) -> None:
        source = human_source(model)
        for number, entry in dict(self.entries).items():
            try:
                clip = entry.load()
                report = model_for(clip, model, source).check(clip)
            except (OSError, ValueError) as error:
                self._verdicts[number] = Verdict(error=str(error))
                continue
            self._verdicts[number] = Verdict.of(report)


def _rank(verdict: Verdict | None) -> tuple[int, float]:
    if verdict is None:
        return 1, 0.0
    worst = verdict.worst_deg
    return (2, 0.0) if worst is None else (0, -float(_badness(np.array(worst))))


def list_clips(session: Session, request: ClipsRequest) -> Clips:
    """Return the clips of the list with their performers and the violations known so far.

    `performers` is a pattern for names of clips; `why` is the reason if it does not match.
    """
    folder, pattern = session.folder, request.performers
    if not isinstance(folder, Folder):
        return {"clips": [], "checking": False, "shown": None, "why": None}
    try:
        rows, why = folder.rows(pattern or None), None
    except ValueError as error:
        rows, why = folder.rows(), str(error)
    checking = folder.check(session.model)
    return {"checking": checking, "clips": rows, "shown": folder.shown, "why": why}


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
    folder.shown = number
    return session.state()


def remember_clips(session: Session, clips: Sequence[Clip], suffix: str) -> None:
    """Add dropped clips to the list; the first of them is on the page."""
    if not isinstance(session.folder, Folder):
        session.folder = Folder()
    numbers = [session.folder.add(clip, suffix) for clip in clips]
    session.folder.shown = numbers[0]
