"""The directions that a bone may point in, with how far it may twist there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import TOLERANCE, Floats, Ints, Mask, Points, Quats, Scalars, Vectors
from ..charts import SwingTwist
from ..limit import Limit
from .mesh import Finish, Mesh, Net, longest_sides, rim_of, used

ASIDE = 1.6
"""How far beside an edge of the rim directions are asked about, in parts of what is flat."""
EDGE_ON = 1e-3
"""The slope, along the twist, of a boundary that is seen from its edge."""
AROUND = np.radians(np.arange(-180.0, 180.0, 5.0))
VALLEYS = 2
CLOSER = [np.radians(reach) * np.linspace(-1.0, 1.0, 25) for reach in (5.0, 0.5, 0.05)]
"""Twists that are tried, in radians: all around, then about so many of the best."""
LENGTH = 0.5
"""How long edges of the rim may be that another one crosses, in parts of what is flat."""
EDGE_ON = 1e-3
"""The slope, along the twist, of a boundary that is seen from its edge."""
SEARCH = [np.radians(reach) * np.linspace(-1.0, 1.0, 61) for reach in (180.0, 6.0, 0.2)]
"""Twists that are tried there, in radians, each row about the best of the one before."""
NUDGE = 1e-6
STRIDE, ROUGH, HALVINGS = float(np.radians(12.0)), float(np.radians(45.0)), 4
"""How twists are searched for their end: by strides, in radians, of which the last is halved.

