"""Print the possible range along each clinical axis beside the published one, in degrees.

    python benchmarks/ranges.py

Columns: end of the possible range, published mean and SD ("*": no SD is published, this one is
ours), the least and greatest end that is allowed, and the source with its status.
"""

from __future__ import annotations

import numpy as np

from synovia import quat
from synovia.limit import Limit
from synovia.population import canonical_limits, joint_name
from synovia.population.envelope import PublishedRange, published_ranges, unit
from synovia.rigs.canonical import BONE_DIRECTIONS, FORWARD

STEP_DEG = 0.5  # of the search for the end of a range
BISECTIONS = 12  # halvings of a step: to 0.0001 degrees
TWISTS = np.radians(np.arange(-180.0, 180.0, 2.0))  # tried where any rotation of the limb will do


def allows(limit: Limit, row: PublishedRange, degrees: float) -> bool:
    """Return True if a limit lets a joint go so far along a clinical axis, from the start."""
    start = quat.IDENTITY
    for vector in row.start:
        start = quat.mul(start, quat.exp(np.radians(vector)))
    twists = TWISTS if row.any_rotation else np.zeros(1)
    there = quat.mul(quat.exp(np.radians(degrees) * unit(row.about)), start)
    bone = BONE_DIRECTIONS.get(row.joint, FORWARD)
    return bool(limit.contains(quat.mul(there, quat.exp(twists[:, None] * bone))).any())


def range_end(limit: Limit, row: PublishedRange) -> float:
    """Return how far a limit lets a joint go along a clinical axis, in degrees from the start."""
    if not allows(limit, row, 0.0):
        raise ValueError(f"the start of {row.joint} {row.motion} is outside the limit")
    last = 0.0
    while last < 360.0 and allows(limit, row, last + STEP_DEG):
        last += STEP_DEG
    step = STEP_DEG
    for _ in range(BISECTIONS):
        step *= 0.5
        last += step if allows(limit, row, last + step) else 0.0
    return last


def main() -> None:
    limits = canonical_limits("possible").limits
    print(f"{'joint':18} {'motion':42} {'end':>6} {'mean':>6} {'SD':>5}  allowed")
    for row in published_ranges():
        end = range_end(limits[row.joint], row)
        inside = row.mean <= end <= row.farthest
        print(
            f"{joint_name(row.joint):18} {row.motion:42} {end:6.1f} {row.mean:6.1f} {row.sd:5.1f}"
            f"{'*' if row.sd_is_stated else ' '} {row.mean:5.0f} to {row.farthest:3.0f} "
            f"{'' if inside else 'OUTSIDE '}({row.status}) {row.source}"
        )


if __name__ == "__main__":
    main()
