"""A shoulder by hand as a reach cone: legal directions of the upper arm, and twist limits there."""

import numpy as np

from synovia import DirectionTwist, Limit, LimitModel, ReachCone, Skeleton, quat, save_limits
from synovia.edit.reach_cone import smooth

# The left arm points along x at rest, z is forward, y up. The numbers are made up: degrees forward
# and up, least and greatest twist in degrees.
CORNERS = [
    *((-60, -25, -60, 60), (-30, -65, -70, 70), (60, -80, -80, 77), (110, -50, -70, 70)),
    *((135, 0, -60, 60), (110, 50, -50, 55), (60, 75, -50, 44), (-25, 60, -50, 50)),
    (-55, 20, -55, 55),
]
forward, up, low, high = np.radians(CORNERS).T
points = np.stack([np.cos(up) * np.cos(forward), np.sin(up), np.cos(up) * np.sin(forward)], axis=1)

# Points must be counter-clockwise as seen from outside, so the order is reversed.
cone = smooth(ReachCone(points[::-1], low[::-1], high[::-1]), rounds=1)
shoulder = Limit(DirectionTwist(axis=[1.0, 0.0, 0.0]), cone)
print(f"{len(cone.points)} points, {shoulder.volume():.0%} of all rotations are legal")

behind = quat.exp(np.radians([0.0, 100.0, 0.0]))  # 100 degrees backwards
short_deg = np.degrees(shoulder.violation(behind))
print(f"an arm moved 100 degrees backwards stops {short_deg:.0f} degrees earlier")
low_deg, high_deg = np.degrees(cone.twist_range(np.array([1.0, 0.0, 0.0])))
print(f"at rest it may twist from {low_deg:.0f} to {high_deg:.0f} degrees")

arm = Skeleton(("Chest", "LeftArm"), [-1, 0], [[0.0, 0.0, 0.0], [15.0, 0.0, 0.0]])
save_limits(LimitModel({"LeftArm": shoulder}, arm), "shoulder.limits.json")
print("wrote shoulder.limits.json")
