"""Pictures of limits: regions in space, cross sections, maps, and sheets of joints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Mask, Points, Quats, Scalars, Vectors
from ..charts import RotationVector, SwingTwist
from ..learn import Progress
from ..limit import Limit, frame_of
from ..mesh import PRINT, boundary, coordinate_names
from ..model import LimitModel
from ..shapes import DistanceField, Region, ThetaPhi
from ..shapes.mesh import Surface, shape_surface
from ..text import percent
from .sphere import (
    draw_marks,
    draw_spheres,
    draw_twist_scale,
    draw_view,
    front_image,
    mean_direction,
    twist_colours,
)
from .style import INK, LINE, MUTED, REGION, hide_frame, new_figure, readable_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


DRAWN_AS_IS = (RotationVector, SwingTwist)
"""Charts whose points are drawn; limits in others are drawn as rotation vectors."""
DETAIL = 3
"""Detail of the surfaces of `DRAWN_AS_IS`."""
ELEVATION_DEG, AZIMUTH_DEG = 17.0, -52.0
JUMP_DEG = 60.0
CREASE = np.radians(2.0)
"""Angle between triangles, in radians, from which their edge is drawn."""
SHARP = np.radians(50.0)
"""The same for surfaces of many small faces."""


def draw_limit(limit: Limit, samples: Quats | None = None, *, title: str = "") -> Figure:
    """Return a picture of the region, in degrees, with `samples` (n, 4) inside.

    Regions of vectors are drawn in their chart, those of directions or Euler angles as rotation
    vectors.
    """
    figure = new_figure(900, 800)
    axes: Any = figure.add_axes((0.04, 0.04, 0.9, 0.86), projection="3d")
    draw_region(axes, limit, samples)
    if title:
        figure.text(0.05, 0.93, title, size=17, color=INK, weight="bold")
    return figure


def draw_region(
    axes: Any,
    limit: Limit,
    samples: Quats | None = None,
    paths: Mapping[str, Quats] | None = None,
) -> None:
    """Draw the region into 3-D axes: the far faces, then `samples`, then the near faces.

    `paths` gives rotations in time (frames, 4) by colour, to draw as lines.
    """
    from mpl_toolkits.mplot3d.art3d import (  # type: ignore[import-untyped]
        Line3DCollection,
        Poly3DCollection,
    )

    axes.computed_zorder = False
    axes.view_init(elev=ELEVATION_DEG, azim=AZIMUTH_DEG)
    surface = _plot_surface(limit)
    degrees = np.degrees(surface.vertices)
    triangles = surface.triangles.astype(int)
    facing = _normals(surface) @ _view_direction()
    near = facing > 0.0
    rounded = not limit.shape.convex  # many small faces: shade, not edges, shows them
    for side, alpha, zorder in ((~near, 0.16, 1), (near, 0.3 if rounded else 0.13, 3)):
        if side.any():
            colours = _shade(facing[side]) if rounded else REGION
            faces = Poly3DCollection(
                degrees[triangles[side]], facecolors=colours, edgecolor="none", alpha=alpha
            )
            faces.set_zorder(zorder)
            axes.add_collection3d(faces)
    creases, in_front = _creases(surface, near, SHARP if rounded else CREASE)
    for side, alpha, zorder in ((~in_front, 0.25, 1), (in_front, 0.85, 4)):
        if side.any():
            lines = Line3DCollection(
                degrees[creases[side]], colors=REGION, linewidths=1.0, alpha=alpha
            )
            lines.set_zorder(zorder)
            axes.add_collection3d(lines)
    if samples is not None and len(samples):
        points = np.degrees(_plot_points(limit, samples))
        axes.scatter(*points.T, s=5.0, color=INK, alpha=0.45, lw=0, depthshade=False, zorder=2)
    shown = [degrees]
    for color, path in (paths or {}).items():
        points = _split_at_jumps(np.degrees(_plot_points(limit, path)))
        axes.plot(*points.T, color=color, lw=2.6, zorder=5, solid_capstyle="round")
        shown.append(points[~np.isnan(points[:, 0])])
    _style_axes(axes, limit, np.concatenate(shown))


def _plot_surface(limit: Limit) -> Surface:
    """Return the boundary as it is drawn, without triangles that cross the angle π."""
    if isinstance(limit.chart, DRAWN_AS_IS):
        return shape_surface(limit.region, DETAIL)
    mesh = boundary(limit, PRINT)
    rotations = quat.mul(limit.chart.reference, quat.exp(mesh.vertices))
    vectors = _plot_points(limit, rotations)
    corners = vectors[mesh.triangles]
    torn = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(axis=1) > np.pi
    return Surface(vectors, mesh.triangles[~torn])


def _plot_points(limit: Limit, rotations: Quats) -> Points:
    """Return the points (..., 3) of rotations: in the limit's chart, or rotation vectors."""
    if isinstance(limit.chart, DRAWN_AS_IS):
        return limit.nearest_cover(rotations)
    return RotationVector(limit.chart.reference).points(rotations)


