"""Outward normals of a reach cone, as moves: across the direction (3 numbers), then in twist."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Ints, Points, Vectors
from .cone_star import normalized
from .cone_tables import slice_rows
from .region import RIM

if TYPE_CHECKING:
    from .reach_cone import ReachCone

TURN = 2.0 * np.pi


def cone_facing(cone: ReachCone, points: Points) -> Points:
    """Return the unit normals (..., 4) of the wall or of a sheet, whichever is nearer."""
    angle, margin = np.moveaxis(cone.left(points), -1, 0)
    directions, twists = points[..., :3], points[..., 3]
    low, high = np.moveaxis(cone.twist_range(directions), -1, 0)
    offset = twists - 0.5 * (low + high)
    upper = np.where(offset - TURN * np.rint(offset / TURN) >= 0.0, 1, 0)
    rise = _rises(cone, directions, upper)
    sheet = np.concatenate([-rise, np.ones((*twists.shape, 1))], axis=-1)
    sheet *= np.where(upper == 1, 1.0, -1.0)[..., None]
    sheet /= np.linalg.norm(sheet, axis=-1, keepdims=True)
    wall = np.zeros_like(sheet)
    wall[..., :3] = _outward(cone, directions)
    nearer = margin / np.hypot(1.0, np.linalg.norm(rise, axis=-1)) < angle
    return np.where(nearer[..., None], sheet, wall)


def _rises(cone: ReachCone, directions: Vectors, upper: Ints) -> Vectors:
    """Return how the low (0) or high (1) limit rises with direction, per radian, as tangents."""
    planes = slice_rows(cone.points, cone.visible, cone.low, cone.high)[cone.slices(directions)]
    first = np.where(upper == 1, planes[..., 10], planes[..., 9])[..., None]
    second = np.where(upper == 1, planes[..., 12], planes[..., 11])[..., None]
    middle = np.where(upper == 1, cone.visible_high, cone.visible_low)[..., None]
    weights = planes[..., 0:3] - planes[..., 3:6] + planes[..., 6:9]
    limits = second * planes[..., 0:3] - first * planes[..., 3:6] + middle * planes[..., 6:9]
    size = np.sum(weights * directions, axis=-1, keepdims=True)
    level = np.sum(limits * directions, axis=-1, keepdims=True) / size
    rise = (limits - level * weights) / size
    return np.asarray(rise - np.sum(rise * directions, axis=-1, keepdims=True) * directions)


def _outward(cone: ReachCone, directions: Vectors) -> Vectors:
    """Return the unit tangents from inner directions to the nearest point of the boundary."""
    normals = normalized(np.cross(cone.points, np.roll(cone.points, -1, axis=0)))
    foot, number = nearest_on_edges(cone.points, directions)
    toward = foot - directions
    size = np.linalg.norm(toward, axis=-1, keepdims=True)
    toward = np.where(size > RIM, toward, -normals[number])
    toward = toward - np.sum(toward * directions, axis=-1, keepdims=True) * directions
    length = np.linalg.norm(toward, axis=-1, keepdims=True)
    return np.asarray(toward / np.where(length > 0.0, length, 1.0))


def nearest_on_edges(vertices: Vectors, directions: Vectors) -> tuple[Vectors, Ints]:
    """Return the point of the polygon's edges nearest to each direction, and its edge's number."""
    starts, ends = vertices, np.roll(vertices, -1, axis=0)
    normals = normalized(np.cross(starts, ends))
    feet = directions[..., None, :] - (directions @ normals.T)[..., None] * normals
    on_edge = np.sum(feet * np.cross(normals, starts), axis=-1) >= 0.0
    on_edge &= np.sum(feet * np.cross(ends, normals), axis=-1) >= 0.0
    length = np.linalg.norm(feet, axis=-1, keepdims=True)
    feet = feet / np.where(length > 0.0, length, 1.0)
    corner = np.where((directions @ starts.T >= directions @ ends.T)[..., None], starts, ends)
    feet = np.where(on_edge[..., None], feet, corner)
    number = np.linalg.norm(feet - directions[..., None, :], axis=-1).argmin(axis=-1)
    return np.take_along_axis(feet, number[..., None, None], axis=-2)[..., 0, :], number
