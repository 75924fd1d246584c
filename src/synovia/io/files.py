"""Files that are read, and written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of the regular file at `path`; a pipe or a device is refused."""
    # Opened first and then looked at; without waiting, since the other end of a pipe may be silent.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "only regular files can be read", os.fspath(path))
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def read_file_below(folder: Path, name: str) -> bytes:
    """Return the bytes of the file `name` below `folder`; ValueError if a link leads outside it."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError(f"expected a file below {folder}, got {name!r:.80}, which leads outside")
    return read_file(path)


def check_regular(path: str | os.PathLike[str]) -> os.stat_result:
    """Return what the system knows of the file at `path`; OSError unless it is a regular one."""
    about = os.stat(path)
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "only regular files can be read", os.fspath(path))
    return about


def atomic_write(path: str | os.PathLike[str], content: bytes, *, follow: bool = True) -> None:
    """Write `content` to the file at `path`; on any failure what was there stays as it was.

    A link is followed, or with `follow` false refused; one that is planted at the last moment is
    then replaced, and never written through.
    """
    with atomic_file(path, follow=follow) as file:
        file.write(content)


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str], *, follow: bool = True) -> Iterator[BinaryIO]:
    """Open a file to write piece by piece, which takes the place of that at `path` at the end.

    It gives the same guarantees as `atomic_write`; an exception inside is a failure.
    """
    target = Path(os.path.realpath(path) if follow else os.path.abspath(path))
    beside = target.with_name(f".synovia-{os.urandom(8).hex()}.tmp")
    try:
        _check_place(target)
        try:
            with open(beside, "xb") as file:
                yield file
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
        if error.filename not in (None, str(beside), str(target)):
            raise  # about what is read meanwhile
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error
    _sync_directory(target.parent)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError, with the system's reason, where `atomic_write` could not write to `path`."""
    target, folder = Path(os.path.realpath(path)), Path(path).parent
    if not folder.is_dir():
        raise OSError(errno.ENOENT, "there is no such directory to write to", str(folder))
    try:
        _check_place(target)
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error


def _check_place(target: Path) -> None:
    if target.is_symlink():
        raise OSError(errno.ELOOP, "this is a link to elsewhere, and is not followed")
    if target.is_dir():
        raise OSError(errno.EISDIR, "a directory is where the file belongs")
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "only regular files can be replaced")
    if target.exists():  # opened rather than asked about: the error then has the system's reason
        with open(target, "r+b"):
            pass


def _sync_directory(directory: Path) -> None:
    """Make a rename last through a power failure, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
