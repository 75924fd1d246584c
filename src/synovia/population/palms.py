"""What can be said about forearm and hand if the rig does not show where the palm faces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import quat
from ..arrays import TURN, Ints, Scalars
from ..charts import RotationVector
from ..limit import Limit
from ..model import MAX_SPEED, ClampReport, JointLimit
from ..model.clamp import step_bounds
from ..rigs import Alignment
from ..rigs.canonical import LEFT
from ..rigs.human import SIDES
from ..shapes import Box
from ..skeleton import Clip, lineage

MAX_SPAN = np.radians(205.0)  # of pronation: 105 + 100, the ends of the forearm's range
ROUNDING = np.radians(0.05)  # at each end of clamped spans, for files with few digits
SPAN_SHARE = 0.99  # of the frames that must fit; the rest may be flips of a capture


def total_pronation(alignment: Alignment, clip: Clip) -> dict[str, Scalars]:
    """Return the pronation (frames,) of forearm and hand together in radians, by side.

    With the elbow as Ry(−f) · Rz(o) · Rx(p) and the hand as Rx(h) · swing, on the left side, it is
    p + h, as an angle from −π to π.
    """
    canonical = alignment.canonical_rotations(clip.pose)
    pronation: dict[str, Scalars] = {}
    for side in SIDES:
        if not {f"{side}LowerArm", f"{side}Hand"} <= canonical.keys():
            continue
        elbow, hand = (canonical[f"{side}{bone}"] for bone in ("LowerArm", "Hand"))
        # Mirroring keeps x, so that rotations about the bone have the same sign on both sides.
        mirror = np.array([1.0, 1.0, -1.0, -1.0]) if side == "right" else np.ones(4)
        forearm = quat.to_euler(elbow * mirror, "yzx")[:, 2]
        within_hand = 2.0 * np.arctan2(hand[:, 1], hand[:, 0])
        pronation[side] = (forearm + within_hand + np.pi) % TURN - np.pi
    return pronation


def smallest_arc(angles: Scalars, share: float = SPAN_SHARE) -> tuple[float, float]:
    """Return start and length, in radians, of the smallest arc with a share of the angles (n,)."""
    ordered = np.sort(np.mod(angles, TURN))
    count = max(int(np.ceil(share * len(ordered))), 1)
    twice = np.concatenate([ordered, ordered + TURN])
    lengths = twice[count - 1 : count - 1 + len(ordered)] - ordered
    first = int(lengths.argmin())
    return float(ordered[first]), float(lengths[first])


def excessive_arcs(alignment: Alignment, clip: Clip) -> dict[str, tuple[float, float]]:
    """Return smallest arcs above `MAX_SPAN`, by side, of forearms whose palm is unknown."""
    arcs = {
        side: smallest_arc(angles)
        for side, angles in total_pronation(alignment, clip).items()
        if len(angles) and alignment.palm.get(side) is None and f"{side}Hand" in alignment.trusted
    }
    return {side: (start, length) for side, (start, length) in arcs.items() if length > MAX_SPAN}


def describe_spans(alignment: Alignment, clip: Clip) -> list[str]:
    """Return a sentence for each forearm of unknown palm that rotates farther than possible.

    Where the palm faces is unknown, so only the span of pronation over the clip is judged.
    """
    return [
        f"{side} forearm: rotates through {np.degrees(length):.0f}° in this clip, at most "
        f"{np.degrees(MAX_SPAN):.0f}° are possible"
        for side, (_, length) in excessive_arcs(alignment, clip).items()
    ]


def clamp_spans(
    alignment: Alignment, clip: Clip, like: Clip, max_speed: float = MAX_SPEED
) -> tuple[Clip, ClampReport]:
    """Return the clip with hands rotated about the forearm, so that no span is too large.

    Pronation is clamped to the middle of the smallest arc. `like` and `max_speed` bound its steps,
    and the report is as for `LimitModel.project_clip`. Hands keep their positions.
    """
    moved, over = dict[str, Ints](), dict[str, Ints]()
    rotations = clip.pose.rotations.copy()
    pronation, roles = total_pronation(alignment, clip), alignment.rig.roles
    for side, (start, length) in excessive_arcs(alignment, clip).items():
        hand = roles[f"{side}Hand"]
        half = (0.5 * MAX_SPAN - ROUNDING) * LEFT
        middle = RotationVector(quat.exp((start + 0.5 * length) * LEFT))
        allowed = Limit(middle, Box(-half, half, np.eye(3)))
        twists = quat.exp(pronation[side][:, None] * LEFT)
        before = quat.exp(total_pronation(alignment, like)[side][:, None] * LEFT)
        bounds = step_bounds(before, clip.frame_time, max_speed)
        clamped = JointLimit(hand, allowed).clamp_paths(twists[:, None], bounds[:, None])
        legal = clamped.rotations[:, 0]
        # The hand is c = F⁻¹ · r · G in canonical axes, with F the forearm's frame: rotating c by
        # t about the forearm is rotating r by F · t · F⁻¹.
        offsets = quat.mul(legal, quat.inverse(twists))
        frame = alignment.frames[f"{side}LowerArm"]
        offsets = quat.mul(quat.mul(frame, offsets), quat.inverse(frame))
        measured = lineage(clip.skeleton, hand, roles[f"{side}LowerArm"])
        relative = measured.relative_rotation(rotations)
        changed = (legal != twists).any(axis=-1, keepdims=True)
        rotated = quat.normalize(quat.mul(offsets, relative))
        measured.set_relative_rotation(rotations, np.where(changed, rotated, relative))
        for frames, mask in ((moved, clamped.moved), (over, clamped.over)):
            frames |= {hand: np.flatnonzero(mask[:, 0])} if mask.any() else {}
    changed_clip = replace(clip, pose=clip.pose.with_rotations(rotations))
    return changed_clip, ClampReport(clip.name, moved, over)
