"""What the page draws of a limit: its boundary among rotations, and the directions it allows.

Both come from the code that decides: corners of triangles lie on the boundary, and edges are halved
until the flat triangles do, too. While somebody drags, a `DRAFT` is soon drawn; `FINE` is to stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Mask, Points, Quats, Vectors
from ..charts import DirectionTwist, EulerZYZ, RotationVector, SwingTwist
from ..limit import Limit
from ..shapes import Directional, DistanceField, ReachCone, ThetaPhi, Union
from .directions import skin_of_cone
from .fields import skin_of_field
from .mesh import Finish, Mesh, Net, longest_sides, refined, rim_of, used
from .seams import cut_edges, cut_off, mixed, parted
from .sheets import Sheet, folded, seen_sheet
from .skins import skin_of
from .tables import skin_of_table
from .vectors import vectors_of

FINE = Finish(float(np.radians(0.06)), 160_000)
"""A picture to keep."""
DRAFT = Finish(float(np.radians(1.0)), 1_000, careful=False)
"""A picture that the next one replaces at once."""
LONGEST = 1.0
"""Edges that stay longer than this, in radians, cross where rotations are torn: not drawn."""
OPPOSITE = float(np.cos(np.radians(8.0)))
"""How nearly opposite its axis a bone points where twists are too torn to be drawn, as a cosine."""
TURN = 2.0 * np.pi
ASIDE = float(np.radians(0.05))
"""How far beyond a triangle, in radians, it is asked whether the region goes on there."""
INSIDE = 1e-6
FREE = 1e-9
FOLDS = 1
"""How often edges are halved once more where a boundary turns away from us."""


def boundary(limit: Limit, finish: Finish = FINE) -> Mesh:
    """Return the boundary as rotation vectors from the reference, in radians, facing outwards."""
    return pictures(limit, np.array([0.0, 0.0, 1.0]), finish)[1]


def sheet(limit: Limit, bone: Vectors, finish: Finish = FINE) -> Sheet:
    """Return where the bone may point: by its own axis for families of directions, else `bone`."""
    return pictures(limit, bone, finish)[0]


def pictures(limit: Limit, bone: Vectors, finish: Finish = FINE) -> tuple[Sheet, Mesh]:
    """Return where the bone may point, and the boundary among rotations.

    The latter has rotation vectors from the reference, in radians, and faces outwards.
    """
    shape = limit.shape
    if not (isinstance(shape, Directional) and isinstance(limit.chart, DirectionTwist)):
        return _of_vectors(limit, bone, finish)
    parts = shape.parts if isinstance(shape, Union) else (shape,)
    most = finish.most // (len(parts) + (len(parts) > 1))  # cuts make some more
    share = replace(finish, most=most)
    drawn = [_of_part(limit, number, parts, share) for number in range(len(parts))]
    directions, faces, rim = _stacked(
        [(each.vertices, each.triangles, rim) for each, rim, _ in drawn]
    )
    low, high = shape.twist_range(directions).T
    widths = np.minimum(high - low, TURN)
    whole = _stacked([(mesh.vertices, mesh.triangles, mesh.triangles) for *_, mesh in drawn])
    return Sheet(Mesh(directions, faces), rim, widths, limit.chart.axis), Mesh(*whole[:2])


def _of_vectors(limit: Limit, bone: Vectors, finish: Finish) -> tuple[Sheet, Mesh]:
    shape = limit.shape
    skin = skin_of_field(shape, finish) if isinstance(shape, DistanceField) else skin_of(shape)

    def drawn(points: Floats) -> Floats:
        vectors = vectors_of(limit.chart, skin.placed(points))
        return np.concatenate([vectors, quat.rotate(quat.exp(vectors), bone)], axis=1)

    net = refined(skin.points, skin.triangles, skin.middle, drawn, finish, _torn(limit))
    if finish.careful:
        net = parted(net, skin.middle, drawn, lambda each: folded(each, finish.flat), finish, FOLDS)
    whole = net
    if overlaps_itself(limit):

        def hidden(points: Floats) -> Mask:
            rotations = limit.chart.rotations(skin.placed(points))
            return np.asarray(limit.distance(rotations) < -INSIDE)

        whole = parted(net, skin.middle, drawn, mixed(hidden), finish)
        whole = cut_off(whole, skin.middle, drawn, hidden, finish)
    mesh = _mesh(limit, whole, finish)
    triangles = net.triangles
    if isinstance(limit.chart, EulerZYZ):
        triangles = triangles[:, ::-1]
    return seen_sheet(limit, bone, net, triangles, finish), mesh


def _of_part(
    limit: Limit, number: int, parts: tuple[ReachCone | ThetaPhi, ...], finish: Finish
) -> tuple[Mesh, Ints, Mesh]:
    """Return the directions of a part, their rim, and the part's boundary."""
    part, others = parts[number], (*parts[:number], *parts[number + 1 :])
    skin = skin_of_table(part, finish) if isinstance(part, ThetaPhi) else skin_of_cone(part, finish)

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

    net = refined(
        skin.points,
        skin.triangles,
        skin.middle,
        drawn,
        finish,
        _torn(limit),
        kinked=isinstance(part, ThetaPhi),
    )
    if others:
        net = parted(net, skin.middle, drawn, mixed(hidden), finish)
        net = parted(net, skin.middle, drawn, mixed(shared), finish)
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
    kept, numbered = used(np.concatenate([top.triangles.ravel(), rim.ravel()]), len(top.points))
    faces, rim = np.split(numbered, [top.triangles.size])
    directions = Mesh(top.places[kept, 3:], faces.reshape(-1, 3))
    return directions, rim.reshape(-1, 2), _mesh(limit, net, finish)


