"""Edits of shapes: samples added, numbers typed, boundaries sculpted, points of reach cones moved.

Functions dispatch on the class of the shape and have a default for shapes that they do not know.
"""

from .numbers import Family, Number, families, family_of, label, numbers, with_number
from .reach_cone import cones, with_cones
from .sculpt import (
    add,
    add_sample,
    brush,
    counts_samples,
    is_sculptable,
    level,
    pull,
    push,
    settle,
)

__all__ = [
    "Family",
    "Number",
    "add",
    "add_sample",
    "brush",
    "cones",
    "counts_samples",
    "families",
    "family_of",
    "is_sculptable",
    "label",
    "level",
    "numbers",
    "pull",
    "push",
    "settle",
    "with_cones",
    "with_number",
]
