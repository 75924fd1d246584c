"""Edits that are not saved yet, in a file beside the limits, for when this ends before they are."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from ..io import limits_bytes, load_limits
from ..io.files import atomic_write
from ..io.limits import SUFFIX
from ..model import LimitModel

MOST_FILES = 9
"""Files of unsaved edits that one limits file may have."""


def recovery_paths(file: Path) -> list[Path]:
    """Return where unsaved edits of a limits file may be, in the order of preference."""
    stem = file.name[: -len(SUFFIX)]
    numbers = ("", *(f"-{number}" for number in range(2, MOST_FILES + 1)))
    return [file.with_name(f"{stem}.unsaved{number}{SUFFIX}") for number in numbers]


def find_recovery(file: Path) -> Path | None:
    """Return the newest file of edits that were never saved; None where there is none.

    Links are no such files.
    """
    found = [path for path in recovery_paths(file) if path.is_file() and not path.is_symlink()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


@dataclass
class Recovery:
    """Where one session keeps what is not saved: beside its limits file, or nowhere without one."""

    file: Path | None
    path: Path | None = None
    """The file that holds it now."""

    def write(self, model: LimitModel) -> None:
        """Keep limits; OSError or ValueError where they cannot be kept."""
        if self.file is None:
            return
        content = limits_bytes(model, self.file.name)
        if self.path is None:
            self.path = _reserve(recovery_paths(self.file))
        atomic_write(self.path, content, follow=False)

    def remove(self) -> None:
        """Forget what is kept."""
        if self.path is not None:
            discard(self.path)
            self.path = None


def discard(path: Path) -> None:
    """Remove a file of unsaved edits, if it is still there."""
    with contextlib.suppress(OSError):
        path.unlink()


def load(path: Path) -> LimitModel:
    """Return the limits in a file of unsaved edits."""
    return load_limits(path)


def _reserve(paths: list[Path]) -> Path:
    """Return the first of these that is free, made for its owner alone."""
    for path in paths:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            return path
    raise FileExistsError(f"{paths[0]}: there are {len(paths)} files of unsaved edits already")
