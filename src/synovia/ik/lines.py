"""Lines of joints: those above a joint, and a skeleton of nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..skeleton import Skeleton


def line_to(skeleton: Skeleton, joint: int) -> list[int]:
    """Return the numbers of a joint and of all above it, the root last."""
    line = []
    while joint >= 0:
        line.append(joint)
        joint = int(skeleton.parents[joint])
    return line


def part_of(skeleton: Skeleton, order: Sequence[int]) -> Skeleton:
    """Return the skeleton of the joints `order`, rising, all above them among these."""
    numbers = list(order)
    parents = skeleton.parents[numbers].tolist()
    return Skeleton(
        tuple(skeleton.names[joint] for joint in numbers),
        np.array([numbers.index(up) if up >= 0 else -1 for up in parents]),
        skeleton.offsets[numbers],
    )
