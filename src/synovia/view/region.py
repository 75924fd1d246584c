"""What the page draws of a limit: its boundary among rotations, and the directions it allows.

Both come from the code that decides: corners of triangles lie on the boundary, and edges are halved
until the flat triangles do, to within `FLAT`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Mask, Points, Quats, Scalars, Vectors
from ..charts import DirectionTwist, EulerZYZ, RotationVector
from ..limit import Limit
from ..shapes import Directional, ReachCone, Shape, ThetaPhi, Union
from .mesh import refined, rim_of

FLAT = float(np.radians(0.07))
"""How far the middle of an edge may be from the boundary, in radians."""
FOLD = 0.5 * FLAT
"""The same for directions, where a rounded region folds over at its rim."""
ASIDE = float(np.radians(0.1))
"""How far beside an edge of the rim directions are asked whether they are legal, in radians."""
TWISTS = np.radians([*np.geomspace(0.02, 10.0, 40), *np.arange(11.0, 180.0, 2.0)])
"""Twists to either side that are tried there, in radians: the nearer, the denser."""
TORN = 1.0
"""Edges that stay longer than this, in radians, cross where rotations are torn: not drawn."""
DETAIL = 2
FINER = 3  # of tables, so that the centres of cells are corners: between them twists are even
STEP = float(np.radians(5.0))
"""How far apart the rings of a wall are in twist, in radians."""
SETTLINGS = 4
NUDGE = 1e-6
BENT = float(np.radians(1.0))
"""The most that a table's rim is away from the line between two of its points, in radians."""
STRIDE, HALVINGS = float(np.radians(3.0)), 4
"""How twists are searched for their end: by strides, in radians, of which the last is halved."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles (t, 3) between vertices (v, 3)."""

    vertices: Points
    triangles: Ints


@dataclass(frozen=True, eq=False)
class Sheet:
    """The directions that a bone may point in, from the limit's reference, with how far it twists.

    `widths` are ranges of twist at the vertices, in radians.
    """

    mesh: Mesh
    rim: Ints
    """Edges (e, 2) where the legal directions end."""
    widths: Scalars
    axis: Vectors
    """What points there: a direction in the joint's own frame."""


def boundary(limit: Limit) -> Mesh:
    """Return the boundary as rotation vectors from the reference, in radians, facing outwards."""
    shape = limit.shape
    if isinstance(shape, Union):
        parts = [replace(limit, shape=part) for part in shape.parts]
        return _joined([_exposed(boundary(part), part, parts) for part in parts])
    if isinstance(shape, Directional):
        points, triangles = _lifted(limit)
    else:
        points, triangles = _refined(limit, lambda each: vectors_of(limit, each), FLAT)
    vectors = vectors_of(limit, points)
    if not isinstance(limit.chart, RotationVector):
        corners = vectors[triangles]
        longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(axis=1)
        triangles = triangles[longest < TORN]
    if isinstance(limit.chart, EulerZYZ):
        triangles = triangles[:, ::-1]  # these angles are a left-handed map
    return Mesh(vectors, triangles)


def _refined(limit: Limit, drawn: Callable[[Points], Points], flat: float) -> tuple[Points, Ints]:
    """Return points of the chart and triangles on the boundary, as flat as wanted when drawn."""
    shape = limit.shape
    surface = shape.surface(DETAIL)

    def middle(start: Points, end: Points) -> Points:
        return settled(shape, shape.toward(start, end, np.full(len(start), 0.5)))

    return refined(surface.vertices, surface.triangles.astype(np.int64), middle, drawn, flat)


def vectors_of(limit: Limit, points: Points) -> Points:
    """Return points of the limit's chart as rotation vectors (n, 3) from its reference.

    They go on beyond half a turn, so that a region that does is not torn; only Euler angles, which
    know no such thing, are folded.
    """
    local = quat.mul(quat.inverse(limit.chart.reference), limit.chart.rotations(points))
    return quat.log(local) if isinstance(limit.chart, EulerZYZ) else quat.log_unrolled(local)


def settled(shape: Shape, points: Points) -> Points:
    """Return points near the boundary brought onto it, along its normal."""
    points = points.copy()
    for _ in range(SETTLINGS):
        depth = shape.distance(points)
        off = np.abs(depth) > 0.1 * FLAT
        if not off.any():
            break
        points[off] -= depth[off, None] * shape.normal(points[off])
    return points


