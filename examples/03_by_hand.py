"""A limit by hand: an elbow that bends from 0 to 145 degrees and twists by ±80 degrees."""

import numpy as np

from synovia import Box, Limit, SwingTwist, quat

bend, twist = np.radians([0.0, 145.0]), np.radians([-80.0, 80.0])
swing_low, swing_high = [0.0, bend[0]], [0.0, bend[1]]
region = Box(low=[*swing_low, twist[0]], high=[*swing_high, twist[1]], axes=np.eye(3))
elbow = Limit(SwingTwist(axis=[0.0, 0.0, 1.0]), region)

for degrees in (-30.0, 60.0, 170.0):
    rotation = quat.exp(np.array([0.0, np.radians(degrees), 0.0]))
    legal_deg = np.degrees(quat.log(elbow.project(rotation))[1])
    print(f"{degrees:6.1f} degrees become {legal_deg:6.1f}")
