"""Two limits of one joint on one sphere: the directions that either allows, or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import Ints, Mask, Scalars, Vectors
from ..limit import Limit
from ..shapes import Surface
from ..shapes.boundary import cut_off, drop_unused_points
from .region import sheet, vector_meshes
from .sheet import TRIED_TWISTS, Sheet, legal_directions, midpoint_direction, twist_about
from .triangles import HALVINGS, Net, Quality, refine_where

COMPARED = Quality(float(np.radians(0.15)), 16_000)
"""Of a picture of two limits. No side of a triangle is longer than 16 times the tolerance."""
SAME_AXIS = 1e-6


@dataclass(frozen=True, eq=False)
class SheetDifference:
    """Directions that a bone may point in by one of two limits, seen from the new one's reference.

    Each triangle of `mesh` is of directions that both limits allow, or that only one of them does.
    `gained` and `lost` are, at the vertices, the shares of the twists that only the new limit
    allows and only the old one, among those that either does.
    """

    mesh: Surface
    gained: Scalars
    lost: Scalars
    old_rim: tuple[Vectors, Ints]
    """Where the directions of the old limit end: points, and edges (e, 2) between them."""


def sheet_difference(
    old: Limit, new: Limit, bone: Vectors, quality: Quality = COMPARED
) -> SheetDifference:
    """Return where the bone may point by two limits, and where by only one of them.

    It is `bone`, or the axis of the new limit if its family is one of directions. Twists are told
    to 5 degrees.
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
        _join([both, added, gone]),
        gained=np.concatenate([gained, more, 0.0 * less]),
        lost=np.concatenate([lost, 0.0 * more, less]),
        old_rim=(directions, theirs.rim),
    )


def _join(parts: Sequence[Surface]) -> Surface:
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    faces = [part.triangles + start for part, start in zip(parts, starts[:-1], strict=True)]
    return Surface(np.concatenate([part.vertices for part in parts]), np.concatenate(faces))


def _sheet_about(limit: Limit, axis: Vectors, quality: Quality) -> Sheet:
    """Return where an axis may point by a limit, also where its family has another axis."""
    own = sheet(limit, axis, quality)
    if np.abs(own.axis - axis).max() < SAME_AXIS:
        return own
    return vector_meshes(limit, axis, quality)[0]


def refine_directions(mesh: Surface, quality: Quality) -> Surface:
    """Return a mesh of directions with small triangles, so that what cuts them is not missed."""
    net = Net(mesh.vertices, mesh.triangles, mesh.vertices)
    points, triangles, _ = refine_where(
        net,
        midpoint_direction,
        np.asarray,
        lambda each: np.ones(len(each.triangles), bool),
        quality,
    )
    return Surface(points, triangles)


def _part(mesh: Surface, hidden: Callable[[Vectors], Mask], mask: Mask | None = None) -> Surface:
    """Return what of a mesh of directions is not hidden; triangles are cut where that begins.

    `mask` tells which vertices are, if that is known.
    """
    points, triangles = cut_off(
        mesh.vertices, mesh.triangles, midpoint_direction, hidden, HALVINGS, mask
    )
    numbers, faces = drop_unused_points(triangles, len(points))
    return Surface(points[numbers], faces)


def _twist_shares(
    old: Limit, new: Limit, axis: Vectors, directions: Vectors
) -> tuple[Scalars, Scalars]:
    """Return which shares of the twists that either limit allows only the new one does, or old."""
    swings = quat.mul(new.chart.reference, quat.between(axis, directions))
    twisted = twist_about(swings, axis, TRIED_TWISTS[:, None])
    was, now = old.contains(twisted), new.contains(twisted)
    either = np.maximum((was | now).sum(axis=0), 1)
    return (now & ~was).sum(axis=0) / either, (was & ~now).sum(axis=0) / either
