"""Joints in the world: rotations and positions, parents before children, pose after pose."""

from __future__ import annotations

from .jit import kernel
from .vector import quat_at, rotate, set_quat, set_vec3, vec3_at


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
            parent, own = quat_at(rotations[item, up], 0), rotations[item, j]
            position = positions[item]
            moved = rotate(parent, vec3_at(position[j], 0))
            set_vec3(position[j], 0, vec3_at(position[up], 0) + moved)
            set_quat(own, 0, parent * quat_at(own, 0))
