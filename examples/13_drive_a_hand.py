"""Drive a hand of a clip round a circle, let the head watch it, and print what limits prevent."""

import numpy as np

from synovia import Clip, LimitModel, Pose, forward, save_clip
from synovia.demo import range_of_motion, wild
from synovia.ik import Reach, follow, watch

body = ["T6", "C7", "C4", "Head", "LeftClavicle", "LeftUpperArm", "LeftLowerArm", "LeftForearm"]
model = LimitModel.fit([range_of_motion(1200)], "box", "rotation-vector", trim=0.0, joints=body)
source = wild()
pose = Pose(source.pose.rotations[:120], source.pose.positions[:120])
clip = model.project(Clip(source.skeleton, pose, source.frame_time, "calm"))

positions, _ = forward(clip.skeleton, clip.pose)
start = positions[0, clip.skeleton.index("LeftHand")]
angle = np.linspace(0.0, 2.0 * np.pi, clip.frames)
circle = np.stack([0.0 * angle, 1.0 - np.cos(angle), np.sin(angle)], axis=1)
for radius in (0.1, 0.5):
    path = start + radius * circle
    driven = follow(model, clip, [Reach("LeftHand", path)], joints=body)
    missed = np.flatnonzero(~driven.solution.converged)
    step_deg = np.degrees(driven.clip.steps.max())
    print(
        f"a circle of {radius} m: on its path in {clip.frames - len(missed)} of {clip.frames} "
        f"frames, no step above {step_deg:.1f} degrees, legal: "
        f"{model.contains(driven.clip.pose).all()}"
    )
    if len(missed):
        worst = missed[driven.solution.errors[missed, 0].argmax()]
        print(f"  frame {worst}: {driven.reason(worst)}")

watching = watch(model, driven.clip, path, ["T6", "C7", "C4", "Head"], weights=[1, 1, 2, 3])
print(f"the head watches the hand in {watching.solution.converged.sum()} frames")
save_clip(watching.clip, "driven.bvh")
