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
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from .anatomy import human
    from .charts import CHARTS, DirectionTwist, EulerZYZ, Hinges, RotationVector, SwingTwist
    from .components import Figure
    from .io import load_clip, load_figure, load_limits, save_clip, save_figure, save_limits
    from .limit import Beyond, Inside, Limit, mirror_limit
    from .model import LimitModel, Report, first_exit
    from .population import check, clamp, human_limits
    from .repairs import repair
    from .shapes import (
        SHAPES,
        Box,
        DistanceField,
        Ellipsoid,
        KDop,
        Product,
        ReachCone,
        ThetaPhi,
        Union,
    )
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
    "Hinges",
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
    "check",
    "clamp",
    "first_exit",
    "forward",
    "human",
    "human_limits",
    "load_clip",
    "load_figure",
    "load_limits",
    "mirror_limit",
    "repair",
    "save_clip",
    "save_figure",
    "save_limits",
    "show",
]

_HOMES = {
    "anatomy": ("human",),
    "charts": ("CHARTS", "DirectionTwist", "EulerZYZ", "Hinges", "RotationVector", "SwingTwist"),
    "components": ("Figure",),
    "io": (
        *("load_clip", "load_figure", "load_limits"),
        *("save_clip", "save_figure", "save_limits"),
    ),
    "limit": ("Beyond", "Inside", "Limit", "mirror_limit"),
    "model": ("LimitModel", "Report", "first_exit"),
    "population": ("check", "clamp", "human_limits"),
    "repairs": ("repair",),
    "shapes": (
        *("SHAPES", "Box", "DistanceField", "Ellipsoid", "KDop"),
        *("Product", "ReachCone", "ThetaPhi", "Union"),
    ),
    "skeleton": ("Clip", "Pose", "Skeleton", "forward"),
    "view": ("show",),
}
"""The rooms that hold the public names. They are imported when a name is first asked for."""
_ROOMS = {
    *_HOMES,
    "arrays",
    "body",
    "demo",
    "export",
    "draw",
    "edit",
    "evidence",
    "ik",
    "kernels",
    "learn",
    "mesh",
    "quat",
    "rigs",
    "torch",
}
"""All rooms that need no import of their own."""
_ROOM_OF = {name: room for room, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> _Any:
    if name in _ROOMS:
        return _import_module(f"{__name__}.{name}")
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(f"{__name__}.{_ROOM_OF[name]}"), name)
    globals()[name] = value  # later uses find it without this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
