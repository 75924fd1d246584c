"""How a rig's bones stand to those of the canonical human: the T-pose, found in what there is.

The canonical human stands in a T-pose that faces +Z, with +X to the left and +Y up; there all its
bones are at the identity. A bone of a rig has the rotation R in its world, and A · R · B in that
of the canonical human: A turns the axes of the worlds, the same for all bones, and B, the bone's
*frame*, makes the product the identity where the rig stands in its T-pose. A joint's canonical
rotation is then B_parent⁻¹ · (R_parent⁻¹ · R) · B: its own one between two constant rotations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from .. import quat
from ..arrays import Quats, Scalars, Vectors, cross, unit_vectors
from ..skeleton import Clip, Pose, Skeleton, forward, lineage, list_names
from .canonical import BONE_DIRECTIONS, MEASURED_FROM
from .human import SIDES
from .recognize import Rig

UP, FORWARD = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
LEG_SLACK, ARM_SLACK, LINE_SLACK = np.radians([45.0, 110.0, 25.0])
"""A pose has its legs this near to down, its arms to sideways, and its hips to square."""
SNAP_SIDE, SNAP_UP = np.radians([10.0, 25.0])
"""Axes of a body at rest that are this near to axes of the world are taken to be along them."""
BENT = np.radians([25.0, 155.0])
"""Elbows and knees between these show about which axis they bend."""
LEAST_FRAMES, LEAST_CONCENTRATION = 30, 0.85
"""Frames that show an axis, and how much they must agree: 1 if they are all the same."""
FEW_FRAMES, HIGH_CONCENTRATION = 8, 0.98
"""As few do, too, if they agree so much."""
HINGE_BONES = {"elbow": ("UpperArm", "LowerArm"), "knee": ("UpperLeg", "LowerLeg")}
BACKWARDS = np.radians(120.0)
"""What bends so far from where it should bends the wrong way."""
MAX_TWIST = {"elbow": np.radians(100.0), "knee": np.radians(60.0)}
"""How far limbs may be twisted at rest: what bends farther off is a fault of the motion."""
TRUNK, ENDS = ("hips", "chest"), ("head", "leftFoot", "rightFoot")
"""Bones that are set upright: the latter always, the former where there is no rest pose."""
MAX_LEAN, LEAN_WIDTH = np.radians([35.0, 6.0])
"""How far a bone may lean where it stands most often, and how near is the same."""
MOST_FRAMES = 4000
"""As many frames, spread over all, show where a bone stands most often."""
NOT_AT_REST = {"head": 0.4, "Foot": 0.4, "Hand": 0.3, "Shoulder": 0.3, "Toes": 0.3}
"""The confidence in bones whose reference is a moment of the motion, and not the rest pose."""
STILL, STILL_FRAMES = np.radians(0.5), 10
"""Nobody moves where no joint turns by more than this in so many frames or more."""
NO_END = 0.3
"""The confidence in a limb's bone that has no end."""
SCAPULA = 0.3
"""The confidence in a shoulder blade as a collarbone."""
LEAST_CONFIDENCE = 0.55
"""Joints of less confidence get no verdict."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """Where the bones of a rig stand if it is to stand like the canonical human."""

    rig: Rig
    axes: Quats
    """The rotation (4,) from the rig's world to the canonical one."""
    frames: Mapping[str, Quats]
    """By role, the frame (4,) of the bone: see this module."""
    confidence: Mapping[str, float]
    """By role, from 0 to 1, how sure the frame is."""
    steps: tuple[str, ...]
    """What was done, a sentence each."""
    warnings: tuple[str, ...] = ()
    """What is odd about the motion, a sentence each."""

    @property
    def measured(self) -> dict[str, str]:
        """The roles that can be measured on this rig, each with the role that it is seen from."""
        skeleton, roles = self.rig.skeleton, self.rig.roles
        found = {}
        for role, above in MEASURED_FROM.items():
            if role in self.frames and above in self.frames:
                joint, ancestor = (skeleton.index(roles[each]) for each in (role, above))
                if ancestor in skeleton.path_to_root(joint)[1:]:
                    found[role] = above
        return found

    @property
    def trusted(self) -> dict[str, str]:
        """Those of `measured` that are sure enough for a verdict."""
        return {
            role: above
            for role, above in self.measured.items()
            if min(self.confidence[role], self.confidence[above]) >= LEAST_CONFIDENCE
        }

    def canonical_rotations(self, pose: Pose) -> dict[str, Quats]:
        """Return by role the rotation (..., 4) that the canonical human would have in this pose."""
        skeleton, roles = self.rig.skeleton, self.rig.roles
        return {
            role: self.to_canonical(
                role,
                lineage(skeleton, roles[role], roles[above]).relative_rotation(pose.rotations),
            )
            for role, above in self.measured.items()
        }

    def to_canonical(self, role: str, rotations: Quats) -> Quats:
        """Return rotations (..., 4) of a bone, from what it is measured from, as canonical ones."""
        above = quat.inverse(self.frames[MEASURED_FROM[role]])
        return quat.normalize(quat.mul(quat.mul(above, rotations), self.frames[role]))


