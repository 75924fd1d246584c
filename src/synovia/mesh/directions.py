"""The boundary of a shape of directions: legal directions at either end of the twist, and a wall.

Its own coordinates are a direction (3 numbers), the share of the way from the least to the
greatest twist there, and last 1 where the legal directions end, else 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ..arrays import TURN, Floats, Ints, Mask, Scalars, Vectors
from ..shapes import Directional, ReachCone, ThetaPhi
from ..shapes.theta_phi.grid import edges, vectors_at
from ..shapes.theta_phi.packing import runs_around
from .mesh import Finish, Middle, drop_unused_points
from .vectors import BoundaryMesh

WIDEST_TRIANGLE = float(np.radians(30.0))
"""Of the first triangles of a cone, and of its wall's first rows, in radians."""
HIGHEST_DRAFT_ROW = float(np.radians(75.0))
"""Of the rows of a wall in a draft, in radians."""


def cone_boundary(cone: ReachCone, finish: Finish) -> BoundaryMesh:
    """Return the boundary of a cone; edges are arcs of great circles, and are halved on them."""
    directions, triangles, rim = _fan(cone)
    flags = np.zeros(len(directions))
    flags[rim] = 1.0
    return extrude_twists(cone, directions, triangles, rim, flags[:, None], _midpoint, finish)


def extrude_twists(
    shape: Directional,
    directions: Vectors,
    triangles: Ints,
    rim: Ints,
    extra: Floats,
    middle: Middle,
    finish: Finish,
) -> BoundaryMesh:
    """Return legal directions at both ends of the twist, with the wall over the edges of `rim`.

    `extra` are coordinates that directions have besides, for `middle`; 1 on the rim is the last.
    """
    on_rim = np.unique(rim)
    low, high = shape.twist_range(directions[on_rim]).T
    widest = float(np.minimum(high - low, TURN).max(initial=0.0))
    rows = max(1, int(np.ceil(widest / (WIDEST_TRIANGLE if finish.careful else HIGHEST_DRAFT_ROW))))
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

    return BoundaryMesh(np.concatenate(points), np.concatenate(parts), middle, placed)


def _coordinates(directions: Vectors, share: float, extra: Floats) -> Floats:
    return np.column_stack([directions, np.full(len(directions), share), extra])


def _midpoint(start: Floats, end: Floats) -> Floats:
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
    rings = max(1, int(np.ceil(angle.max() / WIDEST_TRIANGLE)))
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


# The boundary of a theta-phi table: its cells, and the strips and sectors that its margin adds.
#
# Around the cells, each place within the margin belongs to the wall or the corner that is nearest
# to it; so strips along walls and sectors about corners end at the margin, or where another is
# nearer. They fill the margin without overlap, and what is drawn as its rim are the circles that
# bound it.


PARTS, DRAFT_PARTS = 4, 1
"""Into which strips along the edge of a cell, and sectors, are cut; for a draft fewer."""
CLEARANCE = 1e-8
HALVINGS, DRAFT_HALVINGS = 18, 4
"""How often it is halved where they end; for a draft less often."""
POLE = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Rays:
    """Arcs (..., 3) that go from the cells outwards: where they start, and which way.

    Rows of them are neighbours: strips, or sectors. Their ends are on the circle of all
    directions whose product with `axis` (rows, 3) is `height` (rows,).
    """

    start: Vectors
    heading: Vectors
    axis: Vectors
    height: Scalars


