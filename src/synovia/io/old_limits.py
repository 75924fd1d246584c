"""Limits files of version 1, which kept margins in shapes and stored dependent margins reversed."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..limit import DependentMargin, Limit, gained_and_lost
from ..shapes.stored import had_margin, without_margin
from .encoding import Entry


def take_table_margin(shape: Entry) -> float:
    """Remove the margin of a stored theta-phi table and return it, in radians; 0 for others."""
    stored = shape.members()
    if "margin" not in stored or not had_margin(shape.value.get("type")):
        return 0.0
    del shape.value["margin"]
    return float(stored["margin"].floats())


def with_margin(limit: Limit, table_margin: float) -> Limit:
    """Return the limit with the margin that version 1 kept in its shape."""
    shape, margin = without_margin(limit.shape, table_margin)
    return limit if shape is limit.shape else replace(limit, shape=shape, margin=margin)


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
        own = replace(inner, margin=widest)
    lost, volume = gained_and_lost(limit, own)[1], limit.volume()
    warnings.warn(
        f"{name}: its limit depends on {fields['driver']} as in files of version 1, and without "
        f"its corners loses {lost / max(volume, lost, 1e-300):.1%} of its rotations",
        stacklevel=2,
    )
    return DependentMargin.from_dict(own, fields | {"margin": widest - narrower})
