"""A limit's boundary among rotations as triangles, and legal directions of two limits compared.

Vertices lie on the boundary as the limit computes it; edges are halved until the triangles do too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import ClassVar

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Ints, Mask, Points, Quats, Scalars, Vectors
from ..charts import Chart, DirectionTwist, RotationVector, SwingTwist
from ..limit import Limit
from ..limit.node_grid import NodeGrid
from ..shapes import Directional, Region, as_directional
from ..shapes.mesh import ON_RIM, SHARE, Boundary, Surface, free_ends, pieces, shape_boundary
from ..shapes.triangles import Hidden, cut_off, drop_unused_points, midpoint_on_sphere, rim_of
from .sheet import (
    TRIED_TWISTS,
    Sheet,
    legal_directions,
    on_silhouette,
    twist_about,
    visible_sheet,
)
from .triangles import (
    HALVINGS,
    Net,
    Quality,
    cut_net,
    cut_rim,
    join_surfaces,
    longest_sides,
    partly_hidden,
    refine_mesh,
    refine_where,
)

FINE = Quality(float(np.radians(0.06)), 160_000)
"""Resolution of lasting pictures in the page, which can be magnified."""
PRINT = Quality(float(np.radians(1.0)), 8_000)
"""Resolution of pictures on paper."""
DRAFT = Quality(float(np.radians(1.0)), 1_000, fine=False)
"""Resolution of pictures that are replaced at once, while something is dragged."""
COMPARED = Quality(float(np.radians(0.15)), 16_000)
"""Resolution of differences and maps; edges are at most 16 tolerances, 2.4 degrees."""
SAME_AXIS = 1e-6  # difference between components of equal unit vectors
MAP_DIVISIONS = 24  # of the edges of an octahedron, 3.75 degrees each, for maps without a limit
FINER = 3  # approximate ratio of triangles between levels 1 and 0 of `shape_boundary`
MIN_TRIANGLES = 128  # to start from; boundaries with fewer, such as flat faces, are subdivided
MAX_EDGE = 1.0  # radians; longer edges cross a discontinuity of the chart and are not drawn
OPPOSITE = float(np.cos(np.radians(8.0)))  # bones this close to -axis have no defined twist
FAR_SWING = 0.9 * np.pi  # radians; regions with less swing have no such bones
PROBE_DISTANCE = float(np.radians(0.05))  # radians beyond a triangle; legal there means covered
INSIDE = 1e-6  # radians of depth from which a point of a boundary is inside another part
FOLD_ROUNDS = 1  # additional halvings at silhouettes
STEP = 1e-3  # radians; short enough that the sign of the determinant is that at the reference


def boundary(limit: Limit, quality: Quality = FINE) -> Surface:
    """Return the boundary as rotation vectors from the reference, radians, facing outwards."""
    return sheet_and_boundary(limit, np.array([0.0, 0.0, 1.0]), quality)[1]


def sheet(limit: Limit, bone: Vectors, quality: Quality = FINE) -> Sheet:
    """Return the legal directions of `bone`, or of the limit's own axis if it has one."""
    return sheet_and_boundary(limit, bone, quality)[0]


def sheet_and_boundary(
    limit: Limit, bone: Vectors, quality: Quality = FINE
) -> tuple[Sheet, Surface]:
    """Return the legal directions of the bone, and the boundary among rotations.

    The boundary consists of rotation vectors from the reference, in radians, and faces outwards.
    """
    shape = as_directional(limit.region)
    if shape is None:
        return vector_meshes(limit, bone, quality)
    parts = pieces(shape)
    share = quality.max_triangles // (len(parts) + (len(parts) > 1))  # cuts add triangles
    part = replace(quality, max_triangles=share)
    drawn = [_piece_meshes(limit, shape, number, part) for number in range(len(parts))]
    directions, starts = join_surfaces([piece for piece, _, _ in drawn])
    rim = np.concatenate([edges + n for (_, edges, _), n in zip(drawn, starts, strict=True)])
    low, high = shape.twist_range(limit.chart.in_chart(directions.vertices)).T
    widths = np.minimum(high - low, TURN)
    whole, _ = join_surfaces([boundary for *_, boundary in drawn])
    return Sheet(directions, rim, widths, _axis(limit)), whole


def first_triangles(shape: Region, quality: Quality) -> Boundary:
    """Return the shape's boundary with at least `MIN_TRIANGLES` triangles."""
    first = shape_boundary(shape, 0)
    if quality.fine and FINER * len(first.triangles) < quality.max_triangles:
        first = shape_boundary(shape, 1)
    while 0 < len(first.triangles) < MIN_TRIANGLES:
        first = first.halve()
    return first


