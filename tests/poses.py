"""Poses of the canonical human that anyone can take, and poses that nobody can.

Each is the rotations of the trunk and the left side by role, from the T-pose.
"""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np

from synovia import quat


def turn(*vectors):
    """The product of rotations by vectors in degrees, the last applied first."""
    rotation = quat.IDENTITY
    for vector in vectors:
        rotation = quat.mul(rotation, quat.exp(np.radians(np.array(vector, float))))
    return rotation


HANGING = (0, 0, -90)
ELBOW_90 = turn((0, -90, 0))
POSSIBLE = {
    "T-pose": {},
    "hanging": {"leftUpperArm": turn(HANGING)},
    "overhead": {"leftUpperArm": turn((0, 0, 85), (90, 0, 0))},
    "hand on hip": {
        "leftUpperArm": turn((0, 0, -55), (45, 0, 0)),
        "leftLowerArm": turn((0, -100, 0)),
    },
    "hand at mouth": {
        "leftUpperArm": turn((0, -60, 0), (0, 0, -45)),
        "leftLowerArm": turn((0, -140, 0)),
    },
    "sitting": {"leftUpperLeg": turn((-90, 0, 0)), "leftLowerLeg": turn((90, 0, 0))},
    "squatting": {
        "leftUpperLeg": turn((-115, 0, 0)),
        "leftLowerLeg": turn((140, 0, 0)),
        "leftFoot": turn((-35, 0, 0)),
    },
    "on tiptoe": {"leftFoot": turn((50, 0, 0)), "leftToes": turn((-60, 0, 0))},
    "look over the shoulder": {"head": turn((0, 70, 0)), "chest": turn((0, 35, 0))},
    "hand twisted, forearm still": {"leftLowerArm": ELBOW_90, "leftHand": turn((70, 0, 0))},
    "sharing twist as SMPL does": {
        "leftUpperArm": turn(HANGING, (30, 0, 0)),
        "leftLowerArm": turn((-30, 0, 0), (0, -90, 0)),
    },
    "hand behind head": {
        "leftUpperArm": turn((0, 0, 25), (-95, 0, 0)),
        "leftLowerArm": turn((0, -130, 0)),
    },
    "hand behind back": {
        "leftUpperArm": turn((35, 0, 0), (0, -75, 0), HANGING),
        "leftLowerArm": turn((0, -90, 0)),
    },
    "arms crossed": {
        "leftUpperArm": turn((-45, 0, 0), (0, -60, 0), HANGING),
        "leftLowerArm": turn((0, -90, 0)),
    },
    "kneeling": {"leftLowerLeg": turn((155, 0, 0)), "leftFoot": turn((65, 0, 0))},
    "cross-legged": {
        "leftUpperLeg": turn((0, 45, 0), (-85, 0, 0), (0, 35, 0)),
        "leftLowerLeg": turn((125, 0, 0)),
    },
    "tying a shoe": {
        "leftUpperLeg": turn((-120, 0, 0)),
        "leftLowerLeg": turn((110, 0, 0)),
        "chest": turn((60, 0, 0)),
    },
    "touching the toes": {"chest": turn((70, 0, 0)), "leftUpperLeg": turn((-70, 0, 0))},
    "lunge": {
        "leftUpperLeg": turn((25, 0, 0)),
        "leftLowerLeg": turn((90, 0, 0)),
        "leftFoot": turn((-25, 0, 0)),
        "leftToes": turn((-60, 0, 0)),
    },
    "front kick": {"leftUpperLeg": turn((-95, 0, 0)), "leftLowerLeg": turn((10, 0, 0))},
    "high front kick, knee a little bent": {
        "leftUpperLeg": turn((-115, 0, 0)),
        "leftLowerLeg": turn((25, 0, 0)),
    },
    "seated toe touch": {
        "chest": turn((60, 0, 0)),
        "leftUpperLeg": turn((-95, 0, 0)),
        "leftFoot": turn((-15, 0, 0)),
    },
    "back leg of a deep lunge": {
        "leftUpperLeg": turn((30, 0, 0)),
        "leftLowerLeg": turn((20, 0, 0)),
        "leftFoot": turn((-38, 0, 0)),
    },
    "quadriceps stretch": {"leftUpperLeg": turn((10, 0, 0)), "leftLowerLeg": turn((140, 0, 0))},
    "deep squat": {
        "leftUpperLeg": turn((-130, 0, 0)),
        "leftLowerLeg": turn((150, 0, 0)),
        "leftFoot": turn((-45, 0, 0)),
    },
    "high side kick": {"leftUpperLeg": turn((0, 0, 75), (0, 35, 0))},
    "reach across to the far shoulder": {
        "leftUpperArm": turn((0, -125, 0), (45, 0, 0)),
        "leftLowerArm": turn((0, -120, 0)),
    },
    "salute": {"leftUpperArm": turn((0, -20, 0), (-50, 0, 0)), "leftLowerArm": turn((0, -135, 0))},
    "wave": {"leftUpperArm": turn((-90, 0, 0)), "leftLowerArm": turn((0, -60, 0))},
    "push-up wrist": {"leftHand": turn((0, 0, 85))},
    "look up": {"head": turn((-70, 0, 0))},
    "ear to shoulder": {"head": turn((0, 0, 45))},
    "swimming crawl recovery": {
        "leftUpperArm": turn((0, 30, 0), (45, 0, 0)),
        "leftLowerArm": turn((0, -90, 0)),
    },
    "pitch": {"leftUpperArm": turn((0, 15, 0), (-125, 0, 0)), "leftLowerArm": turn((0, -90, 0))},
    "hand in back pocket": {
        "leftUpperArm": turn((45, 0, 0), (0, -30, 0), HANGING),
        "leftLowerArm": turn((0, -80, 0)),
    },
    "standing pigeon-toed": {"leftUpperLeg": turn((0, -30, 0)), "leftFoot": turn((0, -10, 0))},
    "ballet turnout": {"leftUpperLeg": turn((0, 50, 0)), "leftFoot": turn((0, 25, 0))},
    "phone at ear": {
        "leftUpperArm": turn((0, 0, 10), (-45, 0, 0), HANGING),
        "leftLowerArm": turn((0, -145, 0)),
    },
    "push-up, low": {
        "leftUpperArm": turn((0, -10, 0), (0, 0, -40), (45, 0, 0)),
        "leftLowerArm": turn((0, -110, 0), (60, 0, 0)),
        "leftHand": turn((0, 0, 80)),
    },
    "push-up, high": {
        "leftUpperArm": turn((-85, 0, 0), HANGING, (20, 0, 0)),
        "leftLowerArm": turn((0, -5, 0), (60, 0, 0)),
        "leftHand": turn((0, 0, 80)),
        "leftFoot": turn((-20, 0, 0)),
        "leftToes": turn((-65, 0, 0)),
    },
    "crawl": {
        "leftUpperArm": turn((-80, 0, 0), HANGING),
        "leftLowerArm": turn((0, -15, 0), (70, 0, 0)),
        "leftHand": turn((0, 0, 75)),
        "leftUpperLeg": turn((-90, 0, 0)),
        "leftLowerLeg": turn((90, 0, 0)),
        "leftFoot": turn((40, 0, 0)),
        "head": turn((-40, 0, 0)),
    },
    "golf backswing, lead arm": {
        "chest": turn((0, -50, 0), (25, 0, 0)),
        "leftUpperArm": turn((0, -110, 0), (0, 0, 10), (-20, 0, 0)),
        "leftLowerArm": turn((0, -10, 0), (30, 0, 0)),
        "leftHand": turn((0, -30, 0)),
    },
    "golf backswing, trail arm": {
        "leftUpperArm": turn((0, -20, 0), (0, 0, -20), (-80, 0, 0)),
        "leftLowerArm": turn((0, -95, 0)),
        "leftHand": turn((0, 0, 60)),
    },
    "hands clasped overhead": {
        "leftUpperArm": turn((0, 0, 80), (-80, 0, 0)),
        "leftLowerArm": turn((0, -30, 0), (50, 0, 0)),
    },
    "hang from a bar": {
        "leftShoulder": turn((0, 0, 30)),
        "leftUpperArm": turn((0, 0, 88), (70, 0, 0)),
        "leftLowerArm": turn((0, -5, 0), (60, 0, 0)),
    },
    "drink": {
        "leftUpperArm": turn((-55, 0, 0), (0, 0, 5), HANGING),
        "leftLowerArm": turn((0, -135, 0), (-30, 0, 0)),
    },
    "type": {
        "leftUpperArm": turn((-15, 0, 0), HANGING),
        "leftLowerArm": turn((0, -85, 0), (70, 0, 0)),
        "leftHand": turn((0, 10, 20)),
    },
    "steer": {
        "leftUpperArm": turn((-55, 0, 0), HANGING, (15, 0, 0)),
        "leftLowerArm": turn((0, -45, 0), (50, 0, 0)),
    },
    "hug oneself": {
        "leftUpperArm": turn((0, -125, 0), (0, 0, -30)),
        "leftLowerArm": turn((0, -110, 0)),
    },
    "bridge": {
        "chest": turn((-45, 0, 0)),
        "leftUpperArm": turn((0, 0, 85), (80, 0, 0)),
        "leftHand": turn((0, 0, 85)),
        "leftUpperLeg": turn((25, 0, 0)),
        "leftLowerLeg": turn((85, 0, 0)),
        "leftFoot": turn((-10, 0, 0)),
    },
    "child's pose": {
        "chest": turn((50, 0, 0)),
        "leftUpperLeg": turn((-135, 0, 0)),
        "leftLowerLeg": turn((155, 0, 0)),
        "leftFoot": turn((60, 0, 0)),
        "leftUpperArm": turn((0, 0, 80), (60, 0, 0)),
    },
    "downward dog": {
        "leftUpperArm": turn((0, 0, 80), (60, 0, 0)),
        "leftUpperLeg": turn((-90, 0, 0)),
        "leftFoot": turn((-35, 0, 0)),
        "leftLowerLeg": turn((5, 0, 0)),
        "chest": turn((10, 0, 0)),
    },
    "butterfly": {
        "leftUpperLeg": turn((0, 75, 0), (-80, 0, 0), (0, 15, 0)),
        "leftLowerLeg": turn((125, 0, 0)),
    },
    "lotus": {
        "leftUpperLeg": turn((0, 50, 0), (-95, 0, 0), (0, 45, 0)),
        "leftLowerLeg": turn((140, 0, 0)),
        "leftFoot": turn((30, 0, -30)),
    },
    "pigeon, front leg": {
        "leftUpperLeg": turn((0, 25, 0), (-95, 0, 0), (0, 55, 0)),
        "leftLowerLeg": turn((110, 0, 0)),
    },
    "pigeon, back leg": {
        "leftUpperLeg": turn((35, 0, 0)),
        "leftLowerLeg": turn((10, 0, 0)),
        "leftFoot": turn((60, 0, 0)),
    },
    "warrior two, front": {
        "leftUpperLeg": turn((0, 70, 0), (-75, 0, 0)),
        "leftLowerLeg": turn((90, 0, 0)),
    },
    "warrior two, back": {"leftUpperLeg": turn((0, 0, 45)), "leftFoot": turn((0, 0, -15))},
    "legs crossed on a chair": {
        "leftUpperLeg": turn((0, -15, 0), (-95, 0, 0), (0, 0, 0)),
        "leftLowerLeg": turn((85, 0, 0)),
        "leftFoot": turn((30, 0, 0)),
    },
    "ankle on knee": {
        "leftUpperLeg": turn((0, 25, 0), (-90, 0, 0), (0, 55, 0)),
        "leftLowerLeg": turn((95, 0, 0)),
    },
    "W sitting": {
        "leftUpperLeg": turn((0, 20, 0), (-90, 0, 0), (0, -40, 0)),
        "leftLowerLeg": turn((140, 0, 0)),
    },
    "hurdle": {
        "leftUpperLeg": turn((-100, 0, 0)),
        "leftLowerLeg": turn((15, 0, 0)),
        "chest": turn((40, 0, 0)),
    },
    "straddle": {"leftUpperLeg": turn((0, 40, 0), (-85, 0, 0)), "leftLowerLeg": turn((0, 0, 0))},
    "straddle, wide": {
        "leftUpperLeg": turn((0, 60, 0), (-80, 0, 0)),
        "leftLowerLeg": turn((0, 0, 0)),
    },
    "pitch, late cocking": {
        "leftUpperArm": turn((-125, 0, 0)),
        "leftLowerArm": turn((0, -90, 0)),
        "leftHand": turn((0, 0, 40)),
    },
    "tennis serve trophy": {
        "leftUpperArm": turn((0, 10, 0), (0, 0, 10), (-100, 0, 0)),
        "leftLowerArm": turn((0, -110, 0)),
    },
    "scratch between the shoulder blades": {
        "leftUpperArm": turn((0, 0, 80), (-90, 0, 0)),
        "leftLowerArm": turn((0, -145, 0)),
    },
    "brush hair": {
        "leftUpperArm": turn((0, -30, 0), (0, 0, 20), (-80, 0, 0)),
        "leftLowerArm": turn((0, -125, 0), (40, 0, 0)),
    },
    "reach behind the car seat": {
        "leftUpperArm": turn((0, 35, 0), (-40, 0, 0)),
        "chest": turn((0, 40, 0)),
        "head": turn((0, 70, 0)),
        "leftLowerArm": turn((0, -20, 0)),
    },
    "lift a box": {
        "chest": turn((45, 0, 0)),
        "leftUpperLeg": turn((-100, 0, 0)),
        "leftLowerLeg": turn((95, 0, 0)),
        "leftFoot": turn((-25, 0, 0)),
        "leftUpperArm": turn((-60, 0, 0), HANGING),
        "leftLowerArm": turn((0, -15, 0)),
    },
    "fetal": {
        "chest": turn((60, 0, 0)),
        "head": turn((40, 0, 0)),
        "leftUpperLeg": turn((-125, 0, 0)),
        "leftLowerLeg": turn((140, 0, 0)),
        "leftUpperArm": turn((-60, 0, 0), HANGING),
        "leftLowerArm": turn((0, -140, 0)),
    },
    "cobra": {
        "chest": turn((-40, 0, 0)),
        "head": turn((-50, 0, 0)),
        "leftUpperLeg": turn((15, 0, 0)),
        "leftFoot": turn((65, 0, 0)),
        "leftUpperArm": turn((-20, 0, 0), HANGING),
        "leftHand": turn((0, 0, 85)),
        "leftLowerArm": turn((0, -10, 0), (60, 0, 0)),
    },
    "breaststroke kick": {
        "leftUpperLeg": turn((0, 35, 0), (-45, 0, 0), (0, -25, 0)),
        "leftLowerLeg": turn((110, 0, 0)),
        "leftFoot": turn((-20, 25, 0)),
    },
    "backstroke catch": {"leftUpperArm": turn((0, 0, 85), (-90, 0, 0))},
    "hands behind the back, clasped": {
        "leftUpperArm": turn((30, 0, 0), (0, -45, 0), HANGING),
        "leftLowerArm": turn((0, -60, 0)),
    },
    "chin in hand": {
        "leftUpperArm": turn((-50, 0, 0), HANGING),
        "leftLowerArm": turn((0, -150, 0), (-50, 0, 0)),
        "leftHand": turn((0, 0, 60)),
    },
    "applaud": {
        "leftUpperArm": turn((-45, 0, 0), HANGING, (20, 0, 0)),
        "leftLowerArm": turn((0, -80, 0)),
    },
    "throw-in overhead, back": {
        "leftUpperArm": turn((0, 0, 85), (-100, 0, 0)),
        "leftLowerArm": turn((0, -100, 0)),
    },
    "squat, knees out": {
        "leftUpperLeg": turn((0, 35, 0), (-130, 0, 0)),
        "leftLowerLeg": turn((150, 0, 0)),
        "leftFoot": turn((-35, 0, 0)),
    },
    "run, back leg": {
        "leftUpperLeg": turn((25, 0, 0)),
        "leftLowerLeg": turn((30, 0, 0)),
        "leftFoot": turn((35, 0, 0)),
        "leftToes": turn((-45, 0, 0)),
    },
    "kick a ball, wind up": {
        "leftUpperLeg": turn((30, 0, 0), (0, 15, 0)),
        "leftLowerLeg": turn((110, 0, 0)),
    },
    "karate side kick": {"leftUpperLeg": turn((0, 0, 80), (0, 40, 0)), "chest": turn((0, 0, -30))},
    "carry on the shoulder": {
        "leftUpperArm": turn((0, -40, 0), (-90, 0, 0)),
        "leftLowerArm": turn((0, -130, 0)),
        "leftHand": turn((0, 0, 60)),
    },
    "stop sign": {"leftUpperArm": turn((0, -80, 0)), "leftHand": turn((0, 0, 80))},
    "look at the sky": {"head": turn((-80, 0, 0)), "chest": turn((-15, 0, 0))},
    "sleep on the front": {"head": turn((0, 80, 0))},
    "check a shoe sole": {
        "leftUpperLeg": turn((0, 30, 0), (-70, 0, 0), (0, 50, 0)),
        "leftLowerLeg": turn((120, 0, 0)),
    },
    "front split, front leg": {"leftUpperLeg": turn((-85, 0, 0))},
    "front split, back leg": {"leftUpperLeg": turn((45, 0, 0))},
}
IMPOSSIBLE = {
    "elbow back 20": {"leftLowerArm": turn((0, 20, 0))},
    "elbow up 45, straight": {"leftLowerArm": turn((0, 0, 45))},
    "elbow down 45, hanging": {"leftUpperArm": turn(HANGING), "leftLowerArm": turn((0, 0, -45))},
    "forearm pronated 120": {"leftLowerArm": turn((0, -90, 0), (120, 0, 0))},
    "forearm supinated 120": {"leftLowerArm": turn((0, -90, 0), (-120, 0, 0))},
    "forearm and hand pronated 115": {
        "leftLowerArm": turn((0, -90, 0), (60, 0, 0)),
        "leftHand": turn((55, 0, 0)),
    },
    "forearm and hand supinated 115": {
        "leftLowerArm": turn((0, -90, 0), (-60, 0, 0)),
        "leftHand": turn((-55, 0, 0)),
    },
    "forearm twisted 180": {"leftLowerArm": turn((0, -90, 0), (180, 0, 0))},
    "hand twisted 180": {"leftLowerArm": ELBOW_90, "leftHand": turn((180, 0, 0))},
    "wrist radial 70": {"leftHand": turn((0, -70, 0))},
    "wrist ulnar 70": {"leftHand": turn((0, 70, 0))},
    "wrist ulnar 95": {"leftHand": turn((0, 95, 0))},
    "arm straight back at 90": {"leftUpperArm": turn((0, 90, 0))},
    "arm straight back at 90, from hanging": {"leftUpperArm": turn((90, 0, 0), HANGING)},
    "arm through the back": {"leftUpperArm": turn((0, 130, 0))},
    "arm across the back, low": {"leftUpperArm": turn((0, 135, 0), (0, 0, -30))},
    "hanging, rotated outward 120": {
        "leftUpperArm": turn((0, 120, 0), HANGING),
        "leftLowerArm": ELBOW_90,
    },
    "hanging, rotated outward 147": {
        "leftUpperArm": turn((0, 147, 0), HANGING),
        "leftLowerArm": ELBOW_90,
    },
    "hanging, rotated inward 150": {
        "leftUpperArm": turn((0, -150, 0), HANGING),
        "leftLowerArm": ELBOW_90,
    },
    "knee back 20": {"leftLowerLeg": turn((-20, 0, 0))},
    "knee back 22": {"leftLowerLeg": turn((-22, 0, 0))},
    "knee out 20": {"leftLowerLeg": turn((0, 0, 20))},
    "knee in 20": {"leftLowerLeg": turn((0, 0, -20))},
    "shin rotated out 60, straight": {"leftLowerLeg": turn((0, 60, 0))},
    "shin rotated in 60, straight": {"leftLowerLeg": turn((0, -60, 0))},
    "hip extended 60": {"leftUpperLeg": turn((60, 0, 0))},
    "hip rotated out 80": {"leftUpperLeg": turn((0, 80, 0))},
    "hip rotated in 80": {"leftUpperLeg": turn((0, -80, 0))},
    "hip rotated out 80, knee bent": {
        "leftUpperLeg": turn((0, 80, 0)),
        "leftLowerLeg": turn((90, 0, 0)),
    },
    "hip rotated in 80, sitting": {
        "leftUpperLeg": turn((0, 0, 80), (-90, 0, 0)),
        "leftLowerLeg": turn((90, 0, 0)),
    },
    "hip adducted 65": {"leftUpperLeg": turn((0, 0, -65))},
    "foot turned out 60": {"leftFoot": turn((0, 60, 0))},
    "foot turned in 60": {"leftFoot": turn((0, -60, 0))},
    "foot lifted 70": {"leftFoot": turn((-70, 0, 0))},
    "foot lifted 118": {"leftFoot": turn((-118, 0, 0))},
    "foot turned in 90": {"leftFoot": turn((0, -90, 0))},
    "foot pointed 95": {"leftFoot": turn((95, 0, 0))},
    "foot on its side 75": {"leftFoot": turn((0, 0, -75))},
    "toes bent back 120": {"leftToes": turn((-120, 0, 0))},
    "toes sideways 50": {"leftToes": turn((0, 50, 0))},
    "head turned 120": {"head": turn((0, 120, 0))},
    "head turned 180": {"head": turn((0, 179, 0))},
    "head bent to the side 80": {"head": turn((0, 0, 80))},
    "chest turned 75": {"chest": turn((0, 75, 0))},
    "chest bent to the side 75": {"chest": turn((0, 0, -75))},
    "chest bent back 80": {"chest": turn((-80, 0, 0))},
    "wrist flexed 110": {"leftHand": turn((0, 0, -110))},
    "wrist back 110": {"leftHand": turn((0, 0, 110))},
    "elbow bent 175": {"leftLowerArm": turn((0, -175, 0))},
    "elbow sideways 30": {"leftLowerArm": turn((0, 0, 30))},
    "elbow bent back 90": {"leftLowerArm": turn((0, 90, 0))},
    "abducted 90, rotated out 160": {"leftUpperArm": turn((-160, 0, 0)), "leftLowerArm": ELBOW_90},
    "abducted 90, rotated in 120": {"leftUpperArm": turn((120, 0, 0)), "leftLowerArm": ELBOW_90},
    "flexed 90, rotated out 160": {
        "leftUpperArm": turn((0, 0, -70), (-90, 0, 0), HANGING),
        "leftLowerArm": ELBOW_90,
    },
    "flexed 90, rotated in 100": {
        "leftUpperArm": turn((0, 0, 190), (-90, 0, 0), HANGING),
        "leftLowerArm": ELBOW_90,
    },
    "overhead, rotated 150": {
        "leftUpperArm": turn((0, 0, 90), (60, 0, 0)),
        "leftLowerArm": ELBOW_90,
    },
    "arm down across the back": {"leftUpperArm": turn((0, 150, 0), (0, 0, -60))},
    "arm up and back 45": {"leftUpperArm": turn((-225, 0, 0), HANGING)},
    "knee bent 180": {"leftLowerLeg": turn((178, 0, 0))},
    "knee forward 60": {"leftLowerLeg": turn((-60, 0, 0))},
    "shin rotated 100, bent": {"leftLowerLeg": turn((90, 0, 0), (0, 100, 0))},
    "hip flexed 165": {"leftUpperLeg": turn((-165, 0, 0))},
    "hip abducted 90, knee forward": {"leftUpperLeg": turn((0, 0, 90))},
    "leg back and out": {"leftUpperLeg": turn((0, 60, 0), (70, 0, 0))},
    "hip turned 180": {"leftUpperLeg": turn((0, 180, 0))},
    "straight leg raised 130": {"leftUpperLeg": turn((-130, 0, 0))},
    "heel to buttock, hip extended 25": {
        "leftUpperLeg": turn((25, 0, 0)),
        "leftLowerLeg": turn((155, 0, 0)),
    },
    "foot lifted 45, knee straight": {"leftFoot": turn((-45, 0, 0))},
    "head flexed 100": {"head": turn((100, 0, 0))},
    "head back 120": {"head": turn((-120, 0, 0))},
    "head turned 85 and bent back 85": {"head": turn((0, 85, 0), (-85, 0, 0))},
    "head turned 80, tilted 60": {"head": turn((0, 80, 0), (0, 0, 60))},
    "chest flexed 140": {"chest": turn((140, 0, 0))},
    "chest turned 50 and bent 50": {"chest": turn((0, 50, 0), (0, 0, 50))},
    "collarbone lifted 80": {"leftShoulder": turn((0, 0, 80))},
    "toes curled 100": {"leftToes": turn((100, 0, 0))},
}


