"""Alignment of a rig with the canonical human, from its rest pose and its motion.

The canonical human stands in a T-pose that faces +Z, with +X to the left and +Y up, where all its
bones have the identity rotation. A bone with rotation R in the rig's world has A · R · B in the
canonical world. A converts between the axes of the two worlds. B, the *frame* of the bone, makes
the product the identity when the rig is in its T-pose. The canonical rotation of a joint is then
B_parent⁻¹ · (R_parent⁻¹ · R) · B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from .. import quat
from ..arrays import Quats, Scalars, Vectors, cross, evenly_spaced, unit_vectors
from ..skeleton import Clip, Pose, forward, lineage, list_names
from .canonical import BONE_DIRECTIONS, FORWARD, MEASURED_FROM, UP
from .hands import align_hands
from .human import SIDES, split_role
from .recognize import Rig

CHAINS = (("UpperArm", "LowerArm", "Hand"), ("UpperLeg", "LowerLeg", "Foot", "Toes"))
"""Bones that end where the next one begins."""
HINGE_BONES = {"elbow": ("UpperArm", "LowerArm"), "knee": ("UpperLeg", "LowerLeg")}
TRUNK = ("hips", "chest")
"""Bones that gravity aligns only without a rest pose."""
ENDS = ("head", "leftFoot", "rightFoot")
"""Bones that gravity always aligns."""
COMMON_NAMES = {
    "UpperLeg": "thigh",
    "LowerLeg": "shin",
    "UpperArm": "upper arm",
    "LowerArm": "forearm",
}
# Angles in radians.
LEG_SLACK = np.radians(45.0)  # of legs from down in a standing pose
ARM_SLACK = np.radians(110.0)  # of upper arms from sideways, forwards or backwards
MAX_RAISED = np.radians(30.0)  # of upper arms above level; rest poses are never higher
T_POSE = np.radians(35.0)  # of upper arms from level in a T-pose, whose palms are down
PALMS_DOWN = frozenset({"Mixamo", "SMPL", "VRM", "VRoid", "Synovia"})
"""Conventions whose T-poses have the palms down; those of CMU, for example, do not agree."""
PALMS_AT_THIGHS = frozenset({"Synovia"})
"""Conventions that rest with hanging arms, the palms at the thighs: down in a T-pose."""
MAX_ASYMMETRY = np.radians(25.0)  # between sides of a rest pose; frames of motion begin at 46
LINE_SLACK = np.radians(25.0)  # of hips and shoulders from a right angle to the spine
SNAP_SIDE = np.radians(10.0)  # of the body's side at rest from a world axis that it means
SNAP_UP = np.radians(25.0)  # likewise of its up direction, which leans more often
BENT = np.radians([25.0, 155.0])  # elbows and knees in this range show their axis
BACKWARDS = np.radians(120.0)  # hinges farther off bend the wrong way: exchanged sides
MAX_TWIST = {"elbow": np.radians(100.0), "knee": np.radians(60.0)}
"""Largest twist of limbs at rest; hinges farther off are errors of the motion."""
MAX_OFF = np.radians(60.0)  # two hinges farther off: the rest pose does not show the limbs
MAX_LEAN = np.radians(35.0)  # of a bone where it stands most often
MAX_FOOT_TURN = np.radians(15.0)  # by which gravity rotates a foot; ground may slope, heels lift
MAX_FOOT_ZERO = np.radians([30.0, 25.0])  # of a foot's zero: lift and rotation of its median
LEAN_WIDTH = np.radians(6.0)  # bandwidth of the mode of directions
STILL = np.radians(0.5)  # rotations below this are noise of a held pose
# Numbers of frames, and concentrations (mean resultant length, 1 if all directions are equal).
MIN_FRAMES, MIN_CONCENTRATION = 30, 0.85  # that show a hinge's axis
FEW_FRAMES, HIGH_CONCENTRATION = 8, 0.98  # fewer frames suffice if they agree better
STILL_FRAMES = 10  # fewer frames may be a pose on purpose
MAX_FRAMES = 4000  # evenly spaced frames that are examined; more do not change the result
TRIED_FRAMES = 20  # of each clip, the most upright first, as a reference
MODE_STARTS, MODE_STEPS = 100, 50  # mean shift converges in a few steps from the best start
# Confidence, 0 to 1.
MIN_CONFIDENCE = 0.55  # joints below it are not judged
NOT_AT_REST = {"head": 0.4, "Foot": 0.4, "Hand": 0.3, "Shoulder": 0.3, "Toes": 0.3}
"""Of bones whose reference is a frame of the motion; 0.6 for others."""
SETTLED = 0.6  # of ends without a rest pose that gravity, a median or knuckles align
NO_END = 0.3  # of a limb's bone whose end is unknown
SCAPULA = 0.3  # of a shoulder blade in the role of a collarbone, which rotates less
LEANING = 0.35  # of a head or foot that leans too far for gravity to align it
CONTRADICTED = 0.2  # of limbs whose hinges contradict the rest pose
UNSEEN_TWIST = 0.2  # of limbs without a rest pose whose twist no motion shows
AT_REST, IN_MOTION = {"hinge": 1.0, "no hinge": 0.7}, {"hinge": 0.8, "no hinge": UNSEEN_TWIST}
"""Of limbs whose hinge axis is seen, and not seen, with and without a rest pose."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """The relation between the bones of a rig and those of the canonical human."""

    rig: Rig
    axes: Quats
    """The rotation (4,) from the rig's world to the canonical world."""
    frames: Mapping[str, Quats]
    """The frame (4,) of each bone, by role; see the module."""
    confidence: Mapping[str, float]
    """Confidence in each frame, 0 to 1, by role."""
    steps: tuple[str, ...]
    """Sentences about what was done."""
    warnings: tuple[str, ...] = ()
    """Sentences about problems of the motion."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Reasons why bones of hands have no frame that can be trusted, by role."""
    palm: Mapping[str, str | None] = field(default_factory=dict)
    """What shows where the palm faces, by side: "fingers", "thumb", "convention", or None."""
    medians: Mapping[str, Quats] = field(default_factory=dict)
    """Median canonical rotation (4,) of hands, feet and head that move, by role."""
    reference: Clip | None = None
    """The clip whose first frame was given as the reference."""

    def estimate_again(self, clip: Clip) -> Alignment:
        """Return the alignment of the same rig by other motion, with the same given reference."""
        return align(self.rig, [clip], reference=self.reference)

    @cached_property
    def anchors(self) -> dict[str, tuple[str, Quats]]:
        """By role, the joint of this rig from which it is measured, and the frame of that joint.

        It is the joint of the role in `MEASURED_FROM`. Where that is not above the bone, as a
        sternum is not above a neck, it is the joint of the spine from which both branch off, with
        the frame that it has while the joints between are at rest.
        """
        skeleton, roles = self.rig.skeleton, self.rig.roles
        found = {}
        for role, above in MEASURED_FROM.items():
            if role not in self.frames or above not in self.frames:
                continue
            path = skeleton.path_to_root(skeleton.index(roles[role]))[1:]
            branch = skeleton.path_to_root(skeleton.index(roles[above]))
            if branch[0] in path:
                found[role] = roles[above], self.frames[above]
            elif above == "chest" and "hips" in roles:
                hips = skeleton.index(roles["hips"])
                spine = branch[: branch.index(hips) + 1] if hips in branch else []
                shared = next((skeleton.names[joint] for joint in spine if joint in path), None)
                if shared is not None:
                    rest = skeleton.rest_pose().rotations
                    down = lineage(skeleton, roles[above], shared).relative_rotation(rest)
                    found[role] = shared, quat.mul(down, self.frames[above])
        return found

    @property
    def measured(self) -> dict[str, str]:
        """Roles that can be measured on this rig, each with the role it is measured from."""
        return {role: MEASURED_FROM[role] for role in self.anchors}

    @property
    def trusted(self) -> dict[str, str]:
        """The entries of `measured` with enough confidence to be judged."""
        return {
            role: above
            for role, above in self.measured.items()
            if min(self.confidence[role], self.confidence[above]) >= MIN_CONFIDENCE
        }

    @property
    def no_verdict(self) -> dict[str, str]:
        """The joints that cannot be judged, each with the reason.

        Joints that are part of a judged bone, such as those of the spine, are not among them.
        """
        rig, measured, trusted = self.rig, self.measured, self.trusted
        role_of = {joint: role for role, joint in rig.roles.items() if role in MEASURED_FROM}
        judged = {*rig.starts.values(), *rig.roles.values(), *rig.torso, *rig.neck}
        found = {}
        for joint in rig.skeleton.names:
            role = role_of.get(joint, "")
            if role in self.reasons:
                found[joint] = self.reasons[role]
            elif role and role not in measured:
                found[joint] = f"it is not below a {MEASURED_FROM[role]} that is recognised"
            elif role and role not in trusted:
                unsure = min((role, measured[role]), key=lambda each: self.confidence[each])
                found[joint] = f"the frame of {unsure} is uncertain ({self.confidence[unsure]:.2f})"
            elif not role and joint not in judged:
                found[joint] = "it is no bone of the canonical human"
        return found

    def canonical_rotations(self, pose: Pose) -> dict[str, Quats]:
        """Return the rotations (..., 4) of the canonical human in this pose, by role."""
        skeleton, roles = self.rig.skeleton, self.rig.roles
        return {
            role: self.to_canonical(
                role,
                lineage(skeleton, roles[role], anchor).relative_rotation(pose.rotations),
            )
            for role, (anchor, _) in self.anchors.items()
        }

    def to_canonical(self, role: str, rotations: Quats) -> Quats:
        """Return canonical rotations (..., 4) from rotations of a bone as it is measured."""
        _, anchor_frame = self.anchors[role]
        above = quat.inverse(anchor_frame)
        return quat.normalize(quat.mul(quat.mul(above, rotations), self.frames[role]))


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
        return _unit_or_none(self.tips[role] - self.starts[role])

    def line(self, bone: str) -> Vectors | None:
        """Return the unit direction (..., 3) from the start of a right bone to the left one's."""
        if not all(f"{side}{bone}" in self.starts for side in SIDES):
            return None
        return _unit_or_none(self.starts[f"left{bone}"] - self.starts[f"right{bone}"])

    def lines(self) -> list[Vectors]:
        """Return the lines of hips and shoulders that are known."""
        found = [self.line(bone) for bone in ("UpperLeg", "UpperArm")]
        return [line for line in found if line is not None]

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