def table_boundary(table: ThetaPhi, finish: Finish) -> BoundaryMesh:
    """Return the boundary of a table; the rim is halved on the circles that it is made of."""
    directions, triangles, walls = _cells(
        table.legal, 2 if finish.careful or table.margin == 0.0 else 1
    )
    kept, faces = drop_unused_points(
        np.concatenate([triangles.ravel(), walls.ravel()]), len(directions)
    )
    directions = directions[kept]
    triangles, walls = (
        part.reshape(-1, k)
        for part, k in zip(np.split(faces, [triangles.size]), (3, 2), strict=True)
    )
    circles = np.column_stack([np.broadcast_to(POLE, directions.shape), directions[:, 2]])
    flags = np.zeros(len(directions))
    rim = walls
    if table.margin > 0.0:
        n = len(directions)
        parts, halvings = (PARTS, HALVINGS) if finish.careful else (DRAFT_PARTS, DRAFT_HALVINGS)
        around, faces, rim, of_rim = _fill_margin(table, _rays(table, parts), halvings)
        directions, circles = (
            np.concatenate([directions, around]),
            np.concatenate([circles, of_rim]),
        )
        triangles, rim = np.concatenate([triangles, faces + n]), rim + n
        flags = np.zeros(len(directions))
    flags[rim] = 1.0
    circles[:, :3] = circles[:, :3] @ table.frame
    if np.linalg.det(table.frame) < 0.0:
        triangles, rim = triangles[:, ::-1], rim[:, ::-1]
    extra = np.column_stack([circles, flags])
    return extrude_twists(
        table, directions @ table.frame, triangles, rim, extra, _midpoint_on_rim, finish
    )


def _midpoint_on_rim(start: Floats, end: Floats) -> Floats:
    """Return the middle of edges: of those on the rim, along the circle that they have in common.

    Coordinates are direction, share of the twist, axis and height of a circle, and the flag.
    """
    middle = 0.5 * (start + end)
    middle[:, :3] /= np.linalg.norm(middle[:, :3], axis=1, keepdims=True)
    same = np.abs(start[:, 4:8] - end[:, 4:8]).max(axis=1) < CLEARANCE
    along = np.flatnonzero(same & (middle[:, 8] == 1.0))
    middle[along, :3] = _project_to_circle(
        middle[along, :3], middle[along, 4:7], middle[along, 7:8]
    )
    return middle


