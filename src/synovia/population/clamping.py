"""Clamping of clips to human limits whose alignment depends on the motion itself.

Where a rig does not show the direction of the palm, the span of pronation over a clip is judged.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .. import quat
from ..arrays import TURN, Ints, Scalars, tolerance, wrap_angles
from ..charts import RotationVector
from ..limit import Limit
from ..model import MAX_SPEED, ClampReport, JointLimit
from ..model.clamp import clamp_paths, step_bounds
from ..model.report import NEGLIGIBLE
from ..rigs import Alignment
from ..rigs.canonical import LEFT
from ..rigs.human import SIDES
from ..shapes import Box
from ..skeleton import Clip, lineage
from .angles import angles_of
from .limits import HumanLimits, Source, limits_for, limits_on

MAX_SPAN = np.radians(205.0)  # of pronation: 105 + 100, the ends of the forearm's range
ROUNDING = np.radians(0.05)  # at each end of clamped spans, for files with few digits
SPAN_SHARE = 0.99  # of the frames that must fit; the rest may be flips of a capture
MAX_ROUNDS = 40  # of 200 walks with feet and hips rotated at random, 197 need at most 6, one 18


def clamp(clip: Clip, source: Source = "human", **options: Any) -> Clip:
    """Return the clip projected onto the human limits, with bounded steps.

    The source "human" means the possible limits; "usual" asks for more. The rig is recognised by
    its joint names; see `clamp_until_clean`. `options` are those of `limits_for`.
    """
    return clamp_until_clean(limits_for(clip, source, **options), clip)[0]


def clamp_until_clean(human: HumanLimits, clip: Clip, **options: Any) -> tuple[Clip, ClampReport]:
    """Return a clip inside its human limits, and the frames that had to move.

    The span of pronation is clamped first, if the palm is unknown. The zero of feet and
    collarbones is the median of the motion, which clamping changes. So the rig is aligned again
    by the result, and clamped again, until a check finds nothing or `MAX_ROUNDS` are over, which
    is warned about. A softened clip is clamped once. `options` are those of
    `LimitModel.project_clip`; steps are bounded by those of the clip in all rounds.
    """
    options = {"like": clip, **options}
    legal, report = _clamp_once(human, clip, options)
    # This compares distances with the tolerance of `check`, which is slower.
    allowed = max(tolerance(clip.pose.rotations.dtype), 0.5 * NEGLIGIBLE)
    for _ in range(0 if options.get("softening") is not None else MAX_ROUNDS):
        try:
            human = limits_on(human.alignment.estimate_again(legal), human.source)
        except ValueError:  # nobody stands any more: the first alignment counts
            break
        models = (human.model, human.model.usual if options.get("to_usual") else None)
        outside = [model.distance(legal.pose).max() for model in models if model]
        if max(outside) <= allowed and not excessive_arcs(human.alignment, legal):
            break
        legal, added = _clamp_once(human, legal, options)
        report = _union(report, added)
    else:
        warnings.warn(
            f"{clip.name}: a check may still find joints outside: their zero, the median of the "
            f"motion, moved in each of {MAX_ROUNDS} rounds of clamping",
            stacklevel=2,
        )
    return legal, report


def _clamp_once(
    human: HumanLimits, clip: Clip, options: Mapping[str, Any]
) -> tuple[Clip, ClampReport]:
    """Return the clip clamped to the possible spans, then to the limits, and a report of both."""
    within_spans, first = clamp_spans(
        human.alignment, clip, options["like"], options.get("max_speed", MAX_SPEED)
    )
    legal, second = human.model.project_clip(within_spans, **options)
    return legal, _union(first, second)


def _union(first: ClampReport, second: ClampReport) -> ClampReport:
    """Return a report of the frames of both reports."""

    def frames(one: Mapping[str, Ints], other: Mapping[str, Ints]) -> dict[str, Ints]:
        none = np.zeros(0, int)
        return {
            name: np.union1d(one.get(name, none), other.get(name, none))
            for name in dict.fromkeys([*one, *other])
        }

    return ClampReport(
        first.clip, frames(first.moved, second.moved), frames(first.over, second.over)
    )


def total_pronation(alignment: Alignment, clip: Clip) -> dict[str, Scalars]:
    """Return the pronation (frames,) of forearm and hand together, from −π to π, by side."""
    canonical = alignment.canonical_rotations(clip.pose)
    pronation: dict[str, Scalars] = {}
    for side in SIDES:
        roles = f"{side}LowerArm", f"{side}Hand"
        if canonical.keys() >= set(roles):
            total = sum(angles_of(role, canonical[role])[:, 2] for role in roles)
            pronation[side] = wrap_angles(np.asarray(total))
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
        clamped = clamp_paths(JointLimit(hand, allowed), twists[:, None], bounds[:, None])
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
