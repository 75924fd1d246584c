"""Legal directions of a bone, with the width of the range of twist at each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import (
    TOLERANCE,
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
from ..shapes.mesh import Surface
from ..shapes.triangles import drop_unused_points, rim_of
from .triangles import Net, Quality, longest_sides

PROBE_OFFSET = 1.6  # tolerances beside an edge of the rim at which directions are tested
PROBE_SHARES = np.array([[0.02], [0.5], [0.98]])  # positions along an edge, as shares of it
EDGE_ON = 1e-3  # slope of the distance along the twist below which a face is seen edge-on
TRIED_TWISTS = np.radians(np.arange(-180.0, 180.0, 5.0))  # radians, in the search for a legal one
CLOSER = (8, 4, 4)  # intervals of twist refined in each round of the search
PARTS = 10  # subdivisions of such an interval
STEEPEST = 2.0  # largest slope of the distance along the twist, radians per radian
NUDGE = 1e-6  # radians inwards from the boundary, so that the start is legal
STRIDES, DRAFT_STRIDES = (30, 4, 4), (8, 8)  # divisions of a turn, then of its parts: 0.75, 5.6 deg


@dataclass(frozen=True, eq=False)
class Sheet:
    """Legal directions of a bone, relative to the limit's reference."""

    mesh: Surface
    """Unit directions as vertices."""
    rim: Ints
    """(e, 2): edges at the border of the legal directions."""
    widths: Scalars
    """(v,): widths of the ranges of twist, radians."""
    axis: Vectors
    """(3,): the direction of the bone in the joint's frame."""


def on_silhouette(net: Net, tolerance: float) -> Mask:
    """Return a mask (t,) of triangles at the silhouette of a boundary, as seen along the twist.

    Triangles less than `tolerance` high in that view are left out. Places are rotation vectors and
    the directions of the bone there.
    """
    directions, triangles = net.places[:, 3:], net.triangles
    facing = _facing(directions, triangles)
    sides = np.zeros((2, len(directions)), dtype=bool)
    sides[0, triangles[facing > 0.0]] = True
    sides[1, triangles[facing <= 0.0]] = True
    at_fold = np.asarray(sides.all(axis=0))[triangles].any(axis=1)
    return np.asarray(at_fold & (np.abs(facing) > tolerance * longest_sides(directions, triangles)))


def _facing(directions: Vectors, triangles: Ints) -> Scalars:
    """Return twice the signed area (t,) of triangles on the sphere, negative from behind."""
    a, b, c = directions[triangles].swapaxes(0, 1)
    return np.asarray(np.einsum("ij,ij->i", a, np.cross(b - a, c - a)))


def visible_sheet(
    limit: Limit, bone: Vectors, net: Net, triangles: Ints, quality: Quality
) -> Sheet:
    """Return the front side of a boundary, as seen along the twist.

    Places of the net are rotation vectors and the directions of the bone there.
    """
    vectors, directions = net.places[:, :3], net.places[:, 3:]
    facing = _facing(directions, triangles)
    seen = triangles[facing > 0.0]
    if hasattr(limit.chart, "axis"):  # walls along the twist are seen edge-on
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


def _seen_edge_on(
    limit: Limit, bone: Vectors, vectors: Points, seen: Ints, edge_on: Mask, quality: Quality
) -> Mask:
    """Return a mask of the triangles at which a twist leads neither into the region nor out of it.

    Only those that look `edge_on` are tested.
    """
    flat, hidden = np.flatnonzero(edge_on), np.zeros(len(seen), dtype=bool)
    if len(flat) == 0:
        return hidden
    middle = quat.mul(limit.chart.reference, quat.exp(vectors[seen[flat]].mean(axis=1)))
    ahead, behind = twist_about(middle, bone, quality.tolerance * np.array([[1.0], [-1.0]]))
    if quality.fine:
        hidden[flat] = limit.distance(ahead) - limit.distance(behind) < EDGE_ON * quality.tolerance
    else:  # distances of fields are too slow for drafts
        hidden[flat] = limit.contains(ahead) | ~limit.contains(behind)
    return hidden


