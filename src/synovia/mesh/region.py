"""A limit's boundary among rotations as triangles, and the share of rotations it encloses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Ints, Mask, Points, Quats, Scalars, Vectors
from ..charts import RotationVector
from ..limit import Limit
from ..shapes import Directional, Region, Surface
from ..shapes.boundary import Boundary, Hidden, drop_unused_points, rim_of
from ..shapes.directional import ON_RIM, SHARE
from .sheet import Sheet, on_silhouette, searched_sheet, visible_sheet
from .triangles import (
    Net,
    Quality,
    cut_net,
    cut_rim,
    longest_sides,
    partly_hidden,
    refine_mesh,
    refine_where,
)

# What is drawn of a limit: its boundary among rotations, and the directions it allows.
#
# Both come from the code that decides: corners of triangles lie on the boundary, and edges are
# halved until the flat triangles do, too. While somebody drags, a `DRAFT` is soon drawn; `FINE` is
# to stay.

FINE = Quality(float(np.radians(0.06)), 160_000)
"""A picture to keep."""
PRINT = Quality(float(np.radians(1.0)), 8_000)
"""A picture on paper, which has no lens."""
DRAFT = Quality(float(np.radians(1.0)), 1_000, fine=False)
"""A picture that the next one replaces at once."""
FINER = 3
"""About how many times the triangles of a coarse boundary a fine one has."""
FEWEST_TRIANGLES = 128
"""Where a shape gives fewer, as for flat faces, all edges are halved at once."""
LONGEST_EDGE = 1.0
"""Edges that stay longer than this, in radians, cross where rotations are torn: not drawn."""
OPPOSITE = float(np.cos(np.radians(8.0)))
"""How nearly opposite its axis a bone points where twists are too torn to be drawn, as a cosine."""
FAR_SWING = 0.9 * np.pi
"""Regions that swing no farther, in radians, have no such places."""
PROBE_DISTANCE = float(np.radians(0.05))
"""How far beyond a triangle, in radians, it is asked whether the region goes on there."""
INSIDE = 1e-6
FOLD_ROUNDS = 1
"""How often edges are halved once more where a boundary turns away from us."""


def boundary(limit: Limit, quality: Quality = FINE) -> Surface:
    """Return the boundary as rotation vectors from the reference, in radians, facing outwards."""
    return sheet_and_boundary(limit, np.array([0.0, 0.0, 1.0]), quality)[1]


def sheet(limit: Limit, bone: Vectors, quality: Quality = FINE) -> Sheet:
    """Return where the bone may point: by its own axis for families of directions, else `bone`."""
    return sheet_and_boundary(limit, bone, quality)[0]


def sheet_and_boundary(
    limit: Limit, bone: Vectors, quality: Quality = FINE
) -> tuple[Sheet, Surface]:
    """Return where the bone may point, and the boundary among rotations.

    The latter has rotation vectors from the reference, in radians, and faces outwards.
    """
    shape = limit.shape.directional
    if shape is None:
        return vector_meshes(limit, bone, quality)
    pieces = shape.pieces
    share = quality.max_triangles // (len(pieces) + (len(pieces) > 1))  # cuts make some more
    part = replace(quality, max_triangles=share)
    drawn = [_piece_meshes(limit, shape, number, part) for number in range(len(pieces))]
    directions, faces, rim = _stack(
        [(each.vertices, each.triangles, rim) for each, rim, _ in drawn]
    )
    low, high = shape.twist_range(limit.chart.in_chart(directions)).T
    widths = np.minimum(high - low, TURN)
    whole = _stack([(mesh.vertices, mesh.triangles, mesh.triangles) for *_, mesh in drawn])
    return Sheet(Surface(directions, faces), rim, widths, _axis(limit)), Surface(*whole[:2])


def first_triangles(shape: Region, quality: Quality) -> Boundary:
    """Return the boundary that the shape gives, with the triangles that a picture starts from."""
    first = shape.boundary(0)
    if quality.fine and FINER * len(first.triangles) < quality.max_triangles:
        first = shape.boundary(1)
    while 0 < len(first.triangles) < FEWEST_TRIANGLES:
        first = first.halve()
    return first


def vector_meshes(limit: Limit, bone: Vectors, quality: Quality) -> tuple[Sheet, Surface]:
    """Return as `sheet_and_boundary` does, about this bone, whatever axis the family has."""
    shape, chart = limit.shape, limit.chart
    if shape.dimension != 3:  # nobody knows its boundary: it is looked for among rotations
        shape, chart = RotationRegion(limit), RotationVector(chart.reference)
    first = first_triangles(shape, quality)

    def drawn(points: Floats) -> Floats:
        vectors = chart.vectors(first.place(points))
        return np.concatenate([vectors, quat.rotate(quat.exp(vectors), bone)], axis=1)

    net = refine_mesh(first, drawn, quality, _torn_test(limit))
    if quality.fine:
        net = refine_where(
            net,
            first.midpoint,
            drawn,
            lambda each: on_silhouette(each, quality.tolerance),
            quality,
            FOLD_ROUNDS,
        )
    whole = net
    if overlaps_itself(limit):

        def hidden(points: Floats) -> Mask:
            rotations = chart.rotations(first.place(points))
            return np.asarray(limit.distance(rotations) < -INSIDE)

        whole = refine_where(net, first.midpoint, drawn, partly_hidden(hidden), quality)
        whole = cut_net(whole, first.midpoint, drawn, hidden, quality)
    seen = _seen_triangles(limit, whole, covered=overlaps_itself(limit))
    inner = limit.shape.offset_from
    if inner is not None and inner[0].directional is not None:  # its edges and folds are too many
        return searched_sheet(limit, bone, quality), seen
    triangles = net.triangles[:, ::-1] if limit.chart.left_handed else net.triangles
    return visible_sheet(limit, bone, net, triangles, quality), seen


@dataclass(frozen=True, eq=False)
class RotationRegion(Region):
    """The rotation vectors, up to half a turn from the reference, of what a limit allows."""

    limit: Limit

    name: ClassVar[str] = "rotations"
    charts: ClassVar[tuple[str, ...]] = (RotationVector.name,)
    bounds: ClassVar[Points] = np.array([[-np.pi] * 3, [np.pi] * 3])

    def distance(self, points: Points) -> Scalars:
        """Return the limit's distances; beyond half a turn nothing is inside."""
        beyond = np.linalg.norm(points, axis=-1) - np.pi
        return np.asarray(np.maximum(self.limit.distance(_rotations(self.limit, points)), beyond))

    def project(self, points: Points) -> Points:
        """Return the limit's nearest rotations, as vectors."""
        inside = (self.distance(points) <= 0.0)[..., None]
        legal = self.limit.project(_rotations(self.limit, points))
        vectors = RotationVector(self.limit.chart.reference).points(legal)
        return np.where(inside, points, vectors)


