"""Engell-Nørregård et al., Table I and Fig. 1: ends driven by a capture, by family of limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from synovia.arrays import Quats, Scalars
from synovia.learn import field_from_paths, performer_of
from synovia.limit import Limit
from synovia.model import LimitModel
from synovia.quat import angle_between
from synovia.skeleton import Clip, Pose

from .driving import BOX, FAMILIES, SAMPLED, Body, Family, Lesson, at_30, body_of, deviation, drive
from .finding import Finding, Order, Table, shortest

ITSELF, SAME, OTHERS = "the clip itself", "the performer's other clips", "other performers"
LESSONS = (ITSELF, SAME, OTHERS)
"""Training clips: as in the paper, then as a user would choose them."""
FREE = Family("no limits", "", "")
MOST = 90  # frames of a clip, that is three seconds
QUICK_FRAMES, QUICK_FAMILIES = 4, (BOX, SAMPLED)
SAMPLES, JOINTS = 200, 30
MOVES = np.radians(1.0)
"""Joints with a smaller range of rotation are left out."""
FIELD_CHARTS = ("euler", "rotation-vector")
"""The paper's chart, and our default."""
PAPER_BUILDING = {8: (0.21, 4.0), 16: (1.34, 32.7), 32: (8.30, 262.0)}
"""Table I: seconds and kilobytes by nodes a side, for 30 joints of 200 samples."""
PAPER_WORST_MS = {"box": 100.0, "field, sampled": 50.0}  # 10 and 20 frames a second
PAPER_WORST_CM = {"box": 20.0}


@dataclass(frozen=True, eq=False)
class Run:
    """One clip driven within limits of one family and one choice of training clips."""

    lesson: str
    family: str
    clip: Clip
    pose: Pose
    """Solved poses (frames, ...)."""
    elbow_cm: Scalars
    """Deviations of the left, then the right elbow (2 × frames,)."""
    knee_cm: Scalars
    seconds: Scalars
    met: Scalars
    legal: bool


@dataclass(frozen=True)
class Built:
    """The building of the fields of 30 joints, each from a path of 200 samples."""

    chart: str
    nodes: int
    """Along the longest side."""
    seconds: float
    """For all joints, from rotations to limits that are ready: slerp, distances, sign, packing."""
    kilobytes: float
    """Size of a packed limit, the mean over joints."""
    map_kilobytes: float
    """Size of the node distances alone, which is all that the paper stores."""


@dataclass(frozen=True, eq=False)
class Capture:
    """All runs."""

    runs: tuple[Run, ...]
    clips_from: str
    built: tuple[Built, ...]
    """Our version of the paper's Table I."""

    @cached_property
    def finding(self) -> Finding:
        """The tables: deviation, time, and building of fields."""
        return _finding(self)

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


def run(order: Order) -> Capture:
    """Drive captures within limits of all families, learned from the same and from other clips."""
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
    return Capture(tuple(runs), order.clips_from, build_fields(driven[0], grids))


def driven_clips(clips: Sequence[Clip]) -> list[Clip]:
    """Return the shortest clip of each performer with several clips, or else all but one clip."""
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


def _finding(capture: Capture) -> Finding:
    """Return tables of deviation, of time a frame, and of building fields, with notes."""
    taught = [lesson for lesson in LESSONS if any(run.lesson == lesson for run in capture.runs)]
    clips = list(dict.fromkeys(run.clip.name for run in capture.runs))
    frames = sum(run.clip.frames for run in capture.of(ITSELF, "box"))
    return Finding(
        "engell-norregard",
        (
            *(
                _deviations(capture, part, taught, paper)
                for part, paper in (("elbow", PAPER_WORST_CM), ("knee", {}))
            ),
            _times(capture),
            _building(capture),
        ),
        (
            f"{frames} frames of {', '.join(clips)} ({capture.clips_from}), 30 a second, hands, "
            "feet and head driven, the root as captured; each frame starts from the last",
            "lengths as on a person of 175 cm; the paper's clip, body and solver are not "
            "published, and its figures are read off its text",
            f"every pose legal by `contains`: {'yes' if _all_legal(capture) else 'NO'}",
        ),
        {
            "clips": clips,
            "frames": frames,
            "legal": _all_legal(capture),
            "runs": [
                _summary(capture.of(lesson, family), lesson, family)
                for lesson in taught
                for family in capture.families
                if capture.of(lesson, family)
            ],
            "building": [vars(built) for built in capture.built],
        },
    )


