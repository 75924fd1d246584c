"""Colours and axes that all pictures share, and writing pictures to files."""

from __future__ import annotations

import re
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ..io.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

PAPER = "#ffffff"
INK = "#22303c"
MUTED = "#6b7a86"
LINE = "#cfd8de"
BODY = "#a9b6c0"
BONE = "#efe7d6"
LEGAL = "#0b9488"
LEGAL_BONE = "#5cc4b6"
OUTSIDE = "#dc2f45"
REGION = "#2f6fc1"
RAMP = ("#e3f2f0", "#fad7a0", "#f4a259", "#ec6a4c", OUTSIDE, "#a11d36", "#6d0f22")
"""Colours of violations, from inside to far outside."""


def new_figure(width_px: int, height_px: int) -> Figure:
    """Return an empty figure that pyplot does not keep."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_px / 100, height_px / 100), dpi=100, facecolor=PAPER)


def violation_colours() -> Colormap:
    """Return the colours for degrees outside."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("outside", RAMP)


def readable_name(name: str) -> str:
    """Return a joint's name in words, as "right shoulder" for RightShoulder."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_ ]+", " ", name).strip()
    return words if words.isupper() else words.lower()


def hide_frame(axes: Axes) -> None:
    """Remove the frame and the ticks of `axes`; labels stay, small and muted."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=10, labelcolor=MUTED)


def picture_format(path: str | PathLike[str]) -> str:
    """Return the picture format of the suffix; ValueError if matplotlib cannot write it."""
    from matplotlib.backend_bases import FigureCanvasBase

    kind = Path(path).suffix.lower().lstrip(".")
    supported = FigureCanvasBase.get_supported_filetypes()
    if kind not in supported:
        raise ValueError(
            f"{path}: a picture's suffix must be one of {', '.join(sorted(supported))}, "
            f"got {kind!r}"
        )
    return kind


def save_picture(figure: Figure, path: str | PathLike[str]) -> None:
    """Write `figure` to the file at `path`; the suffix tells the format."""
    kind = picture_format(path)
    content = BytesIO()
    # Neither the date nor the version, so that equal figures give equal files.
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure.savefig(content, format=kind, dpi=figure.dpi, metadata=metadata.get(kind))
    atomic_write(path, content.getvalue())
