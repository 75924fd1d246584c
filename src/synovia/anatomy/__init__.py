"""The human, built of joint components from published numbers."""

from __future__ import annotations

from .human import human
from .isb import isb_angles
from .limits import limits_of
from .part import Part, join
from .shoulder import shoulder_shao_2003
from .spine import cervical_shao_2003

__all__ = [
    "Part",
    "cervical_shao_2003",
    "human",
    "isb_angles",
    "join",
    "limits_of",
    "shoulder_shao_2003",
]
