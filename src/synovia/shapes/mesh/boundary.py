"""Boundaries of shapes as triangle meshes, with a default for shapes that register none."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

import numpy as np

from ...arrays import Points, Scalars
from ..derived import Turned
from ..distance_field.extent import level_midpoints, surface_net_triangles, surface_triangles
from ..distance_field.field import DistanceField
from ..ellipsoid import Ellipsoid
from ..polytope import Polytope, flatten, hull_triangles, polygon_triangles
from ..product import Product
from ..region import Region
from ..tetrahedra import march_tetrahedra, number_edges
from .triangles import Boundary, Surface, mean_of, unit_sphere

CELLS = 8  # of the default's grid along its longest side, for each level of detail
HALVINGS = 8  # bisection steps on edges of the grid that cross the boundary
FIRST_STEP, DOUBLINGS = 1.5, 40  # of the search outwards: first step in depths, doublings of it
ON_ELLIPSE = 1e-9  # radius below 1 up to which a point is on the boundary of the swing


@singledispatch
def shape_boundary(shape: Region, detail: int = 1) -> Boundary:
    """Return triangles on the boundary of a shape, whose edges can be halved on it.

    A `detail` of 0 gives few triangles, fast; their vertices may be slightly off the boundary. By
    default, marching tetrahedra find the boundary from distances at the nodes of a grid.
    """
    if shape.dimension != 3:
        raise ValueError(
            f"a {shape.name} of {shape.dimension} coordinates has no boundary of triangles"
        )
    low, high = shape.bounds
    cell = max(float((high - low).max()), 1e-9) / (CELLS * (detail + 1))
    # One node beyond each side, and none in the sides, where faces may lie.
    count = np.floor((high - low) / cell).astype(int) + 3
    first = 0.5 * (low + high) - 0.5 * cell * (count - 1)
    nodes = first + cell * np.moveaxis(np.indices(tuple(count)), 0, -1)
    distance = shape.distance(nodes)
    if distance.min() > 0.0:  # too thin to contain a node: the members nearest to nodes
        near = shape.project(nodes[distance <= distance.min() + cell])
        return Boundary(near, np.empty((0, 3), dtype=np.int64))
    edges, triangles = number_edges(march_tetrahedra(distance <= 0.0))
    inner, outer = np.moveaxis(first + cell * edges, 1, 0)
    for _ in range(HALVINGS):
        middle = 0.5 * (inner + outer)
        inside = (shape.distance(middle) <= 0.0)[:, None]
        inner, outer = np.where(inside, middle, inner), np.where(inside, outer, middle)
    return Boundary(
        shape.project(outer),
        triangles,
        lambda start, end: _nearby_boundary(shape, 0.5 * (start + end)),
    )


def _nearby_boundary(shape: Region, points: Points) -> Points:
    """Return a point of the boundary close to each of `points` (n, d).

    It is the projection of an outer point. Inner points first move outwards along the normal.
    """
    distance = shape.distance(points)
    outer, inside = np.array(points), np.flatnonzero(distance <= 0.0)
    normal = shape.facing(points[inside])
    step = np.maximum(-FIRST_STEP * distance[inside], 1e-9)[:, None]
    for _ in range(DOUBLINGS):
        if len(inside) == 0:
            break
        outer[inside] = points[inside] + step * normal
        still = shape.distance(outer[inside]) <= 0.0
        inside, normal, step = inside[still], normal[still], 2.0 * step[still]
    return shape.project(outer)


@singledispatch
def shape_surface(shape: Region, detail: int = 2) -> Surface:
    """Return triangles on the boundary of a shape, finer with more `detail` >= 0."""
    boundary = shape_boundary(shape, check_detail(detail))
    return Surface(boundary.place(boundary.points), boundary.triangles)


def check_detail(detail: int) -> int:
    """Return `detail` if it is at least 0."""
    if detail < 0:
        raise ValueError(f"detail must be at least 0, got {detail}")
    return detail


@shape_boundary.register
def _(shape: Polytope, detail: int = 1) -> Boundary:
    # Faces are flat, so that `detail` has no effect. A flat polytope has both sides.
    flat, _, basis = flatten(shape.corners)
    if len(basis) < 2:
        return Boundary(shape.corners, np.empty((0, 3), dtype=np.int64))
    if len(basis) == 2:
        side = polygon_triangles(flat)
        return Boundary(shape.corners, np.concatenate([side, side[:, ::-1]]))
    return Boundary(shape.corners, hull_triangles(shape.corners, shape.axes))


@shape_boundary.register
def _(shape: Ellipsoid, detail: int = 1) -> Boundary:
    # The boundary's coordinates are points of the unit sphere.
    return replace(
        unit_sphere(detail),
        place=lambda points: np.asarray((points * shape.radii) @ shape.axes + shape.center),
    )


@shape_boundary.register
def _(shape: Product, detail: int = 1) -> Boundary:
    # The outline of the swing, extruded from low to high.
    outline = _outline(shape, 8 * 2**detail)
    n = len(outline)
    middle = outline.mean(axis=0)
    rings = [np.column_stack([outline, np.full(n, t)]) for t in (shape.low, shape.high)]
    ends = [[*middle, shape.low], [*middle, shape.high]]
    i, j = np.arange(n), (np.arange(n) + 1) % n
    sides = np.concatenate([np.stack([i, j, j + n], 1), np.stack([i, j + n, i + n], 1)])
    bottom = np.stack([j, i, np.full(n, 2 * n)], 1)
    top = np.stack([i + n, j + n, np.full(n, 2 * n + 1)], 1)
    points, triangles = np.concatenate([*rings, ends]), np.concatenate([sides, bottom, top])
    swing = shape.swing
    if not isinstance(swing, Ellipsoid):
        return Boundary(points, triangles)
    return Boundary(points, triangles, lambda start, end: _midpoint_on_ellipse(swing, start, end))


def _outline(shape: Product, n: int) -> Points:
    """Return points (m, 2) in order around the swing: its corners, or `n` points of an ellipse."""
    if isinstance(shape.swing, Ellipsoid):
        angle = np.arange(n) * 2.0 * np.pi / n
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return (circle * shape.swing.radii) @ shape.swing.axes + shape.swing.center
    corners = shape.swing.corners
    from_middle = corners - corners.mean(axis=0)
    return corners[np.argsort(np.arctan2(from_middle[:, 1], from_middle[:, 0]))]


def _midpoint_on_ellipse(swing: Ellipsoid, start: Points, end: Points) -> Points:
    """Return midpoints of edges; those of edges between points of the ellipse are moved onto it."""
    middle = mean_of(start, end)
    on_ellipse = np.minimum(_radius(swing, start), _radius(swing, end)) > 1.0 - ON_ELLIPSE
    radius = np.where(on_ellipse, np.maximum(_radius(swing, middle), 1e-300), 1.0)
    middle[:, :2] = swing.center + (middle[:, :2] - swing.center) / radius[:, None]
    return middle


def _radius(swing: Ellipsoid, points: Points) -> Scalars:
    """Return the distance from the centre as a share of that of the ellipse, 1 on it: (n,)."""
    along = (points[:, :2] - swing.center) @ swing.axes.T
    return np.asarray(np.linalg.norm(along / np.maximum(swing.radii, 1e-150), axis=-1))


@shape_boundary.register
def _(shape: DistanceField, detail: int = 1) -> Boundary:
    # Detail 0 is a surface net, with one point for each cell that the boundary cuts. Each level
    # above 2 halves the cells. The sides of the box close the region, except across axes that wrap.
    if detail == 0:
        points, triangles = surface_net_triangles(shape)
    else:
        points, triangles = surface_triangles(
            shape.values, shape.threshold, shape.low, shape.spacing, shape.wrapping, detail
        )
    return Boundary(points, triangles, lambda start, end: level_midpoints(shape, start, end))


@shape_boundary.register
def _(shape: Turned, detail: int = 1) -> Boundary:
    inner = shape_boundary(shape.shape, detail)
    order = 1 if np.linalg.det(shape.turn) > 0.0 else -1
    return replace(
        inner,
        triangles=inner.triangles[:, ::order],
        place=lambda points: shape.turned(inner.place(points)),
    )
