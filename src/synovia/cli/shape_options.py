"""Options of shapes as people type them, KEY=VALUE, by what the shapes' fits take."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from ..fitting import BY
from ..shapes import SHAPES, DistanceField, ReachCone, Union
from ..shapes.product import SWINGS
from .terminal import ANGLES


def shape_options(shape: str, typed: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of the shape's fit, as it takes them; an unknown one is an error."""
    takes = _taken(SHAPES[shape].fit)
    if "swing" in takes:
        swing = typed.get("swing", "ellipsoid")
        takes["swing"] = Literal[tuple(SWINGS)]
        takes.update(_taken(SWINGS[swing].fit) if swing in SWINGS else {})
    if shape == Union.name:
        takes.update(_taken(ReachCone.fit))
    if shape == DistanceField.name:
        takes.update(by=Literal[BY], level=float)
    offered = ", ".join(f"{key}={_values(key, kind)}" for key, kind in takes.items())
    chosen: dict[str, Any] = {}
    for key, value in typed.items():
        if key not in takes:
            raise click.UsageError(f"--with {key}: {shape} takes {offered or 'no options'}")
        try:
            chosen[key] = _converted(takes[key], value)
            if key in ANGLES:
                chosen[key] = math.radians(chosen[key])
        except ValueError:
            wanted = _values(key, takes[key])
            raise click.UsageError(f"--with {key} must be {wanted}, got {value!r}") from None
    return chosen


def _taken(fit_shape: Any) -> dict[str, Any]:
    """Return the options that can be typed, with their types; arrays cannot be."""
    hints = get_type_hints(fit_shape)
    names = [name for name in inspect.signature(fit_shape).parameters if name in hints]
    return {
        name: hints[name]
        for name in names
        if name != "margin"
        and (hints[name] in (str, int, float) or get_origin(hints[name]) is Literal)
    }


def _values(key: str, kind: Any) -> str:
    if key in ANGLES:
        return "DEGREES"
    return "|".join(get_args(kind)) if get_origin(kind) is Literal else kind.__name__.upper()


def _converted(kind: Any, text: str) -> Any:
    if get_origin(kind) is not Literal:
        return kind(text)
    if text not in get_args(kind):
        raise ValueError(text)
    return text
