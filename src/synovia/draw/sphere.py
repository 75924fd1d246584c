"""Pictures on the unit sphere: legal directions by range of twist, and maps of dependent limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Scalars, Vectors
from ..charts import DirectionTwist
from ..limit import DependentLimit, Limit
from ..limit.hinge import hinge_scale
from ..model import LimitModel
from ..shapes import as_directional
from .style import INK, LINE, MUTED, hide_frame, new_figure, readable_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

ILLEGAL = "#eef1f3"
TWIST_COLOURS = ("#232c7a", "#2f63c8", "#5b9ddd", "#c3cf8e", "#ffd93b")
"""From a narrow range of twist to a wide one, as at the page; red is for what is outside."""
TWISTS = 90  # twists tested at a direction, for shapes without a range of twist
BATCH = 2000  # directions, which with their twists stay in cache
PIXELS, TILE_PIXELS = 420, 210  # across the sphere, and across one of many
COARSER, COARSEST = 0.55, 0.25  # shares of the pixels if twists are sampled, with or without kernel


def draw_spheres(
    figure: Figure,
    box: tuple[float, float, float, float],
    limit: Limit,
    samples: Quats | None = None,
) -> tuple[float, float]:
    """Draw the sphere into `box` of the figure twice, from the front and from behind.

    The front is where the bone's mean legal direction points; `box` is (left, bottom, width,
    height) in shares of the figure. `samples` (n, 4) are dots where the bone pointed. Returns the
    span of twist that the colours stand for, in degrees.
    """
    front = mean_direction(limit)
    left, bottom, width, height = box
    views = {"from the front": front, "from behind": -front}
    images = [_image(limit, view, PIXELS) for view in views.values()]
    span = _span_deg(images)
    for number, ((name, view), image) in enumerate(zip(views.items(), images, strict=True)):
        axes = figure.add_axes(
            (left + 0.51 * width * number, bottom + 0.17 * height, 0.49 * width, 0.81 * height)
        )
        draw_view(axes, image, span)
        draw_marks(axes, limit, view)
        if samples is not None and len(samples):
            _draw_samples(axes, limit, samples, view)
        axes.set_title(name, color=MUTED, size=11, pad=6)
    draw_twist_scale(
        figure, (left + 0.25 * width, bottom + 0.07 * height, 0.5 * width, 0.022), span
    )
    dots = ", dots: observed" if samples is not None and len(samples) else ""
    text = f"+ the reference, rings every 30° around it{dots}; the front is the mean direction"
    middle = left + 0.5 * width
    figure.text(middle, bottom + 0.005 * height, text, size=10, color=MUTED, ha="center")
    return span


def draw_twist_scale(
    figure: Figure,
    box: tuple[float, float, float, float],
    span_deg: tuple[float, float],
    title: str = "range of twist",
) -> None:
    """Draw the colour scale of degrees into `box` of the figure."""
    scale = figure.add_axes(box)
    scale.imshow(np.linspace(0.0, 1.0, 256)[None], cmap=twist_colours(), aspect="auto")
    scale.set(yticks=[], xticks=[0, 255], xticklabels=[f"{edge:.0f}°" for edge in span_deg])
    scale.set_title(title, size=11, color=MUTED, pad=5)
    hide_frame(scale)


def front_image(limit: Limit) -> Any:
    """Return the range of twist at each pixel of a small sphere seen from the front, in degrees."""
    return _image(limit, mean_direction(limit), TILE_PIXELS)


def twist_colours() -> Colormap:
    """Return the colours of narrow to wide ranges of twist; what is illegal is pale."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("twist", TWIST_COLOURS).with_extremes(bad=ILLEGAL)


def direction_chart(limit: Limit) -> DirectionTwist:
    """Return the chart of directions with the limit's reference, and its bone or else z."""
    bone = limit.chart.bone
    axis = np.array([0.0, 0.0, 1.0]) if bone is None else bone
    return DirectionTwist(limit.chart.reference, axis)


def twist_widths_deg(limit: Limit, directions: Vectors) -> Scalars:
    """Return the range of twist (n,) at directions (n, 3), in degrees; NaN where illegal."""
    shape = as_directional(limit.region)
    if shape is not None:
        directions = limit.chart.in_chart(directions)
        legal = shape.contains_direction(directions)
        widths = np.full(len(directions), np.nan)
        low, high = np.moveaxis(shape.twist_range(directions[legal]), -1, 0)
        widths[legal] = np.minimum(np.degrees(high - low), 360.0)
        return widths
    chart = direction_chart(limit)
    twists = np.arange(TWISTS) * 2.0 * np.pi / TWISTS
    twist_rotations = quat.exp(twists[:, None] * chart.axis)
    shares = np.zeros(len(directions))
    for start in range(0, len(directions), BATCH):
        batch = slice(start, start + BATCH)
        swings = quat.mul(chart.reference, quat.between(chart.axis, directions[batch]))
        shares[batch] = limit.contains(quat.mul(swings[:, None], twist_rotations)).mean(axis=1)
    return np.where(shares > 0.0, 360.0 * shares, np.nan)


