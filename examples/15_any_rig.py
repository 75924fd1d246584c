"""Human limits on any rig: check a clip, clamp it, and convert the limits to SMPL."""

import numpy as np

from synovia import Clip, Pose, check, clamp, human_limits, load_clip, quat, save_clip, save_limits
from synovia.io.smpl import smpl_skeleton
from synovia.population import limits_for
from synovia.rigs.canonical import mixamo_skeleton

# A character with Mixamo's names whose elbow bends the wrong way; your own file will do as well.
rig = mixamo_skeleton()
angles = np.radians(np.linspace(-90.0, 60.0, 60))  # from bent to beyond straight
rotations = np.tile(quat.IDENTITY, (60, len(rig), 1))
rotations[:, rig.index("mixamorig:LeftForeArm")] = quat.exp(angles[:, None] * [0.0, 1.0, 0.0])
positions = np.tile(rig.offsets, (60, 1, 1))
save_clip(Clip(rig, Pose(rotations, positions), 1.0 / 30.0), "elbow.bvh")

clip = load_clip("elbow.bvh")
worst = check(clip).joints[0]
print(f"{worst.name}: {worst.verdict} in {worst.frames} frames, {np.degrees(worst.worst):.0f}°")

human = limits_for(clip)  # the limits on this rig, and how it was recognised
for finding in human.check(clip)[1]:
    print(f"{finding.verdict}: {finding.text}")
print(human.alignment.steps[0] + ", joints without a verdict:", len(human.silent))

save_clip(clamp(clip), "clamped.bvh")
print("all possible:", check(load_clip("clamped.bvh")).ok)

smpl = human_limits(source="human").on(smpl_skeleton(24))
save_limits(smpl, "smpl.limits.json")
print(f"on SMPL: {len(smpl.limits)} joints, {', '.join(list(smpl.limits)[:4])}, …")