def _unit_or_none(vectors: Vectors) -> Vectors | None:
    """Return unit vectors; None if one has no length."""
    return unit_vectors(vectors) if np.linalg.norm(vectors, axis=-1).all() else None


def align(
    rig: Rig,
    clips: Sequence[Clip] = (),
    *,
    reference: Clip | None = None,
    hinges: bool = True,
    gravity: bool = True,
) -> Alignment:
    """Return the alignment of a rig with the canonical human.

    Parameters
    ----------
    rig
        The recognised skeleton.
    clips
        Motion of this skeleton. It shows the axes of elbows and knees and the usual orientation of
        head and feet, and provides a reference if the rest pose is not a standing pose.
    reference
        A clip of this skeleton whose first frame is the reference: a standing pose, the arms
        anywhere from hanging to raised sideways. By default the rest pose if it is one, else the
        frame that is closest to standing.
    hinges
        Correct the twist of limbs by the motion of elbows and knees.
    gravity
        Correct the lean of head and feet, and without a rest pose of hips and chest.

    Raises
    ------
    ValueError
        If there is no reference.
    """
    if not {"hips", "chest", "head"} & rig.roles.keys():
        return _align_hands_alone(rig)
    clips = [thin_clip(clip) for clip in clips if clip.frames]
    if reference is not None:
        if reference.skeleton.names != rig.skeleton.names:
            raise ValueError(
                f"the reference must be a clip of the rig's {len(rig.skeleton)} joints, got "
                f"{len(reference.skeleton)} joints: {list_names(reference.skeleton.names, 5)}"
            )
        stance, at_rest = stance_of(rig, first_pose(reference)), True
        step = "the pose that was given"
        if (why := unlike_standing(stance)) is not None:
            raise ValueError(f"the reference must be a person who stands, but {why}")
    else:
        stance, at_rest, step = find_reference(rig, clips)
    axes = body_axes(stance, snap_side=at_rest and reference is None)
    frames = t_pose_frames(stance, axes, level=not at_rest)
    steps = [f"reference: {step}"]
    confidence = {
        role: 1.0 if at_rest else NOT_AT_REST.get(split_role(role)[1], 0.6) for role in frames
    }
    for role in (role for role in frames if role.endswith(("Arm", "Leg"))):
        if stance.direction(role) is None:
            confidence[role] = NO_END
            steps.append(f"{role}: where it ends is not known, nor whether it is bent at rest")
    for role in (role for role in frames if role.endswith("Shoulder")):
        if "scapula" in rig.roles[role].lower():
            confidence[role] = SCAPULA
            steps.append(f"{role}: a shoulder blade, which turns farther than a collarbone")
    warnings: tuple[str, ...] = ()
    if clips:
        warnings = describe_stillness(clips)
        pose = Pose(
            np.concatenate([clip.pose.rotations for clip in clips]),
            np.concatenate([clip.pose.positions for clip in clips]),
        )
        if hinges:
            steps += align_hinges(rig, pose, at_rest, frames, confidence)
        if gravity:
            bones = ENDS if at_rest else (*TRUNK, *ENDS)
            steps += align_upright(rig, pose, bones, frames, confidence)
        steps += align_medians(rig, pose, frames, confidence)
    elif not at_rest:
        limbs = [role for role in frames if role.endswith(("Arm", "Leg", "Hand"))]
        confidence.update(dict.fromkeys(limbs, UNSEEN_TWIST))
    palm = align_palms(rig, stance, at_rest, axes, frames)
    for hand in (f"{side}Hand" for side, shown in palm.items() if shown == "fingers"):
        if hand in stance.tips:  # bone and knuckles define the frame, whatever the reference
            confidence[hand] = max(confidence[hand], SETTLED)
    reasons = align_hands(rig, stance, frames, confidence, at_rest=at_rest)
    for role in frames:
        confidence[role] *= rig.confidence[role]
    found = Alignment(
        rig, axes, frames, confidence, tuple(steps), warnings, reasons, palm, reference=reference
    )
    if not clips or len(pose.rotations) < MIN_FRAMES:
        return found
    seen = found.canonical_rotations(pose)
    ends = [role for role in (*ENDS, *(f"{side}Hand" for side in SIDES)) if role in seen]
    medians = {role: median_rotation(seen[role]) for role in ends}
    return replace(
        found,
        medians={role: each for role, each in medians.items() if not is_held(seen[role], each)},
    )


