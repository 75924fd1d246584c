"""Pictures: a learned region with what was observed, and where a clip leaves its limits."""

from synovia import LimitModel
from synovia.demo import range_of_motion, wild
from synovia.draw import draw_limit, draw_violation, save_figure

rom = range_of_motion()
model = LimitModel.fit([rom])

arm = rom.skeleton.index("LeftShoulder")
picture = draw_limit(
    model.limits["LeftShoulder"], rom.pose.rotations[:, arm], title="left shoulder"
)
save_figure(picture, "shoulder.png")
save_figure(draw_violation(model.check(wild())), "violation.png")
print("wrote shoulder.png and violation.png")
