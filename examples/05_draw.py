"""Draw a learned region with the observed rotations, and the violations of a clip."""

from synovia import LimitModel
from synovia.demo import range_of_motion, wild
from synovia.draw import draw_limit, draw_violation, save_picture

rom = range_of_motion()
model = LimitModel.fit([rom], joints=["LeftUpperArm", "LeftLowerLeg", "Head"])

arm = rom.skeleton.index("LeftUpperArm")
picture = draw_limit(model.limits["LeftUpperArm"], rom.pose.rotations[:, arm], title="left arm")
save_picture(picture, "shoulder.png")
save_picture(draw_violation(model.check(wild())), "violation.png")
print("wrote shoulder.png and violation.png")
