"""Boundaries of shapes of directions and twists: two sheets and a wall.

A boundary's points are a direction (3 numbers), a share of the way from the least to the greatest
twist there, and 1 on the rim of the legal directions, else 0.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from itertools import pairwise

import numpy as np

from ...arrays import TURN, Floats, Ints, Mask, Points, Scalars, Vectors, unit_vectors
from ..derived import DirectionalOffset, Offset
from ..directional import Directional
from ..reach_cone.cone import ReachCone
from ..reach_cone.star import polar
from ..tetrahedra import drop_degenerate
from ..theta_phi.grid import centres, edges, vectors_at
from ..theta_phi.table import ThetaPhi
from ..union import Union
from .boundary import check_detail, shape_boundary, shape_surface
from .triangles import (
    Boundary,
    Midpoint,
    Surface,
    cut_off,
    drop_unused_points,
    edges_of,
    midpoint_on_sphere,
    rim_of,
    split_edges,
    unit_sphere,
)

SHARE, ON_RIM = 3, 4  # columns of a boundary's points: share of the twist, and 1 on the rim
FREE = 1e-9  # radians below 2π up to which a range of twists is free
MAX_ROW = 0.5 * np.pi  # radians of twist from one row of triangles of a wall to the next
FIRST_DETAIL = 3  # halvings of the edges of an octahedron for the first directions
HALVINGS, DRAFT_HALVINGS = 36, 8  # bisection steps on edges where legal directions end
RIM_HALVINGS = 12  # bisection steps to the rim from beside it
ACROSS = np.outer([0.0625, 0.25, 1.0, 2.0], [1.0, -1.0]).ravel()
"""Offsets from the middle of an edge at which the rim is searched for, in half edge lengths."""
HASH = np.array([1.0, np.sqrt(2.0), np.sqrt(3.0)])  # maps different directions to different numbers
TABLE_DETAIL = 3  # up to which the cells of a table are not subdivided
MAX_RING = np.radians(30.0)  # angle from one ring of triangles of a reach cone to the next
INSIDE = 1e-9  # radians of depth from which a vertex is inside another part of a union
CELL_RING = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]
"""Corners of a cell and midpoints of its sides, in halves of rows and columns."""


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


@shape_boundary.register
def _(shape: Directional, detail: int = 1) -> Boundary:
    sphere = unit_sphere(FIRST_DETAIL + detail)
    return cut_boundary(shape, sphere.points, sphere.triangles, detail)


@shape_boundary.register
def _(shape: Union, detail: int = 1) -> Boundary:
    raise ValueError("a union has no boundary of its own: use those of its pieces")


@shape_boundary.register
def _(shape: DirectionalOffset, detail: int = 1) -> Boundary:
    # Where the nearest direction jumps between parts of the shape, the ends of twists jump too;
    # these steps have no triangles.
    kinked = any(shape_boundary(piece, 0).kinked for piece in pieces(shape.shape))
    sphere = unit_sphere(FIRST_DETAIL + detail + 1)
    return cut_boundary(shape, sphere.points, sphere.triangles, detail, kinked=kinked)


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
    cells = shape.legal
    legal = shape.contains_direction(centres(cells.shape) @ shape.frame)
    directions, triangles = _cell_triangles(cells, legal, detail)
    if np.linalg.det(shape.frame) < 0.0:  # a mirrored table has a left-handed frame
        triangles = triangles[:, ::-1]
    boundary = cut_boundary(shape, directions @ shape.frame, triangles, detail, kinked=True)
    for _ in range(detail - TABLE_DETAIL):
        boundary = boundary.halve()
    return boundary


@shape_boundary.register
def _(shape: ReachCone, detail: int = 1) -> Boundary:
    # Edges of the polygon are cut into 2ᵈᵉᵗᵃⁱˡ parts, on the straight lines between its points,
    # along which twist limits are linear.
    parts = 2**detail
    farthest = polar(shape.points, shape.visible)[1].max()
    rings = max(parts, int(np.ceil(farthest / MAX_RING)))
    directions, last_ring = _fan(shape, rings, parts)
    rim = np.stack([last_ring, np.roll(last_ring, -1)], axis=1)
    return extrude_twists(shape, directions, _fan_triangles(len(last_ring), rings), rim, parts)


def _fan(cone: ReachCone, rings: int, parts: int) -> tuple[Floats, Ints]:
    """Return the visible point followed by rings of directions, and the last ring's indices.

    Edges of the polygon are cut into `parts`.
    """
    along = np.arange(parts) / parts
    following = np.roll(cone.points, -1, axis=0)
    edge = cone.points[:, None] + along[:, None] * (following - cone.points)[:, None]
    rim: Floats = unit_vectors(edge.reshape(-1, 3))
    out = (np.arange(1, rings + 1) / rings)[:, None, None]
    # Rings follow meridians, so that those of a cone beyond a hemisphere stay on the sphere.
    cosine = rim @ cone.visible
    across: Floats = rim - cosine[:, None] * cone.visible
    angle = np.arctan2(np.linalg.norm(across, axis=1), cosine)[:, None]
    across = unit_vectors(across)
    rounds = np.cos(out * angle) * cone.visible + np.sin(out * angle) * across
    rounds[-1] = rim
    m = len(rim)
    corners = np.concatenate([cone.visible[None], rounds.reshape(-1, 3)])
    return corners, 1 + (rings - 1) * m + np.arange(m)


def _fan_triangles(m: int, rings: int) -> Ints:
    """Return the triangles between rings of `m` directions, counter-clockwise from outside."""
    i = np.arange(m)
    j = (i + 1) % m
    parts = [np.stack([np.zeros(m, dtype=np.int64), 1 + i, 1 + j], axis=1)]
    for ring in range(1, rings):
        inner, outer = 1 + (ring - 1) * m, 1 + ring * m
        parts.append(np.stack([inner + i, outer + i, outer + j], axis=1))
        parts.append(np.stack([inner + i, outer + j, inner + j], axis=1))
    return np.concatenate(parts)


def _cell_triangles(cells: Mask, legal: Mask, detail: int) -> tuple[Vectors, Ints]:
    """Return directions (n, 3) in the table's frame, and triangles around the centres of cells.

    Each cell has eight, because ranges of twists, interpolated between centres, bend at the lines
    through them. A `detail` of 0 gives four, or two for cells whose centre is `legal`.
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
    triangles = np.stack([centre, ring, np.roll(ring, -1, axis=1)], axis=-1)
    if detail == 0:
        plain = legal[row, column]
        halves = ring[plain][:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
        triangles = np.concatenate([halves, triangles[~plain].reshape(-1, 3)])
    triangles = triangles.reshape(-1, 3)
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
    shape: Directional, directions: Vectors, triangles: Ints, detail: int, *, kinked: bool = False
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
        rim_of(triangles),
        1,
        lambda start, end: _midpoint_on_rim(shape, start, end),
        kinked=kinked,
    )


def extrude_twists(
    shape: Directional,
    directions: Vectors,
    triangles: Ints,
    rim: Ints,
    rows: int,
    midpoint: Midpoint | None = None,
    *,
    kinked: bool = False,
) -> Boundary:
    """Return the sheets of triangles at both ends of the twist, and the wall between them.

    The wall stands on the edges `rim` (e, 2) and has at least `rows` rows of triangles. By default
    edges are great arcs.
    """
    on_rim = np.unique(rim)
    low, high = shape.twist_range(directions[on_rim]).T
    widest = float(np.minimum(high - low, TURN).max(initial=0.0))
    rows = max(rows, int(np.ceil(widest / MAX_ROW)))
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
        midpoint_on_arc if midpoint is None else midpoint,
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
    same, other = directions[found], beside[found, changed[found].argmax(axis=1)]
    for _ in range(RIM_HALVINGS):
        between = unit_vectors(same + other)
        still = (shape.contains_direction(between) == legal[found])[:, None]
        same, other = np.where(still, between, same), np.where(still, other, between)
    rim = np.array(directions)
    rim[found] = np.where(legal[found, None], same, other)
    return rim
