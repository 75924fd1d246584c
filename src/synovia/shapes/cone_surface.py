"""The boundary of a reach cone as triangles: its wall, and the sheets of least and greatest twist.

Twist limits are linear along the straight line between two corners of a slice, seen from the
centre; so points are taken on such lines and then brought to the sphere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats, Ints
from .cone_star import normalized
from .region import Surface

if TYPE_CHECKING:
    from .reach_cone import ReachCone

TURN = 2.0 * np.pi


def cone_surface(cone: ReachCone, detail: int) -> Surface:
    """Return the wall and, unless the twist is free, both sheets, each edge in 2ᵈᵉᵗᵃⁱˡ parts."""
    if detail < 0:
        raise ValueError(f"detail must be at least 0, got {detail}")
    k = 2**detail
    corners, ring = _fan(cone, k)
    low, high = np.moveaxis(cone.twist_range(corners), -1, 0)
    high = np.minimum(high, low + TURN)
    m = len(corners)
    wall = _wall(corners[ring], low[ring], high[ring], k)
    if cone.is_free:
        return wall
    sheets = np.concatenate(
        [np.column_stack([corners, low]), np.column_stack([corners, high])], axis=0
    )
    triangles = _fan_triangles(len(cone.points), k)
    # A free direction has no sheet: the whole turn is legal there.
    triangles = triangles[~(high - low >= TURN)[triangles].any(axis=1)]
    faces = np.concatenate([triangles[:, ::-1], triangles + m, wall.triangles + 2 * m])
    return used(Surface(np.concatenate([sheets, wall.vertices]), faces))


def used(surface: Surface) -> Surface:
    """Return the surface without the vertices that no triangle has."""
    numbers, triangles = np.unique(surface.triangles, return_inverse=True)
    return Surface(surface.vertices[numbers], triangles.reshape(-1, 3))


def _fan(cone: ReachCone, k: int) -> tuple[Floats, Ints]:
    """Return the visible point, then rings of directions around it; and which are the last ring."""
    along = np.arange(k) / k
    following = np.roll(cone.points, -1, axis=0)
    edge = cone.points[:, None] + along[:, None] * (following - cone.points)[:, None]
    rim: Floats = normalized(edge.reshape(-1, 3))
    out = (np.arange(1, k + 1) / k)[:, None, None]
    # Along the meridian, so that the rings of a cone beyond a hemisphere do not cut the centre.
    cosine = rim @ cone.visible
    across: Floats = rim - cosine[:, None] * cone.visible
    angle = np.arctan2(np.linalg.norm(across, axis=1), cosine)[:, None]
    across = normalized(across)
    rings = np.cos(out * angle) * cone.visible + np.sin(out * angle) * across
    rings[-1] = rim
    m = len(rim)
    corners = np.concatenate([cone.visible[None], rings.reshape(-1, 3)])
    return corners, 1 + (k - 1) * m + np.arange(m)


def _fan_triangles(n: int, k: int) -> Ints:
    """Return the triangles between the rings of `_fan`, counter-clockwise from outside."""
    m = n * k
    i = np.arange(m)
    j = (i + 1) % m
    parts = [np.stack([np.zeros(m, dtype=np.int64), 1 + i, 1 + j], axis=1)]
    for ring in range(1, k):
        inner, outer = 1 + (ring - 1) * m, 1 + ring * m
        parts.append(np.stack([inner + i, outer + i, outer + j], axis=1))
        parts.append(np.stack([inner + i, outer + j, inner + j], axis=1))
    return np.concatenate(parts)


def _wall(ring: Floats, low: Floats, high: Floats, k: int) -> Surface:
    """Return the wall over the directions in order around the boundary, from low to high."""
    m = len(ring)
    share = np.linspace(0.0, 1.0, k + 1)
    twists = low[None] + share[:, None] * (high - low)[None]
    vertices = np.concatenate(
        [np.broadcast_to(ring, (k + 1, m, 3)), twists[..., None]], axis=-1
    ).reshape(-1, 4)
    i = np.arange(m)
    j = (i + 1) % m
    parts = []
    for level in range(k):
        below, above = level * m, (level + 1) * m
        parts.append(np.stack([below + i, below + j, above + j], axis=1))
        parts.append(np.stack([below + i, above + j, above + i], axis=1))
    return Surface(vertices, np.concatenate(parts))
