"""Files: one module a format, chosen by suffix. Only this room and `cli` touch files."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from ..clip import Clip
from .bvh import read_bvh
from .bvh_write import write_bvh
from .figures import figure_schema as figure_schema
from .figures import load_figure as load_figure
from .figures import load_network as load_network
from .figures import save_figure as save_figure
from .figures import save_network as save_network
from .limits import limits_bytes as limits_bytes
from .limits import limits_schema as limits_schema
from .limits import load_limits as load_limits
from .limits import save_limits as save_limits


class ClipFormat(NamedTuple):
    """How clips are read from, and written to, files of one suffix."""

    read: Callable[[Path], Clip]
    write: Callable[[Clip, Path], None]


CLIP_FORMATS = {".bvh": ClipFormat(read_bvh, write_bvh)}
"""Every clip format by its suffix, in lower case."""


def load_clip(path: str | PathLike[str]) -> Clip:
    """Return the clip in the file at `path`; the suffix tells the format."""
    return _clip_format(Path(path)).read(Path(path))


def save_clip(clip: Clip, path: str | PathLike[str]) -> None:
    """Write `clip` to the file at `path`, whole or not at all; the suffix tells the format."""
    _clip_format(Path(path)).write(clip, Path(path))


def _clip_format(path: Path) -> ClipFormat:
    try:
        return CLIP_FORMATS[path.suffix.lower()]
    except KeyError:
        raise ValueError(
            f"{path}: a clip's suffix must be one of {', '.join(CLIP_FORMATS)}, got {path.suffix!r}"
        ) from None
