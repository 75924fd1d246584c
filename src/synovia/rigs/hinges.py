"""Twist of limbs by the motion of elbows and knees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import Quats, cross
from .alignment import Draft
from .canonical import BONE_DIRECTIONS, FORWARD
from .human import SIDES
from .stance import Stance, angle_between

HINGE_BONES = {"elbow": ("UpperArm", "LowerArm"), "knee": ("UpperLeg", "LowerLeg")}
BENT = np.radians([25.0, 155.0])  # elbows and knees in this range show their axis
BACKWARDS = np.radians(120.0)  # hinges farther off bend the wrong way: exchanged sides
MAX_TWIST = {"elbow": np.radians(100.0), "knee": np.radians(60.0)}
"""Largest twist of limbs at rest; hinges farther off are errors of the motion."""
MAX_OFF = np.radians(60.0)  # two hinges farther off: the rest pose does not show the limbs
MIN_FRAMES, MIN_CONCENTRATION = 30, 0.85  # that show a hinge's axis
FEW_FRAMES, HIGH_CONCENTRATION = 8, 0.98  # fewer frames suffice if they agree better
NO_END = 0.3  # of a limb's bone whose end is unknown
CONTRADICTED = 0.2  # of limbs whose hinges contradict the rest pose
UNSEEN_TWIST = 0.2  # of limbs without a rest pose whose twist no motion shows
AT_REST, IN_MOTION = {"hinge": 1.0, "no hinge": 0.7}, {"hinge": 0.8, "no hinge": UNSEEN_TWIST}
"""Of limbs whose hinge axis is seen, and not seen, with and without a rest pose."""


@dataclass(frozen=True)
class Hinge:
    """Directions in which an elbow or a knee bends in motion."""

    name: str
    upper: str
    lower: str
    frames: int
    """Number of frames in which it is bent."""
    mean: complex
    """Mean of exp(i · azimuth) about the upper bone; azimuth 0 is the expected direction."""

    @property
    def twist(self) -> float:
        """Angle from the expected direction, in radians about the upper bone."""
        return float(np.angle(self.mean))

    @property
    def is_clear(self) -> bool:
        """True if enough frames agree."""
        return (self.frames >= MIN_FRAMES and abs(self.mean) > MIN_CONCENTRATION) or (
            self.frames >= FEW_FRAMES and abs(self.mean) > HIGH_CONCENTRATION
        )


def observe_hinge(stance: Stance, frames: Mapping[str, Quats], side: str, joint: str) -> Hinge:
    """Return how the elbow or knee of a side bends in a stance of many poses."""
    upper, lower = (f"{side}{bone}" for bone in HINGE_BONES[joint])
    above, below = (quat.mul(stance.rotations[role], frames[role]) for role in (upper, lower))
    bone, ahead = BONE_DIRECTIONS[upper], FORWARD if joint == "elbow" else -FORWARD
    lower_bone = quat.rotate(quat.mul(quat.inverse(above), below), bone)
    bend = angle_between(lower_bone, bone)
    bent = lower_bone[(bend > BENT[0]) & (bend < BENT[1])]
    azimuth = np.arctan2(cross(ahead, bent) @ bone, bent @ ahead)
    mean = complex(np.exp(1j * azimuth).mean()) if len(azimuth) else 0j
    return Hinge(f"{side} {joint}", upper, lower, len(azimuth), mean)


def align_hinges(draft: Draft, motion: Stance) -> None:
    """Twist limbs so that elbows bend forwards and knees backwards, if the motion shows their axes.

    Hands keep their frames: an elbow's axis does not show where the palm faces. If two or more
    hinges contradict a rest pose by more than `MAX_OFF`, limbs lose confidence.
    """
    frames, confidence, steps = draft.frames, draft.confidence, draft.steps
    clear: list[Hinge] = []
    hinge_confidence = AT_REST if draft.at_rest else IN_MOTION
    for side in SIDES:
        for joint, bones in HINGE_BONES.items():
            roles = [f"{side}{bone}" for bone in bones]
            if not all(role in frames and confidence[role] > NO_END for role in roles):
                continue
            hinge = observe_hinge(motion, frames, side, joint)
            evidence = f"{hinge.frames} frames, concentration {abs(hinge.mean):.2f}"
            twist_deg = np.degrees(hinge.twist)
            if not hinge.is_clear:
                confidence.update(dict.fromkeys(roles, hinge_confidence["no hinge"]))
                steps.append(f"{hinge.name}: it bends too seldom or too variously ({evidence})")
                continue
            clear.append(hinge)
            if draft.at_rest and abs(hinge.twist) > MAX_TWIST[joint]:
                steps.append(
                    f"{hinge.name}: bends {twist_deg:.0f} degrees off, left alone ({evidence})"
                )
                continue
            rotation = quat.exp(hinge.twist * BONE_DIRECTIONS[hinge.upper])
            for role in roles:
                draft.rotate_frame(role, rotation)
            confidence.update(dict.fromkeys(roles, hinge_confidence["hinge"]))
            steps.append(
                f"{hinge.name}: twisted by {round(twist_deg)} degrees, as it bends ({evidence})"
            )
    if len(clear) > 1 and all(abs(hinge.twist) > BACKWARDS for hinge in clear):
        raise ValueError(
            "elbows and knees all bend the wrong way: left and right seem to be exchanged in the "
            "names, which a map of joints to roles can set right"
        )
    contradicting = [hinge.name for hinge in clear if abs(hinge.twist) > MAX_OFF]
    if draft.at_rest and len(contradicting) > 1:
        limbs = [role for role in frames if role.endswith(("Arm", "Hand", "Leg", "Foot", "Toes"))]
        confidence.update(dict.fromkeys(limbs, CONTRADICTED))
        steps.append(
            f"{' and '.join(contradicting)} bend more than {np.degrees(MAX_OFF):.0f} degrees away "
            "from where the rest pose says: no verdict on limbs"
        )
