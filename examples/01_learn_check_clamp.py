"""Learn limits from one clip, check another with them, and clamp it."""

from synovia import LimitModel, load_clip, save_clip, save_limits
from synovia.demo import range_of_motion, wild

# Two clips to begin with; your own files will do as well.
save_clip(range_of_motion(), "rom.bvh")
save_clip(wild(), "wild.bvh")

model = LimitModel.fit([load_clip("rom.bvh")])
save_limits(model, "human.limits.json")

clip = load_clip("wild.bvh")
for joint in model.check(clip).joints[:3]:
    print(f"{joint.name}: outside in {joint.frames} frames, worst at frame {joint.worst_frame}")

clamped = model.project(clip)
save_clip(clamped, "clamped.bvh")
print("all inside:", model.check(clamped).ok)