def _align_hands_alone(rig: Rig) -> Alignment:
    """Return the alignment of hands without a body, by their knuckles in the rest pose."""
    stance = stance_of(rig, rig.skeleton.rest_pose())
    frames = dict.fromkeys(stance.rotations, quat.IDENTITY)
    confidence = dict.fromkeys(frames, 1.0)
    reasons = align_hands(rig, stance, frames, confidence, at_rest=True)
    steps = ("reference: the knuckles in the rest pose, of hands without a body",)
    return Alignment(rig, quat.IDENTITY, frames, confidence, steps, (), reasons)


def find_reference(rig: Rig, clips: Sequence[Clip]) -> tuple[Stance, bool, str]:
    """Return the reference stance, True if it is the rest pose, and its description."""
    at_rest = stance_of(rig, rig.skeleton.rest_pose())
    why_not = unlike_standing(at_rest) or unlike_sides(at_rest)
    if why_not is None:
        return at_rest, True, "the rest pose"
    best: tuple[float, Stance, str] | None = None
    for clip in clips:
        stance = stance_of(rig, clip.pose)
        off = lean_from_standing(stance, world_up(rig, [clip]))
        for frame in np.argsort(off)[:TRIED_FRAMES].tolist():
            if best is not None and off[frame] >= best[0]:
                break
            one = stance_of(rig, Pose(clip.pose.rotations[frame], clip.pose.positions[frame]))
            if unlike_standing(one) is None and off[frame] <= LEG_SLACK:
                time = frame * clip.frame_time
                best = float(off[frame]), one, f"{clip.name or 'the clip'} at {time:.2f} s"
                break
    if best is None:
        where = " and nobody stands in the motion" if clips else ""
        raise ValueError(
            f"no pose to measure from: at rest {why_not}{where}. A frame in which one stands, the "
            "arms hanging or to the sides, can be given (--tpose)"
        )
    return best[1], False, f"{best[2]}, because at rest {why_not}"


