"""Positions and rotations of a rig's bones in a pose, and tests for standing poses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .. import quat
from ..arrays import Quats, Scalars, Vectors, cross, evenly_spaced, unit_vectors
from ..skeleton import Clip, Pose, Skeleton, forward
from .canonical import BONE_DIRECTIONS, FORWARD, UP
from .human import PHALANGES, SIDES

if TYPE_CHECKING:
    from .recognize import Rig

CHAINS = (("UpperArm", "LowerArm", "Hand"), ("UpperLeg", "LowerLeg", "Foot", "Toes"))
"""Bones of limbs that end where the next one begins."""
FINGER_CHAINS = [[finger + bone for bone in bones] for finger, bones in PHALANGES.items()]
FOLLOWING = [pair for chain in (*CHAINS, *FINGER_CHAINS) for pair in pairwise(chain)]
"""Bones, each with the bone that begins where it ends."""
LAST_BONES = ("Hand", *(chain[-1] for chain in FINGER_CHAINS))
"""Bones that end amid the children and end sites of their joint."""
COMMON_NAMES = {
    "UpperLeg": "thigh",
    "LowerLeg": "shin",
    "UpperArm": "upper arm",
    "LowerArm": "forearm",
}
LEG_SLACK = np.radians(45.0)  # of legs from down in a standing pose
ARM_SLACK = np.radians(110.0)  # of upper arms from sideways, forwards or backwards
MAX_RAISED = np.radians(30.0)  # of upper arms above level; rest poses are never higher
MAX_ASYMMETRY = np.radians(25.0)  # between sides of a rest pose; frames of motion begin at 46
LINE_SLACK = np.radians(25.0)  # of hips and shoulders from a right angle to the spine
SNAP_SIDE = np.radians(10.0)  # of the body's side at rest from a world axis that it means
SNAP_UP = np.radians(25.0)  # likewise of its up direction, which leans more often
UPRIGHT_COSINE = np.cos(np.radians(45.0))  # legs closer to the line of the torso stand
LEVEL_COSINE = np.cos(np.radians(55.0))  # a torso farther from the line of the legs is level
SIDEWAYS_COSINE = 0.7  # two directions to the left beyond -0.7 (134 degrees) contradict
SAME_HEADING_COSINE = 0.5  # feet that point more than 60 degrees apart show no heading
SAME_HEIGHT = 0.2  # of a leg's length; hands closer to the height of the feet are on the ground
MIN_FOOT = 0.08  # of a leg's length; shorter feet have no direction
MAX_FRAMES = 4000  # evenly spaced frames that are examined; more do not change the result


@dataclass(frozen=True, eq=False)
class Stance:
    """Positions and rotations of the bones of a rig in one or many poses, by role."""

    starts: Mapping[str, Vectors]
    """Where bones begin (..., 3)."""
    tips: Mapping[str, Vectors]
    """Where bones end (..., 3), if known."""
    rotations: Mapping[str, Quats]
    """World rotations (..., 4)."""

    def direction(self, role: str) -> Vectors | None:
        """Return the unit direction (..., 3) of a bone; None if it has no length."""
        if role not in self.tips:
            return None
        return unit_or_none(self.tips[role] - self.starts[role])

    def vector(self, start: str, end: str) -> Vectors | None:
        """Return the vector (..., 3) from the start of one bone to another's; None without one."""
        if not {start, end} <= self.starts.keys():
            return None
        return np.asarray(self.starts[end] - self.starts[start])

    def between(self, start: str, end: str) -> Vectors | None:
        """Return the unit direction (..., 3) from the start of one bone to that of another.

        None if one of them is missing, or if they start at the same point.
        """
        vector = self.vector(start, end)
        return None if vector is None else unit_or_none(vector)

    def line(self, bone: str) -> Vectors | None:
        """Return the unit direction (..., 3) from the start of a right bone to the left one's."""
        return self.between(f"right{bone}", f"left{bone}")

    def lines(self) -> list[Vectors]:
        """Return the lines of hips and shoulders that are known."""
        known = [self.line(bone) for bone in ("UpperLeg", "UpperArm")]
        return [line for line in known if line is not None]

    def up(self) -> Vectors:
        """Return the unit direction (..., 3) from the hips to the shoulders."""
        hips, shoulders = (self._middle(bone) for bone in ("UpperLeg", "UpperArm"))
        bottom = hips if hips is not None else self.starts.get("hips")
        top = shoulders if shoulders is not None else self.starts.get("chest")
        knees, head = self._middle("LowerLeg"), self.starts.get("head")
        for low, high in ((bottom, top), (knees, bottom), (top, head)):
            if low is not None and high is not None and np.linalg.norm(high - low, axis=-1).all():
                return unit_vectors(high - low)
        raise ValueError(
            "a human needs hips and shoulders, hips and knees, or shoulders and a head, apart from "
            "each other"
        )

    def _middle(self, bone: str) -> Vectors | None:
        """Return the midpoint (..., 3) between the starts of a left bone and the right one."""
        both = [f"{side}{bone}" for side in SIDES]
        if not all(role in self.starts for role in both):
            return None
        return np.asarray(np.mean([self.starts[role] for role in both], axis=0))

    def side(self) -> Vectors:
        """Return the unit direction (..., 3) to the left, the mean of hips and shoulders."""
        lines = self.lines()
        if not lines:
            raise ValueError("a human needs both thighs or both upper arms, apart from each other")
        return unit_vectors(np.sum(lines, axis=0))


