"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from pathlib import Path


def atomic_write(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to the file at `path`; on any failure what was there stays as it was."""
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".synovia-{os.urandom(8).hex()}.tmp")
    try:
        _check_place(target)
        try:
            with open(beside, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, beside)
            os.replace(beside, target)
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error


def _check_place(target: Path) -> None:
    if target.is_dir():
        raise OSError(errno.EISDIR, "a directory is where the file belongs")
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "only regular files can be replaced")
    if target.exists() and not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
