"""Pictures of rejection against volume; curves lower and further left are better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evidence import TradeoffCurve
from .style import INK, LINE, MUTED, hide_frame, new_figure, readable_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#2f6fc1", "#0b9488", "#dc2f45", "#e08a1e", "#7a4fb5", "#3d9b35", "#c2478f", "#8a6d3b")
STROKES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
MIN_VOLUME = 1e-6  # share of all rotations; smaller regions are not shown on the logarithmic scale
MIN_PERCENT = 0.02  # rejections below are drawn here, at the lower edge of the logarithmic scale
TITLE = "Newcomers' frames rejected, against the share of all rotations accepted"
COLUMNS, PANEL_PX, SIDE_PX = 3, 400, 330


def draw_tradeoff(
    panels: Mapping[str, Sequence[TradeoffCurve]], *, reject: float | None = None
) -> Figure:
    """Return a picture with a panel for each title and its curves, on logarithmic scales.

    A line marks the rejection `reject`, a share, if given.
    """
    from matplotlib.lines import Line2D

    if not panels:
        raise ValueError("a picture of curves needs at least one panel, got none")
    across = min(len(panels), COLUMNS)
    down = -(-len(panels) // across)
    width, height = across * PANEL_PX + SIDE_PX, down * (PANEL_PX - 20) + 90
    figure = new_figure(width, height)
    figure.text(
        24 / width, 1.0 - 36 / height, TITLE, size=15, color=INK, weight="bold", va="center"
    )
    names = dict.fromkeys(curve.name for curves in panels.values() for curve in curves)
    styles: dict[str, dict[str, Any]] = {}
    for k, name in enumerate(names):  # after the last colour they repeat with other strokes
        repeat, color = divmod(k, len(COLORS))
        styles[name] = {"color": COLORS[color], "ls": STROKES[repeat % len(STROKES)], "lw": 1.8}
    for k, (title, curves) in enumerate(panels.items()):
        row, column = divmod(k, across)
        left = (column * PANEL_PX + 70) / width
        bottom = (height - 100 - (row + 1) * (PANEL_PX - 20) + 75) / height
        axes = figure.add_axes((left, bottom, (PANEL_PX - 95) / width, (PANEL_PX - 95) / height))
        _draw_panel(axes, readable_name(title), curves, styles, reject)
    figure.legend(
        handles=[Line2D([], [], **look) for look in styles.values()],
        labels=list(styles),
        loc="upper left",
        bbox_to_anchor=(1.0 - (SIDE_PX - 10) / width, 1.0 - 60 / height),
        frameon=False,
        labelcolor=INK,
        fontsize=11,
        handlelength=2.8,
        labelspacing=0.7,
    )
    return figure


def _draw_panel(
    axes: Axes,
    title: str,
    curves: Sequence[TradeoffCurve],
    styles: Mapping[str, dict[str, Any]],
    reject: float | None,
) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    for curve in curves:
        volumes, rejected = curve.frontier
        percent = np.maximum(100.0 * rejected, MIN_PERCENT)
        shown = volumes > MIN_VOLUME
        axes.plot(100.0 * volumes[shown], percent[shown], **styles[curve.name])
    hide_frame(axes)
    axes.set(xscale="log", yscale="log")
    axes.set_ylim(bottom=MIN_PERCENT)
    for axis in (axes.xaxis, axes.yaxis):
        low, high = axis.get_view_interval()
        marks = (1.0, 2.0, 5.0) if high < 2000.0 * low else (1.0,)
        axis.set_major_locator(LogLocator(subs=marks, numticks=12))
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_locator(NullLocator())
    axes.grid(color=LINE, lw=0.6)
    if reject is not None:
        axes.axhline(100.0 * reject, color=MUTED, lw=1.0, zorder=1)
    axes.set_title(title, loc="left", size=13, color=INK)
    axes.set_xlabel("accepted (% of all rotations)", color=MUTED, size=10)
    axes.set_ylabel("rejected (% of frames)", color=MUTED, size=10)
