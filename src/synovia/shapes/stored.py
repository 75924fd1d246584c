"""Shapes as plain fields by name, for files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from ..arrays import field_types
from .derived import Offset
from .region import Region
from .theta_phi.table import ThetaPhi


def stored_shapes() -> dict[str, type[Region]]:
    """Return every shape that a file may contain, by name, including those made of others."""
    from . import SHAPES, Offset, Turned

    return {**SHAPES, Offset.name: Offset, Turned.name: Turned}


def shape_to_dict(shape: Region) -> dict[str, Any]:
    """Return the fields of a shape by name, nested shapes likewise, and its name as `type`."""
    fields = {f.name: getattr(shape, f.name) for f in dataclasses.fields(shape)}  # type: ignore[arg-type]
    return {"type": shape.name, **{name: _stored(value) for name, value in fields.items()}}


def _stored(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_stored(part) for part in value]
    return shape_to_dict(value) if isinstance(value, Region) else value


def shape_from_dict(kind: type[Region], fields: Mapping[str, Any]) -> Region:
    """Return the shape of class `kind` with the fields of `shape_to_dict`, without `type`."""
    hints = {name: hint for name, (hint, _) in field_types(kind).items()}
    return kind(**{name: _restored(name, hints.get(name), fields[name]) for name in fields})


def _restored(name: str, hint: Any, value: Any) -> Any:
    known = nested_shapes(hint)
    if not known:
        return value
    if isinstance(value, list | tuple):
        return tuple(_restored(name, hint, part) for part in value)
    fields = dict(value)
    kind = fields.pop("type", None)
    if kind not in known:
        raise ValueError(f"{name}.type must be one of {', '.join(known)}, got {kind!r}")
    return shape_from_dict(known[kind], fields)


def nested_shapes(hint: Any) -> dict[str, type[Region]]:
    """Return the shapes, by name, that a field of this type may contain; empty if none."""
    if isinstance(hint, type) and issubclass(hint, Region):
        return stored_shapes() if hint is Region else {hint.name: hint}
    return {name: kind for part in get_args(hint) for name, kind in nested_shapes(part).items()}


def had_margin(name: str) -> bool:
    """Return True if shapes of this name had a field `margin` in files of version 1."""
    return name == ThetaPhi.name


def without_margin(shape: Region, table_margin: float) -> tuple[Region, float]:
    """Return a shape of a file of version 1 without its margin, and the margin in radians.

    An offset of at least 0 is one. A table had `table_margin` at both ends of its ranges of twists:
    they become shorter by it, at most to their middle.
    """
    if isinstance(shape, Offset) and shape.radius >= 0.0:
        return shape.shape, shape.radius
    if isinstance(shape, ThetaPhi) and table_margin != 0.0:
        middle = 0.5 * (shape.low + shape.high)
        low = np.minimum(shape.low + table_margin, middle)
        high = np.maximum(shape.high - table_margin, middle)
        return dataclasses.replace(shape, low=low, high=high), table_margin
    return shape, 0.0