def vector_meshes(limit: Limit, bone: Vectors, quality: Quality) -> tuple[Sheet, Surface]:
    """Return as `sheet_and_boundary`, for `bone` whatever axis the limit has."""
    shape, chart = limit.region, limit.chart
    if shape.dimension != 3:  # sample the boundary among rotations instead
        shape, chart = RotationRegion(limit), RotationVector(chart.reference)
    first = first_triangles(shape, quality)

    def drawn(points: Floats) -> Floats:
        vectors = rotation_vectors(chart, first.place(points))
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
    triangles = net.triangles[:, ::-1] if is_left_handed(limit.chart) else net.triangles
    return visible_sheet(limit, bone, net, triangles, quality), seen


@dataclass(frozen=True, eq=False)
class RotationRegion(Region):
    """Rotation vectors of a limit's members, at most π from the reference."""

    limit: Limit

    name: ClassVar[str] = "rotations"
    charts: ClassVar[tuple[str, ...]] = (RotationVector.name,)
    bounds: ClassVar[Points] = np.array([[-np.pi] * 3, [np.pi] * 3])

    def distance(self, points: Points) -> Scalars:
        """Return the limit's distances; nothing beyond π is inside."""
        beyond = np.linalg.norm(points, axis=-1) - np.pi
        return np.asarray(np.maximum(self.limit.distance(_rotations(self.limit, points)), beyond))

    def project(self, points: Points) -> Points:
        """Return the rotation vectors of the limit's projections."""
        inside = (self.distance(points) <= 0.0)[..., None]
        legal = self.limit.project(_rotations(self.limit, points))
        vectors = RotationVector(self.limit.chart.reference).points(legal)
        return np.where(inside, points, vectors)


def _piece_meshes(
    limit: Limit, shape: Directional, number: int, quality: Quality
) -> tuple[Surface, Ints, Surface]:
    """Return the directions of one piece of the shape, their rim (e, 2), and its boundary."""
    parts = pieces(shape)
    piece, before, others = parts[number], parts[:number], parts[:number] + parts[number + 1 :]
    first = first_triangles(piece, quality)

    def drawn(points: Floats) -> Floats:
        placed = first.place(points)
        directions = limit.chart.in_joint(placed[:, :3])
        return np.concatenate([rotation_vectors(limit.chart, placed), directions], axis=1)

    def hidden(points: Floats) -> Mask:
        return np.asarray(limit.region.distance(first.place(points)) < -INSIDE)

    shared, earlier = _within_any(others), _within_any(before)
    net = refine_mesh(first, drawn, quality, _torn_test(limit))
    if others:
        net = refine_where(net, first.midpoint, drawn, partly_hidden(hidden), quality)
        net = refine_where(net, first.midpoint, drawn, partly_hidden(shared), quality)
    at_top = (net.points[:, SHARE] == 1.0)[net.triangles].all(axis=1)
    top = net._replace(triangles=net.triangles[at_top])
    rim = rim_of(top.triangles)
    rim = rim[(net.points[rim, ON_RIM] == 1.0).all(axis=1)]
    net = net._replace(triangles=net.triangles[~free_ends(piece, net.points, net.triangles)])
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


def _within_any(parts: Sequence[Directional]) -> Hidden:
    """Return a test for points of a boundary whose direction is inside one of the pieces."""

    def within(points: Floats) -> Mask:
        inside = [piece.contains_direction(points[:, :3]) for piece in parts]
        return np.asarray(np.any(inside, axis=0))

    return within


def _seen_triangles(limit: Limit, net: Net, *, covered: bool) -> Surface:
    """Return the visible part of a boundary; if `covered`, parts may lie inside the region."""
    triangles = _drop_torn(limit, net.places, net.triangles)
    if is_left_handed(limit.chart):
        triangles = triangles[:, ::-1]
    vectors = net.places[:, :3]
    return Surface(vectors, _drop_covered(limit, vectors, triangles) if covered else triangles)


def overlaps_itself(limit: Limit) -> bool:
    """Return True if a region of vectors reaches half a turn, so that it may overlap itself."""
    vectors = isinstance(limit.chart, RotationVector | SwingTwist)
    return vectors and not limit.chart.is_injective(limit.region)


def _rotations(limit: Limit, vectors: Points) -> Quats:
    return quat.mul(limit.chart.reference, quat.exp(vectors))