def stance_of(rig: Rig, pose: Pose) -> Stance:
    """Return the stance of a rig in one or many poses."""
    skeleton, roles, starts = rig.skeleton, rig.roles, rig.starts
    positions, rotations = forward(skeleton, pose)
    bone_starts = {role: positions[..., skeleton.index(name), :] for role, name in starts.items()}
    turns = {role: rotations[..., skeleton.index(name), :] for role, name in roles.items()}
    tips = {}
    for side in SIDES:
        for bone, after in (pair for chain in CHAINS for pair in pairwise(chain)):
            if f"{side}{bone}" in bone_starts and f"{side}{after}" in bone_starts:
                tips[f"{side}{bone}"] = bone_starts[f"{side}{after}"]
        hand = f"{side}Hand"
        if hand in bone_starts:
            joint = skeleton.index(roles[hand])
            ends = [skeleton.offsets[child] for child in skeleton.children(joint)]
            ends += list(skeleton.end_offsets[skeleton.end_parents == joint])
            middle = np.mean(ends, axis=0) if ends else np.zeros(3)
            if middle.any():
                tips[hand] = positions[..., joint, :] + quat.rotate(turns[hand], middle)
    return Stance(bone_starts, tips, turns)


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
            if direction is not None and (angle := _angle(direction, target)) > slack:
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
    if any(abs(_angle(line, up) - 0.5 * np.pi) > LINE_SLACK for line in lines):
        return "hips and shoulders are not square to the spine"
    if len(lines) == 2 and _angle(lines[0], lines[1]) > LINE_SLACK:
        return "hips and shoulders are turned against each other"
    return None