def _split_at_jumps(points: Points) -> Points:
    """Return a line (n, 3) with NaN between points of different covers."""
    jumps = np.flatnonzero(np.linalg.norm(np.diff(points, axis=0), axis=1) > JUMP_DEG) + 1
    return np.insert(points, jumps, np.nan, axis=0)


def _style_axes(axes: Any, limit: Limit, degrees: Points) -> None:
    """Set names, equal scales and light panes of 3-D axes."""
    from matplotlib.ticker import MultipleLocator

    low, high = degrees.min(axis=0), degrees.max(axis=0)
    room = 0.04 * (high - low).max()
    spans = [(a - room, b + room) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    chart = limit.chart if isinstance(limit.chart, DRAWN_AS_IS) else RotationVector
    names = coordinate_names(chart)
    for axis, name, span in zip((axes.xaxis, axes.yaxis, axes.zaxis), names, spans, strict=True):
        axis.set_pane_color("#f6f8f9")
        axis.line.set_color(LINE)
        axis._axinfo["grid"].update(color="#e3e9ed", linewidth=0.7)
        axis.set_label_text(f"{name} (°)", color=MUTED, size=11)
        step = 60.0 if span[1] - span[0] > 120.0 else 30.0 if span[1] - span[0] > 60.0 else 15.0
        axis.set_major_locator(MultipleLocator(step))
        axis.set_tick_params(labelsize=10, labelcolor=MUTED, color=LINE)
    axes.set(xlim=spans[0], ylim=spans[1], zlim=spans[2])
    axes.set_box_aspect([b - a for a, b in spans], zoom=0.87)  # for the labels beside it
    axes.patch.set_visible(False)


def _view_direction() -> Points:
    up, around = np.radians([ELEVATION_DEG, AZIMUTH_DEG])
    return np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])


def _normals(surface: Surface) -> Points:
    """Return the outward unit normals (t, 3) of the triangles; zero for one without an area."""
    a, b, c = np.moveaxis(surface.vertices[surface.triangles.astype(int)], 1, 0)
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=-1, keepdims=True)
    return normals / np.where(length > 0.0, length, 1.0)


def _shade(facing: Scalars) -> Floats:
    """Return the region's colour (t, 3), darker for faces that are seen at an angle."""
    from matplotlib.colors import to_rgb

    light = 0.35 + 0.65 * np.abs(facing)[:, None]
    return np.asarray(light * np.array(to_rgb(REGION)) + (1.0 - light) * np.array(to_rgb(INK)))


def _creases(surface: Surface, near: Mask, bend: float) -> tuple[np.ndarray, Mask]:
    """Return the edges (e, 2) at which faces meet at an angle, and a mask of visible ones."""
    normals, triangles = _normals(surface), surface.triangles.astype(int)
    ends = np.stack([triangles, np.roll(triangles, 1, axis=1)], axis=-1).reshape(-1, 2)
    ends.sort(axis=1)
    numbers = ends[:, 0] * len(surface.vertices) + ends[:, 1]
    order = np.argsort(numbers, kind="stable")
    firsts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    owners = order // 3  # the triangles at each edge, one after the other
    pairs = np.diff(firsts, append=len(order)) == 2
    a, b = owners[firsts], owners[np.minimum(firsts + 1, len(order) - 1)]
    bent = ~pairs | (np.einsum("ei,ei->e", normals[a], normals[b]) < np.cos(bend))
    seen = np.logical_or.reduceat(near[owners], firsts)
    return ends[order[firsts]][bent], np.asarray(seen[bent])


@dataclass(frozen=True, eq=False)
class CellMap:
    """Widths of the ranges of twist in the cells of a sphere, by longitude and latitude.

    `widths` (rows, columns) are in radians, NaN where no twist is legal: rows from the south,
    columns from longitude −π on. `frame` holds the axes as rows: the first is at longitude 0 and
    latitude 0, the third is the pole.
    """

    widths: Floats
    frame: Floats


@singledispatch
def cell_map(shape: Region) -> CellMap | None:
    """Return the cells of a shape that is made of cells of the sphere, else None."""
    return None


