"""Pictures of Engell-Nørregård et al.: time a frame, deviation from a capture, and bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from synovia.arrays import Scalars
from synovia.draw.skeleton import draw_skeleton, paint, strokes
from synovia.draw.style import BODY, INK, LEGAL, LINE, MUTED, REGION, hide_frame, new_figure
from synovia.skeleton import Pose

from .engell_norregard import LESSONS, Capture, Run
from .finding import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BOX_COLOR, GHOST = "#e08a1e", "#dfe6ea"
COLORS = {
    "box": BOX_COLOR,
    "field, sampled": REGION,
    "field, sculpted": "#7a4fb5",
    "reach cone": LEGAL,
    "no limits": MUTED,
}
"""Colours of the named families; others are grey."""


def pictures_of(result: Result) -> dict[str, Figure]:
    """Return the pictures of a result by file name."""
    if not isinstance(result, Capture):
        return {}
    return {
        "capture-times.png": draw_times(result),
        "capture-deviation.png": draw_deviations(result),
        "capture-bodies.png": draw_bodies(result),
    }


def draw_times(capture: Capture) -> Figure:
    """Return the times of all frames by family, in order of their size (Fig. 1a)."""
    figure, axes = _panel("Time a frame, in order of size", 760, 480)
    for family in capture.families:
        seconds = [run.seconds for run in capture.runs if run.family == family]
        ordered = 1e3 * np.sort(np.concatenate(seconds))
        share = 100.0 * (np.arange(len(ordered)) + 1.0) / len(ordered)
        axes.plot(share, ordered, **_look(family))
    axes.set(yscale="log", xlim=(0.0, 100.0))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("share of frames (%)", color=MUTED, size=10)
    axes.set_ylabel("time (ms)", color=MUTED, size=10)
    _legend(axes)
    return figure


def draw_deviations(capture: Capture) -> Figure:
    """Return the deviation of the elbows of one clip from the capture, by frame (Fig. 1b).

    A panel for each lesson that the limits were learned from.
    """
    name = capture.shown[0].clip.name
    taught = [lesson for lesson in LESSONS if any(run.lesson == lesson for run in capture.runs)]
    figure = new_figure(760, 90 + 250 * len(taught))
    height = 90 + 250 * len(taught)
    figure.text(0.03, 1.0 - 30 / height, f"Elbows of {name}", **_heading())
    for row, lesson in enumerate(taught):
        bottom = (height - 60 - 250 * (row + 1) + 60) / height
        axes = figure.add_axes((0.09, bottom, 0.66, 165 / height))
        for run in capture.runs:
            if (run.lesson, run.clip.name) == (lesson, name) and run.family in COLORS:
                both = _both(run)
                axes.plot(run.clip.frame_time * np.arange(len(both)), both, **_look(run.family))
        _plain(axes)
        axes.set_ylim(bottom=0.0)
        axes.set_title(f"learned from {lesson}", loc="left", size=12, color=INK)
        axes.set_ylabel("deviation (cm)", color=MUTED, size=10)
        if row == 0:
            _legend(axes)
    axes.set_xlabel("time (s)", color=MUTED, size=10)
    return figure


def draw_bodies(capture: Capture) -> Figure:
    """Return field, capture and box side by side, in the frame where they differ (Fig. 2).

    Behind field and box stands the capture, in pale.
    """
    box, field, frame = capture.shown
    clip = box.clip
    figure = new_figure(1050, 560)
    figure.text(0.03, 0.94, f"{clip.name}, after {frame * clip.frame_time:.1f} s", **_heading())
    captured = _at(clip.pose, frame)
    shown = (
        ("distance field", field.pose, REGION, field),
        ("capture", clip.pose, LEGAL, None),
        ("box", box.pose, BOX_COLOR, box),
    )
    for column, (title, pose, color, run) in enumerate(shown):
        axes = figure.add_axes((0.01 + 0.33 * column, 0.02, 0.32, 0.78))
        if run is not None:
            ghost = strokes(clip.skeleton, captured, color=GHOST)
            paint(axes, ghost)
        draw_skeleton(axes, clip.skeleton, _at(pose, frame), color=color)
        far = "" if run is None else f"elbow {_both(run)[frame]:.1f} cm off"
        axes.set_title(f"{title}\n{far}", size=13, color=INK)
    return figure


def _both(run: Run) -> Scalars:
    """Return the larger deviation of both elbows (frames,), in cm."""
    return np.asarray(run.elbow_cm.reshape(2, -1).max(axis=0))


def _at(pose: Pose, frame: int) -> Pose:
    return Pose(pose.rotations[frame], pose.positions[frame])


def _panel(title: str, width: int, height: int) -> tuple[Figure, Axes]:
    figure = new_figure(width, height)
    figure.text(0.03, 1.0 - 30 / height, title, **_heading())
    axes = figure.add_axes((0.09, 0.13, 0.66, 0.74))
    _plain(axes)
    return figure, axes


def _plain(axes: Axes) -> None:
    hide_frame(axes)
    axes.grid(color=LINE, lw=0.6)


def _heading() -> dict[str, Any]:
    return {"size": 15, "color": INK, "weight": "bold", "va": "center"}


def _look(family: str) -> dict[str, Any]:
    known = family in COLORS
    color = COLORS.get(family, BODY)
    return {
        "color": color,
        "lw": 1.8 if known else 1.1,
        "label": family,
        "zorder": 3 if known else 2,
    }


def _legend(axes: Axes) -> None:
    handles, names = axes.get_legend_handles_labels()
    told = {name if name in COLORS else "others": h for h, name in zip(handles, names, strict=True)}
    axes.legend(
        told.values(),
        told.keys(),
        loc="upper left",
        bbox_to_anchor=(1.01, 1.02),
        frameon=False,
        labelcolor=INK,
        fontsize=10,
    )