ARM_POSTURES = {
    "level": quat.IDENTITY,
    "hanging": turn(HANGING),
    "forwards": turn((0, -90, 0)),
    "overhead": turn((0, 0, 85), (-90, 0, 0)),
    "across": turn((0, -110, 0)),
    "backwards": turn((30, 0, 0), HANGING),
}
LEG_POSTURES = {
    "standing": quat.IDENTITY,
    "sitting": turn((-90, 0, 0)),
    "squatting": turn((-120, 0, 0)),
    "stepping": turn((-45, 0, 0)),
    "straddling": turn((0, 0, 40)),
    "striding": turn((20, 0, 0)),
}


def arm_pose(name, upper, flexion, fault, lower=quat.IDENTITY, hand=quat.IDENTITY):
    elbow = quat.mul(turn((0, -flexion, 0)), lower)
    pose = {"leftUpperArm": upper, "leftLowerArm": elbow, "leftHand": hand}
    return f"arm {name}, elbow {flexion}: {fault}", pose


def leg_pose(
    name, upper, flexion, fault, shin=quat.IDENTITY, foot=quat.IDENTITY, thigh=quat.IDENTITY
):
    knee = quat.mul(turn((flexion, 0, 0)), shin)
    pose = {"leftUpperLeg": quat.mul(upper, thigh), "leftLowerLeg": knee, "leftFoot": foot}
    return f"leg {name}, knee {flexion}: {fault}", pose


