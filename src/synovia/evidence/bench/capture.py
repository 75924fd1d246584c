"""003, Table I and Fig. 1: ends driven by a capture, and what each family of limits makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Scalars
from ...clip import Clip
from ...model import LimitModel
from ...skeleton import Pose
from ...takes import performer_of
from .body import Body, at_30, body_of
from .driving import deviation, drive
from .finding import Finding, Order
from .lessons import BOX, FAMILIES, SAMPLED, Family, Lesson

ITSELF, SAME, OTHERS = "the clip itself", "the performer's other clips", "other performers"
LESSONS = (ITSELF, SAME, OTHERS)
"""What limits are learned from: as in the source, then as a user would."""
FREE = Family("no limits", "", "")
MOST = 90  # frames of a clip, that is three seconds
QUICK_FRAMES, QUICK_FAMILIES = 4, (BOX, SAMPLED)


@dataclass(frozen=True, eq=False)
class Run:
    """One clip driven within limits of one family, learned from one lesson."""

    lesson: str
    family: str
    clip: Clip
    pose: Pose
    """What came out, (frames, ...)."""
    elbow_cm: Scalars
    """Left, then right: (2 × frames,)."""
    knee_cm: Scalars
    seconds: Scalars
    met: Scalars
    legal: bool


@dataclass(frozen=True, eq=False)
class Capture:
    """All runs."""

    runs: tuple[Run, ...]
    clips_from: str
    built: tuple[tuple[int, float, float], ...]
    """Nodes a side, seconds and kilobytes of the source's Table I, as they are here."""

    @cached_property
    def finding(self) -> Finding:
        """The tables: deviation, time, and building of fields."""
        from .capture_tables import finding

        return finding(self)

    def of(self, lesson: str, family: str) -> list[Run]:
        """Return the runs of one family taught by one lesson."""
        return [run for run in self.runs if (run.lesson, run.family) == (lesson, family)]

    @property
    def families(self) -> list[str]:
        """The families, in order."""
        return list(dict.fromkeys(run.family for run in self.runs))

    @property
    def shown(self) -> tuple[Run, Run, int]:
        """Box and sampled field of one clip, learned from it, and the frame where they differ most.

        That is where the box lets an elbow go farthest from the capture, compared to the field.
        """
        pairs = [
            (box, field)
            for box, field in zip(
                self.of(ITSELF, BOX.name), self.of(ITSELF, SAMPLED.name), strict=True
            )
        ]
        apart = [_by_frame(box.elbow_cm) - _by_frame(field.elbow_cm) for box, field in pairs]
        which = int(np.argmax([gap.max() for gap in apart]))
        return (*pairs[which], int(apart[which].argmax()))


def run_capture(order: Order) -> Capture:
    """Return what families of limits make of captures, learned from them and from others."""
    from .capture_tables import built_fields

    if not order.clips:
        raise ValueError("captures are needed, got none")
    clips = [at_30(clip) for clip in order.clips]
    body = _one_body(clips)
    driven = driven_clips(clips)
    if order.quick:
        driven = driven[:1]
    families = QUICK_FAMILIES if order.quick else FAMILIES
    most = QUICK_FRAMES if order.quick else MOST
    lessons = [ITSELF, SAME] if order.quick else LESSONS
    jobs = [
        (clip, lesson, taught, (*families, *((FREE,) if lesson == ITSELF else ())))
        for clip in driven
        for lesson in lessons
        if (taught := _teachers(clip, clips, lesson))
    ]
    runs: list[Run] = []
    for clip, lesson, taught, tried in order.step(jobs):
        runs += _runs(clip, lesson, taught, tried, body, most)
    grids = (8,) if order.quick else (8, 16, 32)
    return Capture(tuple(runs), order.clips_from, built_fields(driven[0], grids))


def driven_clips(clips: Sequence[Clip]) -> list[Clip]:
    """Return the shortest clip of each performer of whom there are several, else all but one."""
    by: dict[str, list[Clip]] = {}
    for clip in clips:
        by.setdefault(performer_of(clip.name), []).append(clip)
    several = [min(theirs, key=lambda c: c.frames) for theirs in by.values() if len(theirs) > 1]
    return several or list(clips)


def _teachers(clip: Clip, clips: Sequence[Clip], lesson: str) -> list[Clip]:
    """Return the clips that limits are learned from."""
    who = performer_of(clip.name)
    if lesson == ITSELF:
        return [clip]
    if lesson == SAME:
        return [c for c in clips if c is not clip and performer_of(c.name) == who]
    return [c for c in clips if performer_of(c.name) != who]


def _runs(
    clip: Clip,
    lesson: str,
    teachers: Sequence[Clip],
    families: Sequence[Family],
    body: Body,
    most: int,
) -> Iterator[Run]:
    taught = Lesson.of(teachers, body.movers)
    short = at_30(clip, most)
    cm = body_of(clip.skeleton).cm
    for family in families:
        model = LimitModel({}, clip.skeleton) if family is FREE else taught.model(family)
        drive(model, at_30(clip, 1), body)  # so that what is built once is not timed
        found = drive(model, short, body)
        elbow, knee = (
            np.concatenate(
                [cm * deviation(clip.skeleton, found.pose, short.pose, joint) for joint in pair]
            )
            for pair in (body.elbows, body.knees)
        )
        yield Run(
            *(lesson, family.name, short, found.pose, elbow, knee),
            *(found.seconds, found.met, found.legal),
        )


def _one_body(clips: Sequence[Clip]) -> Body:
    """Return the body of the first clip; raise ValueError where others name theirs otherwise."""
    body = body_of(clips[0].skeleton)
    for clip in clips[1:]:
        theirs = body_of(clip.skeleton)
        if theirs.movers != body.movers:
            raise ValueError(
                f"{clip.name}: captures must have the same joints, got {', '.join(theirs.movers)} "
                f"beside {', '.join(body.movers)} in {clips[0].name}"
            )
    return body


def _by_frame(both: Scalars) -> Scalars:
    """Return the larger of left and right for each frame."""
    return np.asarray(both.reshape(2, -1).max(axis=0))