def rim_parts(
    directions: Vectors, rim: Ints, legal: Callable[[Vectors], Mask], quality: Quality
) -> tuple[Ints, Floats]:
    """Return the parts of edges of `rim` (e, 2) that have no legal directions on their right.

    Where triangles fold over, edges separate nothing, or only up to a crossing. Such edges are
    bisected down to the tolerance. Returns the indices of edges and the shares (n, 2) along each
    where its part begins and ends.
    """
    edge, begin, end = np.arange(len(rim)), np.zeros(len(rim)), np.ones(len(rim))
    kept: list[Floats] = []
    first, along = directions[rim[:, 0]], directions[rim[:, 1]] - directions[rim[:, 0]]
    across = np.cross(along, 2.0 * first + along)
    across *= (
        PROBE_OFFSET
        * quality.tolerance
        / np.maximum(np.linalg.norm(across, axis=1), 1e-300)[:, None]
    )
    shares = PROBE_SHARES if quality.fine else PROBE_SHARES[1:2]
    for _ in range(1 + _bisections(along, quality)):
        at = (begin + shares * (end - begin))[..., None]
        beside = unit_vectors(first[edge] + at * along[edge] + across[edge])
        inside = legal(beside.reshape(-1, 3)).reshape(at.shape[:2])
        outer, some = ~inside.any(axis=0), inside.any(axis=0) & ~inside.all(axis=0)
        kept.append(np.stack([edge[outer], begin[outer], end[outer]], axis=1))
        edge, begin, end = edge[some], begin[some], end[some]
        middle = 0.5 * (begin + end)
        edge = np.concatenate([edge, edge])
        begin, end = np.concatenate([begin, middle]), np.concatenate([middle, end])
    found = np.concatenate(kept)
    return found[:, 0].astype(np.int64), found[:, 1:]


def _bisections(edges: Vectors, quality: Quality) -> int:
    """Return the number of bisections from the longest edge to the tolerance; 0 for drafts."""
    longest = float(np.linalg.norm(edges, axis=1).max(initial=0.0))
    return int(np.ceil(np.log2(max(longest / quality.tolerance, 1.0)))) if quality.fine else 0


def legal_directions(limit: Limit, directions: Vectors, bone: Vectors, quality: Quality) -> Mask:
    """Return a mask of the directions, relative to the reference, that have a legal twist.

    At a sharp corner hardly any twist is legal, so intervals of twist that are close enough to the
    region to contain a member are subdivided; not for drafts, because distances are slow.
    """
    swings = quat.mul(limit.chart.reference, quat.between(bone, directions))
    tried = TRIED_TWISTS if quality.fine else TRIED_TWISTS[::6]
    legal: Mask = np.asarray(limit.contains(twist_about(swings, bone, tried[:, None])).any(axis=0))
    if not quality.fine:
        return legal
    rows = np.flatnonzero(~legal)
    twists, half = np.tile(tried, (len(rows), 1, 1)), 0.5 * float(tried[1] - tried[0])
    for kept in (*CLOSER, 0):
        distance = limit.distance(twist_about(swings[rows, None, None], bone, twists))
        least = distance.min(axis=(1, 2))
        legal[rows[least <= TOLERANCE]] = True
        near = (least > TOLERANCE) & (least <= STEEPEST * half)
        if not kept or not near.any():
            break
        rows, twists = rows[near], twists[near].reshape(near.sum(), -1)
        best = np.argpartition(_lower_bounds(distance[near]), kept, axis=1)[:, :kept]
        half /= PARTS
        parts = half * np.arange(1 - PARTS, PARTS, 2)
        twists = np.take_along_axis(twists, best, axis=1)[..., None] + parts
    return legal


def _lower_bounds(distance: Floats) -> Floats:
    """Return estimates (n, i * t) of the least distance within half a step of each sample.

    Distances are (n, intervals, twists). The slope is that of the steeper neighbour, so that a
    narrow valley is not missed.
    """
    steps = np.abs(np.diff(distance, axis=2))
    slopes = np.maximum(
        np.concatenate([steps[..., :1], steps], axis=2),
        np.concatenate([steps, steps[..., -1:]], axis=2),
    )
    return np.asarray((distance - 0.5 * slopes).reshape(len(distance), -1))


def twist_about(rotations: Quats, bone: Vectors, angles: Scalars) -> Quats:
    """Return q · exp(α b) (..., 4) for rotations q, the unit bone b and angles α (...), radians.

    One product serves all angles of a rotation: q · exp(α b) = cos(α/2) q + sin(α/2) q · b.
    """
    half = 0.5 * angles[..., None]
    across = quat.mul(rotations, np.concatenate([[0.0], bone]))
    return np.asarray(np.cos(half) * rotations + np.sin(half) * across)


def _twist_widths(limit: Limit, rotations: Quats, bone: Vectors, quality: Quality) -> Scalars:
    """Return the widths (n,) of the ranges of twist that end at `rotations`, in radians.

    The visible side of the boundary is the upper end of the range, so the search goes down from
    there, to about a degree. `rotations` are relative to the reference.
    """
    start = quat.mul(limit.chart.reference, quat.mul(rotations, quat.exp(-NUDGE * bone)))
    reached: Scalars = np.zeros(len(rotations))
    step = 2.0 * np.pi
    for parts in STRIDES if quality.fine else DRAFT_STRIDES:
        step /= parts
        tried = step * np.arange(1, parts)[:, None]  # the last one begins the next stride
        legal = limit.contains(twist_about(start, bone, -(reached + tried)))
        reached += step * np.where(legal.all(axis=0), parts - 1, legal.argmin(axis=0))
    return reached