def build_fields(clip: Clip, grids: Sequence[int]) -> tuple[Built, ...]:
    """Return time and size of the fields of 30 joints, by chart and resolution.

    All that a user gets is timed, and the whole packed limit weighed. Where a clip has fewer
    joints that move some are built again; where it has fewer frames some are seen twice.
    """
    frames = np.linspace(0, clip.frames - 1, SAMPLES).astype(int)
    rotations = np.moveaxis(clip.pose.rotations[frames], 1, 0)
    paths = [path for path in rotations if angle_between(path[0], path).max() > MOVES]
    if not paths:
        raise ValueError(f"{clip.name}: no joint moves")
    paths = [paths[k % len(paths)] for k in range(JOINTS)]
    found = []
    for chart in FIELD_CHARTS:
        for n in grids:
            build = partial(_build_all, paths, chart, n)
            limits = build()
            packed = 1e-3 * float(np.mean([limit.packed.nbytes for limit in limits]))
            alone = 1e-3 * float(np.mean([limit.shape.values.nbytes for limit in limits]))
            found.append(Built(chart, n, shortest(build), packed, alone))
    return tuple(found)


def _build_all(paths: Sequence[Quats], chart: str, n: int) -> list[Limit]:
    """Return the packed limits around paths."""
    limits = [field_from_paths([path], chart, resolution=n) for path in paths]
    for limit in limits:
        _ = limit.packed
    return limits


def _all_legal(capture: Capture) -> bool:
    return all(run.legal for run in capture.runs)


def _pooled(runs: Sequence[Run], name: str) -> Scalars:
    return np.concatenate([getattr(run, name) for run in runs])


def _spread(values: Scalars) -> tuple[float, float, float]:
    """Return mean, 95th percentile and worst."""
    return float(values.mean()), float(np.quantile(values, 0.95)), float(values.max())


def _summary(runs: Sequence[Run], lesson: str, family: str) -> dict[str, Any]:
    parts = {}
    for part in ("elbow", "knee"):
        mean_, high, worst = _spread(_pooled(runs, f"{part}_cm"))
        parts[f"{part}_cm"] = {"mean": mean_, "95th": high, "worst": worst}
    milliseconds = 1e3 * _pooled(runs, "seconds")
    return {
        "learned_from": lesson,
        "family": family,
        **parts,
        "ms": {
            "median": float(np.median(milliseconds)),
            "95th": float(np.quantile(milliseconds, 0.95)),
            "worst": float(milliseconds.max()),
        },
        "met": float(_pooled(runs, "met").mean()),
        "worst_by_clip": {
            run.clip.name: {
                part: float(getattr(run, part).max()) for part in ("elbow_cm", "knee_cm")
            }
            for run in runs
        },
    }


def _deviations(
    capture: Capture, part: str, taught: Sequence[str], paper: dict[str, float]
) -> Table:
    rows = []
    for family in capture.families:
        cells = [family]
        for lesson in taught:
            runs = capture.of(lesson, family)
            spread = _spread(_pooled(runs, f"{part}_cm")) if runs else None
            cells += [f"{v:.1f}" for v in spread] if spread else ["-"] * 3
        cells += [f"{paper[family]:.0f}" if family in paper else "-"] if paper else []
        rows.append(tuple(cells))
    columns = ["family", *[name for _ in taught for name in ("mean", "95th", "worst")]]
    columns += ["paper: worst"] if paper else []
    return Table(
        f"deviation of the {part} from the capture, cm; limits learned from "
        + ", then from ".join(taught),
        tuple(columns),
        tuple(rows),
    )


def _times(capture: Capture) -> Table:
    rows = []
    for family in capture.families:
        runs = [run for run in capture.runs if run.family == family]
        of = _summary(runs, "", family)
        worst = PAPER_WORST_MS.get(family)
        rows.append(
            (
                family,
                *(f"{of['ms'][name]:.2f}" for name in ("median", "95th", "worst")),
                f"{100.0 * of['met']:.0f}%",
                "-" if worst is None else f"{worst:.0f}",
            )
        )
    return Table(
        "time a frame, ms, over all lessons, and frames in which every end is met",
        ("family", "median", "95th", "worst", "met", "paper: worst"),
        tuple(rows),
    )


def _building(capture: Capture) -> Table:
    rows = []
    for built in capture.built:
        seconds, stored = PAPER_BUILDING[built.nodes]
        rows.append(
            (
                f"{built.chart}, {built.nodes}³",
                *(f"{built.seconds:.3f}", f"{seconds:.2f}"),
                *(f"{built.kilobytes:.1f}", f"{built.map_kilobytes:.1f}", f"{stored:.1f}"),
            )
        )
    return Table(
        "building fields for 30 joints of 200 samples each, with all that lies between by slerp, "
        "sign and packing; kB of a joint's packed limit, and of its distances alone",
        ("chart, nodes", "s", "paper: s", "kB", "distances", "paper: kB"),
        tuple(rows),
    )
