"""Where points of a chart are drawn among rotations, as vectors from its reference."""

from __future__ import annotations

import numpy as np

from .. import quat
from ..arrays import Floats, Points, Scalars, Vectors
from ..charts import AnyChart, DirectionTwist, RotationVector, SwingTwist


def vectors_of(chart: AnyChart, points: Points) -> Points:
    """Return points of a chart as rotation vectors (n, 3) from its reference, in radians.

    They go on beyond half a turn, so that a region that does is not torn; only Euler angles, which
    know no such thing, are folded. Swings and twists are written out, for pictures spend much of
    their time here.
    """
    if isinstance(chart, RotationVector):
        return points
    if isinstance(chart, DirectionTwist):
        # With a the axis and d the direction, the swing is (w, a × d/2w), w² = (1 + a·d)/2.
        directions = points[:, :3]
        cosine = directions @ chart.axis[:, None]
        w = np.sqrt(np.maximum(0.5 * (1.0 + cosine), 1e-18))
        v = directions @ _across(chart.axis) / (2.0 * w)
        return _twisted(w, v, chart.axis, points[:, 3:])
    if isinstance(chart, SwingTwist):
        x, y = quat.rotate(chart.frame, np.eye(3)[:2])
        swing = points[:, :1] * x + points[:, 1:2] * y
        half = 0.5 * np.linalg.norm(points[:, :2], axis=1, keepdims=True)
        v = 0.5 * np.sinc(half / np.pi) * swing
        return _twisted(np.cos(half), v, chart.axis, points[:, 2:])
    return quat.log(quat.mul(quat.inverse(chart.reference), chart.rotations(points)))


def _twisted(w: Scalars, v: Vectors, axis: Vectors, twist: Scalars) -> Points:
    """Return the rotation vectors of swings (w, v), v across the axis, after twists about it."""
    c, s = np.cos(0.5 * twist), np.sin(0.5 * twist)
    vector = c * v + s * (w * axis - v @ _across(axis))
    sine = np.sqrt(np.einsum("ij,ij->i", vector, vector))[:, None]
    angle = 2.0 * np.arctan2(sine, w * c)
    share = np.divide(angle, sine, out=np.full_like(sine, 2.0), where=sine > 0.0)
    return np.asarray(vector * share)


def _across(axis: Vectors) -> Floats:
    """Return the matrix (3, 3) from which rows v get axis × v; sooner than `np.cross` does."""
    x, y, z = axis
    return np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
