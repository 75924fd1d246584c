"""Limits files of version 1, which kept margins in shapes and stored dependent margins reversed."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..limit import DependentMargin, Limit, gained_and_lost
from ..schema import decode, located
from ..shapes import Offset


def take_table_margins(document: Any) -> dict[str, float]:
    """Remove the margins of theta-phi tables from a document; return them by joint, in radians."""
    limits = document.get("limits") if isinstance(document, dict) else None
    margins = {}
    for name, limit in limits.items() if isinstance(limits, dict) else ():
        shape = limit.get("shape") if isinstance(limit, dict) else None
        if isinstance(shape, dict) and {"counts", "margin"} <= shape.keys():
            with located("limits", name, "shape", "margin"):
                margins[name] = decode(float, shape.pop("margin"))
    return margins


def with_margin(limit: Limit, table_margin: float) -> Limit:
    """Return the limit with the margin that version 1 kept in its shape.

    An offset of at least 0 is a margin. A table had `table_margin` (radians) at both ends of its
    ranges of twists: they become shorter by it, at most to their middle.
    """
    shape: Any = limit.shape
    if isinstance(shape, Offset) and shape.radius >= 0.0:
        return replace(limit, shape=shape.shape, margin=shape.radius)
    if table_margin == 0.0:
        return limit
    middle = 0.5 * (shape.low + shape.high)
    low = np.minimum(shape.low + table_margin, middle)
    high = np.maximum(shape.high - table_margin, middle)
    return replace(limit, shape=replace(shape, low=low, high=high), margin=table_margin)


def dependent_margin(name: str, limit: Limit, fields: dict[str, Any]) -> DependentMargin:
    """Return a dependent margin of version 1, where it was how much narrower the limit becomes.

    The limit shrunk by the largest of these margins is grown again, by as much less as each says.
    What a shrunk and grown limit has lost of the one in the file is reported by a warning.
    """
    narrower = np.asarray(fields["margin"], np.float64)
    inner = limit.shrink(max(float(narrower.max(initial=0.0)), 0.0))
    widest = inner.margin + float(narrower.max(initial=0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        narrowest = replace(inner, margin=widest)
    lost, volume = gained_and_lost(limit, narrowest)[1], limit.volume()
    warnings.warn(
        f"{name}: its limit depends on {fields['driver']} as in files of version 1, and without "
        f"its corners loses {lost / max(volume, lost, 1e-300):.1%} of its rotations",
        stacklevel=2,
    )
    return DependentMargin(narrowest, **fields | {"margin": widest - narrower})