def mean_direction(limit: Limit) -> Vectors:
    """Return the mean direction (3,) of the bone over legal rotations."""
    chart = direction_chart(limit)
    samples = limit.sample(500, np.random.default_rng(0))
    mean = chart.points(samples)[:, :3].mean(axis=0)
    length = float(np.linalg.norm(mean))
    return mean / length if length > 1e-6 else chart.axis


def _view_frame(view: Vectors) -> Vectors:
    """Return the matrix (3, 3) whose rows are right, up and the direction `view` to the viewer."""
    up = np.array([0.0, 1.0, 0.0]) if abs(view[1]) < 0.9 else np.array([0.0, 0.0, 1.0])
    right = np.cross(up, view)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(view, right), view])


def _image(limit: Limit, view: Vectors, pixels: int) -> Any:
    """Return the range of twist at each pixel of the hemisphere, in degrees; NaN where illegal."""
    reduced = pixels_for(limit, pixels)
    return hemisphere(lambda directions: twist_widths_deg(limit, directions), view, reduced)


def pixels_for(limit: Limit, pixels: int) -> int:
    """Return the number of pixels across, reduced for limits that are slow to evaluate."""
    if as_directional(limit.region) is not None:
        return pixels
    return round((COARSER if limit.compiled else COARSEST) * pixels)


def hemisphere(values: Callable[[Vectors], Floats], view: Vectors, pixels: int) -> Floats:
    """Return an image (rows, columns, ...) of one side of a sphere; NaN outside of it.

    `values` takes directions (n, 3).
    """
    centers = pixel_centers(pixels)
    x, y = np.meshgrid(centers, centers)
    square = x * x + y * y
    on_sphere = square < 1.0
    depth = np.sqrt(1.0 - square[on_sphere])
    samples = values(np.stack([x[on_sphere], y[on_sphere], depth], axis=-1) @ _view_frame(view))
    image = np.full((*square.shape, *samples.shape[1:]), np.nan)
    image[on_sphere] = samples
    return image


def pixel_centers(pixels: int) -> Scalars:
    """Return the centres (pixels,) of the pixels of an image from -1 to 1."""
    return np.asarray((np.arange(pixels) + 0.5) / pixels * 2.0 - 1.0)


def draw_view(axes: Axes, image: Any, span: tuple[float, float]) -> None:
    """Draw an image of one side of the sphere, in degrees; `span` is that of the colours."""
    from matplotlib.patches import Circle

    ball = Circle((0.0, 0.0), 1.0, facecolor=ILLEGAL, edgecolor=LINE, lw=1.2, zorder=0)
    axes.add_patch(ball)
    picture = axes.imshow(
        image,
        extent=(-1.0, 1.0, -1.0, 1.0),
        origin="lower",
        cmap=twist_colours(),
        clim=span,
        interpolation="bilinear",
        zorder=1,
    )
    picture.set_clip_path(ball)
    axes.contour(
        *[pixel_centers(len(image))] * 2,
        np.isfinite(image).astype(float),
        levels=[0.5],
        colors=[INK],
        linewidths=1.0,
        zorder=2,
    )
    axes.set(xlim=(-1.03, 1.03), ylim=(-1.03, 1.03), aspect="equal", xticks=[], yticks=[])
    hide_frame(axes)


def draw_marks(axes: Axes, limit: Limit, view: Vectors) -> None:
    """Mark the direction of the limit's reference, with rings every 30° around it."""
    frame, axis = _view_frame(view), direction_chart(limit).axis
    around = np.linspace(0.0, 2.0 * np.pi, 361)
    circle = np.stack([np.cos(around), np.sin(around), np.zeros_like(around)], axis=-1)
    for polar in np.radians(np.arange(30.0, 180.0, 30.0)):
        ring = np.sin(polar) * (circle @ _view_frame(axis)) + np.cos(polar) * axis
        x, y, depth = frame @ ring.T
        axes.plot(np.where(depth > 0.0, x, np.nan), y, color=MUTED, lw=0.5, alpha=0.5)
    x, y, depth = frame @ axis
    if depth > 0.0:
        axes.plot(x, y, "+", color=INK, ms=9, mew=1.6)


def _draw_samples(axes: Axes, limit: Limit, samples: Quats, view: Vectors) -> None:
    """Draw the directions of the bone in `samples` on the visible side."""
    x, y, depth = _view_frame(view) @ direction_chart(limit).points(samples)[:, :3].T
    visible = depth > 0.0
    axes.scatter(x[visible], y[visible], s=4.0, color=INK, alpha=0.4, lw=0, zorder=3)


MAP_PIXELS = 300  # across a sphere of a map
COLUMN_PX, SPHERE_PX, HEAD_PX, FOOT_PX = 440, 400, 130, 130
LINES_DEG = 30.0  # between contour lines
MIN_SHARE = 0.03  # of the legal directions; a side of the sphere with fewer is not drawn
TITLES = {"low": "from", "high": "to", "margin": "margin"}


