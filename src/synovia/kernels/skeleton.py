"""Joints in the world: rotations and positions, parents before children, pose after pose."""

from __future__ import annotations

from .ik_chain import product, rotate
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
            q, r = rotations[item, up], rotations[item, j]
            v, above = positions[item, j], positions[item, up]
            x, y, z = rotate(q[0], q[1], q[2], q[3], v[0], v[1], v[2])
            v[0], v[1], v[2] = above[0] + x, above[1] + y, above[2] + z
            r[0], r[1], r[2], r[3] = product(q[0], q[1], q[2], q[3], r[0], r[1], r[2], r[3])
