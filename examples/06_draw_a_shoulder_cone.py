"""A shoulder drawn by hand as a reach cone: where the upper arm may point, and its twist there."""

import numpy as np

from synovia import DirectionTwist, Limit, LimitModel, ReachCone, Skeleton, quat, save_limits
from synovia.edit.reach_cone import smooth

# The left arm points along x at rest, z is forward, y up. The numbers are ours, for this example:
# towards (degrees forward, degrees up), least and greatest twist, counter-clockwise from outside.
DRAWN = [
    *((-60, -25, -60, 60), (-30, -65, -70, 70), (60, -80, -80, 77), (110, -50, -70, 70)),
    *((135, 0, -60, 60), (110, 50, -50, 55), (60, 75, -50, 44), (-25, 60, -50, 50)),
    (-55, 20, -55, 55),
]
forward, up, low, high = np.radians(DRAWN).T
points = np.stack([np.cos(up) * np.cos(forward), np.sin(up), np.cos(up) * np.sin(forward)], axis=1)

# Seen from outside, forward is to the left here: the order is turned round.
cone = smooth(ReachCone(points[::-1], low[::-1], high[::-1]), rounds=1)
shoulder = Limit(DirectionTwist(axis=[1.0, 0.0, 0.0]), cone)
print(f"{len(cone.points)} points, {shoulder.volume():.0%} of all rotations are legal")

behind = quat.exp(np.radians([0.0, 100.0, 0.0]))  # the arm turned 100 degrees backwards
given = shoulder.project(behind)
print(
    f"an arm asked to go 100 degrees back stops {np.degrees(shoulder.violation(behind)):.0f} short"
)
left, twist = np.degrees(cone.left(shoulder.chart.points(quat.IDENTITY)))
print(f"at rest {left:.0f} degrees are left in direction, and {twist:.0f} in twist")

arm = Skeleton(("Chest", "LeftArm"), [-1, 0], [[0.0, 0.0, 0.0], [15.0, 0.0, 0.0]])
save_limits(LimitModel({"LeftArm": shoulder}, arm), "shoulder.limits.json")
print("wrote shoulder.limits.json")
