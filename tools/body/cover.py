"""Skin that covers the bones: thicker where a bone would leave it in one of several poses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.spatial import cKDTree

from synovia import forward, quat
from synovia.arrays import Floats, Ints, Vectors, unit_vectors

from .bones import reference_human
from .skin import bind_pose
from .surface import WeightedMesh

FLEXED = (0.0, 60.0, 100.0, 140.0)
"""Flexions of elbows and knees in degrees, in the poses in which bones are to be covered."""
STEP = 0.004  # metres by which the skin moves in a pass where a bone is outside
REACH = 0.015  # metres; around a bone that is outside, the skin bulges by a Gaussian this wide
PASSES = 6
BLOCK = 100  # points at once; bounds the memory of `winding_numbers`


def cover_bones(skin: WeightedMesh, bones: WeightedMesh) -> WeightedMesh:
    """Return the skin with its vertices moved outwards, so that bones stay below it."""
    vertices = skin.vertices
    for _ in range(PASSES):
        moves = np.zeros(len(vertices))
        for matrices in pose_matrices():
            posed = deform(vertices, skin, matrices)
            points = deform(bones.vertices, bones, matrices)
            nearest = cKDTree(posed).query(points)[1]
            normals = vertex_normals(posed, skin.triangles)[nearest]
            points = points[np.sum((points - posed[nearest]) * normals, axis=1) > 0.0]
            for point in points[winding_numbers(points, posed[skin.triangles]) < 0.5]:
                distances = np.linalg.norm(posed - point, axis=1)
                bulge = np.exp(-0.5 * ((distances - distances.min()) / REACH) ** 2)
                moves = np.maximum(moves, STEP * bulge)
        vertices = vertices + moves[:, None] * vertex_normals(vertices, skin.triangles)
    return replace(skin, vertices=vertices)


def pose_matrices() -> Iterator[Floats]:
    """Yield for each pose the matrices (segments, 3, 4) that move segments from the bind pose."""
    figure = reference_human()
    start, before = forward(figure.skeleton, bind_pose())
    hinges = [
        f"{side}_{joint}.flexion" for side in ("left", "right") for joint in ("elbow", "knee")
    ]
    for flexion in FLEXED:
        end, after = forward(figure.skeleton, figure.pose(dict.fromkeys(hinges, flexion)))
        rotations = quat.mul(after, quat.inverse(before))
        moved = end - quat.rotate(rotations, start)
        yield np.concatenate([quat.to_matrix(rotations), moved[:, :, None]], axis=2)


def deform(vertices: Vectors, mesh: WeightedMesh, matrices: Floats) -> Vectors:
    """Return vertices (n, 3) moved by the matrices of a mesh's segments, by their weights."""
    blended = np.einsum("nk,nkij->nij", mesh.weights, matrices[mesh.segments])
    return np.einsum("nij,nj->ni", blended[:, :, :3], vertices) + blended[:, :, 3]


def vertex_normals(vertices: Vectors, triangles: Ints) -> Vectors:
    """Return unit normals (n, 3) of a mesh: means over the triangles at each vertex."""
    a, b, c = (vertices[triangles[:, corner]] for corner in range(3))
    sums = np.zeros_like(vertices)
    np.add.at(sums, triangles, np.cross(b - a, c - a)[:, None])
    return unit_vectors(sums)


def winding_numbers(points: Vectors, corners: Vectors) -> Floats:
    """Return how often closed triangles (m, 3, 3) wind around points (n, 3): 0 outside, 1 inside.

    The sum of the solid angles of all triangles over 4π, by Van Oosterom & Strackee (1983).
    """
    numbers = np.empty(len(points))
    for start in range(0, len(points), BLOCK):
        seen = corners - points[start : start + BLOCK, None, None]
        a, b, c = np.moveaxis(seen, -2, 0)
        lengths = np.linalg.norm(seen, axis=-1)
        la, lb, lc = np.moveaxis(lengths, -1, 0)
        numerator = np.sum(a * np.cross(b, c), axis=-1)
        dots = [np.sum(x * y, axis=-1) for x, y in ((a, b), (b, c), (c, a))]
        denominator = la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb
        angles = 2.0 * np.arctan2(numerator, denominator)
        numbers[start : start + BLOCK] = angles.sum(axis=-1) / (4.0 * np.pi)
    return numbers
