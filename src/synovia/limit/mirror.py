"""Limits of the other side: what a mirror shows of a limit.

A mirror in the plane across n takes a rotation to one of the same angle about minus the mirrored
axis. A mirror is a half turn about n and a point reflection, and that changes no rotation: so a
mirrored rotation is the half turn, the rotation, and the half turn back.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from ..charts import AnyChart, DirectionTwist, EulerZYZ, SwingTwist
from ..charts.chart import unit_axis
from ..shapes import Box, DistanceField, Ellipsoid, KDop, Product, ReachCone, Shape, ThetaPhi, Union
from ..shapes.reach_cone.edit import mirror
from .limit import Limit

ALONG = 1e-9
"""How far a turn's entries may be from 0 and ±1, for it to take a grid's axes to each other."""
EULER_SIGNS = np.array([[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
"""What a mirror across x, y or z makes of φ, ψ − π/2 and θ."""
EULER_MIDDLE = np.array([0.0, 0.5 * np.pi, 0.0])


def mirror_rotations(rotations: Quats, normal: Vectors) -> Quats:
    """Return what a mirror in the plane across `normal` shows of rotations (..., 4)."""
    half = _half_turn(normal)
    return quat.mul(quat.mul(half, rotations), quat.inverse(half))


def mirror_limit(limit: Limit, normal: Vectors) -> Limit:
    """Return the limit of the other side: it contains what a mirror shows of legal rotations.

    The plane is across `normal` (3,), of any length, as the one sees it that the limit is measured
    from. Family and chart stay. A distance field has a grid along the axes of its chart: across
    other normals than these it cannot be mirrored exactly, and ValueError says so.
    """
    shape = limit.shape
    if isinstance(limit.chart, DirectionTwist):
        reference = mirror_rotations(limit.chart.reference, normal)
        there = DirectionTwist(reference, _reflect(limit.chart.axis, normal))
        return replace(limit, chart=there, shape=_mirror_directions(shape, normal))
    found = _mirror_charts(limit.chart, normal)
    if not isinstance(shape, DistanceField):
        return replace(limit, chart=found[0][0], shape=_turn_shape(shape, found[0][1]))
    for chart, turn in found:
        if np.abs(turn - np.rint(turn)).max() <= ALONG:
            middle = EULER_MIDDLE if isinstance(chart, EulerZYZ) else np.zeros(3)
            return replace(limit, chart=chart, shape=_turn_field(shape, np.rint(turn), middle))
    raise ValueError(
        "a distance field has its grid along the axes of its chart, and can be mirrored only in a "
        f"plane across one of them, got the normal {np.round(_unit(normal), 4).tolist()}"
    )


def _half_turn(normal: Vectors) -> Quats:
    return np.concatenate([[0.0], _unit(normal)])


def _unit(normal: Vectors) -> Vectors:
    return unit_axis(np.array(normal, dtype=np.float64), "the mirror's normal")


def _reflect(vectors: Vectors, normal: Vectors) -> Vectors:
    across = _unit(normal)
    return np.asarray(vectors - 2.0 * (vectors @ across)[..., None] * across)


def _mirror_charts(chart: AnyChart, normal: Vectors) -> list[tuple[AnyChart, Floats]]:
    """Return charts of the other side, each with the turn (3, 3) of points to points there.

    About either end of the bone, swing and twist are the same; the mirrored bone comes first.
    """
    reference = mirror_rotations(chart.reference, normal)
    half = quat.to_matrix(_half_turn(normal))
    if isinstance(chart, SwingTwist):
        bone = _reflect(chart.axis, normal)
        there = [SwingTwist(reference, axis) for axis in (bone, -bone)]
        frame = quat.to_matrix(chart.frame)
        return [(each, quat.to_matrix(each.frame).T @ half @ frame) for each in there]
    if isinstance(chart, EulerZYZ):
        along = np.abs(_unit(normal))
        # Across other normals the three angles mix: no turn of them is the mirror's.
        turn = np.diag(EULER_SIGNS[along.argmax()]) if along.max() > 1.0 - ALONG else 0.5 * half
        return [(replace(chart, reference=reference), turn)]
    return [(replace(chart, reference=reference), half)]


def _turn_shape(shape: Shape, turn: Floats) -> Shape:
    """Return a shape of points, turned about the origin."""
    if isinstance(shape, Box | KDop):
        return replace(shape, axes=shape.axes @ turn.T)
    if isinstance(shape, Ellipsoid):
        return replace(shape, center=turn @ shape.center, axes=shape.axes @ turn.T)
    if isinstance(shape, Product):
        # A bone and its mirror twist in opposite senses.
        return Product(_turn_shape(shape.swing, turn[:2, :2]), -shape.high, -shape.low)  # type: ignore[arg-type]
    raise ValueError(f"a {shape.name} cannot be mirrored")


def _turn_field(field: DistanceField, turn: Floats, middle: Floats) -> DistanceField:
    """Return the field turned about `middle`, by a turn that takes axes to axes."""
    source = np.abs(turn).argmax(axis=1)  # of each axis, the one that it was
    flipped = turn.sum(axis=1) < 0.0
    last = field.low + field.spacing * (np.array(field.values.shape) - 1)
    low = np.where(flipped, (middle - last)[source], (field.low - middle)[source]) + middle
    values = np.flip(field.values.transpose(source), tuple(np.flatnonzero(flipped).tolist()))
    wraps = field.wraps[source]
    return DistanceField(low, field.spacing[source], values, field.threshold, wraps)


def _mirror_directions(shape: Shape, normal: Vectors) -> Shape:
    """Return a shape of directions and twists as the mirror shows it: twists change their sign."""
    if isinstance(shape, ReachCone):
        return mirror(shape, _unit(normal))
    if isinstance(shape, Union):
        return Union(tuple(mirror(part, _unit(normal)) for part in shape.parts))
    if isinstance(shape, ThetaPhi):
        # The frame turns left-handed with the mirror, so that every cell stays what it is.
        return replace(shape, low=-shape.high, high=-shape.low, frame=_reflect(shape.frame, normal))
    raise ValueError(f"a {shape.name} cannot be mirrored")
