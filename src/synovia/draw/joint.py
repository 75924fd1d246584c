"""Draw a joint's limit on one sheet, or all joints of a model on another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Quats
from ..learning import Progress
from ..limit import Limit
from ..model import LimitModel
from ..shapes import DistanceField, ThetaPhi
from .field import draw_slices
from .limit import draw_region
from .sphere import draw_front, draw_scale, draw_spheres
from .style import INK, MUTED, new_figure, spoken
from .table import draw_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHEET_PX = (1600, 780)
EXTRA_PX = 560  # below, for a table's map or a field's slices
TILE_PX, COLUMNS = 230, 6
SCALE_PX = 66  # below, for what the colours mean
WIDEST_DEG = (0.0, 180.0)  # of twist, on a sheet of many joints
MOST_SAMPLES = 3000


def draw_joint(limit: Limit, samples: Quats | None = None, *, title: str = "") -> Figure:
    """Return a sheet: where the bone may point and how far it may twist, and the region in space.

    `samples` (n, 4) are what was observed; of very many, some are shown.
    """
    width, height = SHEET_PX
    below = EXTRA_PX if isinstance(limit.shape, (ThetaPhi, DistanceField)) else 0
    figure = new_figure(width, height + below)
    share = height / (height + below)  # of the figure, for what every family has
    if samples is not None and len(samples) > MOST_SAMPLES:
        samples = samples[:: math.ceil(len(samples) / MOST_SAMPLES)]
    figure.text(0.025, 1.0 - 0.075 * share, title, size=19, color=INK, weight="bold")
    figure.text(0.025, 1.0 - 0.12 * share, told(limit), size=12, color=MUTED)
    span = draw_spheres(figure, (0.02, 1.0 - 0.97 * share, 0.56, 0.8 * share), limit, samples)
    box = (0.585, 1.0 - 0.95 * share, 0.38, 0.83 * share)
    space: Any = figure.add_axes(box, projection="3d")
    draw_region(space, limit, samples)
    if isinstance(limit.shape, ThetaPhi):
        draw_map(figure.add_axes((0.08, 0.06, 0.84, 0.94 - share)), limit, span, samples)
    elif isinstance(limit.shape, DistanceField):
        draw_slices(figure, (0.06, 0.06, 0.94, 0.9 - share), limit)
    return figure


def draw_joints(model: LimitModel, *, progress: Progress = iter) -> Figure:
    """Return a sheet with a sphere for every joint that has a limit."""
    rows = math.ceil(len(model.limits) / COLUMNS) or 1
    columns = min(COLUMNS, max(len(model.limits), 1))
    height = rows * (TILE_PX + 46) + 20 + SCALE_PX
    figure = new_figure(columns * TILE_PX, height)
    for number, name in enumerate(progress(list(model.limits))):
        limit = model.limits[name]
        axes = figure.add_subplot(rows, columns, number + 1)
        draw_front(axes, limit, WIDEST_DEG)
        axes.set_title(spoken(name), size=12, color=INK, pad=4)
        axes.set_xlabel(_size(limit), size=9, color=MUTED)
    figure.tight_layout(pad=0.8, rect=(0.0, SCALE_PX / height, 1.0, 1.0))
    wide = min(0.8, 440 / (columns * TILE_PX))
    box = (0.5 - 0.5 * wide, 0.42 * SCALE_PX / height, wide, 14 / height)
    draw_scale(figure, box, WIDEST_DEG)
    return figure


def told(limit: Limit) -> str:
    """Return the family, the chart, the share of all rotations and the ancestor, in words."""
    above = "" if limit.relative_to is None else f", measured from {spoken(limit.relative_to)}"
    return f"{limit.shape.name} in {limit.chart.name}, {_size(limit)}{above}"


def _size(limit: Limit) -> str:
    percent = 100.0 * limit.volume()
    if percent == 0.0:
        return "a thin region"
    return (
        f"{percent:.0f}% of all rotations" if percent > 10.0 else f"{percent:.2g}% of all rotations"
    )


def samples_of(model: LimitModel, joint: str) -> Quats | None:
    """Return what the model keeps of the rotations observed of a joint, if anything."""
    kept = [sample.rotations for sample in model.samples.get(joint, ())]
    return np.concatenate(kept) if kept else None
