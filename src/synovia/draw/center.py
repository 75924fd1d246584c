"""The centre that a joint turns about: where it is, and the way it goes over a control's range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from ..components import Figure
from ..skeleton import Pose, forward
from .style import BODY, INK, MUTED, OUTSIDE, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEP = 0.5  # of a control's unit: how far it goes to and fro to find the centre of a motion
ALONG = 121  # places on the way over a range
ROOM = 0.75  # around the middle of a way, as a share of its extent


class Trail(NamedTuple):
    """Where a centre is seen, (..., 2), over the whole range of a control and in some poses.

    `values` (n,) of the control have the centre along `way`, those of the poses (k,) at `marks`.
    """

    values: Floats
    way: Vectors
    angles: Floats
    marks: Vectors

    @property
    def middle(self) -> Vectors:
        """The middle (2,) of all that there is to see."""
        points = np.concatenate([self.way, self.marks])
        return np.asarray(0.5 * (points.min(axis=0) + points.max(axis=0)))

    @property
    def reach(self) -> float:
        """How far around the middle is to be shown; 1 for a centre that does not move."""
        points = np.concatenate([self.way, self.marks])
        return ROOM * float(np.ptp(points, axis=0).max()) or 1.0


def center_of_motion(figure: Figure, controls: Mapping[str, float], name: str, by: str) -> Vectors:
    """Return the point (3,), in the frame of a segment's parent, about which a control turns it.

    It is the point of the motion's axis that is nearest to the segment's joint.
    """
    joint = figure.skeleton.index(name)
    here = figure.pose(controls).controls[list(figure.controls).index(by)]
    pose = figure.pose({**controls, by: here + np.array([-STEP, STEP])})
    turns, places = quat.to_matrix(pose.rotations[:, joint]), pose.positions[:, joint]
    across = turns[1] @ turns[0].T
    middle = places.mean(axis=0)
    # Of all points that the turn leaves in place, x - R x = t, the pseudo-inverse takes the
    # nearest to the joint.
    moved = places[1] - middle - across @ (places[0] - middle)
    return np.asarray(middle + np.linalg.pinv(np.eye(3) - across, rcond=1e-6) @ moved)


def trail_of(
    figure: Figure, poses: tuple[Mapping[str, float], ...], name: str, by: str, view: Quats
) -> Trail:
    """Return the way of the centre of a segment's motion, and where it is in each of the poses."""
    posed = figure.pose(poses[0])
    places, turns = forward(figure.skeleton, Pose(posed.rotations, posed.positions))
    parent = int(figure.skeleton.parents[figure.skeleton.index(name)])

    def seen(controls: Mapping[str, float]) -> Vectors:
        center = center_of_motion(figure, controls, name, by)
        there = places[parent] + quat.rotate(turns[parent], center)
        return np.asarray(quat.rotate(view, there)[:2])

    limits = figure.controls[by]
    values = np.linspace(limits.low + STEP, limits.high - STEP, ALONG)
    angles = np.array([each.get(by, limits.neutral) for each in poses])
    # A pose at an end of what is shown has its centre on this side of it.
    inner = np.clip(angles, angles.min() + STEP, angles.max() - STEP)
    way, marks = (np.array([seen({**poses[0], by: x}) for x in each]) for each in (values, inner))
    return Trail(values, way, angles, marks)


def mark_center(axes: Axes, trail: Trail, number: int) -> None:
    """Draw the way of a centre, and a disk where it is in the pose of this number."""
    axes.plot(*trail.way.T, lw=1.0, color=OUTSIDE, alpha=0.6, zorder=7)
    x, y = trail.marks[number]
    axes.plot([x], [y], "o", ms=11, mfc=OUTSIDE, mec=PAPER, mew=1.8, zorder=8)
    axes.plot([x], [y], "o", ms=3, color=PAPER, zorder=9)


def draw_trail(axes: Axes, trail: Trail) -> None:
    """Draw the way of a centre by itself, as large as fits, with a labelled dot for each pose.

    It is dotted where the control is beyond the poses.
    """
    within = (trail.values > trail.angles.min()) & (trail.values < trail.angles.max())
    axes.plot(*trail.way.T, ":", lw=1.2, color=OUTSIDE, alpha=0.6)
    axes.plot(*trail.way[within].T, lw=3.0, color=OUTSIDE, alpha=0.5, solid_capstyle="round")
    for place, angle in zip(trail.marks, trail.angles, strict=True):
        axes.plot(*place, "o", ms=11, mfc=OUTSIDE, mec=PAPER, mew=1.8, zorder=8)
        outwards = place - trail.marks.mean(axis=0)
        away = 20.0 * outwards / (np.linalg.norm(outwards) or 1.0)
        label = axes.annotate(f"{angle:g}°", tuple(place), tuple(away), textcoords="offset points")
        label.set(color=INK, size=12, ha="center", va="center")
    low, high = trail.middle - trail.reach, trail.middle + trail.reach
    bar = 10.0 ** np.floor(np.log10(trail.reach))
    x, y = low + 0.06 * (high - low)
    axes.plot([x, x + bar], [y, y], color=MUTED, lw=2.0)
    axes.annotate(f"{1e3 * bar:g} mm", (x, y), (0, 6), textcoords="offset points", color=MUTED)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_color(BODY)
