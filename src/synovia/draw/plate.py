"""Plates: a figure in several poses, side by side, with centres and trails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from ..components import Figure, Scapula
from ..skeleton import Pose, forward
from .skeleton import draw_pose
from .style import (
    BODY,
    INK,
    LEGAL_BONE,
    MUTED,
    OUTSIDE,
    PAPER,
    REGION,
    new_figure,
    readable_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

STEP = 0.5  # of a control's unit: step to both sides in the estimate of a centre of rotation
TRAIL_POINTS = 121  # points over the range of a control
ROOM = 0.75  # half the width of the panel of a trail, as a share of the trail's extent


class Trail(NamedTuple):
    """Positions of a centre of rotation, projected for the viewer."""

    values: Floats
    """(n,): values of the control over its whole range."""
    path: Vectors
    """(n, 2): positions at these values."""
    angles: Floats
    """(k,): values of the control in the poses."""
    marks: Vectors
    """(k, 2): positions in the poses."""

    @property
    def middle(self) -> Vectors:
        """The middle (2,) of the bounding box of path and marks."""
        points = np.concatenate([self.path, self.marks])
        return np.asarray(0.5 * (points.min(axis=0) + points.max(axis=0)))

    @property
    def reach(self) -> float:
        """Half the width of a panel that shows all of it; 1 for a centre that does not move."""
        points = np.concatenate([self.path, self.marks])
        return ROOM * float(np.ptp(points, axis=0).max()) or 1.0


def center_of_motion(figure: Figure, controls: Mapping[str, float], name: str, by: str) -> Vectors:
    """Return the point (3,), in the frame of the parent, about which a control rotates a segment.

    `name` is the segment and `by` the control. Of the axis of the motion, the point nearest to the
    segment's joint is returned.
    """
    joint = figure.skeleton.index(name)
    value = figure.pose(controls).controls[list(figure.controls).index(by)]
    pose = figure.pose({**controls, by: value + np.array([-STEP, STEP])})
    matrices, positions = quat.to_matrix(pose.rotations[:, joint]), pose.positions[:, joint]
    rotation = matrices[1] @ matrices[0].T
    middle = positions.mean(axis=0)
    # The fixed points of the motion satisfy x - R x = t; the pseudo-inverse gives the one nearest
    # to the joint.
    moved = positions[1] - middle - rotation @ (positions[0] - middle)
    return np.asarray(middle + np.linalg.pinv(np.eye(3) - rotation, rcond=1e-6) @ moved)


def trail_of(
    figure: Figure, poses: tuple[Mapping[str, float], ...], name: str, by: str, view: Quats
) -> Trail:
    """Return the trail of the centre about which the control `by` rotates the segment `name`.

    All is seen as in the first of `poses`, rotated by `view`.
    """
    positions, rotations = forward(figure.skeleton, figure.pose(poses[0]))
    parent = int(figure.skeleton.parents[figure.skeleton.index(name)])

    def project_center(controls: Mapping[str, float]) -> Vectors:
        center = center_of_motion(figure, controls, name, by)
        world_position = positions[parent] + quat.rotate(rotations[parent], center)
        return np.asarray(quat.rotate(view, world_position)[:2])

    limits = figure.controls[by]
    values = np.linspace(limits.low + STEP, limits.high - STEP, TRAIL_POINTS)
    angles = np.array([pose.get(by, limits.neutral) for pose in poses])
    # The estimate of a centre needs a step to both sides.
    inner = np.clip(angles, angles.min() + STEP, angles.max() - STEP)
    path, marks = (
        np.array([project_center({**poses[0], by: value}) for value in row])
        for row in (values, inner)
    )
    return Trail(values, path, angles, marks)


def mark_center(axes: Axes, trail: Trail, number: int) -> None:
    """Draw the path of a centre, and a disk at its position in the pose of this index."""
    axes.plot(*trail.path.T, lw=1.0, color=OUTSIDE, alpha=0.6, zorder=7)
    x, y = trail.marks[number]
    axes.plot([x], [y], "o", ms=11, mfc=OUTSIDE, mec=PAPER, mew=1.8, zorder=8)
    axes.plot([x], [y], "o", ms=3, color=PAPER, zorder=9)


def draw_trail(axes: Axes, trail: Trail) -> None:
    """Draw the path of a centre, as large as fits, with a labelled dot for each pose.

    It is dotted where the control is beyond the poses.
    """
    within = (trail.values > trail.angles.min()) & (trail.values < trail.angles.max())
    axes.plot(*trail.path.T, ":", lw=1.2, color=OUTSIDE, alpha=0.6)
    axes.plot(*trail.path[within].T, lw=3.0, color=OUTSIDE, alpha=0.5, solid_capstyle="round")
    for point, angle in zip(trail.marks, trail.angles, strict=True):
        axes.plot(*point, "o", ms=11, mfc=OUTSIDE, mec=PAPER, mew=1.8, zorder=8)
        outwards = point - trail.marks.mean(axis=0)
        label_offset = 20.0 * outwards / (np.linalg.norm(outwards) or 1.0)
        label = axes.annotate(
            f"{angle:g}°", tuple(point), tuple(label_offset), textcoords="offset points"
        )
        label.set(color=INK, size=12, ha="center", va="center")
    low, high = trail.middle - trail.reach, trail.middle + trail.reach
    bar = 10.0 ** np.floor(np.log10(trail.reach))
    x, y = low + 0.06 * (high - low)
    axes.plot([x, x + bar], [y, y], color=MUTED, lw=2.0)
    axes.annotate(f"{1e3 * bar:g} mm", (x, y), (0, 6), textcoords="offset points", color=MUTED)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_color(BODY)


PANEL_PX, HEIGHT_PX = 430, 560
CIRCLES = 9  # circles each way on an ellipsoid
TRAIL_EDGE = 0.06  # of a panel, left free on both sides of a moving centre's


@dataclass(frozen=True)
class Plate:
    """What a plate shows of a figure: poses by their controls, and the direction of view."""

    title: str
    poses: tuple[Mapping[str, float], ...]
    segments: tuple[str, ...] = ("*",)
    """Patterns of the segments to draw."""
    highlighted: tuple[str, ...] = ()
    """Patterns of the segments to draw in green."""
    pitch: float = 8.0
    yaw: float = -33.0
    """Degrees by which the figure is rotated before it is seen from the front; 180: from behind."""
    moving_segment: str = ""
    """Segment whose centre of rotation is marked, for the control that differs between the poses.

    One more panel shows the path of the centre over the control's range, enlarged; its scale is in
    millimetres if the figure is in metres.
    """
    zoom_radius: float = 0.0
    """Half the width of panels around that segment's joint, in the figure's unit; 0: show all."""
    ellipsoids: bool = False
    """Whether the ellipsoids on which scapulae glide are drawn."""

    @property
    def view(self) -> Quats:
        """Rotation of the figure for a viewer who looks along -z."""
        return quat.from_euler(np.radians([self.pitch, self.yaw]), "xy")


def draw_plate(figure: Figure, plate: Plate) -> Picture:
    """Return the picture: one panel a pose, all to one scale, and one for a moving centre."""
    count = len(plate.poses) + bool(plate.moving_segment)
    picture = new_figure(PANEL_PX * count, HEIGHT_PX)
    picture.text(0.03, 0.93, plate.title, color=INK, size=15, weight="bold")
    trail = None
    if plate.moving_segment:
        control = _varying_control(plate.poses)
        trail = trail_of(figure, plate.poses, plate.moving_segment, control, plate.view)

    def panel(number: int, caption: str, edge: float = 0.0) -> Axes:
        picture.text((number + 0.5) / count, 0.04, caption, color=MUTED, ha="center")
        return picture.add_axes(((number + edge) / count, 0.08, (1.0 - 2.0 * edge) / count, 0.82))

    panels = [panel(number, _caption(controls)) for number, controls in enumerate(plate.poses)]
    for number, (axes, controls) in enumerate(zip(panels, plate.poses, strict=True)):
        _draw_panel(axes, figure, figure.pose(controls), plate)
        if trail is not None:
            mark_center(axes, trail, number)
    low, high = _corners(figure, plate, panels)
    for axes in panels:
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
        axes.axis("off")
    if trail is not None:
        larger = (1.0 - 2.0 * TRAIL_EDGE) * (high - low).max() / (2.0 * trail.reach)
        words = f"its centre, {larger:.0f} times as large (dotted: beyond)"
        draw_trail(panel(count - 1, words, TRAIL_EDGE), trail)
    return picture


def _corners(figure: Figure, plate: Plate, panels: Sequence[Axes]) -> tuple[Vectors, Vectors]:
    """Return the lowest and highest coordinates (2,) that all panels show."""
    if plate.zoom_radius > 0.0:  # about the moving segment's joint in the first pose
        positions, _ = forward(figure.skeleton, figure.pose(plate.poses[0]))
        joint = figure.skeleton.index(plate.moving_segment)
        middle = np.asarray(quat.rotate(plate.view, positions[joint])[:2])
        return middle - plate.zoom_radius, middle + plate.zoom_radius
    corners = np.array([axes.dataLim.get_points() for axes in panels])
    low, high = corners[:, 0].min(axis=0), corners[:, 1].max(axis=0)
    edge = 0.04 * (high - low).max()
    return low - edge, high + edge


def _draw_panel(axes: Axes, figure: Figure, pose: Pose, plate: Plate) -> None:
    """Draw the bones of one pose, and the ellipsoids, the farthest first."""
    names = figure.skeleton.names
    shown = {name for name in names if _matches(name, plate.segments)}
    if not shown:
        raise ValueError(f"the figure must have bones like {', '.join(plate.segments)}, got none")
    colors = {name: LEGAL_BONE for name in shown if _matches(name, plate.highlighted)}
    draw_pose(axes, figure.skeleton, pose, colors=colors, only=shown, view=plate.view)
    if plate.ellipsoids:
        ellipsoids = [
            (quat.rotate(plate.view, center), quat.rotate(plate.view, halves))
            for center, halves in _ellipsoids(figure, *forward(figure.skeleton, pose))
        ]
        for center, halves in sorted(ellipsoids, key=lambda ellipsoid: float(ellipsoid[0][2])):
            _draw_ellipsoid(axes, center, halves)


def _ellipsoids(
    figure: Figure, positions: Vectors, rotations: Quats
) -> list[tuple[Vectors, Floats]]:
    """Return centre (3,) and half axes (3, 3), in the world, of the ellipsoids of all scapulae.

    A component gives them in the frame of the parent of its set's first segment, with the origin at
    that segment's joint.
    """
    ellipsoids, skeleton = [], figure.skeleton
    for joint_set in figure.joint_sets.values():
        for part in joint_set.network.components.values():
            if isinstance(part, Scapula):
                halves = part.radii[:, None] * part.axes
                first = skeleton.index(next(iter(joint_set.network.outputs)))
                parent = int(skeleton.parents[first])
                offset = quat.rotate(rotations[parent], skeleton.offsets[first] + part.center)
                ellipsoids.append(
                    (positions[parent] + offset, quat.rotate(rotations[parent], halves))
                )
    return ellipsoids


def _draw_ellipsoid(axes: Axes, center: Vectors, halves: Floats) -> None:
    """Draw the outline of an ellipsoid, and the near half of its circles."""
    from matplotlib.patches import Polygon

    around = np.linspace(0.0, 2.0 * np.pi, 121)
    edge = np.linalg.cholesky((halves.T @ halves)[:2, :2])
    outline = center[:2] + np.stack([np.cos(around), np.sin(around)], axis=-1) @ edge.T
    axes.add_patch(Polygon(outline, fc=REGION, alpha=0.12, lw=0, zorder=3))
    axes.add_patch(Polygon(outline, fill=False, ec=REGION, lw=1.0, zorder=3))
    slices = np.linspace(0.0, np.pi, CIRCLES + 2)[1:-1]
    circles = [_sphere_points(np.full_like(around, angle), around) for angle in slices]
    circles += [_sphere_points(around, np.full_like(around, angle)) for angle in slices]
    normals = np.linalg.inv(halves).T  # rows: of the unit ball's axes
    for ball in circles:
        line = center + ball @ halves
        line[(ball @ normals)[:, 2] < 0.0] = np.nan
        axes.plot(line[:, 0], line[:, 1], color=REGION, lw=0.6, alpha=0.55, zorder=3)


def _sphere_points(polar: Floats, azimuth: Floats) -> Vectors:
    """Return points (..., 3) of the unit sphere with its pole along y."""
    return np.stack(
        [np.sin(polar) * np.cos(azimuth), np.cos(polar), np.sin(polar) * np.sin(azimuth)], axis=-1
    )


def _varying_control(poses: Sequence[Mapping[str, float]]) -> str:
    """Return the first control that differs between poses; the first one if none differs."""
    names = list(dict.fromkeys(name for pose in poses for name in pose))
    for name in names:
        if len({pose.get(name) for pose in poses}) > 1:
            return name
    return names[0]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """Return True if the name matches one of the shell-style patterns."""
    return any(fnmatch(name, pattern) for pattern in patterns)


def _caption(controls: Mapping[str, float]) -> str:
    """Return a caption from controls; equal controls of both sides are named once."""
    captions: dict[str, float] = {}
    for name, value in controls.items():
        other = (
            name.replace("left_", "right_") if "left_" in name else name.replace("right_", "left_")
        )
        both = other != name and controls.get(other) == value
        short = name.replace("left_", "").replace("right_", "") if both else name
        captions[readable_name(short.replace(".", " "))] = value
    return ", ".join(f"{name} {value:g}°" for name, value in captions.items()) or "at rest"


SHOULDER = ("Sternum", "*Clavicle", "*Scapula", "*UpperArm")


def both_sides(**controls: float) -> dict[str, float]:
    """Return the full names and values of shoulder controls, for both sides."""
    return {
        f"{side}_shoulder.{name}": value
        for side in ("left", "right")
        for name, value in controls.items()
    }


def plates() -> Mapping[str, Plate]:
    """Return every plate of the human by its name."""
    return {
        "knee": Plate(
            "One control moves tibia, patella and fibula, about a moving centre",
            tuple({"left_knee.flexion": angle} for angle in (0.0, 40.0, 80.0, 120.0)),
            segments=("LeftUpperLeg", "LeftLowerLeg", "LeftPatella", "LeftFibula", "LeftFoot"),
            highlighted=("LeftLowerLeg", "LeftPatella", "LeftFibula"),
            pitch=0.0,
            yaw=-90.0,
            moving_segment="LeftLowerLeg",
            zoom_radius=0.11,
        ),
        "abduction": Plate(
            "Abduction: clavicle and scapula follow the arm",
            tuple({"right_shoulder.abduction": angle} for angle in (0.0, 60.0, 120.0, 170.0)),
            segments=SHOULDER,
            highlighted=("RightClavicle", "RightScapula", "RightUpperArm"),
            pitch=6.0,
            yaw=180.0,
            ellipsoids=True,
        ),
        "scapula": Plate(
            "Scapulae glide on two ellipsoids: at rest, shrugged, drawn forward, arms raised",
            (
                {},
                both_sides(elevation=35.0),
                both_sides(protraction=25.0),
                both_sides(abduction=150.0),
            ),
            segments=SHOULDER,
            highlighted=("*Clavicle", "*Scapula"),
            pitch=10.0,
            yaw=180.0,
            ellipsoids=True,
        ),
    }