@cell_map.register
def _(shape: ThetaPhi) -> CellMap | None:
    widths = np.minimum(shape.high - shape.low, TURN)
    return CellMap(np.where(shape.legal, widths, np.nan), shape.frame)


@dataclass(frozen=True, eq=False)
class CrossSection:
    """Signed distances in the plane of the chart where coordinate `across` is `at` radians.

    `distances` (rows, columns) are in radians; `along` (columns,) and `up` (rows,) are values of
    the first and the second of the other coordinates.
    """

    across: int
    at: float
    along: Scalars
    up: Scalars
    distances: Floats


@singledispatch
def cross_sections(shape: Region) -> tuple[CrossSection, ...]:
    """Return the planes of nodes through the deepest node of a field; none for other shapes."""
    return ()


@cross_sections.register
def _(shape: DistanceField) -> tuple[CrossSection, ...]:
    distances = shape.values - shape.threshold
    nodes = [
        low + step * np.arange(count)
        for low, step, count in zip(shape.low, shape.spacing, distances.shape, strict=True)
    ]
    # Beyond half a turn a chart repeats rotations: prefer nodes within it.
    angles = np.linalg.norm(np.stack(np.meshgrid(*nodes, indexing="ij")), axis=0)
    unique = np.where(angles <= np.pi, distances, np.inf)
    ranked = unique if unique.min() < 0.0 else distances
    deepest = np.unravel_index(int(ranked.argmin()), distances.shape)
    sections = []
    for across, index in enumerate(map(int, deepest)):
        along, up = (axis for axis in range(3) if axis != across)
        plane = np.take(distances, index, axis=across).T
        at = float(nodes[across][index])
        sections.append(CrossSection(across, at, nodes[along], nodes[up], plane))
    return tuple(sections)


FIELD_COLOURS = ("#08519c", "#6baed6", "#f7fbff", "#fcae91", "#a50f15")
"""From deep inside to far outside."""


def draw_cross_sections(
    figure: Figure,
    box: tuple[float, float, float, float],
    sections: Sequence[CrossSection],
    names: Sequence[str],
) -> None:
    """Draw cross sections side by side into `box` of the figure, with the boundary in black.

    `names` are those of the chart's coordinates.
    """
    from matplotlib.colors import LinearSegmentedColormap

    far = float(np.degrees(max(np.abs(section.distances).max() for section in sections)))
    left, bottom, width, height = box
    for number, section in enumerate(sections):
        along, up = (axis for axis in range(len(names)) if axis != section.across)
        x, y, part = (np.degrees(each) for each in (section.along, section.up, section.distances))
        share = width / len(sections)
        axes = figure.add_axes((left + number * share, bottom, 0.81 * share, height))
        axes.pcolormesh(
            x,
            y,
            part,
            cmap=LinearSegmentedColormap.from_list("distance", FIELD_COLOURS),
            vmin=-far,
            vmax=far,
            shading="gouraud",
        )
        if part.min() < 0.0 < part.max():
            axes.contour(x, y, part, levels=[0.0], colors=[INK], linewidths=1.4)
        where = f"{names[section.across]} = {np.degrees(section.at):.0f}°"
        axes.set_title(f"slice at {where}, boundary in black", color=MUTED, size=11, pad=5)
        axes.set_xlabel(f"{names[along]} (°)", color=MUTED, size=11)
        axes.set_ylabel(f"{names[up]} (°)", color=MUTED, size=11)
        axes.set_aspect("equal")
        hide_frame(axes)


def draw_map(
    axes: Axes, cells: CellMap, span_deg: tuple[float, float], directions: Vectors | None = None
) -> None:
    """Draw every cell by longitude and latitude, with dots at `directions` (n, 3).

    Cells are coloured by their range of twist, over the given span.
    """
    axes.imshow(
        np.degrees(cells.widths),
        extent=(-180.0, 180.0, -90.0, 90.0),
        origin="lower",
        cmap=twist_colours(),
        clim=span_deg,
        interpolation="nearest",
    )
    if directions is not None and len(directions):
        x, y, z = cells.frame @ directions.T
        theta, phi = np.degrees(np.arctan2(y, x)), np.degrees(np.arcsin(np.clip(z, -1.0, 1.0)))
        axes.scatter(theta, phi, s=3.0, color=INK, alpha=0.4, lw=0)
    axes.set(xticks=np.arange(-180, 181, 60), yticks=np.arange(-90, 91, 30))
    axes.set_xlabel("theta (°)", color=MUTED, size=11)
    axes.set_ylabel("phi (°)", color=MUTED, size=11)
    axes.grid(color=MUTED, lw=0.4, alpha=0.4)
    hide_frame(axes)