@dataclass(frozen=True, eq=False)
class Stance:
    """A rig in a pose: where its bones are, by role, in its own world."""

    places: Mapping[str, Vectors]
    """Where bones begin (..., 3)."""
    tips: Mapping[str, Vectors]
    """Where bones end (..., 3), of those that have an end."""
    rotations: Mapping[str, Quats]
    """How bones are turned (..., 4)."""

    def direction(self, role: str) -> Vectors | None:
        """Return where a bone points (..., 3), unit; None where it has no length."""
        if role not in self.tips:
            return None
        way = self.tips[role] - self.places[role]
        return None if not np.linalg.norm(way, axis=-1).all() else unit_vectors(way)

    def line(self, bone: str) -> Vectors | None:
        """Return the way (..., 3) from a right bone's beginning to the left one's, unit."""
        if not all(f"{side}{bone}" in self.places for side in SIDES):
            return None
        way = self.places[f"left{bone}"] - self.places[f"right{bone}"]
        return None if not np.linalg.norm(way, axis=-1).all() else unit_vectors(way)

    def up(self) -> Vectors:
        """Return the way (..., 3) from the hips to the shoulders, unit."""
        hips, shoulders = (self._middle(bone) for bone in ("UpperLeg", "UpperArm"))
        bottom = hips if hips is not None else self.places.get("hips")
        top = shoulders if shoulders is not None else self.places.get("chest")
        knees, head = self._middle("LowerLeg"), self.places.get("head")
        for low, high in ((bottom, top), (knees, bottom), (top, head)):
            if low is not None and high is not None and np.linalg.norm(high - low, axis=-1).all():
                return unit_vectors(high - low)
        raise ValueError(
            "a human needs hips and shoulders, hips and knees, or shoulders and a head, apart from "
            "each other"
        )

    def _middle(self, bone: str) -> Vectors | None:
        """Return the place (..., 3) between a left bone's beginning and the right one's."""
        both = [f"{side}{bone}" for side in SIDES]
        if not all(role in self.places for role in both):
            return None
        return np.asarray(np.mean([self.places[role] for role in both], axis=0))

    def side(self) -> Vectors:
        """Return the way (..., 3) to the left: that of the hips and of the shoulders, unit."""
        lines = [line for bone in ("UpperLeg", "UpperArm") if (line := self.line(bone)) is not None]
        if not lines:
            raise ValueError("a human needs both thighs or both upper arms, apart from each other")
        return unit_vectors(np.sum(lines, axis=0))


