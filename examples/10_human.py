"""Pose the default human by its controls, and check clips of it with its limits."""

import numpy as np

from synovia import human, human_limits, save_clip
from synovia.anatomy import isb_angles
from synovia.components import clip_of, sweep

body = human(height=1.68)
print(len(body.skeleton), "segments,", len(body.controls), "controls, such as")
for name in ("thoracic.bend", "left_knee.flexion"):
    print(f"  {name}: {body.controls[name].low:g} to {body.controls[name].high:g} degrees")

# A squat in 60 frames: other controls stay neutral, and values are clamped to their ranges.
share = np.sin(np.linspace(0.0, np.pi, 60))
squat = {"lumbar.flexion": 30.0 * share, "thoracic.flexion": 10.0 * share}
for side in ("left", "right"):
    squat[f"{side}_hip.flexion"] = 100.0 * share
    squat[f"{side}_knee.flexion"] = 130.0 * share
    squat[f"{side}_ankle.dorsiflexion"] = 35.0 * share
posed = body.pose(squat)
save_clip(clip_of(body, posed, frame_time=1.0 / 30.0), "squat.bvh")
for name, beyond in posed.clamped.items():
    print(f"{name} was clamped by up to {beyond.max():.1f} degrees")

angles = np.degrees(isb_angles(body.skeleton, posed, "right_knee"))
print("inward rotation of the tibia in the deepest frame:", angles[30, 2].round(1), "degrees")

limits = human_limits(height=1.68)
print("all legal:", limits.contains(posed).all(), limits.contains(body.pose(sweep(body))).all())
