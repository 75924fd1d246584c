"""Alignment of a rig with the canonical human, from its rest pose and its motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .. import quat
from ..skeleton import Clip, Pose, list_names
from .alignment import Alignment, Draft
from .frames import (
    ENDS,
    MIN_FRAMES,
    NO_END,
    SCAPULA,
    SETTLED,
    UNSEEN_TWIST,
    align_hands,
    align_hinges,
    align_medians,
    align_palms,
    align_upright,
    is_held,
    median_rotation,
)
from .human import SIDES, split_role
from .recognize import Rig
from .stance import (
    LEG_SLACK,
    Stance,
    body_axes,
    lean_from_standing,
    stance_of,
    t_pose_frames,
    thin_clip,
    unlike_sides,
    unlike_standing,
    world_up,
)

TRIED_FRAMES = 20  # of each clip, the most upright first, as a reference
NOT_AT_REST = {"head": 0.4, "Foot": 0.4, "Hand": 0.3, "Shoulder": 0.3, "Toes": 0.3}
"""Confidence in bones whose reference is a frame of the motion; 0.6 for others."""


def align(
    rig: Rig,
    clips: Sequence[Clip] = (),
    *,
    reference: Clip | None = None,
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
    draft = _start_draft(rig, clips, reference)
    pose = rig.skeleton.rest_pose()
    frames = 0
    if clips:
        pose = Pose(
            np.concatenate([clip.pose.rotations for clip in clips]),
            np.concatenate([clip.pose.positions for clip in clips]),
        )
        frames = len(pose.rotations)
        motion = stance_of(rig, pose)
        align_hinges(draft, motion)
        if frames >= MIN_FRAMES:
            if gravity:
                align_upright(draft, motion, world_up(rig, [Clip(rig.skeleton, pose, 1.0)]))
            align_medians(draft, pose)
    elif not draft.at_rest:
        limbs = [role for role in draft.frames if role.endswith(("Arm", "Leg", "Hand"))]
        draft.confidence.update(dict.fromkeys(limbs, UNSEEN_TWIST))
    palm = align_palms(draft)
    for hand in (f"{side}Hand" for side, shown in palm.items() if shown == "fingers"):
        if hand in draft.reference.tips:  # bone and knuckles define the frame of any reference
            draft.confidence[hand] = max(draft.confidence[hand], SETTLED)
    reasons = align_hands(draft)
    confidence = {role: draft.confidence[role] * rig.confidence[role] for role in draft.frames}
    alignment = Alignment(
        rig,
        draft.axes,
        draft.frames,
        confidence,
        tuple(draft.steps),
        reasons,
        palm,
        reference=reference,
    )
    if frames < MIN_FRAMES:
        return alignment
    rotations = alignment.canonical_rotations(pose)
    ends = [role for role in (*ENDS, *(f"{side}Hand" for side in SIDES)) if role in rotations]
    medians = {role: median_rotation(rotations[role]) for role in ends}
    return replace(
        alignment,
        medians={
            role: median for role, median in medians.items() if not is_held(rotations[role], median)
        },
    )


def _start_draft(rig: Rig, clips: Sequence[Clip], reference: Clip | None) -> Draft:
    """Return the alignment by the reference pose alone."""
    if reference is None:
        stance, at_rest, step = find_reference(rig, clips)
    else:
        if reference.skeleton.names != rig.skeleton.names:
            raise ValueError(
                f"the reference must be a clip of the rig's {len(rig.skeleton)} joints, got "
                f"{len(reference.skeleton)} joints: {list_names(reference.skeleton.names, 5)}"
            )
        if reference.frames == 0:
            raise ValueError(f"{reference.name}: the reference has no frames")
        pose, at_rest, step = reference.pose, True, "the pose that was given"
        stance = stance_of(rig, Pose(pose.rotations[0], pose.positions[0]))
        if (why := unlike_standing(stance)) is not None:
            raise ValueError(f"the reference must be a person who stands, but {why}")
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
    return Draft(rig, stance, at_rest, axes, frames, confidence, steps)


def _align_hands_alone(rig: Rig) -> Alignment:
    """Return the alignment of hands without a body, by their knuckles in the rest pose."""
    stance = stance_of(rig, rig.skeleton.rest_pose())
    frames = dict.fromkeys(stance.rotations, quat.IDENTITY)
    steps = ["reference: the knuckles in the rest pose, of hands without a body"]
    draft = Draft(rig, stance, True, quat.IDENTITY, frames, dict.fromkeys(frames, 1.0), steps)
    reasons = align_hands(draft)
    return Alignment(rig, draft.axes, draft.frames, draft.confidence, tuple(steps), reasons=reasons)


def find_reference(rig: Rig, clips: Sequence[Clip]) -> tuple[Stance, bool, str]:
    """Return the reference stance, True if it is the rest pose, and its description."""
    rest_stance = stance_of(rig, rig.skeleton.rest_pose())
    reason = unlike_standing(rest_stance) or unlike_sides(rest_stance)
    if reason is None:
        return rest_stance, True, "the rest pose"
    best: tuple[float, Stance, str] | None = None
    for clip in clips:
        stance = stance_of(rig, clip.pose)
        leans = lean_from_standing(stance, world_up(rig, [clip]))
        for frame in np.argsort(leans)[:TRIED_FRAMES].tolist():
            if best is not None and leans[frame] >= best[0]:
                break
            frame_stance = stance_of(
                rig, Pose(clip.pose.rotations[frame], clip.pose.positions[frame])
            )
            if unlike_standing(frame_stance) is None and leans[frame] <= LEG_SLACK:
                time = frame * clip.frame_time
                where = f"{clip.name or 'the clip'} at {time:.2f} s"
                best = float(leans[frame]), frame_stance, where
                break
    if best is None:
        motion = " and nobody stands in the motion" if clips else ""
        raise ValueError(
            f"no pose to measure from: at rest {reason}{motion}. A frame in which one stands, the "
            "arms hanging or to the sides, can be given (--tpose)"
        )
    return best[1], False, f"{best[2]}, because at rest {reason}"