def sheet(limit: Limit, bone: Vectors) -> Sheet:
    """Return where the bone may point: by its own axis for families of directions, else `bone`."""
    if isinstance(limit.chart, DirectionTwist):
        mesh, low, high = _directions(limit)
        rim = rim_of(mesh.triangles)
        if isinstance(limit.shape, Union):
            rim = parting(mesh.vertices, rim, limit.shape.contains_direction)
        return Sheet(mesh, rim, np.minimum(high - low, 2.0 * np.pi), limit.chart.axis)

    def drawn(points: Points) -> Vectors:
        return quat.rotate(quat.exp(vectors_of(limit, points)), bone)

    points, triangles = _refined(limit, drawn, FOLD)
    directions = drawn(points)
    # Of the two sides of the region, seen along the twist, the one that faces us.
    a, b, c = np.moveaxis(directions[triangles], 1, 0)
    facing = np.sum(a * np.cross(b, c), axis=-1) > 0.0
    numbers, faces = np.unique(triangles[facing], return_inverse=True)
    mesh = Mesh(directions[numbers], faces.reshape(-1, 3))
    rotations = limit.chart.rotations(points[numbers])
    rim = rim_of(mesh.triangles)
    near = quat.mul(quat.inverse(limit.chart.reference), rotations[rim[:, 0]])

    def legal(places: Vectors) -> Mask:
        return _legal_near(limit, near, places, bone)

    rim = parting(mesh.vertices, rim, legal)
    return Sheet(mesh, rim, _twist_widths(limit, rotations, bone), bone)


def parting(directions: Vectors, rim: Ints, legal: Callable[[Vectors], Mask]) -> Ints:
    """Return the edges of `rim` that part legal directions, on their left, from others.

    Where triangles fold over, or parts of a union overlap, there are edges that part nothing.
    """
    start, end = directions[rim[:, 0]], directions[rim[:, 1]]
    middle, across = 0.5 * (start + end), np.cross(end - start, start + end)
    across *= ASIDE / np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-300)
    right, left = (
        legal(each / np.linalg.norm(each, axis=-1, keepdims=True))
        for each in (middle + across, middle - across)
    )
    return np.concatenate([rim[left & ~right], rim[right & ~left][:, ::-1]])


def _legal_near(limit: Limit, near: Quats, directions: Vectors, bone: Vectors) -> Mask:
    """Tell whether the bone may point in each direction; twists about that of `near` are densest.

    `near` and directions are seen from the reference.
    """
    away = quat.mul(quat.between(quat.rotate(near, bone), directions), near)
    turns = quat.exp(np.concatenate([-TWISTS, [0.0], TWISTS])[:, None] * bone)
    tried = quat.mul(quat.mul(limit.chart.reference, away)[:, None], turns)
    return np.asarray(limit.contains(tried).any(axis=1))


def _twist_widths(limit: Limit, rotations: Quats, bone: Vectors) -> Scalars:
    """Return how far rotations on the boundary may twist about the bone, in radians.

    To about a degree, which no colour can show.
    """
    widths = np.zeros(len(rotations))
    for sign in (-1.0, 1.0):
        start = quat.mul(rotations, quat.exp(sign * NUDGE * bone))
        reached, going = np.zeros(len(start)), np.arange(len(start))
        while len(going) and reached[going[0]] < 2.0 * np.pi:
            turns = quat.exp(sign * (reached[going] + STRIDE)[:, None] * bone)
            going = going[limit.contains(quat.mul(start[going], turns))]
            reached[going] += STRIDE
        for halving in range(1, HALVINGS + 1):
            ahead = reached + STRIDE * 0.5**halving
            legal = limit.contains(quat.mul(start, quat.exp(sign * ahead[:, None] * bone)))
            reached = np.where(legal, ahead, reached)
        widths = np.maximum(widths, np.minimum(reached, 2.0 * np.pi))
    return widths


def _lifted(limit: Limit) -> tuple[Points, Ints]:
    """Return the sheet of directions at either end of the twist, and the wall between them."""
    mesh, low, high = _directions(limit)
    high = np.minimum(high, low + 2.0 * np.pi)
    n = len(mesh.vertices)
    ended = mesh.triangles[~(high - low >= 2.0 * np.pi)[mesh.triangles].any(axis=1)]
    rim = rim_of(mesh.triangles)
    on_rim = np.unique(rim)
    levels = 1 + int(np.ceil((high - low)[on_rim].max(initial=0.0) / STEP))
    place = np.zeros(n, dtype=np.int64)
    place[on_rim] = np.arange(len(on_rim))
    rings = [
        np.column_stack([mesh.vertices, low]),
        np.column_stack([mesh.vertices, high]),
        *(
            np.column_stack([mesh.vertices, low + share * (high - low)])[on_rim]
            for share in np.linspace(0.0, 1.0, levels + 1)
        ),
    ]
    parts = [ended[:, ::-1], ended + n]
    for level in range(levels):
        below = 2 * n + level * len(on_rim) + place[rim]
        above = below + len(on_rim)
        a, b, c, d = below[:, 0], below[:, 1], above[:, 1], above[:, 0]
        parts += [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]
    return np.concatenate(rings), np.concatenate(parts)