def unlike_sides(stance: Stance) -> str | None:
    """Return why a stance is not mirror-symmetric, as rest poses are; None if it is."""
    side = stance.side()
    for bone in ("UpperLeg", "LowerLeg", "UpperArm", "LowerArm"):
        left, right = (stance.direction(f"{name}{bone}") for name in SIDES)
        if left is None or right is None:
            continue
        angle = float(_angle(left - 2.0 * (left @ side) * side, right))
        if angle > MAX_ASYMMETRY:
            return (
                f"the left {COMMON_NAMES[bone]} points {np.degrees(angle):.0f} degrees away from "
                "the mirrored right one"
            )
    return None


def lean_from_standing(stance: Stance, up: Vectors) -> Scalars:
    """Return the largest angle (...) of legs and torso from the vertical, in radians."""
    angles = [_angle(stance.up(), up)]
    for role in (f"{side}{bone}" for side in SIDES for bone in ("UpperLeg", "LowerLeg")):
        direction = stance.direction(role)
        if direction is not None:
            angles.append(_angle(direction, -up))
    return np.asarray(np.max(angles, axis=0))


def world_up(rig: Rig, clips: Sequence[Clip]) -> Vectors:
    """Return the unit up direction (3,) of the world of clips.

    It is what the file states, else the up direction of a standing rest pose, whatever the motion:
    people lie down. Else it is y, or z if bodies are hardly ever upright along y, and mostly along
    z.
    """
    if rig.skeleton.up:
        return np.asarray(np.eye(3)["xyz".index(rig.skeleton.up)])
    at_rest = stance_of(rig, rig.skeleton.rest_pose())
    if unlike_standing(at_rest) is None:
        return snap(at_rest.up(), SNAP_UP)
    towards = [stance_of(rig, thin_clip(clip).pose).up() for clip in clips if clip.frames]
    if towards:
        near = np.cos(LEG_SLACK)
        shares = [(np.concatenate(towards) @ axis > near).mean() for axis in (UP, FORWARD)]
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
    return along if _angle(direction, along) <= slack else direction


def t_pose_frames(stance: Stance, axes: Quats, *, level: bool) -> dict[str, Quats]:
    """Return the frame (4,) of each bone, by rotating a stance into the T-pose.

    Limbs are rotated by shortest arcs, from the torso outwards. With `level`, hips and chest are
    first rotated about the vertical until their lines point to the left.
    """
    turns = dict.fromkeys(stance.rotations, quat.IDENTITY)
    if level:
        for role, bone in (("hips", "UpperLeg"), ("chest", "UpperArm")):
            line = stance.line(bone)
            if role in turns and line is not None:
                turns[role] = _heading(line, axes)
    for side in SIDES:
        for chain in CHAINS:
            turn = quat.IDENTITY
            for role in (f"{side}{bone}" for bone in chain if f"{side}{bone}" in turns):
                direction = stance.direction(role)
                if direction is not None and role in BONE_DIRECTIONS:
                    target = quat.rotate(quat.inverse(axes), BONE_DIRECTIONS[role])
                    turn = quat.mul(quat.between(quat.rotate(turn, direction), target), turn)
                turns[role] = turn
    frames = {}
    for role, turn in turns.items():
        posed = quat.mul(quat.mul(axes, turn), stance.rotations[role])
        frames[role] = quat.normalize(quat.inverse(posed))
    return frames


