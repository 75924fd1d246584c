"""Files: one module a format, chosen by suffix. Only this room and `cli` touch files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..skeleton import Clip
from .bounds import check_skeleton
from .encoding import errors_name
from .format import ClipFormat, ReadOptions

if TYPE_CHECKING:
    from .figure import figure_schema, load_figure, load_network, save_figure, save_network
    from .limits import limits_bytes, load_limits, save_limits
    from .markers import load_marker_table, load_markers
    from .schema import limits_schema
    from .smpl import clip_from_poses, poses_of


CLIP_FORMATS: dict[str, ClipFormat | str] = {
    ".bvh": "bvh.BVH",
    ".amc": "amc.AMC",
    ".asf": "amc.ASF",
    ".glb": "gltf.GLTF",
    ".gltf": "gltf.GLTF",
    ".vrm": "gltf.GLTF",
    ".vrma": "gltf.VRMA",
    ".npz": "smpl.NPZ",
    ".motion.csv": "table.CSV",
    ".motion.parquet": "table.PARQUET",
    ".fbx": "fbx.FBX",
}
"""Every clip format by its suffix, in lower case; ours by where they are, loaded when needed."""
_MARKERS = (
    "it holds positions of markers, not rotations of joints: solve them for joint angles, with "
    "OpenSim or the capture software; or write them as NAME.markers.csv with the columns "
    "frame,marker,x,y,z for `synovia figure human --fit`"
)
ADVICE = {".c3d": _MARKERS, ".trc": _MARKERS}
"""What to do with files that hold motion and are no clips, by suffix."""
HEAD = 4096
"""Bytes by which a format is told where the suffix does not tell it."""


def load_clip(path: str | PathLike[str], *, skeleton: str | PathLike[str] | None = None) -> Clip:
    """Return the clip in the file at `path`; the suffix tells the format, else the content.

    A file may hold several clips: `robot.glb#Walk` is the one called Walk. `skeleton` is the file
    with the skeleton, where the format has one apart and it does not stand beside the clip.
    """
    file, clip = split_clip(path)
    options = ReadOptions(clip, None if skeleton is None else Path(skeleton))
    with errors_name(str(file)):
        loaded = clip_format(file).read(file, options)
        check_skeleton(loaded.skeleton)
    return loaded


def save_clip(clip: Clip, path: str | PathLike[str]) -> None:
    """Write `clip` to the file at `path`, whole or not at all; the suffix tells the format.

    Examples
    --------
    >>> from synovia.demo import wild
    >>> save_clip(wild(), "wild.bvh")
    >>> load_clip("wild.bvh").name
    'wild'
    """
    save_clips([clip], path)


def save_clips(clips: Sequence[Clip], path: str | PathLike[str]) -> None:
    """Write several clips of one skeleton to one file, whole or not at all, as `save_clip` does."""
    path = Path(path)
    write = _writable_format(path).write
    if not clips:
        raise ValueError(f"{path}: expected a clip to write, got none")
    assert write is not None
    write(clips, path)


def _writable_format(path: Path) -> ClipFormat:
    form = clip_format(path)
    if form.write is None:
        raise ValueError(
            f"{path}: {clip_suffix(path)} is only read; "
            f"{', '.join(writable_suffixes())} can be written"
        )
    return form


def list_clips(path: str | PathLike[str]) -> list[str]:
    """Return the names of the clips in a file, as they stand after `#`; [""] for a single one."""
    file, clip = split_clip(path)
    with errors_name(str(file)):
        contents = clip_format(file).contents
        return [clip] if clip or contents is None else contents(file)


def split_clip(path: str | PathLike[str]) -> tuple[Path, str]:
    """Return the file and the clip that `file.glb#Walk` stands for; names of files may have #."""
    text = os.fspath(path)
    marks = [] if os.path.exists(text) else [at for at, sign in enumerate(text) if sign == "#"]
    for at in marks:
        if os.path.isfile(text[:at]):
            return Path(text[:at]), text[at + 1 :]
    return Path(text), ""


def clip_format(path: Path) -> ClipFormat:
    """Return the format of a file by its suffix, else by how it begins; ValueError if unknown."""
    if suffix := clip_suffix(path):
        return _loaded(suffix)
    if path.is_file():
        with open(path, "rb") as file:
            head = file.read(HEAD)
        for each in map(_loaded, CLIP_FORMATS):
            if each.begins(head):
                return each
    if advice := ADVICE.get(path.suffix.lower()):
        raise ValueError(f"{path}: {advice}")
    raise ValueError(
        f"{path}: a clip's suffix must be one of {', '.join(CLIP_FORMATS)}, got {path.suffix!r}"
    )


def is_clip(path: Path) -> bool:
    """Return whether a file has a format of clips, by its suffix or by how it begins."""
    try:
        clip_format(path)
    except (ValueError, OSError):
        return False
    return True


def clip_suffix(path: str | PathLike[str]) -> str:
    """Return the suffix of a clip's file, such as `.bvh` or `.motion.csv`; empty for others."""
    name = Path(path).name.lower()
    known = [suffix for suffix in CLIP_FORMATS if name.endswith(suffix) and name != suffix]
    return max(known, key=len, default="")


def writable_suffixes() -> list[str]:
    """Return the suffixes of the formats that can be written."""
    return [suffix for suffix in CLIP_FORMATS if _loaded(suffix).write is not None]


def _loaded(suffix: str) -> ClipFormat:
    found = CLIP_FORMATS[suffix]
    if isinstance(found, str):
        module, _, name = found.partition(".")
        found = getattr(import_module(f"{__name__}.{module}"), name)
        assert isinstance(found, ClipFormat)
        CLIP_FORMATS[suffix] = found
    return found


_HOMES = {
    "figure": ("figure_schema", "load_figure", "load_network", "save_figure", "save_network"),
    "markers": ("load_marker_table", "load_markers"),
    "limits": ("limits_bytes", "load_limits", "save_limits"),
    "schema": ("limits_schema",),
    "smpl": ("clip_from_poses", "poses_of"),
}
"""Functions of files that need much of the package: imported when first asked for."""


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ADVICE",
    "CLIP_FORMATS",
    "ClipFormat",
    "ReadOptions",
    "clip_format",
    "clip_from_poses",
    "clip_suffix",
    "figure_schema",
    "is_clip",
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
