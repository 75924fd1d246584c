"""Edits of shapes: samples added, numbers typed, boundaries sculpted, points of reach cones moved.

Functions dispatch on the class of the shape and have a default for shapes that they do not know.
"""

from .numbers import Family, Number, families, family_of, label, numbers, with_number
from .reach_cone import cones, with_cones
from .samples import add, counts_samples
from .sculpt import (
    add_sample,
    brush,
    is_sculptable,
    level,
    move_sample,
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
    "move_sample",
    "numbers",
    "pull",
    "push",
    "settle",
    "with_cones",
    "with_number",
]