def _mesh(limit: Limit, net: Net, finish: Finish) -> Mesh:
    """Return what is seen of a boundary among rotations."""
    triangles = _whole(limit, net.places, net.triangles)
    if isinstance(limit.chart, EulerZYZ):
        triangles = triangles[:, ::-1]  # these angles are a left-handed map
    vectors = net.places[:, :3]
    if (isinstance(limit.shape, Union) and finish.careful) or overlaps_itself(limit):
        triangles = _exposed(limit, vectors, triangles)
    return Mesh(vectors, triangles)


def overlaps_itself(limit: Limit) -> bool:
    """Tell whether a region of vectors may reach round to where it is already."""
    if isinstance(limit.chart, EulerZYZ | DirectionTwist):
        return False
    return limit.shape.reach(limit.chart.winds) >= np.pi or limit.shape.reach((2,)) >= np.pi


def _rotations(limit: Limit, vectors: Points) -> Quats:
    return quat.mul(limit.chart.reference, quat.exp(vectors))


def _torn(limit: Limit) -> Callable[[Floats], Mask]:
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


def _whole(limit: Limit, places: Floats, triangles: Ints) -> Ints:
    """Return the triangles that are not torn, where the chart has places that tear."""
    vectors, torn = places[:, :3], _torn(limit)(places)
    farthest = float(np.einsum("ij,ij->i", vectors, vectors).max(initial=0.0)) ** 0.5
    fold = np.pi if isinstance(limit.chart, EulerZYZ) else TURN
    if isinstance(limit.chart, RotationVector) or not (torn.any() or farthest > fold - LONGEST):
        return triangles
    longest = longest_sides(vectors, triangles)
    return triangles[(longest < LONGEST) & ~torn[triangles].any(axis=1)]


def _exposed(limit: Limit, vectors: Points, triangles: Ints) -> Ints:
    """Return the triangles beyond which the region does not go on."""
    a, b, c = vectors[triangles].swapaxes(0, 1)
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    beyond = (a + b + c) / 3.0 + ASIDE * normal
    return triangles[~limit.contains(_rotations(limit, beyond))]


def _stacked(parts: list[tuple[Floats, Ints, Ints]]) -> tuple[Floats, Ints, Ints]:
    """Return the vertices of all parts, and two tables of their numbers."""
    counts = np.cumsum([0, *(len(vertices) for vertices, *_ in parts)])
    numbered = list(zip(parts, counts, strict=False))
    return (
        np.concatenate([vertices for vertices, *_ in parts]),
        np.concatenate([first + n for (_, first, _), n in numbered]),
        np.concatenate([second + n for (*_, second), n in numbered]),
    )
