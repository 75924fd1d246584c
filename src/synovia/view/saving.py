"""Saving at the page: where the command line says, or beside it, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

from ..io import limits_bytes, save_limits
from ..io.limits import SUFFIX
from .given import flag
from .messages import Request
from .protocol import Download, Exists, Refusal, Saved
from .session import Session

LONGEST_NAME = 120
"""Characters of a file's name, its suffix not counted."""
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\ud800-\udfff]')
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def saved(session: Session, asked: Request) -> Saved | Exists | Refusal:
    """Return that the limits are saved, or `exists` or `refused`: what is in the way.

    `as` is a name beside the present file, or null for that file itself. A file that was there
    before is replaced only with `overwrite`.
    """
    overwrite = flag(asked, "overwrite")
    try:
        path = _path(session.file, asked["as"])
        if path.exists() and not (session.wrote(path) or overwrite):
            return {"exists": path.name, **session.state()}
        session.save(save_limits, path)
    except (OSError, ValueError) as error:
        return {"refused": _reason(error), **session.state()}
    return {"saved": path.name, **session.state()}


def downloaded(session: Session, asked: Request) -> Download | Refusal:
    """Return the text of the limits file that would be saved, and a name for it."""
    name = f"limits{SUFFIX}" if session.file is None else session.file.name
    try:
        text = limits_bytes(session.model, name).decode()
    except ValueError as error:
        return {"refused": str(error), **session.state()}
    return {"name": name, "text": text, **session.state()}


def _path(file: Path | None, name: object) -> Path:
    if file is None:
        raise ValueError(
            f"there is no file to save to: synovia view -o FILE{SUFFIX} names one; or download it"
        )
    return file if name is None else beside(file, name)


def beside(file: Path, name: object) -> Path:
    """Return the limits file of this name in the directory of `file`, with its suffix.

    A name is a name: what could lead to another directory, or to a device, is refused.
    """
    if not isinstance(name, str):
        raise ValueError(f"a name must be text, got {name!r:.60}")
    bare = name.strip()
    stem = bare[: -len(SUFFIX)] if bare.lower().endswith(SUFFIX) else bare
    if not 0 < len(stem) <= LONGEST_NAME:
        raise ValueError(f"a name must have 1 to {LONGEST_NAME} characters, got {len(stem)}")
    if _FORBIDDEN.search(stem) or stem[0] in ".-~ " or stem[-1] in ". ":
        raise ValueError(f"a name must be one of a file, in the same directory, got {name!r:.60}")
    if _DEVICES.fullmatch(stem):
        raise ValueError(f"a name must not be one of a device, got {name!r:.60}")
    path = file.with_name(f"{stem}{SUFFIX}")
    if path.is_symlink():
        raise ValueError(f"{path.name} is a link to elsewhere, and is not followed")
    return path


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


SAVED = {"save": saved, "download": downloaded}
"""What may be asked for, by name."""
