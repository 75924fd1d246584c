"""Maps of a dependent limit over the directions of its driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import quat
from ..arrays import Floats, Vectors
from ..limit import DependentLimit, Limit
from ..limit.hinge import hinge_scale
from ..model import LimitModel
from .sphere import (
    direction_chart,
    draw_marks,
    draw_twist_scale,
    draw_view,
    hemisphere,
    mean_direction,
    pixel_centers,
    pixels_for,
    twist_widths_deg,
)
from .style import INK, MUTED, new_figure, readable_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PIXELS = 300  # across a sphere
COLUMN_PX, SPHERE_PX, HEAD_PX, FOOT_PX = 440, 400, 130, 130
LINES_DEG = 30.0  # between contour lines
MIN_SHARE = 0.03  # of the legal directions; a side of the sphere with fewer is not drawn
TITLES = {"low": "from", "high": "to", "margin": "margin"}


def draw_dependence(model: LimitModel, joint: str) -> Figure:
    """Return maps of a joint's ranges over the legal directions of its driver's bone, in degrees.

    There is a map of each end of the range, and of its width; angles of a hinge count from its
    reference. The driver's bone comes to each direction by the shortest swing from the reference of
    its limit.
    """
    if joint not in model.dependents:
        drivers = ", ".join(model.dependents) or "none"
        raise ValueError(f"{joint} depends on no other joint; those that do: {drivers}")
    dependent = model.dependents[joint]
    limit = model.limits.get(dependent.driver)
    front = dependent.axis if limit is None else mean_direction(limit)
    views = {"seen from the front": front, "seen from behind": -front}
    pixels = PIXELS if limit is None else pixels_for(limit, PIXELS)
    images = {
        name: hemisphere(lambda directions: _ranges_deg(dependent, limit, directions), view, pixels)
        for name, view in views.items()
    }
    legal = {name: int(np.isfinite(image).sum()) for name, image in images.items()}
    least = MIN_SHARE * sum(legal.values())
    shown = {name: image for name, image in images.items() if legal[name] >= least}
    titles = [TITLES[name] for name in dependent.at_nodes]
    titles = ["range", *titles] if len(titles) == 2 else titles
    width = COLUMN_PX * max(len(titles), 2)
    height = HEAD_PX + SPHERE_PX * len(shown) + FOOT_PX
    figure = new_figure(width, height)
    driver = readable_name(dependent.driver)
    heading = f"{readable_name(joint)}, by where {driver} points".capitalize()
    figure.text(24 / width, 1.0 - 46 / height, heading, size=19, color=INK, weight="bold")
    nodes = "rotations" if dependent.by_rotation else "directions"
    text = f"degrees, which are given at {len(dependent.values)} {nodes} of {driver}"
    if dependent.by_rotation:
        text += "; drawn where it swings without twist"
    figure.text(24 / width, 1.0 - 76 / height, text, size=12, color=MUTED)
    for column, title in enumerate(titles):
        left = (COLUMN_PX * column + 20) / width
        parts = {name: image[..., column] for name, image in shown.items()}
        span = _span_deg(np.concatenate([part[np.isfinite(part)] for part in parts.values()]))
        for row, (name, part) in enumerate(parts.items()):
            bottom = FOOT_PX + SPHERE_PX * (len(parts) - 1 - row)
            box = left, bottom / height, (COLUMN_PX - 40) / width, (SPHERE_PX - 30) / height
            axes = figure.add_axes(box)
            draw_view(axes, part, span)
            if limit is not None:
                draw_marks(axes, limit, views[name])
            _draw_lines(axes, part)
            axes.set_title(f"{title} · {name}", color=MUTED, size=11, pad=6)
        scale = left + 70 / width, 60 / height, (COLUMN_PX - 180) / width, 16 / height
        draw_twist_scale(figure, scale, span, title)
    marks = "lines every 30°"
    if limit is not None:
        marks += "; pale: where the driver cannot point; + its reference, with grey rings every 30°"
    figure.text(0.5, 14 / height, marks, size=10, color=MUTED, ha="center")
    return figure


def _draw_lines(axes: Axes, image: Floats) -> None:
    """Draw labelled contour lines of an image in degrees over one side of the sphere."""
    centers = pixel_centers(len(image))
    degrees = image[np.isfinite(image)]
    if np.ptp(degrees) < LINES_DEG:
        return
    first, last = np.ceil(degrees.min() / LINES_DEG), np.floor(degrees.max() / LINES_DEG)
    lines = axes.contour(
        centers,
        centers,
        image,
        levels=LINES_DEG * np.arange(first, last + 1.0) + 0.0,
        colors=[INK],
        linewidths=0.7,
        alpha=0.7,
    )
    axes.clabel(lines, fmt="%.0f°", fontsize=9, inline_spacing=2)


def _ranges_deg(dependent: DependentLimit, limit: Limit | None, directions: Vectors) -> Floats:
    """Return what is drawn at directions (n, 3) of the driver's bone: (n, k), in degrees.

    A range has its width before its two ends. Values are NaN where the driver's limit is violated.
    """
    reference = quat.IDENTITY if limit is None else limit.chart.reference
    axis = dependent.axis if limit is None else direction_chart(limit).axis
    values = dependent.values_at(quat.mul(reference, quat.between(axis, directions)))
    scale = hinge_scale(dependent)
    angles_deg = np.degrees(values if scale is None else scale.angles_at(values))
    if angles_deg.shape[1] == 2:
        angles_deg = np.column_stack([angles_deg[:, 1] - angles_deg[:, 0], angles_deg])
    legal = True if limit is None else np.isfinite(twist_widths_deg(limit, directions))[:, None]
    return np.where(legal, angles_deg, np.nan)


def _span_deg(degrees: Floats) -> tuple[float, float]:
    """Return the span of a colour scale, at least 1 degree wide."""
    if not len(degrees):
        return 0.0, 1.0
    low, high = float(degrees.min()), float(degrees.max())
    return low, max(high, low + 1.0)
