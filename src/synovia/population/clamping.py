"""Clamping of clips to human limits whose alignment depends on the motion itself."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import Ints, tolerance
from ..model import MAX_SPEED, ClampReport
from ..model.report import NEGLIGIBLE
from ..skeleton import Clip
from .limits import HumanLimits, limits_for, limits_on
from .palms import clamp_spans, excessive_arcs
from .sources import Source

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
