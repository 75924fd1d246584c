"""Joints in the world: rotations and positions, parents before children, pose after pose."""

from __future__ import annotations

from .jit import kernel


@kernel("i8[] f8[,,] f8[,,]")
def forward(parents, rotations, positions):
    """Turn rotations (n, J, 4) and positions (n, J, 3) relative to parents into those in the world.

    In place: a parent is in the world when its children are read.
    """
    for item in range(rotations.shape[0]):
        for j in range(parents.shape[0]):
            up = parents[j]
            if up < 0:
                continue
            w, x, y = rotations[item, up, 0], rotations[item, up, 1], rotations[item, up, 2]
            z = rotations[item, up, 3]
            vx, vy, vz = positions[item, j, 0], positions[item, j, 1], positions[item, j, 2]
            tx, ty = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz)
            tz = 2.0 * (x * vy - y * vx)
            positions[item, j, 0] = positions[item, up, 0] + (vx + w * tx + y * tz - z * ty)
            positions[item, j, 1] = positions[item, up, 1] + (vy + w * ty + z * tx - x * tz)
            positions[item, j, 2] = positions[item, up, 2] + (vz + w * tz + x * ty - y * tx)
            a, b = rotations[item, j, 0], rotations[item, j, 1]
            c, d = rotations[item, j, 2], rotations[item, j, 3]
            rotations[item, j, 0] = w * a - x * b - y * c - z * d
            rotations[item, j, 1] = w * b + x * a + y * d - z * c
            rotations[item, j, 2] = w * c - x * d + y * a + z * b
            rotations[item, j, 3] = w * d + x * c - y * b + z * a
