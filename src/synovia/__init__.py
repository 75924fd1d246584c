"""Synovia: every joint's true range of motion, learned, drawn or assembled.

A limit is a shape seen through a chart; a model holds a limit for each joint that has one.

>>> import numpy as np
>>> from synovia import Box, Limit, SwingTwist
>>> knee = Limit(SwingTwist(), Box(low=[0, 0, -0.2], high=[2.4, 0.1, 0.2], axes=np.eye(3)))
>>> bool(knee.contains([1.0, 0.0, 0.0, 0.0]))
True

Here is what a newcomer needs. The rest is in the rooms, which need no import of their own:
`synovia.ik`, `synovia.quat`, `synovia.learn`, `synovia.components`, `synovia.evidence`, …
"""

from __future__ import annotations

from importlib import import_module as _import_module
from types import ModuleType as _ModuleType

from .anatomy import human, human_limits
from .charts import CHARTS, DirectionTwist, EulerZYZ, RotationVector, SwingTwist
from .components import Figure
from .io import load_clip, load_figure, load_limits, save_clip, save_figure, save_limits
from .limit import Beyond, Inside, Limit, mirror_limit
from .model import LimitModel, Report, first_exit
from .shapes import SHAPES, Box, DistanceField, Ellipsoid, KDop, Product, ReachCone, ThetaPhi, Union
from .skeleton import Clip, Pose, Skeleton, forward
from .view import show

__version__ = "0.1.0"

__all__ = [
    "CHARTS",
    "SHAPES",
    "Beyond",
    "Box",
    "Clip",
    "DirectionTwist",
    "DistanceField",
    "Ellipsoid",
    "EulerZYZ",
    "Figure",
    "Inside",
    "KDop",
    "Limit",
    "LimitModel",
    "Pose",
    "Product",
    "ReachCone",
    "Report",
    "RotationVector",
    "Skeleton",
    "SwingTwist",
    "ThetaPhi",
    "Union",
    "first_exit",
    "forward",
    "human",
    "human_limits",
    "load_clip",
    "load_figure",
    "load_limits",
    "mirror_limit",
    "save_clip",
    "save_figure",
    "save_limits",
    "show",
]

_ROOMS = ("demo", "draw", "evidence", "ik", "learn", "mesh", "quat")
"""Rooms that are imported when they are first asked for; the others are there already."""


def __getattr__(name: str) -> _ModuleType:
    if name in _ROOMS:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})