def _axis(limit: Limit) -> Vectors:
    """Return the direction of the chart's bone in the joint's frame; z if it has none."""
    bone = limit.chart.bone
    return np.array([0.0, 0.0, 1.0]) if bone is None else bone


def _torn_test(limit: Limit) -> Callable[[Floats], Mask]:
    """Return a test for places whose bone points close to -axis, where twist is undefined."""
    axis = _axis(limit)
    if as_directional(limit.region) is not None:
        return lambda places: np.asarray(places[:, 3:] @ axis < -OPPOSITE)
    if hasattr(limit.chart, "axis") and limit.region.reach((0, 1)) > FAR_SWING:
        return lambda places: np.asarray(
            quat.rotate(quat.exp(places[:, :3]), axis) @ axis < -OPPOSITE
        )
    return lambda places: np.zeros(len(places), dtype=bool)


def _drop_torn(limit: Limit, places: Floats, triangles: Ints) -> Ints:
    """Return the triangles that do not cross a discontinuity of the chart."""
    vectors, torn = places[:, :3], _torn_test(limit)(places)
    farthest = float(np.einsum("ij,ij->i", vectors, vectors).max(initial=0.0)) ** 0.5
    if not torn.any() and farthest <= tear_length(limit.chart) - MAX_EDGE:
        return triangles
    longest = longest_sides(vectors, triangles)
    return triangles[(longest < MAX_EDGE) & ~torn[triangles].any(axis=1)]


def _drop_covered(limit: Limit, vectors: Points, triangles: Ints) -> Ints:
    """Return the triangles whose outer side is outside the region."""
    a, b, c = vectors[triangles].swapaxes(0, 1)
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    beyond = (a + b + c) / 3.0 + PROBE_DISTANCE * normal
    return triangles[~limit.contains(_rotations(limit, beyond))]


_COORDINATES = {
    "rotation-vector": ("about x", "about y", "about z"),
    "swing-twist": ("swing x", "swing y", "twist"),
    "direction-twist": ("towards x", "towards y", "towards z", "twist"),
    "euler": ("φ", "ψ", "θ"),
    "hinges": ("1st hinge", "2nd hinge", "3rd hinge"),
}


def coordinate_names(chart: Chart | type[Chart]) -> tuple[str, ...]:
    """Return the names of a chart's coordinates, for people."""
    return _COORDINATES.get(chart.name, ("1st angle", "2nd angle", "3rd angle"))


def is_left_handed(chart: Chart) -> bool:
    """Tell whether outward triangles in the chart face inwards among rotation vectors."""
    if chart.dimension != 3:
        return False
    origin = chart.points(chart.reference)
    vectors = rotation_vectors(chart, origin + STEP * np.eye(3))
    return bool(np.linalg.det(vectors) < 0.0)


@singledispatch
def rotation_vectors(chart: Chart, points: Points) -> Vectors:
    """Return points (n, d) as rotation vectors (n, 3) from the reference, in radians.

    They are in the joint's frame, and continue beyond half a turn where the chart does, so that a
    region is not torn.
    """
    return quat.log(quat.mul(quat.inverse(chart.reference), chart.rotations(points)))


@rotation_vectors.register
def _(chart: RotationVector, points: Points) -> Vectors:
    return chart.in_joint(points)


@rotation_vectors.register
def _(chart: SwingTwist, points: Points) -> Vectors:
    x, y = quat.rotate(chart.swing_frame, np.eye(3)[:2])
    swing = quat.exp(points[:, :1] * x + points[:, 1:2] * y)
    twist = quat.exp(points[:, 2:] * chart.in_joint(chart.axis))
    return quat.log_unrolled(quat.mul(swing, twist))


@rotation_vectors.register
def _(chart: DirectionTwist, points: Points) -> Vectors:
    swing, twist = quat.between(chart.axis, points[:, :3]), quat.exp(points[:, 3:] * chart.axis)
    return chart.in_joint(quat.log_unrolled(quat.mul(swing, twist)))


def tear_length(chart: Chart) -> float:
    """Return the length of `rotation_vectors`, in radians, where neighbours may be far apart."""
    if isinstance(chart, RotationVector):
        return np.inf
    return TURN if isinstance(chart, SwingTwist | DirectionTwist) else np.pi


