"""Draw a limit: its region in space, with what was observed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats, Mask, Points, Quats, Scalars
from ..charts import RotationVector, SwingTwist
from ..limit import Limit
from ..shapes import Convex, Surface
from .style import INK, LINE, MUTED, REGION, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ELEVATION_DEG, AZIMUTH_DEG = 17.0, -52.0
JUMP_DEG = 60.0
CREASE = np.radians(2.0)
"""Neighbouring triangles that differ by less than this, in radians, are one face."""
SHARP = np.radians(50.0)
"""The same, for surfaces of many small faces."""


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
    surface = _in_space(limit, limit.shape.surface(3))
    degrees = np.degrees(surface.vertices)
    triangles = surface.triangles.astype(int)
    facing = _normals(surface) @ _toward_watcher()
    near = facing > 0.0
    rounded = not isinstance(limit.shape, Convex)  # many small faces: shade, not edges, shows them
    for side, alpha, zorder in ((~near, 0.16, 1), (near, 0.3 if rounded else 0.13, 3)):
        if side.any():
            colours = _shaded(facing[side]) if rounded else REGION
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
        points = np.degrees(_placed(limit, samples))
        axes.scatter(*points.T, s=5.0, color=INK, alpha=0.45, lw=0, depthshade=False, zorder=2)
    shown = [degrees]
    for color, path in (paths or {}).items():
        points = _broken(np.degrees(_placed(limit, path)))
        axes.plot(*points.T, color=color, lw=2.6, zorder=5, solid_capstyle="round")
        shown.append(points[~np.isnan(points[:, 0])])
    _dress(axes, limit, np.concatenate(shown))


def _in_space(limit: Limit, surface: Surface) -> Surface:
    """Return the boundary as it is drawn, without triangles torn apart at half a turn."""
    if limit.chart.winds:
        return surface
    vectors = _placed(limit, limit.chart.rotations(surface.vertices))
    corners = vectors[surface.triangles.astype(int)]
    torn = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(axis=1) > np.pi
    return Surface(vectors, surface.triangles[~torn])


def _placed(limit: Limit, rotations: Quats) -> Points:
    """Return where rotations are drawn: in the limit's chart, or as rotation vectors."""
    if limit.chart.winds:
        return limit.nearest_cover(rotations)
    return RotationVector(limit.chart.reference).points(rotations)


def _broken(points: Points) -> Points:
    """Return a line (n, 3) with a gap wherever it goes over to another cover."""
    jumps = np.flatnonzero(np.linalg.norm(np.diff(points, axis=0), axis=1) > JUMP_DEG) + 1
    return np.insert(points, jumps, np.nan, axis=0)


def _dress(axes: Any, limit: Limit, degrees: Points) -> None:
    """Give the axes names, equal scales and light panes."""
    from matplotlib.ticker import MultipleLocator

    low, high = degrees.min(axis=0), degrees.max(axis=0)
    room = 0.04 * (high - low).max()
    spans = [(a - room, b + room) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    names = ("swing x", "swing y", "twist")
    if not isinstance(limit.chart, SwingTwist):
        names = ("about x", "about y", "about z")
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


def _toward_watcher() -> Points:
    up, around = np.radians([ELEVATION_DEG, AZIMUTH_DEG])
    return np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])


def _normals(surface: Surface) -> Points:
    """Return the outward unit normals (t, 3) of the triangles; zero for one without an area."""
    a, b, c = np.moveaxis(surface.vertices[surface.triangles.astype(int)], 1, 0)
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=-1, keepdims=True)
    return normals / np.where(length > 0.0, length, 1.0)


def _shaded(facing: Scalars) -> Floats:
    """Return the region's colour, darker where a face turns away from the watcher: (t, 3)."""
    from matplotlib.colors import to_rgb

    light = 0.35 + 0.65 * np.abs(facing)[:, None]
    return np.asarray(light * np.array(to_rgb(REGION)) + (1.0 - light) * np.array(to_rgb(INK)))


def _creases(surface: Surface, near: Mask, bend: float) -> tuple[np.ndarray, Mask]:
    """Return the edges (e, 2) at which faces meet at an angle, and which the watcher sees."""
    normals = _normals(surface)
    beside: dict[tuple[int, int], list[int]] = {}
    for number, corners in enumerate(surface.triangles.astype(int).tolist()):
        for i in range(3):
            edge = sorted((corners[i], corners[i - 1]))
            beside.setdefault((edge[0], edge[1]), []).append(number)
    bent = {
        edge: owners
        for edge, owners in beside.items()
        if len(owners) != 2 or normals[owners[0]] @ normals[owners[1]] < np.cos(bend)
    }
    edges = np.array(list(bent), dtype=int).reshape(-1, 2)
    return edges, np.array([bool(near[owners].any()) for owners in bent.values()], dtype=bool)
