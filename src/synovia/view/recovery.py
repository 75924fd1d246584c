"""Unsaved edits, kept in one file beside the limits until they are saved."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from ..io import limits_bytes
from ..io.files import atomic_write
from ..io.limits import SUFFIX
from ..model import LimitModel


def find_recovery(file: Path) -> Path | None:
    """Return the file with unsaved edits of an earlier session; None if there is none.

    Links do not count.
    """
    path = recovery_path(file)
    return path if path.is_file() and not path.is_symlink() else None


def recovery_path(file: Path) -> Path:
    """Return the path of the unsaved edits of a limits file."""
    return file.with_name(f"{file.name[: -len(SUFFIX)]}.unsaved{SUFFIX}")


@dataclass
class Recovery:
    """The recovery file of one session, beside its limits file; without one, nothing is kept."""

    file: Path | None
    is_ours: bool = False
    """True if the recovery file holds edits of this session, which it may replace."""

    @property
    def path(self) -> Path | None:
        """The recovery file of this session, if it has written one."""
        return recovery_path(self.file) if self.file is not None and self.is_ours else None

    def write(self, model: LimitModel) -> None:
        """Keep limits; OSError or ValueError if that fails, as for a file of another session."""
        if self.file is None:
            return
        content = limits_bytes(model, self.file.name)
        path = recovery_path(self.file)
        if not self.is_ours:
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            except FileExistsError:
                raise FileExistsError(
                    f"{path} has edits of another session: restore or remove them first"
                ) from None
            self.is_ours = True
        atomic_write(path, content, follow=False)

    def remove(self) -> None:
        """Remove the recovery file of this session."""
        if self.path is not None:
            discard(self.path)
        self.is_ours = False


def discard(path: Path) -> None:
    """Remove a file of unsaved edits, if it is still there."""
    with contextlib.suppress(OSError):
        path.unlink()