def align(
    rig: Rig,
    clips: Sequence[Clip] = (),
    *,
    reference: Clip | None = None,
    hinges: bool = True,
    gravity: bool = True,
) -> Alignment:
    """Return how the bones of a rig stand to those of the canonical human.

    Parameters
    ----------
    rig
        What was recognised in the skeleton.
    clips
        Motion of this skeleton. It shows about which axes elbows and knees bend, and how head and
        feet stand most often; it gives a reference where the rest pose is none.
    reference
        A clip of this skeleton whose first frame is the reference: one stands in it, the arms
        anywhere from hanging to raised sideways. Unless given it is the rest pose, if that is a
        pose, else the frame that is most like standing.
    hinges, gravity
        Whether motion may correct the twist of limbs, and the lean of head and feet; without a
        rest pose that of hips and chest, too.

    Raises
    ------
    ValueError
        Where there is no reference.
    """
    clips = [thin_clip(clip) for clip in clips if clip.frames]
    if reference is not None:
        if reference.skeleton.names != rig.skeleton.names:
            raise ValueError(
                f"the reference must be a clip of the rig's {len(rig.skeleton)} joints, got "
                f"{len(reference.skeleton)} joints: {list_names(reference.skeleton.names, 5)}"
            )
        stance, still = stance_of(rig, first_pose(reference)), True
        step = "the pose that was given"
        if (why := unlike_standing(stance)) is not None:
            raise ValueError(f"the reference must be a person who stands, but {why}")
    else:
        stance, still, step = find_reference(rig, clips)
    axes = body_axes(stance, snap_side=still and reference is None)
    frames = t_pose_frames(stance, axes, level=not still)
    steps = [f"reference: {step}"]
    confidence = {role: 1.0 if still else NOT_AT_REST.get(_bone(role), 0.6) for role in frames}
    for role in (role for role in frames if role.endswith(("Arm", "Leg"))):
        if stance.direction(role) is None:
            confidence[role] = NO_END
            steps.append(f"{role}: where it ends is not known, nor whether it is bent at rest")
    for role in (role for role in frames if role.endswith("Shoulder")):
        if "scapula" in rig.roles[role].lower():
            confidence[role] = SCAPULA
            steps.append(f"{role}: a shoulder blade, which turns farther than a collarbone")
    odd: tuple[str, ...] = ()
    if clips:
        odd = describe_stillness(clips)
        pose = Pose(
            np.concatenate([clip.pose.rotations for clip in clips]),
            np.concatenate([clip.pose.positions for clip in clips]),
        )
        if hinges:
            steps += turn_to_hinges(rig, pose, still, frames, confidence)
        if gravity:
            bones = ENDS if still else (*TRUNK, *ENDS)
            steps += turn_upright(rig, pose, bones, frames, confidence)
    elif not still:
        _doubt_limbs(frames, confidence)
    for role in frames:
        confidence[role] *= rig.confidence[role]
    return Alignment(rig, axes, frames, confidence, tuple(steps), odd)


# The reference: a pose in which one knows how the bones are turned.


def find_reference(rig: Rig, clips: Sequence[Clip]) -> tuple[Stance, bool, str]:
    """Return a stance to start from, whether it is the rest pose, and what it is in words."""
    at_rest = stance_of(rig, rig.skeleton.rest_pose())
    why_not = unlike_standing(at_rest)
    if why_not is None:
        return at_rest, True, "the rest pose"
    best: tuple[float, Stance, str] | None = None
    for clip in clips:
        stance = stance_of(rig, clip.pose)
        off = lean_from_standing(stance, world_up(rig, [clip]))
        for frame in np.argsort(off)[:20].tolist():
            if best is not None and off[frame] >= best[0]:
                break
            one = stance_of(rig, Pose(clip.pose.rotations[frame], clip.pose.positions[frame]))
            if unlike_standing(one) is None and off[frame] <= LEG_SLACK:
                time = (clip.start + frame) * clip.frame_time
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
    """Return where the bones of a rig are in a pose or many."""
    skeleton, roles, starts = rig.skeleton, rig.roles, rig.starts
    positions, rotations = forward(skeleton, pose)
    places = {role: positions[..., skeleton.index(name), :] for role, name in starts.items()}
    turns = {role: rotations[..., skeleton.index(name), :] for role, name in roles.items()}
    tips = {}
    for side in SIDES:
        for chain in (("UpperArm", "LowerArm", "Hand"), ("UpperLeg", "LowerLeg", "Foot", "Toes")):
            for bone, after in pairwise(chain):
                if f"{side}{bone}" in places and f"{side}{after}" in places:
                    tips[f"{side}{bone}"] = places[f"{side}{after}"]
        if f"{side}Hand" in places:
            ends = _ends_of(skeleton, skeleton.index(roles[f"{side}Hand"]))
            if ends is not None:
                turned = quat.rotate(turns[f"{side}Hand"], ends)
                joint = positions[..., skeleton.index(roles[f"{side}Hand"]), :]
                tips[f"{side}Hand"] = joint + turned
    return Stance(places, tips, turns)


def _ends_of(skeleton: Skeleton, joint: int) -> Vectors | None:
    """Return the mean of the children and end sites of a joint (3,), from it; None without."""
    ways = [skeleton.offsets[child] for child in skeleton.children(joint)]
    ways += list(skeleton.end_offsets[skeleton.end_parents == joint])
    middle = np.mean(ways, axis=0) if ways else np.zeros(3)
    return middle if np.linalg.norm(middle) > 0.0 else None


