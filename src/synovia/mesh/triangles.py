"""Adaptive refinement of triangle meshes, and cutting at hidden parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints, Mask, Scalars
from ..shapes.mesh import Surface
from ..shapes.triangles import (
    Boundary,
    Hidden,
    Midpoint,
    Placement,
    cut_edges,
    cut_off,
    edges_of,
    split_edges,
)

MAX_ROUNDS = 8  # halvings of an edge; an edge is then 1/256 of its first length
MIN_ROOM = 0.25  # of the triangles of a draft; less is not worth the time of another round
HALVINGS, DRAFT_HALVINGS = 10, 4  # bisection steps along an edge to the point where it is hidden
SEAM_EDGE = 16.0  # largest length of edges at seams, in tolerances


class Net(NamedTuple):
    """A triangle mesh on a boundary."""

    points: Floats
    """(v, k): vertices in the boundary's own coordinates."""
    triangles: Ints
    """(t, 3): indices of vertices."""
    places: Floats
    """(v, m): coordinates in which the vertices are drawn."""


TriangleTest = Callable[[Net], Mask]
"""Returns a mask (t,) of triangles to refine."""


@dataclass(frozen=True)
class Quality:
    """Resolution of a mesh."""

    tolerance: float
    """Largest deviation of an edge's midpoint from the boundary, radians."""
    max_triangles: int
    """Approximate maximum; beyond it only the edges with the largest deviation are halved."""
    fine: bool = True
    """False omits slow steps with small effects, for drafts while something is dragged."""


def refine_mesh(
    boundary: Boundary, drawn: Placement, quality: Quality, torn: Callable[[Floats], Mask]
) -> Net:
    """Return the mesh of a boundary, refined until its edges are within tolerance.

    `drawn` maps points to the coordinates in which they are drawn. An edge is halved if its true
    midpoint is drawn farther than the tolerance from the straight one, unless both ends are
    `torn`. For boundaries with kinks, a point inside each triangle is tested too.
    """
    points, triangles, midpoint = boundary.points, boundary.triangles, boundary.midpoint
    places = drawn(points)
    torn_at = torn(places)
    done: list[Ints] = []
    count = len(triangles)
    for _ in range(MAX_ROUNDS):
        room = (quality.max_triangles - count) // 2  # halving an edge adds two triangles
        least = 1 if quality.fine else MIN_ROOM * quality.max_triangles
        if room < least or len(triangles) == 0:
            break
        edges, sides = edges_of(triangles)
        start, end = edges.T
        middles = midpoint(points[start], points[end])
        true = drawn(middles)
        off = true - 0.5 * (places[start] + places[end])
        off = np.einsum("ij,ij->i", off, off)
        if boundary.kinked:
            corner = midpoint(middles[sides[:, 0]], points[triangles[:, 2]])
            np.maximum.at(off, *_interior_errors(places, triangles, sides, drawn(corner)))
        off[torn_at[start] & torn_at[end]] = 0.0
        bent = off > quality.tolerance**2
        if np.count_nonzero(bent) > room:
            bent &= off > np.partition(off, len(off) - room)[len(off) - room]
        # Edges are shared, so a triangle without a bent one is final.
        still = ~bent[sides].any(axis=1)
        done.append(triangles[still])
        triangles, sides = triangles[~still], sides[~still]
        points, triangles, places = _split(
            Net(points, triangles, places), sides, bent, middles[bent], true[bent]
        )
        torn_at = np.concatenate([torn_at, torn(true[bent])])
        count = len(triangles) + sum(map(len, done))
    return Net(points, np.concatenate([*done, triangles]), places)


def _interior_errors(
    places: Floats, triangles: Ints, sides: Ints, true: Floats
) -> tuple[Ints, Scalars]:
    """Return the index (t,) of the longest edge of each triangle, and the squared error inside.

    `sides` (t, 3) are the indices of the edges. `true` (t, m) is where the point half way between
    the first edge's midpoint and the opposite corner is drawn.
    """
    a, b, c = (places[each] for each in triangles.T)
    off = true - 0.25 * (a + b) - 0.5 * c
    lengths = np.stack([np.linalg.norm(e, axis=1) for e in (b - a, c - b, a - c)], axis=1)
    longest = np.take_along_axis(sides, lengths.argmax(axis=1)[:, None], axis=1)[:, 0]
    return longest, np.einsum("ij,ij->i", off, off)


