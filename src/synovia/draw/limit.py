"""Pictures of limits: regions in space, cross sections, maps, and sheets of joints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Points, Quats, Scalars, Vectors
from ..charts import RotationVector, SwingTwist
from ..learn import Progress
from ..limit import Limit
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
DETAIL = 3  # of the surfaces in `DRAWN_AS_IS`
ELEVATION_DEG, AZIMUTH_DEG = 17.0, -52.0  # of the viewer of 3-D axes
JUMP_DEG = 60.0  # farther steps of a line are not drawn: the rotation vector changed its cover


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
    axes: Any, limit: Limit, samples: Quats | None = None, paths: Mapping[str, Quats] | None = None
) -> None:
    """Draw the region into 3-D axes: the far faces, then `samples`, then the near faces.

    `paths` gives rotations in time (frames, 4) by colour, to draw as lines.
    """
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

    axes.computed_zorder = False
    axes.view_init(elev=ELEVATION_DEG, azim=AZIMUTH_DEG)
    surface = _plot_surface(limit)
    degrees = np.degrees(surface.vertices)
    triangles = surface.triangles.astype(int)
    facing = _facing(surface)
    colors = _shade(facing)
    for side, alpha, zorder in ((facing <= 0.0, 0.16, 1), (facing > 0.0, 0.3, 3)):
        if side.any():
            faces = Poly3DCollection(
                degrees[triangles[side]], facecolors=colors[side], edgecolor="none", alpha=alpha
            )
            faces.set_zorder(zorder)
            axes.add_collection3d(faces)
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
    """Return the boundary in the coordinates drawn, without triangles that cross the angle π."""
    if isinstance(limit.chart, DRAWN_AS_IS):
        return shape_surface(limit.region, DETAIL)
    mesh = boundary(limit, PRINT)
    rotations = quat.mul(limit.chart.reference, quat.exp(mesh.vertices))
    vectors = _plot_points(limit, rotations)
    corners = vectors[mesh.triangles]
    crosses = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(axis=1) > np.pi
    return Surface(vectors, mesh.triangles[~crosses])


def _plot_points(limit: Limit, rotations: Quats) -> Points:
    """Return the points (..., 3) of rotations: in the limit's chart, or rotation vectors."""
    if isinstance(limit.chart, DRAWN_AS_IS):
        return limit.nearest_cover(rotations)
    return RotationVector(limit.chart.reference).points(rotations)


def _split_at_jumps(points: Points) -> Points:
    """Return a line (n, 3), in degrees, with NaN between points more than `JUMP_DEG` apart."""
    jumps = np.flatnonzero(np.linalg.norm(np.diff(points, axis=0), axis=1) > JUMP_DEG) + 1
    return np.insert(points, jumps, np.nan, axis=0)


def _style_axes(axes: Any, limit: Limit, degrees: Points) -> None:
    """Set names, equal scales and light panes of 3-D axes."""
    from matplotlib.ticker import MultipleLocator

    low, high = degrees.min(axis=0), degrees.max(axis=0)
    margin = 0.04 * (high - low).max()
    spans = [(a - margin, b + margin) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
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


def _facing(surface: Surface) -> Scalars:
    """Return the cosine (t,) of the angle between the viewer and the normal of each triangle."""
    up, around = np.radians([ELEVATION_DEG, AZIMUTH_DEG])
    viewer = np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])
    a, b, c = np.moveaxis(surface.vertices[surface.triangles.astype(int)], 1, 0)
    normals = np.cross(b - a, c - a)
    return np.asarray(normals @ viewer / np.maximum(np.linalg.norm(normals, axis=-1), 1e-300))


def _shade(facing: Scalars) -> Floats:
    """Return the region's colour (t, 3), darker for faces that are seen at an angle."""
    from matplotlib.colors import to_rgb

    light = 0.35 + 0.65 * np.abs(facing)[:, None]
    return np.asarray(light * np.array(to_rgb(REGION)) + (1.0 - light) * np.array(to_rgb(INK)))


FIELD_COLOURS = ("#08519c", "#6baed6", "#f7fbff", "#fcae91", "#a50f15")
"""From deep inside to far outside."""


def deepest_node(field: DistanceField) -> tuple[int, ...]:
    """Return the index of the deepest node of a field, within half a turn if possible.

    Beyond half a turn a chart repeats rotations.
    """
    angles = np.linalg.norm(np.stack(np.meshgrid(*_nodes(field), indexing="ij")), axis=0)
    unique = np.where(angles <= np.pi, field.values, np.inf)
    ranked = unique if unique.min() < field.threshold else field.values
    return tuple(map(int, np.unravel_index(int(ranked.argmin()), ranked.shape)))


def _nodes(field: DistanceField) -> list[Scalars]:
    """Return the coordinates of the nodes along each axis of the chart, in radians."""
    ends = zip(field.low, field.spacing, field.values.shape, strict=True)
    return [low + step * np.arange(count) for low, step, count in ends]


