"""What a clip format is: how its files are read and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..skeleton import Axis, Clip


@dataclass(frozen=True)
class ReadOptions:
    """Which clip of a file is wanted, where it holds several, and which file has its skeleton."""

    clip: str = ""
    skeleton: Path | None = None


@dataclass(frozen=True)
class ClipFormat:
    """How clips are read from, and written to, files of a format.

    `read` is given the file, and options that few formats need. `write` is given clips, mostly one;
    None where a format is only read. `contents` names the clips in a file, if it may hold several.
    `begins` tells by the first bytes of a file without a known suffix if it is one.
    `up` and `unit` (in metres) are what everybody takes such files to have, where that is agreed.
    `beside` says what such files hold beside a skeleton and its motion.
    `skip` says why a file with this suffix is passed over among others, empty for no word about it;
    None for a clip.
    `as_written` returns a clip with the joints and the rest pose that a file of this format gives
    it; ValueError where the format cannot hold the clip.
    """

    read: Callable[[Path, ReadOptions], Clip]
    write: Callable[[Sequence[Clip], Path], None] | None = None
    contents: Callable[[Path], list[str]] | None = None
    begins: Callable[[bytes], bool] = lambda head: False
    up: Axis = ""
    unit: float = 0.0
    beside: str = ""
    skip: Callable[[Path], str | None] = lambda path: None
    as_written: Callable[[Clip], Clip] = lambda clip: clip


def only_clip(clips: Sequence[Clip], path: Path) -> Clip:
    """Return the one clip to write to a file that cannot hold several; ValueError for more."""
    if len(clips) != 1:
        raise ValueError(f"{path}: a {path.suffix} file holds one clip, got {len(clips)}")
    return clips[0]