def unit_or_none(vectors: Vectors) -> Vectors | None:
    """Return unit vectors; None if one has no length."""
    return unit_vectors(vectors) if np.linalg.norm(vectors, axis=-1).all() else None


def stance_of(rig: Rig, pose: Pose) -> Stance:
    """Return the stance of a rig in one or many poses."""
    starts, roles = (
        {role: rig.skeleton.index(name) for role, name in names.items()}
        for names in (rig.starts, rig.roles)
    )
    return stance_of_bones(rig.skeleton, starts, roles, pose)


def stance_of_bones(
    skeleton: Skeleton, starts: Mapping[str, int], roles: Mapping[str, int], pose: Pose
) -> Stance:
    """Return the stance of bones in one or many poses.

    `starts` and `roles` are the first and last joint of each bone, as indices by role.
    """
    positions, rotations = forward(skeleton, pose)
    bone_starts = {role: positions[..., joint, :] for role, joint in starts.items()}
    bone_rotations = {role: rotations[..., joint, :] for role, joint in roles.items()}
    tips = {}
    for side in SIDES:
        for bone, after in FOLLOWING:
            if f"{side}{bone}" in bone_starts and f"{side}{after}" in bone_starts:
                tips[f"{side}{bone}"] = bone_starts[f"{side}{after}"]
        for role in (f"{side}{bone}" for bone in LAST_BONES if f"{side}{bone}" in bone_starts):
            joint = roles[role]
            ends = skeleton.ends_of(joint)
            middle = ends.mean(axis=0) if len(ends) else np.zeros(3)
            if middle.any():
                tips[role] = positions[..., joint, :] + quat.rotate(bone_rotations[role], middle)
    return Stance(bone_starts, tips, bone_rotations)


def unlike_standing(stance: Stance) -> str | None:
    """Return why a stance is not a standing pose, arms hanging to raised; None if it is one."""
    up, side = stance.up(), stance.side()
    for name, sign in zip(SIDES, (1.0, -1.0), strict=True):
        for bone, target, slack, where in (
            ("UpperLeg", -up, LEG_SLACK, "down"),
            ("LowerLeg", -up, LEG_SLACK, "down"),
            ("UpperArm", sign * side, ARM_SLACK, "sideways"),
        ):
            direction = stance.direction(f"{name}{bone}")
            if direction is not None and (angle := angle_between(direction, target)) > slack:
                return (
                    f"the {name} {COMMON_NAMES[bone]} points {np.degrees(angle):.0f} degrees away "
                    f"from {where}"
                )
        raised = stance.direction(f"{name}UpperArm")
        if (
            raised is not None
            and (above := np.arcsin(np.clip(raised @ up, -1.0, 1.0))) > MAX_RAISED
        ):
            return f"the {name} upper arm points {np.degrees(above):.0f} degrees above level"
    lines = stance.lines()
    if any(abs(angle_between(line, up) - 0.5 * np.pi) > LINE_SLACK for line in lines):
        return "hips and shoulders are not square to the spine"
    if len(lines) == 2 and angle_between(lines[0], lines[1]) > LINE_SLACK:
        return "hips and shoulders are turned against each other"
    return None


