"""Which family of limits holds for people never seen: each is left out in turn."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from .. import learn, quat
from ..arrays import Floats, Mask, Quats, Scalars
from ..io.encoding import to_json
from ..learn.margins import halve_steps, least_margin
from ..limit import Limit, has_axis
from ..skeleton import Clip
from .study import (
    VOLUME_SAMPLES,
    Excerpt,
    GroupBy,
    GrowingLimit,
    JointStudy,
    Study,
    growing_limit,
    uniform_rotations,
)
from .tradeoff import (
    TradeoffCurve,
    at_rejection,
    families,
    family_name,
    family_options,
    fastest_first,
)

ALL = "all joints"


@dataclass(frozen=True)
class Outcome:
    """How limits of one family, so much wider than what was observed, served those held out."""

    margin: float
    """In radians."""
    rejected: Mapping[str, float]
    """The share of frames outside, by who was held out."""
    volume: float
    """The share of all rotations accepted, as a mean over those held out."""
    correction: float
    """The mean angle, in radians, that frames are moved by; most are not moved."""
    correction_outside: float
    """The same over the frames outside alone."""

    @property
    def mean(self) -> float:
        """The share of frames outside, as a mean over those held out."""
        return float(np.mean(list(self.rejected.values())))

    @property
    def worst(self) -> tuple[str, float]:
        """Who is outside most, and in what share of the frames."""
        return max(self.rejected.items(), key=lambda item: item[1])

    @property
    def percentile_95(self) -> float:
        """The share of frames outside that 95 of 100 held out stay below."""
        return float(np.percentile(list(self.rejected.values()), 95.0))


@dataclass(frozen=True, eq=False)
class Trial:
    """One family at one joint, or over all joints."""

    joint: str
    """The joint's name; `ALL` where the numbers are means over them."""
    shape: str
    chart: str
    outcome: Outcome
    met_target: bool
    """Whether the rejection asked for, if one was, could be had."""
    bytes: int
    """The size of the limit in a file."""
    ns: float | None
    """The time, in nanoseconds, to project a rotation: as measured here and now, at some joints."""
    curve: TradeoffCurve | None
    """Rejection against volume, where margins were swept."""

    @property
    def family(self) -> str:
        """Shape and chart, as in "kdop in swing-twist"; of fields of people how they come about."""
        return family_name(self.shape, self.chart)

    def to_dict(self) -> dict[str, Any]:
        """Return the trial as plain values, in degrees, for JSON."""
        outcome = self.outcome
        return {
            "shape": self.shape,
            "chart": self.chart,
            "margin_deg": float(np.degrees(outcome.margin)),
            "rejected": outcome.mean,
            "rejected_95th": outcome.percentile_95,
            "worst": outcome.worst[0],
            "rejected_worst": outcome.worst[1],
            "rejected_by": dict(outcome.rejected),
            "reached": self.met_target,
            "volume": outcome.volume,
            "correction_deg": float(np.degrees(outcome.correction)),
            "correction_outside_deg": float(np.degrees(outcome.correction_outside)),
            "bytes": self.bytes,
            "ns": self.ns,
            "curve": [] if self.curve is None else _curve_rows(self.curve),
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every family beside the others, on the same people."""

    by: GroupBy
    groups: tuple[str, ...]
    duplicates: learn.Duplicates
    trials: tuple[Trial, ...]
    """Joint by joint, families in the order of `families`."""

    @property
    def joints(self) -> dict[str, list[Trial]]:
        """The trials of each joint."""
        found: dict[str, list[Trial]] = {}
        for trial in self.trials:
            found.setdefault(trial.joint, []).append(trial)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values, in degrees, for JSON."""
        return {
            "by": self.by,
            "left_out": list(self.groups),
            "identical_clips": [list(names) for names in self.duplicates.identical],
            "same_bones": [list(names) for names in self.duplicates.same_bones],
            "common_rig": list(self.duplicates.common_rig),
            "overall": [trial.to_dict() for trial in self.overall],
            "joints": {
                name: [trial.to_dict() for trial in trials] for name, trials in self.joints.items()
            },
        }

    @property
    def overall(self) -> list[Trial]:
        """A trial for each family: means over the joints, sizes summed."""
        families_: dict[tuple[str, str], list[Trial]] = {}
        for trial in self.trials:
            families_.setdefault((trial.shape, trial.chart), []).append(trial)
        return [_over_joints(trials) for trials in families_.values()]


def _over_joints(trials: Sequence[Trial]) -> Trial:
    """Return the means over the joints, those held out each by their own mean."""
    outcomes = [trial.outcome for trial in trials]
    groups = dict.fromkeys(name for outcome in outcomes for name in outcome.rejected)
    found = [trial.curve for trial in trials if trial.curve is not None]
    first = trials[0]
    return Trial(
        joint=ALL,
        shape=first.shape,
        chart=first.chart,
        outcome=Outcome(
            margin=float(np.mean([outcome.margin for outcome in outcomes])),
            rejected={
                name: float(np.mean([o.rejected[name] for o in outcomes if name in o.rejected]))
                for name in groups
            },
            volume=float(np.mean([outcome.volume for outcome in outcomes])),
            correction=float(np.mean([outcome.correction for outcome in outcomes])),
            correction_outside=float(np.mean([o.correction_outside for o in outcomes])),
        ),
        met_target=all(trial.met_target for trial in trials),
        bytes=sum(trial.bytes for trial in trials),
        ns=_mean_time(trials),
        curve=_mean_curve(found) if found else None,
    )


def _mean_time(trials: Sequence[Trial]) -> float | None:
    """Return the mean over the joints where the time was measured, if there are any."""
    times = [trial.ns for trial in trials if trial.ns is not None]
    return float(np.mean(times)) if times else None


def _mean_curve(found: Sequence[TradeoffCurve]) -> TradeoffCurve:
    """Return volumes, and margins, at equal rejection, as means over the joints.

    As in the tables each joint has a margin of its own: of fields near people one and the same may
    be narrow at a shoulder and wide at a head.
    """
    every = np.unique(np.concatenate([curve.rejected for curve in found]))[::-1]
    levels = every[every >= max(curve.rejected.min() for curve in found)]
    volumes = np.array([[at_rejection(curve, level) for level in levels] for curve in found])
    knobs = [
        np.interp(volume, curve.volume, curve.knobs)
        for volume, curve in zip(volumes, found, strict=True)
    ]
    return TradeoffCurve(found[0].name, np.mean(knobs, axis=0), levels, volumes.mean(axis=0))


def _curve_rows(curve: TradeoffCurve) -> list[dict[str, float]]:
    columns = np.degrees(curve.knobs).tolist(), curve.rejected.tolist(), curve.volume.tolist()
    names = ("margin_deg", "rejected", "volume")
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


FIRST_STEP, LAST_STEP = np.radians(6.0), np.radians(0.1)
"""Steps that double, in radians, lead past the margin; they are halved down to the finest."""
MAX_REJECTION = 0.3
"""Curves show only what rejects at most this share of frames: nobody limits joints so."""
TIMED_JOINTS = 4
"""Joints at which times are measured, at most: of fields it takes longer than the comparison."""
TIMED_ROTATIONS = 4096
"""Rotations that are projected to measure the time of one."""


@dataclass(frozen=True)
class Criterion:
    """At what families are compared: at one margin, or at the least one for a rejection."""

    margin: float | None
    """In radians; None for the least that the rejection takes."""
    reject: float
    margins: tuple[float, ...]
    """Those that curves are drawn through, in radians."""
    seed: int

    def __post_init__(self) -> None:
        if self.margin is not None and not 0.0 <= self.margin < np.inf:
            raise ValueError(f"margin must be at least 0 radians, got {self.margin}")
        learn.check_rejection(self.reject)


def compare(
    clips: Sequence[Clip],
    shapes: Sequence[str] | None = None,
    *,
    by: GroupBy = "performer",
    margin: float | None = None,
    reject: float = 0.01,
    margins: Sequence[float] = (),
    trim: float = learn.MAX_DROPPED,
    performers: learn.Performers = None,
    joints: Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
    excerpt: Excerpt | None = None,
    seed: int = 0,
    progress: learn.Progress = iter,
) -> Comparison:
    """Return how limits of each shape, in each of its charts, serve those held out.

    Each performer (each clip, where `by` says so) is left out in turn; limits are fitted to the
    others as `LimitModel.fit` does it, and the frames left out, capture flips aside, are held
    against them. Duplicates among clips and people are merged, and warned of.

    Parameters
    ----------
    clips
        Clips of at least two performers, or two clips.
    shapes
        Names of shapes, or "people"; all of them unless given.
    by
        What is held out in turn: all clips of a "performer", or each "clip".
    margin
        How much wider than what was observed all limits are, in radians.
    reject
        Without a `margin`, each family is compared at the least margin, joint by joint, that
        leaves at most this share of held-out frames outside.
    margins
        Margins, in radians, that curves of rejection against volume are drawn through.
    trim, performers, joints, names
        As `LimitModel.fit` takes them.
    excerpt
        A part of joints, frames and charts, for a quick look; everything unless given.
    progress
        Gives back what is to be done, as in "box in euler, LeftArm", one by one: family by family,
        those first that take the least time.
    seed
        Of the rotations that volumes are measured by.
    """
    criterion = Criterion(margin, reject, tuple(margins), seed)
    options = learn.FitOptions(trim=trim, performers=performers, joints=joints, names=names)
    chosen = families(shapes)
    study = Study.of(clips, options, by=by)
    study.duplicates.warn()
    if excerpt is not None:
        chosen, study = excerpt.families(chosen), excerpt.study(study)
    studied = [joint for joint in map(study.joint, study.names) if joint.folds]
    if not studied:
        raise ValueError(f"no joint is in two of the {by}s: {', '.join(study.names)}")
    steps = {
        f"{family_name(*family)}, {joint.name}": (joint, *family)
        for family in fastest_first(chosen)
        for joint in studied
    }
    timed = _spread_joints(studied, TIMED_JOINTS)
    found: dict[tuple[str, str, str], Trial] = {}
    alike: dict[tuple[object, ...], Trial] = {}
    for step in progress(list(steps)):
        joint, shape, chart = steps[step]
        # Joints that never move are all alike, where the chart has no axis.
        key = (joint.fingerprint, joint.axis.tobytes() if has_axis(chart) else b"", shape, chart)
        if key not in alike:
            alike[key] = _trial(joint, shape, chart, criterion, timed=joint in timed)
        found[joint.name, shape, chart] = replace(alike[key], joint=joint.name)
    trials = [found[joint.name, *family] for joint in studied for family in chosen]
    return Comparison(by, study.groups, study.duplicates, tuple(trials))


def _spread_joints(joints: Sequence[JointStudy], most: int) -> list[JointStudy]:
    """Return at most so many of the joints that are not alike, evenly spread over them."""
    distinct = list({joint.fingerprint: joint for joint in reversed(joints)}.values())[::-1]
    return distinct[:: -(-len(distinct) // most)]


def size_in_file(limit: Limit) -> int:
    """Return how many bytes the limit takes in a file, but for white space."""
    return len(json.dumps(to_json(limit.to_dict(), "limit"), separators=(",", ":")).encode())


def nanoseconds(limit: Limit, observed: Quats, seed: int = 0) -> float:
    """Return the time to project a rotation, of which half are observed and half are anywhere."""
    rng = np.random.default_rng(seed)
    rotations = np.concatenate(
        [rng.choice(observed, TIMED_ROTATIONS // 2), uniform_rotations(TIMED_ROTATIONS // 2, seed)]
    )
    limit.project(rotations)
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        limit.project(rotations)
        best = min(best, time.perf_counter() - start)
    return 1e9 * best / TIMED_ROTATIONS


def _trial(
    joint: JointStudy, shape: str, chart: str, criterion: Criterion, *, timed: bool
) -> Trial:
    options, seed = family_options(shape, chart), criterion.seed
    limits = [growing_limit(joint, options, fold, fold.held_out) for fold in joint.folds]
    margin, met_target = criterion.margin, True
    if margin is None:
        margin = _margin_for(criterion.reject, limits)
        shares = [each.outside(margin).mean() for each in limits]
        met_target = bool(np.mean(shares) <= criterion.reject)
    observed = joint.folds[0].held_out
    everybody = growing_limit(joint, options, None, observed).limit(margin)
    return Trial(
        joint=joint.name,
        shape=shape,
        chart=chart,
        outcome=_outcome([fold.name for fold in joint.folds], limits, margin, seed),
        met_target=met_target,
        bytes=size_in_file(everybody),
        ns=nanoseconds(everybody, observed, seed) if timed else None,
        curve=_curve(limits, family_name(shape, chart), criterion) if criterion.margins else None,
    )


def _margin_for(reject: float, limits: Sequence[GrowingLimit]) -> float:
    """Return the least margin, to a tenth of a degree, that leaves at most `reject` outside."""
    most, least = np.ones(len(limits)), np.zeros(len(limits))
    candidates = _candidate_margins(limits[0].min_margin)
    required = [each.required_margins(float(candidates[0])) for each in limits]

    def rejected(margin: float) -> float:
        nonlocal most, least  # what margins that are narrower, and wider, leave outside
        expected = [(each > margin).mean() for each in required]
        shares, measured = np.clip(expected, least, most), most == least
        for k in np.argsort(-shares, kind="stable"):
            if not measured[k]:
                shares[k], measured[k] = limits[k].outside(margin).mean(), True
                required[k] = limits[k].required_margins(margin)
            # Too much, whatever the others are: what they were expected to be will do.
            if np.where(measured, shares, least).mean() > reject:
                break
        if shares.mean() > reject:
            most = np.where(measured, shares, most)
        else:
            least = shares
        return float(shares.mean())

    return least_margin(rejected, reject, candidates, lambda margin: required)


@cache
def _candidate_margins(low: float) -> Floats:
    """Return margins from `low` on, in radians: steps that double, each halved to the finest."""
    found, step = [np.array([low])], FIRST_STEP
    while low < learn.MAX_MARGIN:
        high = min(low + step, float(learn.MAX_MARGIN))
        halvings = int(np.ceil(np.log2(max((high - low) / LAST_STEP, 1.0))))
        found.append(halve_steps(low, high, halvings)[1:])
        low, step = high, 2.0 * step
    return np.concatenate(found)


def _outcome(
    names: Sequence[str], limits: Sequence[GrowingLimit], margin: float, seed: int
) -> Outcome:
    wider = [each.limit(margin) for each in limits]
    outside = [~wide.contains(each.rotations) for wide, each in zip(wider, limits, strict=True)]
    moved = [
        _move_lengths(wide, each.rotations, out)
        for wide, each, out in zip(wider, limits, outside, strict=True)
    ]
    beyond = np.concatenate([angles[out] for angles, out in zip(moved, outside, strict=True)])
    return Outcome(
        margin=margin,
        rejected={name: float(out.mean()) for name, out in zip(names, outside, strict=True)},
        volume=float(np.mean([wide.volume(VOLUME_SAMPLES, seed) for wide in wider])),
        correction=float(np.mean([angles.mean() for angles in moved])),
        correction_outside=float(beyond.mean()) if len(beyond) else 0.0,
    )


def _move_lengths(limit: Limit, rotations: Quats, outside: Mask) -> Scalars:
    """Return the angles, in radians, that projections move rotations by, as `violation` does."""
    angles, beyond = np.zeros(len(rotations)), rotations[outside]
    if len(beyond):
        angles[outside] = quat.angle_between(beyond, limit.project_few(beyond))
    return angles


def _curve(limits: Sequence[GrowingLimit], name: str, criterion: Criterion) -> TradeoffCurve:
    # Fields near people begin below 0, where others' margins do.
    starts = np.array([limits[0].min_margin, 0.0])
    knobs = np.unique(np.round(starts[:, None] + np.asarray(criterion.margins), 9))
    # The widest first: narrower ones are often a part of what it takes to make that, and those
    # that reject too much are not measured.
    rows: list[tuple[float, float, float]] = []
    for knob in knobs[::-1].tolist():
        rejected = float(np.mean([each.outside(knob).mean() for each in limits]))
        if rows and rejected > max(MAX_REJECTION, rows[0][1]):
            break
        volume = np.mean([each.volume(knob, criterion.seed) for each in limits])
        rows.append((knob, rejected, float(volume)))
    return TradeoffCurve(name, *np.array(rows[::-1]).T)
