"""A corpus on disk: a folder with one summary per clip, so that a stopped run can be continued.

corpus/corpus.json            the options of its summaries
corpus/summaries/<mark>.npz   the summary of a clip, by the hash of its content
corpus/clips/<path's hash>    the clip's path from the corpus, its performer and its mark
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ..io import load_clip
from ..io.encoding import json_text
from ..io.files import atomic_write, read_file
from ..schema import LISTS, decode, encode
from ..text import error_text
from .summary import MALFORMED, SummaryOptions, mark_of, save_summary, summarize

_MARK = re.compile("[0-9a-f]{40}")


@dataclass(frozen=True)
class Task:
    """A clip to summarise: its file, the clip in it, its name and its performer."""

    path: str
    clip: str
    name: str
    performer: str
    skeleton: str | None = None

    @property
    def place(self) -> str:
        """The file, and the clip in it, as `load_clip` takes it."""
        return f"{self.path}#{self.clip}" if self.clip else self.path


@dataclass(frozen=True)
class CorpusFile:
    """The file corpus.json."""

    options: SummaryOptions
    format: Literal["synovia-corpus"] = field(
        default="synovia-corpus", metadata={"optional": False}
    )
    version: Literal[4] = field(default=4, metadata={"optional": False})


@dataclass(frozen=True)
class ClipEntry:
    """A summarised clip, with the size and modification time of its file."""

    path: str
    """Relative to the corpus's folder, with / between its parts."""
    clip: str
    name: str
    performer: str
    mark: str
    frames: int
    size: int
    modified: int
    """Modification time of the file, in nanoseconds."""

    def __post_init__(self) -> None:
        if not _MARK.fullmatch(self.mark):  # it names a file
            raise ValueError(f"mark must be 40 hexadecimal digits, got {self.mark!r:.60}")
        if self.frames < 0:
            raise ValueError(f"frames must be at least 0, got {self.frames}")


@dataclass(frozen=True)
class TaskOutcome:
    """Result or error of a task."""

    task: Any
    """A `Task`, or whatever the work function takes."""
    result: Any = None
    """A `ClipEntry`, or whatever the work function returns."""
    error: str = ""
    disk_full: bool = False
    """True if there is no space left for results, which stops all other tasks, too."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """A folder of summaries."""

    folder: Path
    options: SummaryOptions

    @classmethod
    def open(cls, folder: Path) -> Corpus:
        """Return the corpus in a folder; ValueError where there is none."""
        file = folder / "corpus.json"
        if not file.exists():
            raise ValueError(f"{folder}: no corpus here; `synovia corpus add` makes one")
        try:
            about = decode(CorpusFile, json.loads(read_file(file)), LISTS)
        except MALFORMED as error:
            raise ValueError(f"{file}: not a corpus that can be read: {error}") from None
        return cls(folder, about.options)

    @classmethod
    def make(cls, folder: Path, options: SummaryOptions) -> Corpus:
        """Return the corpus in a folder, made if there is none; its options must be these."""
        if (folder / "corpus.json").exists():
            corpus = cls.open(folder)
            if corpus.options != options:
                raise ValueError(
                    f"{folder}: summaries there have the options {encode(corpus.options, LISTS)}, "
                    f"got {encode(options, LISTS)}: other options need another corpus"
                )
            return corpus
        for name in ("summaries", "clips"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        _write_json(CorpusFile(options), folder / "corpus.json")
        return cls(folder, options)

    def relative_path(self, path: str) -> str:
        """Return the path of a clip's file relative to the folder; absolute on another drive."""
        try:
            return Path(os.path.relpath(path, self.folder.resolve())).as_posix()
        except ValueError:  # another drive of Windows
            return path

    def entry_file(self, path: str, clip: str) -> Path:
        """Return the file for the entry of a clip, by its relative path and its name there."""
        return self.folder / "clips" / hashlib.sha256(f"{path}#{clip}".encode()).hexdigest()[:40]

    def summary_file(self, mark: str) -> Path:
        """Return the file of the summary with this mark."""
        return self.folder / "summaries" / f"{mark}.npz"

    @cached_property
    def entries(self) -> list[ClipEntry]:
        """All clips, sorted by their marks, then by their names."""
        files = (self.folder / "clips").iterdir()
        entries = [_read_entry(file) for file in files if not file.name.startswith(".")]
        return sorted(entries, key=lambda entry: (entry.mark, entry.name, entry.path))

    def entry_of(self, task: Task) -> ClipEntry | None:
        """Return the entry of a clip whose file did not change; None if it must be read."""
        file = self.entry_file(self.relative_path(task.path), task.clip)
        try:
            entry, about = _read_entry(file), os.stat(task.path)
        except (OSError, ValueError):
            return None
        same = (entry.size, entry.modified) == _file_state(about)
        return entry if same and self.summary_file(entry.mark).exists() else None


