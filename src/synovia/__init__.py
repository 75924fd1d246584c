"""Synovia: every joint's true range of motion, learned, drawn or assembled.

A limit is a shape seen through a chart; a model holds a limit for each joint that has one.

>>> import numpy as np
>>> from synovia import Box, Limit, SwingTwist
>>> knee = Limit(SwingTwist(), Box(low=[0, 0, -0.2], high=[2.4, 0.1, 0.2], axes=np.eye(3)))
>>> bool(knee.contains([1.0, 0.0, 0.0, 0.0]))
True

This module exports what a newcomer needs. The rest is in subpackages, imported on first use:
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

_EXPORTS = {
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
"""Public names by subpackage. A subpackage is imported when one of its names is first used."""
_SUBPACKAGES = {
    *_EXPORTS,
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
"""Subpackages available as attributes without an explicit import."""
_SUBPACKAGE_OF = {name: package for package, names in _EXPORTS.items() for name in names}


def __getattr__(name: str) -> _Any:
    if name in _SUBPACKAGES:
        return _import_module(f"{__name__}.{name}")
    if name not in _SUBPACKAGE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(f"{__name__}.{_SUBPACKAGE_OF[name]}"), name)
    globals()[name] = value  # later uses skip this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})