def draw_dependence(model: LimitModel, joint: str) -> Figure:
    """Return maps of a joint's ranges over the legal directions of its driver's bone, in degrees.

    There is a map of each end of the range, and of its width; angles of a hinge count from its
    reference. The driver's bone comes to each direction by the shortest swing from the reference of
    its limit.
    """
    if joint not in model.dependents:
        drivers = ", ".join(model.dependents) or "none"
        raise ValueError(f"{joint} depends on no other joint; those that do: {drivers}")
    dependent = model.dependents[joint]
    if dependent.driver not in model.limits:
        raise ValueError(f"{dependent.driver} has no limit, over which {joint} could be drawn")
    limit = model.limits[dependent.driver]
    front = mean_direction(limit)
    views = {"seen from the front": front, "seen from behind": -front}
    pixels = pixels_for(limit, MAP_PIXELS)
    images = {
        name: hemisphere(lambda directions: _ranges_deg(dependent, limit, directions), view, pixels)
        for name, view in views.items()
    }
    legal = {name: int(np.isfinite(image).sum()) for name, image in images.items()}
    least = MIN_SHARE * sum(legal.values())
    shown = {name: image for name, image in images.items() if legal[name] >= least}
    titles = [TITLES[name] for name in dependent.at_nodes]
    titles = ["range", *titles] if len(titles) == 2 else titles
    width = COLUMN_PX * max(len(titles), 2)
    height = HEAD_PX + SPHERE_PX * len(shown) + FOOT_PX
    figure = new_figure(width, height)
    driver = readable_name(dependent.driver)
    heading = f"{readable_name(joint)}, by where {driver} points".capitalize()
    figure.text(24 / width, 1.0 - 46 / height, heading, size=19, color=INK, weight="bold")
    nodes = "rotations" if dependent.by_rotation else "directions"
    text = f"degrees, which are given at {len(dependent.values)} {nodes} of {driver}"
    if dependent.by_rotation:
        text += "; drawn where it swings without twist"
    figure.text(24 / width, 1.0 - 76 / height, text, size=12, color=MUTED)
    for column, title in enumerate(titles):
        left = (COLUMN_PX * column + 20) / width
        parts = {name: image[..., column] for name, image in shown.items()}
        span = _span_deg(list(parts.values()))
        for row, (name, part) in enumerate(parts.items()):
            bottom = FOOT_PX + SPHERE_PX * (len(parts) - 1 - row)
            box = left, bottom / height, (COLUMN_PX - 40) / width, (SPHERE_PX - 30) / height
            axes = figure.add_axes(box)
            draw_view(axes, part, span)
            draw_marks(axes, limit, views[name])
            _draw_lines(axes, part)
            axes.set_title(f"{title} · {name}", color=MUTED, size=11, pad=6)
        scale = left + 70 / width, 60 / height, (COLUMN_PX - 180) / width, 16 / height
        draw_twist_scale(figure, scale, span, title)
    marks = (
        "lines every 30°; pale: where the driver cannot point; + its reference, with grey rings "
        "every 30°"
    )
    figure.text(0.5, 14 / height, marks, size=10, color=MUTED, ha="center")
    return figure


def _draw_lines(axes: Axes, image: Floats) -> None:
    """Draw labelled contour lines of an image in degrees over one side of the sphere."""
    centers = pixel_centers(len(image))
    degrees = image[np.isfinite(image)]
    if np.ptp(degrees) < LINES_DEG:
        return
    first, last = np.ceil(degrees.min() / LINES_DEG), np.floor(degrees.max() / LINES_DEG)
    levels = LINES_DEG * np.arange(first, last + 1.0) + 0.0
    look: dict[str, Any] = {"colors": [INK], "linewidths": 0.7, "alpha": 0.7}
    lines = axes.contour(centers, centers, image, levels=levels, **look)
    axes.clabel(lines, fmt="%.0f°", fontsize=9, inline_spacing=2)


def _ranges_deg(dependent: DependentLimit, limit: Limit, directions: Vectors) -> Floats:
    """Return what is drawn at directions (n, 3) of the driver's bone: (n, k), in degrees.

    A range has its width before its two ends. Values are NaN where the driver's limit is violated.
    """
    swings = quat.between(direction_chart(limit).axis, directions)
    values = dependent.values_at(quat.mul(limit.chart.reference, swings))
    scale = hinge_scale(dependent)
    angles_deg = np.degrees(values if scale is None else scale.angles_at(values))
    if angles_deg.shape[1] == 2:
        angles_deg = np.column_stack([angles_deg[:, 1] - angles_deg[:, 0], angles_deg])
    legal = np.isfinite(twist_widths_deg(limit, directions))
    return np.where(legal[:, None], angles_deg, np.nan)


def _span_deg(images: Sequence[Floats]) -> tuple[float, float]:
    """Return the span of a colour scale for images, at least 1 degree wide."""
    low = float(min((np.nanmin(image, initial=np.inf) for image in images), default=np.inf))
    high = float(max((np.nanmax(image, initial=-np.inf) for image in images), default=-np.inf))
    return (low, max(high, low + 1.0)) if low < np.inf else (0.0, 1.0)
