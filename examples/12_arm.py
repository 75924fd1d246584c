"""Move a wrist along a path: the elbow bends by distance, the shoulder stays in its table."""

import numpy as np

from synovia import Box, Clip, DirectionTwist, Limit, LimitModel, Skeleton, SwingTwist, ThetaPhi
from synovia.ik import arm
from synovia.io import save_clip

names = ("Chest", "Shoulder", "Elbow", "Wrist")
skeleton = Skeleton(names, [-1, 0, 1, 2], [[0, 1.3, 0], [0.2, 0, 0], [0.3, 0, 0], [0.27, 0, 0]])

rows = np.radians([[-50.0, -70.0, 20.0], [0.0, -80.0, 30.0], [50.0, -50.0, 20.0]])
table = ThetaPhi.from_rows(rows, -1.5, 1.5)  # by latitude, from one longitude to another
bend = Box([0.0, 0.0, 0.0], [0.0, 0.0, 2.5], np.eye(3))
limits = {
    "Shoulder": Limit(DirectionTwist(axis=np.array([1.0, 0.0, 0.0])), table),
    "Elbow": Limit(SwingTwist(axis=np.array([0.0, -1.0, 0.0])), bend),
}
model = LimitModel(limits, skeleton)

t = np.linspace(0.0, 2.0 * np.pi, 120)  # an ellipse, higher than the table allows
path = np.stack([0.55 + 0 * t, 1.3 + 0.42 * np.sin(t), 0.2 * np.cos(t)], axis=1)
solution = arm(model, skeleton, skeleton.rest_pose(), "Shoulder", "Wrist", path)
legal = model.contains(solution.pose).all()
print(f"{solution.converged.sum()} of {len(path)} frames are met, all legal: {legal}")

worst = int(solution.errors[:, 0].argmax())
print(f"frame {worst}: {solution.reason(worst)}")
save_clip(Clip(skeleton, solution.pose, frame_time=1.0 / 30.0), "path.bvh")
