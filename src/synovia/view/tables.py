"""The boundary of a theta-phi table: its cells, and the strips and sectors that its margin adds.

Around the cells, each place within the margin belongs to the wall or the corner that is nearest to
it; so strips along walls and sectors about corners end at the margin, or where another is nearer.
They fill the margin without overlap, and what is drawn as its rim are the circles that bound it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints, Mask, Scalars, Vectors
from ..shapes import ThetaPhi
from ..shapes.table_grid import edges, vectors_at
from ..shapes.table_walls import runs_around
from .directions import raised
from .mesh import used
from .skins import Skin

PARTS = 4
"""Into which the edge of a cell is cut, to see how far its strip goes."""
SECTOR = float(np.radians(22.5))
"""Between the rays of a sector about a corner, in radians."""
CLEAR = 1e-8
HALVINGS = 30
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


def skin_of_table(table: ThetaPhi) -> Skin:
    """Return the boundary of a table; the rim is halved on the circles that it is made of."""
    directions, triangles, walls = _cells(table.legal)
    kept, faces = used(np.concatenate([triangles.ravel(), walls.ravel()]), len(directions))
    directions = directions[kept]
    triangles, walls = (
        part.reshape(-1, k)
        for part, k in zip(np.split(faces, [triangles.size]), (3, 2), strict=True)
    )
    circles = np.column_stack([np.broadcast_to(POLE, directions.shape), directions[:, 2]])
    flags = np.zeros(len(directions))
    rim = walls
    if table.margin > 0.0:
        parts = [_filled(table, rays) for rays in _rays(table)]
        counts = len(directions) + np.cumsum([0, *(len(part[0]) for part in parts)])
        rim = np.concatenate([p[2] + n for p, n in zip(parts, counts, strict=False)])
        triangles = np.concatenate(
            [triangles, *(p[1] + n for p, n in zip(parts, counts, strict=False))]
        )
        directions = np.concatenate([directions, *(p[0] for p in parts)])
        circles = np.concatenate([circles, *(p[3] for p in parts)])
        flags = np.zeros(len(directions))
    flags[rim] = 1.0
    circles[:, :3] = circles[:, :3] @ table.frame
    if np.linalg.det(table.frame) < 0.0:
        triangles, rim = triangles[:, ::-1], rim[:, ::-1]
    extra = np.column_stack([circles, flags])
    return raised(table, directions @ table.frame, triangles, rim, extra, _half_way)


def _half_way(start: Floats, end: Floats) -> Floats:
    """Return the middle of edges: of those on the rim, along the circle that they have in common.

    Coordinates are direction, share of the twist, axis and height of a circle, and the flag.
    """
    middle = 0.5 * (start + end)
    middle[:, :3] /= np.linalg.norm(middle[:, :3], axis=1, keepdims=True)
    same = np.abs(start[:, 4:8] - end[:, 4:8]).max(axis=1) < CLEAR
    along = np.flatnonzero(same & (middle[:, 8] == 1.0))
    middle[along, :3] = _on_circle(middle[along, :3], middle[along, 4:7], middle[along, 7:8])
    return middle


def _cells(legal: Mask) -> tuple[Vectors, Ints, Ints]:
    """Return directions in the table's frame, eight triangles for each cell, and the walls.

    Walls are edges (e, 2) with the legal cell on their left, half as long as a cell's side.
    """
    rows, columns = legal.shape
    phi, theta = edges((2 * rows, 2 * columns))
    directions = vectors_at(theta[:-1], phi[:, None]).reshape(-1, 3)
    number = np.arange((2 * rows + 1) * 2 * columns).reshape(2 * rows + 1, -1)
    number[0], number[-1] = number[0, 0], number[-1, 0]
    row, column = np.nonzero(legal)
    around = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]
    ring = np.stack(
        [number[2 * row + r, (2 * column + c) % (2 * columns)] for r, c in around], axis=1
    )
    centre = number[2 * row + 1, 2 * column + 1]
    following = np.roll(ring, -1, axis=1)
    triangles = np.stack([np.broadcast_to(centre[:, None], ring.shape), ring, following], axis=-1)
    beside = [(-1, 0), (0, 1), (1, 0), (0, -1)]
    walls = []
    for side, (r, c) in enumerate(beside):
        over = np.clip(row + r, 0, rows - 1), (column + c) % columns
        open_side = ~legal[over] & (row + r >= 0) & (row + r < rows)
        for k in (2 * side, 2 * side + 1):
            walls.append(np.stack([ring[open_side, k], following[open_side, k]], axis=1))
    faces = triangles.reshape(-1, 3)
    a, b, c = faces.T
    return directions, faces[(a != b) & (b != c) & (c != a)], np.concatenate(walls)


def _rays(table: ThetaPhi) -> list[Rays]:
    """Return the rays of all strips and of all sectors."""
    legal, margin = table.legal, table.margin
    phi, theta = edges(legal.shape)
    share = np.linspace(0.0, 1.0, PARTS + 1)
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
        level = phi[row + 1]
        at = theta[column, None] + share * (theta[column + 1] - theta[column])[:, None]
        if sign > 0.0:
            at = at[:, ::-1]
        start = vectors_at(at, level[:, None])
        north = vectors_at(at, level[:, None] + 0.5 * np.pi)
        axis = np.broadcast_to(POLE, (len(level), 3))
        strips.append(Rays(start, sign * north, axis, np.sin(level + sign * margin)))
    return [*strips, *_sectors(legal, margin)]


def _sectors(legal: Mask, margin: float) -> list[Rays]:
    """Return the rays about corners that stick out: all that are nearest to the corner."""
    phi, theta = edges(legal.shape)
    step = 2.0 * np.pi / legal.shape[1]
    corner, first, width = [], [], []
    for north in (False, True):
        for east in (False, True):
            # The cell with this corner is the only legal one of the four around it.
            cells = legal if north is False else legal[::-1]
            cells = cells if east is False else cells[:, ::-1]
            west = np.roll(cells, 1, axis=1)
            alone = cells[1:] & ~cells[:-1] & ~west[1:] & ~west[:-1]
            row, column = np.nonzero(alone)
            row = len(legal) - 1 - row if north else row + 1
            column = legal.shape[1] - column if east else column
            corner.append(np.stack([theta[column], phi[row]], axis=1))
            # Headings are angles from east over north; the south-western corner's are 180 … 270.
            turn = np.radians(
                {(0, 0): 180.0, (0, 1): 270.0, (1, 1): 0.0, (1, 0): 90.0}[north, east]
            )
            first.append(np.full(len(row), turn))
            width.append(np.full(len(row), 0.5 * np.pi))
    for south, cells in ((True, legal[0]), (False, legal[-1])):
        for begin, end in runs_around(~cells) if cells.any() else []:
            gap, at = (end - begin) * step, begin * step - np.pi
            if gap > np.pi:  # at a pole: from across the first wall to across the last
                corner.append(np.array([[0.0, -0.5 * np.pi if south else 0.5 * np.pi]]))
                first.append(np.array([np.pi - at - gap if south else at]))
                width.append(np.array([gap - np.pi]))
    place, begin, span = np.concatenate(corner), np.concatenate(first), np.concatenate(width)
    count = 1 + int(np.ceil(span.max(initial=0.0) / SECTOR))
    angle = begin[:, None] + np.linspace(0.0, 1.0, count) * span[:, None]
    at, level = place.T
    start = vectors_at(at, level)
    east, north = vectors_at(at + 0.5 * np.pi, 0.0 * at), vectors_at(at, level + 0.5 * np.pi)
    heading = np.cos(angle)[..., None] * east[:, None] + np.sin(angle)[..., None] * north[:, None]
    rays = np.broadcast_to(start[:, None], heading.shape)
    return [Rays(rays, heading, start, np.full(len(start), np.cos(margin)))]


def _filled(table: ThetaPhi, rays: Rays) -> tuple[Vectors, Ints, Ints, Floats]:
    """Return directions, triangles, edges of the rim, and circles, of what the rays sweep.

    Where the rim leaves off between two rays, because another strip is nearer, there is one more.
    """
    rows, count = rays.start.shape[:2]
    ends = _along(rays.start, rays.heading, table.margin)
    clear = _own(table, ends, table.margin)
    length = np.where(clear, table.margin, _lengths(table, rays, clear))
    tips = _along(rays.start, rays.heading, length[..., None])
    row, left = np.nonzero(clear[:, 1:] != clear[:, :-1])
    first_clear = clear[row, left]
    circle = rays.axis[row], rays.height[row, None]
    low, high = np.zeros(len(row)), np.ones(len(row))
    for _ in range(HALVINGS):
        share = 0.5 * (low + high)
        point = _on_circle(_mixed(ends, row, left, share), *circle)
        before = _own(table, point, table.margin) == first_clear
        low, high = np.where(before, share, low), np.where(before, high, share)
    share = np.where(first_clear, low, high)
    feet = _mixed(rays.start, row, left, share)
    feet /= np.linalg.norm(feet, axis=1, keepdims=True)
    last = _on_circle(_mixed(ends, row, left, share), *circle)
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


def _along(start: Vectors, heading: Vectors, length: Floats | float) -> Vectors:
    return np.asarray(np.cos(length) * start + np.sin(length) * heading)


def _mixed(points: Vectors, row: Ints, left: Ints, share: Scalars) -> Vectors:
    """Return points between neighbours of a row, on the straight line."""
    start, end = points[row, left], points[row, left + 1]
    return np.asarray(start + share[:, None] * (end - start))


def _on_circle(points: Vectors, axis: Vectors, height: Floats) -> Vectors:
    """Return unit vectors whose product with `axis` is `height`, nearest to the points."""
    across = points - np.sum(points * axis, axis=-1, keepdims=True) * axis
    across /= np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-300)
    return np.asarray(height * axis + np.sqrt(np.maximum(1.0 - height**2, 0.0)) * across)


def _own(table: ThetaPhi, directions: Vectors, length: Scalars | float) -> Mask:
    """Tell which ends of rays of this length have nothing legal that is nearer than their start."""
    points = np.zeros((*directions.shape[:-1], 4))
    points[..., :3] = directions @ table.frame
    return np.asarray(table._free.distance(points) + table.margin >= length - CLEAR)


def _lengths(table: ThetaPhi, rays: Rays, clear: Mask) -> Scalars:
    """Return how long rays are, in radians, until another strip is nearer; clear ones are 0."""
    start, heading = rays.start[~clear], rays.heading[~clear]
    low, high = np.zeros(len(start)), np.full(len(start), table.margin)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        own = _own(table, _along(start, heading, middle[:, None]), middle)
        low, high = np.where(own, middle, low), np.where(own, high, middle)
    lengths = np.zeros(clear.shape)
    lengths[~clear] = low
    return lengths