def _piece_meshes(
    limit: Limit, shape: Directional, number: int, quality: Quality
) -> tuple[Surface, Ints, Surface]:
    """Return the directions of a piece of the shape, their rim, and the piece's boundary."""
    piece = shape.pieces[number]
    before, others = shape.pieces[:number], shape.pieces[:number] + shape.pieces[number + 1 :]
    first = first_triangles(piece, quality)

    def drawn(points: Floats) -> Floats:
        placed = first.place(points)
        directions = limit.chart.in_joint(placed[:, :3])
        return np.concatenate([limit.chart.vectors(placed), directions], axis=1)

    def hidden(points: Floats) -> Mask:
        return np.asarray(limit.shape.distance(first.place(points)) < -INSIDE)

    shared, earlier = _within_any(others), _within_any(before)
    net = refine_mesh(first, drawn, quality, _torn_test(limit))
    if others:
        net = refine_where(net, first.midpoint, drawn, partly_hidden(hidden), quality)
        net = refine_where(net, first.midpoint, drawn, partly_hidden(shared), quality)
    at_top = (net.points[:, SHARE] == 1.0)[net.triangles].all(axis=1)
    top = net._replace(triangles=net.triangles[at_top])
    rim = rim_of(top.triangles)
    rim = rim[(net.points[rim, ON_RIM] == 1.0).all(axis=1)]
    net = net._replace(triangles=net.triangles[~piece.free_ends(net.points, net.triangles)])
    if others:
        top, rim = cut_rim(top, rim, first.midpoint, drawn, shared, quality)
        net = cut_net(net, first.midpoint, drawn, hidden, quality)
    if before:
        top = cut_net(top, first.midpoint, drawn, earlier, quality)
    kept, numbered = drop_unused_points(
        np.concatenate([top.triangles.ravel(), rim.ravel()]), len(top.points)
    )
    faces, rim = np.split(numbered, [top.triangles.size])
    directions = Surface(top.places[kept, 3:], faces.reshape(-1, 3))
    seen = _seen_triangles(limit, net, covered=bool(others) and quality.fine)
    return directions, rim.reshape(-1, 2), seen


def _within_any(pieces: Sequence[Directional]) -> Hidden:
    """Return what tells which points of a boundary have a direction that one of the pieces has."""

    def within(points: Floats) -> Mask:
        inside = [piece.contains_direction(points[:, :3]) for piece in pieces]
        return np.asarray(np.any(inside, axis=0))

    return within


def _seen_triangles(limit: Limit, net: Net, *, covered: bool) -> Surface:
    """Return what is seen of a boundary among rotations; some of it may be `covered`."""
    triangles = _drop_torn(limit, net.places, net.triangles)
    if limit.chart.left_handed:
        triangles = triangles[:, ::-1]
    vectors = net.places[:, :3]
    return Surface(vectors, _drop_covered(limit, vectors, triangles) if covered else triangles)


def overlaps_itself(limit: Limit) -> bool:
    """Tell whether a region of vectors may reach round to where it is already."""
    if not limit.chart.winds:
        return False
    return limit.shape.reach(limit.chart.winds) >= np.pi or limit.shape.reach((2,)) >= np.pi