def unlike_standing(stance: Stance) -> str | None:
    """Return why one does not stand in a stance, arms hanging to raised; None if one does."""
    up, side = stance.up(), stance.side()
    for place, each in zip(("left", "right"), (1.0, -1.0), strict=True):
        for bone, target, slack in (
            ("UpperLeg", -up, LEG_SLACK),
            ("LowerLeg", -up, LEG_SLACK),
            ("UpperArm", each * side, ARM_SLACK),
        ):
            way = stance.direction(f"{place}{bone}")
            if way is not None and _angle(way, target) > slack:
                where = "down" if bone.endswith("Leg") else "sideways"
                off = np.degrees(_angle(way, target))
                return f"the {place} {WORDS[bone]} points {off:.0f} degrees away from {where}"
    lines = [line for bone in ("UpperLeg", "UpperArm") if (line := stance.line(bone)) is not None]
    if any(abs(_angle(line, up) - 0.5 * np.pi) > LINE_SLACK for line in lines):
        return "hips and shoulders are not square to the spine"
    if len(lines) == 2 and _angle(lines[0], lines[1]) > LINE_SLACK:
        return "hips and shoulders are turned against each other"
    return None


WORDS = {"UpperLeg": "thigh", "LowerLeg": "shin", "UpperArm": "upper arm"}


def lean_from_standing(stance: Stance, up: Vectors) -> Scalars:
    """Return how far (...) legs and torso are from upright at most, in radians."""
    angles = [_angle(stance.up(), up)]
    for side in SIDES:
        for bone in ("UpperLeg", "LowerLeg"):
            way = stance.direction(f"{side}{bone}")
            if way is not None:
                angles.append(_angle(way, -up))
    return np.asarray(np.max(angles, axis=0))


def world_up(rig: Rig, clips: Sequence[Clip]) -> Vectors:
    """Return which way is up (3,) in the world of clips.

    That is what the file says; else what is up at rest, if one stands there, and y if not, unless
    heads are nearly never there in the motion, and mostly along another axis.
    """
    if rig.skeleton.up:
        return np.asarray(np.eye(3)["xyz".index(rig.skeleton.up)])
    at_rest = stance_of(rig, rig.skeleton.rest_pose())
    up = UP if unlike_standing(at_rest) is not None else snap(at_rest.up(), SNAP_UP)
    towards = [stance_of(rig, thin_clip(clip).pose).up() for clip in clips if clip.frames]
    if towards:
        near = np.cos(LEG_SLACK)
        for axis in (UP, FORWARD):
            shares = [(np.concatenate(towards) @ way > near).mean() for way in (up, axis)]
            if shares[0] < 0.1 and shares[1] > 0.5:
                return axis
    return up


# Frames of bones, from a reference.


def body_axes(stance: Stance, *, snap_side: bool) -> Quats:
    """Return the rotation (4,) from the rig's world to the canonical axes, of a single stance."""
    up = snap(stance.up(), SNAP_UP)
    side = stance.side()
    if snap_side:
        side = snap(side, SNAP_SIDE)
    side = unit_vectors(side - (side @ up) * up)
    return quat.from_matrix(np.stack([side, up, cross(side, up)]))


def snap(direction: Vectors, slack: float) -> Vectors:
    """Return the axis of the world that is within `slack` radians, or the direction itself."""
    axis = int(np.abs(direction).argmax())
    along = np.sign(direction[axis]) * np.eye(3)[axis]
    return along if _angle(direction, along) <= slack else direction


def t_pose_frames(stance: Stance, axes: Quats, *, level: bool) -> dict[str, Quats]:
    """Return the frame (4,) of each bone, from a stance that is turned to the T-pose.

    Limbs are turned by shortest arcs, from the root outwards. With `level`, hips and chest are
    turned about the vertical until they are square.
    """
    turns = dict.fromkeys(stance.rotations, quat.IDENTITY)
    if level:
        for role, bone in (("hips", "UpperLeg"), ("chest", "UpperArm")):
            line = stance.line(bone)
            if role in turns and line is not None:
                turns[role] = _heading(line, axes)
    for side in SIDES:
        for chain in (("UpperArm", "LowerArm", "Hand"), ("UpperLeg", "LowerLeg", "Foot", "Toes")):
            turn = quat.IDENTITY
            for bone in chain:
                role = f"{side}{bone}"
                way = stance.direction(role) if role in turns else None
                if way is not None and role in BONE_DIRECTIONS:
                    target = quat.rotate(quat.inverse(axes), BONE_DIRECTIONS[role])
                    turn = quat.mul(quat.between(quat.rotate(turn, way), target), turn)
                if role in turns:
                    turns[role] = turn
    frames = {}
    for role, turn in turns.items():
        posed = quat.mul(quat.mul(axes, turn), stance.rotations[role])
        frames[role] = quat.normalize(quat.inverse(posed))
    return frames


