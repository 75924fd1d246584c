"""Fit the limit of one joint to rotations, and query it."""

import numpy as np

from synovia import Limit, first_exit, quat

rng = np.random.default_rng(0)
observed = quat.exp(rng.normal(size=(500, 3)) * (0.6, 0.3, 0.2))

limit = Limit.fit(observed, shape="ellipsoid", margin=0.05)
print(f"legal: {limit.volume():.1%} of all rotations")

wild = quat.exp(np.array([2.4, 0.3, 0.0]))
legal = limit.project(wild)
print("was inside:", bool(limit.contains(wild)), " is inside:", bool(limit.contains(legal)))
print(f"violation: {np.degrees(limit.violation(wild)):.1f} degrees")

rest = quat.IDENTITY
print(f"rotating from rest, the limit is reached after {first_exit(limit, rest, wild):.0%}")
print("five legal rotations:", limit.sample(5, rng).round(2).tolist())
