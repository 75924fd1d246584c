"""Export limits to physics engines: a shoulder as hinges and half-spaces, and the loss."""

from pathlib import Path

import numpy as np

from synovia import Limit, LimitModel, Skeleton, load_limits, quat
from synovia.export import export_limits, hinged_joint

# A shoulder that swings far in one direction and little in others.
rng = np.random.default_rng(0)
observed = quat.exp(
    rng.normal(size=(400, 3)) * [0.7, 0.2, 0.35] @ quat.to_matrix(quat.exp([0, 0.4, 0.3]))
)
shoulder = Limit.fit(observed, "ellipsoid")
elbow = Limit.fit(quat.exp(rng.uniform([0, -0.05, -0.05], [2.4, 0.05, 0.05], (400, 3))), "kdop")
print(f"the limit has {shoulder.volume():.2%} of all rotations")

ranges, with_planes = (hinged_joint(shoulder, "Arm", slanted=slanted) for slanted in (False, True))
print(f"three hinges gain {ranges.loss.gained:.2%}")
print(f"with {len(with_planes.slants)} half-spaces they gain {with_planes.loss.gained:.2%}")

arm = Skeleton(
    ("Chest", "Arm", "Forearm"),
    [-1, 0, 1],
    [[0, 1.2, 0], [0.2, 0.2, 0], [0.3, 0, 0]],
    end_parents=[2],
    end_offsets=[[0.25, 0, 0]],
    up="y",
    unit=1.0,
)
model = LimitModel({"Arm": shoulder, "Forearm": elbow}, arm)
for target, name in (("mjcf", "arm.xml"), ("urdf", "arm.urdf"), ("unity", "arm.unity.json")):
    exported = export_limits(model, target)
    Path(name).write_bytes(exported.content)
    print(f"{name}: " + ", ".join(f"{k} gains {v.gained:.2%}" for k, v in exported.losses.items()))

again = load_limits("arm.urdf")  # ranges are read back as limits like any other
print(again.limits["Arm"].chart.name, again.limits["Arm"].shape.name)
