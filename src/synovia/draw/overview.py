"""Pictures of clips: violations over time, and an overview of a clip before and after clamping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Quats
from ..edit import label
from ..model import LimitModel, Report
from ..skeleton import Clip, Pose, lineage
from .limit import draw_region
from .skeleton import body_size, draw_pose, mark_joints, with_descendants
from .style import (
    INK,
    LEGAL,
    MUTED,
    OUTSIDE,
    REGION,
    hide_frame,
    new_figure,
    readable_name,
    violation_colours,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_PX, HEIGHT_PX, ROW_PX = 1600, 900, 24
MAX_JOINTS = 6  # rows of the strips in the overview
TITLE: dict[str, Any] = {"size": 17, "weight": "bold"}
TEXT: dict[str, Any] = {"size": 12}


def draw_overview(
    model: LimitModel,
    wild: Clip,
    clamped: Clip,
    *,
    joint: str,
    samples: Quats,
    frames: Sequence[int],
) -> Figure:
    """Return a picture of `frames` of both clips, the region of `joint`, and strips of violations.

    The clips have the model's skeleton. `samples` (n, 4) are drawn inside the region.
    """
    before, after = model.check(wild), model.check(clamped)
    worst = [row.name for row in before.joints if row.worst_frame >= 0][:MAX_JOINTS]
    joints = worst or list(before.names[:MAX_JOINTS])
    figure = new_figure(WIDTH_PX, HEIGHT_PX)
    _draw_headings(figure, joint, samples, model)
    _draw_poses(figure.add_axes((0.015, 0.315, 0.61, 0.575)), wild, clamped, before, frames)
    region: Any = figure.add_axes((0.625, 0.32, 0.37, 0.555), projection="3d")
    measured = lineage(model.skeleton, joint, model.limits[joint].relative_to)
    paths = {
        OUTSIDE: measured.relative_rotation(wild.pose.rotations),
        LEGAL: measured.relative_rotation(clamped.pose.rotations),
    }
    draw_region(region, model.limits[joint], samples, paths)
    _draw_strips(figure, before, after, joints)
    return figure


def _draw_headings(figure: Figure, joint: str, samples: Quats, model: LimitModel) -> None:
    """Write the titles and the meaning of the colours above the panels."""
    limit = model.limits[joint]
    kind = f"{label(limit.shape)} in the {limit.chart.name} chart"
    for x, y, text, color, style in (
        (0.03, 0.935, "Clamped to what the joints can do", INK, TITLE),
        (0.645, 0.935, f"What the {readable_name(joint)} can do", INK, TITLE),
        (0.03, 0.903, "input, outside", OUTSIDE, TEXT),
        (0.150, 0.903, "clamped, inside", LEGAL, TEXT),
        (0.645, 0.903, f"learned region, a {kind}", REGION, TEXT),
        (0.645, 0.876, f"{len(samples):,} rotations observed", INK, TEXT),
        (0.795, 0.876, "input", OUTSIDE, TEXT),
        (0.870, 0.876, "clamped", LEGAL, TEXT),
    ):
        figure.text(x, y, text, color=color, **style)


def _draw_poses(
    axes: Axes, wild: Clip, clamped: Clip, before: Report, frames: Sequence[int]
) -> None:
    """Draw frames side by side: the clamped body, and over it the unclamped limbs outside."""
    skeleton = wild.skeleton
    size = body_size(skeleton)
    step = 0.70 * size
    for column, frame in enumerate(frames):
        outside = [
            name for name, out in zip(before.names, before.outside[frame], strict=True) if out
        ]
        limbs = with_descendants(skeleton, outside)
        legal, illegal = (_at_origin(clip.pose, frame) for clip in (clamped, wild))
        origin = (column * step, 0.0)
        draw_pose(axes, skeleton, legal, colors=dict.fromkeys(limbs, LEGAL), origin=origin)
        draw_pose(axes, skeleton, illegal, color=OUTSIDE, only=limbs, origin=origin)
        mark_joints(axes, skeleton, illegal, outside, origin=origin)
        worst = int(before.violation[frame].argmax())
        worst_deg = np.degrees(before.violation[frame, worst])
        text = f"{worst_deg:.0f}° outside, at {frame * wild.frame_time:.1f} s"
        name = readable_name(before.names[worst])
        centered: dict[str, Any] = {"ha": "center", "va": "baseline"}
        axes.text(origin[0], -0.135 * size, name, color=INK, size=14, weight="bold", **centered)
        axes.text(origin[0], -0.20 * size, text, color=MUTED, size=12, **centered)
    axes.set(xlim=(-0.5 * step, (len(frames) - 0.5) * step), ylim=(-0.21 * size, 1.13 * size))
    axes.set_aspect("equal")
    axes.axis("off")


def _draw_strips(figure: Figure, before: Report, after: Report, joints: Sequence[str]) -> None:
    """Draw the violations over time before and after clamping, on one colour scale."""
    worst_deg = max(float(np.degrees(before.violation.max(initial=0.0))), 1.0)
    bottom, height = 0.075, 0.155
    for left, report, title, color in (
        (0.105, before, "before", OUTSIDE),
        (0.525, after, "after", LEGAL),
    ):
        axes = figure.add_axes((left, bottom, 0.40, height))
        image = draw_strip(axes, report, joints, worst_deg)
        if report is after:
            axes.set_yticks([])
        axes.set_title(f"{title}: {_state(report)}", loc="left", color=color, size=13)
    draw_scale(figure.add_axes((0.94, bottom, 0.008, height)), image)


def _state(report: Report) -> str:
    """Return the share of frames outside in words."""
    if report.ok:
        return "inside in every frame"
    return f"outside in {100.0 * report.outside.any(axis=1).mean():.0f} % of the frames"


def _at_origin(pose: Pose, frame: int) -> Pose:
    """Return one pose, with its root above the origin."""
    positions = pose.positions[frame].copy()
    positions[0, [0, 2]] = 0.0
    return Pose(pose.rotations[frame], positions)


def draw_violation(report: Report, *, joints: Sequence[str] | None = None) -> Figure:
    """Return a picture of the violations of joints over time; all joints unless given."""
    names = list(report.names if joints is None else joints)
    height = ROW_PX * len(names) + 130
    figure = new_figure(1200, height)
    axes = figure.add_axes((0.13, 70 / height, 0.76, 1.0 - 130 / height))
    worst_deg = max(float(np.degrees(report.violation.max(initial=0.0))), 1.0)
    image = draw_strip(axes, report, names, worst_deg)
    figure.text(
        0.13,
        1.0 - 38 / height,
        f"{report.clip or 'clip'}: {_state(report)}",
        size=14,
        color=INK,
        weight="bold",
    )
    bar_axes = figure.add_axes((0.91, 70 / height, 0.012, 1.0 - 130 / height))
    draw_scale(bar_axes, image)
    return figure


def draw_strip(axes: Axes, report: Report, joints: Sequence[str], worst_deg: float) -> Any:
    """Draw the violations of `joints` over time, on a colour scale from 0 to `worst_deg`.

    Returns the image, for `draw_scale`.
    """
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
    """Draw the colour scale of `image` into `axes`, in degrees."""
    bar = axes.figure.colorbar(image, cax=axes)
    bar.outline.set_visible(False)
    hide_frame(axes)
    axes.set_ylabel("outside (°)", color=MUTED, size=10)
