"""What all convex shapes share: points between two members are members."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..arrays import Floats, Points
from .region import Region


class Convex(Region):
    """A closed convex region of a vector space, in 2 or 3 dimensions."""

    charts: ClassVar[tuple[str, ...]] = ("rotation-vector", "swing-twist")


def principal_axes(points: Points) -> Floats:
    """Return the orthonormal axes (rows) along which points vary most to least, right-handed."""
    centered = points - points.mean(axis=0)
    _, vectors = np.linalg.eigh(centered.T @ centered)
    axes = vectors.T[::-1]
    # A sign of its own for each axis, so that equal data give equal axes on any machine.
    leading = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    axes = axes * np.where(leading < 0.0, -1.0, 1.0)
    if np.linalg.det(axes) < 0.0:
        axes[-1] = -axes[-1]
    return axes
