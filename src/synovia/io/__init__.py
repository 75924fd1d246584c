"""Files: one module a format, chosen by suffix. Only this room and `cli` touch files."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..skeleton import Clip
from .bvh import read_bvh, write_bvh

if TYPE_CHECKING:
    from .figure import figure_schema, load_figure, load_network, save_figure, save_network
    from .limits import limits_bytes, load_limits, save_limits
    from .schema import limits_schema


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
    """Write `clip` to the file at `path`, whole or not at all; the suffix tells the format.

    Examples
    --------
    >>> from synovia.demo import wild
    >>> save_clip(wild(), "wild.bvh")
    >>> load_clip("wild.bvh").name
    'wild'
    """
    _clip_format(Path(path)).write(clip, Path(path))


def _clip_format(path: Path) -> ClipFormat:
    try:
        return CLIP_FORMATS[path.suffix.lower()]
    except KeyError:
        raise ValueError(
            f"{path}: a clip's suffix must be one of {', '.join(CLIP_FORMATS)}, got {path.suffix!r}"
        ) from None


_HOMES = {
    "figure": ("figure_schema", "load_figure", "load_network", "save_figure", "save_network"),
    "limits": ("limits_bytes", "load_limits", "save_limits"),
    "schema": ("limits_schema",),
}
"""Functions of files that need much of the package: imported when first asked for."""


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "figure_schema",
    "limits_bytes",
    "limits_schema",
    "load_clip",
    "load_figure",
    "load_limits",
    "load_network",
    "save_clip",
    "save_figure",
    "save_limits",
    "save_network",
]