def _read_entry(file: Path) -> ClipEntry:
    try:
        return decode(ClipEntry, json.loads(read_file(file)), LISTS)
    except MALFORMED as error:
        raise ValueError(f"{file}: not an entry that can be read: {error}") from None


def pending(corpus: Corpus, tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks whose clips have no summary yet.

    For the other tasks, a name or a performer that changed is written to the clip's entry on disk.
    """
    left = []
    for task in tasks:
        entry = corpus.entry_of(task)
        if entry is None:
            left.append(task)
        elif (entry.name, entry.performer) != (task.name, task.performer):
            entry = replace(entry, name=task.name, performer=task.performer)
            _write_json(entry, corpus.entry_file(entry.path, entry.clip))
    return left


def work(folder: str, task: Task) -> TaskOutcome:
    """Write the summary of one clip into the corpus in a folder, unless it is there.

    A `ValueError` or `OSError` is returned as the outcome's error instead of being raised. Runs in
    any process that sees the folder and the clip.
    """
    corpus = Corpus.open(Path(folder))
    entry = corpus.entry_of(task)
    if entry is not None and (entry.name, entry.performer) == (task.name, task.performer):
        return TaskOutcome(task, entry)  # by a worker that died later, or by another run
    try:
        about = os.stat(task.path)
        clip = load_clip(task.place, skeleton=task.skeleton)
        if _file_state(os.stat(task.path)) != _file_state(about):
            raise ValueError("it was changed while it was read: add it again")
        mark = mark_of(clip, corpus.options)
        if not corpus.summary_file(mark).exists():
            save_summary(summarize(clip, corpus.options), corpus.summary_file(mark))
        path, of_task = corpus.relative_path(task.path), (task.clip, task.name, task.performer)
        entry = ClipEntry(path, *of_task, mark, clip.frames, *_file_state(about))
        _write_json(entry, corpus.entry_file(path, task.clip))
    except (ValueError, OSError) as error:
        disk_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        return TaskOutcome(task, error=error_text(error), disk_full=disk_full)
    return TaskOutcome(task, entry)


def _file_state(about: os.stat_result) -> tuple[int, int]:
    """Return the size and the modification time in nanoseconds, which identify a change."""
    return about.st_size, about.st_mtime_ns


def _write_json(value: ClipEntry | CorpusFile, file: Path) -> None:
    atomic_write(file, f"{json_text(encode(value, LISTS))}\n".encode())


def merge_corpora(sources: Sequence[Corpus], into: Path) -> Corpus:
    """Return a corpus with the clips of several; no clip is read again.

    Clips with the same path and other content, as those of several labs may be, are all kept.
    """
    merged_corpus = Corpus.make(into, sources[0].options)
    for source in sources:
        if source.options != merged_corpus.options:
            raise ValueError(
                f"{source.folder}: summaries there have the options "
                f"{encode(source.options, LISTS)}, those of {sources[0].folder} "
                f"{encode(merged_corpus.options, LISTS)}"
            )
        for entry in source.entries:
            target = merged_corpus.summary_file(entry.mark)
            if not target.exists():
                atomic_write(target, read_file(source.summary_file(entry.mark)))
            path = os.path.normpath(source.folder.resolve() / entry.path)
            entry = replace(entry, path=merged_corpus.relative_path(path))
            file = merged_corpus.entry_file(entry.path, entry.clip)
            if file.exists() and _read_entry(file).mark != entry.mark:
                file = merged_corpus.entry_file(entry.path, f"{entry.clip}#{entry.mark}")
            _write_json(entry, file)
    return merged_corpus
