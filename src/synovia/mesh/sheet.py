"""The directions that a bone may point in, with how far it may twist there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import (
    TOLERANCE,
    TURN,
    Floats,
    Ints,
    Mask,
    Points,
    Quats,
    Scalars,
    Vectors,
    unit_vectors,
)
from ..limit import Limit
from ..limit.octahedral import node_directions, triangles
from ..shapes import Surface
from ..shapes.boundary import cut_off, drop_unused_points, rim_of
from .triangles import HALVINGS, Net, Quality, longest_sides

PROBE_OFFSET = 1.6
"""How far beside an edge of the rim directions are asked about, in tolerances."""
PROBE_SHARES = np.array([[0.02], [0.5], [0.98]])
"""Where along an edge, or a part of it, as shares of the way."""
EDGE_ON = 1e-3
"""The slope, along the twist, of a boundary that is seen from its edge."""
TRIED_TWISTS = np.radians(np.arange(-180.0, 180.0, 5.0))
"""Twists that are tried, in radians: all around, then closer where one may be legal."""
COUNTED_TWISTS = np.radians(np.arange(-180.0, 180.0, 2.0))
"""Twists of which the legal ones are counted, in radians, where directions are looked for."""
SEARCHED_PARTS, DRAFT_SEARCHED_PARTS = 48, 20
"""Into how many parts edges of an octahedron are cut, where directions are looked for."""
CLOSER, DRAFT_CLOSER, PARTS = (8, 4, 4), (1, 1), 10
"""In how many places that is, time after time, and into how many parts each is cut."""
STEEPEST = 2.0
"""How fast the distance to a region changes with the twist, in radians a radian, at most."""
NUDGE = 1e-6
STRIDES, DRAFT_STRIDES = (30, 4, 4), (8, 8)
"""How twists are searched for their end: into so many parts a turn is cut, then the last of those.

For a draft they are rough.
"""


@dataclass(frozen=True, eq=False)
class Sheet:
    """The directions that a bone may point in, from the limit's reference, with how far it twists.

    `widths` are ranges of twist at the vertices, in radians.
    """

    mesh: Surface
    rim: Ints
    """Edges (e, 2) where the legal directions end."""
    widths: Scalars
    axis: Vectors
    """What points there: a direction in the joint's own frame."""


def on_silhouette(net: Net, tolerance: float) -> Mask:
    """Tell which triangles are where a boundary, seen along the twist, turns away from us.

    But not those that are hardly higher, as seen, than `tolerance`. Places are rotation vectors
    and the directions of the bone there.
    """
    directions, triangles = net.places[:, 3:], net.triangles
    facing = _facing(directions, triangles)
    sides = np.zeros((2, len(directions)), dtype=bool)
    sides[0, triangles[facing > 0.0]] = True
    sides[1, triangles[facing <= 0.0]] = True
    at_fold = np.asarray(sides.all(axis=0))[triangles].any(axis=1)
    return np.asarray(at_fold & (np.abs(facing) > tolerance * longest_sides(directions, triangles)))


def _facing(directions: Vectors, triangles: Ints) -> Scalars:
    """Return twice the area of triangles on the sphere, negative if seen from behind."""
    a, b, c = directions[triangles].swapaxes(0, 1)
    return np.asarray(np.einsum("ij,ij->i", a, np.cross(b - a, c - a)))


def visible_sheet(
    limit: Limit, bone: Vectors, net: Net, triangles: Ints, quality: Quality
) -> Sheet:
    """Return the side of a boundary that faces us along the twist.

    Its places are rotation vectors, and the directions of the bone there.
    """
    vectors, directions = net.places[:, :3], net.places[:, 3:]
    facing = _facing(directions, triangles)
    seen = triangles[facing > 0.0]
    if hasattr(limit.chart, "axis"):  # walls along the twist are seen from their edge
        edge_on = facing[facing > 0.0] < quality.tolerance * longest_sides(directions, seen)
        seen = seen[~_seen_edge_on(limit, bone, vectors, seen, edge_on, quality)]
    numbers, faces = drop_unused_points(seen, len(directions))
    rotations = quat.exp(vectors[numbers])
    mesh = Surface(directions[numbers], faces)
    rim = rim_of(faces)
    widths = _twist_widths(limit, rotations, bone, quality)
    edge, shares = rim_parts(
        mesh.vertices, rim, lambda each: legal_directions(limit, each, bone, quality), quality
    )
    first, last = rim[edge].T
    ends = (
        mesh.vertices[first, None]
        + shares[..., None] * (mesh.vertices[last] - mesh.vertices[first])[:, None]
    )
    at_ends = widths[first, None] + shares * (widths[last] - widths[first])[:, None]
    mesh = Surface(np.concatenate([mesh.vertices, unit_vectors(ends).reshape(-1, 3)]), faces)
    rim = len(widths) + np.arange(2 * len(edge)).reshape(-1, 2)
    return Sheet(mesh, rim, np.concatenate([widths, at_ends.ravel()]), bone)