def _heading(line: Vectors, axes: Quats) -> Quats:
    """Return the turn about the vertical that brings a line towards the left side."""
    x, _, z = quat.rotate(axes, line)
    up = quat.rotate(quat.inverse(axes), UP)
    return quat.exp(np.arctan2(z, x) * up)


# What motion shows.


@dataclass(frozen=True)
class Hinge:
    """An elbow or a knee, and how it bends in motion."""

    name: str
    upper: str
    lower: str
    frames: int
    """How many frames show it bent."""
    mean: complex
    """The mean of its directions about the upper bone, 1 where it bends as it should."""

    @property
    def twist(self) -> float:
        """By how much it bends elsewhere than it should, in radians about the upper bone."""
        return float(np.angle(self.mean))

    @property
    def is_clear(self) -> bool:
        """Whether enough frames agree."""
        return (self.frames >= LEAST_FRAMES and abs(self.mean) > LEAST_CONCENTRATION) or (
            self.frames >= FEW_FRAMES and abs(self.mean) > HIGH_CONCENTRATION
        )


def observe_hinge(stance: Stance, frames: Mapping[str, Quats], side: str, joint: str) -> Hinge:
    """Return how the elbow or the knee of a side bends in a stance of many poses."""
    upper, lower = (f"{side}{bone}" for bone in HINGE_BONES[joint])
    above, below = (quat.mul(stance.rotations[role], frames[role]) for role in (upper, lower))
    bone, ahead = BONE_DIRECTIONS[upper], FORWARD if joint == "elbow" else -FORWARD
    way = quat.rotate(quat.mul(quat.inverse(above), below), bone)
    bend = _angle(way, bone)
    bent = way[(bend > BENT[0]) & (bend < BENT[1])]
    azimuth = np.arctan2(cross(ahead, bent) @ bone, bent @ ahead)
    mean = complex(np.exp(1j * azimuth).mean()) if len(azimuth) else 0j
    return Hinge(f"{side} {joint}", upper, lower, len(azimuth), mean)


def turn_to_hinges(
    rig: Rig, pose: Pose, still: bool, frames: dict[str, Quats], confidence: dict[str, float]
) -> list[str]:
    """Twist limbs until elbows bend forwards and knees backwards, where motion shows how they bend.

    Hands go with their arms. Changes `frames` and `confidence`; returns what was done, a sentence
    each.
    """
    stance, steps, clear = stance_of(rig, pose), [], []
    for side in SIDES:
        for joint, bones in HINGE_BONES.items():
            roles = [f"{side}{bone}" for bone in bones]
            if not all(role in frames and confidence[role] > NO_END for role in roles):
                continue
            hinge = observe_hinge(stance, frames, side, joint)
            seen = f"{hinge.frames} frames, concentration {abs(hinge.mean):.2f}"
            twist_deg = np.degrees(hinge.twist)
            if not hinge.is_clear:
                confidence.update(dict.fromkeys(roles, 0.7 if still else 0.2))
                steps.append(f"{hinge.name}: it bends too seldom or too variously ({seen})")
                continue
            clear.append(hinge)
            if still and abs(hinge.twist) > MAX_TWIST[joint]:
                steps.append(
                    f"{hinge.name}: bends {twist_deg:.0f} degrees off, left alone ({seen})"
                )
                continue
            turn = quat.exp(hinge.twist * BONE_DIRECTIONS[hinge.upper])
            for role in {
                *roles,
                f"{side}Hand" if joint == "elbow" else hinge.lower,
            } & frames.keys():
                frames[role] = quat.mul(frames[role], turn)
            confidence.update(dict.fromkeys(roles, 1.0 if still else 0.8))
            steps.append(
                f"{hinge.name}: twisted by {round(twist_deg)} degrees, as it bends ({seen})"
            )
    if len(clear) > 1 and all(abs(hinge.twist) > BACKWARDS for hinge in clear):
        raise ValueError(
            "elbows and knees all bend the wrong way: left and right seem to be exchanged in the "
            "names, which a map of joints to roles can set right"
        )
    return steps


