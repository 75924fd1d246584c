"""The human, built of joint components from published numbers."""

from __future__ import annotations

from .fit import FittedFigure, fit_figure
from .human import human
from .isb import isb_angles
from .limits import limits_of
from .observations import MarkerTracks, Observations, known_markers
from .part import Part, join
from .shoulder import shoulder_shao_2003
from .spine import cervical_shao_2003

__all__ = [
    "FittedFigure",
    "MarkerTracks",
    "Observations",
    "Part",
    "cervical_shao_2003",
    "fit_figure",
    "human",
    "isb_angles",
    "join",
    "known_markers",
    "limits_of",
    "shoulder_shao_2003",
]
