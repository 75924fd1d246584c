"""Meshes over the directions of a bone: differences of two limits, and maps for values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import Ints, Mask, Scalars, Vectors
from ..limit import Limit
from ..limit.node_grid import NodeGrid
from ..shapes.mesh import Surface
from ..shapes.triangles import cut_off, drop_unused_points
from .region import sheet, vector_meshes
from .sheet import TRIED_TWISTS, Sheet, legal_directions, midpoint_direction, twist_about
from .triangles import HALVINGS, Net, Quality, join_surfaces, refine_where

COMPARED = Quality(float(np.radians(0.15)), 16_000)
"""Resolution of differences and maps; edges are at most 16 tolerances, 2.4 degrees."""
SAME_AXIS = 1e-6  # difference between components of equal unit vectors
MAP_DIVISIONS = 24  # of the edges of an octahedron, 3.75 degrees each, for maps without a limit


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
        midpoint_direction,
        np.asarray,
        lambda each: np.ones(len(each.triangles), bool),
        quality,
    )
    return Surface(points, faces)


def _part(mesh: Surface, hidden: Callable[[Vectors], Mask], mask: Mask | None = None) -> Surface:
    """Return the part of a mesh of directions that is not hidden, cut along the border.

    `mask` are the hidden vertices, if known.
    """
    points, cut = cut_off(mesh.vertices, mesh.triangles, midpoint_direction, hidden, HALVINGS, mask)
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