def _directions(limit: Limit) -> tuple[Mesh, Scalars, Scalars]:
    """Return the legal directions as triangles, with the ends of the twist at their corners."""
    shape = limit.shape
    if not isinstance(shape, Directional):
        raise ValueError(f"a shape of directions is needed, got {shape.name}")
    surface = _level(shape).surface(FINER if isinstance(shape, ThetaPhi) else DETAIL)
    top = (surface.vertices[:, 3] > 0.999)[surface.triangles.astype(np.int64)].all(axis=1)
    numbers, triangles = np.unique(surface.triangles[top], return_inverse=True)

    def middle(start: Vectors, end: Vectors) -> Vectors:
        half_way = (start + end) / np.linalg.norm(start + end, axis=-1, keepdims=True)
        return _on_rim(shape, start, end, half_way) if isinstance(shape, ThetaPhi) else half_way

    def drawn(directions: Vectors) -> Floats:
        low, high = np.moveaxis(shape.twist_range(directions), -1, 0)
        high = np.minimum(high, low + 2.0 * np.pi)
        ends = [np.column_stack([directions, end]) for end in (low, high)]
        return np.concatenate([directions, *(vectors_of(limit, end) for end in ends)], axis=1)

    directions, faces = refined(
        surface.vertices[numbers, :3], triangles.reshape(-1, 3), middle, drawn, FLAT
    )
    low, high = np.moveaxis(shape.twist_range(directions), -1, 0)
    return Mesh(directions, faces), low, high


def _on_rim(table: ThetaPhi, start: Vectors, end: Vectors, half_way: Vectors) -> Vectors:
    """Return directions half way, those between two on the rim brought onto it: it is bent there.

    The rim of a reach cone is made of great circles, and needs none of this.
    """
    wide = replace(table, low=np.full_like(table.low, -3.0), high=np.full_like(table.high, 3.0))

    def depth(directions: Vectors) -> tuple[Points, Scalars]:
        points = np.column_stack([directions, np.zeros(len(directions))])
        return points, wide.distance(points)

    points, off = depth(half_way)
    rim = (np.abs(off) < BENT) & (np.abs(depth(start)[1]) < NUDGE) & (np.abs(depth(end)[1]) < NUDGE)
    moved = settled(wide, points[rim])[:, :3]
    half_way[rim] = moved / np.linalg.norm(moved, axis=-1, keepdims=True)
    return half_way


def _level(shape: Directional) -> ReachCone | ThetaPhi | Union:
    """Return the shape with a twist from 0 to 1 everywhere, whose upper sheet is all directions."""
    if isinstance(shape, ReachCone):
        zeros, ones = np.zeros_like(shape.low), np.ones_like(shape.high)
        return replace(shape, low=zeros, high=ones, visible_low=0.0, visible_high=1.0)
    if isinstance(shape, ThetaPhi):
        return replace(shape, low=np.zeros_like(shape.low), high=np.ones_like(shape.high))
    if isinstance(shape, Union):
        return Union(tuple(_level(part) for part in shape.parts))  # type: ignore[misc]
    raise ValueError(f"no picture of directions for {shape.name}")


def _exposed(mesh: Mesh, part: Limit, parts: list[Limit]) -> Mesh:
    """Return the triangles of a part's boundary that are not inside another part."""
    middles = quat.exp(mesh.vertices[mesh.triangles].mean(axis=1))
    rotations = quat.mul(part.chart.reference, middles)
    hidden = np.zeros(len(middles), dtype=bool)
    for other in parts:
        if other is not part:
            hidden |= other.distance(rotations) < -FLAT
    return Mesh(mesh.vertices, mesh.triangles[~hidden])


def _joined(meshes: list[Mesh]) -> Mesh:
    counts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.triangles + n for mesh, n in zip(meshes, counts, strict=False)]),
    )
