"""Limits fitted from the page's clips, in a process that can be stopped.

The process reads a pickled task from its standard input, and writes pickled messages about its
progress to its standard output. Both ends are this module.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Annotated, Any

import numpy as np

from ..arrays import Within
from ..io import limits_bytes, load_clip
from ..io.limits import parse_limits
from ..model import LimitModel
from ..skeleton import Clip
from .families import FamilyName, families
from .messages import Empty
from .session import Session

MAX_FRAMES = 400_000  # of all clips of a fit; more need `synovia fit`
SHOWN = -1
"""The number of the clip on the page, if there is no list of clips."""


@dataclass(frozen=True, kw_only=True)
class Kinds:
    """The families that limits can be fitted in."""

    families: list[FamilyName]


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """A request to fit limits from clips, by their numbers; -1 is the clip on the page."""

    clips: list[int]
    family: str
    margin_deg: Annotated[float | None, Within(0, 90)]
    reject_percent: float | None
    performers: str | None


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """The progress or the result of the last fit."""

    number: int = 0
    """Number of the fit; 0 for none."""
    running: bool = False
    stage: str = ""
    """The present step, or the result."""
    done: int = 0
    total: int = 0
    failed: bool = False
    remarks: list[str] = field(default_factory=list)
    """Warnings of the fit."""


@dataclass(frozen=True, eq=False)
class FitTask:
    """Clips to fit, each with its name and as a file or a clip, and options of `LimitModel.fit`."""

    clips: tuple[tuple[str, Path | Clip], ...]
    shape: str
    options: dict[str, Any]


class FitJob:
    """A fit in another process, with a thread that receives its messages."""

    def __init__(self, session: Session, task: FitTask, number: int) -> None:
        self._session, self._task = session, task
        self._stopped = False
        self.progress = Fitting(
            number=number, running=True, stage="Starting", total=len(task.clips)
        )
        """The present progress, or the result."""
        path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the process, if it runs, and wait for its end; the limits do not change."""
        self._stopped = True
        if self._process.poll() is None:
            self._process.terminate()
        self._thread.join()

    def _listen(self) -> None:
        """Receive messages until the process ends, and adopt its limits."""
        stage, failed = "", True
        try:
            stage = self._receive()
            failed = not stage
        except (ValueError, OSError) as error:
            stage = str(error)
        finally:
            self._process.kill()
            code = self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                with contextlib.suppress(OSError):
                    stream.close()
        if self._stopped:
            stage, failed = "Stopped: the limits are as they were.", False
        stage = stage or f"The fit ended without a result, with code {code}."
        self.progress = replace(self.progress, running=False, stage=stage, failed=failed)

    def _receive(self) -> str:
        """Send the task, adopt the fitted limits, and return a message for the user.

        It is empty if the process ends before. Raises ValueError with the message of an error in
        the process.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with contextlib.suppress(BrokenPipeError):  # the process has ended
            pickle.dump(self._task, stdin)
            stdin.flush()
            for kind, *content in _messages(stdout):
                if self._stopped:
                    break
                if kind == "error":
                    raise ValueError(content[0])
                if kind == "limits":
                    return self._adopt(*content)
                stage, done, total = content
                self.progress = replace(self.progress, stage=stage, done=done, total=total)
        return ""

    def _adopt(self, content: bytes, remarks: list[str]) -> str:
        """Replace the page's limits by the fitted ones; return a message for the user."""
        clips = len(self._task.clips)
        label = f"fit from {clips} {'clip' if clips == 1 else 'clips'}"
        notes = self._session.adopt(parse_limits("fitted limits", content), label)
        self._session.notify()
        self.progress = replace(self.progress, remarks=[*remarks, *notes])
        limits = len(self._session.scene.model.limits)
        return f"Limits for {limits} joints, {label}. Ctrl Z undoes it."


def _messages(stream: IO[bytes]) -> Iterator[tuple[Any, ...]]:
    while True:
        try:
            yield pickle.load(stream)
        except (EOFError, pickle.UnpicklingError):
            return


def list_kinds(session: Session, request: Empty) -> Kinds:
    """Return the families that limits can be fitted in."""
    known = families().items()
    return Kinds(families=[FamilyName(name=name, label=family.label) for name, family in known])


