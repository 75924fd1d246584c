"""What a clip format is: how its files are read and written."""

from __future__ import annotations

import pkgutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..skeleton import Axis, Clip, with_unit


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading: the clip's name in a file of several, and the skeleton's file."""

    clip: str = ""
    skeleton: Path | None = None


@dataclass(frozen=True)
class ClipFormat:
    """Functions and properties of one clip format.

    `read` takes the file and options, which most formats ignore. `write` takes the clips, usually
    one; None if the format is only read. `contents` returns the names of the clips in a file that
    may hold several.
    `up` and `unit` (in metres) are set where all files of the format agree on them.
    `beside` names what such files hold besides a skeleton and its motion.
    `skip` returns why a file of a folder is not read, "" to skip it silently, None to read it.
    `as_written` returns a clip with the joints and the rest pose that it has after writing;
    ValueError if the format cannot hold the clip.
    """

    read: Callable[[Path, ReadOptions], Clip]
    write: Callable[[Sequence[Clip], Path], None] | None = None
    contents: Callable[[Path], list[str]] | None = None
    up: Axis = ""
    unit: float = 0.0
    beside: str = ""
    skip: Callable[[Path], str | None] = lambda path: None
    as_written: Callable[[Clip], Clip] = lambda clip: clip


class FormatEntry(NamedTuple):
    """An entry of the registry of clip formats; reading it does not import the format."""

    title: str
    """The format's name in tables; several suffixes may share one."""
    format: ClipFormat | str
    """The format, or its location as "package.module:NAME", imported on first use."""
    writable: bool = True

    def load(self) -> ClipFormat:
        """Return the format, importing its module if necessary."""
        clip_format = (
            pkgutil.resolve_name(self.format) if isinstance(self.format, str) else self.format
        )
        assert isinstance(clip_format, ClipFormat)
        return clip_format


def only_clip(clips: Sequence[Clip], path: Path) -> Clip:
    """Return the clip to write to a file that holds one; ValueError for several."""
    if len(clips) != 1:
        raise ValueError(f"{path}: a {path.suffix} file holds one clip, got {len(clips)}")
    return clips[0]


def in_metres(clip: Clip, path: Path) -> Clip:
    """Return a clip with lengths in metres, as `path` is to hold them.

    If the unit is not known, lengths stay as they are, with a warning.
    """
    if clip.skeleton.unit:
        return with_unit(clip, 1.0)
    warnings.warn(
        f"{path}: the clip's unit is not known; lengths are written as metres",
        UserWarning,
        stacklevel=4,
    )
    return clip
