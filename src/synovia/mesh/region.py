"""What the page draws of a limit: its boundary among rotations, and the directions it allows.

Both come from the code that decides: corners of triangles lie on the boundary, and edges are halved
until the flat triangles do, too. While somebody drags, a `DRAFT` is soon drawn; `FINE` is to stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Ints, Mask, Points, Quats, Scalars, Vectors
from ..charts import DirectionTwist, EulerZYZ, RotationVector, SwingTwist
from ..limit import Limit
from ..shapes import Directional, DistanceField, ReachCone, ThetaPhi, Union
from ..shapes.convex import Polytope
from ..shapes.distance_field.extent import volume_of
from ..shapes.theta_phi.extent import volume
from ..shapes.theta_phi.packing import reachable_cells
from .directions import cone_boundary, table_boundary
from .mesh import (
    Finish,
    Mesh,
    Net,
    cut_edges,
    cut_off,
    drop_unused_points,
    longest_sides,
    partly_hidden,
    refine_mesh,
    refine_where,
    rim_of,
)
from .sheets import Sheet, on_silhouette, visible_sheet
from .vectors import field_boundary, vector_boundary, vectors_of

FINE = Finish(float(np.radians(0.06)), 160_000)
"""A picture to keep."""
DRAFT = Finish(float(np.radians(1.0)), 1_000, careful=False)
"""A picture that the next one replaces at once."""
LONGEST_EDGE = 1.0
"""Edges that stay longer than this, in radians, cross where rotations are torn: not drawn."""
OPPOSITE = float(np.cos(np.radians(8.0)))
"""How nearly opposite its axis a bone points where twists are too torn to be drawn, as a cosine."""
PROBE_DISTANCE = float(np.radians(0.05))
"""How far beyond a triangle, in radians, it is asked whether the region goes on there."""
INSIDE = 1e-6
FREE = 1e-9
FOLD_ROUNDS = 1
"""How often edges are halved once more where a boundary turns away from us."""


def boundary(limit: Limit, finish: Finish = FINE) -> Mesh:
    """Return the boundary as rotation vectors from the reference, in radians, facing outwards."""
    return sheet_and_boundary(limit, np.array([0.0, 0.0, 1.0]), finish)[1]


def sheet(limit: Limit, bone: Vectors, finish: Finish = FINE) -> Sheet:
    """Return where the bone may point: by its own axis for families of directions, else `bone`."""
    return sheet_and_boundary(limit, bone, finish)[0]


def sheet_and_boundary(limit: Limit, bone: Vectors, finish: Finish = FINE) -> tuple[Sheet, Mesh]:
    """Return where the bone may point, and the boundary among rotations.

    The latter has rotation vectors from the reference, in radians, and faces outwards.
    """
    shape = limit.shape
    if not (isinstance(shape, Directional) and isinstance(limit.chart, DirectionTwist)):
        return _vector_meshes(limit, bone, finish)
    parts = shape.parts if isinstance(shape, Union) else (shape,)
    most = finish.most // (len(parts) + (len(parts) > 1))  # cuts make some more
    share = replace(finish, most=most)
    drawn = [_part_meshes(limit, number, parts, share) for number in range(len(parts))]
    directions, faces, rim = _stack(
        [(each.vertices, each.triangles, rim) for each, rim, _ in drawn]
    )
    low, high = shape.twist_range(directions).T
    widths = np.minimum(high - low, TURN)
    whole = _stack([(mesh.vertices, mesh.triangles, mesh.triangles) for *_, mesh in drawn])
    return Sheet(Mesh(directions, faces), rim, widths, limit.chart.axis), Mesh(*whole[:2])


def _vector_meshes(limit: Limit, bone: Vectors, finish: Finish) -> tuple[Sheet, Mesh]:
    shape = limit.shape
    skin = (
        field_boundary(shape, finish)
        if isinstance(shape, DistanceField)
        else vector_boundary(shape)
    )

    def drawn(points: Floats) -> Floats:
        vectors = vectors_of(limit.chart, skin.placed(points))
        return np.concatenate([vectors, quat.rotate(quat.exp(vectors), bone)], axis=1)

    net = refine_mesh(skin.points, skin.triangles, skin.middle, drawn, finish, _torn_test(limit))
    if finish.careful:
        net = refine_where(
            net,
            skin.middle,
            drawn,
            lambda each: on_silhouette(each, finish.flat),
            finish,
            FOLD_ROUNDS,
        )
    whole = net
    if overlaps_itself(limit):

        def hidden(points: Floats) -> Mask:
            rotations = limit.chart.rotations(skin.placed(points))
            return np.asarray(limit.distance(rotations) < -INSIDE)

        whole = refine_where(net, skin.middle, drawn, partly_hidden(hidden), finish)
        whole = cut_off(whole, skin.middle, drawn, hidden, finish)
    mesh = _mesh(limit, whole, finish)
    triangles = net.triangles
    if isinstance(limit.chart, EulerZYZ):
        triangles = triangles[:, ::-1]
    return visible_sheet(limit, bone, net, triangles, finish), mesh


def _part_meshes(
    limit: Limit, number: int, parts: tuple[ReachCone | ThetaPhi, ...], finish: Finish
) -> tuple[Mesh, Ints, Mesh]:
    """Return the directions of a part, their rim, and the part's boundary."""
    part, others = parts[number], (*parts[:number], *parts[number + 1 :])
    skin = (
        table_boundary(part, finish) if isinstance(part, ThetaPhi) else cone_boundary(part, finish)
    )

    def drawn(points: Floats) -> Floats:
        placed = skin.placed(points)
        return np.concatenate([vectors_of(limit.chart, placed), placed[:, :3]], axis=1)

    def shared(points: Floats) -> Mask:
        inside = [other.contains_direction(points[:, :3]) for other in others]
        return np.asarray(np.any(inside, axis=0))

    def hidden(points: Floats) -> Mask:
        return np.asarray(limit.shape.distance(skin.placed(points)) < -INSIDE)

    def earlier(points: Floats) -> Mask:
        inside = [other.contains_direction(points[:, :3]) for other in parts[:number]]
        return np.asarray(np.any(inside, axis=0))

    net = refine_mesh(
        skin.points,
        skin.triangles,
        skin.middle,
        drawn,
        finish,
        _torn_test(limit),
        kinked=isinstance(part, ThetaPhi),
    )
    if others:
        net = refine_where(net, skin.middle, drawn, partly_hidden(hidden), finish)
        net = refine_where(net, skin.middle, drawn, partly_hidden(shared), finish)
    at_end = (net.points[:, 3] == 1.0) | (net.points[:, 3] == 0.0)
    top = net._replace(
        triangles=net.triangles[(net.points[:, 3] == 1.0)[net.triangles].all(axis=1)]
    )
    rim = rim_of(top.triangles)
    rim = rim[(net.points[rim, -1] == 1.0).all(axis=1)]
    if (part.high - part.low).max() >= TURN - FREE:
        low, high = part.twist_range(net.places[:, 3:]).T
        free = (high - low >= TURN - FREE)[net.triangles].any(axis=1)
        net = net._replace(triangles=net.triangles[~(free & at_end[net.triangles].all(axis=1))])
    if others:
        top, rim = cut_edges(top, rim, skin.middle, drawn, shared, finish)
        net = cut_off(net, skin.middle, drawn, hidden, finish)
    if number:
        top = cut_off(top, skin.middle, drawn, earlier, finish)
    kept, numbered = drop_unused_points(
        np.concatenate([top.triangles.ravel(), rim.ravel()]), len(top.points)
    )
    faces, rim = np.split(numbered, [top.triangles.size])
    directions = Mesh(top.places[kept, 3:], faces.reshape(-1, 3))
    return directions, rim.reshape(-1, 2), _mesh(limit, net, finish)


