"""Boundaries of shapes as triangle meshes, with a default for shapes that register none.

Boundaries of directions and twists consist of two sheets and a wall. Their points have a direction
(3 numbers), the share of the interval from the least to the greatest twist there, and 1 on the rim
of the legal directions, else 0.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial, singledispatch
from itertools import pairwise

import numpy as np

from ..arrays import TURN, Floats, Ints, Mask, Points, Scalars, Vectors, unit_vectors
from .derived import DirectionalOffset, Offset, Turned
from .directional import Directional
from .distance_field.field import DistanceField
from .distance_field.grid import level_midpoints, surface_net_triangles, surface_triangles
from .ellipsoid import Ellipsoid
from .polytope import Polytope, flatten, hull_triangles, polygon_triangles
from .product import Product
from .reach_cone.cone import ReachCone
from .reach_cone.star import polar
from .region import Region
from .theta_phi.grid import edges, vectors_at
from .theta_phi.table import ThetaPhi
from .triangles import (
    Boundary,
    Midpoint,
    Surface,
    bisect,
    cut_off,
    drop_degenerate,
    drop_unused_points,
    edges_of,
    march_tetrahedra,
    mean_of,
    midpoint_on_sphere,
    number_edges,
    rim_of,
    split_edges,
    unit_sphere,
)
from .union import Union

__all__ = ["Boundary", "Surface", "free_ends", "pieces", "shape_boundary", "shape_surface"]

CELLS = 8  # of the default's grid along its longest side, for each level of detail
GRID_HALVINGS = 8  # bisection steps on edges of the grid that cross the boundary
FIRST_STEP, DOUBLINGS = 1.5, 40  # of the search outwards: first step in depths, doublings of it
ON_CYLINDER = 1e-9  # distance from the axis below 1 up to which a point is on the unit cylinder
SHARE, ON_RIM = 3, 4  # columns of a boundary's points: share of the twist, and 1 on the rim
FREE = 1e-9  # radians below 2π up to which a range of twists is free
MAX_ROW = 0.5 * np.pi  # radians of twist from one row of triangles of a wall to the next
FIRST_DETAIL = 4  # halvings of the edges of an octahedron for the first directions
HALVINGS, DRAFT_HALVINGS = 36, 8  # bisection steps on edges where legal directions end
RIM_HALVINGS = 12  # bisection steps to the rim from beside it
ACROSS = np.outer([0.0625, 0.25, 1.0, 2.0], [1.0, -1.0]).ravel()
"""Offsets from the middle of an edge at which the rim is searched for, in half edge lengths."""
HASH = np.array([1.0, np.sqrt(2.0), np.sqrt(3.0)])  # maps different directions to different numbers
TABLE_DETAIL, FIELD_DETAIL = 3, 2  # up to which the first triangles are not subdivided
MAX_EDGE = 0.5 * np.pi  # radians, approximately, of the first triangles of a reach cone
INSIDE = 1e-9  # radians of depth from which a vertex is inside another part of a union
CELL_RING = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]
"""Corners of a cell and midpoints of its sides, in halves of rows and columns."""


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
    ends, triangles = number_edges(march_tetrahedra(distance <= 0.0))
    inner, outer = np.moveaxis(first + cell * ends, 1, 0)
    _, outer = bisect(inner, outer, lambda points: shape.distance(points) > 0.0, GRID_HALVINGS)
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
    normal = shape.normal(points[inside])
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
    # The outline of the swing, extruded from low to high; that of an ellipse is a unit circle.
    swing = shape.swing
    midpoint, place = mean_of, None
    if isinstance(swing, Ellipsoid):
        angle = np.linspace(0.0, TURN, 8 * 2**detail, endpoint=False)
        outline = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        midpoint, place = _midpoint_on_cylinder, partial(_in_ellipse, swing)
    else:
        from_middle = swing.corners - swing.corners.mean(axis=0)
        outline = swing.corners[np.argsort(np.arctan2(from_middle[:, 1], from_middle[:, 0]))]
    n = len(outline)
    middle = outline.mean(axis=0)
    rings = [np.column_stack([outline, np.full(n, t)]) for t in (shape.low, shape.high)]
    ends = [[*middle, shape.low], [*middle, shape.high]]
    i, j = np.arange(n), (np.arange(n) + 1) % n
    sides = np.concatenate([np.stack([i, j, j + n], 1), np.stack([i, j + n, i + n], 1)])
    bottom = np.stack([j, i, np.full(n, 2 * n)], 1)
    top = np.stack([i + n, j + n, np.full(n, 2 * n + 1)], 1)
    points, triangles = np.concatenate([*rings, ends]), np.concatenate([sides, bottom, top])
    return Boundary(points, triangles, midpoint, place or np.asarray)


def _in_ellipse(swing: Ellipsoid, points: Points) -> Points:
    """Return points (n, 3) of the unit cylinder, moved to the cylinder over `swing`."""
    plane = (points[:, :2] * swing.radii) @ swing.axes + swing.center
    return np.column_stack([plane, points[:, 2]])


def _midpoint_on_cylinder(start: Points, end: Points) -> Points:
    """Return midpoints of edges; those between points of the unit cylinder are moved onto it."""
    middle = mean_of(start, end)
    lengths = [np.linalg.norm(points[:, :2], axis=1) for points in (start, end, middle)]
    on_cylinder = np.minimum(lengths[0], lengths[1]) > 1.0 - ON_CYLINDER
    middle[:, :2] /= np.where(on_cylinder, np.maximum(lengths[2], 1e-300), 1.0)[:, None]
    return middle


@shape_boundary.register
def _(shape: DistanceField, detail: int = 1) -> Boundary:
    # Detail 0 is a surface net, with one point for each cell that the boundary cuts. The sides of
    # the box close the region, except across axes that wrap.
    if detail == 0:
        points, triangles = surface_net_triangles(shape)
    else:
        points, triangles = surface_triangles(
            shape.values, shape.threshold, shape.low, shape.spacing, shape.wrapping
        )
    boundary = Boundary(points, triangles, lambda start, end: level_midpoints(shape, start, end))
    for _ in range(detail - FIELD_DETAIL):
        boundary = boundary.halve()
    return boundary


@shape_boundary.register
def _(shape: Turned, detail: int = 1) -> Boundary:
    inner = shape_boundary(shape.shape, detail)
    order = 1 if np.linalg.det(shape.turn) > 0.0 else -1
    return replace(
        inner,
        triangles=inner.triangles[:, ::order],
        place=lambda points: shape.turned(inner.place(points)),
    )


@singledispatch
def pieces(shape: Directional) -> tuple[Directional, ...]:
    """Return the shapes whose union is `shape`, each with its own boundary."""
    return (shape,)


@pieces.register
def _(shape: Union) -> tuple[Directional, ...]:
    return shape.parts


@pieces.register
def _(shape: DirectionalOffset) -> tuple[Directional, ...]:
    return tuple(DirectionalOffset(piece, shape.radius) for piece in pieces(shape.shape))


def free_ends(shape: Directional, points: Floats, triangles: Ints) -> Mask:
    """Return a mask (t,) of triangles at an end of the twist where every twist is legal."""
    low, high = np.moveaxis(shape.twist_range(points[:, :3]), -1, 0)
    free, share = high - low >= TURN - FREE, points[:, SHARE]
    at_end = [(share == end)[triangles].all(axis=1) for end in (0.0, 1.0)]
    return np.asarray(free[triangles].any(axis=1) & np.any(at_end, axis=0))


@shape_surface.register
def _(shape: Directional, detail: int = 2) -> Surface:
    # The wall and, unless every twist is legal, the sheets of least and greatest twist.
    boundary = shape_boundary(shape, check_detail(detail))
    triangles = boundary.triangles[~free_ends(shape, boundary.points, boundary.triangles)]
    kept, triangles = drop_unused_points(triangles, len(boundary.points))
    return Surface(boundary.place(boundary.points[kept]), triangles)


@shape_surface.register
def _(shape: Union, detail: int = 2) -> Surface:
    # Triangles with a vertex inside another part are dropped, which leaves a seam between parts.
    vertices, triangles, count = [], [], 0
    for part in shape.parts:
        surface = shape_surface(part, detail)
        hidden = np.zeros(len(surface.vertices), dtype=bool)
        for other in shape.parts:
            if other is not part:
                hidden |= other.distance(surface.vertices) < -INSIDE
        vertices.append(surface.vertices)
        triangles.append(surface.triangles[~hidden[surface.triangles].any(axis=1)] + count)
        count += len(surface.vertices)
    kept, seen = drop_unused_points(np.concatenate(triangles), count)
    return Surface(np.concatenate(vertices)[kept], seen)


@shape_boundary.register(Directional)
@shape_boundary.register(DirectionalOffset)
def _(shape: Directional, detail: int = 1) -> Boundary:
    # Around a table, ends of twists jump where the nearest direction does.
    around = pieces(shape.shape) if isinstance(shape, DirectionalOffset) else ()
    kinked = any(isinstance(piece, ThetaPhi) for piece in around)
    sphere = unit_sphere(FIRST_DETAIL + detail)
    return cut_boundary(shape, sphere.points, sphere.triangles, detail, kinked=kinked)


@shape_boundary.register
def _(shape: Union, detail: int = 1) -> Boundary:
    raise ValueError("a union has no boundary of its own: use those of its pieces")


@shape_boundary.register
def _(shape: Offset, detail: int = 1) -> Boundary:
    if not isinstance(shape.shape, Directional):
        return shape_boundary.dispatch(object)(shape, detail)
    inner = shape_boundary(shape.shape, detail)
    free = free_ends(shape.shape, inner.points, inner.triangles)
    kept, triangles = drop_unused_points(inner.triangles[~free], len(inner.points))
    return replace(
        inner,
        points=inner.points[kept],
        triangles=triangles,
        place=lambda points: shape.project(inner.place(points)),
    )


@shape_boundary.register
def _(shape: ThetaPhi, detail: int = 1) -> Boundary:
    directions, triangles = _cell_triangles(shape.legal, detail)
    if np.linalg.det(shape.frame) < 0.0:  # a mirrored table has a left-handed frame
        triangles = triangles[:, ::-1]
    boundary = cut_boundary(shape, directions @ shape.frame, triangles, detail, kinked=True)
    for _ in range(detail - TABLE_DETAIL):
        boundary = boundary.halve()
    return boundary


@shape_boundary.register
def _(shape: ReachCone, detail: int = 1) -> Boundary:
    # A fan around the visible point, so that edges of the polygon remain edges of triangles.
    corner = 1 + np.arange(len(shape.points))
    triangles = np.stack([np.zeros_like(corner), corner, np.roll(corner, -1)], axis=1)
    fan = Boundary(np.vstack([shape.visible, shape.points]), triangles, midpoint_on_sphere)
    farthest = polar(shape.points, shape.visible)[1].max()
    for _ in range(detail + max(0, int(np.ceil(np.log2(farthest / MAX_EDGE))))):
        fan = fan.halve()
    return extrude_twists(shape, fan.points, fan.triangles, midpoint_on_arc)


def _cell_triangles(cells: Mask, detail: int) -> tuple[Vectors, Ints]:
    """Return directions (n, 3) in the table's frame, and triangles around the centres of cells.

    Each cell has eight, because ranges of twists, interpolated between centres, bend at the lines
    through them. A `detail` of 0 gives four.
    """
    columns = cells.shape[1]
    directions, number = _corners(cells.shape)
    row, column = np.nonzero(cells)
    ring = np.stack(
        [
            number[2 * row + r, (2 * column + c) % (2 * columns)]
            for r, c in (CELL_RING if detail > 0 else CELL_RING[::2])
        ],
        axis=1,
    )
    centre = np.broadcast_to(number[2 * row + 1, 2 * column + 1, None], ring.shape)
    triangles = np.stack([centre, ring, np.roll(ring, -1, axis=1)], axis=-1).reshape(-1, 3)
    kept, triangles = drop_unused_points(drop_degenerate(triangles), len(directions))
    return directions[kept], triangles


def _corners(shape: tuple[int, int]) -> tuple[Vectors, Ints]:
    """Return corners, midpoints of sides and centres of all cells (n, 3), and their indices.

    Indices (2 rows + 1, 2 columns) are the same all along a pole.
    """
    rows, columns = shape
    phi, theta = edges((2 * rows, 2 * columns))
    directions = vectors_at(theta[:-1], phi[:, None]).reshape(-1, 3)
    number = np.arange((2 * rows + 1) * 2 * columns).reshape(2 * rows + 1, -1)
    number[0], number[-1] = number[0, 0], number[-1, 0]
    return directions, number


def cut_boundary(
    shape: Directional, directions: Vectors, triangles: Ints, detail: int, *, kinked: bool
) -> Boundary:
    """Return the boundary over the legal part of triangles that cover the legal directions.

    Unless `detail` is 0, triangles that cross the rim are first subdivided.
    """
    legal = shape.contains_direction(directions)
    if detail > 0:
        corners = legal[triangles]
        edges, sides = edges_of(triangles)
        cut = np.zeros(len(edges), dtype=bool)
        cut[sides[corners.any(axis=1) & ~corners.all(axis=1)]] = True
        middles = midpoint_on_sphere(*np.moveaxis(directions[edges[cut]], 1, 0))
        number = np.where(cut, len(directions) + np.cumsum(cut) - 1, -1)
        triangles = split_edges(triangles, number[sides])
        directions = np.concatenate([directions, middles])
        legal = np.concatenate([legal, shape.contains_direction(middles)])

    def hidden(directions: Vectors) -> Mask:
        return ~shape.contains_direction(directions)

    halvings = HALVINGS if detail > 0 else DRAFT_HALVINGS
    directions, triangles = cut_off(
        directions, triangles, midpoint_on_sphere, hidden, halvings, ~legal
    )
    kept, triangles = drop_unused_points(triangles, len(directions))
    return extrude_twists(
        shape,
        directions[kept],
        triangles,
        lambda start, end: _midpoint_on_rim(shape, start, end),
        kinked=kinked,
    )


def extrude_twists(
    shape: Directional,
    directions: Vectors,
    triangles: Ints,
    midpoint: Midpoint,
    *,
    kinked: bool = False,
) -> Boundary:
    """Return the sheets of triangles at both ends of the twist, and the wall between them.

    `midpoint` and `kinked` are those of the boundary.
    """
    rim = rim_of(triangles)
    on_rim = np.unique(rim)
    low, high = shape.twist_range(directions[on_rim]).T
    widest = float(np.minimum(high - low, TURN).max(initial=0.0))
    rows = max(1, int(np.ceil(widest / MAX_ROW)))
    n = len(directions)
    flags = np.zeros(n)
    flags[on_rim] = 1.0
    place = np.zeros(n, dtype=np.int64)
    place[on_rim] = np.arange(len(on_rim))
    shares = np.linspace(0.0, 1.0, rows + 1)
    points = [_coordinates(directions, share, flags) for share in (0.0, 1.0)]
    points += [_coordinates(directions[on_rim], share, flags[on_rim]) for share in shares[1:-1]]
    ring = [on_rim, *(2 * n + k * len(on_rim) + np.arange(len(on_rim)) for k in range(rows - 1))]
    ring.append(on_rim + n)
    parts = [triangles[:, ::-1], triangles + n]
    for below, above in pairwise(ring):
        a, b = below[place[rim]].T
        d, c = above[place[rim]].T
        parts += [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]

    def placed(points: Floats) -> Points:
        low, high = shape.twist_range(points[:, :3]).T
        twist = low + points[:, SHARE] * np.minimum(high - low, TURN)
        return np.column_stack([points[:, :3], twist])

    return Boundary(
        np.concatenate(points),
        np.concatenate(parts),
        midpoint,
        placed,
        kinked,
    )


def _coordinates(directions: Vectors, share: float, flags: Scalars) -> Floats:
    return np.column_stack([directions, np.full(len(directions), share), flags])


def midpoint_on_arc(start: Floats, end: Floats) -> Floats:
    """Return midpoints of edges: directions on the great arc, means of the other columns."""
    middle = 0.5 * (start + end)
    middle[:, :3] /= np.linalg.norm(middle[:, :3], axis=1, keepdims=True)
    return middle


def _midpoint_on_rim(shape: Directional, start: Floats, end: Floats) -> Floats:
    """Return midpoints of edges; for edges on the rim, a point of the rim beside the midpoint.

    Where the rim bends inwards, a midpoint may be illegal; it moves to the nearest legal direction.
    """
    middle = midpoint_on_arc(start, end)
    apart = (start[:, :3] != end[:, :3]).any(axis=1)
    edges = np.flatnonzero((middle[:, ON_RIM] == 1.0) & apart)
    # All rows of a wall have the same directions: search once for each.
    here, across = middle[edges, :3], np.cross(start[edges, :3], end[edges, :3])
    _, first, number = np.unique(here @ HASH, return_index=True, return_inverse=True)
    middle[edges, :3] = _nearby_rim(shape, here[first], 0.5 * across[first])[number.ravel()]
    lost = np.flatnonzero(~shape.contains_direction(middle[:, :3]))
    if len(lost):
        twisted = np.column_stack([middle[lost, :3], shape.twist_range(middle[lost, :3])[:, 0]])
        middle[lost, :3] = shape.project(twisted)[:, :3]
    return middle


def _nearby_rim(shape: Directional, directions: Vectors, across: Vectors) -> Vectors:
    """Return points of the rim near directions (n, 3), or the directions if none is found.

    The rim is searched for on both sides, at multiples `ACROSS` of the vectors `across` (n, 3).
    """
    legal = shape.contains_direction(directions)
    beside = unit_vectors(directions[:, None] + ACROSS[:, None] * across[:, None])
    changed = shape.contains_direction(beside) != legal[:, None]
    found = np.flatnonzero(changed.any(axis=1))
    same, other = bisect(
        directions[found],
        beside[found, changed[found].argmax(axis=1)],
        lambda between: shape.contains_direction(between) != legal[found],
        RIM_HALVINGS,
        midpoint_on_sphere,
    )
    rim = np.array(directions)
    rim[found] = np.where(legal[found, None], same, other)
    return rim
