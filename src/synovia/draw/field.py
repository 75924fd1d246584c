"""Draw a distance field in slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..limit import Limit
from ..shapes import DistanceField
from .style import INK, MUTED, quiet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#08519c", "#6baed6", "#f7fbff", "#fcae91", "#a50f15")
"""From deep inside to far outside."""
NAMES = {
    "rotation-vector": ("about x", "about y", "about z"),
    "swing-twist": ("swing x", "swing y", "twist"),
    "euler": ("φ", "ψ", "θ"),
}


def draw_slices(figure: Figure, box: tuple[float, float, float, float], limit: Limit) -> None:
    """Draw three slices through the deepest node into `box` of the figure, the boundary in ink."""
    from matplotlib.colors import LinearSegmentedColormap

    field = limit.shape
    if not isinstance(field, DistanceField):
        raise ValueError(f"only a distance field has slices, got a {field.name}")
    values = np.degrees(field.values - field.threshold)
    deepest = np.unravel_index(int(values.argmin()), values.shape)
    far = float(np.abs(values).max())
    nodes = [
        np.degrees(low + step * np.arange(count))
        for low, step, count in zip(field.low, field.spacing, values.shape, strict=True)
    ]
    names = NAMES[limit.chart.name]
    left, bottom, width, height = box
    for across in range(3):
        along, up = (axis for axis in range(3) if axis != across)
        axes = figure.add_axes((left + across * width / 3.0, bottom, 0.27 * width, height))
        part = np.take(values, int(deepest[across]), axis=across).T
        axes.pcolormesh(
            nodes[along],
            nodes[up],
            part,
            cmap=LinearSegmentedColormap.from_list("distance", COLOURS),
            vmin=-far,
            vmax=far,
            shading="gouraud",
        )
        if part.min() < 0.0 < part.max():
            axes.contour(nodes[along], nodes[up], part, levels=[0.0], colors=[INK], linewidths=1.4)
        where = f"{names[across]} = {nodes[across][int(deepest[across])]:.0f}°"
        axes.set_title(f"slice at {where}, boundary in black", color=MUTED, size=11, pad=5)
        axes.set_xlabel(f"{names[along]} (°)", color=MUTED, size=11)
        axes.set_ylabel(f"{names[up]} (°)", color=MUTED, size=11)
        axes.set_aspect("equal")
        quiet(axes)