def _heading(line: Vectors, axes: Quats) -> Quats:
    """Return the rotation (4,) about the vertical that makes a line point to the left."""
    x, _, z = quat.rotate(axes, line)
    up = quat.rotate(quat.inverse(axes), UP)
    return quat.exp(np.arctan2(z, x) * up)


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
    bend = _angle(lower_bone, bone)
    bent = lower_bone[(bend > BENT[0]) & (bend < BENT[1])]
    azimuth = np.arctan2(cross(ahead, bent) @ bone, bent @ ahead)
    mean = complex(np.exp(1j * azimuth).mean()) if len(azimuth) else 0j
    return Hinge(f"{side} {joint}", upper, lower, len(azimuth), mean)


def align_hinges(
    rig: Rig, pose: Pose, at_rest: bool, frames: dict[str, Quats], confidence: dict[str, float]
) -> list[str]:
    """Twist limbs so that elbows bend forwards and knees backwards, if the motion shows their axes.

    Hands keep their frames: an elbow's axis does not show where the palm faces. If two or more
    hinges contradict a rest pose by more than `MAX_OFF`, limbs lose confidence. Changes `frames`
    and `confidence` in place; returns sentences about what was done.
    """
    stance, steps, clear = stance_of(rig, pose), [], []
    level = AT_REST if at_rest else IN_MOTION
    for side in SIDES:
        for joint, bones in HINGE_BONES.items():
            roles = [f"{side}{bone}" for bone in bones]
            if not all(role in frames and confidence[role] > NO_END for role in roles):
                continue
            hinge = observe_hinge(stance, frames, side, joint)
            seen = f"{hinge.frames} frames, concentration {abs(hinge.mean):.2f}"
            twist_deg = np.degrees(hinge.twist)
            if not hinge.is_clear:
                confidence.update(dict.fromkeys(roles, level["no hinge"]))
                steps.append(f"{hinge.name}: it bends too seldom or too variously ({seen})")
                continue
            clear.append(hinge)
            if at_rest and abs(hinge.twist) > MAX_TWIST[joint]:
                steps.append(
                    f"{hinge.name}: bends {twist_deg:.0f} degrees off, left alone ({seen})"
                )
                continue
            turn = quat.exp(hinge.twist * BONE_DIRECTIONS[hinge.upper])
            for role in roles:
                frames[role] = quat.mul(frames[role], turn)
            confidence.update(dict.fromkeys(roles, level["hinge"]))
            steps.append(
                f"{hinge.name}: twisted by {round(twist_deg)} degrees, as it bends ({seen})"
            )
    if len(clear) > 1 and all(abs(hinge.twist) > BACKWARDS for hinge in clear):
        raise ValueError(
            "elbows and knees all bend the wrong way: left and right seem to be exchanged in the "
            "names, which a map of joints to roles can set right"
        )
    off = [hinge.name for hinge in clear if abs(hinge.twist) > MAX_OFF]
    if at_rest and len(off) > 1:
        limbs = [role for role in frames if role.endswith(("Arm", "Hand", "Leg", "Foot", "Toes"))]
        confidence.update(dict.fromkeys(limbs, CONTRADICTED))
        steps.append(
            f"{' and '.join(off)} bend more than {np.degrees(MAX_OFF):.0f} degrees away from where "
            "the rest pose says: no verdict on limbs"
        )
    return steps


def align_upright(
    rig: Rig,
    pose: Pose,
    bones: Sequence[str],
    frames: dict[str, Quats],
    confidence: dict[str, float],
) -> list[str]:
    """Rotate bones so that their most frequent orientation is upright; toes follow the foot.

    Changes `frames` and `confidence` in place; returns sentences about what was done. A head or
    foot that mostly leans far loses confidence. If hips or chest, when not among `bones`, lean as
    far, the body lies or crawls and nothing is changed.
    """
    if len(pose.rotations) < MIN_FRAMES:
        return []
    clip = Clip(rig.skeleton, pose, 1.0)
    up = world_up(rig, [clip])
    stance = stance_of(rig, pose)

    def up_in_frame(role: str) -> Vectors:
        return quat.rotate(quat.inverse(quat.mul(stance.rotations[role], frames[role])), up)

    for role in (role for role in TRUNK if role in frames and role not in bones):
        lean = float(
            np.quantile(_angle(up_in_frame(role), UP), 0.5)
        )  # `median` imports masked arrays
        if lean > MAX_LEAN:
            return [
                f"{role}: {np.degrees(lean):.0f} degrees from upright in half of the frames, so "
                "that gravity does not show how head and feet stand"
            ]
    steps = []
    for role in (role for role in bones if role in frames):
        mode = most_common_direction(up_in_frame(role))
        lean = float(_angle(mode, UP))
        if lean <= MAX_LEAN:
            turn = quat.log(quat.between(UP, mode))
            if role.endswith("Foot") and lean > MAX_FOOT_TURN:
                turn *= MAX_FOOT_TURN / lean
            for each in {role, role.replace("Foot", "Toes")} & frames.keys():
                frames[each] = quat.mul(frames[each], quat.exp(turn))
            if role == "head":
                confidence[role] = max(confidence[role], SETTLED)
            steps.append(f"{role}: set upright by {np.degrees(np.linalg.norm(turn)):.0f} degrees")
            continue
        if role in ENDS:
            confidence[role] = LEANING
        steps.append(
            f"{role}: stands {np.degrees(lean):.0f} degrees from upright most often, left alone"
        )
    return steps