def _rotations(limit: Limit, vectors: Points) -> Quats:
    return quat.mul(limit.chart.reference, quat.exp(vectors))


def _axis(limit: Limit) -> Vectors:
    """Return the bone's direction in the joint's own frame, of a chart about one; else z."""
    bone = limit.chart.bone
    return np.array([0.0, 0.0, 1.0]) if bone is None else bone


def _torn_test(limit: Limit) -> Callable[[Floats], Mask]:
    """Return what tells which rotation vectors have the bone point almost against its axis.

    There the twist is not defined.
    """
    axis = _axis(limit)
    if limit.shape.directional is not None:
        return lambda places: np.asarray(places[:, 3:] @ axis < -OPPOSITE)
    if hasattr(limit.chart, "axis") and limit.shape.reach((0, 1)) > FAR_SWING:
        return lambda places: np.asarray(
            quat.rotate(quat.exp(places[:, :3]), axis) @ axis < -OPPOSITE
        )
    return lambda places: np.zeros(len(places), dtype=bool)


def _drop_torn(limit: Limit, places: Floats, triangles: Ints) -> Ints:
    """Return the triangles that are not torn, where the chart has places that tear."""
    vectors, torn = places[:, :3], _torn_test(limit)(places)
    farthest = float(np.einsum("ij,ij->i", vectors, vectors).max(initial=0.0)) ** 0.5
    if not torn.any() and farthest <= limit.chart.torn_at - LONGEST_EDGE:
        return triangles
    longest = longest_sides(vectors, triangles)
    return triangles[(longest < LONGEST_EDGE) & ~torn[triangles].any(axis=1)]


def _drop_covered(limit: Limit, vectors: Points, triangles: Ints) -> Ints:
    """Return the triangles beyond which the region does not go on."""
    a, b, c = vectors[triangles].swapaxes(0, 1)
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    beyond = (a + b + c) / 3.0 + PROBE_DISTANCE * normal
    return triangles[~limit.contains(_rotations(limit, beyond))]


def _stack(parts: list[tuple[Floats, Ints, Ints]]) -> tuple[Floats, Ints, Ints]:
    """Return the vertices of all parts, and two tables of their numbers."""
    counts = np.cumsum([0, *(len(vertices) for vertices, *_ in parts)])
    numbered = list(zip(parts, counts, strict=False))
    return (
        np.concatenate([vertices for vertices, *_ in parts]),
        np.concatenate([first + n for (_, first, _), n in numbered]),
        np.concatenate([second + n for (*_, second), n in numbered]),
    )


# What share of all rotations a limit allows: as exact as its picture is fine.


SAMPLES, DRAFT_SAMPLES = 4000, 500
"""Rotations to find the share with, and for a draft."""
SMALL_ANGLE = 1e-2
"""Radians within which (r − sin r)/r³ is as good as at 0, and has more digits."""
TOTAL_VOLUME = 8.0 * np.pi**2
"""The volume of all directions with all twists."""


def share_of(limit: Limit, directions: Sheet, boundary: Surface, quality: Quality) -> float:
    """Return the share of all rotations that is legal, in [0, 1].

    Drafts have no time for what takes long to integrate: to a percent or so, it comes from what is
    drawn, unless that is torn or overlaps itself.
    """
    if quality.fine:
        return limit.volume(SAMPLES)
    if limit.shape.directional is not None:
        widths = directions.widths[directions.mesh.triangles].mean(axis=1)
        return float(_areas(directions.mesh) @ widths) / TOTAL_VOLUME
    closed = len(rim_of(boundary.triangles)) == 0  # no triangle was torn, and left out
    if closed and not overlaps_itself(limit):
        return _enclosed_share(boundary)
    return limit.volume(DRAFT_SAMPLES)


def _enclosed_share(boundary: Surface) -> float:
    """Return the share of all rotations inside a closed boundary of rotation vectors.

    Of these a volume dV holds dV (1 − cos r)/(4π²r²), which is the divergence of v (r − sin r) over
    4π²r³: so the share is what flows through the triangles. On each, v · n is the same everywhere.
    """
    a, b, c = boundary.vertices[boundary.triangles].swapaxes(0, 1)
    sides = 0.5 * np.stack([a + b, b + c, c + a])
    r = np.maximum(np.sqrt(np.einsum("kij,kij->ki", sides, sides)), SMALL_ANGLE)
    flow = ((r - np.sin(r)) / r**3).mean(axis=0)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)) @ flow) / TOTAL_VOLUME


def _areas(mesh: Surface) -> Scalars:
    """Return the areas of triangles on the unit sphere."""
    a, b, c = mesh.vertices[mesh.triangles].swapaxes(0, 1)
    product = np.einsum("ij,ij->i", a, np.cross(b, c))
    dots = np.einsum("ij,ij->i", a, b) + np.einsum("ij,ij->i", b, c) + np.einsum("ij,ij->i", c, a)
    return np.asarray(2.0 * np.abs(np.arctan2(product, 1.0 + dots)))