def turn_upright(
    rig: Rig,
    pose: Pose,
    bones: Sequence[str],
    frames: dict[str, Quats],
    confidence: dict[str, float],
) -> list[str]:
    """Turn bones upright, as they stand most often; toes go with the foot.

    Changes `frames` and `confidence`; returns what was done, a sentence each. A head or a foot that
    mostly leans far is one whose frame is not known, unless hips or chest, which are not among
    `bones`, lean as far: then somebody lies or crawls, and all stay as they are.
    """
    if len(pose.rotations) < LEAST_FRAMES:
        return []
    clip = Clip(rig.skeleton, pose, 1.0)
    up = world_up(rig, [clip])
    stance = stance_of(rig, pose)

    def seen_up(role: str) -> Vectors:
        return quat.rotate(quat.inverse(quat.mul(stance.rotations[role], frames[role])), up)

    for role in (role for role in TRUNK if role in frames and role not in bones):
        lean = float(np.quantile(_angle(seen_up(role), UP), 0.5))  # `median` imports masked arrays
        if lean > MAX_LEAN:
            return [
                f"{role}: {np.degrees(lean):.0f} degrees from upright in half of the frames, so "
                "that gravity does not show how head and feet stand"
            ]
    steps = []
    for role in (role for role in bones if role in frames):
        mode = most_common_direction(seen_up(role))
        lean = float(_angle(mode, UP))
        if lean <= MAX_LEAN:
            for each in {role, role.replace("Foot", "Toes")} & frames.keys():
                frames[each] = quat.mul(frames[each], quat.between(UP, mode))
            steps.append(f"{role}: set upright by {np.degrees(lean):.0f} degrees")
            continue
        if role in ENDS:
            confidence[role] = 0.4
        steps.append(
            f"{role}: stands {np.degrees(lean):.0f} degrees from upright most often, left alone"
        )
    return steps


def describe_stillness(clips: Sequence[Clip]) -> tuple[str, ...]:
    """Return a sentence about motion in which nobody moves; none where somebody does."""
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
    """Return the densest direction (3,) among unit `directions` (n, 3), by mean shift."""
    starts = directions[np.linspace(0, len(directions) - 1, min(len(directions), 100)).astype(int)]

    def weights(at: Vectors) -> Scalars:
        return np.asarray(np.exp((np.clip(at @ directions.T, -1.0, 1.0) - 1.0) / LEAN_WIDTH**2))

    at = starts[weights(starts).sum(axis=1).argmax()]
    for _ in range(50):
        moved = unit_vectors(weights(at) @ directions)
        if _angle(moved, at) < 1e-6:
            break
        at = moved
    return np.asarray(at)


def thin_clip(clip: Clip, total: int | None = None) -> Clip:
    """Return a clip with at most `MOST_FRAMES` frames, spread evenly; of shorter ones, all.

    Where a clip is one chunk of several, `total` are the frames of all of them: the thinned chunks
    together are the thinned clip.
    """
    first, total = (0, clip.frames) if total is None else (clip.start, total)
    if total <= MOST_FRAMES:
        return clip
    kept = np.linspace(0, total - 1, MOST_FRAMES).astype(int) - first
    kept = kept[(kept >= 0) & (kept < clip.frames)]
    pose = Pose(clip.pose.rotations[kept], clip.pose.positions[kept])
    step = (total - 1) / (MOST_FRAMES - 1)
    return replace(clip, pose=pose, frame_time=clip.frame_time * step, start=0)


def first_pose(clip: Clip) -> Pose:
    """Return the first pose of a clip; an error where it has none."""
    if clip.frames == 0:
        raise ValueError(f"{clip.name}: the reference has no frames")
    return Pose(clip.pose.rotations[0], clip.pose.positions[0])


def _doubt_limbs(frames: Mapping[str, Quats], confidence: dict[str, float]) -> None:
    """Lower the confidence of limbs whose twist nothing shows."""
    for role in frames:
        if role.endswith(("Arm", "Leg", "Hand")):
            confidence[role] = 0.2


def _bone(role: str) -> str:
    """Return a role without its side."""
    return role.removeprefix("left").removeprefix("right")


def _angle(a: Vectors, b: Vectors) -> Scalars:
    """Return the angle (...) between unit vectors, in radians."""
    return np.asarray(np.arccos(np.clip((a * b).sum(axis=-1), -1.0, 1.0)))
