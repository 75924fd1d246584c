"""Draw a report: time across, joints down, colour for how far outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model import Report
from .style import INK, MUTED, hide_frame, new_figure, readable_name, violation_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ROW_PX = 24


def draw_violation(report: Report, *, joints: Sequence[str] | None = None) -> Figure:
    """Return the strip of `report`, for all its joints unless `joints` names some."""
    names = list(report.names if joints is None else joints)
    height = ROW_PX * len(names) + 130
    figure = new_figure(1200, height)
    axes = figure.add_axes((0.13, 70 / height, 0.76, 1.0 - 130 / height))
    worst_deg = max(float(np.degrees(report.violation.max(initial=0.0))), 1.0)
    image = draw_strip(axes, report, names, worst_deg)
    figure.text(0.13, 1.0 - 38 / height, _title(report), size=14, color=INK, weight="bold")
    bar_axes = figure.add_axes((0.91, 70 / height, 0.012, 1.0 - 130 / height))
    draw_scale(bar_axes, image)
    return figure


def draw_strip(axes: Axes, report: Report, joints: Sequence[str], worst_deg: float) -> Any:
    """Draw `joints` of the report into `axes`, on a scale to `worst_deg`; return the image."""
    rows = [report.names.index(name) for name in joints]
    strip_deg = np.degrees(report.violation[:, rows]).T
    end = max(len(report.violation), 1) * report.frame_time
    extent = (0.0, end, len(rows) - 0.5, -0.5)
    image = axes.imshow(
        strip_deg,
        cmap=violation_colours(),
        vmin=0.0,
        vmax=worst_deg,
        aspect="auto",
        extent=extent,
        interpolation="nearest",
    )
    hide_frame(axes)
    axes.set_yticks(range(len(rows)), [readable_name(name) for name in joints])
    axes.tick_params(axis="y", labelcolor=INK, pad=6)
    axes.hlines(np.arange(1, len(rows)) - 0.5, 0.0, end, color="white", lw=2.0)
    axes.set_xlabel("time (s)", color=MUTED, size=10)
    return image


def draw_scale(axes: Axes, image: Any) -> None:
    """Draw the colours of `image` into `axes`, with degrees."""
    bar = axes.figure.colorbar(image, cax=axes)
    bar.outline.set_visible(False)
    hide_frame(axes)
    axes.set_ylabel("outside (°)", color=MUTED, size=10)


def _title(report: Report) -> str:
    if report.ok:
        return f"{report.clip or 'clip'}: inside in every frame"
    share = 100.0 * report.outside.any(axis=1).mean()
    return f"{report.clip or 'clip'}: outside in {share:.0f} % of the frames"