def align_medians(
    rig: Rig, pose: Pose, frames: dict[str, Quats], confidence: dict[str, float]
) -> list[str]:
    """Take the zero of collarbones and feet from the median of the motion.

    Rest poses show neither: collarbones rest at any height, and feet stand on heels or on tiptoe.
    A collarbone's median becomes its zero. A foot's median Rx(lift) · Rz(tilt) · Ry(rotation)
    loses lift and rotation, up to `MAX_FOOT_ZERO`; toes follow the foot. Changes `frames` and
    `confidence` in place; returns sentences about what was done.
    """
    if len(pose.rotations) < MIN_FRAMES:
        return []
    now = Alignment(rig, quat.IDENTITY, dict(frames), confidence, ())
    seen, steps = now.canonical_rotations(pose), []
    for role in (f"{side}{bone}" for side in SIDES for bone in ("Shoulder", "Foot")):
        if role not in seen:
            continue
        median = median_rotation(seen[role])
        if role.endswith("Foot") and is_held(seen[role], median):
            continue
        if role.endswith("Shoulder"):
            turn, words = quat.inverse(median), f"by {np.degrees(_size(median)):.0f} degrees"
            if confidence[role] != SCAPULA:
                confidence[role] = confidence["chest"]
        else:
            lift, tilt, rotation = quat.to_euler(median, "xzy")
            removed = np.clip([lift, rotation], -MAX_FOOT_ZERO, MAX_FOOT_ZERO)
            left = np.array([lift - removed[0], tilt, rotation - removed[1]])
            turn = quat.mul(quat.inverse(median), quat.from_euler(left, "xzy"))
            words = "by {:.0f} degrees of lift and {:.0f} of rotation".format(*np.degrees(removed))
            if confidence[role] > LEANING:
                confidence[role] = max(confidence[role], SETTLED)
        for each in {role, role.replace("Foot", "Toes")} & frames.keys():
            frames[each] = quat.mul(frames[each], turn)
        steps.append(f"{role}: zero moved to the median of the motion, {words}")
    return steps


def align_palms(
    rig: Rig, stance: Stance, at_rest: bool, axes: Quats, frames: dict[str, Quats]
) -> dict[str, str | None]:
    """Return what shows where each palm faces: "fingers", "thumb", "convention" or None.

    With the palm down in the T-pose, the knuckles of index and little finger lie along the forward
    axis, and the thumb's base is in front of the hand's bone. The hand's frame is twisted about its
    bone until they do. Without fingers, the palms are down if the rig rests in a T-pose and follows
    a convention of `PALMS_DOWN`, or with hanging arms and one of `PALMS_AT_THIGHS`. Changes
    `frames` in place.
    """
    found: dict[str, str | None] = {}
    for side in SIDES:
        hand, arm = f"{side}Hand", f"{side}UpperArm"
        if hand not in frames:
            continue
        base, bone = stance.starts[hand], BONE_DIRECTIONS[hand]
        across = {
            "fingers": _between(stance, f"{side}LittleProximal", f"{side}IndexProximal"),
            "thumb": _thumb(stance, side, base),
        }
        found[side] = None
        for shown, direction in across.items():
            if direction is None:
                continue
            posed = quat.mul(stance.rotations[hand], frames[hand])
            seen = quat.rotate(quat.inverse(posed), direction)
            seen = seen - (seen @ bone) * bone
            if np.linalg.norm(seen) > 0.3:  # of a unit vector; else it lies along the hand
                twist = np.arctan2(np.cross(FORWARD, seen) @ bone, seen @ FORWARD)
                frames[hand] = quat.mul(frames[hand], quat.exp(twist * bone))
                found[side] = shown
                break
        level = stance.direction(arm)
        if found[side] is None and at_rest and level is not None:
            lift = 0.5 * np.pi - _angle(quat.rotate(axes, level), UP)
            conventions = PALMS_DOWN if abs(lift) < T_POSE else PALMS_AT_THIGHS
            if rig.convention in conventions:
                found[side] = "convention"
    return found