def _split(net: Net, sides: Ints, cut: Mask, middles: Floats, places: Floats) -> Net:
    """Return the net with the edges in the mask `cut` (e,) split at `middles`, drawn at `places`.

    `sides` (t, 3) are the indices of the triangles' edges.
    """
    number = np.where(cut, len(net.points) + np.cumsum(cut) - 1, -1)
    return Net(
        np.concatenate([net.points, middles]),
        split_edges(net.triangles, number[sides]),
        np.concatenate([net.places, places]),
    )


def join_surfaces(parts: Sequence[Surface]) -> tuple[Surface, Ints]:
    """Return all surfaces as one, and the index of the first vertex of each."""
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    faces = [part.triangles + start for part, start in zip(parts, starts, strict=True)]
    return Surface(np.concatenate([part.vertices for part in parts]), np.concatenate(faces)), starts


def longest_sides(vertices: Floats, triangles: Ints) -> Scalars:
    """Return the length (t,) of the longest side of each triangle."""
    corners = vertices[triangles]
    sides = corners - corners[:, [1, 2, 0]]
    return np.asarray(np.sqrt(np.einsum("tij,tij->ti", sides, sides).max(axis=1, initial=0.0)))


def refine_where(
    net: Net,
    midpoint: Midpoint,
    drawn: Placement,
    chosen: TriangleTest,
    quality: Quality,
    rounds: int = MAX_ROUNDS,
) -> Net:
    """Return a net in which the edges of `chosen` triangles are at most `SEAM_EDGE` tolerances.

    Stops after `rounds` halvings, or at the maximum number of triangles. Drafts are not refined.
    """
    for _ in range(rounds):
        if len(net.triangles) > quality.max_triangles or not quality.fine:
            break
        edges, sides = edges_of(net.triangles)
        start, end = edges.T
        long = np.zeros(len(edges), dtype=bool)
        long[sides[chosen(net)]] = True
        length = np.linalg.norm(net.places[end] - net.places[start], axis=1)
        long &= length > SEAM_EDGE * quality.tolerance
        if not long.any():
            break
        middles = midpoint(net.points[start[long]], net.points[end[long]])
        net = _split(net, sides, long, middles, drawn(middles))
    return net


def partly_hidden(hidden: Hidden) -> TriangleTest:
    """Return a test for triangles that have both hidden and visible corners."""
    known = np.zeros(0, dtype=bool)

    def chosen(net: Net) -> Mask:
        nonlocal known  # points are only added
        known = np.concatenate([known, hidden(net.points[len(known) :])])
        corners = known[net.triangles]
        return np.asarray(corners.any(axis=1) & ~corners.all(axis=1))

    return chosen


def cut_net(
    net: Net, midpoint: Midpoint, drawn: Placement, hidden: Hidden, quality: Quality
) -> Net:
    """Return the net without its hidden part, triangles cut along the border."""
    halvings = HALVINGS if quality.fine else DRAFT_HALVINGS
    points, triangles = cut_off(net.points, net.triangles, midpoint, hidden, halvings)
    return Net(points, triangles, _places_of(net, points, drawn))


def cut_rim(
    net: Net, rim: Ints, midpoint: Midpoint, drawn: Placement, hidden: Hidden, quality: Quality
) -> tuple[Net, Ints]:
    """Return the net with points where the edges `rim` (e, 2) are cut, and their visible parts."""
    mask = hidden(net.points)
    first, last = mask[rim].T
    crossing = first != last
    halvings = HALVINGS if quality.fine else DRAFT_HALVINGS
    points, number = cut_edges(net.points, rim[crossing], mask, midpoint, hidden, halvings)
    kept = rim[crossing].copy()
    kept[np.arange(len(kept)), np.where(first[crossing], 0, 1)] = number
    longer = net._replace(points=points, places=_places_of(net, points, drawn))
    return longer, np.concatenate([rim[~first & ~last], kept])


def _places_of(net: Net, points: Floats, drawn: Placement) -> Floats:
    """Return the places of `points`, which begin with those of the net."""
    return np.concatenate([net.places, drawn(points[len(net.points) :])])
