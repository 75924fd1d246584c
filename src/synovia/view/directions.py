"""The boundary of a shape of directions: legal directions at either end of the twist, and a wall.

Its own coordinates are a direction (3 numbers), the share of the way from the least to the
greatest twist there, and last 1 where the legal directions end, else 0.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..arrays import Floats, Ints, Vectors
from ..shapes import Directional, ReachCone
from .mesh import Finish, Middle
from .skins import Skin

TURN = 2.0 * np.pi
WIDEST = float(np.radians(30.0))
"""Of the first triangles of a cone, and of its wall's first rows, in radians."""
HIGHEST = float(np.radians(75.0))
"""Of the rows of a wall in a draft, in radians."""


def skin_of_cone(cone: ReachCone, finish: Finish) -> Skin:
    """Return the boundary of a cone; edges are arcs of great circles, and are halved on them."""
    directions, triangles, rim = _fan(cone)
    flags = np.zeros(len(directions))
    flags[rim] = 1.0
    return raised(cone, directions, triangles, rim, flags[:, None], _half_way, finish)


def raised(
    shape: Directional,
    directions: Vectors,
    triangles: Ints,
    rim: Ints,
    extra: Floats,
    middle: Middle,
    finish: Finish,
) -> Skin:
    """Return legal directions at both ends of the twist, with the wall over the edges of `rim`.

    `extra` are coordinates that directions have besides, for `middle`; 1 on the rim is the last.
    """
    on_rim = np.unique(rim)
    low, high = shape.twist_range(directions[on_rim]).T
    widest = float(np.minimum(high - low, TURN).max(initial=0.0))
    rows = max(1, int(np.ceil(widest / (WIDEST if finish.careful else HIGHEST))))
    n = len(directions)
    place = np.zeros(n, dtype=np.int64)
    place[on_rim] = np.arange(len(on_rim))
    shares = np.linspace(0.0, 1.0, rows + 1)
    points = [_coordinates(directions, share, extra) for share in (0.0, 1.0)]
    points += [_coordinates(directions[on_rim], share, extra[on_rim]) for share in shares[1:-1]]
    ring = [on_rim, *(2 * n + k * len(on_rim) + np.arange(len(on_rim)) for k in range(rows - 1))]
    ring.append(on_rim + n)
    parts = [triangles[:, ::-1], triangles + n]
    for below, above in pairwise(ring):
        a, b = below[place[rim]].T
        d, c = above[place[rim]].T
        parts += [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]

    def placed(points: Floats) -> Floats:
        low, high = shape.twist_range(points[:, :3]).T
        twist = low + points[:, 3] * np.minimum(high - low, TURN)
        return np.column_stack([points[:, :3], twist])

    return Skin(np.concatenate(points), np.concatenate(parts), middle, placed)


def _coordinates(directions: Vectors, share: float, extra: Floats) -> Floats:
    return np.column_stack([directions, np.full(len(directions), share), extra])


def _half_way(start: Floats, end: Floats) -> Floats:
    middle = 0.5 * (start + end)
    middle[:, :3] /= np.linalg.norm(middle[:, :3], axis=1, keepdims=True)
    return middle


def _fan(cone: ReachCone) -> tuple[Vectors, Ints, Ints]:
    """Return directions, triangles between them, and the edges (e, 2) around the boundary.

    Slices are cut along meridians of the visible point into parts that are not too wide.
    """
    n = len(cone.points)
    cosine = cone.points @ cone.visible
    across = cone.points - cosine[:, None] * cone.visible
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    angle = np.arccos(np.clip(cosine, -1.0, 1.0))
    rings = max(1, int(np.ceil(angle.max() / WIDEST)))
    share = (np.arange(1, rings) / rings)[:, None] * angle
    inner = np.cos(share)[..., None] * cone.visible + np.sin(share)[..., None] * across
    directions = np.concatenate([cone.visible[None], inner.reshape(-1, 3), cone.points])
    i = np.arange(n)
    j = (i + 1) % n
    parts = [np.stack([np.zeros(n, np.int64), 1 + i, 1 + j], axis=1)]
    for ring in range(1, rings):
        inside, outside = 1 + (ring - 1) * n, 1 + ring * n
        parts.append(np.stack([inside + i, outside + i, outside + j], axis=1))
        parts.append(np.stack([inside + i, outside + j, inside + j], axis=1))
    last = 1 + (rings - 1) * n
    return directions, np.concatenate(parts), last + np.stack([i, j], axis=1)