For a draft they are rough.
"""


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


def folded(net: Net, flat: float) -> Mask:
    """Tell which triangles are where a boundary, seen along the twist, turns away from us.

    But not those that are hardly higher, as seen, than `flat`. Places are rotation vectors and the
    directions of the bone there.
    """
    directions, triangles = net.places[:, 3:], net.triangles
    facing = _facing(directions, triangles)
    sides = np.zeros((2, len(directions)), dtype=bool)
    sides[0, triangles[facing > 0.0]] = True
    sides[1, triangles[facing <= 0.0]] = True
    at_fold = np.asarray(sides.all(axis=0))[triangles].any(axis=1)
    return np.asarray(at_fold & (np.abs(facing) > flat * longest_sides(directions, triangles)))


def _facing(directions: Vectors, triangles: Ints) -> Scalars:
    """Return twice the area of triangles on the sphere, negative if seen from behind."""
    a, b, c = np.moveaxis(directions[triangles], 1, 0)
    return np.asarray(np.einsum("ij,ij->i", a, np.cross(b - a, c - a)))


def seen_sheet(limit: Limit, bone: Vectors, net: Net, triangles: Ints, finish: Finish) -> Sheet:
    """Return the side of a boundary that faces us along the twist.

    Its places are rotation vectors, and the directions of the bone there.
    """
    vectors, directions = net.places[:, :3], net.places[:, 3:]
    seen = triangles[_facing(directions, triangles) > 0.0]
    if isinstance(limit.chart, SwingTwist):
        seen = seen[~_edge_on(limit, bone, vectors, directions, seen, finish)]
    numbers, faces = used(seen, len(directions))
    rotations = quat.exp(vectors[numbers])
    mesh = Mesh(directions[numbers], faces)
    rim = rim_of(faces)
    widths = _twist_widths(limit, rotations, bone, finish)
    edge, shares = parting(
        mesh.vertices, rim, lambda each: _legal(limit, each, bone, finish), finish
    )
    first, last = rim[edge].T
    ends = (
        mesh.vertices[first, None]
        + shares[..., None] * (mesh.vertices[last] - mesh.vertices[first])[:, None]
    )
    at_ends = widths[first, None] + shares * (widths[last] - widths[first])[:, None]
    mesh = Mesh(np.concatenate([mesh.vertices, _unit(ends).reshape(-1, 3)]), faces)
    rim = len(widths) + np.arange(2 * len(edge)).reshape(-1, 2)
    return Sheet(mesh, rim, np.concatenate([widths, at_ends.ravel()]), bone)


def _edge_on(
    limit: Limit, bone: Vectors, vectors: Points, directions: Vectors, seen: Ints, finish: Finish
) -> Mask:
    """Tell which triangles are seen from their edge: a twist leads neither in nor out there."""
    flat = np.flatnonzero(_facing(directions, seen) < finish.flat * longest_sides(directions, seen))
    hidden = np.zeros(len(seen), dtype=bool)
    if len(flat) == 0:
        return hidden
    middle = quat.mul(limit.chart.reference, quat.exp(vectors[seen[flat]].mean(axis=1)))
    ahead, behind = (quat.mul(middle, quat.exp(sign * finish.flat * bone)) for sign in (1, -1))
    if finish.careful:
        hidden[flat] = limit.distance(ahead) - limit.distance(behind) < EDGE_ON * finish.flat
    else:  # a field has no distances as soon as that
        hidden[flat] = limit.contains(ahead) | ~limit.contains(behind)
    return hidden


def parting(
    directions: Vectors, rim: Ints, legal: Callable[[Vectors], Mask], finish: Finish
) -> tuple[Ints, Floats]:
    """Return the parts of edges of `rim` that have no legal directions on their right.

    Where triangles fold over there are edges that part nothing, or only as far as another one
    crosses them: such are halved. Parts are rows of `rim`, and the shares (e, 2) of the way where
    each begins and ends.
    """
    edge, begin, end = np.arange(len(rim)), np.zeros(len(rim)), np.ones(len(rim))
    kept: list[Floats] = []
    first, way = directions[rim[:, 0]], directions[rim[:, 1]] - directions[rim[:, 0]]
    across = np.cross(way, 2.0 * first + way)
    across *= ASIDE * finish.flat / np.maximum(np.linalg.norm(across, axis=1), 1e-300)[:, None]
    for last in (False,) * _rounds(way, finish) + (True,):
        shares = np.array([[0.5]] if last else [[0.02], [0.5], [0.98]])
        at = (begin + shares * (end - begin))[..., None]
        beside = _unit(first[edge] + at * way[edge] + across[edge])
        inside = legal(beside.reshape(-1, 3)).reshape(at.shape[:2])
        outer, some = ~inside.any(axis=0), inside.any(axis=0) & ~inside.all(axis=0)
        kept.append(np.stack([edge[outer], begin[outer], end[outer]], axis=1))
        edge, begin, end = edge[some], begin[some], end[some]
        middle = 0.5 * (begin + end)
        edge = np.concatenate([edge, edge])
        begin, end = np.concatenate([begin, middle]), np.concatenate([middle, end])
    found = np.concatenate(kept)
    return found[:, 0].astype(np.int64), found[:, 1:]


def _rounds(way: Vectors, finish: Finish) -> int:
    """Return how often edges are halved until they are as short as what is flat; not in a draft."""
    longest = float(np.linalg.norm(way, axis=1).max(initial=0.0))
    return int(np.ceil(np.log2(max(longest / finish.flat, 1.0)))) if finish.careful else 0


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def _legal(limit: Limit, directions: Vectors, bone: Vectors, finish: Finish) -> Mask:
    """Tell whether the bone may point in each direction, seen from the reference.

    Twists are searched for the least distance, ever more closely where it is least: at a sharp
    corner hardly one is legal. For a draft the first look is enough.
    """
    swings = quat.mul(limit.chart.reference, quat.between(bone, directions))
    if not finish.careful:
        turns = quat.exp(AROUND[::6, None] * bone)
        return np.asarray(limit.contains(quat.mul(swings[:, None], turns)).any(axis=1))
    distance = limit.distance(quat.mul(swings[:, None], quat.exp(AROUND[:, None] * bone)))
    found = distance.min(axis=1) <= TOLERANCE
    open_ = np.flatnonzero(~found)
    ring = distance[open_]
    valley = (ring <= np.roll(ring, 1, axis=1)) & (ring <= np.roll(ring, -1, axis=1))
    order = np.argsort(np.where(valley, ring, np.inf), axis=1)[:, :VALLEYS]
    twists = AROUND[order][..., None]
    for reach in CLOSER:
        tried = twists + reach
        distance = limit.distance(
            quat.mul(swings[open_, None, None], quat.exp(tried[..., None] * bone))
        )
        best = distance.argmin(axis=2)[..., None]
        twists = np.take_along_axis(tried, best, axis=2)
        found[open_] |= distance.min(axis=(1, 2)) <= TOLERANCE
    return np.asarray(found)


def _twist_widths(limit: Limit, rotations: Quats, bone: Vectors, finish: Finish) -> Scalars:
    """Return how far rotations on the boundary, from the reference, may twist, in radians.

    The side that we see is where twists end; so they go back from there. To about a degree, which
    no colour can show.
    """
    start = quat.mul(limit.chart.reference, quat.mul(rotations, quat.exp(-NUDGE * bone)))
    stride = STRIDE if finish.careful else ROUGH
    strides = np.arange(1, round(2.0 * np.pi / stride))  # the last would lead back to the start
    turns = quat.exp(-stride * strides[:, None] * bone)
    legal = limit.contains(quat.mul(start[:, None], turns))
    reached = stride * np.where(legal.all(axis=1), len(strides), legal.argmin(axis=1))
    for halving in range(1, HALVINGS + finish.careful):
        ahead = reached + stride * 0.5**halving
        legal = limit.contains(quat.mul(start, quat.exp(-ahead[:, None] * bone)))
        reached = np.where(legal, ahead, reached)
    return np.asarray(np.minimum(reached, 2.0 * np.pi))
