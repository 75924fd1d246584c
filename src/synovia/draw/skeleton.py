"""Pictures of poses: the bones of a human, strokes for other skeletons, plates of a figure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors, unit_vectors
from ..body import Body, body_of
from ..components import Figure, Scapula
from ..skeleton import Pose, Skeleton, end_positions, forward
from .style import BODY, BONE, INK, LEGAL_BONE, MUTED, OUTSIDE, PAPER, REGION, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

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


PANEL_PX, HEIGHT_PX = 430, 560
CIRCLES = 10  # parts of half a turn between the circles on an ellipsoid


@dataclass(frozen=True)
class Plate:
    """What a plate shows of a figure: a panel for each pose, to one scale.

    `poses` are controls by caption; `segments` and `highlighted` are patterns of the segments to
    draw, and to draw in green. The figure is rotated by `pitch` and `yaw`, in degrees, before it is
    seen from the front.
    """

    title: str
    poses: Mapping[str, Mapping[str, float]]
    segments: tuple[str, ...] = ("*",)
    highlighted: tuple[str, ...] = ()
    pitch: float = 8.0
    yaw: float = -33.0
    zoom: tuple[str, float] | None = None
    """Joint in the middle of panels, and half their width in the figure's unit; None: show all."""
    ellipsoids: bool = False
    """Whether the ellipsoids on which scapulae glide are drawn."""

    @property
    def view(self) -> Quats:
        """Rotation of the figure for a viewer who looks along -z."""
        return quat.from_euler(np.radians([self.pitch, self.yaw]), "xy")


def _shoulders(**controls: float) -> dict[str, float]:
    """Return the full names and values of shoulder controls, for both sides."""
    sides = ("left", "right")
    return {f"{side}_shoulder.{name}": value for side in sides for name, value in controls.items()}


PLATES = {
    "knee": Plate(
        "One control moves tibia, patella and fibula",
        {f"left knee flexion {deg}°": {"left_knee.flexion": deg} for deg in (0, 40, 80, 120)},
        segments=("LeftUpperLeg", "LeftLowerLeg", "LeftPatella", "LeftFibula", "LeftFoot"),
        highlighted=("LeftLowerLeg", "LeftPatella", "LeftFibula"),
        pitch=0.0,
        yaw=-90.0,
        zoom=("LeftLowerLeg", 0.11),
    ),
    "scapula": Plate(
        "Scapulae glide on two ellipsoids: at rest, shrugged, drawn forward, arms raised",
        {
            "at rest": {},
            "shoulder elevation 35°": _shoulders(elevation=35.0),
            "shoulder protraction 25°": _shoulders(protraction=25.0),
            "shoulder abduction 150°": _shoulders(abduction=150.0),
        },
        segments=("Sternum", "*Clavicle", "*Scapula", "*UpperArm"),
        highlighted=("*Clavicle", "*Scapula"),
        pitch=10.0,
        yaw=180.0,
        ellipsoids=True,
    ),
}
"""Plates of the human by name."""


def draw_plate(figure: Figure, plate: Plate) -> Picture:
    """Return the picture: one panel a pose, side by side."""
    skeleton, count = figure.skeleton, len(plate.poses)
    picture = new_figure(PANEL_PX * count, HEIGHT_PX)
    picture.text(0.03, 0.93, plate.title, color=INK, size=15, weight="bold")
    shown = {name for name in skeleton.names if _matches(name, plate.segments)}
    if not shown:
        raise ValueError(f"the figure must have bones like {', '.join(plate.segments)}, got none")
    colors = {name: LEGAL_BONE for name in shown if _matches(name, plate.highlighted)}
    panels = []
    for number, (caption, controls) in enumerate(plate.poses.items()):
        picture.text((number + 0.5) / count, 0.04, caption, color=MUTED, ha="center")
        axes = picture.add_axes((number / count, 0.08, 1.0 / count, 0.82))
        pose = figure.pose(controls)
        draw_pose(axes, skeleton, pose, colors=colors, only=shown, view=plate.view)
        if plate.ellipsoids:
            for center, halves in _ellipsoids(figure, pose, plate.view):
                _draw_ellipsoid(axes, center, halves)
        panels.append(axes)
    corners = np.array([axes.dataLim.get_points() for axes in panels])
    low, high = corners[:, 0].min(axis=0), corners[:, 1].max(axis=0)
    edge = 0.04 * (high - low).max()
    if plate.zoom is not None:
        joint, edge = skeleton.index(plate.zoom[0]), plate.zoom[1]
        low = high = quat.rotate(plate.view, forward(skeleton, figure.pose({}))[0][joint])[:2]
    for axes in panels:
        axes.set(xlim=(low[0] - edge, high[0] + edge), ylim=(low[1] - edge, high[1] + edge))
        axes.set_aspect("equal")
        axes.axis("off")
    return picture


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """Return True if the name matches one of the shell-style patterns."""
    return any(fnmatch(name, pattern) for pattern in patterns)


def _ellipsoids(figure: Figure, pose: Pose, view: Quats) -> Iterator[tuple[Vectors, Floats]]:
    """Yield centre (3,) and half axes (3, 3), as seen, of the ellipsoids of all scapulae.

    A component gives them in the frame of the parent of its set's first segment, with the origin at
    that segment's joint.
    """
    skeleton = figure.skeleton
    positions, rotations = forward(skeleton, pose)
    for joint_set in figure.joint_sets.values():
        for part in joint_set.network.components.values():
            if isinstance(part, Scapula):
                first = skeleton.index(next(iter(joint_set.network.outputs)))
                parent = int(skeleton.parents[first])
                frame = quat.mul(view, rotations[parent])
                center = quat.rotate(frame, skeleton.offsets[first] + part.center)
                halves = quat.rotate(frame, part.radii[:, None] * part.axes)
                yield quat.rotate(view, positions[parent]) + center, halves


def _draw_ellipsoid(axes: Axes, center: Vectors, halves: Floats) -> None:
    """Draw the outline of an ellipsoid, and the near half of its circles."""
    from matplotlib.patches import Polygon

    around = np.linspace(0.0, 2.0 * np.pi, 12 * CIRCLES + 1)
    edge = np.linalg.cholesky((halves.T @ halves)[:2, :2])
    outline = center[:2] + np.stack([np.cos(around), np.sin(around)], axis=-1) @ edge.T
    axes.add_patch(Polygon(outline, fc=REGION, alpha=0.12, lw=0, zorder=3))
    axes.add_patch(Polygon(outline, fill=False, ec=REGION, lw=1.0, zorder=3))
    polar, azimuth = np.meshgrid(around, around)  # of the unit sphere, with its pole along y
    ball = np.stack(
        [np.sin(polar) * np.cos(azimuth), np.cos(polar), np.sin(polar) * np.sin(azimuth)], axis=-1
    )
    points = center + ball @ halves
    points[(ball @ np.linalg.inv(halves).T)[..., 2] < 0.0] = np.nan
    half_turn = slice(6, 6 * CIRCLES, 6)
    for line in (*points[half_turn], *points.swapaxes(0, 1)[half_turn]):
        axes.plot(line[:, 0], line[:, 1], color=REGION, lw=0.6, alpha=0.55, zorder=3)