def _between(stance: Stance, start: str, end: str) -> Vectors | None:
    """Return the unit direction (3,) from the start of one bone to another's; None if unknown."""
    if not {start, end} <= stance.starts.keys():
        return None
    return _unit_or_none(stance.starts[end] - stance.starts[start])


def _thumb(stance: Stance, side: str, base: Vectors) -> Vectors | None:
    """Return the unit direction (3,) from the wrist to the thumb; None if unknown."""
    for bone in ("Proximal", "Metacarpal"):
        role = f"{side}Thumb{bone}"
        if role in stance.starts and np.linalg.norm(stance.starts[role] - base) > 0.0:
            return _unit_or_none(stance.starts[role] - base)
    return None


def median_rotation(rotations: Quats) -> Quats:
    """Return the component-wise median (4,) of rotations (n, 4), about their mean."""
    mean = np.linalg.eigh(rotations.T @ rotations)[1][:, -1]
    vectors = quat.log(quat.mul(quat.inverse(mean), rotations))
    middle = np.quantile(vectors, 0.5, axis=0)  # `median` imports masked arrays
    return quat.mul(mean, quat.exp(middle))


def is_held(rotations: Quats, median: Quats) -> bool:
    """Return True if a joint does not move, so that its median shows nothing about its frame."""
    return bool(quat.angle_between(median, rotations).max() <= STILL)


def _size(rotation: Quats) -> float:
    """Return the angle of a rotation (4,), in radians."""
    return float(quat.angle_between(quat.IDENTITY, rotation))


def describe_stillness(clips: Sequence[Clip]) -> tuple[str, ...]:
    """Return a sentence if no joint moves in the clips, else nothing."""
    frames = sum(clip.frames for clip in clips)
    turned = max(
        float(quat.angle_between(clip.pose.rotations[:1], clip.pose.rotations).max())
        for clip in clips
    )
    if frames < STILL_FRAMES or turned > STILL:
        return ()
    return (
        f"nobody moves: no joint turns by more than {np.degrees(turned):.1f} degrees in {frames} "
        "frames; this is a pose that is held, or sensors that nobody wears",
    )


def most_common_direction(directions: Vectors) -> Vectors:
    """Return the mode (3,) of unit `directions` (n, 3), by mean shift."""
    starts = directions[evenly_spaced(len(directions), MODE_STARTS)]

    def weights(at: Vectors) -> Scalars:
        return np.asarray(np.exp((np.clip(at @ directions.T, -1.0, 1.0) - 1.0) / LEAN_WIDTH**2))

    at = starts[weights(starts).sum(axis=1).argmax()]
    for _ in range(MODE_STEPS):
        moved = unit_vectors(weights(at) @ directions)
        if _angle(moved, at) < 1e-6:
            break
        at = moved
    return np.asarray(at)


def thin_clip(clip: Clip) -> Clip:
    """Return a clip with at most `MAX_FRAMES` evenly spaced frames."""
    if clip.frames <= MAX_FRAMES:
        return clip
    kept = evenly_spaced(clip.frames, MAX_FRAMES)
    pose = Pose(clip.pose.rotations[kept], clip.pose.positions[kept])
    step = (clip.frames - 1) / (MAX_FRAMES - 1)
    return replace(clip, pose=pose, frame_time=clip.frame_time * step)


def first_pose(clip: Clip) -> Pose:
    """Return the first pose of a clip; raise ValueError if it has none."""
    if clip.frames == 0:
        raise ValueError(f"{clip.name}: the reference has no frames")
    return Pose(clip.pose.rotations[0], clip.pose.positions[0])


def _angle(a: Vectors, b: Vectors) -> Scalars:
    """Return the angle (...) between unit vectors, in radians."""
    return np.asarray(np.arccos(np.clip((a * b).sum(axis=-1), -1.0, 1.0)))