def _mesh(limit: Limit, net: Net, finish: Finish) -> Mesh:
    """Return what is seen of a boundary among rotations."""
    triangles = _drop_torn(limit, net.places, net.triangles)
    if isinstance(limit.chart, EulerZYZ):
        triangles = triangles[:, ::-1]  # these angles are a left-handed map
    vectors = net.places[:, :3]
    if (isinstance(limit.shape, Union) and finish.careful) or overlaps_itself(limit):
        triangles = _drop_covered(limit, vectors, triangles)
    return Mesh(vectors, triangles)


def overlaps_itself(limit: Limit) -> bool:
    """Tell whether a region of vectors may reach round to where it is already."""
    if isinstance(limit.chart, EulerZYZ | DirectionTwist):
        return False
    return limit.shape.reach(limit.chart.winds) >= np.pi or limit.shape.reach((2,)) >= np.pi


def _rotations(limit: Limit, vectors: Points) -> Quats:
    return quat.mul(limit.chart.reference, quat.exp(vectors))


def _torn_test(limit: Limit) -> Callable[[Floats], Mask]:
    """Return what tells which rotation vectors have the bone point almost against its axis.

    There the twist is not defined.
    """
    chart = limit.chart
    if isinstance(chart, DirectionTwist):
        return lambda places: np.asarray(places[:, 3:] @ chart.axis < -OPPOSITE)
    if isinstance(chart, SwingTwist) and limit.shape.reach((0, 1)) > 0.9 * np.pi:
        return lambda places: np.asarray(
            quat.rotate(quat.exp(places[:, :3]), chart.axis) @ chart.axis < -OPPOSITE
        )
    return lambda places: np.zeros(len(places), dtype=bool)


