"""Draw a theta-phi table as a map of its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Quats
from ..limit import Limit
from ..shapes import ThetaPhi
from .sphere import twist_colours
from .style import INK, MUTED, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_map(
    axes: Axes, limit: Limit, span_deg: tuple[float, float], samples: Quats | None = None
) -> None:
    """Draw every cell by longitude and latitude, with `samples`.

    Cells are coloured by their range of twist, over the given span.
    """
    table = limit.shape
    if not isinstance(table, ThetaPhi):
        raise ValueError(f"only a theta-phi table is a map, got a {table.name}")
    widths = np.degrees(np.minimum(table.high - table.low, 2.0 * np.pi))
    axes.imshow(
        np.where(table.legal, widths, np.nan),
        extent=(-180.0, 180.0, -90.0, 90.0),
        origin="lower",
        cmap=twist_colours(),
        clim=span_deg,
        interpolation="nearest",
    )
    if samples is not None and len(samples):
        x, y, z = table.frame @ limit.chart.points(samples)[:, :3].T
        theta, phi = np.degrees(np.arctan2(y, x)), np.degrees(np.arcsin(np.clip(z, -1.0, 1.0)))
        axes.scatter(theta, phi, s=3.0, color=INK, alpha=0.4, lw=0)
    axes.set(xticks=np.arange(-180, 181, 60), yticks=np.arange(-90, 91, 30))
    axes.set_xlabel("theta (°)", color=MUTED, size=11)
    axes.set_ylabel("phi (°)", color=MUTED, size=11)
    axes.grid(color=MUTED, lw=0.4, alpha=0.4)
    quiet(axes)
