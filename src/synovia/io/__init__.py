"""Reading and writing files: one module per format, chosen by suffix."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ..lazy import lazy_getattr
from ..skeleton import Clip
from .encoding import errors_name
from .format import ClipFormat, FormatEntry, ReadOptions
from .skeletons import check_clip

if TYPE_CHECKING:
    from .figure import figure_schema, load_figure, load_network, save_figure, save_network
    from .limits import limits_bytes, load_limits, save_limits
    from .schema import limits_schema
    from .smpl import clip_from_poses, poses_of
    from .tables import load_marker_table, load_markers


CLIP_FORMATS: dict[str, FormatEntry] = {
    ".bvh": FormatEntry("BVH", "synovia.io.bvh:BVH"),
    ".amc": FormatEntry("ASF/AMC", "synovia.io.acclaim:AMC", writable=False),
    ".asf": FormatEntry("ASF/AMC", "synovia.io.acclaim:ASF", writable=False),
    ".glb": FormatEntry("glTF, VRM", "synovia.io.gltf:GLTF"),
    ".gltf": FormatEntry("glTF, VRM", "synovia.io.gltf:GLTF"),
    ".vrm": FormatEntry("glTF, VRM", "synovia.io.gltf:GLTF"),
    ".vrma": FormatEntry("glTF, VRM", "synovia.io.gltf:VRMA"),
    ".npz": FormatEntry("SMPL, AMASS", "synovia.io.smpl:NPZ"),
    ".motion.csv": FormatEntry("tables", "synovia.io.tables:CSV"),
    ".fbx": FormatEntry("FBX", "synovia.io.fbx:FBX", writable=False),
}
"""The registry of clip formats, by suffix in lower case."""
_MARKERS = (
    "it holds positions of markers, not rotations of joints: solve them for joint angles, with "
    "OpenSim or the capture software; or write them as NAME.markers.csv with the columns "
    "frame,marker,x,y,z for `synovia figure human --fit`"
)
ADVICE = {".c3d": _MARKERS, ".trc": _MARKERS}
"""Advice for files that hold motion but are not clips, by suffix."""


def load_clip(path: str | PathLike[str], *, skeleton: str | PathLike[str] | None = None) -> Clip:
    """Return the clip in the file at `path`, whose suffix gives the format.

    If a file has several clips, `robot.glb#Walk` is the one named Walk. `skeleton` is the
    skeleton's file, for formats that store it separately; by default the one in the same folder.
    ValueError, with the file's name, if the content is invalid.
    """
    file, clip = split_clip(path)
    options = ReadOptions(clip, None if skeleton is None else Path(skeleton))
    with errors_name(str(file)):
        kind = clip_format(file)
        if clip and kind.contents is None:
            raise ValueError(f"expected the name of a file that holds several clips, got #{clip}")
        loaded = kind.read(file, options)
        check_clip(loaded)
    return loaded


def save_clip(clip: Clip, path: str | PathLike[str]) -> None:
    """Write `clip` to the file at `path`, atomically, in the format of its suffix.

    Examples
    --------
    >>> from synovia.demo import wild
    >>> save_clip(wild(), "wild.bvh")
    >>> load_clip("wild.bvh").name
    'wild'
    """
    save_clips([clip], path)


def save_clips(clips: Sequence[Clip], path: str | PathLike[str]) -> None:
    """Write several clips of one skeleton to one file, atomically, as `save_clip` does."""
    path = Path(path)
    write = clip_format(path).write
    if write is None:
        raise ValueError(
            f"{path}: {clip_suffix(path)} is only read; "
            f"{', '.join(writable_suffixes())} can be written"
        )
    if not clips:
        raise ValueError(f"{path}: expected a clip to write, got none")
    write(clips, path)


def list_clips(path: str | PathLike[str]) -> list[str]:
    """Return the names of the clips in a file, as written after `#`; [""] for a single clip.

    For a path with `#`, it is that name alone.
    """
    file, clip = split_clip(path)
    with errors_name(str(file)):
        contents = clip_format(file).contents
        return [clip] if clip or contents is None else contents(file)


def split_clip(path: str | PathLike[str]) -> tuple[Path, str]:
    """Return the file and the clip's name in `file.glb#Walk`; a file's own name may contain #."""
    text = os.fspath(path)
    marks = [] if os.path.exists(text) else [k for k, sign in enumerate(text) if sign == "#"]
    for mark in marks:
        if os.path.isfile(text[:mark]):
            return Path(text[:mark]), text[mark + 1 :]
    return Path(text), ""


def clip_format(path: Path) -> ClipFormat:
    """Return the format of a file by its suffix; ValueError if it is unknown."""
    if suffix := clip_suffix(path):
        return CLIP_FORMATS[suffix].load()
    if advice := ADVICE.get(path.suffix.lower()):
        raise ValueError(f"{path}: {advice}")
    raise ValueError(
        f"{path}: a clip's suffix must be one of {', '.join(CLIP_FORMATS)}, got {path.suffix!r}"
    )


def clip_suffix(path: str | PathLike[str]) -> str:
    """Return the suffix of a clip's file, such as `.bvh` or `.motion.csv`; empty for others."""
    name = Path(path).name.lower()
    suffixes = [suffix for suffix in CLIP_FORMATS if name.endswith(suffix) and name != suffix]
    return max(suffixes, key=len, default="")


def writable_suffixes() -> list[str]:
    """Return the suffixes of the formats that can be written."""
    return [suffix for suffix, entry in CLIP_FORMATS.items() if entry.writable]


# Functions that need much of the package.
__getattr__ = lazy_getattr(
    __name__,
    {
        "figure": ("figure_schema", "load_figure", "load_network", "save_figure", "save_network"),
        "tables": ("load_marker_table", "load_markers"),
        "limits": ("limits_bytes", "load_limits", "save_limits"),
        "schema": ("limits_schema",),
        "smpl": ("clip_from_poses", "poses_of"),
    },
)


__all__ = [
    "ADVICE",
    "CLIP_FORMATS",
    "ClipFormat",
    "FormatEntry",
    "ReadOptions",
    "clip_format",
    "clip_from_poses",
    "clip_suffix",
    "figure_schema",
    "limits_bytes",
    "limits_schema",
    "list_clips",
    "load_clip",
    "load_figure",
    "load_limits",
    "load_marker_table",
    "load_markers",
    "load_network",
    "poses_of",
    "save_clip",
    "save_clips",
    "save_figure",
    "save_limits",
    "save_network",
    "split_clip",
    "writable_suffixes",
]
