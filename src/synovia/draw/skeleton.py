"""Pictures of a pose: the bones of a human, or strokes for other skeletons."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors, unit_vectors
from ..body import Body, body_of
from ..skeleton import Pose, Skeleton, end_positions, forward
from .style import BODY, BONE, OUTSIDE, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes


VIEW: Quats = quat.from_euler(np.radians([8.0, -33.0]), "xy")
"""Rotation of the world into view coordinates: the viewer looks along -z, y is up."""
THICKNESS = 0.021  # half the width of a bone, as a share of the skeleton's size
RIM = 0.0075  # width of the white around a bone, as a share of the skeleton's size
LIGHT = unit_vectors(np.array([-0.45, 0.75, 0.65]))  # direction of the light in view coordinates
AMBIENT = 0.45  # share of the colour that faces without light keep
SEAM = 0.4  # points; width of the edges that close the gaps between triangles


class BoneStroke(NamedTuple):
    """A bone in view coordinates, x right, y up, z to the viewer; without length it is a disk."""

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
    color: str | None = None,
) -> None:
    """Draw one pose into flat axes, in the unit of its positions; joints `outside` are red.

    A skeleton that is recognised as human has bones; others are drawn as strokes. The viewer looks
    from the side and above.
    """
    colors = dict.fromkeys(with_descendants(skeleton, outside), OUTSIDE)
    axes.set_aspect("equal")
    axes.axis("off")
    draw_pose(axes, skeleton, pose, colors=colors, color=color)
    mark_joints(axes, skeleton, pose, outside)
    axes.margins(0.02)
    axes.autoscale_view()


def draw_pose(
    axes: Axes,
    skeleton: Skeleton,
    pose: Pose,
    *,
    colors: Mapping[str, str] | None = None,
    color: str | None = None,
    only: Collection[str] | None = None,
    view: Quats = VIEW,
    origin: tuple[float, float] = (0.0, 0.0),
) -> None:
    """Draw the bones of one pose into flat axes, moved to `origin`.

    `colors` gives the bones of some joints a colour of their own; `only` leaves out all others.
    """
    body = bones_of(skeleton)
    if body is None:
        drawn = strokes(skeleton, pose, colors=colors, color=color, only=only, view=view)
        paint(axes, drawn, origin=origin)
    else:
        _paint_bones(axes, body, pose, colors or {}, color or BONE, only, view, origin)


@lru_cache(maxsize=8)
def bones_of(skeleton: Skeleton) -> Body | None:
    """Return the bones of a human skeleton, without a skin; None for other skeletons."""
    return body_of(skeleton, skin=False)


def _paint_bones(
    axes: Axes,
    body: Body,
    pose: Pose,
    colors: Mapping[str, str],
    color: str,
    only: Collection[str] | None,
    view: Quats,
    origin: tuple[float, float],
) -> None:
    """Draw the triangles that face the viewer, shaded, the farthest first."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb

    names, triangles = body.skeleton.names, body.bones.triangles.astype(int)
    owners = body.owners(body.bones)[triangles[:, 0]]
    if only is not None:
        shown = np.array([name in only for name in names])[owners]
        triangles, owners = triangles[shown], owners[shown]
    vertices = quat.rotate(view, body.vertices(body.bones, pose))
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    front = np.flatnonzero(normals[:, 2] > 0.0)
    front = front[np.argsort(corners[front, :, 2].mean(axis=1))]
    smooth = np.zeros_like(vertices)  # sums of the normals of the triangles at each vertex
    np.add.at(smooth, triangles, normals[:, None])
    facing = unit_vectors(smooth[triangles[front]].sum(axis=1)) @ LIGHT
    light = AMBIENT + (1.0 - AMBIENT) * np.maximum(facing, 0.0)
    paints = np.array([to_rgb(colors.get(name, color)) for name in names])[owners[front]]
    outlines = corners[front, :, :2] + origin
    faces = PolyCollection(
        outlines,
        facecolors=light[:, None] * paints,
        edgecolors="face",
        linewidths=SEAM,
        zorder=4,
        rasterized=True,
    )
    axes.add_collection(faces, autolim=False)
    axes.update_datalim(outlines.reshape(-1, 2))


def strokes(
    skeleton: Skeleton,
    pose: Pose,
    *,
    colors: Mapping[str, str] | None = None,
    color: str | None = None,
    only: Collection[str] | None = None,
    view: Quats = VIEW,
) -> list[BoneStroke]:
    """Return the bones of one pose as strokes; each belongs to the joint that rotates it.

    `colors` and `only` are as for `draw_pose`.
    """
    positions, rotations = forward(skeleton, pose)
    joints, ends = quat.rotate(view, positions), quat.rotate(view, end_positions(skeleton, pose))
    size = body_size(skeleton)
    radius, rim = THICKNESS * size, RIM * size
    owners = [*skeleton.parents[skeleton.parents >= 0].tolist(), *skeleton.end_parents.tolist()]
    tips = [*joints[skeleton.parents >= 0], *ends]
    drawn = []
    for owner, tip in zip(owners, tips, strict=True):
        name = skeleton.names[owner]
        if only is not None and name not in only:
            continue
        shade = (colors or {}).get(name, color or BODY)
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
) -> None:
    """Draw a red dot on each of `joints`, in the default view."""
    from matplotlib.patches import Circle

    positions = quat.rotate(VIEW, forward(skeleton, pose)[0])[:, :2] + origin
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
