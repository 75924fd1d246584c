"""The human, built of joint components from published numbers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .human import human
from .isb import isb_angles
from .limits import limits_of
from .part import Part, join
from .shoulder import shoulder_shao_2003
from .spine import cervical_shao_2003

if TYPE_CHECKING:
    from .fit import FittedFigure, fit_figure
    from .observations import MarkerTracks, Observations, known_markers

_HOMES = {
    "fit": ("FittedFigure", "fit_figure"),
    "observations": ("MarkerTracks", "Observations", "known_markers"),
}
"""What only fits to a person need: imported when first asked for."""


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
