"""Bones of a human in a pose, drawn into flat axes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Quats, Vectors
from ..body import Body, body_of
from ..skeleton import Pose, Skeleton
from .render import render
from .style import BONE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_PX, DENSITY = 1400, 1.3
"""Maximum pixels of a picture each way, and pixels for each pixel of the axes."""


class Seen(NamedTuple):
    """Bones in view coordinates: x right, y up, z to the viewer; colours (n, 3) of vertices."""

    vertices: Vectors
    triangles: Ints
    colors: Floats


@lru_cache(maxsize=8)
def bones_of(skeleton: Skeleton) -> Body | None:
    """Return the body of a skeleton without its skin; None if it is not a human's."""
    return body_of(skeleton, skin=False)


def see_bones(
    body: Body,
    pose: Pose,
    view: Quats,
    *,
    colors: Mapping[str, str] | None = None,
    color: str = BONE,
    only: Collection[str] | None = None,
) -> Seen:
    """Return the bones of one pose in the coordinates of a viewer who looks along -z.

    `colors` gives the bones of some joints a colour of their own; `only` leaves out all others.
    """
    from matplotlib.colors import to_rgb

    vertices = quat.rotate(view, body.vertices(body.bones, pose))
    names = body.skeleton.names
    paints = np.array([to_rgb((colors or {}).get(name, color)) for name in names])
    owners = body.owners(body.bones)
    triangles = body.bones.triangles
    if only is not None:
        shown = np.array([name in only for name in names])[body.joints[body.bones.segments[:, 0]]]
        triangles = triangles[shown[triangles].all(axis=1)]
    return Seen(vertices, triangles, paints[owners])


def together(parts: Sequence[Seen]) -> Seen:
    """Return several sets of bones as one."""
    starts = np.cumsum([0, *(len(each.vertices) for each in parts)])
    return Seen(
        np.concatenate([each.vertices for each in parts]),
        np.concatenate(
            [each.triangles + start for each, start in zip(parts, starts, strict=False)]
        ),
        np.concatenate([each.colors for each in parts]),
    )


def bounds(seen: Seen) -> Floats:
    """Return the smallest and largest x and y (2, 2)."""
    used = seen.vertices[np.unique(seen.triangles), :2]
    return np.stack([used.min(axis=0), used.max(axis=0)])


def paint_bones(
    axes: Axes, seen: Seen, window: tuple[float, float, float, float], *, zorder: float = 4.0
) -> None:
    """Draw the bones within a window, which is left, right, bottom and top, into flat axes."""
    box = axes.get_window_extent()
    x, y = axes.get_xlim(), axes.get_ylim()
    low, high = bounds(seen)
    left, right = max(window[0], low[0]), min(window[1], high[0])
    bottom, top = max(window[2], low[1]), min(window[3], high[1])
    if left >= right or bottom >= top:
        return
    # Axes of equal scale show less of one direction than they have room for.
    scale = min(box.width / max(x[1] - x[0], 1e-12), box.height / max(y[1] - y[0], 1e-12))
    scale = min(DENSITY * scale, MAX_PX / max(right - left, top - bottom))
    size = max(int(scale * (right - left)), 2), max(int(scale * (top - bottom)), 2)
    part = left, right, bottom, top
    picture = render(seen.vertices, seen.triangles, seen.colors, part, size)
    limits = axes.get_xlim(), axes.get_ylim()
    axes.imshow(
        picture, extent=part, interpolation="hanning", zorder=zorder, aspect=axes.get_aspect()
    )
    axes.set(xlim=limits[0], ylim=limits[1])
