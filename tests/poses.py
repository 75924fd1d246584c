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


def poses_of(table):
    """Return the rotations by role of every pose of a table, by name.

    A line is the name of a pose and its bones, each with the vectors of its `turn`; bones of limbs
    are those of the left side, and a line that is indented goes on from the one before.
    """
    found = {}
    for line in table.strip().replace("\n  ", " ").splitlines():
        name, _, bones = line.partition(":")
        found[name] = {}
        for bone, _, turns in (each.strip().partition(" ") for each in bones.split(";") if bones):
            role = bone if bone in ("head", "chest") else f"left{bone}"
            found[name][role] = turn(*(vector.split() for vector in turns.split(",")))
    return found


HANGING = (0, 0, -90)
POSSIBLE = poses_of("""
T-pose:
hanging: UpperArm 0 0 -90
overhead: UpperArm 0 0 85, 90 0 0
hand on hip: UpperArm 0 0 -55, 45 0 0; LowerArm 0 -100 0
hand at mouth: UpperArm 0 -60 0, 0 0 -45; LowerArm 0 -140 0
sitting: UpperLeg -90 0 0; LowerLeg 90 0 0
squatting: UpperLeg -115 0 0; LowerLeg 140 0 0; Foot -35 0 0
on tiptoe: Foot 50 0 0; Toes -60 0 0
look over the shoulder: head 0 70 0; chest 0 35 0
hand twisted, forearm still: LowerArm 0 -90 0; Hand 70 0 0
sharing twist as SMPL does: UpperArm 0 0 -90, 30 0 0; LowerArm -30 0 0, 0 -90 0
hand behind head: UpperArm 0 0 25, -95 0 0; LowerArm 0 -130 0
hand behind back: UpperArm 35 0 0, 0 -75 0, 0 0 -90; LowerArm 0 -90 0
arms crossed: UpperArm -45 0 0, 0 -60 0, 0 0 -90; LowerArm 0 -90 0
kneeling: LowerLeg 155 0 0; Foot 65 0 0
cross-legged: UpperLeg 0 45 0, -85 0 0, 0 35 0; LowerLeg 125 0 0
tying a shoe: UpperLeg -120 0 0; LowerLeg 110 0 0; chest 60 0 0
touching the toes: chest 70 0 0; UpperLeg -70 0 0
lunge: UpperLeg 25 0 0; LowerLeg 90 0 0; Foot -25 0 0; Toes -60 0 0
front kick: UpperLeg -95 0 0; LowerLeg 10 0 0
high front kick, knee a little bent: UpperLeg -115 0 0; LowerLeg 25 0 0
seated toe touch: chest 60 0 0; UpperLeg -95 0 0; Foot -15 0 0
back leg of a deep lunge: UpperLeg 30 0 0; LowerLeg 20 0 0; Foot -38 0 0
quadriceps stretch: UpperLeg 10 0 0; LowerLeg 140 0 0
deep squat: UpperLeg -130 0 0; LowerLeg 150 0 0; Foot -45 0 0
high side kick: UpperLeg 0 0 75, 0 35 0
reach across to the far shoulder: UpperArm 0 -125 0, 45 0 0; LowerArm 0 -120 0
salute: UpperArm 0 -20 0, -50 0 0; LowerArm 0 -135 0
wave: UpperArm -90 0 0; LowerArm 0 -60 0
push-up wrist: Hand 0 0 85
look up: head -70 0 0
ear to shoulder: head 0 0 45
swimming crawl recovery: UpperArm 0 30 0, 45 0 0; LowerArm 0 -90 0
pitch: UpperArm 0 15 0, -125 0 0; LowerArm 0 -90 0
hand in back pocket: UpperArm 45 0 0, 0 -30 0, 0 0 -90; LowerArm 0 -80 0
standing pigeon-toed: UpperLeg 0 -30 0; Foot 0 -10 0
ballet turnout: UpperLeg 0 50 0; Foot 0 25 0
phone at ear: UpperArm 0 0 10, -45 0 0, 0 0 -90; LowerArm 0 -145 0
push-up, low: UpperArm 0 -10 0, 0 0 -40, 45 0 0; LowerArm 0 -110 0, 60 0 0; Hand 0 0 80
push-up, high: UpperArm -85 0 0, 0 0 -90, 20 0 0; LowerArm 0 -5 0, 60 0 0; Hand 0 0 80; Foot -20 0
  0; Toes -65 0 0
crawl: UpperArm -80 0 0, 0 0 -90; LowerArm 0 -15 0, 70 0 0; Hand 0 0 75; UpperLeg -90 0 0; LowerLeg
  90 0 0; Foot 40 0 0; head -40 0 0
golf backswing, lead arm: chest 0 -50 0, 25 0 0; UpperArm 0 -110 0, 0 0 10, -20 0 0; LowerArm 0 -10
  0, 30 0 0; Hand 0 -30 0
golf backswing, trail arm: UpperArm 0 -20 0, 0 0 -20, -80 0 0; LowerArm 0 -95 0; Hand 0 0 60
hands clasped overhead: UpperArm 0 0 80, -80 0 0; LowerArm 0 -30 0, 50 0 0
hang from a bar: Shoulder 0 0 30; UpperArm 0 0 88, 70 0 0; LowerArm 0 -5 0, 60 0 0
drink: UpperArm -55 0 0, 0 0 5, 0 0 -90; LowerArm 0 -135 0, -30 0 0
type: UpperArm -15 0 0, 0 0 -90; LowerArm 0 -85 0, 70 0 0; Hand 0 10 20
steer: UpperArm -55 0 0, 0 0 -90, 15 0 0; LowerArm 0 -45 0, 50 0 0
hug oneself: UpperArm 0 -125 0, 0 0 -30; LowerArm 0 -110 0
bridge: chest -45 0 0; UpperArm 0 0 85, 80 0 0; Hand 0 0 85; UpperLeg 25 0 0; LowerLeg 85 0 0; Foot
  -10 0 0
child's pose: chest 50 0 0; UpperLeg -135 0 0; LowerLeg 155 0 0; Foot 60 0 0; UpperArm 0 0 80, 60 0
  0
downward dog: UpperArm 0 0 80, 60 0 0; UpperLeg -90 0 0; Foot -35 0 0; LowerLeg 5 0 0; chest 10 0 0
butterfly: UpperLeg 0 75 0, -80 0 0, 0 15 0; LowerLeg 125 0 0
lotus: UpperLeg 0 50 0, -95 0 0, 0 45 0; LowerLeg 140 0 0; Foot 30 0 -30
pigeon, front leg: UpperLeg 0 25 0, -95 0 0, 0 55 0; LowerLeg 110 0 0
pigeon, back leg: UpperLeg 35 0 0; LowerLeg 10 0 0; Foot 60 0 0
warrior two, front: UpperLeg 0 70 0, -75 0 0; LowerLeg 90 0 0
warrior two, back: UpperLeg 0 0 45; Foot 0 0 -15
legs crossed on a chair: UpperLeg 0 -15 0, -95 0 0, 0 0 0; LowerLeg 85 0 0; Foot 30 0 0
ankle on knee: UpperLeg 0 25 0, -90 0 0, 0 55 0; LowerLeg 95 0 0
W sitting: UpperLeg 0 20 0, -90 0 0, 0 -40 0; LowerLeg 140 0 0
hurdle: UpperLeg -100 0 0; LowerLeg 15 0 0; chest 40 0 0
straddle: UpperLeg 0 40 0, -85 0 0; LowerLeg 0 0 0
straddle, wide: UpperLeg 0 60 0, -80 0 0; LowerLeg 0 0 0
pitch, late cocking: UpperArm -125 0 0; LowerArm 0 -90 0; Hand 0 0 40
tennis serve trophy: UpperArm 0 10 0, 0 0 10, -100 0 0; LowerArm 0 -110 0
scratch between the shoulder blades: UpperArm 0 0 80, -90 0 0; LowerArm 0 -145 0
brush hair: UpperArm 0 -30 0, 0 0 20, -80 0 0; LowerArm 0 -125 0, 40 0 0
reach behind the car seat: UpperArm 0 35 0, -40 0 0; chest 0 40 0; head 0 70 0; LowerArm 0 -20 0
lift a box: chest 45 0 0; UpperLeg -100 0 0; LowerLeg 95 0 0; Foot -25 0 0; UpperArm -60 0 0, 0 0
  -90; LowerArm 0 -15 0
fetal: chest 60 0 0; head 40 0 0; UpperLeg -125 0 0; LowerLeg 140 0 0; UpperArm -60 0 0, 0 0 -90;
  LowerArm 0 -140 0
cobra: chest -40 0 0; head -50 0 0; UpperLeg 15 0 0; Foot 65 0 0; UpperArm -20 0 0, 0 0 -90; Hand 0
  0 85; LowerArm 0 -10 0, 60 0 0
breaststroke kick: UpperLeg 0 35 0, -45 0 0, 0 -25 0; LowerLeg 110 0 0; Foot -20 25 0
backstroke catch: UpperArm 0 0 85, -90 0 0
hands behind the back, clasped: UpperArm 30 0 0, 0 -45 0, 0 0 -90; LowerArm 0 -60 0
chin in hand: UpperArm -50 0 0, 0 0 -90; LowerArm 0 -150 0, -50 0 0; Hand 0 0 60
applaud: UpperArm -45 0 0, 0 0 -90, 20 0 0; LowerArm 0 -80 0
throw-in overhead, back: UpperArm 0 0 85, -100 0 0; LowerArm 0 -100 0
squat, knees out: UpperLeg 0 35 0, -130 0 0; LowerLeg 150 0 0; Foot -35 0 0
run, back leg: UpperLeg 25 0 0; LowerLeg 30 0 0; Foot 35 0 0; Toes -45 0 0
kick a ball, wind up: UpperLeg 30 0 0, 0 15 0; LowerLeg 110 0 0
karate side kick: UpperLeg 0 0 80, 0 40 0; chest 0 0 -30
carry on the shoulder: UpperArm 0 -40 0, -90 0 0; LowerArm 0 -130 0; Hand 0 0 60
stop sign: UpperArm 0 -80 0; Hand 0 0 80
look at the sky: head -80 0 0; chest -15 0 0
sleep on the front: head 0 80 0
check a shoe sole: UpperLeg 0 30 0, -70 0 0, 0 50 0; LowerLeg 120 0 0
front split, front leg: UpperLeg -85 0 0
front split, back leg: UpperLeg 45 0 0
""")
IMPOSSIBLE = poses_of("""
elbow back 20: LowerArm 0 20 0
elbow up 45, straight: LowerArm 0 0 45
elbow down 45, hanging: UpperArm 0 0 -90; LowerArm 0 0 -45
forearm pronated 120: LowerArm 0 -90 0, 120 0 0
forearm supinated 120: LowerArm 0 -90 0, -120 0 0
forearm and hand pronated 115: LowerArm 0 -90 0, 60 0 0; Hand 55 0 0
forearm and hand supinated 115: LowerArm 0 -90 0, -60 0 0; Hand -55 0 0
forearm twisted 180: LowerArm 0 -90 0, 180 0 0
hand twisted 180: LowerArm 0 -90 0; Hand 180 0 0
wrist radial 70: Hand 0 -70 0
wrist ulnar 70: Hand 0 70 0
wrist ulnar 95: Hand 0 95 0
arm straight back at 90: UpperArm 0 90 0
arm straight back at 90, from hanging: UpperArm 90 0 0, 0 0 -90
arm through the back: UpperArm 0 130 0
arm across the back, low: UpperArm 0 135 0, 0 0 -30
hanging, rotated outward 120: UpperArm 0 120 0, 0 0 -90; LowerArm 0 -90 0
hanging, rotated outward 147: UpperArm 0 147 0, 0 0 -90; LowerArm 0 -90 0
hanging, rotated inward 150: UpperArm 0 -150 0, 0 0 -90; LowerArm 0 -90 0
knee back 20: LowerLeg -20 0 0
knee back 22: LowerLeg -22 0 0
knee out 20: LowerLeg 0 0 20
knee in 20: LowerLeg 0 0 -20
shin rotated out 60, straight: LowerLeg 0 60 0
shin rotated in 60, straight: LowerLeg 0 -60 0
hip extended 60: UpperLeg 60 0 0
hip rotated out 80: UpperLeg 0 80 0
hip rotated in 80: UpperLeg 0 -80 0
hip rotated out 80, knee bent: UpperLeg 0 80 0; LowerLeg 90 0 0
hip rotated in 80, sitting: UpperLeg 0 0 80, -90 0 0; LowerLeg 90 0 0
hip adducted 65: UpperLeg 0 0 -65
foot turned out 60: Foot 0 60 0
foot turned in 60: Foot 0 -60 0
foot lifted 70: Foot -70 0 0
foot lifted 118: Foot -118 0 0
foot turned in 90: Foot 0 -90 0
foot pointed 95: Foot 95 0 0
foot on its side 75: Foot 0 0 -75
toes bent back 120: Toes -120 0 0
toes sideways 50: Toes 0 50 0
head turned 120: head 0 120 0
head turned 180: head 0 179 0
head bent to the side 80: head 0 0 80
chest turned 75: chest 0 75 0
chest bent to the side 75: chest 0 0 -75
chest bent back 80: chest -80 0 0
wrist flexed 110: Hand 0 0 -110
wrist back 110: Hand 0 0 110
elbow bent 175: LowerArm 0 -175 0
elbow sideways 30: LowerArm 0 0 30
elbow bent back 90: LowerArm 0 90 0
abducted 90, rotated out 160: UpperArm -160 0 0; LowerArm 0 -90 0
abducted 90, rotated in 120: UpperArm 120 0 0; LowerArm 0 -90 0
flexed 90, rotated out 160: UpperArm 0 0 -70, -90 0 0, 0 0 -90; LowerArm 0 -90 0
flexed 90, rotated in 100: UpperArm 0 0 190, -90 0 0, 0 0 -90; LowerArm 0 -90 0
overhead, rotated 150: UpperArm 0 0 90, 60 0 0; LowerArm 0 -90 0
arm down across the back: UpperArm 0 150 0, 0 0 -60
arm up and back 45: UpperArm -225 0 0, 0 0 -90
knee bent 180: LowerLeg 178 0 0
knee forward 60: LowerLeg -60 0 0
shin rotated 100, bent: LowerLeg 90 0 0, 0 100 0
hip flexed 165: UpperLeg -165 0 0
hip abducted 90, knee forward: UpperLeg 0 0 90
leg back and out: UpperLeg 0 60 0, 70 0 0
hip turned 180: UpperLeg 0 180 0
straight leg raised 130: UpperLeg -130 0 0
heel to buttock, hip extended 25: UpperLeg 25 0 0; LowerLeg 155 0 0
foot lifted 45, knee straight: Foot -45 0 0
head flexed 100: head 100 0 0
head back 120: head -120 0 0
head turned 85 and bent back 85: head 0 85 0, -85 0 0
head turned 80, tilted 60: head 0 80 0, 0 0 60
chest flexed 140: chest 140 0 0
chest turned 50 and bent 50: chest 0 50 0, 0 0 50
collarbone lifted 80: Shoulder 0 0 80
toes curled 100: Toes 100 0 0
""")


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