def _drop_torn(limit: Limit, places: Floats, triangles: Ints) -> Ints:
    """Return the triangles that are not torn, where the chart has places that tear."""
    vectors, torn = places[:, :3], _torn_test(limit)(places)
    farthest = float(np.einsum("ij,ij->i", vectors, vectors).max(initial=0.0)) ** 0.5
    fold = np.pi if isinstance(limit.chart, EulerZYZ) else TURN
    if isinstance(limit.chart, RotationVector) or not (
        torn.any() or farthest > fold - LONGEST_EDGE
    ):
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
NODES = 10_000
"""Directions that a table's volume is integrated over for a draft."""
SMALL_ANGLE = 1e-2
"""Radians within which (r − sin r)/r³ is as good as at 0, and has more digits."""
TOTAL_VOLUME = 8.0 * np.pi**2
"""The volume of all directions with all twists."""


def share_of(limit: Limit, directions: Sheet, boundary: Mesh, finish: Finish) -> float:
    """Return the share of all rotations that is legal, in [0, 1].

    Drafts have no time for what takes long to integrate: to a percent or so, it comes from what is
    drawn, or from few nodes and lines.
    """
    shape = limit.shape
    if finish.careful:
        return limit.volume(SAMPLES)
    if isinstance(shape, ThetaPhi):
        cells = reachable_cells(shape.legal, shape.margin)
        return volume(shape._beyond, shape._twists, cells, NODES) / TOTAL_VOLUME
    if isinstance(shape, Directional):
        widths = directions.widths[directions.mesh.triangles].mean(axis=1)
        return float(_areas(directions.mesh) @ widths) / TOTAL_VOLUME
    if isinstance(shape, DistanceField) and shape.reach(limit.chart.winds) < np.pi:
        return _share_of_field(limit, shape)
    if isinstance(shape, Polytope) and not overlaps_itself(limit) and _is_closed(boundary):
        return _enclosed_share(boundary)
    return limit.volume(DRAFT_SAMPLES)


def _is_closed(mesh: Mesh) -> bool:
    """Tell whether every edge has a triangle on either side: none was torn, and left out."""
    return len(rim_of(mesh.triangles)) == 0


def _enclosed_share(boundary: Mesh) -> float:
    """Return the share of all rotations inside a closed boundary of rotation vectors.

    Of these a volume dV holds dV (1 − cos r)/(4π²r²), which is the divergence of v (r − sin r) over
    4π²r³: so the share is what flows through the triangles. On each, v · n is the same everywhere.
    """
    a, b, c = boundary.vertices[boundary.triangles].swapaxes(0, 1)
    sides = 0.5 * np.stack([a + b, b + c, c + a])
    r = np.maximum(np.sqrt(np.einsum("kij,kij->ki", sides, sides)), SMALL_ANGLE)
    flow = ((r - np.sin(r)) / r**3).mean(axis=0)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)) @ flow) / TOTAL_VOLUME


def _areas(mesh: Mesh) -> Scalars:
    """Return the areas of triangles on the unit sphere."""
    a, b, c = mesh.vertices[mesh.triangles].swapaxes(0, 1)
    product = np.einsum("ij,ij->i", a, np.cross(b, c))
    dots = np.einsum("ij,ij->i", a, b) + np.einsum("ij,ij->i", b, c) + np.einsum("ij,ij->i", c, a)
    return np.asarray(2.0 * np.abs(np.arctan2(product, 1.0 + dots)))


def _share_of_field(limit: Limit, field: DistanceField) -> float:
    """Return the share as the volume, by one line in each cell, times the density at its nodes."""
    legal = np.argwhere(field.values <= field.threshold)
    density = limit.chart.density(field.low + field.spacing * legal).mean()
    return float(
        min(volume_of(field.closed, field.threshold, field.spacing, side=1) * density, 1.0)
    )