def unlike_sides(stance: Stance) -> str | None:
    """Return why a stance is not mirror-symmetric, as rest poses are; None if it is."""
    side = stance.side()
    for bone in ("UpperLeg", "LowerLeg", "UpperArm", "LowerArm"):
        left, right = (stance.direction(f"{name}{bone}") for name in SIDES)
        if left is None or right is None:
            continue
        angle = float(angle_between(left - 2.0 * (left @ side) * side, right))
        if angle > MAX_ASYMMETRY:
            return (
                f"the left {COMMON_NAMES[bone]} points {np.degrees(angle):.0f} degrees away from "
                "the mirrored right one"
            )
    return None


# Rest poses of captures are often not poses of a body, so only clear contradictions count below.


def is_upright(rest: Stance) -> bool:
    """Return True if both legs point away from the torso at rest."""
    torso = _torso(rest)
    legs = [_limb(rest, side, "Leg") for side in SIDES]
    return torso is not None and all(
        leg is not None and _cosine(torso, -leg) > UPRIGHT_COSINE for leg in legs
    )


def is_on_all_fours(rest: Stance) -> bool:
    """Return True if at rest the torso is level and the hands are at the height of the feet."""
    torso = _torso(rest)
    if torso is None:
        return False
    for side in SIDES:
        leg, arm = _limb(rest, side, "Leg"), _limb(rest, side, "Arm")
        between = rest.vector(f"{side}UpperLeg", f"{side}UpperArm")
        if leg is None or arm is None or between is None or not leg.any():
            return False
        height = float((between + arm - leg) @ leg) / float(np.linalg.norm(leg)) ** 2
        level = abs(_cosine(torso, leg)) < LEVEL_COSINE
        if not (level and _cosine(arm, leg) > UPRIGHT_COSINE and abs(height) < SAME_HEIGHT):
            return False
    return True


def exchanged_sides(rest: Stance, feet: Mapping[str, Vectors]) -> str | None:
    """Return how the rest pose of an upright body contradicts left and right; None if it does not.

    `feet` are vectors (3,) from the ankles to the toes, by side.
    """
    up, arms, legs = _torso(rest), rest.line("UpperArm"), rest.line("UpperLeg")
    if up is None or legs is None or not is_upright(rest):
        return None
    if arms is not None and _cosine(arms, legs) < -SIDEWAYS_COSINE:
        return "the left arm is on the side of the right leg"
    headings = []
    for side, foot in feet.items():
        leg, level = _limb(rest, side, "Leg"), foot - (foot @ up) * up
        if leg is not None and np.linalg.norm(level) >= MIN_FOOT * np.linalg.norm(leg):
            headings.append(level / np.linalg.norm(level))
    if len(headings) < len(SIDES) or _cosine(*headings) < SAME_HEADING_COSINE:
        return None
    if _cosine(np.cross(up, headings[0] + headings[1]), legs) < -SIDEWAYS_COSINE:
        return (
            "left and right look exchanged: by the feet, the left of the names is the right of "
            "the body"
        )
    return None


def _cosine(one: Vectors, other: Vectors) -> float:
    """Return the cosine of the angle between two vectors; 0 if one has no length."""
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / length if length > 0.0 else 0.0


def _torso(rest: Stance) -> Vectors | None:
    """Return the unit direction (3,) from the hips to the chest, or else to the head."""
    direction = rest.between("hips", "chest")
    return rest.between("hips", "head") if direction is None else direction


def _limb(rest: Stance, side: str, limb: str) -> Vectors | None:
    """Return the vector (3,) along an arm or a leg to hand or foot, or to its last joint."""
    end = side + {"Arm": "Hand", "Leg": "Foot"}[limb]
    return rest.vector(f"{side}Upper{limb}", end if end in rest.starts else f"{side}Lower{limb}")


def lean_from_standing(stance: Stance, up: Vectors) -> Scalars:
    """Return the largest angle (...) of legs and torso from the vertical, in radians."""
    angles = [angle_between(stance.up(), up)]
    for role in (f"{side}{bone}" for side in SIDES for bone in ("UpperLeg", "LowerLeg")):
        direction = stance.direction(role)
        if direction is not None:
            angles.append(angle_between(direction, -up))
    return np.asarray(np.max(angles, axis=0))


