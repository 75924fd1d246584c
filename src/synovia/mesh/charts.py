"""Points of charts as rotation vectors, and names of their coordinates, for pictures."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Points, Scalars, Vectors
from ..charts import Chart, DirectionTwist, RotationVector, SwingTwist

_COORDINATES = {
    "rotation-vector": ("about x", "about y", "about z"),
    "swing-twist": ("swing x", "swing y", "twist"),
    "direction-twist": ("towards x", "towards y", "towards z", "twist"),
    "euler": ("φ", "ψ", "θ"),
    "hinges": ("1st hinge", "2nd hinge", "3rd hinge"),
}
STEP = 1e-3  # radians; short enough that the sign of the determinant is that at the reference


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
    swing = points[:, :1] * x + points[:, 1:2] * y
    half = 0.5 * np.linalg.norm(points[:, :2], axis=1, keepdims=True)
    v = 0.5 * np.sinc(half / np.pi) * swing
    return _twisted_vectors(np.cos(half), v, chart.in_joint(chart.axis), points[:, 2:])


@rotation_vectors.register
def _(chart: DirectionTwist, points: Points) -> Vectors:
    # With a the axis and d the direction, the swing is (w, a × d/2w), w² = (1 + a·d)/2.
    directions = points[:, :3]
    cosine = directions @ chart.axis[:, None]
    w = np.sqrt(np.maximum(0.5 * (1.0 + cosine), 1e-18))
    v = directions @ _cross_matrix(chart.axis) / (2.0 * w)
    return chart.in_joint(_twisted_vectors(w, v, chart.axis, points[:, 3:]))


def tear_length(chart: Chart) -> float:
    """Return the length of `rotation_vectors`, in radians, where neighbours may be far apart."""
    if isinstance(chart, RotationVector):
        return np.inf
    return TURN if isinstance(chart, SwingTwist | DirectionTwist) else np.pi


def _twisted_vectors(w: Scalars, v: Vectors, axis: Vectors, twist: Scalars) -> Vectors:
    """Return the rotation vectors (n, 3) of swings (w, v) after twists (n, 1) about the axis.

    w (n, 1) and v (n, 3) are the quaternions of the swings, v across the axis. The product is
    written out because pictures spend much of their time here.
    """
    c, s = np.cos(0.5 * twist), np.sin(0.5 * twist)
    vector = c * v + s * (w * axis - v @ _cross_matrix(axis))
    sine = np.sqrt(np.einsum("ij,ij->i", vector, vector))[:, None]
    angle = 2.0 * np.arctan2(sine, w * c)
    factor = np.divide(angle, sine, out=np.full_like(sine, 2.0), where=sine > 0.0)
    return np.asarray(vector * factor)


def _cross_matrix(axis: Vectors) -> Floats:
    """Return the matrix M (3, 3) with v @ M = axis × v for rows v; faster than `np.cross`."""
    x, y, z = axis
    return np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