def impossible_combinations():
    """Yield names and poses: faults of elbows, wrists, knees, feet and hips in many postures.

    Twist is shared at random between forearm and hand, and between shin and foot.
    """
    rng = np.random.default_rng(0)
    signs = (-1, 1)
    for (name, upper), flexion in product(ARM_POSTURES.items(), (0, 60, 90, 130)):
        arm = partial(arm_pose, name, upper, flexion)
        for sign, angle in product(signs, (70, 80, 95)):
            yield arm(f"wrist sideways {sign * angle}", hand=turn((0, sign * angle, 0)))
        for sign, angle in product(signs, (110, 140)):
            yield arm(f"wrist bent {sign * angle}", hand=turn((0, 0, sign * angle)))
        if flexion == 0:
            for angle in (20, 30, 60, 90):
                yield arm(f"elbow back {angle}", turn((0, angle, 0)))
            for sign, angle in product(signs, (45, 60, 90)):
                yield arm(f"elbow sideways {sign * angle}", turn((0, 0, sign * angle)))
        else:
            for sign, angle in product(signs, (120, 140, 160, 180)):
                own = angle * rng.random()
                forearm, hand = turn((sign * own, 0, 0)), turn((sign * (angle - own), 0, 0))
                yield arm(f"pronated {sign * angle}", forearm, hand)
    for (name, upper), flexion in product(LEG_POSTURES.items(), (0, 30, 90)):
        leg = partial(leg_pose, name, upper, flexion)
        yield leg("foot lifted 70", foot=turn((-70, 0, 0)))
        yield leg("foot pointed 95", foot=turn((95, 0, 0)))
        for sign in signs:
            yield leg(f"foot tilted {sign * 75}", foot=turn((0, 0, sign * 75)))
            yield leg(f"hip rotated {sign * 110}", thigh=turn((0, sign * 110, 0)))
            for angle in (110, 140):
                own = angle * rng.random()
                shin, foot = turn((0, sign * own, 0)), turn((0, sign * (angle - own), 0))
                yield leg(f"shin and foot turned {sign * angle}", shin, foot)
            if flexion == 0:
                yield leg(f"knee sideways {sign * 20}", turn((0, 0, sign * 20)))
                yield leg(f"foot turned {sign * 60}", foot=turn((0, sign * 60, 0)))
            if name != "straddling" and flexion <= 30:
                yield leg(f"hip rotated {sign * 80}", thigh=turn((0, sign * 80, 0)))
        if flexion == 0:
            for angle in (20, 45, 90):
                yield leg(f"knee back {angle}", turn((-angle, 0, 0)))