def draw_slices(
    figure: Figure,
    box: tuple[float, float, float, float],
    field: DistanceField,
    names: Sequence[str],
) -> None:
    """Draw the three planes of nodes through the deepest node, with the boundary in black.

    They are side by side in `box` of the figure; `names` are those of the chart's coordinates.
    """
    from matplotlib.colors import LinearSegmentedColormap

    distances_deg = np.degrees(field.values - field.threshold)
    colours = LinearSegmentedColormap.from_list("distance", FIELD_COLOURS)
    nodes_deg, deepest = [np.degrees(nodes) for nodes in _nodes(field)], deepest_node(field)
    planes = [np.take(distances_deg, index, axis=k).T for k, index in enumerate(deepest)]
    max_distance = max(np.abs(plane).max() for plane in planes)
    left, bottom, width, height = box
    panel_width = width / len(planes)
    for across, plane in enumerate(planes):
        along, up = (axis for axis in range(len(planes)) if axis != across)
        grid = nodes_deg[along], nodes_deg[up], plane
        axes = figure.add_axes((left + across * panel_width, bottom, 0.81 * panel_width, height))
        axes.pcolormesh(
            *grid, cmap=colours, vmin=-max_distance, vmax=max_distance, shading="gouraud"
        )
        if plane.min() < 0.0 < plane.max():
            axes.contour(*grid, levels=[0.0], colors=[INK], linewidths=1.4)
        position = f"{names[across]} = {nodes_deg[across][deepest[across]]:.0f}°"
        axes.set_title(f"slice at {position}, boundary in black", color=MUTED, size=11, pad=5)
        axes.set_xlabel(f"{names[along]} (°)", color=MUTED, size=11)
        axes.set_ylabel(f"{names[up]} (°)", color=MUTED, size=11)
        axes.set_aspect("equal")
        hide_frame(axes)


def draw_map(
    axes: Axes, table: ThetaPhi, span_deg: tuple[float, float], directions: Vectors | None = None
) -> None:
    """Draw the cells of a table by longitude and latitude, with dots at `directions` (n, 3).

    Cells are coloured by their range of twist, over the given span.
    """
    widths_deg = np.degrees(np.minimum(table.high - table.low, TURN))
    axes.imshow(
        np.where(table.legal, widths_deg, np.nan),
        extent=(-180.0, 180.0, -90.0, 90.0),
        origin="lower",
        cmap=twist_colours(),
        clim=span_deg,
        interpolation="nearest",
    )
    if directions is not None and len(directions):
        x, y, z = table.frame @ directions.T
        theta, phi = np.degrees(np.arctan2(y, x)), np.degrees(np.arcsin(np.clip(z, -1.0, 1.0)))
        axes.scatter(theta, phi, s=3.0, color=INK, alpha=0.4, lw=0)
    axes.set(xticks=np.arange(-180, 181, 60), yticks=np.arange(-90, 91, 30))
    axes.set_xlabel("theta (°)", color=MUTED, size=11)
    axes.set_ylabel("phi (°)", color=MUTED, size=11)
    axes.grid(color=MUTED, lw=0.4, alpha=0.4)
    hide_frame(axes)


class Panel(NamedTuple):
    """The lowest share `height` of a figure, with a limit and what was observed.

    `span_deg` is the span of the colours for twist.
    """

    figure: Figure
    height: float
    limit: Limit
    samples: Quats | None
    span_deg: tuple[float, float]


@singledispatch
def draw_inside(shape: Region, panel: Panel) -> None:
    """Draw the contents of a table or field; other shapes draw nothing."""


@draw_inside.register(ThetaPhi)
def _(shape: ThetaPhi, panel: Panel) -> None:
    axes = panel.figure.add_axes((0.08, 0.06, 0.84, panel.height - 0.06))
    samples, chart = panel.samples, panel.limit.chart
    directions = None if samples is None else chart.points(samples)[:, :3]
    draw_map(axes, shape, panel.span_deg, directions)


@draw_inside.register(DistanceField)
def _(shape: DistanceField, panel: Panel) -> None:
    box = (0.06, 0.06, 0.94, panel.height - 0.1)
    draw_slices(panel.figure, box, shape, coordinate_names(panel.limit.chart))


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
    has_inside = draw_inside.dispatch(type(limit.shape)) is not draw_inside.dispatch(Region)
    below = EXTRA_PX if has_inside else 0
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
    draw_inside(limit.shape, Panel(figure, 1.0 - share, limit, samples, span))
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
    """Return shape, chart, share of all rotations and ancestor of a limit, in words.

    If the axes of the chart are turned in the joint's frame, the angle is included.
    """
    rotation_deg = np.degrees(quat.angle_between(limit.chart.frame, quat.IDENTITY))
    turned = f" with axes turned by {rotation_deg:.0f}°" if rotation_deg >= 0.5 else ""
    above = (
        "" if limit.relative_to is None else f", measured from {readable_name(limit.relative_to)}"
    )
    return f"{limit.shape.name} in {limit.chart.name}{turned}, {_volume_text(limit)}{above}"


def _volume_text(limit: Limit) -> str:
    """Return the share of all rotations that is legal, in words."""
    volume = limit.volume()
    return "a thin region" if volume == 0.0 else f"{percent(volume)} of all rotations"


def samples_of(model: LimitModel, joint: str) -> Quats | None:
    """Return the observed rotations (n, 4) of a joint that the model keeps; None if none."""
    observed = [sample.rotations for sample in model.samples.get(joint, ())]
    return np.concatenate(observed) if observed else None
