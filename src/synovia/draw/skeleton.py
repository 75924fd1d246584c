"""A pose as bones of a human, or as strokes, seen from the side and above."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors
from ..skeleton import Pose, Skeleton, end_positions, forward
from .body import bones_of, bounds, paint_bones, see_bones
from .style import BODY, BONE, OUTSIDE, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes


VIEW: Quats = quat.from_euler(np.radians([8.0, -33.0]), "xy")
"""Rotation of the world into view coordinates: the viewer looks along -z, y is up."""
THICKNESS = 0.021
"""Half the width of a bone, as a share of the skeleton's size."""
RIM = 0.0075
"""The width of the white around a bone, as a share of the skeleton's size."""


class BoneStroke(NamedTuple):
    """A bone as it appears: x to the right, y up, z to the viewer; a point is a disk."""

    start: Vectors
    end: Vectors
    radius: float
    color: str
    rim: float


def draw_skeleton(
    axes: Axes,
    skeleton: Skeleton,
    pose: Pose,
    *,
    outside: Collection[str] = (),
    color: str = BODY,
    view: Quats = VIEW,
    thickness: float = THICKNESS,
) -> None:
    """Draw one pose into flat axes, in the unit of its positions; joints `outside` are red.

    A human, also a recognised one, has bones; other skeletons are strokes, whose `thickness` is
    half the width of a bone, as a share of the skeleton's size.
    """
    colors = dict.fromkeys(with_descendants(skeleton, outside), OUTSIDE)
    bones = bones_of(skeleton)
    axes.set_aspect("equal")
    axes.axis("off")
    if bones is not None:
        base = BONE if color == BODY else color
        bones_seen = see_bones(bones, pose, view, colors=colors, color=base)
        low, high = bounds(bones_seen)
        edge = 0.02 * float((high - low).max())
        axes.update_datalim(np.stack([low - edge, high + edge]))
        axes.autoscale_view()
        (left, bottom), (right, top) = low - edge, high + edge
        paint_bones(axes, bones_seen, (left, right, bottom, top))
    else:
        drawn = strokes(skeleton, pose, colors=colors, color=color, view=view, thickness=thickness)
        paint(axes, drawn)
    mark_joints(axes, skeleton, pose, outside, view=view)
    axes.autoscale_view()


def strokes(
    skeleton: Skeleton,
    pose: Pose,
    *,
    colors: Mapping[str, str] | None = None,
    color: str = BODY,
    only: Collection[str] | None = None,
    view: Quats = VIEW,
    thickness: float = THICKNESS,
) -> list[BoneStroke]:
    """Return the bones of one pose as strokes; each belongs to the joint that rotates it.

    `colors` gives the bones of some joints a colour of their own; `only` leaves out all others.
    """
    positions, rotations = forward(skeleton, pose)
    joints, ends = quat.rotate(view, positions), quat.rotate(view, end_positions(skeleton, pose))
    size = body_size(skeleton)
    radius, rim = thickness * size, RIM * size * min(1.0, thickness / THICKNESS)
    owners = [*skeleton.parents[skeleton.parents >= 0].tolist(), *skeleton.end_parents.tolist()]
    tips = [*joints[skeleton.parents >= 0], *ends]
    drawn = []
    for owner, tip in zip(owners, tips, strict=True):
        name = skeleton.names[owner]
        if only is not None and name not in only:
            continue
        shade = (colors or {}).get(name, color)
        drawn.append(BoneStroke(joints[owner], tip, radius, shade, rim))
        if name.lower().endswith("head"):
            nose = quat.rotate(quat.mul(view, rotations[owner]), np.array([0.0, 0.0, 1.0]))
            drawn += _head(joints[owner], tip, nose, shade, rim)
    return drawn


def paint(
    axes: Axes, drawn: Sequence[BoneStroke], *, origin: tuple[float, float] = (0.0, 0.0)
) -> None:
    """Draw strokes into flat axes, moved to `origin`, the far ones first.

    A white rim under each stroke separates it from those behind.
    """
    from matplotlib.patches import Polygon

    for stroke in sorted(drawn, key=lambda stroke: float(stroke.start[2] + stroke.end[2])):
        for radius, color in ((stroke.radius + stroke.rim, PAPER), (stroke.radius, stroke.color)):
            outline = _capsule(stroke.start[:2], stroke.end[:2], radius) + origin
            axes.add_patch(Polygon(outline, fc=color, lw=0, zorder=4))


def mark_joints(
    axes: Axes,
    skeleton: Skeleton,
    pose: Pose,
    joints: Collection[str],
    *,
    origin: tuple[float, float] = (0.0, 0.0),
    view: Quats = VIEW,
) -> None:
    """Put a red dot on each of `joints`."""
    from matplotlib.patches import Circle

    positions = quat.rotate(view, forward(skeleton, pose)[0])[:, :2] + origin
    radius = 1.2 * THICKNESS * body_size(skeleton)
    for name in joints:
        center = positions[skeleton.index(name)]
        axes.add_patch(Circle(center.tolist(), radius, fc=OUTSIDE, ec=PAPER, lw=1.8, zorder=6))


def with_descendants(skeleton: Skeleton, joints: Collection[str]) -> set[str]:
    """Return the names of `joints` and of their descendants."""
    moved: set[int] = {skeleton.index(name) for name in joints}
    for joint, parent in enumerate(skeleton.parents.tolist()):
        if parent in moved:
            moved.add(joint)
    return {skeleton.names[joint] for joint in moved}


def body_size(skeleton: Skeleton) -> float:
    """Return the height or the width of the skeleton at rest, whichever is more."""
    rest = skeleton.rest_pose()
    positions = np.concatenate([forward(skeleton, rest)[0], end_positions(skeleton, rest)])
    return float(np.ptp(positions, axis=0).max()) or 1.0


def _capsule(start: Vectors, end: Vectors, radius: float) -> Vectors:
    """Return the outline (n, 2) of a stroke with round ends, in the unit of the positions."""
    direction = end - start
    angle = np.arctan2(direction[1], direction[0]) + np.linspace(0.5 * np.pi, 1.5 * np.pi, 19)
    half = radius * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return np.concatenate([start + half, end - half])


def _head(start: Vectors, end: Vectors, nose: Vectors, color: str, rim: float) -> list[BoneStroke]:
    """Return a round head, with a nose that shows its direction."""
    middle = 0.45 * start + 0.55 * end
    radius = 0.6 * float(np.linalg.norm(end - start))
    tip = middle + 1.5 * radius * nose
    return [
        BoneStroke(middle, middle, radius, color, rim),
        BoneStroke(middle + 0.9 * radius * nose, tip, 0.2 * radius, color, 0.6 * rim),
    ]