SHEET_PX = (1600, 780)
EXTRA_PX = 560  # below, for a map or cross sections
TILE_PX, COLUMNS = 230, 6
SCALE_PX = 66  # below, for what the colours mean
TWIST_STEP_DEG = 30.0  # to which the colours' end is rounded up, on a sheet of many joints
MAX_SAMPLES = 3000


def draw_joint(limit: Limit, samples: Quats | None = None, *, title: str = "") -> Figure:
    """Return a sheet: where the bone may point and how far it may twist, and the region in space.

    `samples` (n, 4) are what was observed; of very many, some are shown.
    """
    width, height = SHEET_PX
    cells, sections = cell_map(limit.shape), cross_sections(limit.shape)
    below = EXTRA_PX if cells is not None or sections else 0
    figure = new_figure(width, height + below)
    share = height / (height + below)  # of the figure, for what every family has
    if samples is not None and len(samples) > MAX_SAMPLES:
        samples = samples[:: math.ceil(len(samples) / MAX_SAMPLES)]
    figure.text(0.025, 1.0 - 0.075 * share, title, size=19, color=INK, weight="bold")
    figure.text(0.025, 1.0 - 0.12 * share, describe_limit(limit), size=12, color=MUTED)
    span = draw_spheres(figure, (0.02, 1.0 - 0.97 * share, 0.56, 0.8 * share), limit, samples)
    box = (0.585, 1.0 - 0.95 * share, 0.38, 0.83 * share)
    space: Any = figure.add_axes(box, projection="3d")
    draw_region(space, limit, samples)
    if cells is not None:
        directions = None if samples is None else limit.chart.points(samples)[:, :3]
        draw_map(figure.add_axes((0.08, 0.06, 0.84, 0.94 - share)), cells, span, directions)
    elif sections:
        names = coordinate_names(limit.chart)
        draw_cross_sections(figure, (0.06, 0.06, 0.94, 0.9 - share), sections, names)
    return figure


def draw_joints(model: LimitModel, *, progress: Progress = iter) -> Figure:
    """Return a sheet with a sphere for every joint that has a limit."""
    rows = math.ceil(len(model.limits) / COLUMNS) or 1
    columns = min(COLUMNS, max(len(model.limits), 1))
    height = rows * (TILE_PX + 46) + 20 + SCALE_PX
    figure = new_figure(columns * TILE_PX, height)
    limits = model.limits
    fronts = {name: front_image(limits[name]) for name in progress(list(limits))}
    widest = max((np.nanmax(image, initial=1.0) for image in fronts.values()), default=1.0)
    span = 0.0, TWIST_STEP_DEG * math.ceil(widest / TWIST_STEP_DEG)
    for number, (name, limit) in enumerate(limits.items()):
        axes = figure.add_subplot(rows, columns, number + 1)
        draw_view(axes, fronts[name], span)
        draw_marks(axes, limit, mean_direction(limit))
        axes.set_title(readable_name(name), size=12, color=INK, pad=4)
        axes.set_xlabel(_volume_text(limit), size=9, color=MUTED)
    figure.tight_layout(pad=0.8, rect=(0.0, SCALE_PX / height, 1.0, 1.0))
    wide = min(0.8, 440 / (columns * TILE_PX))
    box = (0.5 - 0.5 * wide, 0.42 * SCALE_PX / height, wide, 14 / height)
    draw_twist_scale(figure, box, span)
    return figure


def describe_limit(limit: Limit) -> str:
    """Return the family, the chart, the share of all rotations and the ancestor, in words.

    If the chart has a frame, also the rotation of its axes in the joint's frame.
    """
    rotation_deg = np.degrees(quat.angle_between(frame_of(limit.chart), quat.IDENTITY))
    turned = f" with axes turned by {rotation_deg:.0f}°" if rotation_deg >= 0.5 else ""
    above = (
        "" if limit.relative_to is None else f", measured from {readable_name(limit.relative_to)}"
    )
    return f"{limit.shape.name} in {limit.chart.name}{turned}, {_volume_text(limit)}{above}"


def _volume_text(limit: Limit) -> str:
    volume = limit.volume()
    return "a thin region" if volume == 0.0 else f"{percent(volume)} of all rotations"


def samples_of(model: LimitModel, joint: str) -> Quats | None:
    """Return the observed rotations (n, 4) of a joint that the model keeps; None if none."""
    kept = [sample.rotations for sample in model.samples.get(joint, ())]
    return np.concatenate(kept) if kept else None