def searched_sheet(limit: Limit, bone: Vectors, quality: Quality) -> Sheet:
    """Return where the bone may point, looked for all over the sphere; twists to 2 degrees.

    For regions of directions and twists whose boundary nobody knows: triangles are cut where the
    legal directions end, but what is smaller than these, about 2 degrees, is not seen.
    """

    def hidden(directions: Vectors) -> Mask:
        closer = CLOSER if quality.fine else DRAFT_CLOSER
        return ~legal_directions(limit, directions, bone, quality, closer)

    parts = SEARCHED_PARTS if quality.fine else DRAFT_SEARCHED_PARTS
    points, faces = cut_off(
        node_directions(parts), triangles(parts), midpoint_direction, hidden, HALVINGS
    )
    numbers, faces = drop_unused_points(faces, len(points))
    directions = points[numbers]
    swings = quat.mul(limit.chart.reference, quat.between(bone, directions))
    legal = limit.contains(twist_about(swings, bone, COUNTED_TWISTS[:, None]))
    widths = TURN * legal.mean(axis=0)
    return Sheet(Surface(directions, faces), rim_of(faces), widths, bone)


def midpoint_direction(start: Vectors, end: Vectors) -> Vectors:
    """Return the directions half way between others."""
    return unit_vectors(start + end)


def _seen_edge_on(
    limit: Limit, bone: Vectors, vectors: Points, seen: Ints, edge_on: Mask, quality: Quality
) -> Mask:
    """Tell which triangles are seen from their edge: a twist leads neither in nor out there.

    Asked are those that look `edge_on`.
    """
    flat, hidden = np.flatnonzero(edge_on), np.zeros(len(seen), dtype=bool)
    if len(flat) == 0:
        return hidden
    middle = quat.mul(limit.chart.reference, quat.exp(vectors[seen[flat]].mean(axis=1)))
    ahead, behind = twist_about(middle, bone, quality.tolerance * np.array([[1.0], [-1.0]]))
    if quality.fine:
        hidden[flat] = limit.distance(ahead) - limit.distance(behind) < EDGE_ON * quality.tolerance
    else:  # a field has no distances as soon as that
        hidden[flat] = limit.contains(ahead) | ~limit.contains(behind)
    return hidden


def rim_parts(
    directions: Vectors, rim: Ints, legal: Callable[[Vectors], Mask], quality: Quality
) -> tuple[Ints, Floats]:
    """Return the parts of edges of `rim` that have no legal directions on their right.

    Where triangles fold over there are edges that part nothing, or only as far as another one
    crosses them: such are halved, and what is left in the end is too short to be seen. Parts are
    rows of `rim`, and the shares (e, 2) of the way where each begins and ends.
    """
    edge, begin, end = np.arange(len(rim)), np.zeros(len(rim)), np.ones(len(rim))
    kept: list[Floats] = []
    first, way = directions[rim[:, 0]], directions[rim[:, 1]] - directions[rim[:, 0]]
    across = np.cross(way, 2.0 * first + way)
    across *= (
        PROBE_OFFSET
        * quality.tolerance
        / np.maximum(np.linalg.norm(across, axis=1), 1e-300)[:, None]
    )
    shares = PROBE_SHARES if quality.fine else PROBE_SHARES[1:2]
    for _ in range(1 + _rounds(way, quality)):
        at = (begin + shares * (end - begin))[..., None]
        beside = unit_vectors(first[edge] + at * way[edge] + across[edge])
        inside = legal(beside.reshape(-1, 3)).reshape(at.shape[:2])
        outer, some = ~inside.any(axis=0), inside.any(axis=0) & ~inside.all(axis=0)
        kept.append(np.stack([edge[outer], begin[outer], end[outer]], axis=1))
        edge, begin, end = edge[some], begin[some], end[some]
        middle = 0.5 * (begin + end)
        edge = np.concatenate([edge, edge])
        begin, end = np.concatenate([begin, middle]), np.concatenate([middle, end])
    found = np.concatenate(kept)
    return found[:, 0].astype(np.int64), found[:, 1:]


