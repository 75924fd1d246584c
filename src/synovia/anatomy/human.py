"""The default human: a figure with all joints, in metres, standing with the arms hanging."""

from __future__ import annotations

import math

from ..components import Figure
from .arm import arm
from .cage import cage
from .leg import leg
from .numbers import REFERENCE_HEIGHT, numbers
from .part import Part, join
from .shoulder import shoulder
from .spine import spine

SIDES = ("Left", "Right")


def human(height: float = REFERENCE_HEIGHT) -> Figure:
    """Return a person of a height in metres: segments, joint sets, and controls in degrees.

    x is to the person's left, y up, z forward; all frames are parallel at rest, palms to the
    thighs, heels on the ground. The root is the pelvis, between the hips.
    """
    if not (height > 0.0 and math.isfinite(height)):
        raise ValueError(f"height must be above 0 metres and finite, got {height}")
    lengths = numbers("limbs")["lengths"]
    hips = sum(lengths[name] for name in ("thigh", "shank", "ankle_height")) * height
    parts = [
        Part({"Pelvis": None}, {"Pelvis": [0.0, hips, 0.0]}, {}),
        spine(height, ("lumbar",)),
        cage(height),
        spine(height, ("cervical", "head")),
    ]
    for side in SIDES:
        parts += [shoulder(side, height), arm(side, height), *leg(side, height)]
    return join(*parts, name="human")
