"""The list of clips on the page, with their violations and performers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import get_args

import numpy as np

from ..arrays import Scalars
from ..io import clip_suffix, load_clip, split_clip
from ..learn import performer_of, performers_of
from ..model import LimitModel, Report
from ..population import limits_for
from ..population.limits import Source as HumanSource
from ..skeleton import Clip
from .messages import Empty
from .scene import EDITED_KEY, scene_of
from .session import Session

MAX_DROPPED = 256  # dropped clips that are kept; another one replaces the oldest
STRIP_COLUMNS = 48  # of the small picture of a clip over time


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The largest violation of a clip, or the error of reading or checking it."""

    worst_deg: float | None
    """The largest angle outside; negative if joints are only unusual."""
    joint: str
    """The joint of that angle."""
    share: float | None
    """The share of frames in which a joint is outside."""
    strip: list[int]
    """The worst angle of each part of the clip, likewise; empty if all are 0."""
    error: str | None


UNKNOWN = Verdict(worst_deg=None, joint="", share=None, strip=[], error=None)


def verdict_of(report: Report) -> Verdict:
    """Return the verdict of a report."""
    signed = np.degrees(report.signed_violation)
    worst = _worst(signed, axis=0)
    if not len(worst) or not worst.any():
        return replace(UNKNOWN, worst_deg=0.0, share=0.0)
    column = int(np.argmax(_badness(worst)))
    parts = np.array_split(_worst(signed, axis=1), min(STRIP_COLUMNS, len(signed)))
    return Verdict(
        worst_deg=float(worst[column]),
        joint=report.names[column],
        share=float((signed > 0.0).any(axis=1).mean()),
        strip=[int(np.rint(_worst(part, axis=0))) for part in parts],
        error=None,
    )


@dataclass(frozen=True, kw_only=True)
class ClipRow(Verdict):
    """A clip of a folder, and how far it is outside, as far as that is known."""

    number: int
    name: str
    performer: str


@dataclass(frozen=True, kw_only=True)
class ClipsRequest:
    """A request for the list of clips, and the pattern of performers in their names."""

    performers: str | None = None


@dataclass(frozen=True, kw_only=True)
class Clips:
    """The clips to choose between, the worst first, and whether some are still being checked."""

    clips: list[ClipRow]
    checking: bool
    shown: int | None
    """The number of the clip on the page."""
    why: str | None
    """Why the pattern does not find the performers."""


@dataclass(frozen=True, kw_only=True)
class ChooseRequest:
    """A request to show a clip of the list."""

    number: int


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
            for number in same or dropped[: len(dropped) + 1 - MAX_DROPPED]:
                del self.entries[number]
            self.entries[self._next] = Entry(clip.name, clip, suffix)
            self._next += 1
            self._checked = None
            return self._next - 1

    def entry_of(self, name: str) -> Entry | None:
        """Return the clip with this name, else with this stem; None without one."""
        entries, stem = list(self.entries.values()), PurePath(name).stem
        alike = (entry for entry in entries if PurePath(entry.name).stem == stem)
        return next((entry for entry in entries if entry.name == name), next(alike, None))

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
        return self.rows()[0].number

    def rows(self, performers: str | None = None) -> list[ClipRow]:
        """Return a row for each clip: checked ones, worst first, then the others.

        `performers` is a pattern as `learn.performers_of` takes it.
        """
        verdicts, entries = dict(self._verdicts), dict(self.entries)
        order = sorted(entries, key=lambda number: _rank(verdicts.get(number)))
        names = [entries[number].name for number in order]
        who = performers_of(names, performers) if performers else map(performer_of, names)
        return [
            ClipRow(
                number=number,
                name=entries[number].name,
                performer=performer,
                **vars(verdicts.get(number, UNKNOWN)),
            )
            for number, performer in zip(order, who, strict=True)
        ]

    def _run(self, model: LimitModel) -> None:
        source = human_source(model)
        for number, entry in dict(self.entries).items():
            try:
                clip = entry.load()
                report = model_for(clip, model, source).check(clip)
            except (OSError, ValueError) as error:
                self._verdicts[number] = replace(UNKNOWN, error=str(error))
                continue
            self._verdicts[number] = verdict_of(report)


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
    if folder is None:
        return Clips(clips=[], checking=False, shown=None, why=None)
    try:
        rows, why = folder.rows(pattern or None), None
    except ValueError as error:
        rows, why = folder.rows(), str(error)
    checking = folder.check(session.model)
    return Clips(clips=rows, checking=checking, shown=folder.shown, why=why)


def choose_clip(session: Session, request: ChooseRequest) -> Empty:
    """Show another clip of the list, by its number."""
    folder, number = session.folder, request.number
    if folder is None or number not in folder.entries:
        raise ValueError(f"number must be that of a clip in the list, got {number}")
    entry = folder.entries[number]
    show_clip(session, entry.load(), entry.suffix)
    folder.shown = number
    return Empty()


def remember_clips(session: Session, clips: Sequence[Clip], suffix: str) -> None:
    """Add dropped clips to the list; the first of them is on the page."""
    if session.folder is None:
        session.folder = Folder()
    numbers = [session.folder.add(clip, suffix) for clip in clips]
    session.folder.shown = numbers[0]


def show_clip(session: Session, clip: Clip, suffix: str) -> None:
    """Show another clip. Human limits without edits are replaced by those for its rig."""
    source = None if session.unsaved else human_source(session.model)
    figure = session.scene.figure
    is_figure = figure is not None and figure.skeleton.names == clip.skeleton.names
    if source is None or is_figure:
        session.show_clip(clip)
    else:
        session.show(scene_of(model_for(clip, session.model, source), clip), unsaved=False)
    session.clip_suffix = suffix


def human_source(model: LimitModel) -> HumanSource | None:
    """Return the source of human limits without edits; None for other limits.

    The limits of the default figure count as "human", the default of the command line.
    """
    about = model.provenance
    if EDITED_KEY in about:
        return None
    if about.get("figure") == "human":
        return "human"
    return next((each for each in get_args(HumanSource) if each == about.get("source")), None)


def model_for(clip: Clip, model: LimitModel, source: HumanSource | None) -> LimitModel:
    """Return human limits for the rig of a clip, or `model` if it is no human."""
    if source is None:
        return model
    try:
        return limits_for(clip, source).model
    except ValueError:
        return model