@dataclass(frozen=True, eq=False)
class SheetDifference:
    """Directions of a bone under two limits, relative to the reference of the new one."""

    mesh: Surface
    """Unit directions; each triangle is legal under both limits, or under one of them only."""
    gained: Scalars
    """(v,): share of the twists legal under either limit that only the new one allows."""
    lost: Scalars
    """(v,): likewise for the old one."""
    old_rim: tuple[Vectors, Ints]
    """Border of the old limit's directions: points (v, 3), and edges (e, 2) between them."""


def sheet_difference(
    old: Limit, new: Limit, bone: Vectors, quality: Quality = COMPARED
) -> SheetDifference:
    """Return the directions of the bone that are legal under both limits or one of them.

    For limits of directions, their axis replaces `bone`. Twists are sampled every 5 degrees.
    """
    ours = sheet(new, bone, quality)
    axis = ours.axis
    theirs = _sheet_about(old, axis, quality)
    turn = quat.mul(quat.inverse(new.chart.reference), old.chart.reference)
    directions = quat.rotate(turn, theirs.mesh.vertices)

    def by_new(each: Vectors) -> Mask:
        return legal_directions(new, each, axis, quality)

    def by_old(each: Vectors) -> Mask:
        return legal_directions(old, quat.rotate(quat.inverse(turn), each), axis, quality)

    mesh = refine_directions(ours.mesh, quality)
    known = by_old(mesh.vertices)
    both = _part(mesh, lambda each: ~by_old(each), ~known)
    added = _part(mesh, by_old, known)
    gone = _part(refine_directions(Surface(directions, theirs.mesh.triangles), quality), by_new)
    gained, lost = _twist_shares(old, new, axis, both.vertices)
    more, less = np.ones(len(added.vertices)), np.ones(len(gone.vertices))
    return SheetDifference(
        join_surfaces([both, added, gone])[0],
        gained=np.concatenate([gained, more, 0.0 * less]),
        lost=np.concatenate([lost, 0.0 * more, less]),
        old_rim=(directions, theirs.rim),
    )


def _sheet_about(limit: Limit, axis: Vectors, quality: Quality) -> Sheet:
    """Return the legal directions of `axis`, even if the limit has another axis."""
    own = sheet(limit, axis, quality)
    if np.abs(own.axis - axis).max() < SAME_AXIS:
        return own
    return vector_meshes(limit, axis, quality)[0]


def refine_directions(mesh: Surface, quality: Quality) -> Surface:
    """Return a mesh of directions with small triangles, so that no border is missed."""
    net = Net(mesh.vertices, mesh.triangles, mesh.vertices)
    points, faces, _ = refine_where(
        net,
        midpoint_on_sphere,
        np.asarray,
        lambda each: np.ones(len(each.triangles), bool),
        quality,
    )
    return Surface(points, faces)


def _part(mesh: Surface, hidden: Callable[[Vectors], Mask], mask: Mask | None = None) -> Surface:
    """Return the part of a mesh of directions that is not hidden, cut along the border.

    `mask` are the hidden vertices, if known.
    """
    points, cut = cut_off(mesh.vertices, mesh.triangles, midpoint_on_sphere, hidden, HALVINGS, mask)
    kept, faces = drop_unused_points(cut, len(points))
    return Surface(points[kept], faces)


def _twist_shares(
    old: Limit, new: Limit, axis: Vectors, directions: Vectors
) -> tuple[Scalars, Scalars]:
    """Return the shares of legal twists that only the new limit has, and only the old one."""
    swings = quat.mul(new.chart.reference, quat.between(axis, directions))
    twisted = twist_about(swings, axis, TRIED_TWISTS[:, None])
    was, now = old.contains(twisted), new.contains(twisted)
    either = np.maximum((was | now).sum(axis=0), 1)
    return (now & ~was).sum(axis=0) / either, (was & ~now).sum(axis=0) / either


def map_sheet(limit: Limit | None, bone: Vectors) -> tuple[Surface, Vectors, Vectors]:
    """Return a mesh over the legal directions of a bone, its rim, and the bone.

    Directions are relative to the limit's reference. The rim (2e, 3) has the ends of edges in
    pairs. For limits of directions, their axis replaces the bone (3,). Without a limit all
    directions are legal, and there is no rim.
    """
    if limit is None:
        grid = NodeGrid(3, MAP_DIVISIONS)
        return Surface(grid.nodes, grid.simplices), np.zeros((0, 3)), bone
    whole = sheet(limit, bone)
    mesh = refine_directions(whole.mesh, COMPARED)
    return mesh, whole.mesh.vertices[whole.rim.reshape(-1)], whole.axis