def _cells(legal: Mask, parts: int) -> tuple[Vectors, Ints, Ints]:
    """Return directions in the table's frame, triangles of each cell, and walls.

    The sides of cells are cut into so many parts; with more than one, triangles meet at the centre.
    Walls are edges (e, 2) with the legal cell on their left.
    """
    rows, columns = legal.shape
    directions, number = _corners(rows, columns)
    row, column = np.nonzero(legal)
    around = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)][:: 2 // parts]
    ring = np.stack(
        [number[2 * row + r, (2 * column + c) % (2 * columns)] for r, c in around], axis=1
    )
    following = np.roll(ring, -1, axis=1)
    if parts > 1:
        centre = np.broadcast_to(number[2 * row + 1, 2 * column + 1, None], ring.shape)
        triangles = np.stack([centre, ring, following], axis=-1)
    else:
        triangles = ring[:, [[0, 1, 2], [0, 2, 3]]]
    walls = []
    for side, (r, c) in enumerate([(-1, 0), (0, 1), (1, 0), (0, -1)]):
        over = np.clip(row + r, 0, rows - 1), (column + c) % columns
        open_side = ~legal[over] & (row + r >= 0) & (row + r < rows)
        for k in range(parts * side, parts * (side + 1)):
            walls.append(np.stack([ring[open_side, k], following[open_side, k]], axis=1))
    faces = triangles.reshape(-1, 3)
    first, second, third = faces.T
    apart = (first != second) & (second != third) & (third != first)
    return directions, faces[apart], np.concatenate(walls)


@lru_cache(maxsize=4)
def _corners(rows: int, columns: int) -> tuple[Vectors, Ints]:
    """Return corners, middles of sides and centres of all cells, and the number of each.

    All of a pole have one number. Kept, as the pictures of one drag need the same.
    """
    phi, theta = edges((2 * rows, 2 * columns))
    directions = vectors_at(theta[:-1], phi[:, None]).reshape(-1, 3)
    number = np.arange((2 * rows + 1) * 2 * columns).reshape(2 * rows + 1, -1)
    number[0], number[-1] = number[0, 0], number[-1, 0]
    directions.flags.writeable = number.flags.writeable = False
    return directions, number


def _rays(table: ThetaPhi, parts: int) -> Rays:
    """Return the rays of all strips and of all sectors."""
    legal, margin = table.legal, table.margin
    phi, theta = edges(legal.shape)
    share = np.linspace(0.0, 1.0, parts + 1)
    strips = []
    for sign in (1.0, -1.0):  # legal to the west of a meridian, or to the east
        row, column = np.nonzero(legal & ~np.roll(legal, -int(sign), axis=1))
        at = theta[column + 1] if sign > 0.0 else theta[column]
        level = phi[row, None] + share[:: int(sign)] * (phi[row + 1] - phi[row])[:, None]
        outward = sign * np.stack([-np.sin(at), np.cos(at), 0.0 * at], axis=-1)
        heading = np.broadcast_to(outward[:, None], (*level.shape, 3))
        height = np.full(len(at), np.sin(margin))
        strips.append(Rays(vectors_at(at[:, None], level), heading, outward, height))
    for sign in (1.0, -1.0):  # legal to the south of a parallel, or to the north
        below, above = legal[:-1], legal[1:]
        row, column = np.nonzero(below & ~above if sign > 0.0 else above & ~below)
        along = theta[column, None] + share[:: -int(sign)] * (theta[1] - theta[0])
        wall = phi[row + 1, None]
        start, north = vectors_at(along, wall), vectors_at(along, wall + 0.5 * np.pi)
        axis = np.broadcast_to(POLE, (len(row), 3))
        strips.append(Rays(start, sign * north, axis, np.sin(wall[:, 0] + sign * margin)))
    every = [*strips, _sectors(legal, margin, parts)]
    return Rays(
        np.concatenate([each.start for each in every]),
        np.concatenate([each.heading for each in every]),
        np.concatenate([each.axis for each in every]),
        np.concatenate([each.height for each in every]),
    )


def _sectors(legal: Mask, margin: float, parts: int) -> Rays:
    """Return the rays about corners that stick out: all that are nearest to the corner."""
    phi, theta = edges(legal.shape)
    step = TURN / legal.shape[1]
    # About each node the cells to its north-east, north-west, south-west and south-east: of a
    # corner that sticks out one alone is legal. Headings are angles from east over north.
    west = np.roll(legal, 1, axis=1)
    around = np.stack([legal[1:], west[1:], west[:-1], legal[:-1]])
    which, row, column = np.nonzero(around & (around.sum(axis=0) == 1))
    corner = [np.stack([theta[column], phi[row + 1]], axis=1)]
    first, width = [0.5 * np.pi * ((which + 2) % 4)], [np.full(len(row), 0.5 * np.pi)]
    for end, begin, beyond in zip(*runs_around(~legal[[0, -1]]), strict=True):
        gap, at = (beyond - begin) * step, begin * step - np.pi
        if np.pi < gap < TURN - 0.5 * step:  # at a pole: from across the first wall to the last
            corner.append(np.array([[0.0, -0.5 * np.pi if end == 0 else 0.5 * np.pi]]))
            first.append(np.array([np.pi - at - gap if end == 0 else at]))
            width.append(np.array([gap - np.pi]))
    share = np.linspace(0.0, 1.0, parts + 1)
    angle = np.concatenate(first)[:, None] + share * np.concatenate(width)[:, None]
    longitude, latitude = np.concatenate(corner).T
    start = vectors_at(longitude, latitude)
    across = vectors_at(longitude + 0.5 * np.pi, np.zeros_like(latitude))[:, None]
    upward = vectors_at(longitude, latitude + 0.5 * np.pi)[:, None]
    heading = np.cos(angle)[..., None] * across + np.sin(angle)[..., None] * upward
    rays = np.broadcast_to(start[:, None], heading.shape)
    return Rays(rays, heading, start, np.full(len(start), np.cos(margin)))


def _fill_margin(table: ThetaPhi, rays: Rays, halvings: int) -> tuple[Vectors, Ints, Ints, Floats]:
    """Return directions, triangles, edges of the rim, and circles, of what the rays sweep.

    Where the rim leaves off between two rays, because another strip is nearer, there is one more.
    """
    rows, count = rays.start.shape[:2]
    ends = _point_on_arc(rays.start, rays.heading, table.margin)
    clear = _nearest_is_start(table, ends, table.margin)
    length = np.where(clear, table.margin, _lengths(table, rays, clear, halvings))
    tips = _point_on_arc(rays.start, rays.heading, length[..., None])
    row, left = np.nonzero(clear[:, 1:] != clear[:, :-1])
    first_clear = clear[row, left]
    circle = rays.axis[row], rays.height[row, None]
    low, high = np.zeros(len(row)), np.ones(len(row))
    for _ in range(halvings):
        share = 0.5 * (low + high)
        point = _project_to_circle(_interpolate(ends, row, left, share), *circle)
        before = _nearest_is_start(table, point, table.margin) == first_clear
        low, high = np.where(before, share, low), np.where(before, high, share)
    share = np.where(first_clear, low, high)
    feet = _interpolate(rays.start, row, left, share)
    feet /= np.linalg.norm(feet, axis=1, keepdims=True)
    last = _project_to_circle(_interpolate(ends, row, left, share), *circle)
    n = rows * count
    directions = np.concatenate([rays.start.reshape(-1, 3), tips.reshape(-1, 3), feet, last])
    number = np.arange(n).reshape(rows, count)
    whole = clear[:, 1:] == clear[:, :-1]
    here, there = number[:, :-1][whole], number[:, 1:][whole]
    extra, begin = 2 * n + np.arange(len(row)), number[row, left]
    foot = np.concatenate([np.stack([here, there]), [begin, extra], [extra, begin + 1]], axis=1)
    tip = foot + np.where(foot < n, n, len(row))
    a, b, c, d = foot[0], tip[0], tip[1], foot[1]
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    at_rim = np.concatenate([clear[:, 1:][whole], first_clear, ~first_clear])
    owner = np.concatenate([np.repeat(np.arange(rows), count)] * 2 + [row, row])
    circles = np.column_stack([rays.axis[owner], rays.height[owner]])
    return directions, triangles, np.stack([b, c], axis=1)[at_rim], circles


def _point_on_arc(start: Vectors, heading: Vectors, length: Floats | float) -> Vectors:
    return np.asarray(np.cos(length) * start + np.sin(length) * heading)


def _interpolate(points: Vectors, row: Ints, left: Ints, share: Scalars) -> Vectors:
    """Return points between neighbours of a row, on the straight line."""
    start, end = points[row, left], points[row, left + 1]
    return np.asarray(start + share[:, None] * (end - start))


def _project_to_circle(points: Vectors, axis: Vectors, height: Floats) -> Vectors:
    """Return unit vectors whose product with `axis` is `height`, nearest to the points."""
    across = points - np.sum(points * axis, axis=-1, keepdims=True) * axis
    across /= np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-300)
    return np.asarray(height * axis + np.sqrt(np.maximum(1.0 - height**2, 0.0)) * across)


def _nearest_is_start(table: ThetaPhi, directions: Vectors, length: Scalars | float) -> Mask:
    """Tell which ends of rays of this length have nothing legal that is nearer than their start."""
    return np.asarray(table._beyond(directions) + table.margin >= length - CLEARANCE)


def _lengths(table: ThetaPhi, rays: Rays, clear: Mask, halvings: int) -> Scalars:
    """Return how long rays are, in radians, until another strip is nearer; clear ones are 0."""
    start, heading = rays.start[~clear], rays.heading[~clear]
    low, high = np.zeros(len(start)), np.full(len(start), table.margin)
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        own = _nearest_is_start(table, _point_on_arc(start, heading, middle[:, None]), middle)
        low, high = np.where(own, middle, low), np.where(own, high, middle)
    lengths = np.zeros(clear.shape)
    lengths[~clear] = low
    return lengths