def start_fit(session: Session, request: FitRequest) -> Fitting:
    """Start a fit in the background and return its progress.

    Margin and rejection are those of `synovia fit`. Only one fit runs at a time.
    """
    last = report_progress(session, Empty())
    if last.running:
        raise ValueError("A fit is under way: stop it first.")
    session.fitting = FitJob(session, task_of(session, request), last.number + 1)
    return session.fitting.progress


def task_of(session: Session, request: FitRequest) -> FitTask:
    """Return the task of a request; ValueError for an unknown family or clip."""
    family = families().get(request.family)
    if family is None:
        raise ValueError(
            f"family must be one of {', '.join(families())}, got {request.family!r:.60}"
        )
    margin_deg, percent = request.margin_deg, request.reject_percent
    if percent is not None and not 0.0 < percent < 100.0:
        raise ValueError(f"the rejection must be above 0 and below 100 %, got {percent}")
    if margin_deg is not None and percent is not None:
        raise ValueError("a rejection chooses the margin: give one of them")
    options = {
        **dict(family.options),
        "margin": None if margin_deg is None else float(np.radians(margin_deg)),
        "reject": None if percent is None else percent / 100.0,
        "performers": request.performers or None,
        "keep_samples": True,
    }
    return FitTask(tuple(_chosen_clips(session, request.clips)), family.shape, options)


def _chosen_clips(session: Session, numbers: list[int]) -> Iterator[tuple[str, Path | Clip]]:
    if not numbers:
        raise ValueError("choose one clip at least to fit from")
    if numbers == [SHOWN]:
        clip = session.scene.clip
        if clip.frames < 2:
            raise ValueError(f"{clip.name} has one frame: limits are fitted from motion")
        yield clip.name, clip
        return
    entries = {} if session.folder is None else session.folder.entries
    for number in numbers:
        if number not in entries:
            raise ValueError(f"clips must be numbers of the list, got {number}")
        yield entries[number].name, entries[number].clip


def report_progress(session: Session, request: Empty) -> Fitting:
    """Return the progress or the result of the last fit."""
    return Fitting() if session.fitting is None else session.fitting.progress


def cancel_fit(session: Session, request: Empty) -> Fitting:
    """Stop the fit that runs, if any, and return its progress."""
    if session.fitting is not None:
        session.fitting.stop()
    return report_progress(session, request)


def main() -> None:
    """Read a task from standard input, and write its messages to standard output."""
    if hasattr(os, "nice"):
        os.nice(5)  # the page's server has priority
    task = pickle.load(sys.stdin.buffer)
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # only messages go to standard output

    def send(message: object) -> None:
        try:
            pickle.dump(message, out)
            out.flush()
        except BrokenPipeError:
            os._exit(1)  # the server has ended

    run_task(task, send)


def run_task(task: FitTask, send: Callable[[tuple[Any, ...]], None]) -> None:
    """Run a task; `send` messages with the progress, and with the limits or an error."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            content = limits_bytes(_fit(task, send), "fitted limits")
        send(("limits", content, list(dict.fromkeys(str(warning.message) for warning in caught))))
    except (ValueError, OSError) as error:
        send(("error", str(error)))


def _fit(task: FitTask, send: Callable[[tuple[Any, ...]], None]) -> LimitModel:
    clips: list[Clip] = []
    for number, (name, clip) in enumerate(task.clips):
        send(("stage", f"Reading {name}", number, len(task.clips)))
        clips.append(replace(clip if isinstance(clip, Clip) else load_clip(clip), name=name))
        if sum(clip.frames for clip in clips) > MAX_FRAMES:
            raise ValueError(
                f"the clips have more than {MAX_FRAMES:,} frames, which is too much for a page: "
                "synovia fit takes them"
            )
    send(("stage", "Comparing clips", 0, 0))

    def progress(joints: Sequence[str]) -> Iterator[str]:
        for number, name in enumerate(joints):
            send(("stage", f"Fitting {name}", number, len(joints)))
            yield name
        send(("stage", "Writing", len(joints), len(joints)))

    return LimitModel.fit(clips, task.shape, progress=progress, **task.options)
