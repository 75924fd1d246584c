"""The human, built of joint components from published numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_getattr
from .human import human
from .isb import isb_angles
from .limits import limits_of
from .shoulder import shoulder_shao_2003
from .spine import cervical_shao_2003

if TYPE_CHECKING:
    from .fit import FittedFigure, fit_figure
    from .observations import MarkerTracks, Observations, known_markers

# Names that only fitting to a person needs.
__getattr__ = lazy_getattr(
    __name__,
    {
        "fit": ("FittedFigure", "fit_figure"),
        "observations": ("MarkerTracks", "Observations", "known_markers"),
    },
)


__all__ = [
    "FittedFigure",
    "MarkerTracks",
    "Observations",
    "cervical_shao_2003",
    "fit_figure",
    "human",
    "isb_angles",
    "known_markers",
    "limits_of",
    "shoulder_shao_2003",
]
