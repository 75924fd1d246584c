"""Approach a limit softly instead of hitting it."""

import numpy as np

from synovia import Beyond, Box, Inside, Limit, RotationVector, quat

limit = Limit(RotationVector(), Box([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], np.eye(3)))
angles = np.linspace(0.6, 2.0, 8)
rotations = quat.exp(angles[:, None] * np.array([1.0, 0.0, 0.0]))

print("input    hard  inside  beyond")
columns = [
    limit.project(rotations),
    limit.soften(rotations, Inside(radius=0.3)),
    limit.soften(rotations, Beyond(radius=0.1)),
]
for angle, *row in zip(angles, *(quat.log(column)[:, 0] for column in columns), strict=True):
    print(f"{angle:5.2f}" + "".join(f"{value:8.3f}" for value in row))
