"""The Euler angles of reach cones' source, and its cones in terms of swing and twist.

There a rotation is x(θx) · y(θy) · z(θz), with z along the bone (its matrix 5 is the transpose, for
row vectors), and the twist is θz. A direction has two pairs (θx, θy), by the sign of cos θy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Quats, Scalars, Vectors, rows, unit_quats
from ..shapes.reach_cone.cone import ReachCone
from ..shapes.reach_cone.star import from_polar, polar

LOCKED = 1e-9  # cos θy below which only a sum of θx and θz is known
RINGS, AROUND = 64, 8  # where the error is looked for: steps outwards, and along each edge


def to_xyz_euler(rotations: Quats, old: Floats | None = None) -> Floats:
    """Return (θx, θy, θz) of rotations (..., 4), in radians: of both branches the one nearer `old`.

    Near by the sum of squares, whole turns allowed; `old` is 0 unless given. Where cos θy is 0
    only θx + θz or θx − θz is known: θx stays as it was.
    """
    matrix = quat.to_matrix(unit_quats("rotations", rotations)).astype(np.float64)
    return matrix_to_xyz_euler(matrix, old)


def matrix_to_xyz_euler(matrices: Floats, old: Floats | None = None) -> Floats:
    """Return (θx, θy, θz) of matrices (..., 3, 3) for column vectors; see `to_xyz_euler`."""
    m = np.asarray(matrices, np.float64)
    if m.shape[-2:] != (3, 3) or not np.isfinite(m).all():
        raise ValueError(f"matrices must be finite, of shape (..., 3, 3), got {m.shape}")
    before = np.zeros(3) if old is None else rows("old", old, 3)
    before = np.broadcast_to(before, (*m.shape[:-2], 3))
    cosine = np.hypot(m[..., 0, 0], m[..., 0, 1])
    y = np.arctan2(m[..., 0, 2], cosine)
    x = np.arctan2(-m[..., 1, 2], m[..., 2, 2])
    z = np.arctan2(-m[..., 0, 1], m[..., 0, 0])
    locked = cosine < LOCKED
    side = np.where(m[..., 0, 2] > 0.0, 1.0, -1.0)
    both = np.arctan2(m[..., 1, 0], m[..., 1, 1])  # θz ± θx
    x = np.where(locked, before[..., 0], x)
    z = np.where(locked, both - side * x, z)
    first = np.stack([x, y, z], axis=-1)
    second = np.stack([x + np.pi, np.pi - y, z + np.pi], axis=-1)
    second = np.where(locked[..., None], first, second)
    branches = [near + TURN * np.rint((before - near) / TURN) for near in (first, second)]
    far = [np.square(branch - before).sum(axis=-1) for branch in branches]
    return np.where((far[1] < far[0])[..., None], branches[1], branches[0])


def from_xyz_euler(angles: Floats) -> Quats:
    """Return the rotations (..., 4) of angles (θx, θy, θz), in radians."""
    angles = rows("angles", angles, 3)
    x, y, z = (quat.exp(angles[..., k, None] * np.eye(3)[k]) for k in range(3))
    return quat.mul(quat.mul(x, y), z)


@dataclass(frozen=True, eq=False)
class ConvertedCone:
    """A cone with limits of the twist of swing and twist, and the largest `error` in radians."""

    cone: ReachCone
    error: float


def from_euler_cone(cone: ReachCone) -> ConvertedCone:
    """Return a cone whose limits are Wilhelms & Van Gelder's θz, cos θy >= 0, as limits of twist.

    The two differ by an angle that depends on the direction. It is added at every vertex and at
    the visible point; between them it is not linear, and the `error` says by how much. It winds
    around x, −x and −z, so a cone that has one of these is refused: there is no such cone.
    """
    for name, direction in (("x", [1, 0, 0]), ("-x", [-1, 0, 0]), ("-z", [0, 0, -1])):
        if cone.contains_direction(np.array(direction, float)):
            raise ValueError(
                f"the cone contains the direction {name}, around which that twist winds: "
                "its limits cannot be converted; convert rotation by rotation"
            )
    n, edges = len(cone.points), np.roll(cone.points, -1, axis=0)
    share = (np.arange(AROUND) / AROUND)[:, None]
    rim = (cone.points[:, None] + share * (edges - cone.points)[:, None]).reshape(-1, 3)
    azimuth, angle = polar(rim / np.linalg.norm(rim, axis=1, keepdims=True), cone.visible)
    out = np.linspace(0.0, 1.0, RINGS + 1)[:, None]
    fan = from_polar(np.broadcast_to(azimuth, (RINGS + 1, n * AROUND)), out * angle, cone.visible)
    offset = np.unwrap(_twist_offset(fan), axis=0)  # along rays from the visible point
    corner, middle = offset[-1, ::AROUND], float(offset[0, 0])
    shifted = ReachCone(cone.points, corner, corner, cone.visible, middle, middle)
    error = np.abs(shifted.twist_range(fan)[..., 0] - offset).max()
    converted = replace(
        cone,
        low=cone.low + corner,
        high=cone.high + corner,
        visible_low=cone.visible_low + middle,
        visible_high=cone.visible_high + middle,
    )
    return ConvertedCone(converted, float(error))


def _twist_offset(directions: Vectors) -> Scalars:
    """Return by how much the twist exceeds θz, at directions off ±x and −z."""
    x, y, z = np.moveaxis(directions, -1, 0)
    turned = np.stack([np.arctan2(-y, z), np.arctan2(x, np.hypot(y, z)), np.zeros_like(x)], axis=-1)
    swing = quat.between(np.array([0.0, 0.0, 1.0]), directions)
    rest = quat.mul(quat.inverse(swing), from_xyz_euler(turned))
    return np.asarray(2.0 * np.arctan2(rest[..., 3], rest[..., 0]))
