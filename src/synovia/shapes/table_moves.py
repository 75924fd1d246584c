"""Ways through a table: back to it, and out of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Floats, Mask, Points, Scalars, Vectors
from .table_grid import TURN, angles_of, vectors_at

STEP = 1e-6  # radians, for slopes


def walked_back(
    contains: Callable[[Points], Mask], start: Points, end: Points, frame: Floats, steps: int
) -> Points:
    """Return the first members met on the way from `end` back to `start`, which are members.

    The way goes straight in theta, phi and twist, each the short way round, in equal steps.
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    first, last = (
        np.stack([*angles_of(points[..., :3] @ frame.T), points[..., 3]], axis=-1)
        for points in (start, end)
    )
    way = first - last
    way -= TURN * np.rint(way / TURN)
    met, walking = np.array(end), ~contains(end)
    for k in range(1, steps):
        if not walking.any():
            break
        theta, phi, twist = np.moveaxis(last + way * (k / steps), -1, 0)
        here = np.concatenate([vectors_at(theta, phi) @ frame, twist[..., None]], axis=-1)
        met = np.where(walking[..., None], here, met).astype(end.dtype)
        walking &= ~contains(met)
    return np.where(walking[..., None], start, met).astype(end.dtype)


def facing_of(
    beyond: Callable[[Vectors], Scalars], twists: Callable[[Vectors], Floats], points: Points
) -> Points:
    """Return the outward normals (..., 4), in the table's frame, of what is nearest to points.

    That is a wall, or the end of the twists, which is tilted as it slopes.
    """
    vectors, twist = points[..., :3], points[..., 3]
    across = tangents(vectors)
    ahead, behind = (_unit(vectors[..., None, :] + s * across) for s in (STEP, -STEP))
    wall = _along(beyond(ahead) - beyond(behind), across)
    still = np.linalg.norm(wall, axis=-1, keepdims=True) < 1e-3 * STEP
    wall = np.where(still, across[..., 0, :], wall)
    low, high = np.moveaxis(twists(vectors), -1, 0)
    off = twist - 0.5 * (low + high)
    off = off - TURN * np.rint(off / TURN)
    upper = off >= 0.0
    rise = (twists(ahead) - twists(behind)) / (2.0 * STEP)
    rise = np.where(upper[..., None], -rise[..., 1], rise[..., 0])
    side = np.where(upper, 1.0, -1.0)
    end = np.concatenate([_along(rise, across), side[..., None]], axis=-1)
    level = np.concatenate([wall, np.zeros_like(end[..., :1])], axis=-1)
    room = 0.5 * (high - low) - np.abs(off)
    return _unit(np.where((room < -beyond(vectors))[..., None], end, level))


def _along(slopes: Floats, across: Vectors) -> Vectors:
    return np.asarray(np.einsum("...i,...ij->...j", slopes, across))


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def tangents(vectors: Vectors) -> Vectors:
    """Return two unit vectors (..., 2, 3) across each and each other."""
    least = np.eye(3)[np.abs(vectors).argmin(axis=-1)]
    first = _unit(np.cross(vectors, least))
    return np.stack([first, np.cross(vectors, first)], axis=-2)