def _rounds(way: Vectors, quality: Quality) -> int:
    """Return how often edges are halved until they are within tolerance; not in a draft."""
    longest = float(np.linalg.norm(way, axis=1).max(initial=0.0))
    return int(np.ceil(np.log2(max(longest / quality.tolerance, 1.0)))) if quality.fine else 0


def legal_directions(
    limit: Limit,
    directions: Vectors,
    bone: Vectors,
    quality: Quality,
    closer: Sequence[int] | None = None,
) -> Mask:
    """Tell whether the bone may point in each direction, seen from the reference.

    At a sharp corner hardly a twist is legal, and a region may come close in several places. So
    stretches of twists are looked at ever more closely, where they are so near to the region that
    it may be in them, in as many places each time as `closer` says. For a draft the first look is
    enough unless that is given: distances take longer.
    """
    swings = quat.mul(limit.chart.reference, quat.between(bone, directions))
    tried = TRIED_TWISTS if quality.fine else TRIED_TWISTS[::6]
    legal: Mask = np.asarray(limit.contains(twist_about(swings, bone, tried[:, None])).any(axis=0))
    if closer is None:
        closer = CLOSER if quality.fine else ()
    if not closer:
        return legal
    rows = np.flatnonzero(~legal)
    twists, half = np.tile(tried, (len(rows), 1, 1)), 0.5 * float(tried[1] - tried[0])
    for places in (*closer, 0):
        distance = limit.distance(twist_about(swings[rows, None, None], bone, twists))
        least = distance.min(axis=(1, 2))
        legal[rows[least <= TOLERANCE]] = True
        near = (least > TOLERANCE) & (least <= STEEPEST * half)
        if not places or not near.any():
            break
        rows, twists = rows[near], twists[near].reshape(near.sum(), -1)
        best = np.argpartition(_lowest(distance[near]), places, axis=1)[:, :places]
        half /= PARTS
        parts = half * np.arange(1 - PARTS, PARTS, 2)
        twists = np.take_along_axis(twists, best, axis=1)[..., None] + parts
    return legal


def _lowest(distance: Floats) -> Floats:
    """Return how low distances may come half way to the next, by their slopes: (n, all).

    They are (n, places, twists); a narrow valley may be deeper than a wide one that is sampled
    well.
    """
    steps = np.abs(np.diff(distance, axis=2))
    slopes = np.maximum(
        np.concatenate([steps[..., :1], steps], axis=2),
        np.concatenate([steps, steps[..., -1:]], axis=2),
    )
    return np.asarray((distance - 0.5 * slopes).reshape(len(distance), -1))


def twist_about(rotations: Quats, bone: Vectors, angles: Scalars) -> Quats:
    """Return rotations (..., 4), twisted about the bone first, by angles (...) in radians.

    One product serves all angles of a rotation: q · exp(αb) = cos(α/2) q + sin(α/2) q · b.
    """
    half = 0.5 * angles[..., None]
    across = quat.mul(rotations, np.concatenate([[0.0], bone]))
    return np.asarray(np.cos(half) * rotations + np.sin(half) * across)


def _twist_widths(limit: Limit, rotations: Quats, bone: Vectors, quality: Quality) -> Scalars:
    """Return how far rotations on the boundary, from the reference, may twist, in radians.

    The side that we see is where twists end; so they go back from there. To about a degree, which
    no colour can show.
    """
    start = quat.mul(limit.chart.reference, quat.mul(rotations, quat.exp(-NUDGE * bone)))
    reached: Scalars = np.zeros(len(rotations))
    step = 2.0 * np.pi
    for parts in STRIDES if quality.fine else DRAFT_STRIDES:
        step /= parts
        tried = step * np.arange(1, parts)[:, None]  # the last would lead on, or all around
        legal = limit.contains(twist_about(start, bone, -(reached + tried)))
        reached += step * np.where(legal.all(axis=0), parts - 1, legal.argmin(axis=0))
    return reached
