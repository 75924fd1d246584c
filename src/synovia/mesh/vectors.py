"""Where points of a chart are drawn among rotations, as vectors from its reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Mask, Points, Scalars, Vectors
from ..charts import AnyChart, DirectionTwist, RotationVector, SwingTwist
from ..shapes import Box, DistanceField, Ellipsoid, KDop, Product, Shape
from ..shapes.distance_field.extent import move_to_level, surface_net, values_at
from ..shapes.ellipsoid import sphere_surface
from .mesh import Finish, Middle, Placement, edges_of, split_edges


def vectors_of(chart: AnyChart, points: Points) -> Points:
    """Return points of a chart as rotation vectors (n, 3) from its reference, in radians.

    They go on beyond half a turn, so that a region that does is not torn; only Euler angles, which
    know no such thing, are folded. Swings and twists are written out, for pictures spend much of
    their time here.
    """
    if isinstance(chart, RotationVector):
        return points
    if isinstance(chart, DirectionTwist):
        # With a the axis and d the direction, the swing is (w, a × d/2w), w² = (1 + a·d)/2.
        directions = points[:, :3]
        cosine = directions @ chart.axis[:, None]
        w = np.sqrt(np.maximum(0.5 * (1.0 + cosine), 1e-18))
        v = directions @ _cross_matrix(chart.axis) / (2.0 * w)
        return _apply_twists(w, v, chart.axis, points[:, 3:])
    if isinstance(chart, SwingTwist):
        x, y = quat.rotate(chart.frame, np.eye(3)[:2])
        swing = points[:, :1] * x + points[:, 1:2] * y
        half = 0.5 * np.linalg.norm(points[:, :2], axis=1, keepdims=True)
        v = 0.5 * np.sinc(half / np.pi) * swing
        return _apply_twists(np.cos(half), v, chart.axis, points[:, 2:])
    return quat.log(quat.mul(quat.inverse(chart.reference), chart.rotations(points)))


def _apply_twists(w: Scalars, v: Vectors, axis: Vectors, twist: Scalars) -> Points:
    """Return the rotation vectors of swings (w, v), v across the axis, after twists about it."""
    c, s = np.cos(0.5 * twist), np.sin(0.5 * twist)
    vector = c * v + s * (w * axis - v @ _cross_matrix(axis))
    sine = np.sqrt(np.einsum("ij,ij->i", vector, vector))[:, None]
    angle = 2.0 * np.arctan2(sine, w * c)
    share = np.divide(angle, sine, out=np.full_like(sine, 2.0), where=sine > 0.0)
    return np.asarray(vector * share)


def _cross_matrix(axis: Vectors) -> Floats:
    """Return the matrix (3, 3) from which rows v get axis × v; sooner than `np.cross` does."""
    x, y, z = axis
    return np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])


# The boundary of a shape of vectors, so that any edge of its triangles can be halved on it.


DETAIL = 2
FEWEST_TRIANGLES = 150
"""Flat faces, whose triangles are few, are halved at once until there are so many."""
ON_THE_EDGE = 1e-9


@dataclass(frozen=True, eq=False)
class BoundaryMesh:
    """Triangles (t, 3) between points (v, k), in coordinates of the boundary's own.

    `middle` gives the point half way between two; `placed` points of the chart.
    """

    points: Floats
    triangles: Ints
    middle: Middle
    placed: Placement


def vector_boundary(shape: Shape) -> BoundaryMesh:
    """Return the boundary of a shape of vectors, with the few triangles that it needs at least."""
    if isinstance(shape, Ellipsoid):
        sphere = sphere_surface(DETAIL)
        return BoundaryMesh(
            sphere.vertices,
            sphere.triangles,
            _midpoint_on_sphere,
            lambda points: np.asarray((points * shape.radii) @ shape.axes + shape.center),
        )
    surface = shape.surface(DETAIL)
    points: Points = surface.vertices
    triangles: Ints = surface.triangles.astype(np.int64)
    while isinstance(shape, Box | KDop) and 0 < len(triangles) < FEWEST_TRIANGLES:
        edges, sides = edges_of(triangles)
        triangles = split_edges(triangles, len(points) + sides)
        points = np.concatenate([points, points[edges].mean(axis=1)])
    middle = _midpoint
    if isinstance(shape, Product) and isinstance(shape.swing, Ellipsoid):
        swing = shape.swing
        middle = lambda start, end: _midpoint_on_ellipse(swing, start, end)  # noqa: E731
    return BoundaryMesh(points, triangles, middle, lambda points: points)


def _midpoint(start: Floats, end: Floats) -> Floats:
    return 0.5 * (start + end)


def _midpoint_on_sphere(start: Floats, end: Floats) -> Floats:
    total = start + end
    return np.asarray(total / np.linalg.norm(total, axis=-1, keepdims=True))


def _midpoint_on_ellipse(swing: Ellipsoid, start: Points, end: Points) -> Points:
    """Return points half way; between two on the ellipse of the swing, on it."""
    middle = _midpoint(start, end)
    around = (_level(swing, start) > 1.0 - ON_THE_EDGE) & (_level(swing, end) > 1.0 - ON_THE_EDGE)
    level = np.where(around, np.maximum(_level(swing, middle), 1e-300), 1.0)
    middle[:, :2] = swing.center + (middle[:, :2] - swing.center) / level[:, None]
    return middle


def _level(swing: Ellipsoid, points: Points) -> Scalars:
    """Return how far out points are in the ellipse, as a share of the way to its boundary."""
    along = (points[:, :2] - swing.center) @ swing.axes.T
    return np.asarray(np.linalg.norm(along / np.maximum(swing.radii, 1e-150), axis=-1))


# The boundary of a distance field: fine by tetrahedra, or soon as a net of one point a cell.


AT_SIDE = 1e-9
BY_TETRAHEDRA = 3
"""About how many times the triangles of a net tetrahedra have."""


def field_boundary(field: DistanceField, finish: Finish) -> BoundaryMesh:
    """Return the boundary of a field, as a net where tetrahedra would have too many triangles."""
    points, triangles = _net(field)
    if BY_TETRAHEDRA * len(triangles) < finish.most:
        surface = field.surface(DETAIL)
        points, triangles = surface.vertices, surface.triangles.astype(np.int64)
    return BoundaryMesh(
        points,
        triangles,
        lambda start, end: _midpoint_on_level(field, start, end),
        lambda points: points,
    )


def _net(field: DistanceField) -> tuple[Points, Ints]:
    """Return a point of the boundary for each cell that it goes through, and triangles."""
    points, quads = surface_net(field.values, field.threshold, field.wrapping)
    nodes = field.closed
    last = np.array(nodes.shape) - 1
    at_side = ((points <= 0.0) | (points >= last)) & ~field.wrapping
    inner = np.clip(points, 0.0, last)
    moving = (values_at(nodes, inner) > field.threshold) | ~at_side.any(axis=1)
    settled = move_to_level(nodes, field.threshold, inner, ~at_side, np.asarray(moving))
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return np.asarray(field.low + field.spacing * settled), triangles


def _midpoint_on_level(field: DistanceField, start: Points, end: Points) -> Points:
    """Return points half way, brought to where the field is at its threshold.

    In a side of the field's box, which closes the region there, points stay in it; and where they
    are, unless they are between two on the level.
    """
    nodes = field.closed
    last = np.array(nodes.shape) - 1
    start, end = (start - field.low) / field.spacing, (end - field.low) / field.spacing
    at_side = [
        (np.abs(start - side) < AT_SIDE) & (np.abs(end - side) < AT_SIDE)
        for side in (np.zeros(3), last)
    ]
    free = ~((at_side[0] | at_side[1]) & ~field.wrapping)
    moving: Mask = np.asarray(free.all(axis=1))
    if not moving.all():
        off = [values_at(nodes, each) - field.threshold for each in (start, end)]
        moving |= np.max(np.abs(off), axis=0) < AT_SIDE
    points = move_to_level(nodes, field.threshold, 0.5 * (start + end), free, moving)
    return np.asarray(field.low + field.spacing * points)
