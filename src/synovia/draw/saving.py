"""Pictures to files, whole or not at all."""

from __future__ import annotations

from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ..io.atomic import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_picture_name(path: str | PathLike[str]) -> str:
    """Return the format that the suffix of `path` tells, if pictures can be drawn in it."""
    from matplotlib.backend_bases import FigureCanvasBase

    kind = Path(path).suffix.lower().lstrip(".")
    known = FigureCanvasBase.get_supported_filetypes()
    if kind not in known:
        raise ValueError(
            f"{path}: a picture's suffix must be one of {', '.join(sorted(known))}, got {kind!r}"
        )
    return kind


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write `figure` to the file at `path`; the suffix tells the format."""
    kind = check_picture_name(path)
    content = BytesIO()
    # Neither the date nor the version, so that equal figures give equal files.
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure.savefig(content, format=kind, dpi=figure.dpi, metadata=metadata.get(kind))
    atomic_write(path, content.getvalue())