def world_up(rig: Rig, clips: Sequence[Clip]) -> Vectors:
    """Return the unit up direction (3,) of the world of clips.

    It is the axis that the file states, or else the up direction of a standing rest pose. The
    motion does not overrule these, because people also lie down. Without both it is y, or z if the
    body is upright along y in less than a tenth of the frames and along z in more than half.
    """
    if rig.skeleton.up:
        return np.asarray(np.eye(3)["xyz".index(rig.skeleton.up)])
    rest_stance = stance_of(rig, rig.skeleton.rest_pose())
    if unlike_standing(rest_stance) is None:
        return snap(rest_stance.up(), SNAP_UP)
    up_directions = [stance_of(rig, thin_clip(clip).pose).up() for clip in clips if clip.frames]
    if up_directions:
        min_cosine = np.cos(LEG_SLACK)
        shares = [
            (np.concatenate(up_directions) @ axis > min_cosine).mean() for axis in (UP, FORWARD)
        ]
        if shares[0] < 0.1 and shares[1] > 0.5:
            return FORWARD
    return UP


def body_axes(stance: Stance, *, snap_side: bool) -> Quats:
    """Return the rotation (4,) from the rig's world to the canonical one, from one pose."""
    up = snap(stance.up(), SNAP_UP)
    side = stance.side()
    if snap_side:
        side = snap(side, SNAP_SIDE)
    side = unit_vectors(side - (side @ up) * up)
    return quat.from_matrix(np.stack([side, up, cross(side, up)]))


def snap(direction: Vectors, slack: float) -> Vectors:
    """Return the world axis within `slack` radians of a direction, else the direction."""
    axis = int(np.abs(direction).argmax())
    along = np.sign(direction[axis]) * np.eye(3)[axis]
    return along if angle_between(direction, along) <= slack else direction


def t_pose_frames(stance: Stance, axes: Quats, *, level: bool) -> dict[str, Quats]:
    """Return the frame (4,) of each bone, by rotating a stance into the T-pose.

    Limbs are rotated by shortest arcs, from the torso outwards. With `level`, hips and chest are
    first rotated about the vertical until their lines point to the left.
    """
    rotations = dict.fromkeys(stance.rotations, quat.IDENTITY)
    if level:
        for role, bone in (("hips", "UpperLeg"), ("chest", "UpperArm")):
            line = stance.line(bone)
            if role in rotations and line is not None:
                rotations[role] = _heading(line, axes)
    for side in SIDES:
        for chain in CHAINS:
            rotation = quat.IDENTITY
            for role in (f"{side}{bone}" for bone in chain if f"{side}{bone}" in rotations):
                direction = stance.direction(role)
                if direction is not None and role in BONE_DIRECTIONS:
                    target = quat.rotate(quat.inverse(axes), BONE_DIRECTIONS[role])
                    rotation = quat.mul(
                        quat.between(quat.rotate(rotation, direction), target), rotation
                    )
                rotations[role] = rotation
    frames = {}
    for role, rotation in rotations.items():
        posed = quat.mul(quat.mul(axes, rotation), stance.rotations[role])
        frames[role] = quat.normalize(quat.inverse(posed))
    return frames


def _heading(line: Vectors, axes: Quats) -> Quats:
    """Return the rotation (4,) about the vertical that makes a line point to the left."""
    x, _, z = quat.rotate(axes, line)
    up = quat.rotate(quat.inverse(axes), UP)
    return quat.exp(np.arctan2(z, x) * up)


def thin_clip(clip: Clip) -> Clip:
    """Return a clip with at most `MAX_FRAMES` evenly spaced frames."""
    if clip.frames <= MAX_FRAMES:
        return clip
    frames = evenly_spaced(clip.frames, MAX_FRAMES)
    pose = Pose(clip.pose.rotations[frames], clip.pose.positions[frames])
    step = (clip.frames - 1) / (MAX_FRAMES - 1)
    return replace(clip, pose=pose, frame_time=clip.frame_time * step)


def angle_between(a: Vectors, b: Vectors) -> Scalars:
    """Return the angle (...) between unit vectors, in radians."""
    return np.asarray(np.arccos(np.clip((a * b).sum(axis=-1), -1.0, 1.0)))
